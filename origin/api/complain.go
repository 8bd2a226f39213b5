package api

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fieldmark/fieldmark"
)

// maxPointerToken bounds how much of a name from outside is said back, in code
// points; a pointer to a member with a longer name is cut.
const maxPointerToken = 128

// complaints gathers what is wrong with a request, so that all of it is said at
// once. It never holds a rejected value.
type complaints []fieldmark.FieldError

func (c *complaints) add(pointer, code, detail string) {
	*c = append(*c, fieldmark.FieldError{Pointer: pointer, Code: code, Detail: detail})
}

// merge adds complaints about parts that have none yet: a second opinion on the
// same part would only repeat the first in other words.
func (c *complaints) merge(more []fieldmark.FieldError) {
	had := len(*c)
	for _, m := range more {
		if !slices.ContainsFunc((*c)[:had], func(f fieldmark.FieldError) bool { return f.Pointer == m.Pointer }) {
			*c = append(*c, m)
		}
	}
}

// err returns nil where there is nothing to complain of.
func (c complaints) err(code fieldmark.Code) error {
	if len(c) == 0 {
		return nil
	}
	slices.SortStableFunc(c, func(a, b fieldmark.FieldError) int {
		return cmp.Or(strings.Compare(a.Pointer, b.Pointer), strings.Compare(a.Code, b.Code))
	})
	return &fieldmark.Error{Code: code, Detail: "see errors", Fields: c}
}

// pointerEscapes is made once: a replacer builds kilobytes of tables, and every
// member of every request needs one.
var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// child extends a JSON Pointer by one name (RFC 6901, section 3).
func child(pointer, name string) string {
	return pointer + "/" + pointerEscapes.Replace(clip(name))
}

// clip cuts a name from outside to a length that is safe to say back.
func clip(name string) string {
	n := 0
	for i := range name {
		if n++; n > maxPointerToken {
			return name[:i] + "…"
		}
	}
	return name
}

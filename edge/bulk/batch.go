package bulk

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark"
)

// MaxBody limits the body of a batch, in bytes: fieldmark.MaxBatchScores slugs of the longest
// form with white space around them.
const MaxBody = 128 << 10

// maxReported limits the problems in one response; a list of a wrong type would repeat one
// problem a thousand times.
const maxReported = 20

// Brands returns the slugs of {"brands":[…]}, in their order. They may be fewer or more than a
// client may request, but each is a valid slug.
func Brands(body []byte) ([]fieldmark.Slug, error) {
	list, ok := parsePlain(string(body))
	if !ok {
		var err error
		if list, err = parse(body); err != nil {
			return nil, err
		}
	}
	var bad []fieldmark.FieldError
	for i, slug := range list {
		if !fieldmark.ValidSlug(string(slug)) && len(bad) < maxReported {
			bad = append(bad, fieldmark.FieldError{Pointer: "/brands/" + strconv.Itoa(i), Code: "pattern",
				Detail: "must be a slug: 1 to 63 of a-z, 0-9 and single hyphens"})
		}
	}
	return list, invalid(bad)
}

// invalid returns the error of invalid members, or nil.
func invalid(bad []fieldmark.FieldError) error {
	if bad == nil {
		return nil
	}
	return &fieldmark.Error{Code: fieldmark.CodeValidationFailed, Detail: "the request has invalid fields", Fields: bad}
}

// TooMany is the error of a list of a wrong length; limit is how many slugs it may have.
func TooMany(limit int, detail string) error {
	return invalid([]fieldmark.FieldError{{Pointer: "/brands", Code: "range",
		Detail: "must have 1 to " + strconv.Itoa(limit) + " slugs" + detail}})
}

// plain is a cursor over a body in the form that nearly every client sends.
// encoding/json allocates for each of a thousand slugs.
type plain struct{ rest string }

// parsePlain parses a body that has the member brands alone, with strings of printable ASCII
// without escapes. ok is false for every other body, also for a valid one. The slugs are parts of
// body, so that only the list is allocated.
func parsePlain(body string) (list []fieldmark.Slug, ok bool) {
	p := plain{body}
	if !p.skip('{') {
		return nil, false
	}
	if name, ok := p.text(); !ok || name != "brands" || !p.skip(':') || !p.skip('[') {
		return nil, false
	}
	// The capacity is an estimate from the number of quotation marks, bounded by what is
	// allowed.
	list = make([]fieldmark.Slug, 0, min(strings.Count(p.rest, `"`)/2, fieldmark.MaxBatchScores+1))
	for !p.skip(']') {
		if len(list) > 0 && !p.skip(',') {
			return nil, false
		}
		slug, ok := p.text()
		if !ok {
			return nil, false
		}
		list = append(list, fieldmark.Slug(slug))
	}
	return list, p.skip('}') && len(p.space()) == 0
}

// space skips white space and returns what follows.
// The four characters are the white space of JSON.
func (p *plain) space() string {
	for len(p.rest) > 0 && (p.rest[0] == ' ' || p.rest[0] == '\n' || p.rest[0] == '\t' || p.rest[0] == '\r') {
		p.rest = p.rest[1:]
	}
	return p.rest
}

// skip skips white space and then c, and reports whether that came next.
func (p *plain) skip(c byte) bool {
	if b := p.space(); len(b) == 0 || b[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

// text skips a string and returns its characters.
func (p *plain) text() (text string, ok bool) {
	if !p.skip('"') {
		return "", false
	}
	for i := range len(p.rest) {
		switch c := p.rest[i]; {
		case c == '"':
			text, p.rest = p.rest[:i], p.rest[i+1:]
			return text, true
		case c < ' ' || c > '~' || c == '\\':
			return "", false
		}
	}
	return "", false
}

// parse parses any body, and returns all problems of one that does not have the form.
// It is the slow path, for everything that parsePlain does not read.
func parse(body []byte) ([]fieldmark.Slug, error) {
	if !utf8.Valid(body) {
		return nil, fieldmark.Errorf(fieldmark.CodeInvalidUTF8, "the body is not valid UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil {
		return nil, malformed(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fieldmark.Errorf(fieldmark.CodeMalformedJSON, "there is text after the JSON document")
	}
	if raw[0] != '{' {
		return nil, invalid([]fieldmark.FieldError{{Pointer: "", Code: "type", Detail: "must be an object"}})
	}
	value, err := member(raw)
	if err != nil {
		return nil, err
	}
	var elements []json.RawMessage
	if len(value) == 0 || value[0] != '[' {
		return nil, invalid([]fieldmark.FieldError{{Pointer: "/brands", Code: "type",
			Detail: "must be a list of slugs"}})
	}
	if err := json.Unmarshal(value, &elements); err != nil {
		return nil, malformed(err)
	}
	list := make([]fieldmark.Slug, len(elements))
	var bad []fieldmark.FieldError
	for i, e := range elements {
		var s string
		if (e[0] != '"' || json.Unmarshal(e, &s) != nil) && len(bad) < maxReported {
			bad = append(bad, fieldmark.FieldError{Pointer: "/brands/" + strconv.Itoa(i), Code: "type",
				Detail: "must be a string"})
		}
		list[i] = fieldmark.Slug(s)
	}
	return list, invalid(bad)
}

// member returns the member brands of a valid object, which must have no other.
// A member that is given twice is an error: parsers differ in which one they take.
func member(object []byte) (value json.RawMessage, err error) {
	d := json.NewDecoder(bytes.NewReader(object))
	_, err = d.Token() // the brace
	var bad []fieldmark.FieldError
	for found := false; err == nil && d.More(); {
		name, terr := d.Token()
		if terr != nil {
			return nil, malformed(terr)
		}
		var v json.RawMessage
		if err = d.Decode(&v); err != nil {
			return nil, malformed(err)
		}
		switch {
		case name != "brands" && len(bad) < maxReported:
			bad = append(bad, fieldmark.FieldError{Pointer: pointer(name.(string)), Code: "unknown_field",
				Detail: "is not a known member; known: brands"})
		case name == "brands" && found:
			return nil, fieldmark.Errorf(fieldmark.CodeDuplicateMember, "the member brands is there twice")
		case name == "brands":
			value, found = v, true
		}
	}
	if value == nil && bad == nil {
		bad = append(bad, fieldmark.FieldError{Pointer: "/brands", Code: "required", Detail: "is required"})
	}
	return value, invalid(bad)
}

// pointer returns the JSON pointer (RFC 6901) of a member of the document; that of the document
// itself for a name that is not worth repeating.
func pointer(name string) string {
	const longest = 40 // bytes
	if len(name) > longest {
		return ""
	}
	return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// malformed returns the error of a body that is not JSON. It names the place and never repeats
// the body.
func malformed(err error) error {
	detail := "the body is not a whole JSON document"
	if at, ok := errors.AsType[*json.SyntaxError](err); ok {
		detail = "invalid JSON at byte " + strconv.FormatInt(at.Offset, 10)
	}
	return fieldmark.Errorf(fieldmark.CodeMalformedJSON, "%s", detail)
}

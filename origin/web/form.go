package web

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark"
)

// FormError is an error in a form.
type FormError struct {
	Field string // id of the input; empty: the form as a whole
	Text  string // a sentence
}

// ErrorOf returns an error about a form as a whole.
func ErrorOf(text string) []FormError { return []FormError{{Text: text}} }

// Input is the id and the label of the input for a member of an API request.
type Input [2]string

// FormErrors turns an API error into sentences about inputs, which inputs maps from JSON Pointers: users of a
// form do not know them. Prefix begins the ids of the inputs.
func FormErrors(err error, inputs map[string]Input, prefix string) []FormError {
	e := fieldmark.AsError(err)
	var list []FormError
	for _, f := range e.Fields {
		pointer, item := f.Pointer, ""
		field, known := inputs[pointer]
		if at := strings.LastIndexByte(pointer, '/'); !known && at > 0 {
			if n, err := strconv.Atoi(pointer[at+1:]); err == nil { // an element of a list
				field, known = inputs[pointer[:at]]
				item = fmt.Sprintf(", entry %d", n+1)
			} else if field, known = inputs[pointer[:at]]; known { // a member of an object with keys of users
				item = " “" + pointerKey.Replace(pointer[at+1:]) + "”"
			}
		}
		switch {
		case known:
			// Some details start with the name of their member.
			text := strings.TrimPrefix(f.Detail, strings.ToLower(field[1])+" ")
			list = append(list, FormError{prefix + field[0], Sentence(field[1] + item + ": " + text)})
		default:
			list = append(list, FormError{Text: Sentence(pointerWords(pointer) + " " + f.Detail)})
		}
	}
	if len(list) == 0 {
		list = ErrorOf(Sentence(e.Detail))
	}
	return list
}

// pointerKey turns a part of a JSON Pointer into the key (RFC 6901, section 4).
var pointerKey = strings.NewReplacer("~1", "/", "~0", "~")

// pointerWords writes a JSON Pointer to a member without an input in words: /location/address/postalCode is
// "location address postal code".
func pointerWords(pointer string) string {
	var words strings.Builder
	for _, r := range strings.Trim(pointer, "/") {
		switch {
		case r == '/':
			r = ' '
		case unicode.IsUpper(r):
			words.WriteByte(' ')
			r = unicode.ToLower(r)
		}
		words.WriteRune(r)
	}
	return words.String()
}

// Sentence returns s with a capital letter and a full stop.
func Sentence(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return ""
	}
	return strings.TrimSuffix(string(unicode.ToUpper(r))+s[n:], ".") + "."
}

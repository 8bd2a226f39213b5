package validation

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark"
)

// Errors are the invalid members of a request.
type Errors []fieldmark.FieldError

// Add appends an error about the member at a JSON pointer. Detail never repeats
// the rejected value, which may be a secret.
func (e *Errors) Add(pointer, code, detail string) {
	*e = append(*e, fieldmark.FieldError{Pointer: pointer, Code: code, Detail: detail})
}

// Err returns the errors as one fieldmark.Error, or nil if there are none.
func (e Errors) Err() error {
	if len(e) == 0 {
		return nil
	}
	return &fieldmark.Error{Code: fieldmark.CodeValidationFailed, Fields: e}
}

// Error returns a fieldmark.Error about one member.
func Error(pointer, code, detail string) error {
	return Errors{{Pointer: pointer, Code: code, Detail: detail}}.Err()
}

// IsText reports whether s is valid UTF-8 without control characters. A text of
// several lines may have line breaks and tabs.
func IsText(s string, multiline bool) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(c rune) bool {
		return unicode.IsControl(c) && !(multiline && (c == '\n' || c == '\t' || c == '\r'))
	})
}

// IsNewest returns CodeVersionMismatch if the newest row of a list is no longer
// the one that the sender of a form has seen ("" for an empty list): a form that
// is submitted twice creates one row. A nil seen is no condition.
func IsNewest(ctx context.Context, seen *string, newest func(context.Context) (string, error)) error {
	if seen == nil {
		return nil
	}
	id, err := newest(ctx)
	if err == nil && id != *seen {
		return fieldmark.Errorf(fieldmark.CodeVersionMismatch, "the list changed since the form was opened")
	}
	return err
}

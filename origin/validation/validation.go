package validation

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
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

// Line adds an error if s is not a single line of visible characters. Zero-width
// spaces and direction controls are refused because they make two different texts
// look alike.
func (e *Errors) Line(pointer, s string) {
	switch {
	case strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }):
		e.Add(pointer, "pattern", "must be one line without control characters")
	case strings.ContainsFunc(s, fieldmark.IsHidden):
		e.Add(pointer, "pattern", "must have no zero-width spaces and no controls of the text direction")
	}
}

// Multiline adds an error if s has control characters other than line breaks and
// tabs. It returns s with "\n" as the only line break.
func (e *Errors) Multiline(pointer, s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	if strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
		e.Add(pointer, "pattern", "control characters other than line break and tab are not allowed")
	}
	return s
}

// Err returns the errors as one fieldmark.Error, or nil if e is empty.
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

// VersionOf identifies what a form shows of a row that stores no version.
func VersionOf(shown any) string {
	text, err := json.Marshal(shown)
	if err != nil {
		panic("BUG: a version cannot be encoded: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// IsCurrent returns CodeVersionMismatch if a row no longer has the version that the sender of a form has seen: a form
// has every value, so it would undo what was changed since. A nil seen is no condition.
func IsCurrent(seen *string, version string) error {
	if seen == nil || *seen == version {
		return nil
	}
	return fieldmark.Errorf(fieldmark.CodeVersionMismatch, "it was changed after the form was opened")
}

// maxPointerToken limits how much of a member name from outside is repeated in an
// error, in code points.
const maxPointerToken = 128

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// Pointer extends a JSON Pointer by one name (RFC 6901, section 3).
func Pointer(at, name string) string {
	if utf8.RuneCountInString(name) > maxPointerToken {
		name = string([]rune(name)[:maxPointerToken]) + "…"
	}
	return at + "/" + pointerEscapes.Replace(name)
}

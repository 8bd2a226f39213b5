package access

import (
	"fmt"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// ValidateAccount returns every error of the settings of an account.
func ValidateAccount(r *fieldmark.AccountRequest) validation.Errors {
	var bad validation.Errors
	for _, f := range []struct {
		pointer, text string
		least, most   int
	}{
		{"/name", r.Name, 1, fieldmark.MaxAccountName},
		{"/note", r.Note, 0, fieldmark.MaxAccountNote},
	} {
		if n := utf8.RuneCountInString(f.text); n < f.least || n > f.most {
			bad.Add(f.pointer, "range", fmt.Sprintf("must have %d to %d characters", f.least, f.most))
		}
		bad.Line(f.pointer, f.text)
	}
	return bad
}

package access

import (
	"fmt"
	"slices"
	"time"
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
	// Sorted and without duplicates, so that the same keys in another order change nothing.
	if r.FilterLabels != nil { // an empty list removes the keys
		r.FilterLabels = append([]string{}, slices.Compact(slices.Sorted(slices.Values(r.FilterLabels)))...)
	}
	if len(r.FilterLabels) > fieldmark.MaxFilterLabels {
		bad.Add("/filterLabels", "too_long", fmt.Sprintf("must have at most %d keys", fieldmark.MaxFilterLabels))
	}
	for i, key := range r.FilterLabels {
		pointer := fmt.Sprintf("/filterLabels/%d", i)
		if n := utf8.RuneCountInString(key); n < 1 || n > fieldmark.MaxLabelKey {
			bad.Add(pointer, "range", fmt.Sprintf("must have 1 to %d characters", fieldmark.MaxLabelKey))
		}
		bad.Line(pointer, key)
	}
	if r.TimeZone != nil && *r.TimeZone != "" {
		if _, err := time.LoadLocation(*r.TimeZone); err != nil || !fieldmark.ValidTimeZone(*r.TimeZone) {
			bad.Add("/timeZone", "enum", "is not a known time zone")
		}
	}
	return bad
}

package dump_test

import (
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/origin/dump"
)

func TestParseTerms(t *testing.T) {
	for _, c := range []struct {
		licence, attribution string
		ok                   bool
	}{
		{"", "", true},
		{"CC-BY-4.0", "Scores by marks.example", true},
		{"CC0-1.0 OR (ODbL-1.0 AND LicenseRef-own)", "Größen: © marks.example", true},
		{"https://marks.example/terms", "", true},
		{strings.Repeat("é", 201), "", false},
		{"", strings.Repeat("é", 200), true},
		{"", strings.Repeat("é", 201), false},
		{"http://marks.example/terms", "", false},
		{"https:///terms", "", false},
		{"javascript:alert(1)", "", false},
		{"CC-BY-4.0\n", "", false},
		{"", "one\ntwo", false},
		{"", "\xff", false},
	} {
		got, err := dump.ParseTerms(c.licence, c.attribution)
		if (err == nil) != c.ok || err == nil && (got.Licence != c.licence || got.Attribution != c.attribution) {
			t.Errorf("terms %q, %q: %+v, %v; want them: %t", c.licence, c.attribution, got, err, c.ok)
		}
	}
}

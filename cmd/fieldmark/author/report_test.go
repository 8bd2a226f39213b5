package author

import (
	"bytes"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
)

// TestReportAdvice: a report shows what keeps engines away first, then grade, effort, page,
// passage and patch; text of the site cannot leave its block in Markdown.
func TestReportAdvice(t *testing.T) {
	score := 40 * fieldmark.MilliOne
	a := &fieldmark.Assessment{
		Status: fieldmark.StatusScored, Score: &score, Grade: "D", Range: &fieldmark.Range{Low: score, High: score},
		AsOf: new(fieldmark.Time),
		Eligibility: &fieldmark.Eligibility{State: fieldmark.NotEligible, Checks: []fieldmark.EligibilityCheck{
			{ID: fieldmark.CheckIndex, State: fieldmark.NotEligible, Reason: "The home page forbids indexing."}}},
		Components: []fieldmark.Component{{ID: "c", Label: "C", Weight: 100, Signals: []fieldmark.Signal{
			{ID: "done", Label: "Done", Status: fieldmark.Measured, Points: score, Max: 40},
			{ID: "title", Label: "Titles", Status: fieldmark.Measured, Max: 60, Advice: "Write titles.",
				EvidenceGrade: fieldmark.EvidenceDocumented, Effort: 2,
				Evidence: []fieldmark.Evidence{{URL: "https://a.example/", Fact: "0 of 1"},
					{URL: "https://a.example/b", Fact: "short", Passage: "Hi *there*",
						Patch: "<title>A ``` b</title>"}}}}}},
	}
	var text, md bytes.Buffer
	if err := printReport(&text, "https://a.example/", a, nil, false); err != nil {
		t.Fatal(err)
	}
	if err := printMarkdown(&md, "https://a.example/", a, nil); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		got  string
		want []string // in this order
	}{
		"text": {text.String(), []string{"What to improve first", "1. first", "Fix this first",
			"The home page forbids indexing.",
			"2. +60", "Titles", "evidence: documented by an engine · effort: days", "https://a.example/b",
			"found: Hi *there*",
			"paste: <title>A ``` b</title>"}},
		"markdown": {md.String(), []string{"| first | Fix this first", "| +60 | Titles | Write titles. |",
			"documented by an engine · effort: days", `on https://a.example/b: “Hi \*there\*”`,
			"paste into https://a.example/b:\n\n````\n<title>A ``` b</title>\n````\n"}},
	} {
		rest := tt.got
		for _, want := range tt.want {
			_, after, ok := strings.Cut(rest, want)
			if !ok {
				t.Errorf("%s: no %q in the rest of\n%s", name, want, tt.got)
				break
			}
			rest = after
		}
	}
}

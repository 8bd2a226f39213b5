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
	facts := &fieldmark.Facts{URL: "https://a.example/", Facts: []fieldmark.Fact{{ID: "agent.mcp_card",
		State: fieldmark.Measured, Value: 1000, Unit: "bool",
		Evidence: []fieldmark.Evidence{{Fact: "card of *Shop*"}}}}}
	var text, md bytes.Buffer
	if err := printReport(&text, facts, a, nil, false); err != nil {
		t.Fatal(err)
	}
	if err := printMarkdown(&md, facts, a, nil); err != nil {
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
			"paste: <title>A ``` b</title>", "Observed, not scored",
			"yes      Card of an MCP server", "card of *Shop*"}},
		"markdown": {md.String(), []string{"| first | Fix this first", "| +60 | Titles | Write titles. |",
			"documented by an engine · effort: days", `on https://a.example/b: “Hi \*there\*”`,
			"paste into https://a.example/b:\n\n````\n<title>A ``` b</title>\n````\n",
			"## Observed, not scored", `| Card of an MCP server | yes | card of \*Shop\* |`}},
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

// TestForetellingText: a line says what is compared, and with few brands only how many there are.
func TestForetellingText(t *testing.T) {
	m := func(v fieldmark.Milli) *fieldmark.Milli { return &v }
	for _, tt := range []struct {
		f    fieldmark.Foretelling
		want string
	}{
		{fieldmark.Foretelling{Basis: fieldmark.ForetellingHeldOut, Metric: "citation", Brands: 12, Studies: 1,
			MinBrands: 30}, "studies held out by time\ttoo few yet: 12 brands in 1 studies, at least 30 needed"},
		{fieldmark.Foretelling{Basis: fieldmark.ForetellingSeen, Metric: "citation", Brands: 64, Studies: 3,
			Tau: m(210), Low: m(50), High: m(360), Against: &fieldmark.ForetellingDifference{Tau: 200, Difference: 10,
				Low: m(-40), High: m(60)}}, "studies seen\ttau with the citation rate 0.21 (0.05 to 0.36), " +
			"64 brands in 3 studies; active module 0.2, difference 0.01 (-0.04 to 0.06)"},
	} {
		if got := ForetellingText(&tt.f); got != tt.want {
			t.Errorf("got  %q\nwant %q", got, tt.want)
		}
	}
}

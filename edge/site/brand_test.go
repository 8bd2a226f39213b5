package site_test

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/site"
)

// TestFixGateFirst: the gate that limits a score most is the first thing after the head of
// the page, with the score that follows and with all lines to paste in one piece; the list
// of advice does not repeat it.
func TestFixGateFirst(t *testing.T) {
	page := string(samplePages(t)["brand-gated"])
	lift := regexp.MustCompile(`(?s)Fix this first: 30\.0 → about 55</strong>.*Then fix this: 55\.0 → about (\d+)<`)
	m := lift.FindStringSubmatch(page)
	practice := regexp.MustCompile(`id="?practice"?>Practice <span class="?of"?>(\d+)\.`).FindStringSubmatch(page)
	if m == nil || practice == nil || math.Abs(number(t, m[1])-number(t, practice[1])) > 1 {
		t.Fatalf("gates %q and practice %q, want a rise to 55 and then to about the practice score", m, practice)
	}
	gate, eligible := strings.Index(page, "Fix this first"), strings.Index(page, `id="eligible"`)
	if gate < 0 || gate > eligible {
		t.Errorf("the gate is at %d, after what engines can do at %d", gate, eligible)
	}
	want := "<code># Applies to &lt;this> crawler.\nUser-agent: OAI-SearchBot\nAllow: /\n\nUser-agent: " +
		"PerplexityBot\nAllow: /\n</code>"
	if !strings.Contains(strings.ReplaceAll(page, "&gt;", ">"), want) {
		t.Errorf("the page lacks %q", want)
	}
	if n := strings.Count(page, "lets none of the answer crawlers"); n != 2 { // the head and the condition
		t.Errorf("the reason is there %d times, want 2", n)
	}
}

// TestSinceLastAudit: the head of the page says what the newest audit changed, or that it
// changed nothing and when something last did.
func TestSinceLastAudit(t *testing.T) {
	s := newSite(t)
	history := sampleHistory()
	last := history.Changes[len(history.Changes)-1].At
	same := *history
	same.Changes = slices.Clone(history.Changes)
	same.Changes[len(same.Changes)-1].Moved = milli(0)
	first := *history
	first.Changes = history.Changes[:1]
	for name, tt := range map[string]struct {
		audit   fieldmark.Time
		history *fieldmark.ScoreHistory
		want    string
	}{
		"changed": {last, history,
			`<strong>The last audit changed the score:</strong> <b class="down">−1.5</b> to 75.0; cap lifted: `},
		"moved nothing": {last, &same,
			`<strong>The last audit did not change the score:</strong> 75.0; cap lifted: `},
		"nothing": {fieldmark.At(last.Std().Add(time.Hour)), history,
			`<strong>No change since the last audit.</strong> The last change was on`},
		"never":   {last, &first, `<strong>No change since the first audit</strong> on`},
		"first":   {first.Changes[0].At, &first, ""},
		"unknown": {last, nil, ""},
	} {
		score := sampleScore("Alpenglow")
		score.AsOf = &tt.audit
		page, err := s.AppendBrand(nil, site.BrandPage{BaseURL: base, Score: score, History: tt.history})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(page), `class="since"`); got != (tt.want != "") ||
			!strings.Contains(string(page), tt.want) {
			t.Errorf("%s: the page lacks %q", name, tt.want)
		}
	}
}

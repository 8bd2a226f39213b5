package site_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/site"
	"github.com/fieldmark/fieldmark/wasm/scoring"
)

// sampleCheck is a check in a state.
func sampleCheck(state fieldmark.SiteCheckState, edit func(*fieldmark.SiteCheck)) *fieldmark.SiteCheck {
	c := &fieldmark.SiteCheck{ID: "chk_82e3vr09nkv9em6fmsd74jq1pa", State: state, URL: "https://www.alpenglow.example/",
		Host: "www.alpenglow.example", CreatedAt: fieldmark.At(november),
		ExpiresAt: fieldmark.At(november.Add(24 * time.Hour))}
	edit(c)
	return c
}

// checkCase is a page about a check, and what it must contain.
type checkCase struct {
	name    string
	page    site.CheckPage
	want    []string
	refresh bool
}

func checkCases() []checkCase {
	gate := fieldmark.Gate{ID: "answer_crawlers_blocked", Limit: 30, Reason: "robots.txt lets no answer crawler in."}
	score := sampleScore("Alpenglow", gate)
	report := &fieldmark.SiteCheckReport{Assessment: score.Assessment, Gains: scoring.Advise(&score.Assessment),
		Facts: *sampleFacts(), Methodology: score.Methodology, Module: score.Module}
	none := func(*fieldmark.SiteCheck) {}
	return []checkCase{
		{name: "form", want: []string{`name="url"`, "at most ten requests"}},
		{name: "form-refused", page: site.CheckPage{URL: "acme.example:99",
			Problem: "The address must use port 80 or 443."},
			want: []string{`aria-invalid="true"`, "must use port 80 or 443", `value="acme.example:99"`}},
		{name: "queued", page: site.CheckPage{Check: sampleCheck(fieldmark.SiteCheckQueued,
			func(c *fieldmark.SiteCheck) { c.Position = 3 })}, want: []string{"2 checks before this one"},
			refresh: true},
		{name: "running", page: site.CheckPage{Check: sampleCheck(fieldmark.SiteCheckRunning,
			func(c *fieldmark.SiteCheck) { c.Step, c.Steps, c.Requests = "page 1 of 3: /<b>", 5, 4 })},
			want: []string{"page 1 of 3: /&lt;b", "of at most 10"}, refresh: true},
		{name: "done", page: site.CheckPage{Check: sampleCheck(fieldmark.SiteCheckDone,
			func(c *fieldmark.SiteCheck) { c.Report, c.Requests = report, 9 })},
			want: []string{"Fix this first", "Not ranked, deleted after a day", "--requests 10",
				`href="/claim?url=https%3A%2F%2Fwww.alpenglow.example%2F"`}},
		{name: "done-registered", page: site.CheckPage{Check: sampleCheck(fieldmark.SiteCheckDone,
			func(c *fieldmark.SiteCheck) { c.Report, c.Brand = report, "alpenglow" })},
			want: []string{`href="/brands/alpenglow"`}},
		{name: "refused", page: site.CheckPage{Check: sampleCheck(fieldmark.SiteCheckRefused,
			func(c *fieldmark.SiteCheck) { c.By, c.Reason = fieldmark.RefusedByRobots, "line 2: Disallow: /" })},
			want: []string{"User-agent: FieldmarkBot", "line 2: Disallow: /"}},
		{name: "walled", page: site.CheckPage{Check: sampleCheck(fieldmark.SiteCheckRefused,
			func(c *fieldmark.SiteCheck) { c.By = fieldmark.RefusedByWall })},
			want: []string{"bot protection", `href="/bot"`}},
		{name: "failed", page: site.CheckPage{Check: sampleCheck(fieldmark.SiteCheckFailed, none)},
			want: []string{"The check failed", `value="https://www.alpenglow.example/"`}},
	}
}

func TestCheckPages(t *testing.T) {
	pages := samplePages(t)
	for _, c := range checkCases() {
		t.Run(c.name, func(t *testing.T) {
			page := string(pages["check-"+c.name])
			for _, want := range c.want {
				if !strings.Contains(page, want) {
					t.Errorf("the page lacks %s", want)
				}
			}
			if c.refresh != strings.Contains(page, `<noscript><meta http-equiv="refresh" content="3"></noscript>`) {
				t.Errorf("the page loads itself again: %t, want %t", !c.refresh, c.refresh)
			}
			if strings.Contains(page, "noindex") == (c.name == "form") {
				t.Error("only the empty form may be indexed")
			}
			if strings.Contains(page, "/api/v1/score/") || strings.Contains(page, "/brands/\"") {
				t.Error("a link leads to a brand that does not exist")
			}
			if strings.Contains(page, "/<b>") {
				t.Error("text of the site is markup")
			}
		})
	}
}

func TestRetryText(t *testing.T) {
	for wait, want := range map[time.Duration]string{
		time.Second: "Try again in a minute.", 61 * time.Second: "Try again in 2 minutes.",
		119 * time.Minute: "Try again in 119 minutes.", 121 * time.Minute: "Try again in 3 hours.",
		24 * time.Hour: "Try again in 24 hours.",
	} {
		if got := site.RetryText(wait); got != want {
			t.Errorf("RetryText(%s) = %q, want %q", wait, got, want)
		}
	}
}

package audit_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/audit"
)

// dated returns a page that claims a date in its structured data.
func dated(date, text string) answer {
	return html(`<title>A dated page</title>`+ld(`{"@type":"Article","headline":"A","dateModified":"`+date+`"}`),
		"<main><h1>A</h1><p>"+text+"</main>")
}

// TestDatesAgainstHistory: a date later than the first audit that found the same text is not
// credible. The date of that audit is carried over while the text stays the same.
func TestDatesAgainstHistory(t *testing.T) {
	first := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var previous *fieldmark.Facts
	for _, step := range []struct {
		days              int // after the first audit
		date, text        string
		age, since, dated string
		why               string
	}{
		{0, "2026-02-27", words(100), "2", "2026-03-01", "2026-02-27", "dateModified: 2026-02-27"},
		{30, "2026-03-30", words(100), "30", "2026-03-01", "2026-03-30",
			"text unchanged since 2026-03-01, although dateModified: 2026-03-30"},
		{60, "2026-02-20", words(100), "69", "2026-03-01", "2026-02-20", "dateModified: 2026-02-20"},
		{61, "2026-04-30", words(101), "1", "2026-05-01", "2026-04-30", "dateModified: 2026-04-30"},
		{90, "2026-05-30", words(101), "29", "2026-05-01", "2026-05-30", "text unchanged since 2026-05-01"},
		{91, "2026-05-31", words(100), "0", "2026-05-31", "2026-05-31", "dateModified: 2026-05-31"}, // changed back
	} {
		site := web{"/": dated(step.date, step.text)}
		facts := auditOf(t, site.serve(t, 0), audit.Subject{URL: home, Name: "Example",
			AsOf: first.AddDate(0, 0, step.days), Previous: previous})
		p := facts.Sample.Pages[0]
		if got := say(facts, "fresh.age"); got != step.age || p.Since != step.since || p.Dated != step.dated {
			t.Errorf("day %d: age %s, since %s, dated %s; want %s, %s, %s", step.days, got, p.Since, p.Dated, step.age,
				step.since, step.dated)
		}
		if got := seen(facts, "fresh.age"); !strings.Contains(got, step.why) {
			t.Errorf("day %d: the evidence is %q, want %q", step.days, got, step.why)
		}
		previous = &facts
	}
}

// TestForgedHistory: a previous audit cannot make a text older than it is by a date in the
// future, another page or no hash.
func TestForgedHistory(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := web{"/": dated("2026-02-27", words(100))}.serve(t, 0)
	subject := audit.Subject{URL: home, Name: "Example", AsOf: now}
	facts := auditOf(t, s, subject)
	page := facts.Sample.Pages[0]
	for name, change := range map[string]func(*fieldmark.SampledPage){
		"future":       func(p *fieldmark.SampledPage) { p.Since = "2027-01-01" },
		"no date":      func(p *fieldmark.SampledPage) { p.Since = "yesterday" },
		"another page": func(p *fieldmark.SampledPage) { p.URL, p.Since = home+"other", "2020-01-01" },
		"another text": func(p *fieldmark.SampledPage) { p.Hash, p.Since = strings.Repeat("0", 64), "2020-01-01" },
	} {
		forged := page
		change(&forged)
		subject.Previous = &fieldmark.Facts{Sample: &fieldmark.Sample{Pages: []fieldmark.SampledPage{forged}}}
		got := auditOf(t, s, subject)
		if age := say(got, "fresh.age"); age != "2" || got.Sample.Pages[0].Since != "2026-03-01" {
			t.Errorf("%s: age %s, since %s; want 2 and 2026-03-01", name, age, got.Sample.Pages[0].Since)
		}
	}
}

// TestOneDateOnEveryPage: the same date on all of at least three pages is that of a build.
func TestOneDateOnEveryPage(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct{ pages, want string }{
		{"2026-02-20 2026-02-20", "9"},
		{"2026-02-20 2026-02-20 2026-02-20", "unknown"},
		{"2026-02-20 2026-02-20 2026-02-21", "8"},
		{"2026-02-20 2026-02-20 2027-01-01 2026-02-20", "unknown"}, // the future is no date
	} {
		site, links := web{}, ""
		dates := strings.Fields(tt.pages)
		for i, date := range dates[1:] {
			path := fmt.Sprintf("/p%d", i)
			site[path] = dated(date, words(100+i))
			links += `<a href="` + path + `">p</a> `
		}
		site["/"] = dated(dates[0], links+words(99))
		facts := auditOf(t, site.serve(t, 0), audit.Subject{URL: home, Name: "Example", AsOf: now})
		if got := say(facts, "fresh.age"); got != tt.want {
			t.Errorf("%s: fresh.age = %s, want %s; seen:\n%s", tt.pages, got, tt.want, seen(facts, "fresh.age"))
		}
		if got := say(facts, "fresh.recent"); (got == "unknown") != (tt.want == "unknown") {
			t.Errorf("%s: fresh.recent = %s", tt.pages, got)
		}
	}
}

package audit

import (
	"net/http"
	"strings"
	"time"
)

// Dates outside of these bounds are typing errors or clocks never set.
const (
	dateSlack  = 24 * time.Hour // somewhere it is tomorrow already
	oldestYear = 1995           // no web page is older in earnest
)

// dateLayouts are the forms of W3C dates and times (a profile of ISO 8601), and
// what content systems make of them.
var dateLayouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05.999999999Z0700", "2006-01-02T15:04:05Z0700",
	"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05", "2006-01-02", "2006-01", "2006",
}

// parseDate reads a date as found in markup; ok is false for anything that is
// none or that cannot be true as of now.
func parseDate(s string, now time.Time) (at time.Time, ok bool) {
	s = strings.TrimSpace(s)
	if len(s) < 4 || len(s) > 40 {
		return at, false
	}
	for _, layout := range dateLayouts {
		if at, err := time.Parse(layout, s); err == nil {
			return at.UTC(), credible(at, now)
		}
	}
	if at, err := http.ParseTime(s); err == nil {
		return at.UTC(), credible(at, now)
	}
	return at, false
}

func credible(at, now time.Time) bool {
	return at.Year() >= oldestYear && !at.After(now.Add(dateSlack))
}

// dated is a date and what said so.
type dated struct {
	at     time.Time
	source string
	raw    string
}

// newestDate returns the date a page gives itself, or what its sitemap and its
// server say of it. Sources are tried in the order of how deliberately they are
// set; within one, the newest counts.
func (p *page) newestDate(lastmod, lastModified string, now time.Time) (best dated, ok bool) {
	var modified, published []string
	for i := range p.graph {
		modified = append(modified, p.graph[i].text["dateModified"]...)
		published = append(published, p.graph[i].text["datePublished"]...)
	}
	sources := []struct {
		name   string
		values []string
	}{
		{"dateModified", modified},
		{"datePublished", published},
		{"article:modified_time", []string{p.meta("article:modified_time"), p.meta("article:published_time")}},
		{"time element", p.times},
		{"sitemap lastmod", []string{lastmod}},
		{"Last-Modified", []string{lastModified}},
	}
	for _, s := range sources {
		for _, raw := range s.values {
			if at, valid := parseDate(raw, now); valid && (!ok || at.After(best.at)) {
				best, ok = dated{at, s.name, raw}, true
			}
		}
		if ok {
			return best, true
		}
	}
	return dated{}, false
}

// rollout is how far apart the files of one deployment are written, and the
// answers of one audit that are all stamped with the time of asking.
const rollout = time.Hour

// datedByServer reports whether Last-Modified tells pages apart. Where all of
// them are of the same hour it is the date of a deployment, or that of the
// request, and says nothing of the text.
func datedByServer(pages []*page) bool {
	var first, last time.Time
	seen := 0
	for _, p := range pages {
		at, err := http.ParseTime(p.header.Get("Last-Modified"))
		if err != nil {
			continue
		}
		if seen++; seen == 1 || at.Before(first) {
			first = at
		}
		if at.After(last) {
			last = at
		}
	}
	return seen == 1 || last.Sub(first) > rollout
}

// ageDays counts whole days between two dates, in UTC.
func ageDays(at, now time.Time) int64 {
	day := func(t time.Time) time.Time {
		y, m, d := t.UTC().Date()
		return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	}
	return max(int64(day(now).Sub(day(at))/(24*time.Hour)), 0)
}

package audit

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Dates outside of these limits are typing errors or wrong clocks.
const (
	dateSlack  = 24 * time.Hour // tomorrow has begun in some time zone
	oldestYear = 1995           // no web page is older
)

// dateLayouts are the formats of W3C dates and times (a profile of ISO 8601), and
// variants that content systems produce.
var dateLayouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05.999999999Z0700", "2006-01-02T15:04:05Z0700",
	"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05", "2006-01-02",
	"2006-01", "2006",
}

// parseDate parses a date found in markup. ok is false if it is not a date or is
// implausible at the time now.
func parseDate(s string, now time.Time) (at time.Time, ok bool) {
	s = strings.TrimSpace(s)
	if len(s) < 4 || len(s) > 40 {
		return at, false
	}
	for _, layout := range dateLayouts {
		if at, err := time.Parse(layout, s); err == nil {
			return at.UTC(), isPlausible(at, now)
		}
	}
	if at, err := http.ParseTime(s); err == nil {
		return at.UTC(), isPlausible(at, now)
	}
	return at, false
}

// isPlausible reports whether a web page can have this date at the time now.
func isPlausible(at, now time.Time) bool {
	return at.Year() >= oldestYear && !at.After(now.Add(dateSlack))
}

// dated is a date and its source.
type dated struct {
	at     time.Time
	source string
	raw    string
}

// newestDate returns the date of a page from its markup, its sitemap or its server.
// Sources are tried in the order of how deliberately they are set; within one, the
// newest date counts.
func (p *page) newestDate(lastmod, lastModified string, now time.Time) (best dated, ok bool) {
	var modified, published []string
	for i := range p.graph {
		modified = append(modified, p.graph[i].Text["dateModified"]...)
		published = append(published, p.graph[i].Text["datePublished"]...)
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

// deploymentSpan is the maximum time between the files of one deployment, and
// between the responses of one audit that are stamped with the request time.
const deploymentSpan = time.Hour

// datedByServer reports whether Last-Modified differs between pages. If all pages
// have the same hour, it is the time of a deployment or of the request and not of
// the text.
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
	return seen == 1 || last.Sub(first) > deploymentSpan
}

// ageDays returns the whole days between two dates, in UTC.
func ageDays(at, now time.Time) int64 {
	day := func(t time.Time) time.Time {
		y, m, d := t.UTC().Date()
		return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	}
	return max(int64(day(now).Sub(day(at))/(24*time.Hour)), 0)
}

// minSameDates is how many pages with one and the same date make it implausible: it is then
// the date of a build or of a template.
const minSameDates = 3

// pageDate is the date of a page.
type pageDate struct {
	dated
	ok bool

	// since is when an earlier audit first found the same text, zero if none did. A text
	// cannot have changed after that, whatever date it claims.
	since time.Time
}

// claimed returns the date that the page claims, for facts.Sample.
func (d pageDate) claimed() string {
	if d.at.IsZero() {
		return ""
	}
	return d.at.Format(time.DateOnly)
}

// bounded returns the date, at most that of the first audit that found the same text.
func (d pageDate) bounded() pageDate {
	if d.ok && !d.since.IsZero() && d.at.After(d.since.Add(dateSlack)) {
		d.at = d.since
		d.source = fmt.Sprintf("text unchanged since %s, although %s", d.since.Format(time.DateOnly), d.source)
	}
	return d
}

// String is the evidence of a date.
func (d pageDate) String() string { return d.source + ": " + d.raw }

// datePages determines the dates of all pages of the sample, before any fact, because they
// depend on each other: the same date on every page does not count.
func (f *site) datePages() {
	f.dates = map[*page]pageDate{}
	first := f.firstSeen()
	count := map[time.Time]int{}
	var all []*sampled
	for _, list := range [][]sampled{f.sample, f.translations} {
		for i := range list {
			if list[i].page != nil {
				all = append(all, &list[i])
			}
		}
	}
	for _, s := range all {
		lastModified := ""
		if f.served {
			lastModified = s.page.header.Get("Last-Modified")
		}
		d := pageDate{since: first[s.url.String()+" "+s.page.hash()]}
		if d.dated, d.ok = s.page.newestDate(f.lastmods[pageKey(s.page.url)], lastModified, f.now); d.ok {
			count[d.at]++
		}
		s.dated, s.since = d.claimed(), d.since
		f.dates[s.page] = d.bounded()
	}
	for _, n := range count {
		f.sameDate = len(count) == 1 && n >= minSameDates
	}
	if f.sameDate {
		clear(f.dates)
	}
}

// firstSeen returns, by address and hash of the text, when an audit first found each page of
// the previous audit. A date that is not in the past is no evidence.
func (f *site) firstSeen() map[string]time.Time {
	first := map[string]time.Time{}
	if f.subject.Previous == nil || f.subject.Previous.Sample == nil {
		return first
	}
	for _, p := range f.subject.Previous.Sample.Pages {
		if at, err := time.Parse(time.DateOnly, p.Since); err == nil && p.Hash != "" && !at.After(f.now) {
			first[p.URL+" "+p.Hash] = at
		}
	}
	return first
}

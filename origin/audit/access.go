package audit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
)

// hstsFloor is how long a browser must remember to use TLS for the promise to
// outlive a season.
const hstsFloor = 180 * 24 * time.Hour

// snippetShare is the share of a page's words, in percent, that may be kept
// from snippets before nothing quotable is left.
const snippetShare = 50

// reachable says whether the home page answered.
func (f *site) reachable(found findings) {
	switch {
	case f.home != nil:
		found.set("home.reachable", one, note(f.home.url.String(), "answered %d with a page of HTML", f.front.status))
	case f.front.refused():
		found.unknown("home.reachable", note(f.front.asked, "not fetched: %s", f.front.outcome()), note(f.robots.url, "%s", f.robots.decision(f.front.url)))
	case f.fault != nil:
		found.unknown("home.reachable", note(f.front.url.String(), "answered %d, and the page was not read: %s", f.front.status, f.fault))
	case f.front.ok():
		found.set("home.reachable", 0, note(f.front.asked, "answered %d without a page of HTML", f.front.status))
	default:
		found.set("home.reachable", 0, note(f.front.asked, "%s", f.front.outcome()))
	}
}

// access measures whether answer engines may and can read the site.
func (f *site) access(found findings) {
	f.crawlers(found)
	f.indexable(found)
	f.snippets(found)
	f.sitemaps(found)
	f.response(found)
	f.https(found)
}

// crawlers measures, for each crawler that feeds a fact, the share of sampled
// addresses it may fetch; facts that several feed get their mean.
func (f *site) crawlers(found findings) {
	type tally struct {
		open, asked int
		seen        []fieldmark.Evidence
	}
	tallies := map[string]*tally{}
	var order []string
	for _, c := range registry {
		if c.fact == "" {
			continue
		}
		t := tallies[c.fact]
		if t == nil {
			t = &tally{}
			tallies[c.fact], order = t, append(order, c.fact)
		}
		open, asked, example := f.judgeCrawler(c.token)
		t.open, t.asked = t.open+open, t.asked+asked
		if asked > 0 {
			t.seen = append(t.seen, note(f.robots.url, "%s may fetch %d of %d sampled addresses; %s", c.token, open, asked, example))
		}
	}
	for _, id := range order {
		t := tallies[id]
		if len(t.seen) > 1 { // lead with what costs points, so that a bounded list keeps it
			slices.SortStableFunc(t.seen, func(a, b fieldmark.Evidence) int { return strings.Compare(verdictOrder(a), verdictOrder(b)) })
		}
		found.setShare(id, t.open, t.asked, t.seen...)
	}
}

// verdictOrder sorts evidence that speaks of a block first.
func verdictOrder(e fieldmark.Evidence) string {
	if strings.Contains(e.Fact, "disallowed") {
		return "0"
	}
	return "1"
}

// judgeCrawler counts the sampled addresses a crawler may fetch and tells what
// decided the first that it may not, or the first of all.
func (f *site) judgeCrawler(token string) (open, asked int, example string) {
	shown := undecided
	for _, u := range f.sample {
		v, rule := f.robots.judge(token, u)
		if v == undecided {
			continue
		}
		asked++
		if v == allowed {
			open++
		}
		if shown == undecided || shown == allowed && v == disallowed {
			shown, example = v, fmt.Sprintf("%s %s: %s", u.EscapedPath(), v, rule)
		}
	}
	return open, asked, example
}

// directives is what a page allows answer engines to do with it.
type directives struct {
	closed  string // the directive that forbids indexing or quoting; "" for none
	partial string // the same, for one answer crawler only
}

// directivesOf reads the meta elements and the header field (as Google and Bing
// document them) that apply to every crawler, or to an answer crawler by name.
func directivesOf(p *page) directives {
	var d directives
	for _, m := range p.metas {
		if m.key == "robots" || answerToken(m.key) {
			if c := closing(m.content); c != "" {
				d.add(m.key == "robots", fmt.Sprintf("meta %s: %s", m.key, c))
			}
		}
	}
	for _, field := range p.header.Values("X-Robots-Tag") {
		agent := "" // a name stays in force until the next one
		for part := range strings.SplitSeq(field, ",") {
			name, rest, named := strings.Cut(part, ":")
			if lower := strings.ToLower(strings.TrimSpace(name)); named && !valued[lower] {
				agent, part = lower, rest
			}
			if c := closing(part); c != "" && (agent == "" || answerToken(agent)) {
				d.add(agent == "", fmt.Sprintf("X-Robots-Tag: %s", strings.TrimSpace(field)))
			}
		}
	}
	return d
}

// valued are the directives written with a colon, which make no crawler's name.
var valued = map[string]bool{"max-snippet": true, "max-image-preview": true, "max-video-preview": true, "unavailable_after": true}

func (d *directives) add(all bool, what string) {
	switch {
	case all && d.closed == "":
		d.closed = what
	case !all && d.partial == "":
		d.partial = what
	}
}

// closing returns the first directive of a list that forbids a quotation.
func closing(list string) string {
	for part := range strings.SplitSeq(strings.ToLower(list), ",") {
		switch part = strings.ReplaceAll(strings.TrimSpace(part), " ", ""); part {
		case "noindex", "none", "nosnippet", "max-snippet:0":
			return part
		}
	}
	return ""
}

// indexable says whether the home page may be indexed and quoted by everyone.
func (f *site) indexable(found findings) {
	if d := directivesOf(f.home); d.closed != "" {
		found.set("home.indexable", 0, note(f.home.url.String(), "%s", d.closed))
		return
	}
	found.set("home.indexable", one, note(f.home.url.String(), "no directive forbids indexing or quoting"))
}

// snippets measures the share of pages an answer may quote.
func (f *site) snippets(found findings) {
	good := 0
	var bad []fieldmark.Evidence
	for _, p := range f.pages {
		d := directivesOf(p)
		switch {
		case d.closed != "" || d.partial != "":
			bad = append(bad, note(p.url.String(), "%s", firstOf(d.closed, d.partial)))
		case p.words > 0 && p.unquoted*100 >= p.words*snippetShare:
			bad = append(bad, note(p.url.String(), "data-nosnippet covers %d of %d words", p.unquoted, p.words))
		default:
			good++
		}
	}
	found.setShare("page.snippet_eligible", good, len(f.pages), f.summed("%d of %d pages may be quoted", good, bad)...)
}

// summed puts a count over the sample in front of the pages that fell short.
func (f *site) summed(format string, good int, bad []fieldmark.Evidence) []fieldmark.Evidence {
	return append([]fieldmark.Evidence{note(f.home.url.String(), format, good, len(f.pages))}, bad...)
}

func firstOf(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

// sitemaps says whether there is one, whether it keeps the protocol, and
// whether what it lists is there.
func (f *site) sitemaps(found findings) {
	s := &f.sitemap
	if !s.found && (s.missed != "" || len(s.files) == 0) {
		why := note(f.robots.url, "no sitemap could be looked at: %s", firstOf(s.missed, s.outcome))
		for _, id := range []string{"sitemap.found", "sitemap.valid", "sitemap.live"} {
			found.unknown(id, why)
		}
		return
	}
	if !s.found {
		why := note(s.files[0], "%s", firstOf(s.invalid, s.outcome))
		for _, id := range []string{"sitemap.found", "sitemap.valid", "sitemap.live"} {
			found.set(id, 0, why)
		}
		return
	}
	found.set("sitemap.found", one, note(s.files[0], "%s; %s in %s read", s.outcome, count(s.total, "address", "addresses"), count(len(s.files), "file", "files")))
	if s.invalid != "" {
		found.set("sitemap.valid", 0, note(s.files[0], "%s", s.invalid))
	} else {
		found.set("sitemap.valid", one, note(s.files[0], "well-formed, within %d addresses and %d MiB", maxSitemapURLs, maxSitemapBytes>>20))
	}
	f.liveness(found)
}

// liveness judges the sampled addresses that the sitemap lists, and with them
// up to as many of those that lead to other hosts, where nothing is fetched.
func (f *site) liveness(found findings) {
	s := &f.sitemap
	listed := make(map[string]bool, len(s.entries))
	for _, e := range s.entries {
		listed[key(e.loc)] = true
	}
	good, all := 0, 0
	var bad []fieldmark.Evidence
	for _, v := range f.visits {
		asked, err := f.home.url.Parse(v.asked)
		if err != nil || !listed[key(asked)] {
			continue
		}
		all++
		if v.ok() && v.url.Host == f.home.url.Host {
			good++
		} else {
			bad = append(bad, note(v.asked, "%s", v.outcome()))
		}
	}
	for _, loc := range s.foreign {
		all++
		bad = append(bad, note(loc, "listed, but on another host"))
	}
	sum := note(s.files[0], "%d of %d listed addresses looked at are there", good, all)
	if all == 0 {
		found.unknown("sitemap.live", sum)
		return
	}
	found.setShare("sitemap.live", good, all, append([]fieldmark.Evidence{sum}, bad...)...)
}

// response measures how reliably and how soon pages answer.
func (f *site) response(found findings) {
	good := 0
	var bad []fieldmark.Evidence
	var waits []int64
	for i := range f.visits {
		v := &f.visits[i]
		if v.err == nil {
			waits = append(waits, v.wait.Milliseconds())
		}
		if v.ok() {
			good++
		} else {
			bad = append(bad, note(v.asked, "%s", v.outcome()))
		}
	}
	base := f.home.url.String()
	sum := note(base, "%d of %d pages answered 2xx", good, len(f.visits))
	found.setShare("response.ok", good, len(f.visits), append([]fieldmark.Evidence{sum}, bad...)...)
	wait := roundWait(median(waits))
	found.set("response.ttfb", wait*one, note(base, "median over %s: at most %d ms to the first byte", count(len(waits), "page", "pages"), wait))
}

// roundWait rounds a waiting time up to 200, 400, 800 ms and whole steps of
// 200 ms from there: finer, and two audits of one site would never agree.
func roundWait(ms int64) int64 {
	switch {
	case ms <= 200:
		return 200
	case ms <= 400:
		return 400
	case ms <= 800:
		return 800
	}
	return (ms + 199) / 200 * 200
}

// https says whether the site is served over TLS, whether plain http leads
// there at once, and whether browsers are told to remember it.
func (f *site) https(found findings) {
	base := f.home.url.String()
	secure, header := f.home.url.Scheme == "https", f.home.header
	switch {
	case secure:
		found.set("https.tls", one, note(base, "certificate valid for %s", f.home.url.Hostname()))
	case f.plain != nil && f.plain.refused():
		found.unknown("https.tls", note(f.plain.asked, "%s", f.plain.outcome()))
	case f.plain != nil:
		found.setBool("https.tls", f.plain.err == nil, note(f.plain.asked, "%s", f.plain.outcome()))
		header = f.plain.header
	default:
		found.set("https.tls", 0, note(base, "served over http, on a port of its own"))
	}
	f.redirect(found, secure)
	field := header.Get("Strict-Transport-Security")
	age, ok := hstsAge(field)
	switch {
	case field == "":
		found.set("https.hsts", 0, note(base, "no Strict-Transport-Security"))
	default:
		found.setBool("https.hsts", ok && age >= int64(hstsFloor/time.Second), note(base, "Strict-Transport-Security: %s", field))
	}
}

// redirect says whether the http address leads to https in one hop.
func (f *site) redirect(found findings, secure bool) {
	const id = "https.redirect"
	base := f.home.url.String()
	switch {
	case !secure:
		found.set(id, 0, note(base, "http answers with the page itself"))
	case strings.HasPrefix(f.front.asked, "http://"):
		found.setBool(id, strings.HasPrefix(f.front.hops[0], "https://"), note(f.front.asked, "redirects to %s", f.front.hops[0]))
	case f.plain == nil:
		found.notApplicable(id, note(base, "on a port of its own, which has no http twin"))
	case f.plain.refused():
		found.unknown(id, note(f.plain.asked, "%s", f.plain.outcome()))
	default:
		to := f.plain.redirect(f.plain.url)
		if to == nil {
			found.set(id, 0, note(f.plain.asked, "%s", f.plain.outcome()))
			return
		}
		found.setBool(id, to.Scheme == "https", note(f.plain.asked, "redirects to %s", to))
	}
}

// hstsAge reads max-age of Strict-Transport-Security, in seconds (RFC 6797,
// section 6.1.1).
func hstsAge(field string) (int64, bool) {
	for part := range strings.SplitSeq(strings.ToLower(field), ";") {
		name, value, _ := strings.Cut(part, "=")
		if strings.TrimSpace(name) == "max-age" {
			n, err := strconv.ParseInt(strings.Trim(strings.TrimSpace(value), `"`), 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

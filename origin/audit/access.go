package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/audit/robots"
)

// accessFacts measures whether crawlers may and can read the site. It reads what the
// crawl found and changes only the findings.
type accessFacts struct{ *site }

// minHSTSAge is the shortest max-age of Strict-Transport-Security that counts: half
// a year covers people who return rarely.
const minHSTSAge = 180 * 24 * time.Hour

// maxNosnippetShare is the percentage of a page's words under data-nosnippet from
// which the page counts as not quotable.
const maxNosnippetShare = 50

// reachable measures whether the home page responded.
// A wall, a robots.txt that forbids the page and a page that cannot be parsed are unknown: they do
// not show that answer engines cannot read it.
func (f accessFacts) reachable(found findings) {
	switch {
	case f.home != nil:
		found.set("home.reachable", one, newEvidence(f.home.url.String(), "responded %d with an HTML page",
			f.front.status))
	case f.front.walled:
		found.unknown("home.reachable", newEvidence(f.front.url.String(), "%s", f.front.outcome()))
	case f.refusal() == RefusedByWall:
		found.unknown("home.reachable", newEvidence(f.robots.URL, "%s", f.robots.visit.outcome()))
	case f.front.refused():
		found.unknown("home.reachable", newEvidence(f.front.asked, "not fetched: %s", f.front.outcome()),
			newEvidence(f.robots.URL, "%s", f.robots.Describe(Token, f.front.url)))
	case f.parseErr != nil:
		found.unknown("home.reachable", newEvidence(f.front.url.String(),
			"responded %d, but the page could not be read: %s", f.front.status, f.parseErr))
	case f.front.ok():
		found.set("home.reachable", 0, newEvidence(f.front.asked, "responded %d without an HTML page", f.front.status))
	default:
		found.set("home.reachable", 0, newEvidence(f.front.asked, "%s", f.front.outcome()))
	}
}

// refusal returns who refused the audit, if the home page was not read for this reason.
func (f *site) refusal() Refusal {
	switch {
	case f.home != nil:
		return NotRefused
	case f.front.walled, errors.Is(f.front.err, errDisallowed) && f.robots.visit.walled:
		return RefusedByWall
	case errors.Is(f.front.err, errDisallowed) && f.robots.Err == nil:
		return RefusedByRobots
	}
	return NotRefused
}

// probeWall finds out whether a home page that the server denies is one page or all: it
// requests the sitemap, and a page that the sitemap lists.
func (r *crawl) probeWall(ctx context.Context, f *site) {
	base := f.front.url
	if !f.front.denied() || f.robots.visit.status == f.front.status {
		return
	}
	r.progress("sitemap")
	f.sitemap = r.readSitemaps(ctx, base, f.robots.Sitemaps(), probeFiles, f.now)
	pages := map[string]*url.URL{}
	for _, e := range f.sitemap.entries {
		if key := pageKey(e.loc); isSamplable(e.loc, base) && key != pageKey(base) {
			pages[key] = withoutFragment(e.loc, base)
		}
	}
	f.population = 1 + len(pages)
	if len(pages) == 0 || f.sitemap.first.status == f.front.status {
		return
	}
	at := pages[r.draw(maps.Keys(pages), 1)[0]]
	f.seed = r.seed
	r.progress("another page: " + at.Path)
	s := r.visit(ctx, at, fieldmark.PageDrawn)
	s.page, s.listed = nil, true
	s.reason = cmp.Or(s.reason, "read to find out whether the home page alone is denied")
	f.sample = append(f.sample, s)
}

// probeFiles is how many sitemaps probeWall reads: an index and one of its files.
const probeFiles = 2

// markWalls marks the visits that bot protection answered without marking them: at
// least two addresses of the host, of which robots.txt may be one, got the same 401 or 403.
// While the home page is readable, other files do not count, because object stores answer
// 403 for each file that does not exist. A home page that got 429 is marked as well: the
// status is about this client (RFC 6585, section 4).
func (f *site) markWalls() {
	host := f.front.url.Host
	visits := []*visit{&f.front, &f.robots.visit}
	for _, list := range [][]sampled{f.sample, f.translations, f.rechecked} {
		for i := range list {
			visits = append(visits, &list[i].visit)
		}
	}
	if f.home == nil && f.sitemap.first.url != nil {
		visits = append(visits, &f.sitemap.first)
	}
	denied := map[int]map[string]bool{}
	for _, v := range visits {
		if v.denied() && v.url.Host == host {
			if denied[v.status] == nil {
				denied[v.status] = map[string]bool{}
			}
			denied[v.status][v.url.String()] = true
		}
	}
	visits = append(visits, &f.llms.visit, &f.sitemap.first)
	for _, v := range []*visit{f.plain, f.markdown} {
		if v != nil {
			visits = append(visits, v)
		}
	}
	for _, v := range visits {
		v.walled = v.walled || len(denied[v.status]) > 1 && v.url.Host == host
	}
	if f.front.status == http.StatusTooManyRequests {
		f.front.walled, f.sample[0].visit.walled = true, true
	}
	if f.sitemap.first.walled {
		f.sitemap.unreadable = cmp.Or(f.sitemap.unreadable, f.sitemap.first.outcome())
	}
	for i := range f.sample {
		if s := &f.sample[i]; s.visit.walled {
			s.reason = s.visit.outcome()
		}
	}
}

// measure measures whether answer engines may and can read the site.
func (f accessFacts) measure(found findings) {
	f.indexable(found)
	f.sitemaps(found)
	f.https(found)
}

// crawlers measures, for each crawler with a fact, the share of sampled addresses
// it may fetch. Crawlers that share a fact are averaged.
func (f accessFacts) crawlers(found findings) {
	type tally struct {
		open, asked int
		seen        []fieldmark.Evidence
	}
	tallies := map[string]*tally{}
	var order []string
	for _, c := range robots.Crawlers {
		if c.Fact == "" {
			continue
		}
		t := tallies[c.Fact]
		if t == nil {
			t = &tally{}
			tallies[c.Fact], order = t, append(order, c.Fact)
		}
		open, asked, example := f.countAllowed(c.Token)
		t.open, t.asked = t.open+open, t.asked+asked
		if asked > 0 {
			t.seen = append(t.seen, newEvidence(f.robots.URL, "%s may fetch %d of %d sampled addresses; %s", c.Token,
				open, asked, example))
		}
	}
	for _, id := range order {
		t := tallies[id]
		if f.robots.visit.walled { // what others get is not known
			found.unknown(id, newEvidence(f.robots.URL, "%s", f.robots.visit.outcome()))
			continue
		}
		if len(t.seen) > 1 { // blocks first, so that a bounded list keeps what costs points
			slices.SortStableFunc(t.seen, func(a, b fieldmark.Evidence) int {
				return strings.Compare(blockedFirst(a),
					blockedFirst(b))
			})
		}
		found.setShare(id, t.open, t.asked, t.seen...)
	}
}

// blockedFirst is a sort key that puts evidence of a block first.
func blockedFirst(e fieldmark.Evidence) string {
	if strings.Contains(e.Fact, "disallowed") {
		return "0"
	}
	return "1"
}

// countAllowed counts the sampled addresses a crawler may fetch. example is the
// rule for the first address it may not fetch or, otherwise, for the first
// address.
func (f accessFacts) countAllowed(token string) (open, asked int, example string) {
	shown := robots.Undecided
	for i := range f.sample {
		u := f.sample[i].url
		d := f.decide(token, u)
		if d.permission == robots.Undecided {
			continue
		}
		asked++
		if d.permission == robots.Allowed {
			open++
		}
		if shown == robots.Undecided || shown == robots.Allowed && d.permission == robots.Disallowed {
			shown, example = d.permission, d.text
		}
	}
	return open, asked, example
}

// decision is the rule of robots.txt for one crawler and one address.
type decision struct {
	permission robots.Permission
	text       string
}

// decide returns the rule of robots.txt, from the cache if it was looked up before.
func (f accessFacts) decide(token string, u *url.URL) decision {
	key := token + " " + u.String()
	d, ok := f.rules[key]
	if !ok {
		v, rule := f.robots.Check(token, u)
		d = decision{v, fmt.Sprintf("%s %s: %s", u.EscapedPath(), v, rule)}
		f.rules[key] = d
	}
	return d
}

// metaDirectives are the robots directives of a page that restrict answer engines.
type metaDirectives struct {
	blocked       string // the directive that forbids indexing or quoting; "" if none
	blockedForOne string // the same, for one answer crawler only
}

// directivesOf reads the directives in meta elements and the X-Robots-Tag
// header, as documented by Google and Bing, that apply to all crawlers or to a
// named answer crawler.
func directivesOf(p *page) metaDirectives {
	var d metaDirectives
	for _, m := range p.metas {
		if m.key == "robots" || robots.IsAnswerCrawler(m.key) {
			if c := blockingDirective(m.content); c != "" {
				d.add(m.key == "robots", fmt.Sprintf("meta %s: %s", m.key, c))
			}
		}
	}
	for _, field := range p.header.Values("X-Robots-Tag") {
		agent := "" // a name applies until the next one
		for part := range strings.SplitSeq(field, ",") {
			name, rest, named := strings.Cut(part, ":")
			if lower := strings.ToLower(strings.TrimSpace(name)); named && !directivesWithValue[lower] {
				agent, part = lower, rest
			}
			if c := blockingDirective(part); c != "" && (agent == "" || robots.IsAnswerCrawler(agent)) {
				d.add(agent == "", fmt.Sprintf("X-Robots-Tag: %s", strings.TrimSpace(field)))
			}
		}
	}
	return d
}

// directivesWithValue are written with a colon and are not names of crawlers.
var directivesWithValue = map[string]bool{"max-snippet": true, "max-image-preview": true, "max-video-preview": true,
	"unavailable_after": true}

func (d *metaDirectives) add(all bool, what string) {
	switch {
	case all && d.blocked == "":
		d.blocked = what
	case !all && d.blockedForOne == "":
		d.blockedForOne = what
	}
}

// blockingDirective returns the first directive of a list that forbids quoting.
func blockingDirective(list string) string {
	for part := range strings.SplitSeq(strings.ToLower(list), ",") {
		switch part = strings.ReplaceAll(strings.TrimSpace(part), " ", ""); part {
		case "noindex", "none", "nosnippet", "max-snippet:0":
			return part
		}
	}
	return ""
}

// indexable measures whether all crawlers may index and quote the home page.
func (f accessFacts) indexable(found findings) {
	if d := directivesOf(f.home); d.blocked != "" {
		found.set("home.indexable", 0, newEvidence(f.home.url.String(), "%s", d.blocked))
		return
	}
	found.set("home.indexable", one, newEvidence(f.home.url.String(), "no directive forbids indexing or quoting"))
}

// snippets measures the share of pages that may be quoted.
func (f accessFacts) snippets(found findings) {
	good := 0
	var bad []fieldmark.Evidence
	for _, p := range f.pages {
		d := directivesOf(p)
		switch {
		case d.blocked != "" || d.blockedForOne != "":
			bad = append(bad, newEvidence(p.url.String(), "%s", cmp.Or(d.blocked, d.blockedForOne)))
		case p.words > 0 && p.unquoted*100 >= p.words*maxNosnippetShare:
			bad = append(bad, newEvidence(p.url.String(), "data-nosnippet covers %d of %d words", p.unquoted, p.words))
		default:
			good++
		}
	}
	found.setShare("page.snippet_eligible", good, len(f.pages), f.withSummary("%d of %d pages may be quoted", good,
		bad)...)
}

// withSummary puts a count over the sampled pages before the evidence of the pages
// that fail.
func (f *site) withSummary(format string, good int, bad []fieldmark.Evidence) []fieldmark.Evidence {
	return append([]fieldmark.Evidence{newEvidence(f.home.url.String(), format, good, len(f.pages))}, bad...)
}

// sitemaps measures whether there is a sitemap, whether it is valid, and whether
// the listed addresses exist.
func (f accessFacts) sitemaps(found findings) {
	s := &f.sitemap
	if !s.found && (s.unreadable != "" || len(s.files) == 0) {
		why := newEvidence(f.robots.URL, "no sitemap could be read: %s", cmp.Or(s.unreadable, s.outcome))
		for _, id := range []string{"sitemap.found", "sitemap.valid", "sitemap.live"} {
			found.unknown(id, why)
		}
		return
	}
	if !s.found {
		why := newEvidence(s.files[0], "%s", cmp.Or(s.invalid, s.outcome))
		for _, id := range []string{"sitemap.found", "sitemap.valid", "sitemap.live"} {
			found.set(id, 0, why)
		}
		return
	}
	found.set("sitemap.found", one, newEvidence(s.files[0], "%s; %s in %s", s.outcome, plural(s.total, "address",
		"addresses"), plural(len(s.files), "file", "files")))
	if s.invalid != "" {
		found.set("sitemap.valid", 0, newEvidence(s.files[0], "%s", s.invalid))
	} else {
		found.set("sitemap.valid", one, newEvidence(s.files[0], "well-formed, within %d addresses and %d MiB",
			maxSitemapURLs, maxSitemapBytes>>20))
	}
}

// liveness checks the sampled addresses that the sitemap lists. Up to three listed
// addresses on other hosts count as missing; they are not fetched.
func (f accessFacts) liveness(found findings) {
	s := &f.sitemap
	good, all := 0, 0
	var bad []fieldmark.Evidence
	for i := range f.sample {
		v := &f.sample[i].visit
		if !f.sample[i].listed || v.unseen() {
			continue
		}
		all++
		if v.ok() && v.url.Host == f.home.url.Host {
			good++
		} else {
			bad = append(bad, newEvidence(v.asked, "%s", v.outcome()))
		}
	}
	for _, loc := range s.otherHosts {
		all++
		bad = append(bad, newEvidence(loc, "listed, but on another host"))
	}
	sum := newEvidence(s.files[0], "%d of %d checked addresses exist", good, all)
	if all == 0 {
		found.unknown("sitemap.live", sum)
		return
	}
	found.setShare("sitemap.live", good, all, append([]fieldmark.Evidence{sum}, bad...)...)
}

// response measures how reliably and how fast pages respond.
func (f accessFacts) response(found findings) {
	good, all := 0, 0
	var bad []fieldmark.Evidence
	var waits []int64
	for i := range f.sample {
		v := &f.sample[i].visit
		if v.unseen() {
			continue
		}
		all++
		if v.err == nil {
			waits = append(waits, v.wait.Milliseconds())
		}
		if v.ok() {
			good++
		} else {
			bad = append(bad, newEvidence(v.asked, "%s", v.outcome()))
		}
	}
	base := f.home.url.String()
	sum := newEvidence(base, "%d of %d pages responded with 2xx", good, all)
	found.setShare("response.ok", good, all, append([]fieldmark.Evidence{sum}, bad...)...)
	wait := roundWait(median(waits))
	found.set("response.ttfb", wait*one, newEvidence(base, "median over %s: at most %d ms to the first byte",
		plural(len(waits), "page", "pages"), wait))
}

// roundWait rounds a waiting time up to 200, 400, 800 ms and then to multiples of
// 200 ms. With a finer resolution two audits of one site would always differ.
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

// https measures whether the site uses TLS, whether http redirects to it, and
// whether HSTS is set.
func (f accessFacts) https(found findings) {
	base := f.home.url.String()
	secure, header := f.home.url.Scheme == "https", f.home.header
	switch {
	case secure:
		found.set("https.tls", one, newEvidence(base, "certificate valid for %s", f.home.url.Hostname()))
	case f.plain != nil && f.plain.refused():
		found.unknown("https.tls", newEvidence(f.plain.asked, "%s", f.plain.outcome()))
	case f.plain != nil:
		found.setBool("https.tls", f.plain.err == nil, newEvidence(f.plain.asked, "%s", f.plain.outcome()))
		header = f.plain.header
	default:
		found.set("https.tls", 0, newEvidence(base, "served over http on a non-default port"))
	}
	f.redirect(found, secure)
	field := header.Get("Strict-Transport-Security")
	age, ok := hstsAge(field)
	switch {
	case field == "":
		found.set("https.hsts", 0, newEvidence(base, "no Strict-Transport-Security header"))
	default:
		found.setBool("https.hsts", ok && age >= int64(minHSTSAge/time.Second), newEvidence(base,
			"Strict-Transport-Security: %s", field))
	}
}

// redirect measures whether http redirects to https in one hop.
func (f accessFacts) redirect(found findings, secure bool) {
	const id = "https.redirect"
	base := f.home.url.String()
	switch {
	case !secure:
		found.set(id, 0, newEvidence(base, "http serves the page without a redirect"))
	case strings.HasPrefix(f.front.asked, "http://"):
		found.setBool(id, strings.HasPrefix(f.front.hops[0], "https://"), newEvidence(f.front.asked, "redirects to %s",
			f.front.hops[0]))
	case f.plain == nil:
		found.notApplicable(id, newEvidence(base, "on a non-default port, which has no http counterpart"))
	case f.plain.unseen():
		found.unknown(id, newEvidence(f.plain.asked, "%s", f.plain.outcome()))
	default:
		to := f.plain.redirect(f.plain.url)
		if to == nil {
			found.set(id, 0, newEvidence(f.plain.asked, "%s", f.plain.outcome()))
			return
		}
		found.setBool(id, to.Scheme == "https", newEvidence(f.plain.asked, "redirects to %s", to))
	}
}

// hstsAge parses max-age of Strict-Transport-Security, in seconds (RFC 6797,
// section 6.1.1).
// A value that is not a number is no policy at all (RFC 6797, 8.1).
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

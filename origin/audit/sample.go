package audit

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"
)

// The size of a sample. Small sites are read completely. Beyond that, the sample grows with
// the logarithm of the site: its error depends on the number of pages read, hardly on how
// many there are, but large sites have more kinds of pages.
const (
	smallSite        = 10 // pages
	pagesPerDoubling = 3  // 20 pages of 100, 30 of 1,000
)

// sampleSize returns how many pages of a site are read, including those always read.
func sampleSize(population int) int {
	if population <= smallSite {
		return population
	}
	grown := int(math.Round(pagesPerDoubling * math.Log2(float64(population))))
	return min(max(smallSite, grown), fieldmark.MaxSampledPages)
}

// purpose is a kind of page that people look for. All words are slugs.
type purpose struct {
	role  fieldmark.PageRole
	whole map[string]bool // the whole text of a link
	start map[string]bool // the whole text or its start
	paths map[string]bool // a whole path segment, without extension
}

// purposes are searched in this order.
var purposes = []purpose{
	newPurpose(fieldmark.PageAbout, func(l *lexicon) (texts, paths string) { return l.about, l.aboutPaths }),
	newPurpose(fieldmark.PageContact, func(l *lexicon) (texts, paths string) { return l.contact, l.contactPaths }),
	newPurpose(fieldmark.PageOffer, func(l *lexicon) (texts, paths string) { return l.offer, l.offerPaths }),
}

// newPurpose collects the words of one purpose in all languages.
func newPurpose(role fieldmark.PageRole, words func(*lexicon) (texts, paths string)) purpose {
	p := purpose{role: role, whole: map[string]bool{}, start: map[string]bool{}, paths: map[string]bool{}}
	for i := range lexicons {
		texts, paths := words(&lexicons[i])
		for _, text := range splitWords(texts) {
			if text, only := strings.CutSuffix(text, "="); only {
				p.whole[slug(text)] = true
			} else {
				p.start[slug(text)], p.paths[slug(text)] = true, true
			}
		}
		for _, path := range splitWords(paths) {
			p.paths[slug(path)] = true
		}
	}
	return p
}

// unaccented replaces letters whose accents or ligatures normalization does not
// separate.
var unaccented = strings.NewReplacer("ß", "ss", "ı", "i", "ł", "l", "ø", "o", "đ", "d", "æ", "ae", "œ", "oe", "ς", "σ")

// slug returns a text in the form used to compare link texts and path segments:
// lower-case words without accents, joined by hyphens.
func slug(s string) string {
	s = unaccented.Replace(norm.NFKD.String(strings.ToLower(s)))
	s = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return !inWord(r) && !unicode.IsNumber(r) }), "-")
}

// maxLinkName limits the text of a link to such a page, in bytes: a longer one is a
// teaser and slow to compare.
const maxLinkName = 300

// maxContinued is how many characters may follow the words of a purpose in a link
// text: more is a sentence about something else.
const maxContinued = 24

// matches reports whether a link leads to a page of this purpose.
func (p *purpose) matches(a anchor) bool {
	return len(a.text) <= maxLinkName && p.matchesText(slug(a.text)) || p.matchesPath(a.url)
}

// matchesText reports whether the slug of a link text names this purpose: as a whole,
// or at its start if little follows.
func (p *purpose) matchesText(text string) bool {
	if p.whole[text] || p.start[text] {
		return true
	}
	unspaced := !spaced(text)
	for i, r := range text {
		if r != '-' && !unspaced || !p.start[text[:i]] || r != '-' && spaced(text[:i]) {
			continue
		}
		if utf8.RuneCountInString(text[i:]) <= maxContinued {
			return true
		}
	}
	return false
}

// matchesPath reports whether a segment of a short path names this purpose.
func (p *purpose) matchesPath(u *url.URL) bool {
	segments := strings.Split(strings.Trim(u.Path, "/"), "/")
	// Deep pages are about something else, whatever their segments say.
	if len(segments) > 3 {
		return false
	}
	return slices.ContainsFunc(segments, func(s string) bool {
		return p.paths[slug(strings.TrimSuffix(s, path.Ext(s)))]
	})
}

// findPurpose returns the first link on a page that matches a purpose and whose
// address passes fits.
func findPurpose(p *page, want *purpose, fits func(*url.URL) bool) (anchor, bool) {
	for _, a := range p.anchors {
		if fits(a.url) && want.matches(a) {
			return a, true
		}
	}
	return anchor{}, false
}

// sampled is an address of the sample: what an audit requested, or would have requested if
// robots.txt allowed it.
type sampled struct {
	url    *url.URL
	role   fieldmark.PageRole
	listed bool   // in the sitemap
	visit  visit  // without the body
	page   *page  // nil if it was not read, or is the page of another address
	reason string // why page is nil

	unparsed bool // it responded with a page that could not be parsed

	dated string    // the date of the last change that the page claims
	since time.Time // when an earlier audit first found this text; zero if none did
}

// requested reports whether the page was requested from the server.
func (s *sampled) requested() bool { return !s.visit.refused() }

// add requests a page and adds it to the sample. It reports false, without adding, if the
// audit has no request or time left.
func (r *crawl) add(ctx context.Context, f *site, u *url.URL, role fieldmark.PageRole) bool {
	s := r.visit(ctx, u, role)
	if ctx.Err() != nil || errors.Is(s.visit.err, errNoRequestsLeft) {
		return false
	}
	if s.page != nil && s.page.url.Host != f.home.url.Host {
		s.page, s.reason = nil, "redirects to another host"
	}
	if s.unparsed {
		f.unread = append(f.unread, newEvidence(s.visit.url.String(), "%s", s.reason))
	}
	s.listed = f.sitemap.keys[pageKey(u)]
	f.sample = append(f.sample, s)
	return true
}

// visit requests and parses a page.
func (r *crawl) visit(ctx context.Context, u *url.URL, role fieldmark.PageRole) sampled {
	s := sampled{url: u, role: role, visit: r.get(ctx, request{url: u, accept: acceptHTML})}
	switch {
	case !s.visit.ok():
		s.reason = s.visit.outcome()
	case !isPage(&s.visit):
		s.reason = fmt.Sprintf("responded %d without an HTML page", s.visit.status)
	default:
		p, err := r.parse(ctx, &s.visit)
		if s.page = p; err != nil {
			s.page, s.unparsed, s.reason = nil, true, "not read: "+err.Error()
		}
	}
	s.visit.body = nil // a body may have maxPageBytes
	return s
}

// readSample reads the pages of the sample after the home page: first those that the home
// page links to as about, contact and offer, then pages drawn from all known ones.
func (r *crawl) readSample(ctx context.Context, f *site) {
	for i := range purposes {
		fits := func(u *url.URL) bool { return isSamplable(u, f.home.url) && !f.taken(u) }
		a, ok := findPurpose(f.home, &purposes[i], fits)
		if !ok {
			continue
		}
		r.progress(fmt.Sprintf("%s page: %s", purposes[i].role, a.url.Path))
		if !r.add(ctx, f, withoutFragment(a.url, f.home.url), purposes[i].role) {
			r.incomplete = true
			break
		}
	}
	fixed := len(f.sample)
	known := f.candidates()
	f.population = fixed + len(known)
	n := min(sampleSize(f.population)-fixed, len(known), r.requestsLeft)
	for i, key := range r.draw(maps.Keys(known), max(n, 0)) {
		r.progress(fmt.Sprintf("page %d of %d: %s", i+1, n, known[key].Path))
		if !r.add(ctx, f, known[key], fieldmark.PageDrawn) {
			r.incomplete = true
			break
		}
	}
	if r.incomplete || n < len(known) || f.sitemap.drawn {
		f.seed = r.seed
	}
	f.arrange(fixed)
}

// taken reports whether an address is part of the sample, under the address that was
// requested or the one that responded.
func (f *site) taken(u *url.URL) bool {
	key := pageKey(u)
	if c := f.home.rel("canonical"); len(c) == 1 && c[0].url != nil && pageKey(c[0].url) == key {
		return true // the home page under its canonical address
	}
	return slices.ContainsFunc(f.sample, func(s sampled) bool {
		return pageKey(s.url) == key || pageKey(s.visit.url) == key
	})
}

// candidates returns the known pages that are not in the sample, by key: those in the
// sitemap, and those that the pages read so far link to, so that a site cannot choose its
// sample by what it lists. Of several spellings of an address, the first in alphabetical
// order is used.
func (f *site) candidates() map[string]*url.URL {
	known := map[string]*url.URL{}
	add := func(u *url.URL) {
		if !isSamplable(u, f.home.url) {
			return
		}
		u = withoutFragment(u, f.home.url)
		key := pageKey(u)
		if other, ok := known[key]; !ok || u.String() < other.String() {
			known[key] = u
		}
	}
	for _, e := range f.sitemap.entries {
		add(e.loc)
	}
	for _, s := range f.sample {
		if s.page != nil {
			for _, a := range s.page.anchors {
				add(a.url)
			}
		}
	}
	maps.DeleteFunc(known, func(_ string, u *url.URL) bool { return f.taken(u) })
	return known
}

// seedBytes is the size of a seed: too many values to try until one draws a certain sample.
const seedBytes = 16

// ValidSeed reports whether s is the seed of a sample.
func ValidSeed(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == seedBytes && strings.ToLower(s) == s
}

// draw returns n keys: those with the lowest SHA-256 of the seed, as in the facts, followed
// by the key. The seed is generated at the first draw, when the site has been asked for its
// list of pages, and is published with the facts.
func (r *crawl) draw(keys iter.Seq[string], n int) []string {
	if r.seed == "" {
		var b [seedBytes]byte
		_, _ = rand.Read(b[:]) // never fails
		r.seed = hex.EncodeToString(b[:])
	}
	type drawn struct {
		sum [sha256.Size]byte
		key string
	}
	var all []drawn
	for key := range keys {
		all = append(all, drawn{sha256.Sum256([]byte(r.seed + key)), key})
	}
	slices.SortFunc(all, func(a, b drawn) int { return slices.Compare(a.sum[:], b.sum[:]) })
	list := make([]string, n)
	for i := range list {
		list[i] = all[i].key
	}
	return list
}

// arrange sorts the drawn addresses, so that facts do not depend on the order in which they
// were read, and keeps a page once if several addresses lead to it.
func (f *site) arrange(fixed int) {
	slices.SortFunc(f.sample[fixed:], func(a, b sampled) int { return strings.Compare(pageKey(a.url), pageKey(b.url)) })
	slices.SortFunc(f.unread, func(a, b fieldmark.Evidence) int { return strings.Compare(a.URL, b.URL) })
	first := map[string]string{}
	for i := range f.sample {
		s := &f.sample[i]
		if s.page == nil {
			continue
		}
		key := pageKey(s.page.url)
		if other, ok := first[key]; ok {
			s.page, s.reason = nil, "the same page as "+other
		} else {
			first[key] = s.url.String()
		}
	}
	f.fixed = pagesOf(f.sample[:fixed])
	f.pages = pagesOf(f.sample)
	f.served = datedByServer(f.pages)
}

// pagesOf returns the pages of a sample that were read.
func pagesOf(sample []sampled) (pages []*page) {
	for i := range sample {
		if p := sample[i].page; p != nil {
			pages = append(pages, p)
		}
	}
	return pages
}

// Limits of the pages that are read again because of a suspicion.
const (
	// recheckRequests is the number of requests for them in one audit, redirects included.
	// They are not part of MaxRequests: with fewer requests for the sample, facts would
	// depend on a suspicion. Text of a template is on the home page as well, other text
	// mostly on one page; more pages are read by the next audits.
	recheckRequests = 6

	// maxMisses is how many audits in a row may fail to read the page of a suspicion before
	// it is dropped. It gives a site with weekly audits two weeks to respond again; a
	// suspicion that cannot be checked must not stay forever.
	maxMisses = 3
)

// readSuspected reads the pages with earlier suspicions that are not in the sample, so that
// a draw that misses a page does not clear it. Facts of pages and their replicates are
// computed without them.
func (r *crawl) readSuspected(ctx context.Context, f *site) {
	left := r.requestsLeft
	r.requestsLeft = recheckRequests
	defer func() { r.requestsLeft = left }()
	for _, s := range f.subject.Suspicions {
		u, err := url.Parse(s.URL)
		if err != nil || u.Host != f.home.url.Host || s.URL == f.llms.visit.asked || f.visited(u) != nil {
			continue
		}
		r.progress("page with a suspicion: " + u.Path)
		v := r.visit(ctx, withoutFragment(u, f.home.url), fieldmark.PageRecheck)
		if v.page != nil && v.page.url.Host != f.home.url.Host {
			v.page, v.reason = nil, "redirects to another host"
		}
		f.rechecked = append(f.rechecked, v)
	}
}

// visited returns the visit of the sample, or of a page that was read again, for an address;
// nil without one.
func (f *site) visited(u *url.URL) *sampled {
	key := pageKey(u)
	for _, list := range [][]sampled{f.sample, f.rechecked} {
		for i := range list {
			if s := &list[i]; pageKey(s.url) == key || s.visit.url != nil && pageKey(s.visit.url) == key {
				return s
			}
		}
	}
	return nil
}

// suspicionFacts finds text that is written to steer models, and decides which suspicions stay
// open. It adds to the suspicions of the site.
type suspicionFacts struct{ *site }

// suspectedPages returns the pages whose text is searched for orders to models.
func (f suspicionFacts) suspectedPages() []*page {
	return append(slices.Clone(f.pages), pagesOf(f.rechecked)...)
}

// confirmed reports whether a suspicion was first seen at least ConfirmAfter ago.
func (f suspicionFacts) confirmed(s Suspicion) bool {
	return f.now.Sub(s.FirstSeen.Std()) >= ConfirmAfter
}

// confirmedOn reports whether a page has a confirmed suspicion.
func (f suspicionFacts) confirmedOn(p *page) bool {
	return slices.ContainsFunc(f.suspicions,
		func(s Suspicion) bool { return s.URL == p.url.String() && f.confirmed(s) })
}

// openSuspicions returns the suspicions of this audit and those earlier ones whose page it
// could not read. An earlier one is closed when its page was read without the text, no
// longer exists, or could not be read maxMisses times in a row.
func (f suspicionFacts) openSuspicions() []Suspicion {
	list := f.suspicions
	for _, s := range f.subject.Suspicions {
		s.Unread = f.unreadReason(s.URL)
		s.Misses++
		found := func(o Suspicion) bool { return sameWords(o, s) }
		if s.Unread == "" || s.Misses >= maxMisses || len(list) >= maxSuspicions ||
			slices.ContainsFunc(f.suspicions, found) {
			continue
		}
		list = append(list, s)
	}
	return list
}

// unreadReason returns why the text of an address of an earlier suspicion could not be read;
// it is empty if it was, or if nothing of this site has the address any more.
func (f suspicionFacts) unreadReason(address string) string {
	if f.home == nil {
		return cmp.Or(f.sample[0].reason, "the home page was not read")
	}
	v := &f.llms.visit
	unparsed := ""
	if address != v.asked {
		u, err := url.Parse(address)
		if err != nil || u.Host != f.home.url.Host {
			return ""
		}
		s := f.visited(u)
		if s == nil {
			return errNoRequestsLeft.Error()
		}
		v = &s.visit
		if s.unparsed {
			unparsed = s.reason
		}
	}
	if v.ok() || v.err == nil && (v.status == http.StatusNotFound || v.status == http.StatusGone) {
		return unparsed
	}
	return v.outcome()
}

// sampleDocument describes the sample for the facts.
func (f *site) sampleDocument() *fieldmark.Sample {
	doc := fieldmark.Sample{Seed: f.seed, Population: max(f.population, len(f.sample))}
	for _, list := range [][]sampled{f.sample, f.translations} {
		for i := range list {
			d := list[i].document(f.now)
			if p := list[i].page; p != nil {
				d.Earlier = shorten(f.earlier[p.url.String()].URL, fieldmark.MaxBrandURL)
			}
			doc.Pages = append(doc.Pages, d)
		}
	}
	for i := range f.rechecked {
		if s := &f.rechecked[i]; s.page != nil && (suspicionFacts{f}).confirmedOn(s.page) {
			d := s.document(f.now)
			d.Since = "" // dates are not read on this page
			doc.Pages = append(doc.Pages, d)
		}
	}
	return &doc
}

// document describes one page that was requested at the time now.
func (s *sampled) document(now time.Time) fieldmark.SampledPage {
	d := fieldmark.SampledPage{URL: shorten(s.url.String(), fieldmark.MaxBrandURL), Role: s.role,
		Status: s.visit.status, Reason: shorten(s.reason, fieldmark.MaxEvidenceText)}
	if s.page != nil {
		d.Hash, d.Dated = s.page.hash(), s.dated
		if s.since.IsZero() {
			s.since = now
		}
		d.Since = s.since.Format(time.DateOnly)
		s.page.describe(&d)
	}
	return d
}

// describe adds the title, description and language of the page, unless it may not be indexed.
func (p *page) describe(d *fieldmark.SampledPage) {
	if d.Status != http.StatusOK || directivesOf(p).blocked != "" {
		return
	}
	d.Title, d.Description = shorten(p.title, fieldmark.MaxPageTitle), shorten(p.description,
		fieldmark.MaxPageDescription)
	if tag, err := language.Parse(p.lang); err == nil && len(tag.String()) <= fieldmark.MaxLanguageTag {
		d.Language = tag.String()
	}
}

// hash returns the SHA-256 of the main text.
func (p *page) hash() string {
	sum := sha256.Sum256([]byte(p.text))
	return hex.EncodeToString(sum[:])
}

// isSamplable reports whether u may be a page of the same site.
func isSamplable(u, home *url.URL) bool {
	if u.Host != home.Host || len(u.String()) > maxPageURL || u.User != nil {
		return false
	}
	switch ext := strings.ToLower(path.Ext(u.Path)); ext {
	case "", ".html", ".htm", ".xhtml", ".php", ".asp", ".aspx", ".jsp", ".do", ".cgi":
		return true
	default:
		// A dot in a slug is not an extension: /v1.2-released
		return len(ext) > 5
	}
}

// withoutFragment returns u without its fragment and with the scheme of the home
// page.
func withoutFragment(u, home *url.URL) *url.URL {
	c := *u
	c.Fragment, c.RawFragment, c.Scheme = "", "", home.Scheme
	return &c
}

// pageKey returns a key that is the same for equivalent spellings of an address.
func pageKey(u *url.URL) string {
	p := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(u.EscapedPath(), "index.html"), "index.php"), "/")
	return u.Host + p + "?" + u.RawQuery
}

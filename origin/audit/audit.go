package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"mime"
	"net/url"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/llms"
	"github.com/fieldmark/fieldmark/origin/safehttp"
)

// maxTwins is how many translations of the home page are read to see whether
// they point back, with the requests the sample left over.
const maxTwins = 2

// Rules names the present rules of auditing: the vocabulary, the registry of
// crawlers, and how facts are measured. Whoever changes one of these so that the
// same site gets other facts changes it too; brands are then audited anew soon.
const Rules = "2026-11-22.3"

// Config holds what an Auditor needs.
type Config struct {
	HTTP        *safehttp.Client // required: the only way out
	Delay       time.Duration    // between requests to one host; 0 means DefaultDelay, negative means none
	MaxRequests int              // per audit, redirects included; 0 means DefaultMaxRequests
}

// Subject is the site to audit and who it claims to be.
type Subject struct {
	URL      string // of the home page, http or https
	Name     string // of the brand; "" takes it from the host or from what the site calls itself
	Language string // BCP 47; may be empty

	// AsOf is the day the site is looked at as, where it is a copy of what it
	// once was: ages count from then. Zero means now.
	AsOf time.Time
}

// Auditor audits sites. It is safe for concurrent use; each audit keeps its own
// pace.
type Auditor struct {
	config  Config
	parsing chan struct{} // holds one value per document being parsed
}

// New checks the configuration and returns an Auditor; it fetches nothing.
func New(c Config) (*Auditor, error) {
	var problems []error
	if c.HTTP == nil {
		problems = append(problems, errors.New("an auditor needs a client to fetch with"))
	}
	if c.MaxRequests < 0 {
		problems = append(problems, fmt.Errorf("at most %d requests per audit make no audit", c.MaxRequests))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return &Auditor{config: c, parsing: make(chan struct{}, maxParsing)}, nil
}

// Audit reads the site of s and returns its facts. A site that does not answer
// is a finding, not an error: home.reachable is 0 and the rest unknown. An
// error means that s is no site that may be audited or that ctx ended.
// Progress, if not nil, is told each step in a few words.
func (a *Auditor) Audit(ctx context.Context, s Subject, progress func(step string)) (fieldmark.Facts, error) {
	home, err := parseHome(s.URL)
	if err != nil {
		return fieldmark.Facts{}, err
	}
	if progress == nil {
		progress = func(string) {}
	}
	limited, cancel := context.WithTimeout(ctx, auditDeadline)
	defer cancel()
	r := &reader{fetcher: newFetcher(a.config), progress: progress, parsing: a.parsing}
	found := r.read(limited, s, home)
	if err := ctx.Err(); err != nil {
		return fieldmark.Facts{}, fmt.Errorf("audit %s: %w", home, err)
	}
	return found.facts(), nil
}

// parseHome checks what a person typed as the address of a site.
func parseHome(raw string) (*url.URL, error) {
	bad := func(why string) error {
		return fieldmark.Errorf(fieldmark.CodeInvalidParameter, "%s", why)
	}
	u, err := url.Parse(strings.TrimSpace(raw))
	switch {
	case len(raw) > fieldmark.MaxBrandURL:
		return nil, bad("the address of the site is too long")
	case err != nil || !isWeb(u) || u.Hostname() == "":
		return nil, bad("the address of the site must be an absolute http or https URL")
	case u.User != nil:
		return nil, bad("the address of the site must not carry a user name or password")
	}
	u.Host = strings.ToLower(u.Host)
	u.Fragment, u.RawFragment = "", ""
	if u.Path == "" {
		u.Path = "/"
	}
	return u, nil
}

// site is everything one audit read. What follows from it is computed without
// another look at the network or the clock.
type site struct {
	subject  Subject
	now      time.Time
	front    visit // to the home page
	robots   robots
	home     *page      // nil unless it was read
	fault    error      // why a home page that answered was not read
	pages    []*page    // the home page first
	sample   []*url.URL // of pages chosen, fetched or not, the home page first
	visits   []visit    // of the sample, where a look was possible
	sitemap  sitemap
	llms     llmsFile
	plain    *visit // to the home page over http; nil if not looked at
	markdown *visit // to the home page asking for Markdown; nil if not looked at
	twins    []*page
	unread   []fieldmark.Evidence // pages of the sample that answered and were not read
	lastmods map[string]string
}

// llmsFile is what /llms.txt answered.
type llmsFile struct {
	visit  visit
	report llms.Report
	soft   bool // any path answers the same
}

// reader carries out one audit, one request after the other.
type reader struct {
	*fetcher
	progress func(step string)
	parsing  chan struct{} // of the Auditor
}

// read makes every request of an audit. When the audit's time is up the rest
// stays unread, and so unknown.
func (r *reader) read(ctx context.Context, s Subject, home *url.URL) *site {
	f := &site{subject: s, now: s.AsOf.UTC(), lastmods: map[string]string{}}
	if s.AsOf.IsZero() {
		f.now = time.Now().UTC()
	}
	r.progress("robots.txt")
	r.robots(ctx, home)
	r.progress("home page")
	f.front = r.get(ctx, request{url: home, accept: acceptHTML})
	base := f.front.url
	f.robots = r.robots(ctx, base)
	f.sample = []*url.URL{base}
	if errors.Is(f.front.err, errBroken) {
		f.fault = errBroken
	}
	if !isPage(&f.front) {
		return f
	}
	if f.home, f.fault = r.parse(ctx, &f.front); f.fault != nil {
		return f
	}
	f.pages, f.visits = []*page{f.home}, []visit{f.front}
	if plain, ok := schemeProbe(base); ok {
		r.progress("the other scheme")
		v := r.peek(ctx, plain, f.robots)
		f.plain = &v
	}
	r.progress("llms.txt")
	f.llms = r.readLLMS(ctx, base)
	if len(markdownTwins(f.pages)) == 0 {
		r.progress("Markdown version")
		v := r.get(ctx, request{url: base, accept: "text/markdown"})
		v.body = nil
		f.markdown = &v
	}
	r.progress("sitemap")
	f.sitemap = readSitemaps(ctx, r.fetcher, base, f.robots.sitemaps(), r.left-maxPages, f.now)
	for _, e := range f.sitemap.entries {
		if f.sitemap.trusted {
			f.lastmods[key(e.loc)] = e.lastmod
		}
	}
	r.readSample(ctx, f)
	r.readTwins(ctx, f)
	return f
}

// parse reads the page that a visit found and releases its body. It waits while
// maxParsing others are being parsed.
func (r *reader) parse(ctx context.Context, v *visit) (*page, error) {
	select {
	case r.parsing <- struct{}{}:
		defer func() { <-r.parsing }()
	case <-ctx.Done():
		return nil, errTime
	}
	body := v.body
	v.body = nil // visits are kept to the end of the audit, and a body has up to maxPageBytes
	p, err := parsePage(ctx, v.url, v.header, body)
	if ctx.Err() != nil {
		return nil, errTime
	}
	return p, err
}

// schemeProbe returns the home page under the other scheme. A site on a port of
// its own has no other scheme to ask.
func schemeProbe(base *url.URL) (*url.URL, bool) {
	other := *base
	other.Scheme = "http"
	if base.Scheme == "http" {
		other.Scheme = "https"
	}
	return &other, base.Port() == ""
}

// readLLMS reads /llms.txt and, unless it looks like one, a path that cannot
// exist: many servers answer every path with the same page.
func (r *reader) readLLMS(ctx context.Context, base *url.URL) llmsFile {
	at := &url.URL{Scheme: base.Scheme, Host: base.Host, Path: "/llms.txt"}
	l := llmsFile{visit: r.get(ctx, request{url: at, accept: "text/markdown,text/plain;q=0.9,*/*;q=0.5"})}
	if !l.visit.ok() {
		return l
	}
	l.report = llms.Lint(l.visit.body)
	if l.report.Level >= llms.LevelTitled {
		return l
	}
	sum := sha256.Sum256([]byte(base.Host))
	missing := r.get(ctx, request{url: &url.URL{Scheme: base.Scheme, Host: base.Host, Path: "/fieldmark-" + hex.EncodeToString(sum[:8]) + ".txt"}, accept: "text/plain,*/*;q=0.5"})
	l.soft = missing.ok() && (bytes.Equal(missing.body, l.visit.body) || looksLikeHTML(missing.body) && looksLikeHTML(l.visit.body))
	return l
}

// readSample reads the pages chosen besides the home page.
func (r *reader) readSample(ctx context.Context, f *site) {
	chosen := sampleOf(f.home, &f.sitemap)
	f.sample = append(f.sample, chosen...)
	for i, u := range chosen {
		r.progress(fmt.Sprintf("page %d of %d: %s", i+1, len(chosen), u.Path))
		v := r.get(ctx, request{url: u, accept: acceptHTML})
		if ctx.Err() != nil {
			return
		}
		if v.refused() {
			continue
		}
		if isPage(&v) && v.url.Host == f.home.url.Host && !f.has(v.url) {
			if p, err := r.parse(ctx, &v); err != nil {
				f.unread = append(f.unread, note(v.url.String(), "not read: %s", err))
			} else {
				f.pages = append(f.pages, p)
			}
		}
		v.body = nil
		f.visits = append(f.visits, v)
	}
}

// has reports whether a page is in the sample already, perhaps because two
// addresses lead to it.
func (f *site) has(u *url.URL) bool {
	for _, p := range f.pages {
		if key(p.url) == key(u) {
			return true
		}
	}
	return false
}

// readTwins reads translations of the home page that the sample did not.
func (r *reader) readTwins(ctx context.Context, f *site) {
	for _, alt := range alternates(f.home) {
		if len(f.twins) == maxTwins || r.left == 0 || ctx.Err() != nil {
			return
		}
		if alt.url == nil || alt.url.Host != f.home.url.Host || f.has(alt.url) {
			continue
		}
		r.progress("translation " + alt.hreflang)
		v := r.get(ctx, request{url: bare(alt.url, f.home.url), accept: acceptHTML})
		if isPage(&v) {
			if p, err := r.parse(ctx, &v); err == nil {
				f.twins = append(f.twins, p)
			}
		}
	}
}

// markdownTwins returns the links to Markdown versions of pages.
func markdownTwins(pages []*page) (list []link) {
	for _, p := range pages {
		for _, l := range p.rel("alternate") {
			if t, _, err := mime.ParseMediaType(l.media); err == nil && t == "text/markdown" {
				list = append(list, l)
			}
		}
	}
	return list
}

// facts computes every fact of the vocabulary from what was read.
func (f *site) facts() fieldmark.Facts {
	found := newFindings()
	f.reachable(found)
	if f.home != nil {
		if strings.TrimSpace(f.subject.Name) == "" {
			f.subject.Name = f.siteName(f.organization())
		}
		f.access(found)
		f.extract(found)
		f.entity(found)
		f.evidence(found)
		f.agents(found)
	} else {
		if f.front.refused() || f.fault != nil {
			// We may not look, or could not read, but what robots.txt says to others is known.
			f.crawlers(found)
		}
		found.explain(found.must("home.reachable").Evidence)
	}
	return fieldmark.Facts{
		Version: fieldmark.FactsVersion, URL: f.front.url.String(), Pages: len(f.pages),
		AsOf: fieldmark.At(f.now), Facts: found.sorted(),
	}
}

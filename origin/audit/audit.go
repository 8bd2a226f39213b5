package audit

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"mime"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/injection"
	"github.com/fieldmark/fieldmark/origin/llms"
	"github.com/fieldmark/fieldmark/origin/safehttp"
)

// maxTranslations is how many translations of the home page are read to check their
// return links, with the requests that the sample did not use.
const maxTranslations = 2

// Rules is the version of the audit rules: the vocabulary, the list of crawlers,
// and how facts are measured. Change it together with any of these, if the same
// site would get other facts; all brands are then audited again soon.
const Rules = "2026-11-23.1"

// Config configures an Auditor.
type Config struct {
	HTTP        *safehttp.Client // required: makes all requests
	UserAgent   string           // empty: UserAgent
	Delay       time.Duration    // between requests to one host; 0 means DefaultDelay, negative means none
	MaxRequests int              // per audit, redirects included; 0 means DefaultMaxRequests; see recheckRequests
	Timeout     time.Duration    // of all requests of an audit; 0 means auditDeadline

	// Acquire waits until a request to a host is allowed and reserves the host, so that audits
	// of several processes keep one pace. The audit calls release after the request, with the
	// pause until the next one. An error fails the audit. Nil: each audit keeps its own pace.
	Acquire func(ctx context.Context, host string) (release func(pause time.Duration), err error)
}

// Hooks observe and limit the requests of one audit, except those for profiles. An error of
// either is no fact about the site: what is not requested is unknown.
type Hooks struct {
	// Admit is called before the first request to each host, also after a redirect. An error
	// prevents requests to the host. Nil: every host is admitted.
	Admit func(ctx context.Context, host string) error
	// Sent is called after each request with the address that it was sent to, which is invalid
	// if there was no connection. An error prevents further requests. May be nil.
	Sent func(ctx context.Context, addr netip.Addr) error
}

// Subject is the site to audit and the brand it belongs to.
type Subject struct {
	URL      string // of the home page, http or https
	Name     string // of the brand; if empty, derived from the host and from what the site calls itself
	Language string // BCP 47; may be empty

	// AsOf is the date from which ages are counted, for a copy of a site made in
	// the past. Zero means now.
	AsOf time.Time

	// Seed selects the drawn pages, to repeat an audit. Empty: a random one, generated
	// after the sitemap was read.
	Seed string

	// Previous are the facts of the last audit, if any. A page whose text has not changed
	// since then cannot have a later date.
	Previous *fieldmark.Facts

	// Suspicions are those of the last audit, whose pages are read again. One that is found
	// again at least ConfirmAfter later is a fact.
	Suspicions []Suspicion

	// Wide also requests the documents of which the facts observed and not scored need a request
	// of their own, at most observedRequests. Without it they are unknown.
	Wide bool

	Hooks Hooks // may be zero

	// Earlier returns where the texts of pages were seen earlier, at other brands, by the URL
	// of the page. Nil: nothing is known about other sites.
	Earlier func(context.Context, Texts) (map[string]EarlierText, error)
}

// ConfirmAfter is the time between the two audits that confirm a suspicion. A text that
// appears for less than a day may be a comment of a reader, or a mistake.
const ConfirmAfter = 24 * time.Hour

// Suspicion is text on a site that reads as written to steer a model.
type Suspicion = fieldmark.Suspicion

// Report is the result of an audit.
type Report struct {
	Facts      fieldmark.Facts
	Suspicions []Suspicion // found, and earlier ones whose page could not be read
	Texts      Texts
	Refused    Refusal // why the home page was not read, if the auditor was refused
	Requests   int     // made
	// Unread is why the home page was not requested though the site allows it: it wraps
	// safehttp.ErrNotAllowed or the error of a hook. Nil if it was requested.
	Unread error
}

// Refusal describes who refused an audit: nothing was read, and nothing is known about what
// others see.
type Refusal string

// An audit is refused by the rules of robots.txt for this crawler, or by bot protection,
// which answers in place of the site.
const (
	NotRefused      Refusal = ""
	RefusedByRobots Refusal = "robots"
	RefusedByWall   Refusal = "wall"
)

// Auditor audits sites. It is safe for concurrent use; each audit has its own rate
// limit.
type Auditor struct {
	config   Config
	parsing  chan struct{} // a semaphore: one value per document being parsed
	profiles *profileChecker
}

// New validates the configuration and returns an Auditor. It makes no requests.
func New(c Config) (*Auditor, error) {
	var problems []error
	if c.HTTP == nil {
		problems = append(problems, errors.New("configure auditor: HTTP is missing"))
	}
	if c.MaxRequests < 0 {
		problems = append(problems, fmt.Errorf("configure auditor: MaxRequests is %d, must not be negative",
			c.MaxRequests))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return &Auditor{config: c, parsing: make(chan struct{}, maxParsing), profiles: newProfileChecker(c)}, nil
}

// Audit reads the site of s and returns its facts. A site that does not respond is
// a finding and not an error: home.reachable is 0 and the rest unknown. An error
// means that s may not be audited or that ctx ended. progress, if not nil, is
// called at the start of each step with a short description.
func (a *Auditor) Audit(ctx context.Context, s Subject, progress func(step string)) (Report, error) {
	home, err := parseHome(s.URL)
	if err != nil {
		return Report{}, err
	}
	if s.Seed != "" && !ValidSeed(s.Seed) {
		return Report{}, fieldmark.Errorf(fieldmark.CodeInvalidParameter,
			"a seed is %d hexadecimal digits in lower case, as in the facts of an audit", 2*seedBytes)
	}
	if progress == nil {
		progress = func(string) {}
	}
	limited, cancel := context.WithTimeout(ctx, cmp.Or(a.config.Timeout, auditDeadline))
	defer cancel()
	r := &crawl{fetcher: newFetcher(a.config), progress: progress, parsing: a.parsing, profiles: a.profiles,
		seed: s.Seed}
	r.fetcher.Hooks = s.Hooks
	found := r.read(limited, s, home)
	if err = ctx.Err(); err == nil {
		err = r.failed
	}
	if err != nil {
		return Report{}, fmt.Errorf("audit %s: %w", home, err)
	}
	found.markWalls()
	if err := found.compareTexts(ctx); err != nil {
		return Report{}, fmt.Errorf("audit %s: %w", home, err)
	}
	facts := found.facts()
	report := Report{Facts: facts, Suspicions: suspicionFacts{found}.openSuspicions(), Texts: found.texts,
		Refused: found.refusal(), Requests: cmp.Or(a.config.MaxRequests, DefaultMaxRequests) - r.requestsLeft}
	if errors.Is(found.front.err, errNoRequestsLeft) || errors.Is(found.front.err, safehttp.ErrNotAllowed) {
		report.Unread = found.front.err
	}
	return report, nil
}

// parseHome validates the address of a site as a person typed it.
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
		return nil, bad("the address of the site must not contain a user name or password")
	}
	u.Host = strings.ToLower(u.Host)
	u.Fragment, u.RawFragment = "", ""
	if u.Path == "" {
		u.Path = "/"
	}
	return u, nil
}

// site is everything that one audit fetched. Facts are computed from it without
// network or clock.
type site struct {
	subject      Subject
	now          time.Time
	front        visit // to the home page
	robots       robotsFile
	home         *page     // nil unless it was read
	parseErr     error     // why the home page could not be parsed
	sample       []sampled // the home page first, then those always read, then the drawn ones
	fixed        []*page   // the pages always read; what the site says of itself is read from them
	pages        []*page   // the pages of the sample
	seed         string    // of the draw; empty if every known page was requested
	population   int       // known pages
	replicate    int       // number of a bootstrap sample, from 1; 0 for the sample itself
	sitemap      sitemap
	llms         llmsFile
	observed     observedFiles
	plain        *visit // the home page over http; nil if not fetched
	markdown     *visit // the home page requested as Markdown; nil if not fetched
	translations []sampled
	rechecked    []sampled // because of earlier suspicions; not part of the sample
	profiles     []fieldmark.Profile
	served       bool                // Last-Modified differs between pages
	dates        map[*page]pageDate  // of the pages of the sample
	sameDate     bool                // all pages claim the same date
	faults       map[*page]textFault // of the pages of the sample
	texts        Texts
	earlier      map[string]EarlierText // by URL of the page; empty unless most texts were seen earlier
	unread       []fieldmark.Evidence   // sampled pages that responded but could not be parsed
	lastmods     map[string]string
	rules        map[string]decision // cached decisions of robots.txt
	detector     *injection.Detector
	suspicions   []Suspicion
}

// llmsFile is the response for /llms.txt.
type llmsFile struct {
	visit  visit
	report llms.Report
	soft   bool // any path returns the same
}

// crawl is one running audit. It makes one request at a time.
type crawl struct {
	*fetcher
	progress   func(step string)
	parsing    chan struct{} // of the Auditor
	profiles   *profileChecker
	seed       string // generated when it is first used, unless it is given
	incomplete bool   // requests or time were used up before the sample was read
}

// read makes all requests of an audit. When the time is up, the rest is not read,
// and its facts are unknown.
func (r *crawl) read(ctx context.Context, s Subject, home *url.URL) *site {
	f := &site{subject: s, now: s.AsOf.UTC(), lastmods: map[string]string{}, rules: map[string]decision{}}
	if s.AsOf.IsZero() {
		f.now = time.Now().UTC()
	}
	r.progress("robots.txt")
	r.robots(ctx, home)
	r.progress("home page")
	f.front = r.get(ctx, request{url: home, accept: acceptHTML})
	base := f.front.url
	f.robots = r.robots(ctx, base)
	f.sample = []sampled{{url: base, role: fieldmark.PageHome, visit: f.front}}
	if errors.Is(f.front.err, errTruncated) {
		f.parseErr = errTruncated
	}
	if !isPage(&f.front) {
		r.probeWall(ctx, f)
		return f
	}
	if f.home, f.parseErr = r.parse(ctx, &f.front); f.parseErr != nil {
		return f
	}
	f.sample[0].page = f.home
	f.pages = []*page{f.home}
	if plain, ok := schemeProbe(base); ok {
		r.progress("the other scheme")
		v := r.fetchWithoutRedirects(ctx, plain, f.robots.File)
		f.plain = &v
	}
	r.progress("llms.txt")
	f.llms = r.readLLMS(ctx, base)
	if len(markdownAlternates(f.pages)) == 0 {
		r.progress("Markdown version")
		v := r.get(ctx, request{url: base, accept: "text/markdown"})
		v.body = nil
		f.markdown = &v
	}
	r.progress("sitemap")
	f.sitemap = r.readSitemaps(ctx, base, f.robots.Sitemaps(), r.requestsLeft-fieldmark.MaxSampledPages-profileRequests,
		f.now)
	f.sample[0].listed = f.sitemap.keys[pageKey(base)]
	for _, e := range f.sitemap.entries {
		if f.sitemap.trusted {
			f.lastmods[pageKey(e.loc)] = e.lastmod
		}
	}
	r.readSample(ctx, f)
	r.readTranslations(ctx, f)
	if strings.TrimSpace(f.subject.Name) == "" {
		names := entityFacts{f}
		f.subject.Name = names.siteName(names.organization())
	}
	f.profiles = r.checkProfiles(ctx, f)
	r.readSuspected(ctx, f)
	if s.Wide {
		r.readObserved(ctx, f)
	}
	return f
}

// parse parses the page of a visit and releases its body. It waits while maxParsing
// other pages are being parsed.
func (r *crawl) parse(ctx context.Context, v *visit) (*page, error) {
	select {
	case r.parsing <- struct{}{}:
		defer func() { <-r.parsing }()
	case <-ctx.Done():
		return nil, errDeadline
	}
	body := v.body
	v.body = nil // visits are kept until the end of the audit, and a body may have maxPageBytes
	p, err := parsePage(ctx, v.url, v.header, body)
	if ctx.Err() != nil {
		return nil, errDeadline
	}
	return p, err
}

// schemeProbe returns the home page with the other scheme. It returns false for a
// site on a non-default port, which has no counterpart.
func schemeProbe(base *url.URL) (*url.URL, bool) {
	other := *base
	other.Scheme = "http"
	if base.Scheme == "http" {
		other.Scheme = "https"
	}
	return &other, base.Port() == ""
}

// readLLMS fetches /llms.txt. Unless the response looks like an llms.txt, it also
// fetches a path that cannot exist, because many servers respond to every path with
// the same page.
func (r *crawl) readLLMS(ctx context.Context, base *url.URL) llmsFile {
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
	missing := r.get(ctx, request{url: &url.URL{Scheme: base.Scheme, Host: base.Host, Path: "/fieldmark-" +
		hex.EncodeToString(sum[:8]) + ".txt"}, accept: "text/plain,*/*;q=0.5"})
	l.soft = missing.ok() && (bytes.Equal(missing.body, l.visit.body) || looksLikeHTML(missing.body) &&
		looksLikeHTML(l.visit.body))
	return l
}

// has reports whether a page was read already, for example under another address.
func (f *site) has(u *url.URL) bool {
	for _, p := range f.pages {
		if pageKey(p.url) == pageKey(u) {
			return true
		}
	}
	return false
}

// readTranslations fetches translations of the home page that are not in the
// sample.
func (r *crawl) readTranslations(ctx context.Context, f *site) {
	for _, alt := range alternates(f.home) {
		if len(f.translations) == maxTranslations || r.requestsLeft == 0 || ctx.Err() != nil {
			return
		}
		if alt.url == nil || alt.url.Host != f.home.url.Host || f.has(alt.url) {
			continue
		}
		r.progress("translation " + alt.hreflang)
		s := r.visit(ctx, withoutFragment(alt.url, f.home.url), fieldmark.PageTranslation)
		if s.requested() {
			f.translations = append(f.translations, s)
		}
	}
}

// markdownAlternates returns the links to Markdown versions of pages.
func markdownAlternates(pages []*page) (list []link) {
	for _, p := range pages {
		for _, l := range p.rel("alternate") {
			if t, _, err := mime.ParseMediaType(l.media); err == nil && t == "text/markdown" {
				list = append(list, l)
			}
		}
	}
	return list
}

// facts computes every fact of the vocabulary.
func (f *site) facts() fieldmark.Facts {
	found := newFindings()
	accessFacts{f}.reachable(found)
	var replicates *fieldmark.Replicates
	if f.home != nil {
		f.datePages()
		f.checkTexts()
		accessFacts{f}.measure(found)
		entityFacts{f}.measure(found)
		agentFacts{f}.measure(found)
		observedFacts{f}.measure(found)
		f.pageFacts(found)
		replicates = f.replicates(found)
		patchFacts{f}.add(found)
	} else {
		if f.front.unseen() || f.parseErr != nil {
			// The page could not be read, but the robots.txt rules for other
			// crawlers are known.
			accessFacts{f}.crawlers(found)
		}
		why := found.fact("home.reachable").Evidence
		found.explain(why)
		f.sample[0].reason = why[0].Fact
	}
	return fieldmark.Facts{
		Version: fieldmark.FactsVersion, URL: f.front.url.String(), Pages: len(f.pages),
		AsOf: fieldmark.At(f.now), Facts: found.sorted(), Sample: f.sampleDocument(), Replicates: replicates,
		Profiles: f.profiles, Refused: f.refusal() == RefusedByWall,
	}
}

// pageFacts computes the facts that depend on the drawn pages. It reads f.sample and
// f.pages; what it measures on one page is cached in the page, so that replicates are cheap.
func (f *site) pageFacts(found findings) {
	accessFacts{f}.crawlers(found)
	accessFacts{f}.snippets(found)
	if f.sitemap.found {
		accessFacts{f}.liveness(found)
	}
	accessFacts{f}.response(found)
	f.extract(found)
	if readable, ok := f.plausible(found); ok {
		readable.contents(found)
	}
}

package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/html"
	"golang.org/x/net/idna"

	"github.com/fieldmark/fieldmark"
)

// The limits of checking the profiles that a site claims with sameAs. Their requests are
// part of the audit's, after those for pages.
const (
	// checked per audit: an organization has one or two references and a few accounts
	maxProfiles        = 6
	maxClaims          = 20               // listed in the facts
	maxProfileRequests = 4                // per profile: robots.txt, the page and two redirects
	profileRequests    = 8                // of an audit, kept for profiles: two references and two accounts
	profileDeadline    = 40 * time.Second // for all profiles of one audit
	profileTTL         = 24 * time.Hour   // of an outcome: profiles change rarely
	profileHostTTL     = time.Hour        // of robots.txt rules and of a pause that a host requested
	maxProfileCache    = 10_000           // outcomes, a few hundred bytes each
)

// walledDomains show the links of a profile only to members, or with scripts, so that a
// missing link proves nothing.
var walledDomains = setOf("linkedin.com", "facebook.com", "instagram.com", "twitter.com", "x.com", "youtube.com",
	"tiktok.com", "pinterest.com", "threads.net", "threads.com", "whatsapp.com", "discord.gg", "discord.com",
	"weibo.com",
	"zhihu.com", "bilibili.com", "line.me", "spotify.com", "google.com", "goo.gl", "glassdoor.com", "bsky.app")

// profileChecker checks profiles for all audits of an Auditor. It is safe for concurrent
// use: requests to one domain wait for each other, so that concurrent audits together keep
// the pace of one.
// The state is shared because profiles are on few hosts: without it, each of a hundred audits would
// query GitHub at its own pace.
type profileChecker struct {
	config Config

	mu       sync.Mutex
	outcomes map[string]profileOutcome // by site and profile
	hosts    map[string]*profileHost   // by domain; there are as many as recognised domains
}

// profileOutcome is a cached profile.
type profileOutcome struct {
	profile fieldmark.Profile
	expires time.Time
}

// profileHost makes the requests to one domain.
type profileHost struct {
	turn    chan struct{} // a semaphore of one, held while fetcher is used
	fetcher *fetcher
	expires time.Time
}

func newProfileChecker(c Config) *profileChecker {
	if c.Delay >= 0 {
		c.Delay = max(c.Delay, DefaultDelay)
	}
	return &profileChecker{config: c, outcomes: map[string]profileOutcome{}, hosts: map[string]*profileHost{}}
}

// checkProfiles checks the profiles that the organization of the site claims: references
// first, then those that can be read without an account. The result has the order of the
// site's data.
// References come first, as a verified one earns the most points. What is beyond the limits is
// unknown and never refuted.
func (r *crawl) checkProfiles(ctx context.Context, f *site) []fieldmark.Profile {
	ctx, cancel := context.WithTimeout(ctx, profileDeadline)
	defer cancel()
	claims := entityFacts{f}.claims()
	order := make([]int, len(claims))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return profileRank(claims[a]) - profileRank(claims[b]) })
	profiles := make([]fieldmark.Profile, len(claims))
	for n, i := range order {
		if n == maxProfiles {
			for _, i := range order[n:] {
				profiles[i] = unknownProfile(claims[i], "not checked: an audit checks at most six profiles")
			}
			break
		}
		r.progress("profile " + claims[i].Hostname())
		profiles[i] = r.profiles.check(ctx, claims[i], siteDomain(f.home.url), &r.requestsLeft)
	}
	return profiles
}

// claims returns the recognised addresses in the organization's sameAs.
// Addresses on other sites are not requested, so a page cannot send the auditor anywhere.
func (f entityFacts) claims() (list []*url.URL) {
	o := f.organization()
	if o == nil {
		return nil
	}
	for _, s := range o.sameAs {
		if u, err := url.Parse(s); err == nil && isProfile(u) && len(s) <= maxPageURL && len(list) < maxClaims {
			list = append(list, u)
		}
	}
	return list
}

// isProfile reports whether an address is on a site with profiles or references.
func isProfile(u *url.URL) bool { return referenceDomains[domain(u)] || profileDomains[domain(u)] }

// profileRank orders claims by what a check can show.
func profileRank(u *url.URL) int {
	switch d := domain(u); {
	case referenceDomains[d]:
		return 0
	case !walledDomains[d]:
		return 1
	}
	return 2
}

func unknownProfile(u *url.URL, reason string) fieldmark.Profile {
	return fieldmark.Profile{URL: u.String(), State: fieldmark.ProfileUnknown, Reason: reason}
}

// check returns whether a profile leads back to the domain of a site, from the cache or by
// at most maxProfileRequests, which it subtracts from *requests. Only what was determined is cached.
// The second read of the cache comes after the wait: another audit may have had the same claim.
func (c *profileChecker) check(ctx context.Context, claim *url.URL, site string, requests *int) fieldmark.Profile {
	key := site + " " + claim.String()
	if p, ok := c.cached(key); ok {
		return p
	}
	if *requests < maxProfileRequests {
		return unknownProfile(claim, errNoRequestsLeft.Error())
	}
	h := c.host(domain(claim))
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
	case <-ctx.Done():
		return unknownProfile(claim, errDeadline.Error())
	}
	if p, ok := c.cached(key); ok {
		return p // an audit before this one has checked it
	}
	if now := time.Now(); now.After(h.expires) {
		h.fetcher, h.expires = newFetcher(c.config), now.Add(profileHostTTL)
	}
	h.fetcher.requestsLeft = maxProfileRequests
	p := fieldmark.Profile{URL: claim.String()}
	p.State, p.Reason = h.fetcher.profile(ctx, claim, site)
	*requests -= maxProfileRequests - h.fetcher.requestsLeft
	if ctx.Err() != nil {
		h.expires = time.Time{} // an interrupted request for robots.txt is not kept
	}
	if p.State != fieldmark.ProfileUnknown {
		c.store(key, p)
	}
	return p
}

// host returns the host of a domain.
func (c *profileChecker) host(domain string) *profileHost {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.hosts[domain]
	if h == nil {
		h = &profileHost{turn: make(chan struct{}, 1)}
		c.hosts[domain] = h
	}
	return h
}

func (c *profileChecker) cached(key string) (fieldmark.Profile, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, ok := c.outcomes[key]
	return o.profile, ok && time.Now().Before(o.expires)
}

// store caches an outcome. A full cache is emptied: it is refilled within a day.
// Emptying is simpler than an order of use, and costs one check for each profile.
func (c *profileChecker) store(key string, p fieldmark.Profile) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.outcomes) >= maxProfileCache {
		clear(c.outcomes)
	}
	c.outcomes[key] = profileOutcome{p, time.Now().Add(profileTTL)}
}

// profile fetches a claimed profile and decides whether it leads back.
func (f *fetcher) profile(ctx context.Context, claim *url.URL, site string) (fieldmark.ProfileState, string) {
	if domain(claim) == "wikidata.org" {
		return f.wikidata(ctx, claim, site)
	}
	v := f.get(ctx, request{url: readableProfile(claim), accept: acceptHTML})
	if state, reason := unreadProfile(&v); state != "" {
		return state, reason
	}
	return newBacklinks(v.url, v.body, site).decide(claim, v.cut)
}

// unreadProfile returns what a response without a profile means, "" for one with it.
// A redirect to another site proves nothing: many send readers without an account to a start page.
func unreadProfile(v *visit) (fieldmark.ProfileState, string) {
	switch {
	case v.err == nil && (v.status == http.StatusNotFound || v.status == http.StatusGone):
		return fieldmark.ProfileRefuted, "there is no such page: " + v.outcome()
	case !v.ok():
		return fieldmark.ProfileUnknown, v.outcome()
	case !isProfile(v.url):
		return fieldmark.ProfileUnknown, "redirects to " + domain(v.url)
	}
	return "", ""
}

// readableProfile returns the address with the whole text of a profile: mobile pages of
// Wikipedia leave parts out.
func readableProfile(claim *url.URL) *url.URL {
	u := *claim
	u.Fragment, u.RawFragment = "", ""
	if domain(claim) == "wikipedia.org" {
		u.Scheme, u.Host = "https", strings.Replace(u.Host, ".m.", ".", 1)
	}
	return &u
}

// wikidataItem matches the path of an item.
var wikidataItem = regexp.MustCompile(`/(?:wiki|entity|Special:EntityData)/(Q[1-9][0-9]{0,11})(?:\.[a-z]+)?$`)

// wikidata compares a site with the official websites (property P856) of a Wikidata item.
// It reads the item's JSON at Special:EntityData, which Wikidata's page "Data access"
// recommends for single known items; its robots.txt allows it there, apart from redirects
// without a file extension.
// The item must name the site, not the other way round: any site can put an item into sameAs, but
// a wrong official website of a known brand is corrected on Wikidata.
func (f *fetcher) wikidata(ctx context.Context, claim *url.URL, site string) (fieldmark.ProfileState, string) {
	m := wikidataItem.FindStringSubmatch(claim.Path)
	if m == nil {
		return fieldmark.ProfileRefuted, "is not the address of an item"
	}
	v := f.get(ctx, request{accept: "application/json", url: &url.URL{Scheme: "https", Host: "www.wikidata.org",
		Path: "/wiki/Special:EntityData/" + m[1] + ".json"}})
	if state, reason := unreadProfile(&v); state != "" {
		return state, reason
	}
	var doc struct {
		Entities map[string]struct {
			Claims struct {
				P856 []struct {
					Rank     string
					Mainsnak struct{ Datavalue struct{ Value any } }
				}
			}
		}
	}
	if v.cut || !json.Valid(v.body) {
		return fieldmark.ProfileUnknown, "the item could not be read"
	}
	_ = json.Unmarshal(v.body, &doc) // fails for an item without statements, whose claims are an empty list
	other := ""
	for _, item := range doc.Entities {
		for _, s := range item.Claims.P856 {
			value, _ := s.Mainsnak.Datavalue.Value.(string)
			u, err := url.Parse(value)
			if err != nil || s.Rank == "deprecated" || u.Hostname() == "" {
				continue
			}
			if other = siteDomain(u); other == site {
				return fieldmark.ProfileVerified, "official website (P856): " +
					shorten(value, fieldmark.MaxEvidenceText/2)
			}
		}
	}
	switch {
	case other == "":
		return fieldmark.ProfileRefuted, "the item has no official website (P856)"
	case hostLabel(other) == hostLabel(site):
		return fieldmark.ProfileUnknown, "the official website (P856) of the item is " + other +
			", another domain with this name"
	}
	return fieldmark.ProfileRefuted, "the official website (P856) of the item is on " + other
}

// siteDomain returns the registrable domain of an address in ASCII.
// Profiles show internationalised domains in either form.
func siteDomain(u *url.URL) string {
	d := domain(u)
	if ascii, err := idna.Lookup.ToASCII(d); err == nil {
		return ascii
	}
	return d
}

// minProfileWords is how many words of text a profile has without scripts. A page with
// fewer is drawn by scripts, and a missing link proves nothing.
const minProfileWords = 50

// backlinks are the links and mentions of a site on a page.
type backlinks struct {
	site     string // domain
	direct   bool   // a link to the site
	indirect bool   // a link with the site's address in its query, as through a redirector
	text     bool   // the site's address in the visible text
	named    bool   // the site's domain anywhere in the source
	words    int    // of visible text
	wall     bool   // asks for a password
	article  bool   // an article or item of a MediaWiki: users may write what they like elsewhere in it
}

// newBacklinks reads a page, without building a tree: all that counts are single tokens.
// Text of scripts is not shown, and often contains addresses of advertisers.
func newBacklinks(at *url.URL, body []byte, site string) *backlinks {
	b := &backlinks{site: site, named: bytes.Contains(bytes.ToLower(body), []byte(site))}
	z := html.NewTokenizer(bytes.NewReader(body))
	hidden := "" // the element whose text is not shown
	for {
		switch z.Next() {
		case html.ErrorToken:
			return b
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			switch t.Data {
			case "script", "style", "noscript", "template", "textarea":
				hidden = t.Data
			case "a", "area", "link":
				b.link(resolve(at, tokenAttr(t, "href")))
			case "input":
				b.wall = b.wall || strings.EqualFold(tokenAttr(t, "type"), "password")
			case "body":
				b.article = slices.Contains(strings.Fields(tokenAttr(t, "class")), "ns-0")
			}
		case html.EndTagToken:
			if name, _ := z.TagName(); string(name) == hidden {
				hidden = ""
			}
		case html.TextToken:
			if hidden == "" {
				b.visible(string(z.Text()))
			}
		}
	}
}

// link examines the address of a link.
// Networks link through a redirector, with the target in a parameter.
func (b *backlinks) link(u *url.URL) {
	if u == nil {
		return
	}
	b.direct = b.direct || siteDomain(u) == b.site
	if !b.indirect && strings.Contains(u.RawQuery, b.site) {
		for _, values := range u.Query() {
			for _, value := range values {
				to, err := url.Parse(value)
				b.indirect = b.indirect || err == nil && isWeb(to) && siteDomain(to) == b.site
			}
		}
	}
}

// visible examines a run of text.
// Punctuation around an address is not part of it, and an e-mail address is not a link to a site.
func (b *backlinks) visible(text string) {
	b.words += countWords(text)
	if b.text || !strings.Contains(strings.ToLower(text), b.site) {
		return
	}
	for _, word := range strings.Fields(strings.ToLower(text)) {
		if _, after, ok := strings.Cut(word, "://"); ok {
			word = after
		}
		word, _, _ = strings.Cut(strings.Trim(word, `.,:;!?()[]<>"'“”„«»`), "/")
		b.text = b.text || word == b.site || strings.HasSuffix(word, "."+b.site) && !strings.Contains(word, "@")
	}
}

// decide returns whether the page at the claimed address leads back. cut means that only its
// start was read.
// The order is from what proves to what explains a missing proof. Refuted comes last: it
// needs a page that was read whole and has visible text.
func (b *backlinks) decide(claim *url.URL, cut bool) (fieldmark.ProfileState, string) {
	d := domain(claim)
	// A page may repeat its own address: /login?next=https://example.com/.
	echoes := strings.Contains(strings.ToLower(claim.RequestURI()), b.site)
	switch {
	case d == "wikipedia.org" && !b.article:
		return fieldmark.ProfileRefuted, "is not an article"
	case b.direct:
		return fieldmark.ProfileVerified, "links to " + b.site
	case b.indirect && !echoes:
		return fieldmark.ProfileVerified, "links to " + b.site + " through a redirect"
	case b.text && !echoes:
		return fieldmark.ProfileVerified, "shows the address " + b.site
	case walledDomains[d]:
		return fieldmark.ProfileUnknown, d + " shows the links of a profile only to members or with scripts"
	case b.wall:
		return fieldmark.ProfileUnknown, "asks to sign in"
	case cut:
		return fieldmark.ProfileUnknown, "the page is too large to read whole"
	case b.words < minProfileWords:
		return fieldmark.ProfileUnknown, fmt.Sprintf("the page has %s without scripts",
			plural(b.words, "word", "words"))
	case b.named:
		return fieldmark.ProfileUnknown, "names " + b.site + " only in its source"
	}
	return fieldmark.ProfileRefuted, "does not link to " + b.site
}

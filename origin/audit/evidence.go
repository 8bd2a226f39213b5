package audit

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/audit/schema"
)

// evidenceFacts measures citations, numbers, quotations, dates and authors on the pages. It reads what the
// crawl found and changes only the findings.
type evidenceFacts struct{ *site }

// minDensityWords is the minimum text for a density. On a page of forty words a
// single number would give a density of 25, which means nothing.
const minDensityWords = 300

// measure measures whether the claims of the pages can be verified.
func (f evidenceFacts) measure(found findings) {
	words := 0
	for _, p := range f.pages {
		words += p.words
	}
	f.citations(found, words)
	f.statistics(found)
	f.quotations(found)
	f.newest(found)
	f.recent(found)
	f.authorship(found)
}

// density returns a count per thousand words, in thousandths.
func density(count, words int) int64 {
	return divide(int64(count)*1000*one, int64(max(words, minDensityWords)))
}

// ownDomains returns the domains of the brand: that of the site, those its structured
// data claims and those of its translations, which are often the same name under another
// suffix. Links to them are not citations.
func (f evidenceFacts) ownDomains() map[string]bool {
	own := setOf(domain(f.home.url))
	for _, l := range alternates(f.home) {
		if l.url != nil && !isProfile(l.url) {
			own[domain(l.url)] = true
		}
	}
	if o := entityFacts(f).organization(); o != nil {
		for _, s := range append(o.sameAs, o.fields["url"]) {
			if u := resolve(f.home.url, s); u != nil && !referenceDomains[domain(u)] && !profileDomains[domain(u)] {
				own[domain(u)] = true
			}
		}
	}
	return own
}

// citations counts the other domains that the main text links to, without the
// brand's own accounts, maps and shops.
func (f evidenceFacts) citations(found findings, words int) {
	own, accounts := f.ownDomains(), f.accounts()
	first := map[string]fieldmark.Evidence{}
	var domains []string
	for _, p := range f.pages {
		for _, d := range once(p, "cite.domains", func() []string { return sourcesOf(p, own, accounts) }) {
			if _, seen := first[d]; !seen {
				first[d] = newEvidence(p.url.String(), "links to %s", d)
				domains = append(domains, d)
			}
		}
	}
	slices.Sort(domains)
	seen := []fieldmark.Evidence{newEvidence(f.home.url.String(), "%s linked in %s on %s: %s", plural(len(domains),
		"other domain", "other domains"), plural(words, "word", "words"), plural(len(f.pages), "page", "pages"),
		cmp.Or(strings.Join(domains, ", "), "none"))}
	for _, d := range domains {
		seen = append(seen, first[d])
	}
	found.set("cite.domains", density(len(domains), words), seen...)
}

// sourcesOf returns the other domains that the main text of a page links to.
func sourcesOf(p *page, own map[string]bool, accounts accounts) (domains []string) {
	for _, a := range p.anchors {
		if !a.main {
			continue
		}
		d := domain(a.url)
		if !own[d] && isSource(a.url) && !slices.Contains(domains, d) && !accounts.contains(a.url) {
			domains = append(domains, d)
		}
	}
	return domains
}

// examples are a count with some of what was counted.
type examples struct {
	n    int
	list []string
}

// pagesWithLexicon returns the pages in languages that have a lexicon, and their
// number of words. On other pages, facts that depend on words are unknown.
func (f evidenceFacts) pagesWithLexicon() (pages []*page, words int) {
	for _, p := range f.pages {
		if _, ok := f.lexiconOf(p); ok {
			pages = append(pages, p)
			words += p.words
		}
	}
	return pages, words
}

// noLexicon is the evidence of a fact that is unknown because the language has no
// lexicon.
func (f *site) noLexicon() fieldmark.Evidence {
	return newEvidence(f.home.url.String(), "the language of these pages is not supported: %s", cmp.Or(f.home.lang,
		f.subject.Language))
}

// statistics measures the density of numbers with a unit. It is unknown if no page
// has a supported language.
func (f evidenceFacts) statistics(found findings) {
	f.examplesPerWord(found, "stat.numbers", "statistic", "statistics", func(p *page) examples {
		tag, _ := f.lexiconOf(p)
		n, list := statistics(p.figures, tag)
		return examples{n, list}
	})
}

// quotations measures the density of attributed quotations and block quotations.
func (f evidenceFacts) quotations(found findings) {
	f.examplesPerWord(found, "quote.spans", "quotation", "quotations", func(p *page) examples {
		tag, _ := f.lexiconOf(p)
		n, list := quotations(p.prose, tag)
		return examples{n + len(p.quotes), append(list, p.quotes...)}
	})
}

// examplesPerWord sets a fact to how many examples the pages with a lexicon have for their words, with the examples
// as evidence. one and many name an example.
func (f evidenceFacts) examplesPerWord(found findings, fact, one, many string, find func(*page) examples) {
	pages, words := f.pagesWithLexicon()
	if len(pages) == 0 {
		found.unknown(fact, f.noLexicon())
		return
	}
	total := 0
	var seen []fieldmark.Evidence
	for _, p := range pages {
		e := once(p, fact, func() examples { return find(p) })
		if total += e.n; e.n > 0 {
			seen = append(seen, newEvidence(p.url.String(), "%d: %s", e.n, strings.Join(e.list, " | ")))
		}
	}
	sum := newEvidence(f.home.url.String(), "%s in %s on %s", plural(total, one, many),
		plural(words, "word", "words"), plural(len(pages), "page", "pages"))
	found.set(fact, density(total, words), append([]fieldmark.Evidence{sum}, seen...)...)
}

// recentDays is the age up to which a page counts as recent: half a year.
const recentDays = 180

// newest measures the age of the newest page with a plausible date.
func (f evidenceFacts) newest(found findings) {
	var best pageDate
	var on *page
	for _, p := range f.pages {
		if d := f.dates[p]; d.ok && f.faults[p].reason == "" && (on == nil || d.at.After(best.at)) {
			best, on = d, p
		}
	}
	if on == nil {
		found.unknown("fresh.age", f.undated())
		return
	}
	found.set("fresh.age", ageDays(best.at, f.now)*one, newEvidence(on.url.String(), "%s", best))
}

// recent measures the share of the pages with a plausible date that are recent. The newest
// page of a drawn sample is a matter of luck; this share is not.
func (f evidenceFacts) recent(found findings) {
	good, all := 0, 0
	var seen []fieldmark.Evidence
	for _, p := range f.pages {
		d := f.dates[p]
		if !d.ok {
			continue
		}
		if all++; ageDays(d.at, f.now) <= recentDays {
			good++
		}
		seen = append(seen, newEvidence(p.url.String(), "%s", d))
	}
	if all == 0 {
		found.unknown("fresh.recent", f.undated())
		return
	}
	sum := newEvidence(f.home.url.String(), "%d of %s changed within %d days", good, plural(all, "dated page",
		"dated pages"), recentDays)
	f.shareOfSome(found, "fresh.recent", good, all, 0, append([]fieldmark.Evidence{sum}, seen...)...)
}

// undated is the evidence that no page has a plausible date.
func (f evidenceFacts) undated() fieldmark.Evidence {
	why := "no plausible date on " + plural(len(f.pages), "page", "pages")
	if f.sameDate {
		why += "; all of them claim the same date, as if it were set automatically"
	}
	if len(f.sitemap.entries) > 1 && !f.sitemap.trusted {
		why += "; lastmod does not differ between pages"
	}
	if !f.served && f.home.header.Get("Last-Modified") != "" {
		why += "; Last-Modified does not differ between pages"
	}
	return newEvidence(f.home.url.String(), "%s", why)
}

// authorship measures the share of articles that name their author.
func (f evidenceFacts) authorship(found findings) {
	good, all := 0, 0
	var seen []fieldmark.Evidence
	for _, p := range f.pages {
		by := once(p, "author.share", func() authored { return articleBy(p) })
		if !by.article {
			continue
		}
		if all++; by.author != "" {
			good++
			seen = append(seen, newEvidence(p.url.String(), "by %s", by.author))
		} else {
			seen = append(seen, newEvidence(p.url.String(), "an article without an author"))
		}
	}
	if all == 0 {
		found.notApplicable("author.share", newEvidence(f.home.url.String(), "no article among %s", plural(len(f.pages),
			"page", "pages")))
		return
	}
	sum := newEvidence(f.home.url.String(), "%d of %s with an author", good, plural(all, "article", "articles"))
	f.shareOfSome(found, "author.share", good, all, 1, append([]fieldmark.Evidence{sum}, seen...)...)
}

// authored is whether a page is an article, and its author.
type authored struct {
	article bool
	author  string
}

// articleBy returns whether a page is an article, and its author.
func articleBy(p *page) authored {
	article := strings.EqualFold(p.meta("og:type"), "article") || p.meta("article:published_time") != ""
	author := ""
	for i := range p.graph {
		t := &p.graph[i]
		if !t.Is(schema.ArticleTypes) {
			continue
		}
		article = true
		author = cmp.Or(author, t.First("author"))
		for _, at := range t.Holds["author"] {
			author = cmp.Or(author, p.graph[at].First("name"))
		}
	}
	return authored{article, cmp.Or(author, p.byline)}
}

// socialDomains are not sources: a link to a profile is not a citation.
// Encyclopedias and code hosts are sources.
var socialDomains = setOf("facebook.com", "fb.me", "twitter.com", "x.com", "instagram.com", "linkedin.com",
	"lnkd.in", "youtube.com", "youtu.be", "tiktok.com", "pinterest.com", "threads.net", "threads.com",
	"bsky.app", "t.co", "t.me", "telegram.me", "wa.me", "whatsapp.com", "reddit.com", "vk.com", "weibo.com",
	"xing.com", "line.me", "discord.gg", "discord.com", "snapchat.com", "tumblr.com", "addtoany.com",
	"sharethis.com")

// otherDomains are maps, link shorteners, link lists, app stores and marketplaces.
// They show a place, hide an address or sell something.
var otherDomains = setOf(
	"goo.gl", "g.page", "g.co", "waze.com", "openstreetmap.org", "osm.org", "mapy.cz", "mapy.com", "amap.com",
	"2gis.ru", "here.com", "mapbox.com", "what3words.com",
	"bit.ly", "bitly.com", "tinyurl.com", "ow.ly", "is.gd", "v.gd", "buff.ly", "rebrand.ly", "cutt.ly", "rb.gy",
	"t.ly", "tiny.cc", "shorturl.at", "s.id", "dub.sh", "amzn.to", "amzn.eu", "linktr.ee", "linkin.bio",
	"beacons.ai", "carrd.co",
	"aliexpress.com", "alibaba.com", "taobao.com", "tmall.com", "jd.com", "walmart.com", "etsy.com", "flipkart.com",
	"coupang.com", "ozon.ru", "wildberries.ru", "trendyol.com", "hepsiburada.com", "bol.com", "otto.de",
	"cdiscount.com", "emag.ro", "ubereats.com", "doordash.com", "wolt.com", "paypal.com", "paypal.me")

// otherNames are the same for names with domains in many countries.
var otherNames = setOf("amazon", "ebay", "rakuten", "allegro", "zalando", "shopee", "lazada", "mercadolibre",
	"mercadolivre", "airbnb", "booking", "opentable", "lieferando", "deliveroo", "justeat")

// otherHosts are single hosts of domains that otherwise publish sources.
var otherHosts = setOf("maps.apple.com", "apps.apple.com", "play.google.com", "map.baidu.com", "map.naver.com",
	"map.kakao.com", "business.google.com", "search.google.com", "accounts.google.com", "calendar.google.com",
	"drive.google.com", "docs.google.com")

// isSource reports whether a link may support a claim, judging by its host.
func isSource(u *url.URL) bool {
	d, host := domain(u), u.Hostname()
	name, _, _ := strings.Cut(d, ".")
	switch {
	case socialDomains[d], otherDomains[d], otherNames[name], otherHosts[host]:
		return false
	case name == "google": // search, maps and sign-in; documents have their own hosts
		return host != d && host != "www."+d && !strings.HasPrefix(host, "maps.")
	case name == "yandex", name == "bing":
		return !strings.HasPrefix(host, "maps.") && !strings.HasPrefix(u.Path, "/maps")
	}
	return true
}

// accounts are the brand's names and addresses on other sites, such as code hosts.
type accounts struct {
	addresses []*url.URL // claimed by the structured data
	names     []string   // letters and digits only: of the brand and of its domain
}

// accounts returns the accounts of the brand, by its structured data, its name and
// its domain.
func (f evidenceFacts) accounts() accounts {
	label, _, _ := strings.Cut(domain(f.home.url), ".")
	own := accounts{names: []string{plainName(label)}}
	if name := plainName(strings.Join(nameWords(f.subject.Name), "")); name != "" {
		own.names = append(own.names, name)
	}
	if o := entityFacts(f).organization(); o != nil {
		for _, s := range o.sameAs {
			if u := resolve(f.home.url, s); u != nil {
				own.addresses = append(own.addresses, u)
			}
		}
	}
	return own
}

// plainName reduces a name to letters and digits, as in account names.
func plainName(s string) string { return strings.ReplaceAll(slug(s), "-", "") }

// maxAccountDepth is how many path segments may name an account: github.com/NAME,
// npmjs.com/org/NAME.
const maxAccountDepth = 2

// contains reports whether an address belongs to one of the brand's accounts: it is
// below an address the brand claims, or its host or path names the brand on a site
// with user pages.
func (a accounts) contains(u *url.URL) bool {
	for _, own := range a.addresses {
		base := strings.ToLower(strings.TrimSuffix(own.Path, "/")) + "/"
		if base != "/" && domain(own) == domain(u) && strings.HasPrefix(strings.ToLower(u.Path)+"/", base) {
			return true
		}
	}
	label, _, _ := strings.Cut(u.Hostname(), ".")
	if slices.Contains(a.names, plainName(label)) && isHostingService(u) {
		return true
	}
	if !profileDomains[domain(u)] {
		return false
	}
	segments := strings.Split(strings.Trim(u.Path, "/"), "/")
	return slices.ContainsFunc(segments[:min(len(segments), maxAccountDepth)], func(s string) bool {
		return slices.Contains(a.names, plainName(strings.TrimPrefix(s, "@")))
	})
}

// isHostingService reports whether the first label of a host is an account: on a
// profile site, or under a public suffix of a hosting service, such as github.io.
func isHostingService(u *url.URL) bool {
	suffix, icann := publicSuffix(u)
	return !icann && strings.Contains(suffix, ".") || profileDomains[domain(u)]
}

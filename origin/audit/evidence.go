package audit

import (
	"slices"
	"strings"

	"github.com/fieldmark/fieldmark"
)

// minDensityWords is the least text a density is taken over. On a page of
// forty words one number would be a density of 25, which says nothing.
const minDensityWords = 300

// articleTypes are the kinds of page somebody should have signed.
var articleTypes = setOf("Article", "NewsArticle", "BlogPosting", "TechArticle", "ScholarlyArticle", "Report", "OpinionNewsArticle", "AnalysisNewsArticle", "ReviewNewsArticle", "LiveBlogPosting", "SocialMediaPosting", "AdvertiserContentArticle", "MedicalScholarlyArticle")

// evidence measures whether what the pages claim can be checked.
func (f *site) evidence(found findings) {
	words := 0
	for _, p := range f.pages {
		words += p.words
	}
	f.citations(found, words)
	f.statistics(found)
	f.quotations(found)
	f.freshness(found)
	f.authorship(found)
}

// density is a count per thousand words, in thousandths.
func density(count, words int) int64 {
	return divide(int64(count)*1000*one, int64(max(words, minDensityWords)))
}

// ownDomains returns the domains that belong to the brand: that of the site and
// those its structured data claims. A brand that links to itself cites nobody.
func (f *site) ownDomains() map[string]bool {
	own := setOf(domain(f.home.url))
	if o := f.organization(); o != nil {
		for _, s := range append(o.sameAs, o.fields["url"]) {
			if u := resolve(f.home.url, s); u != nil && !referenceDomains[domain(u)] && !profileDomains[domain(u)] {
				own[domain(u)] = true
			}
		}
	}
	return own
}

// citations counts the other domains the main text links to. Links to accounts of
// the brand, maps and shops are not among them.
func (f *site) citations(found findings, words int) {
	own, accounts := f.ownDomains(), f.accounts()
	first := map[string]fieldmark.Evidence{}
	var domains []string
	for _, p := range f.pages {
		for _, a := range p.anchors {
			d := domain(a.url)
			if !a.main || own[d] || !isSource(a.url) {
				continue
			}
			if _, seen := first[d]; !seen && !accounts.hold(a.url) {
				first[d] = note(p.url.String(), "links to %s", d)
				domains = append(domains, d)
			}
		}
	}
	slices.Sort(domains)
	seen := []fieldmark.Evidence{note(f.home.url.String(), "%s linked in %s on %s: %s", count(len(domains), "other domain", "other domains"), count(words, "word", "words"), count(len(f.pages), "page", "pages"), firstOf(strings.Join(domains, ", "), "none"))}
	for _, d := range domains {
		seen = append(seen, first[d])
	}
	found.set("cite.domains", density(len(domains), words), seen...)
}

// legible returns the pages whose language has a lexicon and how many words they
// hold. On others, what depends on words is not known.
func (f *site) legible() (pages []*page, words int) {
	for _, p := range f.pages {
		if _, ok := f.lexiconOf(p); ok {
			pages = append(pages, p)
			words += p.words
		}
	}
	return pages, words
}

// noLexicon is the evidence of a fact that is unknown for want of words.
func (f *site) noLexicon() fieldmark.Evidence {
	return note(f.home.url.String(), "no words of the language of these pages are known: %s", firstOf(f.home.lang, f.subject.Language))
}

func (f *site) statistics(found findings) {
	pages, words := f.legible()
	if len(pages) == 0 {
		found.unknown("stat.numbers", f.noLexicon())
		return
	}
	total := 0
	var seen []fieldmark.Evidence
	for _, p := range pages {
		tag, _ := f.lexiconOf(p)
		n, examples := statistics(p.figures, tag)
		if total += n; n > 0 {
			seen = append(seen, note(p.url.String(), "%d: %s", n, strings.Join(examples, " | ")))
		}
	}
	sum := note(f.home.url.String(), "%s in %s on %s", count(total, "number that measures something", "numbers that measure something"), count(words, "word", "words"), count(len(pages), "page", "pages"))
	found.set("stat.numbers", density(total, words), append([]fieldmark.Evidence{sum}, seen...)...)
}

func (f *site) quotations(found findings) {
	pages, words := f.legible()
	if len(pages) == 0 {
		found.unknown("quote.spans", f.noLexicon())
		return
	}
	total := 0
	var seen []fieldmark.Evidence
	for _, p := range pages {
		tag, _ := f.lexiconOf(p)
		n, examples := quotations(p.prose, tag)
		n += len(p.quotes)
		if total += n; n > 0 {
			seen = append(seen, note(p.url.String(), "%d: %s", n, strings.Join(append(examples, p.quotes...), " | ")))
		}
	}
	sum := note(f.home.url.String(), "%s in %s on %s", count(total, "quotation", "quotations"), count(words, "word", "words"), count(len(pages), "page", "pages"))
	found.set("quote.spans", density(total, words), append([]fieldmark.Evidence{sum}, seen...)...)
}

// freshness measures the age of the newest page that dates itself credibly.
func (f *site) freshness(found findings) {
	var best dated
	var on *page
	served := datedByServer(f.pages)
	for _, p := range f.pages {
		lastModified := ""
		if served {
			lastModified = p.header.Get("Last-Modified")
		}
		if d, ok := p.newestDate(f.lastmods[key(p.url)], lastModified, f.now); ok && (on == nil || d.at.After(best.at)) {
			best, on = d, p
		}
	}
	if on == nil {
		why := "no credible date on %d pages"
		if len(f.sitemap.entries) > 1 && !f.sitemap.trusted {
			why += "; lastmod does not tell pages apart"
		}
		if !served && f.home.header.Get("Last-Modified") != "" {
			why += "; Last-Modified does not tell pages apart"
		}
		found.unknown("fresh.age", note(f.home.url.String(), why, len(f.pages)))
		return
	}
	found.set("fresh.age", ageDays(best.at, f.now)*one, note(on.url.String(), "%s: %s", best.source, best.raw))
}

// authorship measures the share of articles that say who wrote them.
func (f *site) authorship(found findings) {
	good, all := 0, 0
	var seen []fieldmark.Evidence
	for _, p := range f.pages {
		article, author := articleBy(p)
		if !article {
			continue
		}
		if all++; author != "" {
			good++
			seen = append(seen, note(p.url.String(), "by %s", author))
		} else {
			seen = append(seen, note(p.url.String(), "an article without an author"))
		}
	}
	if all == 0 {
		found.notApplicable("author.share", note(f.home.url.String(), "no article among %s", count(len(f.pages), "page", "pages")))
		return
	}
	sum := note(f.home.url.String(), "%d of %s with an author", good, count(all, "article", "articles"))
	found.setShare("author.share", good, all, append([]fieldmark.Evidence{sum}, seen...)...)
}

// articleBy says whether a page is an article, and by whom.
func articleBy(p *page) (article bool, author string) {
	article = strings.EqualFold(p.meta("og:type"), "article") || p.meta("article:published_time") != ""
	for i := range p.graph {
		t := &p.graph[i]
		if !t.is(articleTypes) {
			continue
		}
		article = true
		author = firstOf(author, t.first("author"))
		for _, at := range t.holds["author"] {
			author = firstOf(author, p.graph[at].first("name"))
		}
	}
	return article, firstOf(author, p.byline)
}

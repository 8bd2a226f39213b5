package audit

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/fieldmark/fieldmark"
	"golang.org/x/net/publicsuffix"
	"golang.org/x/text/language"
)

// The facts about a page as a document: titles, headings, canonical URLs, languages and size.

// The limits of a good page, as the method defines them. They decide which pages
// count; the scoring module decides what that is worth.
const (
	minTitle       = 10 // columns; shorter titles say little, longer ones are truncated in results
	maxTitle       = 70
	minDescription = 50
	maxDescription = 300

	wordsPerHeading = 300       // a longer section is hard to find again
	lightBytes      = 500_000   // bytes of raw HTML
	earlyBytes      = 100 << 10 // before which the main text must start, because some readers truncate
)

// extract measures whether a program that does not run scripts finds the text, apart from
// what contents measures.
// Each fact is a share of the sampled pages, so that one broken page of thirty costs a thirtieth.
func (f *site) extract(found findings) {
	f.share(found, "canonical.good", "%d of %d pages have one absolute canonical URL on this domain", f.canonicalFault)
	f.share(found, "lang.html", "%d of %d pages declare their language", langFault)
	f.hreflang(found)
	f.share(found, "page.light", "%d of %d pages have at most 500 kB of HTML", func(p *page) string {
		if p.bytes <= lightBytes {
			return ""
		}
		return fmt.Sprintf("%d bytes of HTML", p.bytes)
	})
	f.share(found, "page.early_text", "%d of %d pages start their main text within the first 100 kB",
		func(p *page) string {
			switch {
			case p.textStart < 0:
				return "no main text"
			case p.textStart > earlyBytes:
				return fmt.Sprintf("main text starts at byte %d", p.textStart)
			}
			return ""
		})
}

// contents measures the text itself.
func (f *site) contents(found findings) {
	f.wordCounts(found)
	f.titles(found)
	f.share(found, "headings.good", "%d of %d pages have an H1, no skipped level and a heading per 300 words",
		f.headingsFault)
	f.answerKinds(found)
	entityFacts{f}.typed(found)
	evidenceFacts{f}.measure(found)
}

// share measures the share of sampled pages for which fault returns "".
// The result for a page is kept, since replicates read the same pages hundreds of times.
func (f *site) share(found findings, id, format string, fault func(*page) string) {
	f.shareOf(found, id, format, func(p *page) string {
		return once(p, id, func() string { return fault(p) })
	})
}

// shareOf is share for a fault that depends on the other pages, too.
// Every page that fails is evidence, with its reason: an owner can repair only what is named.
func (f *site) shareOf(found findings, id, format string, fault func(*page) string) {
	good := 0
	var bad []fieldmark.Evidence
	for _, p := range f.pages {
		if why := fault(p); why != "" {
			bad = append(bad, newEvidence(p.url.String(), "%s", why))
		} else {
			good++
		}
	}
	found.setShare(id, good, len(f.pages), f.withSummary(format, good, bad)...)
}

// wordCounts measures the amount of main text.
// The median is used because one long text must not hide thirty empty pages.
func (f *site) wordCounts(found findings) {
	counts := make([]int, len(f.pages))
	seen := make([]fieldmark.Evidence, 0, len(f.pages)+1)
	for i, p := range f.pages {
		counts[i] = p.words
		seen = append(seen, newEvidence(p.url.String(), "%s of main text", plural(p.words, "word", "words")))
	}
	base := f.home.url.String()
	mid := median(counts)
	sum := fmt.Sprintf("median %d words over %s", mid, plural(len(f.pages), "page", "pages"))
	if n := len(f.unread); n > 0 {
		sum += fmt.Sprintf("; %s not read", plural(n, "page", "pages"))
		seen = append(seen, f.unread...)
	}
	seen = append([]fieldmark.Evidence{newEvidence(base, "%s", sum)}, seen...)
	found.set("text.words", int64(mid)*one, seen...)
	if why := f.faults[f.home].reason; why != "" && !f.faults[f.home].list {
		found.unknown("home.words", newEvidence(base, "%s", why))
		return
	}
	found.set("home.words", int64(f.home.words)*one, newEvidence(base, "%s of main text: %s", plural(f.home.words,
		"word", "words"), cmp.Or(f.home.text, "(none)")))
}

// titles measures titles and descriptions, and whether they are distinct.
func (f *site) titles(found findings) {
	f.share(found, "title.good", "%d of %d pages have a title of 10 to 70 characters", func(p *page) string {
		return lengthFault("title", p.title, minTitle, maxTitle)
	})
	f.share(found, "description.good", "%d of %d pages have a description of 50 to 300 characters",
		func(p *page) string {
			return lengthFault("description", p.description, minDescription, maxDescription)
		})
	count := map[string]int{}
	counted := map[*page]bool{}
	for _, p := range f.pages {
		if !counted[p] { // a replicate may contain a page more than once
			counted[p] = true
			count[p.title+"\x00"+p.description]++
		}
	}
	f.shareOf(found, "titles.distinct", "%d of %d pages have a unique title and description", func(p *page) string {
		switch {
		case p.title == "":
			return "no title"
		case count[p.title+"\x00"+p.description] > 1:
			return "shared with another page: " + p.title
		}
		return ""
	})
}

// lengthFault returns what is wrong with the length of a text, "" if nothing.
func lengthFault(what, s string, low, high int) string {
	n := width(s)
	switch {
	case n == 0:
		return "no " + what
	case n < low || n > high:
		return fmt.Sprintf("%s of %s: %s", what, plural(n, "character", "characters"), s)
	}
	return ""
}

// headingsFault returns what is wrong with a page's headings.
func (f *site) headingsFault(p *page) string {
	if !slices.ContainsFunc(p.headings, func(h heading) bool { return h.level == 1 }) {
		return "no H1"
	}
	last := 1
	for _, h := range p.headings {
		if h.level > last+1 {
			return fmt.Sprintf("H%d after H%d: %s", h.level, last, h.text)
		}
		last = h.level
	}
	if p.words > wordsPerHeading*len(p.headings) {
		return fmt.Sprintf("%s for %s", plural(len(p.headings), "heading", "headings"), plural(p.words, "word",
			"words"))
	}
	return ""
}

// canonicalFault returns what is wrong with a page's canonical link.
func (f *site) canonicalFault(p *page) string {
	list := p.rel("canonical")
	if len(list) == 0 {
		return "no canonical link"
	}
	c := list[0]
	for _, other := range list[1:] {
		if other.href != c.href {
			return fmt.Sprintf("two canonical links: %s and %s", c.href, other.href)
		}
	}
	raw, err := url.Parse(c.href)
	switch {
	case err != nil || !isWeb(raw) || c.url == nil:
		return "not the absolute address of a page: " + c.href
	case domain(c.url) != domain(p.url):
		return "points to another domain: " + c.href
	}
	for i := range f.sample {
		s := &f.sample[i]
		if !s.visit.unseen() && !s.visit.ok() && pageKey(s.url) == pageKey(c.url) {
			return fmt.Sprintf("points to %s, which %s", c.href, s.visit.outcome())
		}
	}
	return ""
}

// domain returns the registrable domain of an address, or its host without one.
func domain(u *url.URL) string {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if d, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		return d
	}
	return host
}

// publicSuffix returns the public suffix of a host and whether a registry manages
// it. Others belong to services that give each user a name.
func publicSuffix(u *url.URL) (suffix string, icann bool) {
	return publicsuffix.PublicSuffix(strings.TrimSuffix(strings.ToLower(u.Hostname()), "."))
}

// langFault returns what is wrong with the declared language of a page.
func langFault(p *page) string {
	if p.lang == "" {
		return "no lang attribute on the html element"
	}
	if _, ok := baseLanguage(p.lang); !ok {
		return "not a valid language tag: " + p.lang
	}
	return ""
}

// baseLanguage returns the language of a valid tag, without its region.
// A region does not make another language: de-AT and de-CH are one in this respect.
func baseLanguage(tag string) (string, bool) {
	t, err := language.Parse(tag)
	if err != nil || t == language.Und {
		return "", false
	}
	base, confidence := t.Base()
	return base.String(), confidence != language.No
}

// alternates returns the links of a page to its translations.
func alternates(p *page) (list []link) {
	for _, l := range p.rel("alternate") {
		if l.hreflang != "" {
			list = append(list, l)
		}
	}
	return list
}

// hreflang measures, for pages that link to translations, the share with valid tags
// and with return links from the translations that were read.
// Without a return link search engines ignore an annotation, since anyone could claim to be the
// translation of a well-known page.
func (f *site) hreflang(found findings) {
	const id = "lang.hreflang"
	base := f.home.url.String()
	languages := map[string]bool{}
	good, all := 0, 0
	var bad []fieldmark.Evidence
	for _, p := range f.pages {
		if l, ok := baseLanguage(p.lang); ok {
			languages[l] = true
		}
		list := alternates(p)
		for _, l := range list {
			if tag, ok := baseLanguage(l.hreflang); ok {
				languages[tag] = true
			} else if !strings.EqualFold(l.hreflang, "x-default") {
				languages[l.hreflang] = true // intended as a language
			}
		}
		if len(list) == 0 {
			continue
		}
		all++
		if why := once(p, id, func() string { return f.hreflangFault(p, list) }); why != "" {
			bad = append(bad, newEvidence(p.url.String(), "%s", why))
		} else {
			good++
		}
	}
	switch {
	case len(languages) <= 1:
		found.notApplicable(id, newEvidence(base, "one language on %s", plural(len(f.pages), "page", "pages")))
	case all == 0:
		found.set(id, 0, newEvidence(base, "several languages, but no page links to its translations"))
	default:
		sum := newEvidence(base, "%d of %d pages with links to translations have valid ones", good, all)
		found.setShare(id, good, all, append([]fieldmark.Evidence{sum}, bad...)...)
	}
}

// hreflangFault returns what is wrong with a page's links to translations.
// Only translations that this audit has read are checked for return links; reading all of them
// would cost a request for each language and page.
func (f *site) hreflangFault(p *page, list []link) string {
	seen := map[string]string{}
	for _, l := range list {
		tag := strings.ToLower(l.hreflang)
		if tag != "x-default" {
			if _, ok := baseLanguage(tag); !ok {
				return "not a valid language tag: " + l.hreflang
			}
		}
		if raw, err := url.Parse(l.href); l.url == nil || err != nil || !isWeb(raw) {
			return fmt.Sprintf("not the absolute address of a page for %s: %s", l.hreflang, l.href)
		}
		if to, dup := seen[tag]; dup && to != pageKey(l.url) {
			return "two addresses for " + l.hreflang
		}
		seen[tag] = pageKey(l.url)
	}
	for _, l := range list {
		if other := f.read(l.url); other != nil && pageKey(other.url) != pageKey(p.url) && !pointsTo(other, p) {
			return fmt.Sprintf("%s does not link back", l.url)
		}
	}
	return ""
}

// read returns the page at an address if this audit read it.
func (f *site) read(u *url.URL) *page {
	for _, list := range [][]sampled{f.sample, f.translations} {
		for i := range list {
			if p := list[i].page; p != nil && pageKey(p.url) == pageKey(u) {
				return p
			}
		}
	}
	return nil
}

// pointsTo reports whether a page links to another as its translation.
func pointsTo(from, to *page) bool {
	for _, l := range alternates(from) {
		if l.url != nil && pageKey(l.url) == pageKey(to.url) {
			return true
		}
	}
	return false
}

// answerKinds measures how many kinds of extractable blocks a page has on average.
// Pages of every type count, so the mean rewards a site that uses such blocks where they fit.
func (f *site) answerKinds(found findings) {
	total := 0
	seen := make([]fieldmark.Evidence, 0, len(f.pages)+1)
	for _, p := range f.pages {
		total += p.blocks.kinds()
		seen = append(seen, newEvidence(p.url.String(), "%s, %s, %s, %s with a short answer",
			plural(p.blocks.lists, "list", "lists"), plural(p.blocks.tables, "table", "tables"),
			plural(p.blocks.definitions, "definition list", "definition lists"), plural(p.blocks.questions, "question",
				"questions")))
	}
	mean := divide(int64(total)*one, int64(len(f.pages)))
	sum := newEvidence(f.home.url.String(), "%s kinds of answer blocks per page over %s", fieldmark.Milli(mean),
		plural(len(f.pages), "page", "pages"))
	found.set("answer.kinds", mean, append([]fieldmark.Evidence{sum}, seen...)...)
}

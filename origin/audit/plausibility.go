package audit

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/audit/prose"
)

// maxDuplicate is the percentage of a page's phrases that may occur on pages before it.
// Pages made from one template, such as variants of a product, stay below it.
const maxDuplicate = 95

// maxRepeatedPages is how many pages may repeat the text of each other page before a site counts
// as one text under many addresses. Of a shop with many variants, the pages that are always
// read differ.
const maxRepeatedPages = 3

// textFault is why a text does not read like a language. judged is false for a text that is
// too short, or in a language that the table lacks.
type textFault struct {
	judged bool
	list   bool   // most words are links: a table of contents or an index, not a text
	reason string // empty if the text counts
}

// checkTexts judges the main texts of all pages of the sample, without code, before any
// fact: pages that repeat each other, or whose common words are in no order, are recognised
// together. If most pages do not read like a language, the others do not count either: a
// random text can pass by chance.
func (f *site) checkTexts() {
	f.faults = map[*page]textFault{}
	var order prose.Order
	seen := map[uint64]bool{}
	good, judged, repeated := 0, 0, 0
	for _, p := range f.pages {
		tag, _ := lexiconTag(p.lang)
		if tag == "" {
			tag, _ = lexiconTag(f.subject.Language)
		}
		var fault textFault
		words, all := countWords(p.unlinked), countWords(p.figures)
		text := prose.New(p.unlinked, words)
		if fault.list = all >= prose.MinWords && 2*words < all; fault.list {
			fault.reason = "most of the text is links"
		} else {
			fault.judged, fault.reason = text.Judge(tag)
		}
		if n := text.Repeats(seen); fault.reason == "" && fault.judged && n > maxDuplicate {
			fault.judged, fault.reason = false, fmt.Sprintf("%d %% of the text is on other pages", n)
			repeated++
		}
		if fault.judged {
			judged++
		}
		if fault.judged && fault.reason == "" {
			good++
			order.Add(text)
		}
		f.faults[p] = fault
	}
	switch {
	case len(f.earlier) > 0:
		f.disownTexts()
	case order.Random():
		f.discard("common words follow each other at random")
	case 2*good < judged:
		f.discard("most pages do not read like a language")
	case repeated > maxRepeatedPages*good:
		f.discard("nearly all pages have the same text")
	}
}

// discard sets the fault of all pages that have none.
func (f *site) discard(why string) {
	for p, fault := range f.faults {
		fault.reason = cmp.Or(fault.reason, why)
		f.faults[p] = fault
	}
}

// minComparedWords is the least text of a page that is compared with other sites: in fewer
// words, such as the terms of a shop's delivery, sites agree by chance or by template.
const minComparedWords = 150

// minEarlier is how many pages must have text that was seen earlier at another brand, unless
// all pages with text have. Two may be legal texts of the same author.
const minEarlier = 3

// maxOwnDomains limits the other domains of a site that are stored.
const maxOwnDomains = 20

// Texts are the main texts of the pages of a site that are long enough to be compared with
// other sites.
type Texts struct {
	Domain string   // of the site, registrable
	Claims []string // other domains that the site claims as its own, sorted
	Pages  []PageText
}

// PageText is the main text of a page.
type PageText struct {
	URL    string
	Sketch Sketch
}

// Sketch summarizes a text.
type Sketch = prose.Sketch

// ParseSketch decodes a sketch.
func ParseSketch(text string) (Sketch, error) { return prose.ParseSketch(text) }

// EarlierText is a page of another brand that has the same text.
type EarlierText struct {
	URL     string
	Since   time.Time // when it was first seen there
	Decided bool      // it counts as the first because of a dispute, not because of Since
}

// Domain returns the registrable domain of an address, or its host without one.
func Domain(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return domain(u)
}

// compareTexts looks up where the texts of the pages were seen earlier.
func (f *site) compareTexts(ctx context.Context) error {
	if f.home == nil {
		return nil
	}
	f.texts.Domain = domain(f.home.url)
	claims := evidenceFacts{f}.ownDomains()
	delete(claims, f.texts.Domain)
	f.texts.Claims = slices.Sorted(maps.Keys(claims))
	f.texts.Claims = f.texts.Claims[:min(len(claims), maxOwnDomains)]
	for _, p := range f.pages {
		if countWords(p.unlinked) >= minComparedWords {
			f.texts.Pages = append(f.texts.Pages, PageText{p.url.String(), prose.NewSketch(p.unlinked)})
		}
	}
	if f.subject.Earlier == nil || len(f.texts.Pages) == 0 {
		return nil
	}
	earlier, err := f.subject.Earlier(ctx, f.texts)
	if err == nil && f.mostlyEarlier(earlier) {
		f.earlier = earlier
	}
	return err
}

// mostlyEarlier reports whether the site mostly has text that was seen earlier elsewhere: half
// of the pages with text, and half of those that are always read. Legal texts are alike on
// many sites, home pages are not.
func (f *site) mostlyEarlier(earlier map[string]EarlierText) bool {
	fixed := map[string]bool{}
	for _, p := range f.fixed {
		fixed[p.url.String()] = true
	}
	var all, old, fixedAll, fixedOld int
	for _, t := range f.texts.Pages {
		_, seen := earlier[t.URL]
		all++
		if fixed[t.URL] {
			fixedAll++
		}
		if seen {
			old++
		}
		if seen && fixed[t.URL] {
			fixedOld++
		}
	}
	return 2*old >= all && fixedOld > 0 && 2*fixedOld >= fixedAll && (old >= minEarlier || old == all)
}

// disownTexts makes the facts about text unknown: whose text it is, a single site does not
// decide. Nothing is counted against the site.
func (f *site) disownTexts() {
	for p, fault := range f.faults {
		fault.judged = false
		if t, ok := f.earlier[p.url.String()]; ok {
			fault.reason = fmt.Sprintf("the registry saw the same text on %s at %s",
				t.Since.UTC().Format(time.DateOnly),
				t.URL)
			if t.Decided {
				fault.reason = "a decided dispute attributes the same text to " + t.URL
			}
		}
		f.faults[p] = fault
	}
	f.discard("most texts of the site were seen earlier at another brand")
}

// textFacts are the facts that need text which reads like a language.
var textFacts = []string{"answer.kinds", "author.share", "cite.domains", "description.good", "fresh.age",
	"fresh.recent",
	"headings.good", "home.words", "quote.spans", "schema.share", "schema.typed", "stat.numbers", "text.words",
	"title.good", "titles.distinct"}

// plausible measures the share of pages whose text reads like a language and returns the
// site with only the pages whose text does not read otherwise. Without such pages, the
// facts about text are unknown: numbers in gibberish are no statistics.
func (f *site) plausible(found findings) (readable *site, ok bool) {
	const id = "text.plausible"
	r := *f
	r.pages = nil
	good, judged := 0, 0
	var bad []fieldmark.Evidence
	for _, p := range f.pages {
		fault := f.faults[p]
		if fault.judged {
			judged++
		}
		if fault.reason != "" {
			bad = append(bad, newEvidence(p.url.String(), "%s", fault.reason))
			continue
		}
		r.pages = append(r.pages, p)
		if fault.judged {
			good++
		}
	}
	base := f.home.url.String()
	if len(f.earlier) > 0 {
		sum := newEvidence(base,
			"known to the registry and not from this site: the text of %d of %s is on sites of other "+
				"brands that it read earlier", len(f.earlier), plural(len(f.texts.Pages), "page", "pages"))
		bad = append([]fieldmark.Evidence{sum}, bad...)
		found.unknown(id, bad...)
	} else if judged == 0 {
		found.unknown(id, newEvidence(base, "no page has %d words in a supported language", prose.MinWords))
	} else {
		sum := newEvidence(base, "the text of %d of %s reads like a language", good, plural(judged, "page", "pages"))
		found.setShare(id, good, judged, append([]fieldmark.Evidence{sum}, bad...)...)
	}
	if len(r.pages) > 0 {
		return &r, true
	}
	for _, text := range textFacts {
		found.unknown(text, bad...)
	}
	return nil, false
}

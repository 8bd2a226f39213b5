package audit

import (
	"cmp"
	"fmt"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/audit/prose"
)

// maxDuplicate is the percentage of a page's phrases that may occur on pages before it.
// Pages made from one template, such as variants of a product, stay below it.
const maxDuplicate = 95

// maxRepeated is how many pages may repeat the text of each other page before a site counts
// as one text under many addresses. Of a shop with many variants, the pages that are always
// read differ.
const maxRepeated = 3

// textFault is why a text does not read like a language. judged is false for a text that is
// too short, or in a language that the table lacks.
type textFault struct {
	judged bool
	list   bool   // most words are links: a table of contents or an index, not a text
	reason string // empty if the text counts
}

// judgeTexts judges the main texts of all pages of the sample, without code, before any
// fact: pages that repeat each other, or whose common words are in no order, are recognised
// together. If most pages do not read like a language, the others do not count either: a
// random text can pass by chance.
func (f *site) judgeTexts() {
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
	case order.Random():
		f.discard("common words follow each other at random")
	case 2*good < judged:
		f.discard("most pages do not read like a language")
	case repeated > maxRepeated*good:
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
	if judged == 0 {
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

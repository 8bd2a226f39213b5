package audit

import (
	"cmp"
	"fmt"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/audit/prose"
)

// maxDuplicate is the percentage of a page's phrases that may occur on pages before it.
const maxDuplicate = 80

// textFault is why a text does not read like a language. judged is false for a text that is
// too short, or in a language that the table lacks.
type textFault struct {
	judged bool
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
	good, judged := 0, 0
	for _, p := range f.pages {
		tag, _ := lexiconTag(p.lang)
		if tag == "" {
			tag, _ = lexiconTag(f.subject.Language)
		}
		var fault textFault
		text := prose.New(p.figures, countWords(p.figures))
		fault.judged, fault.reason = text.Judge(tag)
		if n := text.Repeats(seen); fault.reason == "" && fault.judged && n > maxDuplicate {
			fault.reason = fmt.Sprintf("%d %% of the text is on other pages", n)
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
	}
}

// discard sets the fault of all pages that have none.
func (f *site) discard(why string) {
	for p, fault := range f.faults {
		f.faults[p] = textFault{fault.judged, cmp.Or(fault.reason, why)}
	}
}

// textFacts are the facts that need text which reads like a language.
var textFacts = []string{"answer.kinds", "author.share", "cite.domains", "description.good", "fresh.age",
	"fresh.recent",
	"headings.good", "home.words", "quote.spans", "schema.share", "schema.typed", "stat.numbers", "text.words",
	"title.good", "titles.distinct"}

// plausible measures the share of pages whose text reads like a language and returns the
// site with only the pages whose text does not read otherwise. If there are none, the
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

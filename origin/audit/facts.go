package audit

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/fieldmark/fieldmark"
)

// The units of facts. A value is in thousandths of its unit, so a bool that is
// true and a share of everything are both one.
const (
	unitBool    = "bool"
	unitShare   = "share"
	unitCount   = "count"
	unitWords   = "words"
	unitMillis  = "ms"
	unitDays    = "days"
	unitLevel   = "level"
	unitDensity = "per_1000_words"
)

const one = int64(fieldmark.MilliOne)

// vocabulary is every fact an audit speaks of, sorted by id. All of them are in
// every Facts, so that a reader never has to guess what an absence means.
var vocabulary = []struct{ id, unit string }{
	{"agent.describedby", unitBool},
	{"agent.feed", unitBool},
	{"agent.markdown", unitBool},
	{"answer.kinds", unitCount},
	{"author.share", unitShare},
	{"canonical.good", unitShare},
	{"cite.domains", unitDensity},
	{"crawler.bingbot", unitShare},
	{"crawler.claude-searchbot", unitShare},
	{"crawler.googlebot", unitShare},
	{"crawler.oai-searchbot", unitShare},
	{"crawler.others", unitShare},
	{"crawler.perplexitybot", unitShare},
	{"description.good", unitShare},
	{"fetcher.share", unitShare},
	{"fresh.age", unitDays},
	{"headings.good", unitShare},
	{"home.indexable", unitBool},
	{"home.reachable", unitBool},
	{"home.words", unitWords},
	{"https.hsts", unitBool},
	{"https.redirect", unitBool},
	{"https.tls", unitBool},
	{"lang.hreflang", unitShare},
	{"lang.html", unitShare},
	{"link.about", unitBool},
	{"link.contact", unitBool},
	{"llms.errors", unitCount},
	{"llms.level", unitLevel},
	{"manipulation.found", unitBool},
	{"name.coherence", unitShare},
	{"og.fields", unitShare},
	{"org.contact", unitBool},
	{"org.description", unitBool},
	{"org.logo", unitBool},
	{"org.name", unitBool},
	{"org.url", unitBool},
	{"page.early_text", unitShare},
	{"page.light", unitShare},
	{"page.snippet_eligible", unitShare},
	{"quote.spans", unitDensity},
	{"response.ok", unitShare},
	{"response.ttfb", unitMillis},
	{"sameas.profiles", unitCount},
	{"sameas.reference", unitBool},
	{"schema.typed", unitBool},
	{"sitemap.found", unitBool},
	{"sitemap.live", unitShare},
	{"sitemap.valid", unitBool},
	{"stat.numbers", unitDensity},
	{"text.words", unitWords},
	{"title.good", unitShare},
	{"titles.distinct", unitShare},
}

// findings collects the facts of one audit.
type findings map[string]*fieldmark.Fact

// newFindings returns findings in which everything is unknown.
func newFindings() findings {
	f := make(findings, len(vocabulary))
	for _, v := range vocabulary {
		f[v.id] = &fieldmark.Fact{ID: v.id, State: fieldmark.Unknown, Unit: v.unit}
	}
	return f
}

// set records a measured value, in thousandths of the fact's unit.
func (f findings) set(id string, value int64, seen ...fieldmark.Evidence) {
	fact := f.must(id)
	fact.State, fact.Value = fieldmark.Measured, value
	fact.Evidence = canonical(seen)
}

func (f findings) setBool(id string, value bool, seen ...fieldmark.Evidence) {
	if value {
		f.set(id, one, seen...)
	} else {
		f.set(id, 0, seen...)
	}
}

// setShare records part of whole. With no whole there is nothing to know.
func (f findings) setShare(id string, part, whole int, seen ...fieldmark.Evidence) {
	if whole == 0 {
		f.unknown(id, seen...)
		return
	}
	f.set(id, divide(int64(part)*one, int64(whole)), seen...)
}

// unknown says why a fact could not be found out.
func (f findings) unknown(id string, seen ...fieldmark.Evidence) {
	fact := f.must(id)
	fact.State, fact.Value = fieldmark.Unknown, 0
	fact.Evidence = canonical(seen)
}

// explain gives the reason to every fact that is unknown without one.
func (f findings) explain(seen []fieldmark.Evidence) {
	for _, fact := range f {
		if fact.State == fieldmark.Unknown && len(fact.Evidence) == 0 {
			fact.Evidence = seen
		}
	}
}

// notApplicable says that a fact makes no sense for this site.
func (f findings) notApplicable(id string, seen ...fieldmark.Evidence) {
	fact := f.must(id)
	fact.State, fact.Value = fieldmark.NotApplicable, 0
	fact.Evidence = canonical(seen)
}

func (f findings) must(id string) *fieldmark.Fact {
	fact, ok := f[id]
	if !ok {
		panic("BUG: fact " + id + " is not in the vocabulary")
	}
	return fact
}

// sorted returns the facts in the order of their ids.
func (f findings) sorted() []fieldmark.Fact {
	all := make([]fieldmark.Fact, 0, len(f))
	for _, v := range vocabulary {
		all = append(all, *f[v.id])
	}
	return all
}

// note makes one entry of evidence. What is quoted is a stranger's text, so
// everything invisible is dropped from it and its length is bounded.
func note(url, format string, args ...any) fieldmark.Evidence {
	return fieldmark.Evidence{URL: shorten(url, fieldmark.MaxBrandURL), Fact: shorten(fmt.Sprintf(format, args...), fieldmark.MaxEvidenceText)}
}

// canonical orders and bounds evidence, so that the same findings always give
// the same digest. The first entry stays first: it sums up the rest.
func canonical(seen []fieldmark.Evidence) []fieldmark.Evidence {
	if len(seen) == 0 {
		return nil
	}
	list := slices.Clone(seen)
	slices.SortFunc(list[1:], func(a, b fieldmark.Evidence) int {
		if c := strings.Compare(a.URL, b.URL); c != 0 {
			return c
		}
		return strings.Compare(a.Fact, b.Fact)
	})
	list = slices.Compact(list)
	return list[:min(len(list), fieldmark.MaxEvidence)]
}

// shorten collapses white space, drops what no reader can see, and cuts s to at
// most n code points with an ellipsis.
func shorten(s string, n int) string {
	var b strings.Builder
	count, space := 0, false
	for _, r := range s {
		if unicode.IsSpace(r) {
			space = count > 0
			continue
		}
		if !unicode.IsGraphic(r) || r == unicode.ReplacementChar {
			continue
		}
		if space {
			b.WriteByte(' ')
			count, space = count+1, false
		}
		b.WriteRune(r)
		if count++; count > n {
			return cutRunes(b.String(), n-1) + "…"
		}
	}
	return b.String()
}

// cutRunes returns the first n code points of s.
func cutRunes(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}

// divide rounds a/b half up, for numbers that are not negative.
func divide(a, b int64) int64 { return (a + b/2) / b }

// median returns the middle of values, or the lower of the two middles.
func median[T int | int64](values []T) T {
	if len(values) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(values))
	return s[(len(s)-1)/2]
}

// count says how many there are of something.
func count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

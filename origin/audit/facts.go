package audit

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/fieldmark/fieldmark"
)

// The units of facts. Values are in thousandths of the unit, so true and a share of
// 100 % are both one.
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

// vocabulary lists every fact, sorted by id. Facts always contains all of them, so
// that an absent fact has no second meaning.
var vocabulary = []struct{ id, unit string }{
	{"agent.a2a_card", unitBool},
	{"agent.api_catalog", unitBool},
	{"agent.bot_keys", unitBool},
	{"agent.describedby", unitBool},
	{"agent.feed", unitBool},
	{"agent.markdown", unitBool},
	{"agent.mcp_card", unitBool},
	{"agent.webmcp", unitCount},
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
	{"fresh.recent", unitShare},
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
	{"policy.content_signal.ai_input", unitBool},
	{"policy.content_signal.ai_train", unitBool},
	{"policy.content_signal.search", unitBool},
	{"policy.content_usage.search", unitBool},
	{"policy.content_usage.train_ai", unitBool},
	{"policy.rsl", unitBool},
	{"policy.tdmrep", unitBool},
	{"quote.spans", unitDensity},
	{"response.ok", unitShare},
	{"response.ttfb", unitMillis},
	{"sameas.profiles", unitCount},
	{"sameas.reference", unitBool},
	{"schema.share", unitShare},
	{"schema.typed", unitBool},
	{"sitemap.found", unitBool},
	{"sitemap.live", unitShare},
	{"sitemap.valid", unitBool},
	{"stat.numbers", unitDensity},
	{"text.plausible", unitShare},
	{"text.words", unitWords},
	{"title.good", unitShare},
	{"titles.distinct", unitShare},
}

// findings collects the facts of one audit.
type findings map[string]*fieldmark.Fact

// newFindings returns findings in which all facts are unknown.
func newFindings() findings {
	f := make(findings, len(vocabulary))
	for _, v := range vocabulary {
		f[v.id] = &fieldmark.Fact{ID: v.id, State: fieldmark.Unknown, Unit: v.unit}
	}
	return f
}

// set records a measured value, in thousandths of the fact's unit.
func (f findings) set(id string, value int64, seen ...fieldmark.Evidence) {
	fact := f.fact(id)
	fact.State, fact.Value = fieldmark.Measured, value
	fact.Evidence = canonical(seen)
}

// setBool records a yes or no.
func (f findings) setBool(id string, value bool, seen ...fieldmark.Evidence) {
	if value {
		f.set(id, one, seen...)
	} else {
		f.set(id, 0, seen...)
	}
}

// setShare records part of whole. If whole is 0 the fact is unknown.
// No pages is not a share of zero: it would count against a site that was not read.
func (f findings) setShare(id string, part, whole int, seen ...fieldmark.Evidence) {
	if whole == 0 {
		f.unknown(id, seen...)
		return
	}
	f.set(id, divide(int64(part)*one, int64(whole)), seen...)
}

// unknown records why a fact could not be measured.
func (f findings) unknown(id string, seen ...fieldmark.Evidence) {
	fact := f.fact(id)
	fact.State, fact.Value = fieldmark.Unknown, 0
	fact.Evidence = canonical(seen)
}

// explain adds the reason to every unknown fact that has none.
// Facts that depend on one failed request all get the same reason.
func (f findings) explain(seen []fieldmark.Evidence) {
	for _, fact := range f {
		if fact.State == fieldmark.Unknown && len(fact.Evidence) == 0 {
			fact.Evidence = seen
		}
	}
}

// notApplicable records that a fact has no meaning for this site.
func (f findings) notApplicable(id string, seen ...fieldmark.Evidence) {
	fact := f.fact(id)
	fact.State, fact.Value = fieldmark.NotApplicable, 0
	fact.Evidence = canonical(seen)
}

// fact returns a fact of the vocabulary. An unknown id is a bug.
func (f findings) fact(id string) *fieldmark.Fact {
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

// newEvidence returns one entry of evidence. It may quote text from the site, so
// invisible characters are removed and its length is limited.
// The URL is shortened too: it comes from the site as well.
func newEvidence(url, format string, args ...any) fieldmark.Evidence {
	return fieldmark.Evidence{URL: shorten(url, fieldmark.MaxBrandURL), Fact: shorten(fmt.Sprintf(format, args...),
		fieldmark.MaxEvidenceText)}
}

// canonical sorts and limits evidence, so that the same findings have the same
// digest. The first entry, a summary, stays first.
// Pages are read concurrently with other audits and in the order of the draw, and neither may show.
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

// shorten collapses white space, removes invisible characters, and truncates s to
// at most n code points with an ellipsis.
// Invisible characters could turn the direction of text around it on a page or in a terminal.
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

// median returns the middle value, or the lower of the two middle values.
// It is always a value that occurs, so that evidence can name a page that has it.
func median[T int | int64](values []T) T {
	if len(values) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(values))
	return s[(len(s)-1)/2]
}

// plural returns a number with the singular or plural form of a noun.
func plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// FactDescription describes a fact, for authors of scoring modules.
type FactDescription struct {
	ID      string `json:"id"`
	Unit    string `json:"unit"`
	Meaning string `json:"meaning"`

	// Observed facts are reported; the built-in module gives no points for them.
	Observed bool `json:"observed,omitempty"`
}

// Vocabulary returns all facts, sorted by id.
// It is the contract between auditor and modules: an id is never used for something else.
func Vocabulary() []FactDescription {
	all := make([]FactDescription, 0, len(vocabulary))
	for _, v := range vocabulary {
		all = append(all, FactDescription{ID: v.id, Unit: v.unit, Meaning: meanings[v.id],
			Observed: fieldmark.IsObserved(v.id)})
	}
	return all
}

// meanings describes each fact. "Pages" are those the audit read.
var meanings = map[string]string{
	"agent.describedby": "a page links to llms.txt with rel=describedby",
	"agent.feed":        "an RSS, Atom or JSON feed is linked",
	"agent.markdown":    "pages are offered as Markdown",
	"answer.kinds": "kinds of liftable blocks on a page, on average: lists, tables, definition lists, " +
		"answered questions",
	"author.share":             "articles that name an author; does not apply without articles",
	"canonical.good":           "pages with one absolute canonical address on this domain",
	"cite.domains":             "other sites linked from the text",
	"crawler.bingbot":          "addresses that robots.txt lets Bingbot read",
	"crawler.claude-searchbot": "addresses that robots.txt lets Claude-SearchBot read",
	"crawler.googlebot":        "addresses that robots.txt lets Googlebot read",
	"crawler.oai-searchbot":    "addresses that robots.txt lets OAI-SearchBot read",
	"crawler.others":           "addresses that robots.txt lets smaller answer crawlers read",
	"crawler.perplexitybot":    "addresses that robots.txt lets PerplexityBot read",
	"description.good":         "pages with a description of 50 to 300 characters",
	"fetcher.share":            "addresses that robots.txt lets assistants fetch at a person's request",
	"fresh.age":                "age of the newest page with a plausible date",
	"fresh.recent":             "dated pages that changed within 180 days",
	"headings.good":            "pages with an H1, no skipped level and a heading for every 300 words",
	"home.indexable":           "nothing forbids indexing or quoting the home page",
	"home.reachable":           "the home page responds with an HTML page",
	"home.words":               "words of main text in the HTML of the home page",
	"https.hsts":               "Strict-Transport-Security of at least 180 days",
	"https.redirect":           "http redirects to https in one step",
	"https.tls":                "the certificate is valid",
	"lang.hreflang":            "pages whose translations link back; does not apply to one language",
	"lang.html":                "pages that state a valid language",
	"link.about":               "an about page is linked",
	"link.contact":             "a contact page is linked",
	"llms.errors":              "errors in llms.txt; 0 without the file",
	"llms.level":               "llms.txt: 0 none, 1 Markdown, 2 with a title, 3 with a summary, 4 with links",
	"manipulation.found":       "instructions to models that readers do not see",
	"name.coherence":           "places that name the brand the same way",
	"og.fields":                "of og:title, og:description, og:image and og:url on the home page",
	"org.contact":              "the organisation's data has a contact point or an address",
	"org.description":          "the organisation's data has a description",
	"org.logo":                 "the organisation's data has a logo",
	"org.name":                 "the organisation's data has its name",
	"org.url":                  "the organisation's data has its address on the web",
	"page.early_text":          "pages whose main text starts within the first 100 kB",
	"page.light":               "pages of at most 500 kB of HTML",
	"page.snippet_eligible":    "pages that may be indexed and quoted",
	"quote.spans":              "quotations of people",
	"response.ok":              "requests for pages with a 2xx response",
	"response.ttfb":            "time to the first byte, median of the pages",
	"sameas.profiles":          "sites with a profile in the organisation's sameAs that links back",
	"sameas.reference": "the organisation's sameAs has an item of Wikidata or an article of Wikipedia that " +
		"leads back",
	"schema.share":                   "pages whose structured data names their subject, as their text does",
	"schema.typed":                   "structured data names the subject of a page, as its text does",
	"sitemap.found":                  "there is a sitemap",
	"sitemap.live":                   "addresses in the sitemap that answer 2xx on this host",
	"sitemap.valid":                  "the sitemap is well-formed and within its limits",
	"stat.numbers":                   "figures with a unit, a percentage or a currency",
	"text.plausible":                 "pages whose text reads like a language, of those long enough to tell",
	"text.words":                     "words of main text in the HTML, median of the pages",
	"title.good":                     "pages with a title of 10 to 70 characters",
	"titles.distinct":                "pages with a unique title and description",
	"agent.a2a_card":                 "an A2A agent card is published",
	"agent.api_catalog":              "a catalogue of APIs is published (RFC 9727)",
	"agent.bot_keys":                 "a directory of keys for Web Bot Auth is published",
	"agent.mcp_card":                 "a card of an MCP server is published, or a catalogue that lists one",
	"agent.webmcp":                   "forms that are WebMCP tools, and one for an inline script that registers tools",
	"policy.content_signal.ai_input": "Content-Signal allows the content as input of AI; unknown if it says nothing",
	"policy.content_signal.ai_train": "Content-Signal allows the content for training; unknown if it says nothing",
	"policy.content_signal.search":   "Content-Signal allows the content for search; unknown if it says nothing",
	"policy.content_usage.search":    "Content-Usage allows the content for search; unknown if it says nothing",
	"policy.content_usage.train_ai":  "Content-Usage allows the content for training; unknown if it says nothing",
	"policy.rsl":                     "RSL terms are declared",
	"policy.tdmrep":                  "rights of text and data mining are reserved (TDMRep)",
}

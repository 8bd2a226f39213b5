package scoring

import (
	"fmt"
	"strings"

	"github.com/fieldmark/fieldmark"
)

// answerCrawlers are the crawlers whose index feeds the large answer engines, with the
// facts that contain the share of sampled pages each may fetch.
// Crawlers for training are missing on purpose: refusing them is a choice that costs no visibility
// in answers.
var answerCrawlers = []struct{ fact, name string }{
	{"crawler.googlebot", "Googlebot"},
	{"crawler.bingbot", "Bingbot"},
	{"crawler.oai-searchbot", "OAI-SearchBot"},
	{"crawler.perplexitybot", "PerplexityBot"},
	{"crawler.claude-searchbot", "Claude-SearchBot"},
}

// Eligibility returns the eligibility of a site from its facts.
// The whole is as good as its worst check. What is known to prevent use comes before what is not
// known.
func Eligibility(facts *fieldmark.Facts) *fieldmark.Eligibility {
	e := &fieldmark.Eligibility{Checks: []fieldmark.EligibilityCheck{fetchCheck(facts), indexCheck(facts),
		readCheck(facts)}}
	for _, state := range []fieldmark.EligibilityState{fieldmark.NotEligible, fieldmark.EligibilityUnknown,
		fieldmark.PartlyEligible, fieldmark.Eligible} {
		for _, c := range e.Checks {
			if c.State == state {
				e.State = state
				return e
			}
		}
	}
	return e
}

// fetchCheck reports which answer crawlers may fetch the site.
// A site counts as blocked for a crawler if less than half of its sampled pages may be fetched:
// most sites exclude a cart or a search.
func fetchCheck(facts *fieldmark.Facts) fieldmark.EligibilityCheck {
	c := fieldmark.EligibilityCheck{ID: fieldmark.CheckFetch}
	home, _ := facts.Find("home.reachable")
	if home.State == fieldmark.Measured && home.Value == 0 {
		c.State, c.Reason, c.Evidence = fieldmark.NotEligible,
			"The home page does not respond with an HTML page.", home.Evidence
		return c
	}
	var allowed, blocked, unknown []string
	for _, crawler := range answerCrawlers {
		f, _ := facts.Find(crawler.fact)
		switch {
		case f.State != fieldmark.Measured:
			unknown = append(unknown, crawler.name)
		case f.Value*2 < int64(fieldmark.MilliOne):
			blocked = append(blocked, crawler.name)
			c.Evidence = append(c.Evidence, f.Evidence...)
		default:
			allowed = append(allowed, crawler.name)
		}
	}
	// Five crawlers have five times the evidence of one fact, most of it about the same lines.
	c.Evidence = c.Evidence[:min(len(c.Evidence), fieldmark.MaxEvidence)]
	switch {
	case len(blocked) == len(answerCrawlers):
		c.State, c.Reason = fieldmark.NotEligible, "robots.txt lets none of the answer crawlers fetch the site."
	case len(blocked) > 0:
		c.State = fieldmark.PartlyEligible
		c.Reason = fmt.Sprintf("robots.txt does not let %s fetch most pages.", strings.Join(blocked, ", "))
	case len(unknown) > 0:
		c.State, c.Reason = fieldmark.EligibilityUnknown, "robots.txt could not be read."
	default:
		c.State = fieldmark.Eligible
		c.Reason = fmt.Sprintf("The site responds, and robots.txt lets %s fetch it.", strings.Join(allowed, ", "))
	}
	return c
}

// indexCheck reports whether the home page and most pages may be indexed and quoted.
// The home page decides alone, since engines show it for the name of the brand.
func indexCheck(facts *fieldmark.Facts) fieldmark.EligibilityCheck {
	home, _ := facts.Find("home.indexable")
	pages, _ := facts.Find("page.snippet_eligible")
	c := fieldmark.EligibilityCheck{ID: fieldmark.CheckIndex, Evidence: home.Evidence}
	switch {
	case home.State != fieldmark.Measured:
		c.State, c.Reason = fieldmark.EligibilityUnknown, "The home page could not be read."
	case home.Value == 0:
		c.State = fieldmark.NotEligible
		c.Reason = "The home page forbids indexing or quoting: noindex, nosnippet or max-snippet:0."
	case pages.State == fieldmark.Measured && pages.Value*2 < int64(fieldmark.MilliOne):
		c.State, c.Evidence = fieldmark.PartlyEligible, pages.Evidence
		c.Reason = "Most pages forbid indexing or quoting: noindex, nosnippet or max-snippet:0."
	default:
		c.State, c.Reason = fieldmark.Eligible, "The pages may be indexed and quoted."
	}
	return c
}

// readCheck reports whether the home page has text without JavaScript.
// The limit is far below any real home page, and above what is left of a shell without scripts.
func readCheck(facts *fieldmark.Facts) fieldmark.EligibilityCheck {
	words, _ := facts.Find("home.words")
	c := fieldmark.EligibilityCheck{ID: fieldmark.CheckRead, Evidence: words.Evidence}
	switch {
	case words.State != fieldmark.Measured:
		c.State, c.Reason = fieldmark.EligibilityUnknown, "The text of the home page could not be read."
	case words.Value < fieldmark.ReadableWords*int64(fieldmark.MilliOne):
		c.State = fieldmark.NotEligible
		c.Reason = fmt.Sprintf("The HTML of the home page has fewer than %d words of text: "+
			"most answer crawlers run no JavaScript.", fieldmark.ReadableWords)
	default:
		c.State, c.Reason = fieldmark.Eligible, "The text is in the HTML, so that crawlers without JavaScript can "+
			"read it."
	}
	return c
}

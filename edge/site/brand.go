package site

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/fieldmark/fieldmark"
)

// BrandPage is the data of a brand's page.
type BrandPage struct {
	BaseURL string // scheme and host of the site, without a slash at the end
	Score   fieldmark.Score
	Facts   *fieldmark.Facts        // of the score; nil where they cannot be had just now
	History *fieldmark.ScoreHistory // nil where it cannot be had just now
	Badge   *Badge                  // nil leaves out how to show it

	Claim    *fieldmark.BrandClaim     // verified; nil: the brand is not claimed
	Disputes []fieldmark.DisputeStatus // published ones, the newest first

	NicheMedian fieldmark.Milli // of the readiness of all ranked brands of its niche; used with NicheBrands
	NicheBrands int             // how many they are; 0 leaves the median out
}

// maxAdvice is how many pieces of advice a page lists, the first: more would be the whole
// list again. The score document has all of them.
const maxAdvice = 6

// brandView is what templates/brand.html shows.
type brandView struct {
	Head       head
	Page       *BrandPage
	Score      *fieldmark.Score
	Value      fieldmark.Milli // of the score; 0 without one
	Status     verdict
	Checks     []checkView
	Practice   *practiceView // nil without a score
	Advice     []adviceView
	Components []componentView
	Gates      []gateView
	Niche      *nicheView  // nil: too few brands to compare with
	Since      *sinceView  // nil before the second audit
	Chart      *chart      // nil while there is nothing to draw
	Sample     *sampleView // nil without facts
	Visibility *visibilityView
	Observed   []observedView
}

// nicheView compares a brand with the ranked brands of its niche.
type nicheView struct {
	Median fieldmark.Milli
	Brands int
	Above  fieldmark.Milli // points of the brand above the median, negative below
}

// minMedian is the fewest brands of which a page shows the median: of two it would be
// the brand itself and one other.
const minMedian = 3

func nicheOf(p *BrandPage) *nicheView {
	if p.Score.Rank == nil || p.Score.Score == nil || p.NicheBrands < minMedian {
		return nil
	}
	return &nicheView{Median: p.NicheMedian, Brands: p.NicheBrands, Above: *p.Score.Score - p.NicheMedian}
}

// verdict is a status in words.
type verdict struct {
	Tag  string // two or three words
	Text string // a sentence or two
	Tone string // class of the colour
}

func newBrandView(c chrome, p *BrandPage) *brandView {
	s := &p.Score
	v := &brandView{Page: p, Score: s, Status: verdictOf(s), Checks: checksOf(s), Practice: practiceOf(s),
		Advice: adviceOf(s), Components: componentsOf(s, p.Disputes), Sample: sampleOf(p)}
	v.Gates, v.Niche, v.Observed = gatesOf(p), nicheOf(p), observedOf(p)
	name := plain(s.Name)
	v.Head = head{
		chrome: c, Title: name + ": GEO readiness", Kind: "website", Index: s.Status != fieldmark.StatusUnlisted,
		Base:        p.BaseURL,
		Canonical:   brandAddress(p.BaseURL, s.Slug),
		Description: fmt.Sprintf("%s in generative engine optimisation (GEO): %s.", name, v.Status.Tag),
		Data:        brandData(p),
	}
	v.Head.setCard(s)
	if s.Status != fieldmark.StatusUnlisted { // its history is not public
		v.Head.Feed = v.Head.Canonical + FeedSuffix
	}
	v.Head.OEmbed = p.BaseURL + PathOEmbed + "?url=" + url.QueryEscape(v.Head.Canonical)
	if s.Score != nil && s.Range != nil {
		v.Value = *s.Score
		v.Head.Description = fmt.Sprintf(
			"%s in generative engine optimisation (GEO): %s. Good practice %s of 100, between %s and %s, grade %s. "+
				"Every signal, its evidence, and how to raise it.", name, v.Status.Tag, decimal(*s.Score),
			decimal(s.Range.Low), decimal(s.Range.High),
			s.Grade)
	}
	v.Chart, v.Since, v.Visibility = newChart(p.History), sinceOf(p), newVisibilityView(s.Visibility, p.History)
	return v
}

// verdictOf explains a status. GEO-ready says that engines can use the site, and nothing
// of the score.
func verdictOf(s *fieldmark.Score) verdict {
	switch s.Status {
	case fieldmark.StatusScored:
		return readiness(s)
	case fieldmark.StatusPending:
		return verdict{"Waiting for its first audit",
			"This brand is registered, and its website has not been audited yet. The score will appear here " +
				"automatically.", "none"}
	case fieldmark.StatusUnreachable:
		return verdict{"Website unreachable", blocker(s, "The home page did not respond at the last audit.") +
			" Nothing could be measured, and an unreachable site has no score rather than a low one.", "none"}
	case fieldmark.StatusRefused:
		return verdict{"The site refused our audit", "Its bot protection answered in place of the home page, so " +
			"nothing could be measured. This says nothing about other crawlers, and is no fault of the site: there " +
			"is no score rather than a low one.", "none"}
	case fieldmark.StatusInsufficientData:
		return verdict{"Not enough could be measured", blocker(s, "Too many signals are unknown.") +
			" The rest is not enough for a score.", "none"}
	case fieldmark.StatusUnlisted:
		v := verdict{"Unlisted by its owner", "This brand is not ranked and not audited, and has no score. Only its " +
			"owner can list it again.", "none"}
		if s.UnlistedAt != nil {
			v.Tag += " since " + dayOf(*s.UnlistedAt)
		}
		return v
	case fieldmark.StatusStale:
		return verdict{"Out of date",
			"The last audit is more than 90 days old. The score is kept for reference and is not ranked.", "fair"}
	}
	return verdict{"Not rated", "There is no score for this brand.", "none"}
}

// readiness returns whether a scored brand is GEO-ready, and if not, why.
func readiness(s *fieldmark.Score) verdict {
	state := fieldmark.EligibilityUnknown
	if s.Eligibility != nil {
		state = s.Eligibility.State
	}
	switch {
	case s.GeoReady:
		return verdict{"GEO-ready", "Answer engines can fetch, index and read this site. How well it follows good " +
			"practice is a separate question, answered by the score.", "good"}
	case state == fieldmark.Eligible:
		return verdict{"Not GEO-ready yet", "Answer engines could fetch, index and read this site, but the audit " +
			"is more than 30 days old.", "fair"}
	case state == fieldmark.EligibilityUnknown:
		return verdict{"Not known to be GEO-ready", blocker(s, "It could not be determined whether answer engines "+
			"can use this site."), "fair"}
	}
	return verdict{"Not GEO-ready yet", blocker(s, "Answer engines cannot use this site."), "fair"}
}

// blocker returns the reason of the check that decided the eligibility with what the audit
// found, or the words for its absence.
func blocker(s *fieldmark.Score, otherwise string) string {
	if s.Eligibility == nil || s.Eligibility.State == fieldmark.Eligible {
		return otherwise
	}
	for _, c := range s.Eligibility.Checks {
		if c.State != s.Eligibility.State {
			continue
		}
		if len(c.Evidence) > 0 && s.Score == nil {
			return plain(c.Reason) + " Found: " + plain(strings.TrimSuffix(c.Evidence[0].Fact, ".")) + "."
		}
		return plain(c.Reason)
	}
	return otherwise
}

// brandData returns the schema.org description of the page and of the score. The rating is
// marked as a review by Fieldmark, not as a customer rating.
func brandData(p *BrandPage) any {
	s := &p.Score
	brand := map[string]any{"@type": "Organization", "name": plain(s.Name)}
	if u := webLink(s.URL); u != "" {
		brand["url"] = u
	}
	page := map[string]any{
		"@context": "https://schema.org", "@type": "WebPage", "url": brandAddress(p.BaseURL, s.Slug),
		"name": plain(s.Name) + ": GEO readiness", "publisher": publisher(p.BaseURL), "about": brand,
	}
	if s.Status == fieldmark.StatusScored && s.Score != nil && s.AsOf != nil {
		page["mainEntity"] = map[string]any{
			"@type": "Review", "author": publisher(p.BaseURL), "itemReviewed": brand,
			"reviewAspect":  "Good practice for answer engines",
			"datePublished": s.AsOf.Std().Format("2006-01-02"),
			"reviewRating": map[string]any{
				"@type": "Rating", "ratingValue": decimal(*s.Score), "bestRating": "100", "worstRating": "0",
			},
		}
	}
	return page
}

// RecomputeSuffix follows the address of a brand's page in that of the page on which the browser
// recomputes its score.
const RecomputeSuffix = "/recompute"

// RecomputePage is the data of the page on which the browser of a reader recomputes a score.
type RecomputePage struct {
	BaseURL string // scheme and host of the site, without a slash at the end
	Score   fieldmark.Score
}

// recomputeView is what templates/recompute.html shows.
type recomputeView struct {
	Head    head
	Score   *fieldmark.Score
	Command string // does the same without a browser
}

func newRecomputeView(c chrome, p *RecomputePage) *recomputeView {
	name := plain(p.Score.Name)
	return &recomputeView{Score: &p.Score,
		Command: fmt.Sprintf("fieldmark score verify %s --url %s", p.Score.Slug, p.BaseURL),
		Head: head{
			chrome: c, Base: p.BaseURL, Kind: "website", Title: "Verify the score of " + name,
			Description: fmt.Sprintf("Recompute the score of %s in your browser, and see what a change would be worth.",
				name),
			Runs: p.Score.FactsDigest != "",
		}}
}

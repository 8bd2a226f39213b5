package site

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fieldmark/fieldmark"
)

// BrandPage is the data of a brand's page.
type BrandPage struct {
	BaseURL string // scheme and host of the site, without a slash at the end
	Score   fieldmark.Score
	History *fieldmark.ScoreHistory // nil where it cannot be had just now
	Badge   *Badge                  // nil leaves out how to show it
}

// maxFixes is how many of the most valuable fixes are listed first. More would
// be the whole list again.
const maxFixes = 5

// fix is something to do about a site and what it is worth.
type fix struct {
	Signal *fieldmark.Signal
	Gain   fieldmark.Milli // points of the score, at most
}

// brandView is what templates/brand.html shows.
type brandView struct {
	Head   head
	Page   *BrandPage
	Score  *fieldmark.Score
	Value  fieldmark.Milli // of the score; 0 without one
	Status verdict
	Fixes  []fix
	Chart  *chart // nil while there is nothing to draw
}

// verdict is a status in words.
type verdict struct {
	Tag  string // two or three words
	Text string // a sentence or two
	Tone string // class of the colour
}

func newBrandView(c chrome, p *BrandPage) *brandView {
	s := &p.Score
	v := &brandView{Page: p, Score: s, Status: verdictOf(s), Fixes: fixesOf(s)}
	name := plain(s.Name)
	v.Head = head{
		chrome: c, Title: name + ": GEO readiness", Kind: "website", Index: true, Base: p.BaseURL,
		Image:       badgeAddress(p.BaseURL, s.Slug) + ".png?style=card&scale=3",
		Canonical:   brandAddress(p.BaseURL, s.Slug),
		Description: fmt.Sprintf("%s: %s. Every signal, its evidence, and how to raise the score.", name, v.Status.Tag),
		Data:        brandData(p),
	}
	if s.Score != nil {
		v.Value = *s.Score
		v.Head.Description = fmt.Sprintf(
			"%s has a GEO readiness score of %s of 100, grade %s. Every signal, its evidence, and how to raise it.",
			name, decimal(*s.Score), s.Grade)
	}
	labels := map[string]string{}
	for _, c := range s.Components {
		for _, sig := range c.Signals {
			labels[sig.ID] = sig.Label
		}
	}
	v.Chart = newChart(p.History, labels)
	return v
}

// verdictOf explains a status and, for a brand that is not GEO-ready, lists the conditions
// it misses.
func verdictOf(s *fieldmark.Score) verdict {
	switch s.Status {
	case fieldmark.StatusScored:
		if s.GeoReady {
			return verdict{"GEO-ready",
				"Answer engines can reach this site, read it, identify who runs it and cite it.", "good"}
		}
		return verdict{"Not GEO-ready yet", missing(s), "fair"}
	case fieldmark.StatusPending:
		return verdict{"Waiting for its first audit",
			"This brand is registered, and its website has not been audited yet. The score will appear here " +
				"automatically.", "none"}
	case fieldmark.StatusUnreachable:
		return verdict{"Website unreachable",
			"The home page did not respond at the last audit, so nothing could be measured. An unreachable site has " +
				"no score rather than a low one.", "none"}
	case fieldmark.StatusInsufficientData:
		return verdict{"Not enough could be measured",
			"Too many signals are unknown for a meaningful score. Results so far are below.", "none"}
	case fieldmark.StatusStale:
		return verdict{"Out of date",
			"The last audit is more than 90 days old. The score is kept for reference and is not ranked.", "fair"}
	}
	return verdict{"Not rated", "There is no score for this brand.", "none"}
}

// missing names the first condition of GEO-ready that a score does not meet.
func missing(s *fieldmark.Score) string {
	switch {
	case len(s.Gates) > 0:
		return "A critical issue caps this score. Fix it first."
	case s.Score != nil && *s.Score < 70*fieldmark.MilliOne:
		return "GEO-ready needs 70 points. See what to fix below."
	case s.Confidence.Value < 600:
		return "The score is high enough, but too little could be measured."
	}
	return "The score is high enough, but GEO-ready needs an audit from the last 30 days."
}

// fixesOf lists the measured signals with advice by what they could still
// bring, the most first.
func fixesOf(s *fieldmark.Score) []fix {
	var fixes []fix
	for i := range s.Components {
		for j := range s.Components[i].Signals {
			sig := &s.Components[i].Signals[j]
			lost := fieldmark.Milli(sig.Max)*fieldmark.MilliOne - sig.Points
			if sig.Status != fieldmark.Measured || sig.Advice == "" || lost <= 0 || s.Confidence.MeasuredWeight == 0 {
				continue
			}
			gain := (lost * 100 / fieldmark.Milli(s.Confidence.MeasuredWeight)).Tenth()
			fixes = append(fixes, fix{sig, gain})
		}
	}
	slices.SortStableFunc(fixes, func(a, b fix) int { return cmp.Compare(b.Gain, a.Gain) })
	return fixes[:min(len(fixes), maxFixes)]
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
			"reviewAspect":  "How well answer engines can reach, read and cite the website",
			"datePublished": s.AsOf.Std().Format("2006-01-02"),
			"reviewRating": map[string]any{
				"@type": "Rating", "ratingValue": decimal(*s.Score), "bestRating": "100", "worstRating": "0",
			},
		}
	}
	return page
}

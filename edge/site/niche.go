package site

import (
	"fmt"
	"strings"

	"github.com/fieldmark/fieldmark"
)

// NicheLine is a niche in the list of niches.
type NicheLine struct {
	Name   string
	Brands int             // that are ranked
	Median fieldmark.Milli // of their readiness
}

// NichesPage is the data of the list of niches.
type NichesPage struct {
	BaseURL string      // scheme and host of the site, without a slash at the end
	Niches  []NicheLine // by name
	All     int         // niches there are; more than Niches if those are the largest alone
}

// nichesView is what templates/niches.html shows.
type nichesView struct {
	Head head
	Page *NichesPage
}

func newNichesView(c chrome, p *NichesPage) *nichesView {
	return &nichesView{Page: p, Head: fixedHead(c, p.BaseURL, PathNiches, "GEO readiness by niche",
		"Every niche with its ranked brands and the median of their scores in generative engine optimisation (GEO).")}
}

// nichePath returns the path of the page of a niche.
func nichePath(niche string) string { return PathNiches + "/" + niche }

// nicheName writes a niche, which has the form of a slug, as words.
func nicheName(niche string) string { return strings.ReplaceAll(plain(niche), "-", " ") }

// aboutNiche describes a niche in a sentence.
func aboutNiche(n *NicheLine) string {
	return fmt.Sprintf("%s in %s, ranked by generative engine optimisation (GEO): how well answer engines can reach, "+
		"read and cite their websites.", countOf(n.Brands, "brand", "brands"), nicheName(n.Name))
}

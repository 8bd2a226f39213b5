package site

import (
	"html/template"

	"github.com/fieldmark/fieldmark"
)

// BadgesPage is the data of the badge builder.
type BadgesPage struct {
	BaseURL                   string // scheme and host of the site, without a slash at the end
	Search                    string // the brand that was looked for; any text
	Found                     []FoundBrand
	FoundAll                  int    // of which Found are the first
	Slug                      string // as asked for; any text
	Style, Theme, Lang, Label string // as asked for; any text
	Animate, Claimed          bool
	Styles, Themes, Langs     []string // the known values
	Problem                   string   // what is wrong with what was asked for; empty with a badge
	Asked                     bool     // something was asked for
	Badge                     *Badge   // nil without one
	Brand                     *FoundBrand
	Owned                     bool      // the owner of Brand proved control of its site
	Gallery                   []Picture // every style, of Brand or of an example
	States                    []Picture // every state, of an example
}

// FoundBrand is a brand that a search found.
type FoundBrand struct {
	Slug fieldmark.Slug
	Name string
	Host string // of its site; empty: not known
}

// Picture is a badge in the gallery.
type Picture struct {
	Name, Text    string       // what is shown, and a note about it
	Image         template.URL // an address of this site, or the picture itself
	Link          string       // chooses it; empty without a brand
	Width, Height int          // CSS pixels
	Here          bool         // it is the chosen one
}

// Badge is a badge to be shown and copied.
type Badge struct {
	Image, Alt    string
	Lang          string // of Alt, as a BCP 47 tag
	Width, Height int    // CSS pixels
	Snippets      []Snippet
}

// Snippet is a text to copy.
type Snippet struct{ Name, Text string }

// badgesView is what templates/badges.html shows.
type badgesView struct {
	Head head
	Page *BadgesPage
}

func newBadgesView(c chrome, p *BadgesPage) *badgesView {
	v := &badgesView{Page: p, Head: fixedHead(c, p.BaseURL, PathBadges, "Badges for GEO readiness",
		"Find your brand, choose a badge that shows its readiness for generative engine optimisation (GEO), and copy "+
			"the markup for your site.")}
	v.Head.Index = !p.Asked
	return v
}

package site

import (
	"fmt"
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
	Problem                   string   // what is wrong with the request; empty with a badge
	Asked                     bool     // a badge was requested
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
	Image         template.URL // in the light theme: an address of this site, or the picture itself
	Dark          template.URL // in the dark theme; empty if it has only one
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

// PathVerify is where badges on other sites lead; the slug of the brand follows.
const PathVerify = "/verify/"

// VerifyPage is the data of the page that shows whether a badge is genuine.
type VerifyPage struct {
	BaseURL string // scheme and host of the site, without a slash at the end
	Score   fieldmark.Score
	Claim   *fieldmark.BrandClaim // verified; nil: none, or it is not known
	Host    string                // that showed the badge, in its ASCII form; empty: unknown
	Own     bool                  // Host is a site of the brand
}

// verifyView is what templates/verify.html shows.
type verifyView struct {
	Head   head
	Page   *VerifyPage
	Score  *fieldmark.Score
	Value  fieldmark.Milli // of the score; 0 without one
	Status verdict
}

func newVerifyView(c chrome, p *VerifyPage) *verifyView {
	s := &p.Score
	name := plain(s.Name)
	v := &verifyView{Page: p, Score: s, Status: verdictOf(s)}
	if s.Score != nil {
		v.Value = *s.Score
	}
	v.Head = head{
		chrome: c, Base: p.BaseURL, Title: "Badge of " + name, Kind: "website",
		Description: fmt.Sprintf("Is the badge of %s genuine? Its score now, and whether the page that shows it is "+
			"its own.", name),
	}
	v.Head.setCard(s)
	return v
}

// setCard sets the picture for previews of links to a brand.
func (h *head) setCard(s *fieldmark.Score) {
	h.Image = h.Base + PathCard + string(s.Slug) + ".png"
	h.ImageAlt = ShareText(s)
}

// PathCard is where the share cards of brands are; slug and .png follow. PathOEmbed is where
// other sites request how to show a brand's page (oembed.com).
const (
	PathCard   = "/api/card/"
	PathOEmbed = "/oembed"
)

// ShareText returns what the share card of a brand shows, in words.
func ShareText(s *fieldmark.Score) string {
	status := verdictOf(s).Tag
	if s.Score == nil || s.Status != fieldmark.StatusScored {
		return fmt.Sprintf("%s: %s (generative engine optimisation, GEO)", plain(s.Name), status)
	}
	return fmt.Sprintf("%s: GEO score %s of 100, grade %s. %s.", plain(s.Name), decimal(*s.Score), s.Grade, status)
}

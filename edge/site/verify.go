package site

import (
	"fmt"

	"github.com/fieldmark/fieldmark"
)

// PathVerify is where badges on other sites lead; the slug of the brand follows.
const PathVerify = "/verify/"

// VerifyPage is the data of the page that tells whether a badge is genuine.
type VerifyPage struct {
	BaseURL string // scheme and host of the site, without a slash at the end
	Score   fieldmark.Score
	Claim   *fieldmark.BrandClaim // verified; nil: none, or it is not known
	Host    string                // that showed the badge, in its ASCII form; empty: not told
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
// other sites ask how to show a brand's page (oembed.com).
const (
	PathCard   = "/api/card/"
	PathOEmbed = "/oembed"
)

// ShareText says what the share card of a brand shows.
func ShareText(s *fieldmark.Score) string {
	status := verdictOf(s).Tag
	if s.Score == nil || s.Status != fieldmark.StatusScored {
		return fmt.Sprintf("%s: %s (generative engine optimisation, GEO)", plain(s.Name), status)
	}
	return fmt.Sprintf("%s: GEO score %s of 100, grade %s. %s.", plain(s.Name), decimal(*s.Score), s.Grade, status)
}

package site

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
)

// CheckPage is the data of the page that requests a check of a site, and of the page of one.
type CheckPage struct {
	BaseURL string               // scheme and host of the site, without a slash at the end
	URL     string               // as it was entered
	Problem string               // what is wrong with it, or why no check was accepted; empty: nothing
	Check   *fieldmark.SiteCheck // nil: the form
}

// checkRefresh is the interval in seconds at which the page of a check loads itself again.
const checkRefresh = 3

// sitecheckView is what templates/check.html shows.
type sitecheckView struct {
	*brandView // of the report; without one its Score is nil

	Head   head
	Page   *CheckPage
	Check  *fieldmark.SiteCheck // nil: the form
	Ended  bool
	Claim  string // path of the page on which the brand is claimed
	Allow  string // lines of robots.txt that let the auditor in; empty unless robots.txt refused it
	Behind int    // checks before this one in the queue
}

func newSitecheckView(c chrome, p *CheckPage) *sitecheckView {
	v := &sitecheckView{Page: p, Check: p.Check, brandView: &brandView{}}
	if p.Check == nil {
		v.Head = fixedHead(c, p.BaseURL, fieldmark.PathCheckPage, "Check your site",
			"How ready is a website for AI answer engines? Generative engine optimisation (GEO) in half a minute: "+
				"every "+
				"signal, its evidence, and what to fix first.")
		v.Head.Index = p.Problem == "" && p.URL == ""
		return v
	}
	host := plain(p.Check.Host)
	v.Ended, v.Behind = p.Check.State.Ended(), max(p.Check.Position-1, 0)
	v.Claim = "/claim?url=" + url.QueryEscape(p.Check.URL)
	if r := p.Check.Report; r != nil {
		brand := fieldmark.Brand{Name: host, URL: p.Check.URL}
		v.brandView = newBrandView(c, &BrandPage{BaseURL: p.BaseURL, Score: fieldmark.NewScore(brand, r.Assessment),
			Facts: &r.Facts})
		if v.Sample != nil && v.Sample.Command != "" {
			v.Sample.Command += " --requests 10"
		}
	}
	if p.Check.By == fieldmark.RefusedByRobots {
		v.Allow = "User-agent: FieldmarkBot\nAllow: /\n"
	}
	v.Head = head{chrome: c, Base: p.BaseURL, Kind: "website", Title: "Check of " + host,
		Description: fmt.Sprintf("A check of %s for generative engine optimisation (GEO).", host)}
	if !v.Ended {
		v.Head.Refresh = checkRefresh
	}
	return v
}

// Address is what the field for the address contains.
func (v *sitecheckView) Address() string {
	if v.Check != nil {
		return v.Check.URL
	}
	return v.Page.URL
}

// Gone is when the check is deleted.
func (v *sitecheckView) Gone() string {
	return v.Check.ExpiresAt.Std().UTC().Format("2 January 2006, 15:04 UTC")
}

// RetryText says in words how long to wait, rounded up: a person who comes back a minute
// early is refused again.
func RetryText(wait time.Duration) string {
	minutes := int((wait + time.Minute - 1) / time.Minute)
	switch {
	case minutes <= 1:
		return "Try again in a minute."
	case minutes < 120:
		return fmt.Sprintf("Try again in %d minutes.", minutes)
	}
	return fmt.Sprintf("Try again in %d hours.", (minutes+59)/60)
}

// SiteAddress completes an address that a person typed without a scheme.
func SiteAddress(typed string) string {
	typed = strings.TrimSpace(typed)
	if typed == "" || strings.Contains(typed, "://") {
		return typed
	}
	return "https://" + typed
}

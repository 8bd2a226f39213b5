package site

import "github.com/fieldmark/fieldmark"

// head is what every page begins and ends with.
type head struct {
	chrome

	Title       string
	Description string
	Canonical   string // absolute; empty for a page that is not to be found again
	Kind        string // the Open Graph type
	Index       bool   // search engines may keep the page
	Data        any    // JSON-LD; nil for none
	Board       bool   // the page is the leaderboard, which the navigation shows
}

// publisher is how JSON-LD names this site.
func publisher(baseURL string) map[string]any {
	return map[string]any{"@type": "Organization", "name": "Fieldmark", "url": baseURL + "/"}
}

// brandAddress returns the absolute address of a brand's page.
func brandAddress(baseURL string, slug fieldmark.Slug) string {
	return baseURL + fieldmark.PathBrandPage + string(slug)
}

// badgeAddress returns the absolute address of a brand's badge.
func badgeAddress(baseURL string, slug fieldmark.Slug) string {
	return baseURL + fieldmark.PathBadge + string(slug)
}

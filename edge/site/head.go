package site

import (
	"github.com/fieldmark/fieldmark"
)

// head is what every page begins and ends with.
type head struct {
	chrome

	Title       string
	Description string
	Canonical   string // absolute; empty for a page that is not to be found again
	Kind        string // the Open Graph type
	Index       bool   // search engines may keep the page
	Data        any    // JSON-LD; nil for none
	Here        string // path of the page in the navigation; empty for none
	Image       string // absolute, for previews of links, 1200 by 630; empty: the site's own
	ImageAlt    string // what Image shows
	Feed        string // absolute address of the page's Atom feed; empty: none
	OEmbed      string // absolute address of the page's oEmbed response; empty: none
	Base        string // scheme and host of the site
	Refresh     int    // seconds after which a page without scripts loads itself again; 0: never
	Reference   bool   // the styles of the pages for developers are loaded
	Try         bool   // the script that sends requests is loaded
	Runs        bool   // the page runs modules: their script and styles are loaded
	Play        bool   // the script of the playground is loaded, which loads that of Runs when it is needed
	Text        bool   // text alone: no brands, forms or charts, so that their styles are not loaded
}

// Nav is the navigation of every page.
func (h *head) Nav() []navLine {
	nav := []navLine{
		{"/", "Leaderboard", false}, {PathBadges, "Badges", false}, {PathLLMs, "llms.txt", false},
		{PathMethodology, "Method", false}, {PathDevelopers, "Developers", false},
	}
	for i := range nav {
		nav[i].Here = nav[i].Path == h.Here
	}
	return nav
}

type navLine struct {
	Path, Text string
	Here       bool
}

// fixedHead is the head of a page that is always there under one address.
func fixedHead(c chrome, base, path, title, description string) head {
	return head{
		chrome: c, Base: base, Title: title, Description: description, Kind: "website", Index: true, Here: path,
		Canonical: base + path,
		Data:      webPage(base, path, title, description),
	}
}

// webPage returns the schema.org description of a page.
func webPage(base, path, title, description string) map[string]any {
	return map[string]any{
		"@context": "https://schema.org", "@type": "WebPage", "url": base + path, "name": title,
		"description": description,
		"inLanguage":  "en", "publisher": publisher(base),
	}
}

// publisher is how JSON-LD names this site.
func publisher(baseURL string) map[string]any {
	return map[string]any{
		"@type": "Organization", "name": "Fieldmark", "url": baseURL + "/", "logo": baseURL + "/favicon.svg",
		"description": "Measures generative engine optimisation (GEO): how ready a website is for answer engines.",
		"sameAs":      []string{"https://github.com/fieldmark/fieldmark"},
		"contactPoint": map[string]any{"@type": "ContactPoint", "contactType": "technical support",
			"url": baseURL + PathAbout + "#contact"},
	}
}

// publisherAlone returns the publisher as a separate document.
func publisherAlone(baseURL string) map[string]any {
	o := publisher(baseURL)
	o["@context"] = "https://schema.org"
	return o
}

// brandAddress returns the absolute address of a brand's page.
func brandAddress(baseURL string, slug fieldmark.Slug) string {
	return baseURL + fieldmark.PathBrandPage + string(slug)
}

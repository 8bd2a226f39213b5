package site

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
)

// MaxSitemapURLs is how many addresses one sitemap may hold
// (sitemaps.org/protocol.html); more make an index of several.
const MaxSitemapURLs = 50_000

// The addresses of the pages beside the leaderboard and the brands.
const (
	PathNiches      = "/niches"
	PathCompare     = "/compare"
	PathBadges      = "/badges"
	PathLLMs        = "/llms-txt"
	PathMethodology = "/methodology"
	PathDevelopers  = "/developers"
	PathAbout       = "/about"
	PathStatus      = "/status"

	PathReference     = PathDevelopers + "/reference"
	PathGuides        = PathDevelopers + "/guides/" // the name of a guide follows
	PathLimits        = PathDevelopers + "/limits"
	PathPlayground    = PathDevelopers + "/playground"
	PathChangelog     = PathDevelopers + "/changelog"
	PathSDK           = PathDevelopers + "/sdk/" // the name of a file follows
	PathChangelogFeed = PathDevelopers + "/changelog.atom"
	PathProblems      = "/problems"
)

// FixedPages lists the pages that are there without any brand, in the order of
// the navigation.
func FixedPages() []string {
	pages := []string{"/", PathNiches, PathCompare, PathBadges, PathLLMs, PathMethodology, PathAbout}
	for _, p := range developerPages {
		pages = append(pages, p.Path)
	}
	return pages
}

// Robots is the robots.txt (RFC 9309): everything public is for everyone.
// Searches, forms with values, administration and large files are no pages.
func Robots(baseURL string) string {
	return "User-agent: *\nAllow: /\nDisallow: /admin\nDisallow: /api/admin/\nDisallow: /api/public/\n" +
		"Disallow: /api/v1/dumps/\nDisallow: /*?q=\n\nSitemap: " + baseURL + "/sitemap.xml\n"
}

// LLMsTxt returns the llms.txt file of this site.
func LLMsTxt(baseURL string, ranked int) string {
	return fmt.Sprintf(`# Fieldmark

> Fieldmark measures generative engine optimisation (GEO), how ready a website is for answer engines: whether they `+
		`can reach it, read it, identify who runs it and cite it. Every point has its evidence, and anyone can `+
		`compute the same score again.

- Brands ranked now: %d
- Scale: 0 to 100, grades A (85), B (70), C (55), D (40) and E by the lower end of the range
- GEO-ready: engines can fetch, index and read the site; it does not depend on the score

## Pages

- [Leaderboard](%[2]s/): every ranked brand, by score
- [Niches](%[2]s%[10]s): each with its ranked brands and their median
- [Compare](%[2]s%[11]s): up to four brands side by side
- [Method](%[2]s%[3]s): each signal, its weight, and the studies behind it
- [Badges](%[2]s%[4]s): choose a badge and copy the markup
- [llms.txt](%[2]s%[5]s): write a file like this one, or check one
- [Developers](%[2]s%[6]s): quick starts, errors, webhooks and the API
- [API reference](%[2]s%[12]s): every operation and every webhook event
- [Problems](%[2]s%[13]s): every error code and what to do
- [Limits](%[2]s%[14]s): rates, sizes, counts and times
- [Changelog](%[2]s%[15]s): what changed, and the policy for versions
- [About](%[2]s%[7]s): what Fieldmark is, and what it is not

## Data

- [Leaderboard as JSON](%[2]s%[8]s): filters niche, language and minConfidence
- [Method as JSON](%[2]s%[9]s): the manifest of the scoring module
- [OpenAPI](%[2]s/api/openapi.json): the API in full

## Optional

- [Sitemap](%[2]s/sitemap.xml): every page there is
`, ranked, baseURL, PathMethodology, PathBadges, PathLLMs, PathDevelopers, PathAbout,
		fieldmark.PathLeaderboard, fieldmark.PathMethodology, PathNiches, PathCompare,
		PathReference, PathProblems, PathLimits, PathChangelog)
}

// SitemapEntry is one page in a sitemap.
type SitemapEntry struct {
	Path    string
	Changed time.Time // zero: unknown
}

// Sitemap is one sitemap of at most MaxSitemapURLs pages.
func Sitemap(baseURL string, entries []SitemapEntry) []byte {
	return sitemap("urlset", "url", baseURL, entries)
}

// SitemapIndex is an index of so many sitemaps, numbered from 1.
func SitemapIndex(baseURL string, n int) []byte {
	parts := make([]SitemapEntry, n)
	for i := range parts {
		parts[i].Path = "/sitemap-" + strconv.Itoa(i+1) + ".xml"
	}
	return sitemap("sitemapindex", "sitemap", baseURL, parts)
}

func sitemap(root, item, baseURL string, entries []SitemapEntry) []byte {
	var b strings.Builder
	b.WriteString(xml.Header + "<" + root + ` xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` + "\n")
	for _, e := range entries {
		b.WriteString("<" + item + "><loc>")
		_ = xml.EscapeText(&b, []byte(baseURL+e.Path)) // a Builder takes everything
		b.WriteString("</loc>")
		if !e.Changed.IsZero() {
			b.WriteString("<lastmod>" + e.Changed.UTC().Format(time.RFC3339) + "</lastmod>")
		}
		b.WriteString("</" + item + ">\n")
	}
	b.WriteString("</" + root + ">\n")
	return []byte(b.String())
}

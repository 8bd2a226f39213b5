package site

import (
	"cmp"
	"html/template"
	"slices"
	"strings"

	"github.com/fieldmark/fieldmark"
)

// DevelopersPage is the data of the page for developers.
type DevelopersPage struct {
	BaseURL string // scheme and host of the site, without a slash at the end
}

// Call is one operation of the API.
type Call struct{ Method, Path, Text string }

// developersView is what templates/developers.html shows.
type developersView struct {
	Head head
	Page struct {
		DevelopersPage
		Reads  []Call
		Errors []errorLine
		Nav    []ArticleLink
	}
}

type errorLine struct {
	Status int
	Code   fieldmark.Code
	Title  string
}

func newDevelopersView(c chrome, p *DevelopersPage) *developersView {
	v := &developersView{}
	v.Page.DevelopersPage = *p
	v.Page.Reads, v.Page.Nav = reads, developerNav(PathDevelopers)
	for _, code := range fieldmark.Codes() {
		v.Page.Errors = append(v.Page.Errors, errorLine{code.Status(), code,
			fieldmark.Errorf(code, "").Problem("", "").Title})
	}
	slices.SortFunc(v.Page.Errors, func(a, b errorLine) int {
		return cmp.Or(cmp.Compare(a.Status, b.Status), strings.Compare(string(a.Code), string(b.Code)))
	})
	v.Head = fixedHead(c, p.BaseURL, PathDevelopers, "Fieldmark for developers",
		"Quick starts for scores, badges, llms.txt, missions and webhooks, how to verify a signature, every error, "+
			"and the API reference.")
	v.Head.Text, v.Head.Reference = true, true
	return v
}

// playgroundView is what templates/playground.html shows.
type playgroundView struct {
	Head     head
	Nav      []ArticleLink
	Commands string // what to run without a browser
}

func newPlaygroundView(c chrome, p *DevelopersPage) *playgroundView {
	v := &playgroundView{Nav: developerNav(PathPlayground), Commands: "fieldmark module build card.json -o my.wasm\n" +
		"fieldmark module check my.wasm\nfieldmark module run my.wasm --facts facts.json"}
	v.Head = fixedHead(c, p.BaseURL, PathPlayground, "Module playground",
		"Compile a scorecard or check a scoring module, and run it in your browser: its marks, score and fuel on the "+
			"facts of a brand or your own.")
	v.Head.Here, v.Head.Reference, v.Head.Runs, v.Head.Play = PathDevelopers, true, true, true
	return v
}

// reads are what an edge answers itself, also where the reference cannot be had.
var reads = []Call{
	{"GET", "/api/v1/score/{slug}",
		"A score with components, evidence and digests. ?advice=1 adds what would raise it, ?owner=1 the verified " +
			"claim, ?disputes=1 the disputes of findings, ?proof=1 the proof that the public log has it. ?asOf= " +
			"returns the score at a time in the past"},
	{"GET", "/api/v1/score/{slug}/history", "The score over time, by day or week"},
	{"GET", "/api/v1/leaderboard", "Ranked brands; niche, language, basis, minConfidence, limit, cursor"},
	{"POST", "/api/v1/scores/batch", "The scores of up to 100 brands, or of up to 1,000 with a key"},
	{"GET", "/api/v1/scores", "All scores, and those that changed since a place; since, limit, wait"},
	{"GET", "/api/v1/dumps", "Daily files with the scores of all brands, as lines of JSON and CSV"},
	{"GET", "/api/v1/methodology", "Every weight, input and limit of the active module"},
	{"GET", "/api/v1/modules/{digest}", "The module itself, as WebAssembly"},
	{"GET", "/api/badge/{slug}", "The badge; also .svg, .png and .json (for shields.io)"},
	{"GET", "/api/badge/{slug}/embed", "Markup that shows the badge, as JSON or by format="},
	{"POST", "/api/v1/checks", "Check any site: the response has the address of the report"},
	{"POST", "/api/v1/claims", "Claim a brand: the response has three proofs, of which one is enough"},
}

// developerPages are the pages for developers in the order of their navigation.
var developerPages = []ArticleLink{
	{Path: PathDevelopers, Text: "Overview"}, {Path: PathGuides + "quick-start", Text: "Quick start"},
	{Path: fieldmark.PathAccessPage, Text: "Request a key"},
	{Path: PathReference, Text: "API reference"},
	{Path: PathGuides + "agents", Text: "Connect an agent"},
	{Path: PathGuides + "bulk-reads", Text: "Bulk reads"},
	{Path: PathGuides + "follow-changes", Text: "Follow changes"},
	{Path: PathGuides + "measure-visibility", Text: "Measure visibility"},
	{Path: PathGuides + "portal-links", Text: "Portal links"},
	{Path: PathGuides + "receive-webhooks", Text: "Receive webhooks"},
	{Path: PathGuides + "retry-safely", Text: "Retry safely"},
	{Path: PathGuides + "test-mode", Text: "Test mode"},
	{Path: PathPlayground, Text: "Module playground"},
	{Path: PathProblems, Text: "Problems"}, {Path: PathLimits, Text: "Limits"},
	{Path: PathChangelog, Text: "Changelog"},
}

// Guide names a page of instructions.
type Guide struct{ Name, Title string }

// Guides are the guides in the order of the navigation.
func Guides() (all []Guide) {
	for _, p := range developerPages {
		if name, ok := strings.CutPrefix(p.Path, PathGuides); ok {
			all = append(all, Guide{name, p.Text})
		}
	}
	return all
}

// Article is a page for developers that package developer writes.
type Article struct {
	BaseURL     string // scheme and host of the site, without a slash at the end
	Path        string
	Title       string
	Description string
	Feed        string        // path of its Atom feed; empty: none
	NoIndex     bool          // search engines do not keep the page
	Try         bool          // the page has a form that sends requests
	Forms       bool          // the page has a form for people, whose styles are loaded
	Section     string        // what Links are; empty without any
	Links       []ArticleLink // to the neighbours of the page
	Body        template.HTML // within the article
}

// ArticleLink is a line of the navigation for developers.
type ArticleLink struct {
	Path, Text string
	Here       bool
}

// articleView is what templates/article.html shows.
type articleView struct {
	Head head
	Page struct {
		Article
		Nav []ArticleLink
	}
}

// AppendArticle appends a page for developers.
func (s *Site) AppendArticle(dst []byte, p Article) ([]byte, error) {
	v := &articleView{Head: fixedHead(s.chrome, p.BaseURL, p.Path, p.Title, p.Description)}
	v.Head.Text, v.Head.Reference, v.Head.Try = !p.Forms, true, p.Try
	v.Head.Here, v.Head.Index = PathDevelopers, !p.NoIndex
	if p.Feed != "" {
		v.Head.Feed = p.BaseURL + p.Feed
	}
	data := webPage(p.BaseURL, p.Path, p.Title, p.Description)
	data["@type"], data["headline"] = "TechArticle", p.Title
	v.Head.Data = data
	v.Page.Article, v.Page.Nav = p, developerNav(p.Path)
	return s.appendPage(dst, "article.html", v)
}

// developerNav marks the page of the navigation that a path is, or is below.
func developerNav(path string) []ArticleLink {
	nav := slices.Clone(developerPages)
	for i := range nav {
		nav[i].Here = path == nav[i].Path || nav[i].Path != PathDevelopers && strings.HasPrefix(path, nav[i].Path+"/")
	}
	return nav
}

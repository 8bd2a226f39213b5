package site

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/ui"
)

// BoardPage is the data of one page of the leaderboard.
type BoardPage struct {
	BaseURL     string // scheme and host of the site, without a slash at the end
	Board       fieldmark.Board
	Cursor      string                // the one of this request; empty on the first page
	Search      string                // what was looked for; any text, empty for nothing
	Niche       *NicheLine            // the niche whose own page this is; nil: the page lists all
	Unranked    []UnrankedBrand       // brands without a rank that were found, the first of
	UnrankedAll int                   // so many
	Past        [][3]*fieldmark.Milli // of each item: the score 90, 30 and 7 days ago; nil where it had none
	Niches      []Choice
	Languages   []Choice
	HasFull     bool // there is a list of full scores
	Ranked      int  // brands in the whole list, whatever this page leaves out
	Pending     int  // public brands not audited yet
	Unreachable int  // public brands whose site did not respond

	Study *fieldmark.VisibilityBoard // the first brands of the niche's newest study; nil without one
}

// UnrankedBrand is a public brand without a rank.
type UnrankedBrand struct {
	Slug   fieldmark.Slug
	Name   string // empty if it is not known
	Status fieldmark.ScoreStatus
}

// Choice is a value to filter by.
type Choice struct {
	Value string
	Count int // brands that have it
}

// boardView is what templates/board.html shows.
type boardView struct {
	Head     head
	Page     *BoardPage
	Next     string // address of the next page; empty on the last
	First    bool
	Overlaps []bool // whether a line's range overlaps that of the line above it
	Sparks   []*spark
	Trends   bool   // some brand has a past
	Narrowed bool   // the list leaves brands out
	Heading  string // what the list is of
	Study    []visibilityGroup
}

func newBoardView(c chrome, p *BoardPage) *boardView {
	f := &p.Board.Filters
	v := &boardView{Page: p, First: p.Cursor == ""}
	v.Narrowed = p.Search != "" || f.Niche != "" || f.Language != "" || f.MinConfidence > 0 ||
		f.Basis == fieldmark.BasisFull
	v.Heading = listHeading(p)
	v.Head = head{
		chrome: c, Title: "GEO readiness leaderboard", Kind: "website", Index: v.First, Here: "/", Base: p.BaseURL,
		Description: fmt.Sprintf(
			"%s ranked by generative engine optimisation (GEO): how well answer engines can reach, read and cite "+
				"their websites, with the evidence behind every point.", ui.Count(p.Board.Total, "brand", "brands")),
	}
	path := "/"
	if p.Niche != nil {
		path = NichePath(p.Niche.Name)
		v.Narrowed = false // by the page itself
	}
	switch niche := (fieldmark.BoardFilter{Basis: f.Basis, Niche: f.Niche}); {
	case p.Niche != nil:
		v.Head.Title, v.Head.Description = "GEO readiness in "+nicheName(f.Niche), aboutNiche(p.Niche)
		v.Head.Here, v.Head.Canonical = PathNiches, p.BaseURL+path
	case !v.Narrowed && v.First:
		v.Head.Canonical = p.BaseURL + "/"
		v.Head.Data = boardData(p)
	case v.First && p.Search == "" && *f == niche && f.Niche != "" && f.Basis != fieldmark.BasisFull &&
		p.Board.Total > 0:
		// A list of one niche has its own page; other filters are views of the same page.
		v.Head.Title = "GEO readiness in " + nicheName(f.Niche)
		v.Head.Canonical = p.BaseURL + NichePath(f.Niche)
	default:
		v.Head.Index = false
	}
	if p.Board.NextCursor != "" {
		next := url.Values{"cursor": {p.Board.NextCursor}}
		if n := len(p.Board.Items); n != fieldmark.DefaultBoardLimit {
			next.Set("limit", strconv.Itoa(n)) // a page that has a next one is full
		}
		for name, value := range map[string]string{"niche": f.Niche, "language": p.Board.Filters.Language,
			"basis": p.Board.Filters.Basis} {
			if value != "" && value != fieldmark.BasisReadiness && (name != "niche" || p.Niche == nil) {
				next.Set(name, value)
			}
		}
		if c := p.Board.Filters.MinConfidence; c > 0 {
			next.Set("minConfidence", c.String())
		}
		v.Next = path + "?" + next.Encode()
	}
	if p.Study != nil {
		v.Study = groupsOf(p.Study)
	}
	for i, past := range p.Past {
		s := newSpark(past, p.Board.Items[i].Score)
		v.Sparks, v.Trends = append(v.Sparks, s), v.Trends || s != nil
	}
	for i, e := range p.Board.Items {
		v.Overlaps = append(v.Overlaps, i > 0 && e.Range.High >= p.Board.Items[i-1].Range.Low)
	}
	return v
}

// Spark returns the sparkline of a line, or nil.
func (v *boardView) Spark(i int) *spark {
	if i < len(v.Sparks) {
		return v.Sparks[i]
	}
	return nil
}

// Top is the address of the first page of the list.
func (v *boardView) Top() string {
	if v.Page.Niche != nil {
		return NichePath(v.Page.Niche.Name)
	}
	return "/"
}

// CompareTop is the address that compares the first brands of a niche; empty for fewer than two.
func (v *boardView) CompareTop() string {
	items := v.Page.Board.Items
	if len(items) < 2 {
		return ""
	}
	var slugs []string
	for _, e := range items[:min(len(items), MaxCompared)] {
		slugs = append(slugs, string(e.Slug))
	}
	return PathCompare + "?brands=" + strings.Join(slugs, ",")
}

// withoutRank returns why a brand has no rank.
func withoutRank(s fieldmark.ScoreStatus) string {
	switch s {
	case fieldmark.StatusPending:
		return "waiting for its first audit"
	case fieldmark.StatusUnreachable:
		return "website unreachable"
	case fieldmark.StatusRefused:
		return "the site refused our audit"
	case fieldmark.StatusInsufficientData:
		return "not enough could be measured"
	case fieldmark.StatusUnlisted:
		return "unlisted by its owner"
	case fieldmark.StatusStale:
		return "last audit too old"
	}
	return "confidence too low"
}

// listHeading returns the heading of a filtered list.
func listHeading(p *BoardPage) string {
	f := &p.Board.Filters
	text := ui.Count(p.Board.Total, "brand", "brands")
	if len(p.Unranked) > 0 {
		text = fmt.Sprintf("%s and %s without a rank", ui.Count(p.Board.Total, "ranked brand", "ranked brands"),
			ui.Number(p.UnrankedAll))
	}
	if p.Search != "" {
		text += " matching “" + plain(p.Search) + "”"
	}
	if f.Niche != "" {
		text += " in " + nicheName(f.Niche)
	}
	if f.Language != "" {
		text += ", in " + languageName(f.Language)
	}
	if f.MinConfidence > 0 {
		text += ", confidence " + f.MinConfidence.String() + " or more"
	}
	if f.Basis == fieldmark.BasisFull {
		text += ", by readiness and visibility"
	}
	return text
}

// Indistinct counts the rows whose score is statistically indistinguishable from that of
// the row above.
func (v *boardView) Indistinct() int {
	n := 0
	for _, o := range v.Overlaps {
		if o {
			n++
		}
	}
	return n
}

// boardData returns the schema.org description of the list.
func boardData(p *BoardPage) any {
	items := make([]any, len(p.Board.Items))
	for i, e := range p.Board.Items {
		items[i] = map[string]any{
			"@type": "ListItem", "position": i + 1, "name": plain(e.Name), "url": brandAddress(p.BaseURL, e.Slug),
		}
	}
	return []any{map[string]any{
		"@context": "https://schema.org", "@type": "WebSite", "name": "Fieldmark", "url": p.BaseURL + "/",
		"publisher": publisher(p.BaseURL),
		"potentialAction": map[string]any{"@type": "SearchAction", "target": p.BaseURL + "/?q={q}",
			"query-input": "required name=q"},
	}, publisherAlone(p.BaseURL), map[string]any{
		"@context": "https://schema.org", "@type": "Dataset", "name": "GEO readiness leaderboard",
		"url": p.BaseURL + "/",
		"description": "Brands ranked by how well answer engines can reach, read and cite their websites, " +
			"with the range of every score.",
		"creator":             publisher(p.BaseURL),
		"isAccessibleForFree": true,
		"distribution": map[string]any{"@type": "DataDownload", "encodingFormat": "application/json",
			"contentUrl": p.BaseURL + fieldmark.PathLeaderboard},
	}, map[string]any{
		"@context": "https://schema.org", "@type": "ItemList", "name": "GEO readiness leaderboard",
		"url": p.BaseURL + "/", "numberOfItems": p.Board.Total,
		"itemListOrder": "https://schema.org/ItemListOrderDescending", "itemListElement": items,
	}}
}

// plain removes what would reorder or break the text around a name: controls
// and bidirectional embeddings, overrides and isolates.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 0x202a <= r && r <= 0x202e, 0x2066 <= r && r <= 0x2069:
			return -1
		case r < ' ', 0x7f <= r && r < 0xa0:
			return ' '
		}
		return r
	}, s)
}

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

// NichePath is the path of the page of a niche.
func NichePath(niche string) string { return PathNiches + "/" + niche }

// nicheName writes a niche, which has the form of a slug, as words.
func nicheName(niche string) string { return strings.ReplaceAll(plain(niche), "-", " ") }

// aboutNiche describes a niche in a sentence.
func aboutNiche(n *NicheLine) string {
	return fmt.Sprintf("%s in %s, ranked by generative engine optimisation (GEO): how well answer engines can reach, "+
		"read and cite their websites.", ui.Count(n.Brands, "brand", "brands"), nicheName(n.Name))
}

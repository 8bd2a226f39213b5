package developer

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/site"
)

// documented is the address of the service in the guides. Tests run their commands at the address of a
// demo, and the pages show that of the site.
// One text serves both: what the tests run is what a reader copies.
const documented = "http://127.0.0.1:8080"

// guide is one page of instructions.
type guide struct {
	Name, Title, Intro string
	Body               template.HTML
}

// readGuides renders the guides in the order of the navigation. The first paragraph of a guide is its
// introduction.
// Their order is that of site.Guides, which the navigation has too.
func readGuides(cfg Config) ([]guide, error) {
	var all []guide
	for _, g := range site.Guides() {
		source, err := files.ReadFile("guides/" + g.Name + ".md")
		if err != nil {
			return nil, fmt.Errorf("read a guide: %w", err)
		}
		// The addresses are replaced before the Markdown is rendered, so also those in code.
		title, rest := cutTitle(strings.NewReplacer(documented, cfg.BaseURL, toolsMark, toolTable(cfg.Tools)).
			Replace(string(source)))
		intro, rest, _ := strings.Cut(strings.TrimSpace(rest), "\n\n")
		body, err := render(rest)
		if err != nil {
			return nil, err
		}
		all = append(all, guide{g.Name, title, strings.ReplaceAll(intro, "\n", " "), body})
	}
	return all, nil
}

// toolsMark is where a guide has the table of tools.
const toolsMark = "<!-- tools -->"

// toolTable returns a Markdown table of tools.
// A vertical line would end the cell.
func toolTable(tools []Tool) string {
	var b strings.Builder
	b.WriteString("| Tool | Description |\n| --- | --- |\n")
	for _, t := range tools {
		fmt.Fprintf(&b, "| `%s` | %s |\n", t.Name, strings.ReplaceAll(t.Description, "|", `\|`))
	}
	return b.String()
}

// appendGuide appends the page of a guide; an unknown name is not_found.
func (p *Pages) appendGuide(dst []byte, name string) ([]byte, error) {
	i := slices.IndexFunc(p.guides, func(g guide) bool { return g.Name == name })
	if i < 0 {
		return dst, fieldmark.Errorf(fieldmark.CodeNotFound, "there is no such guide")
	}
	g := p.guides[i]
	return p.append(dst, "guide.html", g, site.Article{Path: site.PathGuides + name, Title: g.Title,
		Description: g.Intro})
}

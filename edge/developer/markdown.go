package developer

import (
	"bytes"
	"fmt"
	"html/template"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"
)

// markdown renders the texts of this program: CommonMark with tables, headings with ids, and code
// with a button that copies it. HTML within the text is left out.
// Its input is part of the program. HTML is left out all the same, so that a guide cannot break
// the page.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.Table),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(codeRenderer{}, 100))),
)

// render returns HTML that a template may include as it is.
func render(source string) (template.HTML, error) {
	var out bytes.Buffer
	if err := markdown.Convert([]byte(source), &out); err != nil {
		return "", fmt.Errorf("render Markdown: %w", err)
	}
	return template.HTML(out.String()), nil // goldmark has escaped it
}

// codeRenderer renders code as the pages of package site do.
type codeRenderer struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (codeRenderer) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindFencedCodeBlock, renderCode)
}

// languages are the captions of code by the language of the fence.
// A language without a caption shows none.
var languages = map[string]string{"sh": "Shell", "json": "JSON", "python": "Python", "http": "HTTP",
	"go": "Go", "ts": "TypeScript"}

// renderCode writes a figure with a caption and the text for the button. RawWrite escapes HTML,
// so code cannot become markup.
func renderCode(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	n, ok := node.(*ast.FencedCodeBlock)
	if !ok || !entering {
		return ast.WalkContinue, nil
	}
	name := languages[string(n.Language(source))]
	_, _ = w.WriteString(`<figure class="snippet"><figcaption>` + name + `</figcaption><pre tabindex="0" data-copy="` +
		// tabindex lets a keyboard scroll wide code.
		name + `"><code>`)
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		html.DefaultWriter.RawWrite(w, line.Value(source))
	}
	_, err := w.WriteString("</code></pre></figure>\n")
	return ast.WalkSkipChildren, err
}

// cutTitle splits a text into its first heading and the rest.
// The title is the heading of the page, which the frame of the site writes.
func cutTitle(text string) (title, rest string) {
	line, rest, _ := strings.Cut(strings.TrimLeft(text, "\n"), "\n")
	return strings.TrimSpace(strings.TrimLeft(line, "# ")), rest
}

package badge

import (
	"encoding/json"
	"fmt"
	"html"
	"strings"
	"unicode"
)

// Embed is what another page needs to show a badge. Snippets are ready to paste.
// The texts are escaped for their markup: anyone can choose a brand's name.
type Embed struct {
	Image  string `json:"image"` // address of the picture
	Page   string `json:"page"`  // address of the page that confirms the badge; the picture links to it
	Alt    string `json:"alt"`
	Width  int    `json:"width"`  // in CSS pixels
	Height int    `json:"height"` // in CSS pixels

	// Privacy states which data the badge collects, for the readers of the page.
	Privacy  string    `json:"privacy"`
	Snippets []Snippet `json:"snippets"`
}

// privacy is the text of Embed.Privacy; tests of the edge verify that it is true.
const privacy = "The badge is one image: no cookie, no script, no third party."

// Snippet is a badge in one markup.
type Snippet struct {
	Format string `json:"format"` // value of format=
	Type   string `json:"type"`   // media type
	Text   string `json:"text"`
}

// EmbedOf writes the snippets of a badge. image is the URL of the picture without a query;
// page is what it links to. Every snippet sets the size, so that the page does not shift
// when the picture loads, except Markdown, which has no syntax for it.
func EmbedOf(b Badge, opts Options, image, page string) Embed {
	e := Embed{Image: image + opts.Query(), Page: page, Privacy: privacy, Alt: altText(oneLine(b.Name), opts)}
	e.Width, e.Height = Size(b, opts)
	// A page that selects the theme itself needs both pictures.
	light, dark := opts, opts
	light.Theme, dark.Theme = Light, Dark
	e.Snippets = []Snippet{
		{"html", "text/html", e.html()},
		{"picture", "text/html", e.picture(image+light.Query(), image+dark.Query(), opts)},
		{"markdown", "text/markdown", fmt.Sprintf("[![%s](%s)](%s)", escapeMarkdown(e.Alt), e.Image, e.Page)},
		{"rst", "text/x-rst",
			fmt.Sprintf(".. image:: %s\n   :width: %dpx\n   :height: %dpx\n   :alt: %s\n   :target: %s", e.Image,
				e.Width, e.Height, escapeRST(e.Alt), e.Page)},
		{"asciidoc", "text/asciidoc", fmt.Sprintf(`image:%s["%s",%d,%d,link="%s"]`, e.Image, escapeAsciiDoc(e.Alt),
			e.Width, e.Height, e.Page)},
		{"bbcode", "text/x-bbcode", fmt.Sprintf(`[url=%s][img width=%d height=%d alt="%s"]%s[/img][/url]`, e.Page,
			e.Width, e.Height, escapeBBCode(e.Alt), e.Image)},
		{"react", "text/jsx", e.react()},
	}
	return e
}

// altText describes the picture in the language of the options. It contains no score,
// because the embedding page does not change with the badge. A name is not inflected:
// outside English it is followed by a colon.
func altText(name string, opts Options) string {
	l := langOf(opts)
	phrase := l.phrases[readinessPhrase]
	switch {
	case name == "":
		return phrase
	case l == &languages[0]:
		return phrase + " of " + name
	}
	return name + l.colon + phrase
}

// Snippet returns the snippet of a format, if there is one.
// Formats are those of the query parameter format.
func (e *Embed) Snippet(format string) (Snippet, bool) {
	for _, s := range e.Snippets {
		if s.Format == format {
			return s, true
		}
	}
	return Snippet{}, false
}

// html returns the snippet for any page. It is loaded lazily and decoded off the main thread,
// so the badge never delays the page.
func (e *Embed) html() string {
	return fmt.Sprintf(`<a href="%s"><img src="%s" width="%d" height="%d" alt="%s" loading="lazy" decoding="async">`+
		`</a>`,
		html.EscapeString(e.Page), html.EscapeString(e.Image), e.Width, e.Height, html.EscapeString(e.Alt))
}

// picture selects the theme in the page, because not every browser selects it inside a
// picture. Options with a fixed theme have one picture.
func (e *Embed) picture(light, dark string, opts Options) string {
	source := ""
	if opts.Theme == Auto && light != dark {
		source = fmt.Sprintf(`<source media="(prefers-color-scheme: dark)" srcset="%s">`, html.EscapeString(dark))
	} else {
		light = e.Image
	}
	return fmt.Sprintf(`<a href="%s"><picture>%s<img src="%s" width="%d" height="%d" alt="%s" loading="lazy" `+
		`decoding="async"></picture></a>`,
		html.EscapeString(e.Page), source, html.EscapeString(light), e.Width, e.Height, html.EscapeString(e.Alt))
}

// react returns JSX, whose strings are JavaScript.
func (e *Embed) react() string {
	return fmt.Sprintf(`<a href={%s}><img src={%s} width={%d} height={%d} alt={%s} loading="lazy" decoding="async" `+
		`/></a>`,
		literal(e.Page), literal(e.Image), e.Width, e.Height, literal(e.Alt))
}

// literal returns s as a JavaScript string that is valid in JSX and in HTML.
// encoding/json escapes <, > and &, so the result cannot end a script element or a tag.
func literal(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic("BUG: a string that is no JSON: " + err.Error())
	}
	return string(raw)
}

// oneLine returns a brand's name as one line of visible characters.
// Without this a name could reverse the text around it, or add lines to a snippet.
func oneLine(s string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), reorders(r):
			return -1
		}
		return r
	}, s)), " ")
}

// escapeMarkdown puts a backslash before everything CommonMark may read as
// markup in the text of a picture.
// Escaping too much does no harm: CommonMark reads a backslash before any ASCII punctuation as
// the character.
func escapeMarkdown(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune("\\`*_{}[]()<>#!|&~\"", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// escapeRST keeps an option's value from being read as markup.
// The value ends with its line, so only inline markup matters.
func escapeRST(s string) string {
	return strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "|", `\|`, "_", `\_`).Replace(s)
}

// escapeAsciiDoc escapes a text for a quoted attribute of a macro.
// AsciiDoc has no general escape, so HTML entities are used.
func escapeAsciiDoc(s string) string {
	return strings.NewReplacer(`&`, "&amp;", `"`, "&quot;", `]`, "&#93;", `[`, "&#91;", "{", "&#123;", "<", "&lt;", ">",
		"&gt;", "+", "&#43;", "`", "&#96;", "*", "&#42;", "_", "&#95;", "#", "&#35;").Replace(s)
}

// escapeBBCode drops what would end a tag or a value: BBCode has no escapes.
func escapeBBCode(s string) string {
	return strings.NewReplacer(`[`, "(", `]`, ")", `"`, "'").Replace(s)
}

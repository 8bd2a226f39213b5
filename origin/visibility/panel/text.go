package panel

import (
	"html"
	"regexp"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// addresses are URLs that appear as text: a brand in one is a citation, not a mention.
var addresses = regexp.MustCompile(`(?i)\b(?:https?://|www\.)[^\s<>"']+`)

// Plain returns the text of Markdown as a person reads it. Texts of links stay; addresses, images, code and
// HTML go. Blocks end with a line break.
func Plain(markdown string) string {
	source := []byte(markdown)
	root := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough)).Parser().
		Parse(text.NewReader(source))
	var b strings.Builder
	// The walk returns only errors of the function.
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Image, *ast.CodeSpan, *ast.CodeBlock, *ast.FencedCodeBlock, *ast.HTMLBlock, *ast.RawHTML,
			*ast.AutoLink:
			if entering {
				b.WriteByte(' ')
			}
			return ast.WalkSkipChildren, nil
		case *ast.Text:
			if entering {
				b.Write(n.Value(source))
				if n.SoftLineBreak() || n.HardLineBreak() {
					b.WriteByte(' ')
				}
			}
		case *ast.String:
			if entering {
				b.Write(n.Value)
			}
		default:
			if !entering && n.Type() == ast.TypeBlock {
				b.WriteByte('\n')
			}
		}
		return ast.WalkContinue, nil
	})
	return addresses.ReplaceAllString(unescape(b.String()), " ")
}

// backslash is an escaped character. goldmark leaves these and entities in text nodes.
var backslash = regexp.MustCompile("\\\\([!-/:-@\\[-`{-~])")

// unescape removes what Markdown and HTML escape, as a reader sees the text.
func unescape(s string) string { return backslash.ReplaceAllString(html.UnescapeString(s), "$1") }

// normalized is a text in the form that is compared, with where each of its bytes comes from.
type normalized struct {
	text   string
	source string
	// at has the offset in source of each byte of text, and the length of source at the end.
	at []int
}

var fold = cases.Fold()

// normalize returns a text in NFKC and folded case, without invisible characters, with one kind of apostrophe,
// dash and space. Dotted and dotless i become i, as Turkish capitals do not fold to their small letters.
func normalize(source string) normalized {
	n := normalized{source: source}
	var b strings.Builder
	var in norm.Iter
	in.InitString(norm.NFKC, source)
	space := true // leading spaces go
	for !in.Done() {
		from := in.Pos()
		for _, r := range norm.NFKC.String(fold.String(string(in.Next()))) {
			switch {
			case r == '\u00ad' || r == '\u0307' || unicode.Is(unicode.Cf, r) || isVariation(r):
				continue
			case strings.ContainsRune("’‘ʼ＇´`", r):
				r = '\''
			case unicode.Is(unicode.Pd, r) || r == '\u2212':
				r = '-'
			case r == 'ı':
				r = 'i'
			case unicode.IsSpace(r) && r != '\n':
				r = ' '
			}
			if r == ' ' && space {
				continue
			}
			space = r == ' ' || r == '\n'
			before := b.Len()
			b.WriteRune(r)
			for range b.Len() - before {
				n.at = append(n.at, from)
			}
		}
	}
	n.text = strings.TrimRight(b.String(), " ")
	n.at = append(n.at[:len(n.text)], len(source))
	return n
}

// original returns the part of the source that became text[from:to].
func (n *normalized) original(from, to int) string {
	end := n.at[to]
	return strings.TrimRight(n.source[n.at[from]:end], " ")
}

// isVariation reports a variation selector, which chooses how the character before it is drawn.
func isVariation(r rune) bool { return '\ufe00' <= r && r <= '\ufe0f' }

// isLetterOrDigit is what a name consists of in any script.
func isLetterOrDigit(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// isSpaceless reports whether words of the script of r are not separated by spaces.
func isSpaceless(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer,
		unicode.Myanmar)
}

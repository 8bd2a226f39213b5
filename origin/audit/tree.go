package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"golang.org/x/net/html"

	"github.com/fieldmark/fieldmark/internal/timeout"
	"github.com/fieldmark/fieldmark/origin/audit/style"
)

// The cost limits of parsing one document. The parser of x/net/html limits only the
// depth, so these limits apply to its input.
const (
	// maxTags limits the nodes of a tree: after inlineFormatting a tag makes two or
	// three. Real pages have fewer than a hundred thousand. At the limit, 100 MB of
	// memory were measured.
	maxTags = 400_000

	// maxMerged limits the html and body tags. The parser merges the attributes of
	// each into the first, in time quadratic in their number. A page has one of
	// each, and a few in the text of its scripts.
	maxMerged = 200

	// parseDeadline ends a parse that is slow despite the limits above. The largest
	// real pages take a tenth of a second.
	parseDeadline = 10 * time.Second * timeout.Scale

	// maxParsing is how many documents an Auditor parses at once. It limits the
	// memory used by malicious pages that arrive together, and does not reduce
	// throughput, because audits mostly wait for the network.
	maxParsing = 2
)

// Why a document was not parsed. The texts are shown to users as evidence.
var (
	errEmpty  = errors.New("the body is empty")
	errTags   = fmt.Errorf("the HTML has more than %d tags", maxTags)
	errMerged = fmt.Errorf("the HTML has more than %d html and body tags", maxMerged)
	errDeep   = errors.New("the HTML nests elements more than 512 deep")
	errSlow   = fmt.Errorf("parsing the HTML takes more than %v", parseDeadline)
	errSteps  = fmt.Errorf("reading the HTML takes more than %d steps", maxSteps)
)

// parseTree parses a UTF-8 document within these limits. It returns one of the
// errors above, or that of ctx.
func parseTree(ctx context.Context, src []byte) (*html.Node, error) {
	if len(bytes.TrimSpace(src)) == 0 {
		return nil, errEmpty
	}
	src, err := inlineFormatting(src)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, parseDeadline)
	defer cancel()
	body := bytes.NewReader(src)
	read := readerFunc(func(p []byte) (int, error) {
		if err := limited.Err(); err != nil {
			return 0, err // ends the parser
		}
		return body.Read(p)
	})
	// Without scripting, the content of noscript is parsed like other content.
	doc, err := html.ParseWithOptions(read, html.ParseOptionEnableScripting(false))
	switch {
	case err == nil:
		prune(doc)
		return doc, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return nil, errSlow
	}
	return nil, errDeep // the parser has no other error
}

// readerFunc is an io.Reader with a single function.
type readerFunc func(p []byte) (int, error)

// Read implements io.Reader.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// formatting maps the formatting elements of HTML, section 13.2.4.3, except a, to
// ordinary elements with the same meaning: those for code to kbd, others to span.
var formatting = map[string]string{
	"b": "span", "big": "span", "code": "kbd", "em": "span", "font": "span", "i": "span", "nobr": "span",
	"s": "span", "small": "span", "strike": "span", "strong": "span", "tt": "kbd", "u": "span",
}

// maxFormatting is the length of the longest name in formatting.
const maxFormatting = len("strike")

// inlineFormatting checks the number of tags and renames formatting elements by the
// table formatting. The parser clones each formatting element that is left open
// into every later block, so that 5 MB of HTML could become tens of gigabytes of
// nodes; an open span or kbd ends with its block. Except for code, the extractors
// treat all of them as inline elements without a meaning. The element a keeps its
// name: a second a closes the first, so at most one is cloned. An attribute keeps the old
// name for the selectors of style sheets.
//
// Names are replaced everywhere, also in scripts and comments: what the parser
// treats as a tag depends on the elements around it, and a malicious page could
// exploit every difference between the parser and a scanner that tries to follow
// it.
func inlineFormatting(src []byte) ([]byte, error) {
	var out []byte
	tags, merged, copied := 0, 0, 0
	for at := 0; ; {
		next := bytes.IndexByte(src[at:], '<')
		if next < 0 {
			break
		}
		at += next + 1
		if tags++; tags > maxTags {
			return nil, errTags
		}
		end := at < len(src) && src[at] == '/'
		if end {
			at++
		}
		switch name := tagName(src[at:]); {
		case name == "html", name == "body":
			if merged++; merged > maxMerged {
				return nil, errMerged
			}
		case formatting[name] != "":
			out = append(append(out, src[copied:at]...), formatting[name]...)
			if copied = at + len(name); !end {
				out = append(out, " "+style.TypeAttribute+"="+name...)
			}
		}
	}
	if out == nil {
		return src, nil
	}
	return append(out, src[copied:]...), nil
}

// tagName returns the name at the start of a tag in lower case, or "" if it is
// longer than the names of interest. It ends a name where the tokenizer does.
func tagName(tag []byte) string {
	var name [maxFormatting]byte
	for i, c := range tag[:min(len(tag), maxFormatting+1)] {
		switch c {
		case ' ', '\n', '\r', '\t', '\f', '/', '>':
			return string(name[:i])
		}
		if i == maxFormatting {
			break
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		name[i] = c
	}
	return ""
}

// The limits of a document. The extractors walk the tree a few dozen times, so a page
// with millions of tiny elements, or one element with a million attributes, would cost
// minutes. Real pages have fewer than a hundred thousand nodes and thirty attributes.
const (
	maxNodes     = 200_000
	maxAttrs     = 64
	maxAttrBytes = 4 << 10
)

// prune truncates a document to its limits, keeping what comes first.
func prune(doc *html.Node) {
	left := maxNodes
	pruneChildren(doc, &left)
}

// pruneChildren truncates the descendants of n to the number of nodes left.
// Nothing below a removed node is visited.
func pruneChildren(n *html.Node, left *int) {
	var next *html.Node
	for c := n.FirstChild; c != nil; c = next {
		next = c.NextSibling
		if *left == 0 {
			n.RemoveChild(c)
			continue
		}
		*left--
		c.Attr = c.Attr[:min(len(c.Attr), maxAttrs)]
		for i := range c.Attr {
			a := &c.Attr[i]
			a.Val = a.Val[:min(len(a.Val), maxAttrBytes)]
		}
		pruneChildren(c, left)
	}
}

// The limit of reading one document. Elements nest, and the text of each heading, list,
// table, link and quotation is read by itself, so the extractors visit a node once for
// each of up to 500 elements around it: 1e11 visits for the worst documents. A document
// over the limit counts as not read.
const (
	// maxSteps is the number of steps. A malicious page costs about two seconds. The largest
	// of 630 real pages, with 4.9 MB, takes 4.3 million.
	maxSteps = 20_000_000

	// stepBytes is how many bytes of text count as a step: reading and counting the words
	// of four bytes takes as long as visiting a node.
	stepBytes = 4
)

// tree is a parsed document with the number of steps that may still be spent on it.
// A walk ends early without steps left, and parsePage discards what was read until then.
type tree struct {
	doc  *html.Node
	left int
}

func newTree(doc *html.Node) *tree {
	markFrames(doc)
	return &tree{doc: doc, left: maxSteps}
}

// exceeded reports whether the document takes more than maxSteps.
func (t *tree) exceeded() bool { return t.left < 0 }

// visit counts the visit of a node, whose attributes are searched, and reports whether
// steps are left.
func (t *tree) visit(n *html.Node) bool {
	t.left -= 1 + len(n.Attr)
	return t.left >= 0
}

// read counts the reading of a text and returns it, "" if no steps are left.
func (t *tree) read(text string) string {
	if t.left -= len(text) / stepBytes; t.left < 0 {
		return ""
	}
	return text
}

// descendants iterates over all nodes below n, parents first.
func (t *tree) descendants(n *html.Node) iter.Seq[*html.Node] {
	return func(yield func(*html.Node) bool) {
		for d := range n.Descendants() {
			if !t.visit(d) || !yield(d) {
				return
			}
		}
	}
}

// upward iterates over n and the nodes around it, up to the root.
func (t *tree) upward(n *html.Node) iter.Seq[*html.Node] {
	return func(yield func(*html.Node) bool) {
		for ; n != nil && t.visit(n) && yield(n); n = n.Parent {
		}
	}
}

// HeadMeta returns the contents of the meta elements with a name that are children of the
// head of a UTF-8 document. Those in comments, in the body, in noscript and in templates do
// not count. The limits are those of audited pages.
func HeadMeta(ctx context.Context, src []byte, name string) (contents []string, err error) {
	doc, err := parseTree(ctx, src)
	if err != nil {
		return nil, err
	}
	for page := range doc.ChildNodes() {
		for head := range page.ChildNodes() {
			if head.Type != html.ElementNode || head.Data != "head" {
				continue
			}
			for n := range head.ChildNodes() {
				if n.Type == html.ElementNode && n.Data == "meta" && strings.EqualFold(attr(n, "name"), name) {
					contents = append(contents, strings.TrimSpace(attr(n, "content")))
				}
			}
		}
	}
	return contents, nil
}

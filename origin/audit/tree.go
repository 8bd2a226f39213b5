package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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

// The limits of a document. The code below walks the tree, in part from a node up
// to the root, so a page with millions of tiny elements, or one element with a
// million attributes, would cost minutes. Real pages have fewer than a hundred
// thousand nodes and thirty attributes.
const (
	maxNodes     = 200_000
	maxAttrs     = 64
	maxAttrBytes = 4 << 10
)

// prune truncates a document to its limits, keeping what comes first.
func prune(doc *html.Node) {
	count := 0
	var excess []*html.Node
	for n := range doc.Descendants() {
		if count++; count > maxNodes {
			if len(excess) == 0 || !isDescendant(n, excess[len(excess)-1]) {
				excess = append(excess, n)
			}
			continue
		}
		if len(n.Attr) > maxAttrs {
			n.Attr = n.Attr[:maxAttrs]
		}
		for i := range n.Attr {
			a := &n.Attr[i]
			if len(a.Val) > maxAttrBytes {
				a.Val = a.Val[:maxAttrBytes]
			}
		}
	}
	for _, n := range excess {
		n.Parent.RemoveChild(n)
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

package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/net/html"
)

// What parsing one document may cost. The parser of x/net/html bounds only the
// depth, so these bounds apply to its input.
const (
	// maxTags bounds the nodes of a tree: after inlineFormatting a tag makes two
	// or three. Real pages have fewer than a hundred thousand. Memory measured
	// at the bound: 100 MB.
	maxTags = 400_000

	// maxMerged bounds the html and body tags. The parser merges the attributes
	// of each into the first one, in time that grows with the square of their
	// number. A page has one of each, and a few in the text of its scripts.
	maxMerged = 200

	// parseDeadline ends a parse that is slow for a reason no count above
	// foresees. The largest real pages take a tenth of a second.
	parseDeadline = 10 * time.Second

	// maxParsing is how many documents one Auditor parses at once. Audits wait
	// for the network most of the time, so it costs no throughput, and it
	// bounds the memory of hostile pages that arrive together.
	maxParsing = 2
)

// Why a document was not parsed. They are shown to users as evidence.
var (
	errEmpty  = errors.New("the body is empty")
	errTags   = fmt.Errorf("the HTML has more than %d tags", maxTags)
	errMerged = fmt.Errorf("the HTML has more than %d html and body tags", maxMerged)
	errDeep   = errors.New("the HTML nests elements more than 512 deep")
	errSlow   = fmt.Errorf("parsing the HTML takes more than %v", parseDeadline)
)

// parseTree parses a document in UTF-8 within the bounds above. It returns one of
// the errors above, or that of ctx.
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
	read := readFunc(func(p []byte) (int, error) {
		if err := limited.Err(); err != nil {
			return 0, err // ends the parser
		}
		return body.Read(p)
	})
	// Without scripting, the content of noscript is parsed like the rest.
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
	return nil, errDeep // the only error of the parser itself
}

// readFunc is an io.Reader made of its one method.
type readFunc func(p []byte) (int, error)

// Read implements io.Reader.
func (f readFunc) Read(p []byte) (int, error) { return f(p) }

// formatting maps the formatting elements of HTML, section 13.2.4.3, except a, to
// ordinary elements of the same meaning: those of code to kbd, others to span.
var formatting = map[string]string{
	"b": "span", "big": "span", "code": "kbd", "em": "span", "font": "span", "i": "span", "nobr": "span",
	"s": "span", "small": "span", "strike": "span", "strong": "span", "tt": "kbd", "u": "span",
}

// maxFormatting is the length of the longest name in formatting.
const maxFormatting = len("strike")

// inlineFormatting counts tags against the bounds and renames formatting elements
// by the table formatting. The parser clones each formatting element that is left open into every
// later block, so that 5 MB of HTML could become tens of gigabytes of nodes; an
// open span or kbd ends with its block. Besides code, the extractors treat all of
// them alike, as inline elements without a meaning. The element a keeps its name and its
// meaning: a second a closes the first, so at most one is cloned.
//
// Names are replaced everywhere, also in scripts and comments: what the parser
// takes for a tag depends on the elements around it, and a hostile page could use
// every difference between the parser and a scanner that tries to know.
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
		if at < len(src) && src[at] == '/' {
			at++
		}
		switch name := tagName(src[at:]); {
		case name == "html", name == "body":
			if merged++; merged > maxMerged {
				return nil, errMerged
			}
		case formatting[name] != "":
			out = append(append(out, src[copied:at]...), formatting[name]...)
			copied = at + len(name)
		}
	}
	if out == nil {
		return src, nil
	}
	return append(out, src[copied:]...), nil
}

// tagName returns the name at the start of a tag in lower case, or "" where it is
// longer than the names of interest. It ends like a name in the tokenizer.
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

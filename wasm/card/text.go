package card

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// formatWidth is the maximum width of a line; a longer value is split into one line
// per member.
const formatWidth = 120

// Format returns a card in standard formatting: members in the author's order,
// indented by two spaces, on one line if they fit. The content does not change. It
// formats any JSON of at most MaxFile bytes; Parse validates it.
func Format(b []byte) ([]byte, error) {
	n, err := parseText(b)
	if err != nil {
		return nil, err
	}
	return append(n.append(nil, 0, 0), '\n'), nil
}

// node is a JSON value and its position.
type node struct {
	at    int      // offset of its first byte
	text  string   // of a string, number, true, false or null
	open  byte     // '{' or '[' of objects and arrays
	names []string // of the members of an object, as written
	items []node
}

// parseText parses one JSON value. Objects must not contain a member twice: a
// decoder would silently use the last.
func parseText(b []byte) (*node, error) {
	if len(b) > MaxFile {
		return nil, fmt.Errorf("card of %d bytes, at most %d", len(b), MaxFile)
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	r := textReader{b: b, dec: dec}
	n, err := r.value()
	if err == nil {
		_, err = dec.Token()
		if err == nil {
			err = errors.New("text after the closing brace")
		} else if errors.Is(err, io.EOF) {
			return n, nil
		}
	}
	return nil, fmt.Errorf("card: %s: %w", position(b, int(dec.InputOffset())), err)
}

type textReader struct {
	b   []byte
	dec *json.Decoder
}

// next returns the offset of the next token.
func (r *textReader) next() int {
	i := int(r.dec.InputOffset())
	for i < len(r.b) && strings.IndexByte(" \t\r\n,:", r.b[i]) >= 0 {
		i++
	}
	return i
}

func (r *textReader) value() (*node, error) {
	n := &node{at: r.next()}
	token, err := r.dec.Token()
	if err != nil {
		return nil, err
	}
	open, ok := token.(json.Delim)
	if !ok {
		n.text = string(bytes.TrimSpace(r.b[n.at:r.dec.InputOffset()]))
		return n, nil
	}
	n.open = byte(open)
	seen := map[string]bool{}
	for r.dec.More() {
		if open == '{' {
			name, err := r.dec.Token()
			if err != nil {
				return nil, err
			}
			s, _ := name.(string) // the decoder accepts only strings here
			if seen[s] {
				return nil, fmt.Errorf("member %q appears twice", s)
			}
			seen[s] = true
			n.names = append(n.names, s)
		}
		item, err := r.value()
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, *item)
	}
	_, err = r.dec.Token() // the closing brace
	return n, err
}

// append writes a node that starts in the given column of a line indented by indent
// spaces.
func (n *node) append(b []byte, indent, column int) []byte {
	if line := n.line(nil); column+utf8.RuneCount(line) < formatWidth || n.open == 0 {
		return append(b, line...)
	}
	b = append(b, n.open)
	for i := range n.items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, '\n'), strings.Repeat(" ", indent+2)...)
		start := len(b)
		if n.open == '{' {
			b = append(strconv.AppendQuote(b, n.names[i]), ": "...)
		}
		b = n.items[i].append(b, indent+2, indent+2+len(b)-start)
	}
	b = append(append(b, '\n'), strings.Repeat(" ", indent)...)
	return append(b, n.open+2) // in ASCII, '}' and ']' are the opening character plus two
}

// line writes a node on one line.
func (n *node) line(b []byte) []byte {
	if n.open == 0 {
		return append(b, n.text...)
	}
	b = append(b, n.open)
	for i := range n.items {
		if i > 0 {
			b = append(b, ", "...)
		}
		if n.open == '{' {
			b = append(strconv.AppendQuote(b, n.names[i]), ": "...)
		}
		b = n.items[i].line(b)
	}
	return append(b, n.open+2)
}

var pathPattern = regexp.MustCompile(`[a-z_]+|\[[0-9]+\]`)

// locate returns the offset of the value a problem is about, whose text starts with
// a path. For a missing member it returns the offset of the enclosing value.
func (n *node) locate(problem string) int {
	path, _, _ := strings.Cut(problem, " ")
	for _, step := range pathPattern.FindAllString(path, -1) {
		next := n.child(step)
		if next == nil {
			break
		}
		n = next
	}
	return n.at
}

// locateAll prefixes each problem with its position and sorts them in the order of
// the file.
func (n *node) locateAll(b []byte, problems []string) []string {
	slices.SortStableFunc(problems, func(x, y string) int { return cmp.Compare(n.locate(x), n.locate(y)) })
	for i, problem := range problems {
		problems[i] = position(b, n.locate(problem)) + ": " + problem
	}
	return problems
}

// Locate prefixes each problem with its position in a card, as the errors of Parse are. A problem
// starts with a path, such as inputs[2]. It returns them unchanged if the text is not JSON.
func Locate(text []byte, problems []string) []string {
	n, err := parseText(text)
	if err != nil {
		return problems
	}
	return n.locateAll(text, slices.Clone(problems))
}

func (n *node) child(step string) *node {
	if index, ok := strings.CutPrefix(step, "["); ok {
		i, err := strconv.Atoi(strings.TrimSuffix(index, "]"))
		if err != nil || n.open != '[' || i >= len(n.items) {
			return nil
		}
		return &n.items[i]
	}
	for i, name := range n.names {
		if name == step {
			return &n.items[i]
		}
	}
	return nil
}

// position returns line and column, counted from 1 in code points.
func position(b []byte, at int) string {
	before := b[:min(at, len(b))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return fmt.Sprintf("%d:%d", line, column)
}

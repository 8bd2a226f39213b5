package audit

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// What is read of a page's JSON-LD. Contexts are never fetched: the vocabulary
// is schema.org or it is none of ours.
const (
	maxJSONLD = 512 << 10 // bytes over all scripts of a page
	maxDepth  = 32        // of nested values; real graphs stay below ten
	maxThings = 2000      // of one page, so that a product feed stays cheap
)

// thing is one node of structured data: its types and its properties in the
// order of the page, each with its texts and the things it holds.
type thing struct {
	id    string
	types []string            // without a schema.org prefix
	text  map[string][]string // property to plain values
	holds map[string][]int    // property to indexes in the same list
	top   bool                // not inside another thing
}

// is reports whether the thing has one of the types.
func (t *thing) is(types map[string]bool) bool {
	return slices.ContainsFunc(t.types, func(s string) bool { return types[s] })
}

// first returns the first plain value of a property.
func (t *thing) first(property string) string {
	for _, s := range t.text[property] {
		if s != "" {
			return s
		}
	}
	return ""
}

// has reports whether a property has a value of any kind.
func (t *thing) has(property string) bool {
	return t.first(property) != "" || len(t.holds[property]) > 0
}

// jsonLD reads every JSON-LD script of a page. Broken scripts are skipped, for
// that is what the readers of the page do.
func jsonLD(doc *html.Node) []thing {
	g := &graph{}
	left := maxJSONLD
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode || n.Data != "script" || n.FirstChild == nil {
			continue
		}
		kind, _, _ := strings.Cut(attr(n, "type"), ";")
		if !strings.EqualFold(strings.TrimSpace(kind), "application/ld+json") {
			continue
		}
		var src strings.Builder
		for c := range n.ChildNodes() {
			src.WriteString(c.Data)
		}
		if left -= src.Len(); left < 0 {
			break
		}
		g.add([]byte(src.String()))
	}
	return g.things
}

// graph collects things.
type graph struct{ things []thing }

// add parses one script and adds what it describes.
func (g *graph) add(src []byte) {
	if v, ok := parseJSON(src); ok {
		g.walk(v, true, 0)
	}
}

// parseJSON decodes a script, forgiving what content systems wrap around it:
// a byte order mark, HTML comments, CDATA marks, raw control characters inside
// strings and a semicolon at the end.
func parseJSON(src []byte) (v any, ok bool) {
	src = bytes.TrimSpace(trimBOM(src))
	for _, wrap := range [][2]string{{"<!--", "-->"}, {"//<![CDATA[", "//]]>"}, {"/*<![CDATA[*/", "/*]]>*/"}, {"<![CDATA[", "]]>"}} {
		src = bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimPrefix(src, []byte(wrap[0])), []byte(wrap[1])))
	}
	src = bytes.TrimSpace(bytes.TrimSuffix(src, []byte(";")))
	if tooDeep(src) {
		return nil, false
	}
	if json.Unmarshal(src, &v) == nil {
		return v, true
	}
	clean := bytes.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, src)
	return v, json.Unmarshal(clean, &v) == nil
}

// tooDeep reports whether brackets outside of strings nest deeper than maxDepth.
func tooDeep(src []byte) bool {
	depth, quoted, escaped := 0, false, false
	for _, c := range src {
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// walk adds the things in v and returns the indexes of those at its surface.
func (g *graph) walk(v any, top bool, depth int) (at []int) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			at = append(at, g.walk(e, top, depth)...)
		}
	case map[string]any:
		if list, ok := v["@graph"]; ok {
			at = append(at, g.walk(list, top, depth+1)...)
			if _, typed := v["@type"]; !typed {
				return at
			}
		}
		if i := g.object(v, top, depth); i >= 0 {
			at = append(at, i)
		}
	}
	return at
}

// object adds one thing and what it holds; -1 when there are too many.
func (g *graph) object(m map[string]any, top bool, depth int) int {
	if len(g.things) >= maxThings || depth > maxDepth {
		return -1
	}
	at := len(g.things)
	g.things = append(g.things, thing{})
	t := thing{top: top, text: map[string][]string{}, holds: map[string][]int{}}
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys) // so that the same page gives the same order
	for _, key := range keys {
		switch key {
		case "@id", "id":
			t.id, _ = m[key].(string)
		case "@type", "type":
			for _, s := range plain(m[key]) {
				t.types = append(t.types, schemaName(s))
			}
		case "@context", "@graph":
		default:
			name := schemaName(key)
			t.text[name] = append(t.text[name], plain(m[key])...)
			t.holds[name] = append(t.holds[name], g.walk(m[key], false, depth+1)...)
		}
	}
	g.things[at] = t
	return at
}

// plain returns the texts among a value or a list of values; {"@value": …} and
// {"@id": …} count as the text they wrap.
func plain(v any) (list []string) {
	switch v := v.(type) {
	case string:
		return []string{collapse(v)}
	case json.Number:
		return []string{v.String()}
	case []any:
		for _, e := range v {
			list = append(list, plain(e)...)
		}
	case map[string]any:
		for _, key := range []string{"@value", "@id"} {
			if s, ok := v[key].(string); ok && len(v) <= 2 {
				return []string{collapse(s)}
			}
		}
	}
	return list
}

// schemaName strips the ways to write the schema.org vocabulary in front of a
// name.
func schemaName(s string) string {
	s = strings.TrimSpace(s)
	for _, prefix := range []string{"https://schema.org/", "http://schema.org/", "https://www.schema.org/", "http://www.schema.org/", "schema:"} {
		if rest, ok := strings.CutPrefix(s, prefix); ok {
			return rest
		}
	}
	return s
}

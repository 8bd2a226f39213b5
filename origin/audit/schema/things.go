package schema

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// The limits of a page's JSON-LD. Contexts are never fetched: only the schema.org
// vocabulary is supported.
const (
	maxJSONLD = 512 << 10 // bytes of all scripts of a page
	maxDepth  = 32        // nesting of values; real graphs have fewer than ten levels
	maxThings = 2000      // per page, so that a product feed is cheap
)

// Thing is one item of structured data: its types, and its properties with their
// text values and nested items.
type Thing struct {
	Id    string
	Types []string            // without the schema.org prefix
	Text  map[string][]string // property to plain values
	Holds map[string][]int    // property to indexes in the same list
	Top   bool                // not nested in another thing
}

// Is reports whether the thing has one of the types.
func (t *Thing) Is(types map[string]bool) bool {
	return slices.ContainsFunc(t.Types, func(s string) bool { return types[s] })
}

// First returns the first plain value of a property.
func (t *Thing) First(property string) string {
	for _, s := range t.Text[property] {
		if s != "" {
			return s
		}
	}
	return ""
}

// Has reports whether a property has a value of any kind.
func (t *Thing) Has(property string) bool {
	return t.First(property) != "" || len(t.Holds[property]) > 0
}

// JSONLD parses the JSON-LD scripts of a page. Malformed scripts are skipped, as
// other consumers do.
func JSONLD(doc *html.Node) []Thing {
	g := &Graph{}
	left := maxJSONLD
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode || n.Data != "script" || n.FirstChild == nil {
			continue
		}
		kind, _, _ := strings.Cut(attribute(n, "type"), ";")
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
		g.Add([]byte(src.String()))
	}
	return g.Things
}

// Graph collects things.
type Graph struct{ Things []Thing }

// Add parses one script and adds what it describes.
func (g *Graph) Add(src []byte) {
	if v, ok := parseJSON(src); ok {
		g.addValue(v, true, 0)
	}
}

// parseJSON parses a script. It tolerates what content systems add: a byte order
// mark, HTML comments, CDATA marks, control characters in strings, and a final
// semicolon.
func parseJSON(src []byte) (v any, ok bool) {
	src = bytes.TrimSpace(bytes.TrimPrefix(src, []byte("\uFEFF")))
	for _, wrap := range [][2]string{{"<!--", "-->"}, {"//<![CDATA[", "//]]>"}, {"/*<![CDATA[*/", "/*]]>*/"},
		{"<![CDATA[", "]]>"}} {
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

// tooDeep reports whether brackets outside of strings are nested deeper than
// maxDepth.
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

// addValue adds the things in v and returns the indexes of those at the top level
// of v.
func (g *Graph) addValue(v any, top bool, depth int) (at []int) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			at = append(at, g.addValue(e, top, depth)...)
		}
	case map[string]any:
		if list, ok := v["@graph"]; ok {
			at = append(at, g.addValue(list, top, depth+1)...)
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

// object adds one thing with its nested things. It returns -1 if there are too
// many.
func (g *Graph) object(m map[string]any, top bool, depth int) int {
	if len(g.Things) >= maxThings || depth > maxDepth {
		return -1
	}
	at := len(g.Things)
	g.Things = append(g.Things, Thing{})
	t := Thing{Top: top, Text: map[string][]string{}, Holds: map[string][]int{}}
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys) // for a deterministic order
	for _, key := range keys {
		switch key {
		case "@id", "id":
			t.Id, _ = m[key].(string)
		case "@type", "type":
			for _, s := range plain(m[key]) {
				t.Types = append(t.Types, schemaName(s))
			}
		case "@context", "@graph":
		default:
			name := schemaName(key)
			t.Text[name] = append(t.Text[name], plain(m[key])...)
			t.Holds[name] = append(t.Holds[name], g.addValue(m[key], false, depth+1)...)
		}
	}
	g.Things[at] = t
	return at
}

// plain returns the text values in v; {"@value": …} and {"@id": …} count as the
// text in them.
func plain(v any) (list []string) {
	switch v := v.(type) {
	case string:
		return []string{oneLine(v)}
	case json.Number:
		return []string{v.String()}
	case []any:
		for _, e := range v {
			list = append(list, plain(e)...)
		}
	case map[string]any:
		for _, key := range []string{"@value", "@id"} {
			if s, ok := v[key].(string); ok && len(v) <= 2 {
				return []string{oneLine(s)}
			}
		}
	}
	return list
}

// schemaName removes the prefixes of the schema.org vocabulary.
func schemaName(s string) string {
	s = strings.TrimSpace(s)
	for _, prefix := range []string{"https://schema.org/", "http://schema.org/", "https://www.schema.org/",
		"http://www.schema.org/", "schema:"} {
		if rest, ok := strings.CutPrefix(s, prefix); ok {
			return rest
		}
	}
	return s
}

// Microdata parses the microdata items of a page (HTML, section 5): elements with
// itemscope, with their schema.org types and properties.
func Microdata(doc *html.Node, text func(n *html.Node, limit int) string) []Thing {
	m := &items{content: text}
	m.addNode(doc, -1)
	return m.things
}

// The limits of a page's microdata.
const (
	maxValues    = 10_000    // property values, items included
	maxValue     = 2 << 10   // bytes of one value
	maxMicrodata = 512 << 10 // bytes of all values: properties nest, and each repeats the text inside it
)

// items collects the items of microdata within the limits above.
type items struct {
	content func(n *html.Node, limit int) string // the visible text of an element
	things  []Thing
	values  int
	bytes   int
}

// atLimit counts one property value and reports whether a limit is exceeded.
func (m *items) atLimit() bool {
	full := m.full()
	m.values++
	return full
}

// full reports whether a limit is reached.
func (m *items) full() bool { return m.values >= maxValues || m.bytes > maxMicrodata }

// addNode parses n and its descendants as part of item owner; -1 means no item.
func (m *items) addNode(n *html.Node, owner int) {
	if n.Type == html.ElementNode {
		props := strings.Fields(attribute(n, "itemprop"))
		inner := owner
		if hasAttribute(n, "itemscope") && len(m.things) < maxThings {
			inner = m.addItem(n, owner, props)
		} else if owner >= 0 && len(props) > 0 {
			m.addValue(n, owner, props)
		}
		owner = inner
	}
	for c := range n.ChildNodes() {
		m.addNode(c, owner)
	}
}

// addValue adds the value of n under each of its property names.
// The value is read once: n can have as many names and descendants as the document has room for.
func (m *items) addValue(n *html.Node, owner int, props []string) {
	if m.full() {
		return
	}
	value := m.itemValue(n)
	for _, p := range props {
		if m.atLimit() {
			break
		}
		name := schemaName(p)
		m.bytes += len(value)
		m.things[owner].Text[name] = append(m.things[owner].Text[name], value)
	}
}

// addItem adds the item that starts at n and links it to its owner.
func (m *items) addItem(n *html.Node, owner int, props []string) int {
	t := Thing{Id: attribute(n, "itemid"), Top: owner < 0 || len(props) == 0, Text: map[string][]string{},
		Holds: map[string][]int{}}
	for _, s := range strings.Fields(attribute(n, "itemtype")) {
		if name := schemaName(s); name != s {
			t.Types = append(t.Types, name)
		}
	}
	m.things = append(m.things, t)
	at := len(m.things) - 1
	if owner >= 0 {
		for _, p := range props {
			if m.atLimit() {
				break
			}
			name := schemaName(p)
			m.things[owner].Holds[name] = append(m.things[owner].Holds[name], at)
		}
	}
	return at
}

// itemValue returns the value of a property element (HTML, section 5.2.4).
func (m *items) itemValue(n *html.Node) string {
	from := ""
	switch n.Data {
	case "meta":
		from = "content"
	case "audio", "embed", "iframe", "img", "source", "track", "video":
		from = "src"
	case "a", "area", "link":
		from = "href"
	case "object":
		from = "data"
	case "data", "meter":
		from = "value"
	case "time":
		from = "datetime"
	}
	if from != "" && hasAttribute(n, from) {
		return oneLine(attribute(n, from))
	}
	return m.content(n, maxValue)
}

// Join appends the things of b to a and adjusts their indexes.
func Join(a, b []Thing) []Thing {
	shift := len(a)
	for _, t := range b {
		for property, at := range t.Holds {
			moved := slices.Clone(at)
			for i := range moved {
				moved[i] += shift
			}
			t.Holds[property] = moved
		}
		a = append(a, t)
	}
	return a
}

// attribute returns an attribute of an element.
func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Namespace == "" && a.Key == name {
			return a.Val
		}
	}
	return ""
}

func hasAttribute(n *html.Node, name string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Namespace == "" && a.Key == name })
}

// oneLine turns every run of white space into one space.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

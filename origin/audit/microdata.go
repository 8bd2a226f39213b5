package audit

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// microdata reads the items of a page (HTML, section 5): elements with
// itemscope, their schema.org types and their properties.
func microdata(doc *html.Node) []thing {
	m := &items{}
	m.walk(doc, -1)
	return m.things
}

// What is read of a page's microdata.
const (
	maxValues    = 10_000    // property values, items included
	maxValue     = 2 << 10   // bytes of one
	maxMicrodata = 512 << 10 // bytes of all: properties nest, and each repeats the text below it
)

type items struct {
	things []thing
	values int
	bytes  int
}

// full counts one property value and reports whether it is beyond the bounds.
func (m *items) full() bool {
	m.values++
	return m.values > maxValues || m.bytes > maxMicrodata
}

// walk reads n and what is under it as part of item owner; -1 is no item.
func (m *items) walk(n *html.Node, owner int) {
	if n.Type == html.ElementNode {
		props := strings.Fields(attr(n, "itemprop"))
		inner := owner
		if hasAttr(n, "itemscope") && len(m.things) < maxThings {
			inner = m.open(n, owner, props)
		} else if owner >= 0 {
			for _, p := range props {
				if m.full() {
					break
				}
				name, value := schemaName(p), itemValue(n)
				m.bytes += len(value)
				m.things[owner].text[name] = append(m.things[owner].text[name], value)
			}
		}
		owner = inner
	}
	for c := range n.ChildNodes() {
		m.walk(c, owner)
	}
}

// open adds the item that n begins and hangs it on its owner.
func (m *items) open(n *html.Node, owner int, props []string) int {
	t := thing{id: attr(n, "itemid"), top: owner < 0 || len(props) == 0, text: map[string][]string{}, holds: map[string][]int{}}
	for _, s := range strings.Fields(attr(n, "itemtype")) {
		if name := schemaName(s); name != s {
			t.types = append(t.types, name)
		}
	}
	m.things = append(m.things, t)
	at := len(m.things) - 1
	if owner >= 0 {
		for _, p := range props {
			if m.full() {
				break
			}
			name := schemaName(p)
			m.things[owner].holds[name] = append(m.things[owner].holds[name], at)
		}
	}
	return at
}

// itemValue is the value of a property element (HTML, section 5.2.4).
func itemValue(n *html.Node) string {
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
	if from != "" && hasAttr(n, from) {
		return collapse(attr(n, from))
	}
	return textOf(n, maxValue)
}

// join appends the things of b to those of a, whose indexes stay as they are.
func join(a, b []thing) []thing {
	shift := len(a)
	for _, t := range b {
		for property, at := range t.holds {
			moved := slices.Clone(at)
			for i := range moved {
				moved[i] += shift
			}
			t.holds[property] = moved
		}
		a = append(a, t)
	}
	return a
}

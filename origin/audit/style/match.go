package style

import (
	"cmp"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// Limits of matching.
const (
	// maxSteps limits the work of one document: conditions tested on elements,
	// declarations applied to them, and bytes of values. Bootstrap 4 on 15,000 elements needs 1.1 million.
	maxSteps = 10_000_000

	// valueBytes is how many bytes of a value count as a step: values with functions and
	// variables take microseconds, in every environment of every element.
	valueBytes = 8

	// maxRefs limits the steps whose result other steps need, as each element has a bit
	// for each of them. Bootstrap 4 has 239.
	maxRefs = 8 << 10

	maxClasses = 128 // of an element
)

// noStep is the left neighbour of the first compound of a selector.
const noStep = -1

// step is a compound with what must be to the left of it. Selectors that begin alike share
// steps.
type step struct {
	compound   compound
	left       int // a step, or noStep
	combinator byte
	ref        int // the bit of elements that match; -1 if no step needs it
	targets    []target
}

// stepKey identifies equal steps.
type stepKey struct {
	left       int
	combinator byte
	text       string
}

// matcher matches elements with selectors. Instead of searching the ancestors of each element,
// which can take exponential time, every element has the set of steps that it matches, and
// those that its ancestors and siblings match.
// An element costs one test for each step that its names select, whatever surrounds it.
type matcher struct {
	steps     []step
	known     map[stepKey]int
	refs      int
	selectors int
	left      int  // conditions that may still be tested
	excess    bool // a limit is exceeded

	// The steps to test on an element: those with one of its names in the last compound.
	byID, byClass, byTag map[string][]int
	always               []int
	candidates           []int

	elements []*element // the last of each depth, to use again
}

func newMatcher() *matcher {
	return &matcher{known: map[stepKey]int{}, byID: map[string][]int{}, byClass: map[string][]int{},
		byTag: map[string][]int{}, left: maxSteps}
}

// full reports whether the limit of selectors is reached.
func (m *matcher) full() bool {
	m.excess = m.excess || len(m.steps) >= 2*maxSelectors || m.refs >= maxRefs || m.selectors >= maxSelectors
	return m.excess
}

// exceeded reports whether the document exceeds a limit.
func (m *matcher) exceeded() bool { return m.excess || m.left < 0 }

// addSelector adds a target for a complex selector. One that is not valid is ignored.
// Browsers ignore an invalid selector with its whole list; here only itself is ignored, as in
// :is(). The difference hides less.
func (m *matcher) addSelector(text string, t target) {
	if t.envs == 0 || len(text) > maxPrelude || m.full() {
		return
	}
	m.selectors++
	p := selectorParser{m: m, rest: text, envs: t.envs}
	at := p.parse()
	if at == noStep || p.bad || p.envs == 0 {
		return
	}
	t.envs, t.pseudo, t.source = p.envs, p.pseudo, text
	t.weight += specificityWeight(p.specificity)
	m.steps[at].targets = append(m.steps[at].targets, t)
}

// addStep returns the step for a compound, a new one unless it exists.
// It is found by the rarest of its names: an id before a class before a type.
func (m *matcher) addStep(left int, combinator byte, c compound, text string) int {
	key := stepKey{left, combinator, text}
	if at, ok := m.known[key]; ok {
		return at
	}
	at := len(m.steps)
	m.known[key] = at
	m.steps = append(m.steps, step{compound: c, left: left, combinator: combinator, ref: -1})
	if left != noStep {
		m.refer(left)
	}
	switch {
	case c.id != "":
		m.byID[c.id] = append(m.byID[c.id], at)
	case len(c.classes) > 0:
		m.byClass[c.classes[0]] = append(m.byClass[c.classes[0]], at)
	case c.tag != "":
		m.byTag[c.tag] = append(m.byTag[c.tag], at)
	default:
		m.always = append(m.always, at)
	}
	return at
}

// refer gives a step a bit and returns the step.
func (m *matcher) refer(at int) int {
	if m.steps[at].ref < 0 {
		m.steps[at].ref = m.refs
		m.refs++
	}
	return at
}

// bits is a set of steps that have a bit.
type bits []uint64

func (b bits) has(i int) bool { return b[i/64]>>(i%64)&1 != 0 }
func (b bits) set(i int)      { b[i/64] |= 1 << (i % 64) }

// unite adds a set.
func (b bits) unite(other bits) {
	for i, word := range other {
		b[i] |= word
	}
}

// element is an element with what selectors match on.
// Elements are used again: a document needs as many as it is deep.
type element struct {
	node      *html.Node
	parent    *element
	depth     int
	tag       string // the type
	lang      string // the language, that of the parent unless the element has its own
	id        string
	classes   []string
	index     int            // among the elements of the parent, from 1
	typeIndex int            // the same among those of its type
	types     map[string]int // numbers of the children that were visited
	final     finality

	own       bits // steps that it matches
	ancestors bits // those that its ancestors match
	previous  bits // those of the element before it
	siblings  bits // those of all elements before it
	last      bits // those of the last visited child
	children  bits // those of all visited children
}

// finality is whether an element is the last of its parent, which is found when the first
// selector asks: comments and texts without limit may follow an element.
type finality byte

const (
	finalUnknown finality = iota
	finalYes
	finalNo
)

// newElement returns an element without bits.
func (m *matcher) newElement() *element {
	words := (m.refs + 63) / 64
	store := make(bits, 6*words)
	next := func() (b bits) {
		b, store = store[:words:words], store[words:]
		return b
	}
	return &element{own: next(), ancestors: next(), previous: next(), siblings: next(), last: next(), children: next(),
		types: map[string]int{}}
}

// enter returns the next child of a parent, which is nil for the root. It is valid until the
// next child.
func (m *matcher) enter(n *html.Node, parent *element) *element {
	depth := 0
	if parent != nil {
		depth = parent.depth + 1
	}
	if depth == len(m.elements) {
		m.elements = append(m.elements, m.newElement())
	}
	e := m.elements[depth]
	for _, b := range []bits{e.own, e.ancestors, e.previous, e.siblings, e.last, e.children} {
		clear(b)
	}
	clear(e.types)
	e.node, e.parent, e.depth, e.tag, e.id, e.classes = n, parent, depth, n.Data, "", nil
	e.lang, e.index, e.typeIndex, e.final = "", 1, 1, finalUnknown
	for _, a := range n.Attr {
		switch a.Key {
		case "id":
			e.id = a.Val
		case "class":
			e.classes = strings.Fields(a.Val)
			e.classes = e.classes[:min(len(e.classes), maxClasses)]
		case "lang":
			e.lang = strings.ToLower(a.Val)
		case TypeAttribute:
			e.tag = a.Val
		}
	}
	if parent != nil {
		parent.types[""]++
		parent.types[e.tag]++
		e.index, e.typeIndex = parent.types[""], parent.types[e.tag]
		e.lang = cmp.Or(e.lang, parent.lang)
		e.ancestors.unite(parent.ancestors)
		e.ancestors.unite(parent.own)
		e.previous.unite(parent.last)
		e.siblings.unite(parent.children)
	}
	return e
}

// match returns the targets of the selectors that an element matches.
// Candidates are in the order of the steps. A step comes after those to the left of it, so their
// bits are set by then.
func (m *matcher) match(e *element) (list []*target) {
	m.candidates = append(m.candidates[:0], m.always...)
	m.candidates = append(m.candidates, m.byTag[e.tag]...)
	if e.id != "" {
		m.candidates = append(m.candidates, m.byID[e.id]...)
	}
	for i, class := range e.classes {
		if !slices.Contains(e.classes[:i], class) {
			m.candidates = append(m.candidates, m.byClass[class]...)
		}
	}
	slices.Sort(m.candidates) // the arguments of :is come before the step that needs them
	for _, at := range m.candidates {
		s := &m.steps[at]
		if m.left--; m.left < 0 {
			return nil
		}
		if !m.holds(s, e) || !m.accepts(&s.compound, e) {
			continue
		}
		if s.ref >= 0 {
			e.own.set(s.ref)
		}
		for i := range s.targets {
			list = append(list, &s.targets[i])
		}
	}
	if e.parent != nil {
		copy(e.parent.last, e.own)
		e.parent.children.unite(e.own)
	}
	return list
}

// holds reports whether what is to the left of a step matches.
func (m *matcher) holds(s *step, e *element) bool {
	if s.left == noStep {
		return true
	}
	ref := m.steps[s.left].ref
	switch s.combinator {
	case '>':
		return e.parent != nil && e.parent.own.has(ref)
	case '+':
		return e.previous.has(ref)
	case '~':
		return e.siblings.has(ref)
	}
	return e.ancestors.has(ref)
}

// accepts reports whether an element matches a compound.
func (m *matcher) accepts(c *compound, e *element) bool {
	m.left -= len(c.attrs)*len(e.node.Attr) + len(c.classes)*len(e.classes)/8
	switch {
	case c.tag != "" && c.tag != e.tag, c.id != "" && c.id != e.id:
		return false
	case c.first && e.index != 1, c.last && !m.isLast(e):
		return false
	case c.link && (e.node.Data != "a" || !hasAttr(e.node, "href")):
		return false
	}
	for _, class := range c.classes {
		if !slices.Contains(e.classes, class) {
			return false
		}
	}
	for _, n := range c.nth {
		if !isNth(e.index, n) {
			return false
		}
	}
	for _, n := range c.nthType {
		if !isNth(e.typeIndex, n) {
			return false
		}
	}
	for _, lang := range c.langs {
		if e.lang != lang && !strings.HasPrefix(e.lang, lang+"-") {
			return false
		}
	}
	for i := range c.attrs {
		if !m.hasAttribute(e, &c.attrs[i]) {
			return false
		}
	}
	matches := func(at int) bool { return e.own.has(m.steps[at].ref) }
	for _, list := range c.any {
		m.left -= len(list)
		if !slices.ContainsFunc(list, matches) {
			return false
		}
	}
	m.left -= len(c.none)
	return !slices.ContainsFunc(c.none, matches)
}

// isNth reports whether index is a*n+b for some n from 0.
func isNth(index int, n [2]int) bool {
	a, rest := n[0], index-n[1]
	if a == 0 {
		return rest == 0
	}
	return rest%a == 0 && rest/a >= 0
}

// isLast reports whether no element follows. Each node is examined once, for the element
// before it.
func (m *matcher) isLast(e *element) bool {
	if e.final == finalUnknown {
		e.final = finalYes
		for n := e.node.NextSibling; n != nil && e.final == finalYes; n = n.NextSibling {
			m.left--
			if n.Type == html.ElementNode {
				e.final = finalNo
			}
		}
	}
	return e.final == finalYes
}

func hasAttr(n *html.Node, name string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name && a.Namespace == "" })
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name && a.Namespace == "" {
			return a.Val
		}
	}
	return ""
}

// hasAttribute reports whether an element meets an attribute condition.
// Long values are charged, as they may be compared for thousands of selectors.
func (m *matcher) hasAttribute(e *element, want *attribute) bool {
	for _, a := range e.node.Attr {
		if a.Key != want.name || a.Namespace != "" {
			continue
		}
		have := a.Val
		m.left -= len(have) / 16
		if want.fold {
			have = strings.ToLower(have)
		}
		switch want.op {
		case "":
			return true
		case "=":
			return have == want.value
		case "~=":
			return want.value != "" && slices.Contains(strings.Fields(have), want.value)
		case "|=":
			return have == want.value || strings.HasPrefix(have, want.value+"-")
		case "^=":
			return want.value != "" && strings.HasPrefix(have, want.value)
		case "$=":
			return want.value != "" && strings.HasSuffix(have, want.value)
		default:
			return want.value != "" && strings.Contains(have, want.value)
		}
	}
	return false
}

// Weights order the declarations of a property: importance, then inline, layer,
// specificity and order (CSS Cascade, section 6).
const (
	weightOrder       = 0  // 20 bits
	weightSpecificity = 20 // 3 numbers of 8 bits
	weightLayer       = 44 // 10 bits
	weightInline      = 54
	weightImportant   = 55
)

// weigh returns the weight of a rule without its specificity. Presentational attributes have
// weight 0.
func weigh(layer, order int) uint64 {
	return uint64(layer)<<weightLayer + uint64(min(order, 1<<20-1))<<weightOrder
}

// specificityWeight returns the part of the weight that is the specificity.
// Each part is limited to a byte, as in browsers, where 256 classes do not weigh as much as an id.
func specificityWeight(s [3]int) (w uint64) {
	for _, n := range s {
		w = w<<8 | uint64(min(n, 255))
	}
	return w << weightSpecificity
}

// important returns the weight of an important declaration. Among these the first layer
// wins.
func important(w uint64) uint64 {
	const layers = 1<<10 - 1
	layer := w >> weightLayer & layers
	return w&^(layers<<weightLayer) | (layers-layer)<<weightLayer | 1<<weightImportant
}

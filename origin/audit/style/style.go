package style

import (
	"strings"

	"golang.org/x/net/html"
)

// Text is a run of hidden text: neighbours in one element, of which all text is hidden.
type Text struct {
	Nodes []*html.Node // elements and texts
	How   string       // such as "in white text on a white background (.seo)"
	Label bool         // hidden in a way that leaves it to screen readers
	Shown bool         // only screen readers do not read it (aria-hidden)
}

// Generated is text that a style sheet adds to an element.
type Generated struct{ Text, How string }

// TypeAttribute has the type of an element that was renamed before the document was parsed.
// The auditor renames formatting elements, whose repair by HTML parsers takes quadratic time.
const TypeAttribute = "data-fieldmark-type"

// Result is what the style of a document does to its text.
type Result struct {
	// Hidden is the text that no reader sees who does not act.
	Hidden []Text

	// Gone is the part of Hidden that no rule of the document shows in any state of an
	// element.
	Gone []Text

	// Generated is the text of ::before and ::after.
	Generated []Generated

	// Visible and Gone text in bytes, without the space around it.
	VisibleBytes, GoneBytes int
}

// Limits of generated text.
const (
	maxGenerated     = 200
	maxGeneratedText = 4 << 10 // bytes of one
)

// walker computes the style of a document.
type walker struct {
	sheet     *sheet
	computers [numEnvs]computer
	texts     map[*html.Node]verdict
	result    *Result
	generated map[string]bool
}

// verdict is how a text is hidden.
type verdict struct {
	how  reason
	gone bool // in every state
}

// states are those of an element in all environments.
type states [numEnvs]state

// Compute computes the style of a document.
// The second attempt without sheets finds less, and takes time in proportion to the document.
func Compute(doc *html.Node) *Result {
	w := &walker{sheet: newSheet()}
	external, canvas := w.readSheets(doc)
	if !w.sheet.exceeded() {
		w.run(doc, external, canvas)
	}
	if w.sheet.exceeded() { // style attributes alone
		w = &walker{sheet: newSheet()}
		w.run(doc, true, paint{})
	}
	w.result.Hidden = append(w.group(doc, func(v verdict) bool { return !v.how.skipped }),
		w.group(doc, func(v verdict) bool { return v.how.skipped })...)
	w.result.Gone = w.group(doc, func(v verdict) bool { return v.gone })
	return w.result
}

// run computes the style of all elements.
func (w *walker) run(doc *html.Node, external bool, canvas paint) {
	w.texts, w.result, w.generated = map[*html.Node]verdict{}, &Result{}, map[string]bool{}
	var root states
	for i := range root {
		w.computers[i] = computer{environment: environments[i], external: external, rem: defaultFont}
		root[i] = rootState(external, canvas)
	}
	for n := range doc.ChildNodes() {
		if n.Type == html.ElementNode {
			w.walk(n, nil, &root)
		}
	}
}

// readSheets parses the style elements. external reports whether the document has style
// sheets in other files. canvas is the color behind the document, if it is known.
// A sheet in another file makes inherited colors unknown, since it was not read. The color-scheme
// is looked for because it changes the color behind the page.
func (w *walker) readSheets(doc *html.Node) (external bool, canvas paint) {
	scheme := false // the document asks for dark or light colors of the browser
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch n.Data {
		case "style":
			kind := strings.ToLower(strings.TrimSpace(attr(n, "type")))
			if kind != "" && kind != "text/css" || w.isInert(n) || n.FirstChild == nil {
				continue
			}
			w.sheet.add(n.FirstChild.Data, attr(n, "media"))
			scheme = scheme || strings.Contains(n.FirstChild.Data, "color-scheme:")
		case "link":
			rel := " " + strings.ToLower(attr(n, "rel")) + " "
			external = external || strings.Contains(rel, "stylesheet") || strings.EqualFold(attr(n, "as"), "style")
		case "meta":
			scheme = scheme || strings.EqualFold(attr(n, "name"), "color-scheme")
		}
	}
	external = external || w.sheet.imports
	if !external && !scheme {
		canvas = paint{color: white, source: "default color"}
	}
	return external, canvas
}

// isInert reports whether an element is in one whose content browsers with scripting do not
// use.
func (w *walker) isInert(n *html.Node) bool {
	for p := n.Parent; p != nil; p = p.Parent {
		w.sheet.left--
		if p.Data == "noscript" || p.Data == "template" {
			return true
		}
	}
	return false
}

// walk computes the style of an element and its descendants.
// Recursion is bounded by the depth of the tree, which the parser of the auditor limits.
func (w *walker) walk(n *html.Node, parent *element, outer *states) {
	e := w.sheet.enter(n, parent)
	m := matched{targets: w.sheet.match(e), hints: hintsOf(e)}
	if s := attr(n, "style"); s != "" {
		m.inline = parseInline(s)
	}
	if w.sheet.exceeded() {
		return
	}
	own := *outer
	w.style(e, &m, outer, &own)
	for c := range n.ChildNodes() {
		switch {
		case c.Type == html.ElementNode && c.Namespace == "" && !isNoText(c.Data):
			w.walk(c, e, &own)
		case c.Type == html.TextNode && strings.TrimSpace(c.Data) != "":
			w.text(c, &own)
		}
	}
}

// isNoText reports whether the content of an element is not text of the document.
func isNoText(name string) bool {
	switch name {
	case "script", "style", "head":
		return true
	}
	return false
}

// style computes the states of an element.
// Elements without declarations are the most by far, and need no cascade. Environments share one
// unless a rule depends on them.
func (w *walker) style(e *element, m *matched, outer, own *states) {
	if len(m.targets)+len(m.inline)+len(m.hints) == 0 {
		for i := range own {
			w.computers[i].inherit(&own[i], e)
			own[i].apply(e.node)
		}
		return
	}
	same := !m.conditional()
	var v values
	var vars *scope
	pseudo := false
	for _, t := range m.targets {
		pseudo = pseudo || t.pseudo
	}
	for i := range own {
		if i == 0 || !same || outer[i].vars != outer[0].vars {
			v, vars = w.sheet.cascade(m, i, false, outer[i].vars)
		}
		w.sheet.chargeValues(&v)
		own[i] = w.computers[i].compute(&outer[i], e, &v, vars)
		own[i].apply(e.node)
		if e.node.Data == "html" {
			w.computers[i].rem = own[i].font
		}
	}
	if pseudo {
		w.generate(e, m, own)
	}
}

// apply applies what hides an element without a style sheet.
func (s *state) apply(n *html.Node) {
	if r := builtIn(n); r.what != "" && s.hidden.what == "" {
		s.hidden = r
	}
	if strings.EqualFold(attr(n, "aria-hidden"), "true") {
		s.skipped = reason{what: "in an element with aria-hidden", skipped: true}
	}
}

// builtIn returns how an element hides its content without a style sheet.
func builtIn(n *html.Node) reason {
	switch n.Data {
	case "noscript", "template":
		return reason{what: "in a hidden element"}
	case "audio", "video", "canvas", "object", "iframe":
		return reason{what: "in the fallback content of an element"}
	case "dialog":
		if !hasAttr(n, "open") {
			return reason{what: "in a closed dialog"}
		}
	}
	if hasAttr(n, "hidden") {
		return reason{what: "in a hidden element"}
	}
	return reason{}
}

// generate records the text of ::before and ::after.
// Generated text is read aloud and indexed by some, and readers see it: it is recorded, not judged.
func (w *walker) generate(e *element, m *matched, own *states) {
	v, _ := w.sheet.cascade(m, 0, true, own[0].vars)
	if v[content].value == "" || len(w.result.Generated) == maxGenerated {
		return
	}
	text := generatedText(v[content].value, e.node)
	if strings.TrimSpace(text) == "" || w.generated[text] {
		return
	}
	w.generated[text] = true
	w.result.Generated = append(w.result.Generated,
		Generated{text, because("in text that a style sheet adds", v[content]).String()})
}

// generatedText returns the strings and the attributes in a value of content.
func generatedText(value string, n *html.Node) string {
	var b strings.Builder
	for value != "" && b.Len() < maxGeneratedText {
		switch c := value[0]; {
		case c == '"' || c == '\'':
			end := 1
			for end < len(value) && value[end] != c {
				if value[end] == '\\' {
					end++
				}
				end++
			}
			b.WriteString(unescape(value[1:min(end, len(value))]))
			value = value[min(end+1, len(value)):]
		case strings.HasPrefix(strings.ToLower(value), "attr("):
			name, rest, _ := strings.Cut(value[len("attr("):], ")")
			b.WriteString(attr(n, strings.ToLower(strings.TrimSpace(name))))
			value = rest
		default:
			value = value[1:]
		}
	}
	return b.String()
}

// text records how a text is hidden, if it is.
func (w *walker) text(n *html.Node, own *states) {
	var v verdict
	for i := range numEnvs {
		r := own[i].reason()
		switch {
		case i == numEnvs-1:
			v.gone = r.what != ""
		case r.what == "":
			w.result.VisibleBytes += len(strings.TrimSpace(n.Data))
			return
		case i == 0:
			v.how = r
		}
	}
	if v.gone {
		w.result.GoneBytes += len(strings.TrimSpace(n.Data))
	} else {
		w.result.VisibleBytes += len(strings.TrimSpace(n.Data))
	}
	w.texts[n] = v
}

// describe returns a run of hidden text, as its first text is hidden.
func (w *walker) describe(nodes []*html.Node) Text {
	v, ok := w.texts[nodes[0]]
	for d := range nodes[0].Descendants() {
		if ok {
			break
		}
		v, ok = w.texts[d]
	}
	return Text{nodes, v.how.String(), v.how.label, v.how.skipped}
}

// group returns the runs of neighbours all of whose text is hidden, as far up in the
// document as possible.
func (w *walker) group(doc *html.Node, hidden func(verdict) bool) (list []Text) {
	var visit func(n *html.Node) (texts, away int)
	visit = func(n *html.Node) (texts, away int) {
		var runs [][]*html.Node
		last := false // the text before is hidden
		for c := range n.ChildNodes() {
			inside, hiddenInside := 0, 0
			switch {
			case c.Type == html.TextNode && strings.TrimSpace(c.Data) != "":
				inside = 1
				if v, ok := w.texts[c]; ok && hidden(v) {
					hiddenInside = 1
				}
			case c.Type == html.ElementNode && c.Namespace == "" && !isNoText(c.Data):
				inside, hiddenInside = visit(c)
			}
			texts, away = texts+inside, away+hiddenInside
			switch {
			case inside == 0:
			case inside > hiddenInside:
				last = false
			case last:
				runs[len(runs)-1] = append(runs[len(runs)-1], c)
			default:
				runs, last = append(runs, []*html.Node{c}), true
			}
		}
		if away < texts || n == doc {
			for _, run := range runs {
				list = append(list, w.describe(run))
			}
		}
		return texts, away
	}
	visit(doc)
	return list
}

package style

import (
	"slices"
	"strings"
)

// declared is the value of a property that wins on one element.
// The source is kept because evidence quotes the rule that hides a text.
type declared struct {
	weight        uint64
	value, source string
}

// values are the declared values of an element. A value is empty if the property is not set.
type values [numProperties]declared

// scope holds the custom properties of an element; those of its ancestors are in parent.
// It is a list and not a copied map: pages define hundreds of them at the root.
type scope struct {
	own    map[string]declared
	parent *scope
}

// Sources of declarations other than selectors.
const (
	fromAttribute = "attribute"
	fromStyle     = "style attribute"
)

// matched are all declarations of an element.
type matched struct {
	targets []*target
	inline  []declaration
	hints   []declaration
}

// conditional reports whether declarations differ between environments.
func (m *matched) conditional() bool {
	return slices.ContainsFunc(m.targets, func(t *target) bool { return t.envs != everywhere })
}

// cascade returns the values that win in an environment, and the custom properties.
// Declarations are compared by one number, so their order in the input does not matter.
func (s *sheet) cascade(m *matched, env int, pseudo bool, outer *scope) (v values, vars *scope) {
	vars = outer
	add := func(d *declaration, weight uint64, source string) {
		if d.important {
			weight = important(weight)
		}
		if d.property == customProperty {
			if vars == outer {
				vars = &scope{own: map[string]declared{}, parent: outer}
			}
			if weight >= vars.own[d.name].weight {
				vars.own[d.name] = declared{weight, d.value, source}
			}
			return
		}
		if at := &v[d.property]; at.value == "" || weight >= at.weight {
			*at = declared{weight, d.value, source}
		}
	}
	for i := range m.hints {
		add(&m.hints[i], 0, fromAttribute)
	}
	for _, t := range m.targets {
		if t.pseudo != pseudo || t.envs>>env&1 == 0 {
			continue
		}
		// A document that exceeds the limit is computed again from its style attributes alone.
		if s.left -= len(t.list); s.left < 0 {
			break
		}
		for i := range t.list {
			add(&t.list[i], t.weight, t.source)
		}
	}
	if !pseudo {
		for i := range m.inline {
			add(&m.inline[i], 1<<weightInline, fromStyle)
		}
	}
	s.resolve(&v, vars)
	s.animate(&v, vars)
	return v, vars
}

// resolve replaces variables by their values. A value that cannot be resolved counts as
// unset (CSS Custom Properties, section 3).
// Colors and keywords have no case, so the result is converted as other values were when parsed.
func (s *sheet) resolve(v *values, vars *scope) {
	for i := range v {
		if hasVariable(v[i].value) {
			left := maxSubstitutions
			value, ok := s.substitute(v[i].value, vars, &left)
			if !ok {
				value = "unset"
			}
			v[i].value = strings.ToLower(strings.TrimSpace(value))
		}
	}
	if c := &v[backgroundColor]; c.value != "" && isImage(c.value) {
		v[backgroundImage].value, v[backgroundImage].source, c.value = "url", c.source, "" // from background: var(--x)
	}
}

// maxAnimation limits the words of an animation: eight for each of a few.
const maxAnimation = 32

// animate applies the last frame of the element's animations, whose result remains on the
// screen: most hide text only until it moved in.
// Frames before the last are skipped, and so are delays and directions: what matters is what a
// reader sees after a while.
func (s *sheet) animate(v *values, vars *scope) {
	if v[animation].value == "" || len(s.keyframes) == 0 {
		return
	}
	parts := strings.FieldsFunc(v[animation].value, func(r rune) bool { return r == ' ' || r == ',' })
	for _, part := range parts[:min(len(parts), maxAnimation)] {
		s.left -= 1 + len(s.keyframes[part])
		for _, d := range s.keyframes[part] {
			if d.property != customProperty {
				v[d.property] = declared{value: d.value, source: part}
			}
		}
	}
	s.resolve(v, vars)
}

// chargeValues counts the bytes of the values that are computed.
func (s *sheet) chargeValues(v *values) {
	for i := range v {
		s.left -= len(v[i].value) / valueBytes
	}
}

// maxSubstitutions limits the variables of one value, including those in the values of
// variables: their text can grow exponentially, and they can contain themselves.
const maxSubstitutions = 32

// substitute replaces the variables in a value, at most as many as are left.
// The limit is shared by all levels, as "--a: var(--b) var(--b)" doubles with each of them.
func (s *sheet) substitute(value string, vars *scope, left *int) (result string, ok bool) {
	var b strings.Builder
	for {
		if s.left -= len(value) / valueBytes; s.left < 0 {
			return "", false
		}
		at := strings.Index(value, "var(")
		if at < 0 {
			b.WriteString(value)
			return b.String(), b.Len() <= maxValue
		}
		if *left--; *left < 0 || b.Len() > maxValue {
			return "", false
		}
		b.WriteString(value[:at])
		inner := selectorParser{rest: value[at+len("var"):]}
		args, closed := inner.enclosed('(', ')')
		if !closed {
			return "", false
		}
		value = inner.rest
		name, fallback, hasFallback := strings.Cut(args, ",")
		found, set := s.lookup(strings.ToLower(strings.TrimSpace(name)), vars)
		if !set && !hasFallback {
			return "", false
		}
		if !set {
			found = fallback
		}
		text, ok := s.substitute(found, vars, left)
		if !ok {
			return "", false
		}
		b.WriteString(text)
	}
}

// lookup returns the value of a custom property.
func (s *sheet) lookup(name string, vars *scope) (value string, ok bool) {
	for ; vars != nil; vars = vars.parent {
		if s.left--; s.left < 0 {
			break
		}
		if d, ok := vars.own[name]; ok && d.value != "initial" {
			return d.value, true
		}
	}
	return "", false
}

// hintsOf returns the presentational attributes of an element as declarations (HTML,
// section 15.3).
// Old pages hide text by bgcolor and font color, which browsers still honor.
func hintsOf(e *element) (list []declaration) {
	n := e.node
	add := func(p property, value string) {
		value = strings.ToLower(strings.TrimSpace(value))
		if c := parseColor(value); c.known {
			list = append(list, declaration{property: p, value: value})
		} else if c := parseHex(value); c.known {
			list = append(list, declaration{property: p, value: "#" + value})
		}
	}
	for _, a := range n.Attr {
		switch {
		case a.Key == "bgcolor" && strings.Contains(" body table thead tbody tfoot tr td th ", " "+n.Data+" "):
			add(backgroundColor, a.Val)
		case a.Key == "color" && e.tag == "font", a.Key == "text" && n.Data == "body":
			add(textColor, a.Val)
		case a.Key == "background" && n.Data == "body" && a.Val != "":
			list = append(list, declaration{property: backgroundImage, value: "url"})
		}
	}
	return list
}

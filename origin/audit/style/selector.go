package style

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Limits of one selector. People and tools write fewer than ten compounds; a selector that
// exceeds a limit is ignored.
// The limits bound what a hostile style sheet costs.
const (
	maxCompounds = 24
	maxSimple    = 16 // of one compound
	maxInner     = 4  // depth of selectors inside :is and :not
)

// compound is what one element must have: a type, an id, classes and so on.
type compound struct {
	tag, id string
	classes []string
	attrs   []attribute
	first   bool     // :first-child
	last    bool     // :last-child
	nth     [][2]int // :nth-child(an+b)
	nthType [][2]int // :nth-of-type(an+b)
	link    bool     // :link
	langs   []string // :lang
	any     [][]int  // :is: of each list one step must match
	none    []int    // :not: no step may match
}

// attribute is a condition on an attribute.
type attribute struct {
	name, op, value string
	fold            bool // ignore case
}

// target is what a selector applies.
// It is shared by all elements that match.
type target struct {
	list   []declaration
	envs   envs
	weight uint64 // of its declarations that are not important
	source string // the selector
	pseudo bool   // ::before or ::after
}

// selectorParser parses a complex selector (Selectors Level 4).
// It is one pass without going back, so its time is linear.
type selectorParser struct {
	m           *matcher
	rest        string
	envs        envs
	specificity [3]int
	pseudo      bool
	depth       int
	bad         bool
}

// parse reads compounds up to the end and returns the step of the last, -1 if the selector
// is not valid or can match nothing.
// Equal compounds after equal steps are one step, so a thousand rules with a common beginning
// share it.
func (p *selectorParser) parse() (step int) {
	step = noStep
	combinator := byte(' ')
	for range maxCompounds {
		p.rest = strings.TrimLeft(p.rest, " ")
		c, key := p.compound()
		if p.bad || p.m.full() {
			return noStep
		}
		step = p.m.addStep(step, combinator, c, key)
		after := strings.TrimLeft(p.rest, " ")
		if after == "" {
			return step
		}
		if combinator = after[0]; combinator == '>' || combinator == '+' || combinator == '~' {
			p.rest = after[1:]
		} else if combinator = ' '; len(after) == len(p.rest) || p.pseudo {
			return noStep
		}
	}
	return noStep
}

// compound reads a compound selector. key is its text.
// The text is the key by which equal compounds share a step.
func (p *selectorParser) compound() (c compound, key string) {
	start := p.rest
	for n := 0; p.rest != "" && !p.bad; n++ {
		if n > maxSimple {
			p.bad = true
			break
		}
		switch p.rest[0] {
		case ' ', '>', '+', '~':
			return c, p.finish(start)
		case '*':
			p.rest = p.rest[1:]
		case '.':
			c.classes = append(c.classes, p.ident(1))
			p.specificity[1]++
		case '#':
			c.id = p.ident(1)
			p.specificity[0]++
		case '[':
			p.attribute(&c)
		case ':':
			p.pseudoSelector(&c)
		default:
			c.tag = strings.ToLower(p.ident(0))
			p.specificity[2]++
		}
	}
	return c, p.finish(start)
}

// finish returns the text of a compound.
// An empty compound makes the selector invalid, as in "a > > b".
func (p *selectorParser) finish(start string) string {
	text := start[:len(start)-len(p.rest)]
	p.bad = p.bad || text == ""
	return text
}

// ident reads an identifier after skip bytes.
// Escapes are resolved (CSS Syntax, 4.3.7).
func (p *selectorParser) ident(skip int) string {
	end := skip
	for end < len(p.rest) {
		switch c := p.rest[end]; {
		case c == '\\':
			_, size := escaped(p.rest[end:])
			end += size
			continue
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c >= 0x80:
			end++
			continue
		}
		break
	}
	name := unescape(p.rest[skip:end])
	p.bad = p.bad || end == skip
	p.rest = p.rest[end:]
	return name
}

// attribute reads an attribute selector.
// Values are compared as HTML has them; names in lower case.
func (p *selectorParser) attribute(c *compound) {
	inner, ok := p.enclosed('[', ']')
	if !ok {
		return
	}
	p.specificity[1]++
	a := attribute{}
	at := strings.IndexByte(inner, '=')
	if at < 0 {
		a.name = strings.ToLower(unescape(strings.TrimSpace(inner)))
		c.attrs = append(c.attrs, a)
		return
	}
	a.op = "="
	name, value := inner[:at], strings.TrimSpace(inner[at+1:])
	// The operator is the last character before the equals sign.
	if name != "" && strings.IndexByte("~|^$*", name[len(name)-1]) >= 0 {
		a.op, name = name[len(name)-1:]+"=", name[:len(name)-1]
	}
	if rest, ok := strings.CutSuffix(value, " i"); ok {
		a.fold, value = true, strings.ToLower(strings.TrimSpace(rest))
	}
	a.name = strings.ToLower(unescape(strings.TrimSpace(name)))
	a.value = unescape(strings.Trim(value, `"'`))
	c.attrs = append(c.attrs, a)
}

// enclosed reads text in brackets.
// Brackets within strings do not count. Text without its end makes the selector invalid.
func (p *selectorParser) enclosed(open, end byte) (inner string, ok bool) {
	depth, quote := 0, byte(0)
	for i := 0; i < len(p.rest); i++ {
		switch c := p.rest[i]; {
		case c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == open:
			depth++
		case c == end:
			if depth--; depth == 0 {
				inner, p.rest = p.rest[1:i], p.rest[i+1:]
				return inner, true
			}
		}
	}
	p.bad = true
	return "", false
}

// pseudoSelector reads a pseudo-class or a pseudo-element.
func (p *selectorParser) pseudoSelector(c *compound) {
	element := strings.HasPrefix(p.rest, "::")
	skip := 1
	if element {
		skip = 2
	}
	name := strings.ToLower(p.ident(skip))
	inner := ""
	if strings.HasPrefix(p.rest, "(") {
		inner, _ = p.enclosed('(', ')')
	}
	switch {
	case name == "before" || name == "after":
		p.pseudo = true
		p.specificity[2]++
		return
	case element || name == "first-line" || name == "first-letter" || strings.HasPrefix(name, "host"):
		p.bad = true // styles no element
		return
	}
	if name != "where" && name != "is" && name != "not" && name != "matches" {
		p.specificity[1]++
	}
	p.pseudoClass(c, name, inner)
}

// pseudoClass reads a pseudo-class. One that depends on a state, or that is not known,
// limits the selector to the environment in which elements have every state.
// Treating the unknown as a state is the safe side: such a rule may show text, and never hides it
// for certain.
func (p *selectorParser) pseudoClass(c *compound, name, inner string) {
	switch name {
	case "root", "scope":
		p.bad = p.bad || c.tag != "" && c.tag != "html"
		c.tag = "html"
	case "first-child":
		c.first = true
	case "last-child":
		c.last = true
	case "only-child":
		c.first, c.last = true, true
	case "link", "any-link":
		c.link = true
	case "nth-child", "nth-of-type":
		a, b, ok := parseNth(inner)
		switch {
		case !ok:
			p.envs &= onlyState
		case name == "nth-child":
			c.nth = append(c.nth, [2]int{a, b})
		default:
			c.nthType = append(c.nthType, [2]int{a, b})
		}
	case "is", "where", "matches", "-webkit-any":
		steps, set := p.inner(inner, name != "where")
		p.envs &= set
		c.any = append(c.any, steps)
	case "not":
		steps, set := p.inner(inner, true)
		if set == onlyState {
			p.envs &= atRest // what no state excludes
		}
		c.none = append(c.none, steps...)
	case "first-of-type":
		c.nthType = append(c.nthType, [2]int{0, 1})
	case "lang":
		c.langs = append(c.langs, strings.ToLower(strings.Trim(inner, `"' `)))
	case "enabled", "read-only", "defined": // no condition for the text of a document
	default:
		p.envs &= onlyState
	}
}

// inner reads a list of selectors as an argument. set is onlyState if all of them depend on
// a state, everywhere otherwise.
// Selectors nested too deeply are left out as if they matched nothing.
func (p *selectorParser) inner(list string, counts bool) (steps []int, set envs) {
	set = onlyState
	best := [3]int{}
	parts := splitList(list)
	for _, text := range parts {
		in := selectorParser{m: p.m, rest: text, envs: everywhere, depth: p.depth + 1}
		if in.depth > maxInner {
			continue
		}
		step := in.parse()
		if in.envs == onlyState || step == noStep || in.pseudo {
			continue
		}
		set = everywhere
		steps = append(steps, p.m.refer(step))
		if slices.Compare(in.specificity[:], best[:]) > 0 {
			best = in.specificity
		}
	}
	if counts {
		for i := range best {
			p.specificity[i] += best[i]
		}
	}
	if len(parts) == 0 {
		p.bad = true
	}
	return steps, set
}

// parseNth parses an+b.
func parseNth(s string) (a, b int, ok bool) {
	s = strings.ReplaceAll(strings.ToLower(s), " ", "")
	switch s {
	case "odd":
		return 2, 1, true
	case "even":
		return 2, 0, true
	}
	before, after, hasN := strings.Cut(s, "n")
	if !hasN {
		b, err := strconv.Atoi(s)
		return 0, b, err == nil
	}
	switch before {
	case "", "+":
		a = 1
	case "-":
		a = -1
	default:
		n, err := strconv.Atoi(before)
		if err != nil {
			return 0, 0, false
		}
		a = n
	}
	if after == "" {
		return a, 0, true
	}
	b, err := strconv.Atoi(after)
	return a, b, err == nil && b > math.MinInt32 && b < math.MaxInt32
}

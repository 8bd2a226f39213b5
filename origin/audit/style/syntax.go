package style

import (
	"bytes"
	"strings"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/css"
)

// The limits of the style of a document. Bootstrap 4, a large style sheet that sites use as a
// whole, has 202 kB, 1,900 selectors and 4,200 declarations. The style elements of a document
// that exceeds one of the first four do not count at all: a part of them could hide what
// another part shows.
const (
	maxSheetBytes   = 1 << 20 // of all style elements
	maxSelectors    = 20_000
	maxDeclarations = 60_000
	maxExpanded     = 4 << 20 // bytes of the selectors of nested rules, which multiply

	maxPrelude = 4 << 10 // bytes of a selector list or a media query
	maxValue   = 1 << 10 // bytes of a value; longer ones are images in data URLs
	maxNesting = 16      // depth of blocks
	maxNested  = 64      // selectors of one nested rule
	maxLayers  = 1_000
	maxFrame   = 32 // declarations of the last frame of an animation
)

// declaration is one property of a rule.
type declaration struct {
	property  property
	name      string // of a custom property
	value     string // lower case, except content and custom properties
	important bool
}

// sheet is the style of a document: what its style elements contain.
type sheet struct {
	*matcher
	keyframes    map[string][]declaration // of the last frame of each animation
	layers       map[string]int           // order of the layers, from 1
	order        int                      // of rules
	imports      bool                     // the sheet imports another
	declarations int
	bytes        int
	expanded     int // bytes of selectors of nested rules
}

func newSheet() *sheet {
	return &sheet{matcher: newMatcher(), keyframes: map[string][]declaration{}, layers: map[string]int{}}
}

// block is the context of a list of rules.
type block struct {
	envs    envs     // in which its rules apply
	layer   string   // "" outside of layers
	parents []string // selectors that contain the block, for nested rules
	depth   int
}

// add parses a style element. media is its media attribute.
func (s *sheet) add(src, media string) {
	if s.bytes += len(src); s.bytes > maxSheetBytes {
		s.excess = true
		return
	}
	p := newParser(src, s)
	p.rules(block{envs: mediaEnvs(media)})
}

// parseInline parses a style attribute.
func parseInline(style string) []declaration {
	p := newParser(style, &sheet{matcher: &matcher{}})
	p.inline = true
	return p.body(block{})
}

// parser reads CSS as CSS Syntax Module Level 3, section 5, with the tokens of a library.
// The library's own parser of rules is not used: it drops what is invalid in another way than
// browsers do.
type parser struct {
	lexer  *css.Lexer
	sheet  *sheet
	inline bool // a style attribute, which has declarations only
	kind   css.TokenType
	data   []byte
}

func newParser(src string, s *sheet) *parser {
	// The lexer ends at a zero byte, for which CSS Syntax, section 3.3, has U+FFFD.
	src = strings.ReplaceAll(src, "\x00", "\uFFFD")
	p := &parser{lexer: css.NewLexer(parse.NewInputBytes([]byte(src))), sheet: s}
	p.next()
	return p
}

// next reads a token and skips comments.
func (p *parser) next() {
	for {
		if p.kind, p.data = p.lexer.Next(); p.kind != css.CommentToken {
			return
		}
	}
}

// rules reads the rules up to the end of the block or the input.
func (p *parser) rules(b block) {
	for p.kind != css.ErrorToken {
		switch p.kind {
		case css.RightBraceToken:
			if b.depth > 0 {
				return
			}
			p.next() // belongs to the rule after it, which is therefore not valid
			if _, end := p.prelude(false); end == css.LeftBraceToken {
				p.next()
				p.skip()
			}
		case css.WhitespaceToken, css.CDOToken, css.CDCToken:
			p.next()
		case css.AtKeywordToken:
			p.atRule(b)
		default:
			if prelude, end := p.prelude(false); end == css.LeftBraceToken {
				p.rule(prelude, b)
			}
		}
	}
}

// prelude reads tokens up to a brace, or to a semicolon if one ends it, and returns them as
// one text, "" if it is too long. It stops at the token that ends it, except a semicolon.
// It goes on to the end also when the text is too long, so that what follows is read correctly.
func (p *parser) prelude(semicolon bool) (text string, end css.TokenType) {
	var b bytes.Buffer
	open := 0 // brackets
	for {
		switch p.kind {
		case css.ErrorToken:
			return trimmed(&b), css.ErrorToken
		case css.LeftParenthesisToken, css.LeftBracketToken, css.FunctionToken:
			open++
		case css.RightParenthesisToken, css.RightBracketToken:
			open = max(open-1, 0)
		case css.LeftBraceToken:
			if open == 0 {
				return trimmed(&b), css.LeftBraceToken
			}
		case css.RightBraceToken:
			return trimmed(&b), css.RightBraceToken
		case css.SemicolonToken:
			if semicolon && open == 0 {
				p.next()
				return trimmed(&b), css.SemicolonToken
			}
		}
		switch {
		case b.Len() > maxPrelude:
		case p.kind == css.WhitespaceToken:
			b.WriteByte(' ')
		default:
			b.Write(p.data)
		}
		p.next()
	}
}

func trimmed(b *bytes.Buffer) string {
	if b.Len() > maxPrelude {
		return ""
	}
	return strings.TrimSpace(b.String())
}

// rule reads the block of a rule with these selectors.
func (p *parser) rule(prelude string, b block) {
	p.next() // the brace
	if b.depth >= maxNesting || p.inline {
		p.skip()
		return
	}
	b.depth++
	b.parents = p.sheet.nest(b.parents, prelude)
	p.declare(b)
	p.closeBlock()
}

// declare reads declarations and adds them to the selectors of the block. Rules nested in it
// come after them.
func (p *parser) declare(b block) {
	p.sheet.order++
	t := target{envs: b.envs, weight: weigh(p.sheet.layer(b.layer), p.sheet.order)}
	if t.list = p.body(b); len(t.list) == 0 {
		return
	}
	for _, text := range b.parents {
		p.sheet.addSelector(text, t)
	}
}

// closeBlock reads the brace that ends a block.
func (p *parser) closeBlock() {
	if p.kind == css.RightBraceToken {
		p.next()
	}
}

// skip reads a block to its end.
func (p *parser) skip() {
	for depth := 1; p.kind != css.ErrorToken && depth > 0; p.next() {
		switch p.kind {
		case css.LeftBraceToken:
			depth++
		case css.RightBraceToken:
			depth--
		}
	}
}

// body reads the declarations of a rule and the rules nested in it (CSS Nesting Module).
// A limit on declarations ends the sheet, not the rule: the time of a document is what is bounded.
func (p *parser) body(b block) (list []declaration) {
	for p.kind != css.ErrorToken && p.kind != css.RightBraceToken {
		switch p.kind {
		case css.WhitespaceToken, css.SemicolonToken:
			p.next()
		case css.AtKeywordToken:
			p.atRule(b)
		default:
			text, end := p.prelude(true)
			if end == css.LeftBraceToken {
				p.rule(text, b)
				continue
			}
			if p.sheet.declarations++; p.sheet.declarations > maxDeclarations {
				p.sheet.excess = true
				return nil
			}
			list = append(list, parseDeclaration(text)...)
		}
	}
	return list
}

// atRule reads an at-rule.
// Imported sheets are other files, which are not read.
func (p *parser) atRule(b block) {
	name := strings.ToLower(string(p.data[1:]))
	p.next()
	prelude, end := p.prelude(true)
	if end != css.LeftBraceToken {
		switch {
		case name == "import":
			p.sheet.imports = true
		case name == "layer" && !p.inline:
			for l := range strings.SplitSeq(prelude, ",") {
				p.sheet.layer(strings.TrimSpace(l))
			}
		}
		return
	}
	p.next() // the brace
	ok := b.depth < maxNesting && !p.inline
	b.depth++
	switch {
	case !ok:
	case name == "media":
		b.envs &= mediaEnvs(prelude)
	case name == "container":
		b.envs &= onlyState
	case name == "supports":
		// Browsers support what a page asks for, and what it asks for not to be supported.
		ok = !strings.HasPrefix(strings.ToLower(prelude), "not")
	case name == "layer":
		if b.layer != "" {
			prelude = b.layer + "." + prelude
		}
		b.layer = prelude
	case strings.HasSuffix(name, "keyframes"):
		p.readKeyframes(strings.ToLower(strings.Trim(prelude, `"'`)), b)
		p.closeBlock()
		return
	default: // @font-face, @page, @property; @scope and @starting-style depend on a state
		ok = false
	}
	switch {
	case !ok:
		p.skip()
		return
	case len(b.parents) > 0:
		p.declare(b)
	default:
		p.rules(b)
	}
	p.closeBlock()
}

// readKeyframes reads the frames of an animation and keeps the last.
func (p *parser) readKeyframes(name string, b block) {
	for p.kind != css.ErrorToken && p.kind != css.RightBraceToken {
		prelude, end := p.prelude(false)
		if end != css.LeftBraceToken {
			return
		}
		p.next()
		list := p.body(b)
		p.closeBlock()
		for at := range strings.SplitSeq(prelude, ",") {
			if at = strings.TrimSpace(at); at == "to" || at == "100%" {
				p.sheet.keyframes[name] = list[:min(len(list), maxFrame)]
			}
		}
	}
}

// layer returns the order of a cascade layer. Declarations outside of layers win.
// Layers beyond the limit share the order 0 and lose to all others.
func (s *sheet) layer(name string) int {
	if name == "" {
		return maxLayers
	}
	if n, ok := s.layers[name]; ok || len(s.layers) == maxLayers-1 {
		return n
	}
	n := len(s.layers) + 1
	s.layers[name] = n
	return n
}

// nest returns the selectors of a rule inside one with these parents.
// Nesting multiplies selectors, hence the two limits.
func (s *sheet) nest(parents []string, prelude string) (list []string) {
	own := splitList(prelude)
	if len(parents) == 0 {
		return own
	}
	for _, parent := range parents {
		for _, text := range own {
			if text = nested(parent, text); len(list) == maxNested || s.excess {
				return list
			}
			s.expanded += len(text)
			s.excess = s.excess || s.expanded > maxExpanded
			list = append(list, text)
		}
	}
	return list
}

// nested returns a selector inside of a rule with another, "" if it is too long.
func nested(parent, text string) string {
	n := strings.Count(text, "&")
	switch {
	case len(text)+max(n, 1)*len(parent) > maxPrelude:
		return ""
	case n > 0:
		return strings.ReplaceAll(text, "&", parent)
	}
	return parent + " " + text
}

// splitList splits at the commas outside of brackets and strings.
func splitList(s string) (list []string) { return splitAt(s, ',') }

// splitAt splits at a separator outside of brackets and strings, without empty parts.
func splitAt(s string, separator byte) (list []string) {
	depth, start, quote := 0, 0, byte(0)
	add := func(end int) {
		if part := strings.TrimSpace(s[start:end]); part != "" {
			list = append(list, part)
		}
		start = end + 1
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth--
		case c == separator && depth == 0:
			add(i)
		}
	}
	if start < len(s) {
		add(len(s))
	}
	return list
}

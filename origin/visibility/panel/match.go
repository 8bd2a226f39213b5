package panel

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// nearWords is how many words may be between an alias that is a common word and the evidence for it.
const nearWords = 12

// Reading is what was found in an answer about the brands of a panel. Brands are indexes.
type Reading struct {
	Text     string // of the answer, without Markdown
	Mentions []Span // in order; the first of each brand counts
	Misses   []Span // texts of an alias that do not count
	Order    []int  // brands that are named, by their first mention
	Cited    []int  // brands whose domain is cited
	// HasCitation reports whether the answer cites any address that can be attributed.
	HasCitation bool
	Retrieved   []int // brands whose domain the engine read
	Statements  []Statement
}

// Span is a place in Reading.Text.
type Span struct {
	Brand, From, To int
	Reason          string // why it does not count
}

// Statement is a fact that an answer states.
type Statement struct {
	Brand int
	Fact  string
	Right bool
}

// Matcher reads answers. It is safe for concurrent use.
type Matcher struct {
	brands  []Brand
	aliases []compiled
	domains map[string]int
}

// compiled is an alias in the form that is compared.
type compiled struct {
	brand           int
	text            string
	alias           Alias
	near, not, ends []string
	openLeft        bool // its edge is in a script without spaces: any neighbour will do
	openRight       bool
}

// suffixes are the endings of names by language that follow without an apostrophe: the genitive. Other
// languages have theirs in the panel.
var suffixes = map[string][]string{"de": {"s"}, "sv": {"s"}, "da": {"s"}, "nb": {"s"}}

// New returns a Matcher for a panel that Check accepts, and the language of the answers as a primary subtag.
func New(brands []Brand, language string) *Matcher {
	m := &Matcher{brands: brands, domains: map[string]int{}}
	for i, b := range brands {
		for _, d := range b.Domains {
			m.domains[d] = i
		}
		for _, a := range b.Aliases {
			c := compiled{brand: i, text: normalize(a.Text).text, alias: a, near: normalizeAll(a.Near),
				not: normalizeAll(a.Not), ends: normalizeAll(a.Suffixes)}
			languages := a.Languages
			// Suffixes belong to a language; an alias without its own has that of the answers.
			if len(languages) == 0 {
				languages = []string{language}
			}
			for _, l := range languages {
				c.ends = append(c.ends, suffixes[l]...)
			}
			first, _ := utf8.DecodeRuneInString(c.text)
			last, _ := utf8.DecodeLastRuneInString(c.text)
			c.openLeft, c.openRight = isSpaceless(first), isSpaceless(last)
			m.aliases = append(m.aliases, c)
		}
	}
	return m
}

// normalizeAll prepares phrases as texts are prepared, so that both compare as bytes.
func normalizeAll(list []string) []string {
	all := make([]string, len(list))
	for i, s := range list {
		all[i] = normalize(s).text
	}
	return all
}

// Read reads an answer: its Markdown, the addresses it cites, and those the engine retrieved.
func (m *Matcher) Read(markdown string, cited, retrieved []string) Reading {
	r := Reading{Text: Plain(markdown)}
	r.Cited, r.HasCitation = m.owners(cited)
	r.Retrieved, _ = m.owners(retrieved)
	n := normalize(r.Text)
	var found []Span
	for i := range m.aliases {
		hits, misses := m.aliases[i].find(&n, slices.Contains(r.Cited, m.aliases[i].brand))
		found, r.Misses = append(found, hits...), append(r.Misses, misses...)
	}
	found, covered := longest(found)
	r.Misses = append(r.Misses, covered...)
	for _, s := range found {
		if !slices.Contains(r.Order, s.Brand) {
			r.Order = append(r.Order, s.Brand)
		}
	}
	r.Statements = m.statements(&n, found)
	r.Mentions = inSource(&n, found)
	// A place within a mention of the same brand is counted already, so it is no miss.
	r.Misses = inSource(&n, slices.DeleteFunc(r.Misses, func(s Span) bool {
		return slices.ContainsFunc(found, func(f Span) bool {
			return f.Brand == s.Brand && f.From <= s.From && s.To <= f.To
		})
	}))
	return r
}

// Branded returns the slug of a brand that a question names, or an empty string. Conditions of aliases do not
// apply: a question that may name a brand is not neutral. The leftmost label of a domain is a name too.
func (m *Matcher) Branded(question string) string {
	n := normalize(question)
	for i := range m.aliases {
		c := m.aliases[i]
		c.alias, c.not = Alias{}, nil
		if hits, _ := c.find(&n, false); len(hits) > 0 {
			return m.brands[c.brand].Slug
		}
	}
	for domain, i := range m.domains {
		label, _, _ := strings.Cut(domain, ".")
		c := compiled{brand: i, text: normalize(label).text}
		if hits, _ := c.find(&n, false); len(hits) > 0 {
			return m.brands[i].Slug
		}
	}
	return ""
}

// find returns where a text has the alias, and where it has its characters without naming the brand.
func (c *compiled) find(n *normalized, cited bool) (hits, misses []Span) {
	for from := 0; ; {
		i := strings.Index(n.text[from:], c.text)
		if i < 0 {
			return hits, misses
		}
		s := Span{Brand: c.brand, From: from + i, To: from + i + len(c.text)}
		_, size := utf8.DecodeRuneInString(n.text[s.From:])
		// From the next character on, because places can overlap.
		from = s.From + size
		if s.Reason = c.refuse(n, s, cited); s.Reason != "" {
			misses = append(misses, s)
		} else {
			hits = append(hits, s)
		}
	}
}

// refuse returns why a place does not name the brand, or an empty string.
func (c *compiled) refuse(n *normalized, s Span, cited bool) string {
	before, _ := utf8.DecodeLastRuneInString(n.text[:s.From])
	switch {
	// Scripts without spaces have no ends of words, so only their aliases may begin or end within letters.
	case s.From > 0 && !c.openLeft && isWordRune(before), !c.openRight && !c.ended(n.text[s.To:]):
		return "part of a longer word"
	case slices.ContainsFunc(c.not, func(p string) bool { return within(n.text, s, p) }):
		return "near a phrase that excludes it"
	}
	if c.alias.Case || c.alias.Kind == KindWord {
		if got := n.original(s.From, s.To); !sameCase(got, c.alias.Text) {
			return "in another case"
		}
	}
	if c.alias.Kind == KindWord && !cited &&
		!slices.ContainsFunc(c.near, func(p string) bool { return within(n.text, s, p) }) {
		return "a common word without a word that belongs to the brand"
	}
	return ""
}

// sameCase compares without the kind of apostrophes, dashes and spaces, which normalize unites.
func sameCase(got, want string) bool {
	letters := func(s string) []rune {
		return slices.DeleteFunc([]rune(s), func(r rune) bool { return !isLetterOrDigit(r) })
	}
	return slices.Equal(letters(got), letters(want))
}

// ended reports whether a word ends before rest, or after a suffix at its beginning. An apostrophe ends a word,
// so endings after one need no suffix.
func (c *compiled) ended(rest string) bool {
	isEnd := func(s string) bool {
		r, _ := utf8.DecodeRuneInString(s)
		return s == "" || !isWordRune(r)
	}
	return isEnd(rest) || slices.ContainsFunc(c.ends, func(end string) bool {
		tail, ok := strings.CutPrefix(rest, end)
		return ok && isEnd(tail)
	})
}

// isWordRune counts marks, because they belong to the letter before them.
func isWordRune(r rune) bool { return isLetterOrDigit(r) || unicode.IsMark(r) }

// within reports whether a phrase is within nearWords words of a place, in the same block of text.
func within(text string, s Span, phrase string) bool {
	from, to := s.From, s.To
	// A line break ends a block: words of another heading or item of a list are no context.
	for words := 0; from > 0 && text[from-1] != '\n'; from-- {
		if text[from-1] == ' ' {
			if words++; words > nearWords {
				break
			}
		}
	}
	for words := 0; to < len(text) && text[to] != '\n'; to++ {
		if text[to] == ' ' {
			if words++; words > nearWords {
				break
			}
		}
	}
	// The phrase must be whole words, as an alias must be.
	window := compiled{text: phrase}
	first, _ := utf8.DecodeRuneInString(phrase)
	last, _ := utf8.DecodeLastRuneInString(phrase)
	window.openLeft, window.openRight = isSpaceless(first), isSpaceless(last)
	hits, _ := window.find(&normalized{text: text[from:to]}, false)
	return len(hits) > 0
}

// longest keeps the longest of spans that overlap, and returns them in order of place.
func longest(spans []Span) (kept, covered []Span) {
	// The longest first: a name within a longer one does not name its brand.
	slices.SortFunc(spans, func(a, b Span) int {
		return cmp.Or(cmp.Compare(b.To-b.From, a.To-a.From), cmp.Compare(a.From, b.From), cmp.Compare(a.Brand, b.Brand))
	})
	for _, s := range spans {
		if slices.ContainsFunc(kept, func(k Span) bool { return s.From < k.To && k.From < s.To }) {
			s.Reason = "part of a longer name"
			covered = append(covered, s)
			continue
		}
		kept = append(kept, s)
	}
	slices.SortFunc(kept, func(a, b Span) int { return cmp.Compare(a.From, b.From) })
	return kept, covered
}

// inSource returns spans with places in the source.
func inSource(n *normalized, spans []Span) []Span {
	for i := range spans {
		spans[i].From, spans[i].To = n.at[spans[i].From], n.at[spans[i].To]
	}
	return spans
}

// statements returns the facts that sentences with the name of a brand state. A fact with right and wrong
// statements in one answer is not counted.
func (m *Matcher) statements(n *normalized, mentions []Span) (all []Statement) {
	// Only in sentences with the name: the next sentence is often about a competitor.
	for i, b := range m.brands {
		for _, f := range b.Facts {
			right, wrong := false, false
			for _, s := range mentions {
				if s.Brand == i {
					sentence := sentenceOf(n.text, s)
					right = right || has(sentence, f.Right)
					wrong = wrong || has(sentence, f.Wrong)
				}
			}
			if right != wrong {
				all = append(all, Statement{i, f.ID, right})
			}
		}
	}
	return all
}

// has reports whether a sentence has one of the phrases of a near or not condition.
func has(sentence string, texts []string) bool {
	for _, p := range normalizeAll(texts) {
		if hits, _ := (&compiled{text: p}).find(&normalized{text: sentence}, false); len(hits) > 0 {
			return true
		}
	}
	return false
}

// sentenceEnds are the characters after which a sentence ends if a space follows.
const sentenceEnds = ".!?"

// sentenceOf returns the sentence around a place.
func sentenceOf(text string, s Span) string {
	// A full stop without a space belongs to a number or an address; the marks of Chinese and Japanese need no space.
	isEnd := func(i int) bool {
		return text[i] == '\n' ||
			strings.IndexByte(sentenceEnds, text[i]) >= 0 && (i+1 == len(text) || text[i+1] == ' ') ||
			strings.HasPrefix(text[i:], "。") || strings.HasPrefix(text[i:], "！") ||
			strings.HasPrefix(text[i:], "？")
	}
	from, to := s.From, s.To
	for from > 0 && !isEnd(from-1) && !strings.HasSuffix(text[:from], "。") {
		from--
	}
	for to < len(text) && !isEnd(to) {
		to++
	}
	return text[from:to]
}

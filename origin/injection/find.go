package injection

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind is what a text tries to do with a model.
type Kind string

// The kinds, the most severe first.
const (
	Override     Kind = "override"     // replaces the model's instructions or its role
	Exfiltration Kind = "exfiltration" // makes it reveal or send what it must not, or deceive its user
	ChatToken    Kind = "chat_token"   // imitates the structure of a conversation
	Promotion    Kind = "promotion"    // demands praise of the brand, or silence about others
	Steering     Kind = "steering"     // says what to prefer, without praise
)

// severity orders kinds; the most severe of two that overlap is reported.
var severity = map[Kind]int{Override: 0, Exfiltration: 1, ChatToken: 2, Promotion: 3, Steering: 4}

// Limits of the result.
const (
	MaxMatches = 100 // per text: more would only repeat the verdict
	MaxWords   = 160 // code points of Match.Words
)

// Match is text that is written to steer a model.
type Match struct {
	Kind       Kind
	Words      string // the matched words, verbatim but without invisible characters, at most MaxWords
	Start, End int    // bytes of the text
	Line       int    // of Start, from 1
}

// Detector finds prompt injection in the texts of one brand. It is immutable and safe
// for concurrent use.
type Detector struct{ names *index }

// maxNames limits the names of a brand that are compared.
const maxNames = 16

// New returns a Detector for a brand with these names.
func New(names ...string) *Detector {
	d := &Detector{names: newIndex()}
	for _, name := range names[:min(len(names), maxNames)] {
		name = strings.ReplaceAll(name, "*", " ")
		if utf8.RuneCountInString(name) >= minInflected {
			name += "*"
		}
		d.names.add(anyLanguage, cBrand, name)
	}
	return d
}

// minInflected is the length from which a name may have an ending, as in Finnish or
// Hungarian.
const minInflected = 4

// Audience is for whom a text is written.
type Audience int

// A page is written for people: an order on it must name the model that it addresses. An
// llms.txt is written for models, so that every order in it is one to a model.
const (
	People Audience = iota
	Models
)

// Find returns the matches in text, in order, at most MaxMatches.
func (d *Detector) Find(text string, audience Audience) []Match {
	if len(text) > maxText {
		text = text[:maxText]
	}
	f := &finder{text: text, names: d.names, audience: audience}
	f.chatTokens()
	sc := &scanner{text: text}
	for len(f.found) < 2*MaxMatches {
		sentence := sc.next()
		if sentence == nil {
			break
		}
		f.read(sentence)
		sc.overlap()
	}
	return f.matches()
}

// finder examines one text.
type finder struct {
	text     string
	names    *index
	audience Audience
	found    []Match
	about    int8 // whether the text is about prompt injection: 0 not known, 1 yes, -1 no
	scope    int  // how many sentences an addressee named before still covers
	spans    []span
	order    order
}

// read examines a sentence.
func (f *finder) read(sentence []token) {
	if sentence[0].flags&heading != 0 {
		f.scope = 0
	}
	before := len(f.found)
	scope := f.examine(sentence)
	if len(f.found) == before {
		if whole := joined(sentence); whole != nil {
			scope = max(scope, f.examine(whole))
		}
	}
	f.scope = max(scope, f.scope-1)
}

// examine applies the rules of every language with an order in the sentence, and returns
// for how many of the next sentences it names the addressee.
func (f *finder) examine(sentence []token) (scope int) {
	f.spans = f.spans[:0]
	x := lexicon()
	for i := range sentence {
		f.spans = x.find(f.spans, sentence, i)
		f.spans = f.names.find(f.spans, sentence, i)
	}
	var known [64]concept // what the sentence has in each language
	for _, s := range f.spans {
		known[s.language] |= s.means
	}
	for i := range languages {
		if i == anyLanguage || !f.matters(known[i], known[i]|known[anyLanguage]) {
			continue
		}
		f.order.reset(f, sentence, i)
		f.order.apply()
		scope = max(scope, f.order.scope())
	}
	return scope
}

// matters reports whether a sentence with these words of a language, or these together
// with words of all languages, can be a match or introduce an addressee.
func (f *finder) matters(own, known concept) bool {
	switch {
	case own&(cIgnore|cVoid) != 0 && known&(cRules|cSecret|cEarlier) != 0,
		own&cReveal != 0 && known&(cSecret|cData) != 0,
		own&cConceal != 0 && known&cUser != 0,
		own&cRole != 0 && known&(cFree|cModel|cBrand) != 0,
		own&cNever != 0 && known&(cRival|cBrand) != 0,
		own&(cRecommend|cSay) != 0 && known&(cBrand|cOurs) != 0,
		own&cPrefer != 0 && (f.audience == Models || f.scope > 0 || known&addressees != 0):
		return true
	}
	return known&addressees != 0 && own&cIntro != 0
}

// add records a match of some tokens.
func (f *finder) add(kind Kind, sentence []token, start, end int) {
	f.found = append(f.found, Match{Kind: kind, Start: sentence[start].start, End: sentence[end-1].end})
}

// isAbout reports whether the text is about prompt injection, so that what it quotes is
// an example.
func (f *finder) isAbout() bool {
	if f.about == 0 {
		f.about = -1
		sc := &scanner{text: f.text}
		var spans []span
		for sentence := sc.next(); sentence != nil && f.about < 0; sentence = sc.next() {
			for i := range sentence {
				spans = lexicon().find(spans[:0], sentence, i)
				if slices.ContainsFunc(spans, func(s span) bool { return s.means&cAbout != 0 }) {
					f.about = 1
				}
			}
		}
	}
	return f.about > 0
}

// matches returns what was found, without overlaps, with words and lines.
func (f *finder) matches() []Match {
	slices.SortStableFunc(f.found, func(a, b Match) int {
		return cmp.Or(severity[a.Kind]-severity[b.Kind], a.Start-b.Start, b.End-a.End)
	})
	var kept []Match
	taken := map[int]bool{} // lines of 64 bytes, to compare few matches with each other
	for _, m := range f.found {
		free := true
		for at := m.Start / 64; at <= (m.End-1)/64; at++ {
			if taken[at] && slices.ContainsFunc(kept, func(k Match) bool {
				return k.Start < m.End &&
					m.Start < k.End
			}) {
				free = false
				break
			}
		}
		if free {
			kept = append(kept, m)
			for at := m.Start / 64; at <= (m.End-1)/64; at++ {
				taken[at] = true
			}
		}
	}
	slices.SortFunc(kept, func(a, b Match) int { return a.Start - b.Start })
	kept = kept[:min(len(kept), MaxMatches)]
	line, at := 1, 0
	for i := range kept {
		m := &kept[i]
		line += strings.Count(f.text[at:m.Start], "\n")
		at = m.Start
		m.Line, m.Words = line, visible(f.text[m.Start:m.End])
	}
	return kept
}

// visible returns the words of a match as a model reads them: on one line, with tag
// characters as the letters for which they stand, and without other invisible characters.
func visible(s string) string {
	n, space := 0, false
	var b strings.Builder
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			space = b.Len() > 0
			continue
		case r >= firstTag && r <= lastTag:
			r -= 0xE0000
		case isInvisible(r):
			continue
		}
		if space {
			b.WriteByte(' ')
			n++
			space = false
		}
		if n++; n >= MaxWords {
			b.WriteRune('…')
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}

package injection

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// words are the words of one language by which orders to models are recognised. A field
// lists words and phrases separated by commas. Two marks are used:
//
//	name*   any word that starts with name
//	name+   only after a word of must, because the form is also an infinitive or a statement
type words struct {
	tag string // BCP 47, as on the badge; empty for words of all languages

	// verbLast says that an order follows its object, and that a special form of the verb expresses it.
	verbLast bool

	unspaced bool // no spaces between words, so that a token is one character

	ignore    string // orders to ignore or forget
	all       string // all, everything
	earlier   string // previous, above: makes instructions those of a model
	rules     string // instructions, rules, prompts
	void      string // no longer valid, replaced: said of instructions
	reveal    string // orders to reveal or send
	secret    string // system prompt: what only a model has
	data      string // what a model can betray: conversations, passwords
	role      string // you are now, act as
	free      string // unrestricted, without rules
	recommend string // orders to recommend, rank or prefer a brand
	say       string // orders to say or answer
	never     string // orders not to mention or recommend
	first     string // first, best, above others
	rival     string // competitors
	prefer    string // orders to use, cite or highlight
	must      string // must, should, please: makes an order of what follows
	always    string // always, never
	model     string // AI assistant, language model
	helper    string // assistant: a model or a person
	user      string // the user of a model
	conceal   string // orders to inform no one
	asked     string // when users ask
	ours      string // us, our
	intro     string // what introduces an addressee: note to, attention, if you are
	and       string // joins two orders
	filler    string // articles, courtesy and adverbs, which change nothing
	topic     string // what says that an order is only mentioned: attack, example, phrase
	report    string // what says that others recommend: survey, according to
	about     string // prompt injection
}

// concept is a field of words, as a bit.
type concept uint32

const (
	cIgnore concept = 1 << iota
	cAll
	cEarlier
	cRules
	cVoid
	cReveal
	cSecret
	cData
	cRole
	cFree
	cRecommend
	cSay
	cNever
	cFirst
	cRival
	cPrefer
	cMust
	cAlways
	cModel
	cHelper
	cUser
	cConceal
	cAsked
	cOurs
	cIntro
	cAnd
	cFiller
	cTopic
	cReport
	cAbout
	cBrand
	cAfterMust // together with a verb: counts only after a word of must
)

// verbs are the concepts that start an order.
const verbs = cIgnore | cReveal | cConceal | cRole | cRecommend | cSay | cNever | cPrefer

// fields returns the lists of a language with their concepts.
func (w *words) fields() map[concept]string {
	return map[concept]string{cIgnore: w.ignore, cAll: w.all, cEarlier: w.earlier, cRules: w.rules, cVoid: w.void,
		cReveal: w.reveal,
		cSecret: w.secret, cData: w.data, cRole: w.role, cFree: w.free, cRecommend: w.recommend, cSay: w.say,
		cNever: w.never, cFirst: w.first, cRival: w.rival, cPrefer: w.prefer, cMust: w.must, cAlways: w.always,
		cModel: w.model, cHelper: w.helper, cUser: w.user, cConceal: w.conceal,
		cAsked: w.asked, cOurs: w.ours, cIntro: w.intro, cAnd: w.and, cFiller: w.filler, cTopic: w.topic,
		cReport: w.report, cAbout: w.about}
}

// pattern is a word of a phrase, folded.
type pattern struct {
	key    string
	prefix bool // any word that starts with key
}

func (p pattern) matches(key string) bool {
	return key == p.key || p.prefix && strings.HasPrefix(key, p.key)
}

// phrase is an entry of a table.
type phrase struct {
	language int // index in languages
	means    concept
	rest     []pattern // after the first word
}

// span is a phrase found in a sentence.
type span struct {
	language   int
	means      concept
	start, end int // tokens
}

// index finds phrases by their first word.
type index struct {
	exact, prefix map[string][]phrase
	lengths       [maxWord + 1]bool // of the keys of prefix
	vocabulary    map[string]string // the words of all phrases, by how they look in a longer word
}

func newIndex() *index {
	return &index{exact: map[string][]phrase{}, prefix: map[string][]phrase{}, vocabulary: map[string]string{}}
}

// lexicon returns the index of all tables.
var lexicon = sync.OnceValue(func() *index {
	x := newIndex()
	for i := range languages {
		for means, list := range languages[i].fields() {
			for _, text := range strings.Split(list, ",") {
				text, infinitive := strings.CutSuffix(strings.TrimSpace(text), "+")
				if infinitive {
					x.add(i, means|cAfterMust, text)
				} else {
					x.add(i, means, text)
				}
			}
		}
	}
	return x
})

// add adds a phrase of a language.
func (x *index) add(language int, means concept, text string) {
	var all []pattern
	for field := range strings.FieldsSeq(text) {
		field, prefix := strings.CutSuffix(field, "*")
		for sc := (&scanner{text: field}); ; {
			part := sc.next()
			if part == nil {
				break
			}
			for _, t := range part {
				all = append(all, pattern{key: t.key})
			}
		}
		if len(all) > 0 {
			all[len(all)-1].prefix = prefix
		}
	}
	if len(all) == 0 {
		return
	}
	for _, p := range all {
		x.vocabulary[strings.ReplaceAll(p.key, "l", "i")] = p.key
	}
	p := phrase{language, means, all[1:]}
	if all[0].prefix {
		x.prefix[all[0].key] = append(x.prefix[all[0].key], p)
		x.lengths[len(all[0].key)] = true
	} else {
		x.exact[all[0].key] = append(x.exact[all[0].key], p)
	}
}

func (x *index) isWord(key string) bool { return x.vocabulary[key] != "" }

// longestWord returns the longest word at the start of s with its length in s, or the
// first character if no word matches.
func (x *index) longestWord(s string) (word string, n int) {
	for n := min(len(s), maxWord); n > 1; n-- {
		if word := x.vocabulary[s[:n]]; word != "" {
			return word, n
		}
	}
	_, n = utf8.DecodeRuneInString(s)
	return s[:n], n
}

// find appends the phrases that start at a token.
func (x *index) find(spans []span, sentence []token, at int) []span {
	spans = x.findKey(spans, sentence, at, sentence[at].key)
	// Arabic and Hebrew write "and" and "so" as the first letter of the word.
	for _, and := range []string{"و", "ف", "ו"} {
		if rest, ok := strings.CutPrefix(sentence[at].key, and); ok && len(rest) > 2*len(and) {
			spans = x.findKey(spans, sentence, at, rest)
		}
	}
	return spans
}

func (x *index) findKey(spans []span, sentence []token, at int, key string) []span {
	spans = appendMatching(spans, x.exact[key], sentence, at)
	for n := 1; n <= min(len(key), maxWord); n++ { // a key may end with a character of more bytes
		if x.lengths[n] {
			spans = appendMatching(spans, x.prefix[key[:n]], sentence, at)
		}
	}
	return spans
}

// appendMatching appends those of phrases whose remaining words follow at.
func appendMatching(spans []span, phrases []phrase, sentence []token, at int) []span {
next:
	for i := range phrases {
		p := &phrases[i]
		if at+len(p.rest) >= len(sentence) {
			continue
		}
		for j, w := range p.rest {
			if !w.matches(sentence[at+1+j].key) {
				continue next
			}
		}
		spans = append(spans, span{p.language, p.means, at, at + 1 + len(p.rest)})
	}
	return spans
}

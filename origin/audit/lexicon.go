package audit

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark/origin/audit/prose"
	"golang.org/x/text/unicode/norm"
)

// lexicon holds the words of one language that facts depend on. A field lists words
// separated by commas, in lower case. Two marks restrict a word:
//
//	name=   only as the whole text of a link: "about" but not "about cookies"
//	name*   only on pages in this language, because it has another meaning in others
//
// Sources: names of units, numbers and currencies follow Unicode CLDR 48 (all
// plural forms); the other words are those that sites in the language use.
type lexicon struct {
	tag string // BCP 47, as on the badge

	about, contact, offer string // texts of links to such pages, from which path segments are derived
	aboutPaths            string // more path segments
	contactPaths          string
	offerPaths            string

	says        string // verbs and phrases that attribute a quotation
	saysPattern string // the same as a regular expression, for scripts without spaces
	units       string // units of measure, money and time, and names of large numbers
}

// lexiconTags maps languages to the lexicon of a related language.
var lexiconTags = map[string]string{"no": "nb", "nn": "nb", "yue": "zh"}

// lexiconTag returns the tag of the lexicon for a BCP 47 tag. ok is false for a
// language without a lexicon: facts that depend on words are unknown there. An
// invalid tag gives "", which selects the words of all languages.
func lexiconTag(tag string) (known string, ok bool) {
	base, valid := baseLanguage(tag)
	if !valid {
		return "", true
	}
	if other, mapped := lexiconTags[base]; mapped {
		base = other
	}
	return base, slices.ContainsFunc(lexicons, func(l lexicon) bool { return l.tag == base })
}

// lexiconOf returns the tag of the lexicon for a page, by the language that the
// page or else the brand declares.
func (f *site) lexiconOf(p *page) (tag string, ok bool) {
	if tag, ok = lexiconTag(p.lang); tag == "" {
		tag, ok = lexiconTag(f.subject.Language)
	}
	return tag, ok
}

// wordSet is a set of words and short phrases. The value lists the languages on
// whose pages a word counts; an empty list means all.
type wordSet map[string][]string

// newWordSet collects one field of all lexicons, each word normalised by form.
func newWordSet(field func(*lexicon) string, form func(string) string) wordSet {
	set := wordSet{}
	for i := range lexicons {
		for _, word := range splitWords(field(&lexicons[i])) {
			plain, own := strings.CutSuffix(word, "*")
			plain = form(plain)
			tags, known := set[plain]
			switch {
			case !own:
				set[plain] = nil
			case !known || len(tags) > 0:
				set[plain] = append(tags, lexicons[i].tag)
			}
		}
	}
	return set
}

// has reports whether a word counts on a page with the lexicon tag.
func (s wordSet) has(word, tag string) bool {
	tags, ok := s[word]
	return ok && (len(tags) == 0 || slices.Contains(tags, tag))
}

// splitWords splits a field of a lexicon.
func splitWords(list string) []string {
	if list == "" {
		return nil
	}
	words := strings.Split(list, ",")
	for i, w := range words {
		words[i] = strings.TrimSpace(w)
	}
	return words
}

// inWord reports whether r is part of a word: a letter or a combining mark.
func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsMark(r) }

func joinWords(s string) string { return strings.Join(prose.Words(s), " ") }

// maxSaysWords is the number of words in the longest phrase of any lexicon.says.
const maxSaysWords = 3

var (
	saysWords   = newWordSet(func(l *lexicon) string { return l.says }, joinWords)
	saysPattern = newSaysPattern()
)

// newSaysPattern joins the expressions of all languages. Each is precise enough for
// any page.
func newSaysPattern() *regexp.Regexp {
	var all []string
	for _, l := range lexicons {
		if l.saysPattern != "" {
			all = append(all, l.saysPattern)
		}
	}
	return regexp.MustCompile(strings.Join(all, "|"))
}

// prefixLetters are conjunctions that Arabic and Hebrew join to the verb: "and
// said".
const prefixLetters = "وف" + "וש"

// namesSpeaker reports whether a text contains a verb or phrase of saying.
func namesSpeaker(text, tag string) bool {
	words := prose.Words(text)
	for i, word := range words {
		phrase := word
		for n := 1; ; n++ {
			if saysWords.has(phrase, tag) {
				return true
			}
			if n == maxSaysWords || i+n == len(words) {
				break
			}
			phrase += " " + words[i+n]
		}
		first, size := utf8.DecodeRuneInString(word)
		if strings.ContainsRune(prefixLetters, first) && saysWords.has(word[size:], tag) {
			return true
		}
	}
	// The patterns are for scripts from Thai on in Unicode, which most texts do not
	// use.
	return strings.ContainsFunc(text, func(r rune) bool { return r >= 'ก' && unicode.IsLetter(r) }) &&
		saysPattern.MatchString(text)
}

// unitNames are the units of all languages.
var unitNames = newWordSet(func(l *lexicon) string { return l.units }, norm.NFKC.String)

// writtenTogether reports whether a script puts no space between a number and a
// word, or joins further words, as Korean joins particles to units.
func writtenTogether(word string) bool {
	first := []rune(word)[0]
	return !spaced(string(first)) || unicode.Is(unicode.Hangul, first)
}

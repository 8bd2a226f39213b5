package prose

import (
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// When a text does not read like any language. The limits are far outside of what 3,800
// honest texts have (see languages): at most 52 % repeated phrases, at least 30
// different words of 100, and more than a third of the typical share of common words,
// except in lists of names. Text of an author who copies, or of a language model, is
// inside of them: it cannot be distinguished from other text.
const (
	MinWords           = 80 // in fewer words the shares vary too much
	commonPart         = 3  // the fraction of the typical share of common words below which text is not language
	maxRepeatedPhrases = 65 // percent of phrases that occurred before on the page
	minDistinct        = 20 // different words in distinctWindow words

	phraseWords    = 5
	distinctWindow = 100
)

// pairLetters is how many letters count as a word in a script without spaces.
const pairLetters = 2

// Text is a text in words, with the shares of common words.
type Text struct {
	words    []string
	units    []string // the same; pairs of letters in a script without spaces
	short    bool
	shares   []int // of common words, in percent, by language
	language int   // index in languages of the language with the largest share for it
}

// New splits a text. words is its number of words, as people count them.
func New(text string, words int) *Text {
	t := &Text{words: Words(text), short: words < MinWords}
	t.units = unitsOf(t.words)
	if t.short {
		return t
	}
	t.shares = commonShares(t.words)
	for i, l := range languages {
		if t.shares[i]*languages[t.language].typical > t.shares[t.language]*l.typical {
			t.language = i
		}
	}
	return t
}

// unitsOf returns the words, or pairs of letters in a script without spaces.
func unitsOf(words []string) (units []string) {
	letters := []rune(strings.Join(words, ""))
	if !mostlyUnspaced(letters) {
		return words
	}
	for i := 0; i+pairLetters <= len(letters); i += pairLetters {
		units = append(units, string(letters[i:i+pairLetters]))
	}
	return units
}

// Language returns the language of the text by its common words. ok is false for a short text
// and for one that matches no language.
func (t *Text) Language() (tag string, ok bool) {
	l := &languages[t.language]
	return l.tag, !t.short && t.shares[t.language]*commonPart >= l.typical
}

// Words returns the words of a text in lower case, split at everything except letters and
// marks: "d’après" is two words.
func Words(s string) []string {
	return strings.FieldsFunc(strings.ToLower(norm.NFC.String(s)), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r)
	})
}

// Judge returns why the text does not read like a language, "" if it does. tag is the
// language it declares, as in the table, or "". A wrong declaration does no harm: any
// language may match. judged is false for a text with fewer than MinWords words, or that
// matches no language and declares one that the table lacks.
func (t *Text) Judge(tag string) (judged bool, fault string) {
	if t.short {
		return false, ""
	}
	if n := repeatedPhrases(t.units); n > maxRepeatedPhrases {
		return true, fmt.Sprintf("%d %% of the phrases of %d words repeat another", n, phraseWords)
	}
	if n := distinctWords(t.units); n < minDistinct {
		return true, fmt.Sprintf("%d of %d words are different", n, distinctWindow)
	}
	if _, ok := t.Language(); ok {
		return true, ""
	}
	index := t.language
	if tag != "" {
		index = slices.IndexFunc(languages, func(l language) bool { return l.tag == tag })
		if index < 0 {
			return false, ""
		}
	}
	l, what := &languages[index], "words are"
	if l.inParts() {
		what = "letters belong to"
	}
	return true, fmt.Sprintf("%d %% of the %s common %s words; %s text has about %d %%", t.shares[index], what, l.name,
		l.name, l.typical)
}

// maxComparedPhrases limits the phrases of a page that are compared with other pages: a long
// text differs within them, or not at all.
const maxComparedPhrases = 5_000

// Repeats returns the percentage of the text's phrases that are in seen, and adds them.
func (t *Text) Repeats(seen map[uint64]bool) int {
	old, all := 0, 0
	var own []uint64
	for words := t.units; len(words) >= phraseWords && all < maxComparedPhrases; words = words[1:] {
		key := hashWords(words[:phraseWords])
		if own = append(own, key); seen[key] {
			old++
		}
		all++
	}
	for _, key := range own {
		seen[key] = true
	}
	return old * 100 / max(all, 1)
}

func hashWords(words []string) uint64 {
	h := fnv.New64a()
	for _, w := range words {
		io.WriteString(h, w)
		h.Write([]byte{' '})
	}
	return h.Sum64()
}

// mostlyUnspaced reports whether most letters are of scripts without spaces.
func mostlyUnspaced(letters []rune) bool {
	n := 0
	for _, r := range letters {
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai) {
			n++
		}
	}
	return 2*n > len(letters)
}

// repeatedPhrases returns the percentage of phrases that occurred before.
func repeatedPhrases(words []string) int {
	seen := map[string]bool{}
	repeated, all := 0, 0
	for ; len(words) >= phraseWords; words = words[1:] {
		phrase := strings.Join(words[:phraseWords], " ")
		if seen[phrase] {
			repeated++
		}
		seen[phrase] = true
		all++
	}
	return repeated * 100 / max(all, 1)
}

// distinctWords returns the mean number of different words in a window.
func distinctWords(words []string) int {
	total, windows := 0, 0
	for ; len(words) >= distinctWindow; words = words[distinctWindow:] {
		seen := map[string]bool{}
		for _, w := range words[:distinctWindow] {
			seen[w] = true
		}
		total += len(seen)
		windows++
	}
	if windows == 0 {
		return distinctWindow // too short
	}
	return total / windows
}

// inParts reports whether common words are counted by letters.
func (l *language) inParts() bool {
	switch l.tag {
	case "ja", "ko", "th", "zh":
		return true
	}
	return false
}

// commonWords maps each common word to the languages that have it, as bits in the order of
// languages.
var commonWords = indexCommonWords()

func indexCommonWords() map[string]uint32 {
	index := map[string]uint32{}
	for i, l := range languages {
		for _, w := range strings.Fields(l.common) {
			index[w] |= 1 << i
		}
	}
	return index
}

// maxCommonPart is the number of letters of the longest common word in a language that
// counts them by letters.
const maxCommonPart = 6

// commonShares returns the percentage of common words in each of languages.
func commonShares(words []string) []int {
	hits := make([]int, len(languages))
	for _, w := range words {
		for i, set := 0, commonWords[w]; set != 0; i, set = i+1, set>>1 {
			hits[i] += int(set & 1)
		}
	}
	letters := []rune(strings.Join(words, ""))
	for i := range languages {
		whole := len(words)
		if languages[i].inParts() {
			hits[i], whole = commonLetters(letters, 1<<i), len(letters)
		}
		hits[i] = hits[i] * 100 / max(whole, 1)
	}
	return hits
}

// commonLetters returns how many letters belong to a common word of a language, the longest
// at each place.
func commonLetters(letters []rune, language uint32) (n int) {
	for at := 0; at < len(letters); at++ {
		if letters[at] < utf8.RuneSelf { // begins no word of these languages, and most texts are of such letters
			continue
		}
		for size := min(maxCommonPart, len(letters)-at); size > 0; size-- {
			if commonWords[string(letters[at:at+size])]&language != 0 {
				n += size
				at += size - 1
				break
			}
		}
	}
	return n
}

package audit

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"io"
	"strings"
	"unicode"

	"github.com/fieldmark/fieldmark"
)

// When a text does not read like any language. The limits are far outside of what 3,800
// honest texts have (see textLanguages): at most 52 % repeated phrases, at least 30
// different words of 100, and more than a third of the typical share of common words,
// except in lists of names. Text of an author who copies, or of a language model, is
// inside of them: it cannot be told from other text.
const (
	minJudgedWords = 80 // in fewer words the shares vary too much
	commonPart     = 3  // the fraction of the typical share of common words below which text is not language
	maxRepeated    = 65 // percent of phrases that occurred before on the page
	minDistinct    = 20 // different words in distinctWindow words
	maxDuplicate   = 80 // percent of phrases that occur on pages before

	phraseWords    = 5
	distinctWindow = 100
)

// textFault is why a text does not read like a language. judged is false for a text that is
// too short, or in a language that the table lacks.
type textFault struct {
	judged bool
	reason string // empty if the text counts
}

// judgeTexts judges the main texts of all pages of the sample, without code, before any
// fact: pages that repeat each other, or whose common words are in no order, are recognised
// together. If most pages do not read like a language, the others do not count either: a
// random text can pass by chance.
func (f *site) judgeTexts() {
	f.faults = map[*page]textFault{}
	var order wordOrder
	seen := map[uint64]bool{}
	good, judged := 0, 0
	for _, p := range f.pages {
		tag, known := lexiconTag(p.lang)
		if tag == "" {
			tag, known = lexiconTag(f.subject.Language)
		}
		t := newWordText(p.figures)
		fault := t.judge(tag, known)
		if n := t.repeats(seen); fault.reason == "" && fault.judged && n > maxDuplicate {
			fault.reason = fmt.Sprintf("%d %% of the text is on other pages", n)
		}
		if fault.judged {
			judged++
		}
		if fault.judged && fault.reason == "" {
			good++
			order.add(t.words, t.language)
		}
		f.faults[p] = fault
	}
	switch {
	case order.random():
		f.discard("common words follow each other at random")
	case 2*good < judged:
		f.discard("most pages do not read like a language")
	}
}

// discard sets the fault of all pages that have none.
func (f *site) discard(why string) {
	for p, fault := range f.faults {
		f.faults[p] = textFault{fault.judged, cmp.Or(fault.reason, why)}
	}
}

// wordText is a text in words.
type wordText struct {
	words    []string
	units    []string // the same; pairs of letters in a script without spaces
	short    bool
	shares   []int // of common words, in percent, by language
	language int   // index in textLanguages of the language with the largest share for it
}

func newWordText(text string) *wordText {
	t := &wordText{words: letterWords(text), short: countWords(text) < minJudgedWords}
	t.units = t.words
	if letters := []rune(strings.Join(t.words, "")); mostlyUnspaced(letters) {
		t.units = nil
		for i := 0; i+hanPerWord <= len(letters); i += hanPerWord {
			t.units = append(t.units, string(letters[i:i+hanPerWord]))
		}
	}
	if t.short {
		return t
	}
	t.shares = commonShares(t.words)
	for i, l := range textLanguages {
		if t.shares[i]*textLanguages[t.language].typical > t.shares[t.language]*l.typical {
			t.language = i
		}
	}
	return t
}

// judge judges a text in the language tag, "" if none is declared. known is false if the
// table lacks it. A wrong declaration does no harm: any language may match.
func (t *wordText) judge(tag string, known bool) textFault {
	if t.short {
		return textFault{}
	}
	if n := repeatedPhrases(t.units); n > maxRepeated {
		return textFault{true, fmt.Sprintf("%d %% of the phrases of %d words repeat another", n, phraseWords)}
	}
	if n := distinctWords(t.units); n < minDistinct {
		return textFault{true, fmt.Sprintf("%d of %d words are different", n, distinctWindow)}
	}
	told := t.language
	l := &textLanguages[told]
	switch {
	case t.shares[told]*commonPart >= l.typical:
		return textFault{judged: true}
	case !known:
		return textFault{}
	}
	for i := range textLanguages {
		if textLanguages[i].tag == tag {
			told, l = i, &textLanguages[i]
		}
	}
	what := "words are"
	if l.inParts() {
		what = "letters belong to"
	}
	return textFault{true, fmt.Sprintf("%d %% of the %s common %s words; %s text has about %d %%", t.shares[told], what,
		l.name, l.name, l.typical)}
}

// maxComparedPhrases limits the phrases of a page that are compared with other pages: a long
// text differs within them, or not at all.
const maxComparedPhrases = 5_000

// repeats returns the percentage of the text's phrases that are in seen, and adds them.
func (t *wordText) repeats(seen map[uint64]bool) int {
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
func (l *textLanguage) inParts() bool {
	switch l.tag {
	case "ja", "ko", "th", "zh":
		return true
	}
	return false
}

// commonWords maps each common word to the languages that have it, as bits in the order of
// textLanguages.
var commonWords = indexCommonWords()

func indexCommonWords() map[string]uint32 {
	index := map[string]uint32{}
	for i, l := range textLanguages {
		for _, w := range strings.Fields(l.common) {
			index[w] |= 1 << i
		}
	}
	return index
}

// maxCommonPart is the number of letters of the longest common word in a language that
// counts them by letters.
const maxCommonPart = 6

// commonShares returns the percentage of common words in each of textLanguages.
func commonShares(words []string) []int {
	hits := make([]int, len(textLanguages))
	for _, w := range words {
		for i, set := 0, commonWords[w]; set != 0; i, set = i+1, set>>1 {
			hits[i] += int(set & 1)
		}
	}
	letters := []rune(strings.Join(words, ""))
	for i := range textLanguages {
		whole := len(words)
		if textLanguages[i].inParts() {
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

// textFacts are the facts that need text which reads like a language.
var textFacts = []string{"answer.kinds", "author.share", "cite.domains", "description.good", "fresh.age",
	"fresh.recent",
	"headings.good", "home.words", "quote.spans", "schema.share", "schema.typed", "stat.numbers", "text.words",
	"title.good", "titles.distinct"}

// plausible measures the share of pages whose text reads like a language and returns the
// site with only the pages whose text does not read otherwise. If there are none, the
// facts about text are unknown: numbers in gibberish are no statistics.
func (f *site) plausible(found findings) (readable *site, ok bool) {
	const id = "text.plausible"
	r := *f
	r.pages = nil
	good, judged := 0, 0
	var bad []fieldmark.Evidence
	for _, p := range f.pages {
		fault := f.faults[p]
		if fault.judged {
			judged++
		}
		if fault.reason != "" {
			bad = append(bad, newEvidence(p.url.String(), "%s", fault.reason))
			continue
		}
		r.pages = append(r.pages, p)
		if fault.judged {
			good++
		}
	}
	base := f.home.url.String()
	if judged == 0 {
		found.unknown(id, newEvidence(base, "no page has %d words in a supported language", minJudgedWords))
	} else {
		sum := newEvidence(base, "the text of %d of %s reads like a language", good, plural(judged, "page", "pages"))
		found.setShare(id, good, judged, append([]fieldmark.Evidence{sum}, bad...)...)
	}
	if len(r.pages) > 0 {
		return &r, true
	}
	for _, text := range textFacts {
		found.unknown(text, bad...)
	}
	return nil, false
}

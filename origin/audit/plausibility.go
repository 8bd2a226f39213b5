package audit

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/fieldmark/fieldmark"
)

// When a text does not read like any language. The limits are far outside of what 3,800
// honest texts have (see textLanguages): at most 52 % repeated phrases, at least 30
// different words of 100, and more than a third of the typical share of common words,
// except in lists of names. Text of an author who copies, or of a language model, is
// inside of them: it cannot be told from other text by its words.
const (
	minJudgedWords = 80 // in fewer words the shares vary too much
	commonPart     = 4  // the fraction of the typical share of common words below which text is not language
	maxRepeated    = 65 // percent of phrases that occurred before on the page
	minDistinct    = 20 // different words in distinctWindow words

	phraseWords    = 5
	distinctWindow = 100
)

// textFault is why a text does not read like a language. judged is false for a text that is
// too short, or in a language that the table lacks.
type textFault struct {
	judged bool
	reason string // empty if the text is plausible
}

// textFault returns the judgement of the page's main text without code.
func (f *site) textFault(p *page) textFault {
	return once(p, "text.plausible", func() textFault {
		tag, known := lexiconTag(p.lang)
		if tag == "" {
			tag, known = lexiconTag(f.subject.Language)
		}
		return judgeText(p.figures, tag, known)
	})
}

// judgeText judges a text in the language tag, "" if none is declared. known is false if
// the table lacks it. A wrong declaration does no harm: any language may match.
func judgeText(text, tag string, known bool) textFault {
	if countWords(text) < minJudgedWords {
		return textFault{}
	}
	words := letterWords(text)
	units := words
	if letters := []rune(strings.Join(words, "")); mostlyUnspaced(letters) {
		units = units[:0:0]
		for i := 0; i+hanPerWord <= len(letters); i += hanPerWord {
			units = append(units, string(letters[i:i+hanPerWord]))
		}
	}
	if n := repeatedPhrases(units); n > maxRepeated {
		return textFault{true, fmt.Sprintf("%d %% of the phrases of %d words repeat another", n, phraseWords)}
	}
	if n := distinctWords(units); n < minDistinct {
		return textFault{true, fmt.Sprintf("%d of %d words are different", n, distinctWindow)}
	}
	fault := commonWordsFault(words, tag)
	if fault != "" && !known {
		return textFault{}
	}
	return textFault{true, fault}
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

// commonWordsFault returns "" if enough words are common ones of any language.
func commonWordsFault(words []string, tag string) string {
	shares := commonShares(words)
	told := 0
	for i, l := range textLanguages {
		if shares[i]*commonPart >= l.typical {
			return ""
		}
		if l.tag == tag || textLanguages[told].tag != tag && shares[i]*textLanguages[told].typical >
			shares[told]*l.typical {
			told = i
		}
	}
	l, what := textLanguages[told], "words are"
	if l.inParts() {
		what = "letters belong to"
	}
	return fmt.Sprintf("%d %% of the %s common %s words; %s text has about %d %%", shares[told], what, l.name, l.name,
		l.typical)
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
		fault := f.textFault(p)
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

package prose

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// When a text is a stuffed list of keywords. Google's spam policies for web search describe
// keyword stuffing as filling a page with keywords, often "in a list or group, unnaturally, or
// out of context": lists of cities a page wants to rank for, and "repeating the same words or
// phrases so often that it sounds unnatural". A list is not enough: a list of countries, of
// ingredients or of opening hours repeats little, repeats one word, or consists of numbers. The
// limits are chosen between such lists and those of keywords in the tests; 2,200 pages of
// manuals and websites, of which 800 hide text, have no list beyond them.
const (
	minStuffed = 20    // words; labels and menus are shorter
	maxStuffed = 5_000 // words that are examined
	maxNumbers = 25    // percent of words with a digit: prices and opening hours have more

	// One word that is no common word, such as the trade in a list of cities. Ingredients
	// have "organic" a dozen times.
	minWordCount, minWordShare = 15, 20

	// Two such words or more, each repeated and a tenth of the words, and three or more, each
	// a sixteenth.
	minTwoCount, minTwoShare     = 5, 40
	minThreeCount, minThreeShare = 3, 60
	twoPart, threePart           = 10, 16

	// A phrase of up to maxPhrase words, and one word alone.
	minPhraseCount, minPhraseShare, maxPhrase = 6, 60, 5
	minAloneCount, minAloneShare              = 20, 80
)

// stuffedWindow is how many words of a long text are judged at a time, so that keywords do
// not disappear in other text.
const stuffedWindow = 50

// Stuffed returns the first part of a text that is a list of repeated keywords, "" without
// such a part.
func Stuffed(text string) string {
	words, starts := keywords(text)
	for at := 0; at == 0 || at+stuffedWindow/2 < len(words); at += stuffedWindow / 2 {
		end := min(at+stuffedWindow, len(words))
		if !isStuffed(words[at:end]) {
			continue
		}
		if end == len(words) {
			return text[starts[at]:]
		}
		return text[starts[at]:starts[end]]
	}
	return ""
}

func isStuffed(words []string) bool {
	numbers := 0
	for _, w := range words {
		if strings.ContainsFunc(w, unicode.IsDigit) {
			numbers++
		}
	}
	if len(words) < minStuffed || numbers*100 > maxNumbers*len(words) {
		return false
	}
	return repeatsWords(words) || repeatsPhrase(words)
}

// keywords splits a text into words in lower case, numbers included, with their offsets. A
// script without spaces is split into pairs of letters, from each letter on, so that a word
// has the same pairs wherever it is.
func keywords(text string) (words []string, starts []int) {
	add := func(start, end int) {
		if start < 0 || len(words) >= maxStuffed {
			return
		}
		if letters := []rune(text[start:end]); mostlyUnspaced(letters) {
			for at := start; len(letters) >= pairLetters; letters = letters[1:] {
				words, starts = append(words, string(letters[:pairLetters])), append(starts, at)
				at += utf8.RuneLen(letters[0])
			}
			return
		}
		words, starts = append(words, strings.ToLower(text[start:end])), append(starts, start)
	}
	start := -1
	for i, r := range text {
		switch isWord := unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r); {
		case !isWord:
			add(start, i)
			start = -1
		case start < 0:
			start = i
		}
	}
	add(start, len(text))
	return words, starts
}

// repeatsWords reports whether words that are no common words repeat.
func repeatsWords(words []string) bool {
	counts := map[string]int{}
	most, all := 0, len(words)
	for _, w := range words {
		if commonWords[w] == 0 && !strings.ContainsFunc(w, unicode.IsDigit) {
			counts[w]++
			most = max(most, counts[w])
		}
	}
	if len(counts) < 3 { // "Slide 1, Slide 2"
		return false
	}
	if most >= minWordCount && most*100 >= minWordShare*all {
		return true
	}
	covers := func(words, minCount, part, minShare int) bool {
		repeated, sum := 0, 0
		for _, n := range counts {
			if n >= minCount && n*part >= all {
				repeated++
				sum += n
			}
		}
		return repeated >= words && sum*100 >= minShare*all
	}
	return covers(2, minTwoCount, twoPart, minTwoShare) || covers(3, minThreeCount, threePart, minThreeShare)
}

// repeatsPhrase reports whether most of the text is one phrase.
func repeatsPhrase(words []string) bool {
	for size := 1; size <= maxPhrase; size++ {
		minCount, minShare := minPhraseCount, minPhraseShare
		if size == 1 {
			minCount, minShare = minAloneCount, minAloneShare
		}
		counts, next := map[string]int{}, map[string]int{}
		for i := 0; i+size <= len(words); i++ {
			phrase := strings.Join(words[i:i+size], " ")
			if i < next[phrase] {
				continue // overlaps the one before
			}
			next[phrase] = i + size
			counts[phrase]++
			if n := counts[phrase]; n >= minCount && n*size*100 >= minShare*len(words) &&
				!onlyNumbers(words[i:i+size]) {
				return true
			}
		}
	}
	return false
}

// onlyNumbers reports whether all words of a phrase have a digit.
func onlyNumbers(words []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.ContainsFunc(w, unicode.IsDigit) })
}

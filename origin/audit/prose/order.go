package prose

import (
	"maps"
	"math"
	"slices"
)

// Order counts which words occur next to common words. In language, common words have
// neighbours of different kinds: after "the" comes a rare word, after "of" often a common
// one. If they are drawn at random, every common word has common neighbours as often as any
// other. Words come from all pages of a site, because a single page has too few.
type Order struct {
	words, common int // of all texts
	seen          map[uint64]bool
	beside        [2]map[string]neighbours // by common word: before it and after it
}

// neighbours counts the neighbours of a word.
type neighbours struct{ all, common int }

// When the order of common words is random: of 940 samples of the manuals and messages of
// languages, each with minOrdered common words in 21 languages, none is below
// minOrder, and the lowest has 2.5; of random sequences, 97 % are below.
const (
	minOrdered    = 400 // in about a thousand words of English and two thousand of Polish
	minNeighbours = 5   // of a word that is compared
	minOrder      = 2.0 // standard deviations of the chi-square statistic

	contextWords = 1 // on each side: sentences of a template begin and end beside other words

	maxOrdered = 20_000 // words of a page that are counted
)

// Add counts the words of a text. A word counts
// once in the same context: a sentence of a template repeats.
func (o *Order) Add(t *Text) {
	words, language := t.words, t.language
	if t.short || languages[language].inParts() {
		return
	}
	if o.seen == nil {
		o.seen = map[uint64]bool{}
		o.beside = [2]map[string]neighbours{{}, {}}
	}
	words = words[:min(len(words), maxOrdered)]
	isCommon := func(word string) bool { return commonWords[word]&(1<<language) != 0 }
	o.words += len(words)
	for i, word := range words {
		if !isCommon(word) {
			continue
		}
		o.common++
		if i < contextWords || i >= len(words)-contextWords {
			continue
		}
		key := hashWords(words[i-contextWords : i+contextWords+1])
		if o.seen[key] {
			continue
		}
		o.seen[key] = true
		for side, other := range [2]string{words[i-1], words[i+1]} {
			n := o.beside[side][word]
			if n.all++; isCommon(other) {
				n.common++
			}
			o.beside[side][word] = n
		}
	}
}

// Random reports whether the texts are long enough to decide and common words occur next to
// each other as if drawn at random: Pearson's chi-square test of the number of common
// neighbours of each common word, in standard deviations from its mean.
func (o *Order) Random() bool {
	if len(o.seen) < minOrdered || o.common == o.words {
		return false
	}
	share := float64(o.common) / float64(o.words)
	var sum, compared float64
	for _, words := range o.beside {
		for _, word := range slices.Sorted(maps.Keys(words)) { // sums of floats depend on their order
			n := words[word]
			if n.all < minNeighbours {
				continue
			}
			expected := float64(n.all) * share
			sum += (float64(n.common) - expected) * (float64(n.common) - expected) / (expected * (1 - share))
			compared++
		}
	}
	return compared > 0 && sum-compared < minOrder*math.Sqrt(2*compared)
}

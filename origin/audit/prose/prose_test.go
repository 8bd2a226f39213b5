package prose_test

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/origin/audit/prose"
)

// samples are honest texts of small businesses, written for this test, one in each language.
var samples = readSamples()

// readSamples reads a file with a language and its text on each line.
func readSamples() map[string]string {
	raw, err := os.ReadFile("testdata/samples.txt")
	if err != nil {
		panic(err)
	}
	list := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		tag, text, _ := strings.Cut(line, " ")
		list[tag] = text
	}
	return list
}

// wordsOf counts words as an audit does, closely enough: two characters of Han or kana, and
// five of Thai, are a word.
func wordsOf(tag, text string) int {
	switch n := len([]rune(text)); tag {
	case "ja", "zh":
		return n / 2
	case "th":
		return n / 5
	}
	return len(strings.Fields(text))
}

// TestHonestTextInEveryLanguage: an honest text of about a hundred words reads like its
// language, whatever language it declares, or none.
func TestHonestTextInEveryLanguage(t *testing.T) {
	if tags := prose.Languages(); len(samples) != len(tags) {
		t.Errorf("%d samples for %d languages", len(samples), len(tags))
	}
	for tag, sample := range samples {
		text := prose.New(sample, wordsOf(tag, sample))
		if found, ok := text.Language(); !ok || found != tag {
			t.Errorf("%s: the text reads like %q, %v", tag, found, ok)
		}
		for _, declared := range []string{tag, "", "en", "ja", "la"} {
			if judged, fault := text.Judge(declared); !judged || fault != "" {
				t.Errorf("%s declared as %q: judged %v, %s", tag, declared, judged, fault)
			}
		}
	}
}

// TestGibberishInEveryLanguage: the letters of a text in random order read like no language.
// In a script with thousands of characters the characters are drawn from all of them.
func TestGibberishInEveryLanguage(t *testing.T) {
	passed := 0
	for tag, sample := range samples {
		for seed := range uint64(5) {
			random := rand.New(rand.NewPCG(seed, 7))
			letters := []rune(strings.Join(strings.Fields(sample), ""))
			var b strings.Builder
			for i := range 1200 {
				switch {
				case tag == "zh" || tag == "ja":
					b.WriteRune(rune(0x4e00 + random.IntN(0x5000)))
				case tag == "ko":
					b.WriteRune(rune(0xac00 + random.IntN(11_000)))
				default:
					b.WriteRune(letters[random.IntN(len(letters))])
				}
				if i%6 == 5 && tag != "th" {
					b.WriteByte(' ')
				}
			}
			judged, fault := prose.New(b.String(), 200).Judge(tag)
			if !judged || fault == "" {
				passed++
				t.Logf("%s, seed %d: random letters pass: %.60s", tag, seed, b.String())
			}
		}
	}
	if passed > 2 { // of 145; words of one letter are common in some languages
		t.Errorf("%d random texts pass", passed)
	}
}

// TestOrder: texts in which common words are drawn at random are recognised, honest ones of
// any language are not.
func TestOrder(t *testing.T) {
	var honest prose.Order
	for tag, sample := range samples {
		honest.Add(prose.New(sample, wordsOf(tag, sample)))
	}
	if honest.Random() {
		t.Error("honest texts seem to be in a random order")
	}
	passed := 0
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 8))
		var all []string
		for _, sample := range []string{samples["en"], samples["de"], samples["fr"]} {
			words := prose.Words(sample)
			var order prose.Order
			for range 20 {
				random.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
				all = append(all, words...)
			}
			if order.Add(prose.New(strings.Join(all, " "), len(all))); !order.Random() {
				passed++
			}
			all = all[:0]
		}
	}
	if passed > 6 {
		t.Errorf("%d of 60 texts in a random order pass, want at most 6", passed)
	}
}

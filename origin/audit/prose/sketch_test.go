package prose_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/origin/audit/prose"
)

// repeated returns a text of the samples of several languages, long enough for a page.
func repeated(random *rand.Rand, tags ...string) []string {
	var words []string
	for _, tag := range tags {
		words = append(words, strings.Fields(samples[tag])...)
	}
	random.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	return words
}

// TestSketch: texts of which most phrases are the same resemble each other, and share a key;
// others do not.
func TestSketch(t *testing.T) {
	const rounds = 50
	for _, tt := range []struct {
		name  string
		every int // words between two replaced ones; 0: none are
		add   int // words of another text at the end, in percent
		alike bool
	}{
		{"the same text", 0, 0, true},
		{"a text with another name in it", 40, 0, true},
		{"a text with a name in every sentence", 25, 0, true},
		{"a text with an addition", 0, 30, true},
		{"every fifth word is another", 5, 0, false},
		{"twice as long with another text", 0, 250, false},
	} {
		wrong, noKey := 0, 0
		for seed := range uint64(rounds) {
			random := rand.New(rand.NewPCG(seed, 1))
			words := repeated(random, "en", "fr", "de")[:200]
			other := append([]string(nil), words...)
			if tt.every > 0 {
				for i := tt.every - 1; i < len(other); i += tt.every {
					other[i] = "other"
				}
			}
			extra := repeated(random, "es", "it", "nl", "pt", "ro", "sv")
			other = append(other, extra[:len(words)*tt.add/100]...)
			a, b := prose.NewSketch(strings.Join(words, " ")), prose.NewSketch(strings.Join(other, " "))
			if a.Resembles(b) != tt.alike || b.Resembles(a) != tt.alike {
				wrong++
			}
			same := false
			for i, key := range a.Keys() {
				same = same || key == b.Keys()[i]
			}
			if !same {
				noKey++
			}
		}
		if wrong > rounds/10 || tt.alike && noKey > rounds/10 {
			t.Errorf("%s: %d of %d are judged wrongly, %d have no key in common", tt.name, wrong, rounds, noKey)
		}
	}
}

// TestSketchesOfLanguages: the texts of no two languages resemble each other, each resembles
// itself, and a sketch survives its encoding.
func TestSketchesOfLanguages(t *testing.T) {
	for tag, text := range samples {
		s := prose.NewSketch(text)
		read, err := prose.ParseSketch(s.String())
		if err != nil || read != s || !s.Resembles(read) {
			t.Errorf("%s: the sketch is read as another: %v", tag, err)
		}
		for other, text := range samples {
			if other != tag && s.Resembles(prose.NewSketch(text)) {
				t.Errorf("%s resembles %s", tag, other)
			}
		}
	}
	if empty := prose.NewSketch("Five words make a"); empty.Resembles(empty) {
		t.Error("texts without a phrase resemble each other")
	}
	for _, bad := range []string{"", "AAAA", "%", strings.Repeat("A", 172)} {
		if _, err := prose.ParseSketch(bad); err == nil {
			t.Errorf("%q is a sketch", bad)
		}
	}
}

package injection_test

import (
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/origin/injection"
)

// BenchmarkFind reads the innocent corpus as one text: all languages, no matches to
// speak of.
func BenchmarkFind(b *testing.B) {
	var text strings.Builder
	for _, s := range corpus(b, "innocents") {
		text.WriteString(s.text + "\n\n")
	}
	d := injection.New("Acme")
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		d.Find(text.String(), injection.People)
	}
}

// BenchmarkProse reads English prose without orders to models.
func BenchmarkProse(b *testing.B) {
	text := strings.Repeat("We roast every Monday and ship the beans on the same day. Each bag names the farm, the "+
		"height and the date of the harvest, so that you know what you drink and whom you pay.\n", 400)
	d := injection.New("Acme")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		d.Find(text, injection.People)
	}
}

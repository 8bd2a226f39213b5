package fieldmark_test

import (
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
)

var audited = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

func TestFactsDigest(t *testing.T) {
	f := fieldmark.Facts{Version: fieldmark.FactsVersion, URL: "https://a.example/",
		Facts: []fieldmark.Fact{{ID: "home.words", State: fieldmark.Measured, Value: 300_000, Unit: "words"}}}
	first, err := f.Digest()
	if err != nil {
		t.Fatal(err)
	}
	f.AsOf = fieldmark.At(audited)
	if later, _ := f.Digest(); later != first {
		t.Errorf("the date changes the digest: %s, %s", first, later)
	}
	f.Facts[0].Value++
	if other, _ := f.Digest(); other == first {
		t.Error("another value has the same digest")
	}
	if _, ok := f.Find("home.words"); !ok {
		t.Error("Find misses home.words")
	}
	if _, ok := f.Find("home.wordz"); ok {
		t.Error("Find finds home.wordz")
	}
}

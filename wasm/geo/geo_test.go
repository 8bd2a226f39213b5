package geo_test

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"github.com/fieldmark/fieldmark/wasm/geo"
)

var update = flag.Bool("update", false, "write the compiled module instead of comparing it")

// TestCommittedModule compares the compiled card with the committed bytes.
func TestCommittedModule(t *testing.T) {
	got, err := geo.Card().Compile()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("geo-readiness.wasm", got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(got, geo.Module()) {
		t.Errorf("the card compiles to %d bytes that differ from the %d committed; run make wasm", len(got),
			len(geo.Module()))
	}
}

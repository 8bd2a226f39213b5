package geo_test

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/wasm/geo"
)

var update = flag.Bool("update", false, "write the compiled module instead of comparing it")

// TestCommittedModules compares the compiled cards with the committed bytes. Version 1 is
// published: its digest must stay what it is.
func TestCommittedModules(t *testing.T) {
	for i, c := range geo.Cards() {
		got, err := c.Compile()
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("geo-readiness-%d.wasm", i+1)
		switch {
		case bytes.Equal(got, geo.Modules()[i]):
		case *update && i > 0:
			if err := os.WriteFile(name, got, 0o644); err != nil {
				t.Fatal(err)
			}
		default:
			t.Errorf("the card compiles to %d bytes that differ from the %d of %s; run make wasm", len(got),
				len(geo.Modules()[i]), name)
		}
	}
	const first = "sha256:fb51712b17b25c7a5251973e9590f509591d9ec3128938edbba3308895a7f2da"
	if got := string(fieldmark.DigestOf(sha256.Sum256(geo.Modules()[0]))); got != first {
		t.Errorf("version 1.0 has the digest %s, was published as %s", got, first)
	}
	if !bytes.Equal(geo.Module(), geo.Modules()[len(geo.Modules())-1]) {
		t.Error("Module is not the newest version")
	}
}

package wasm_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/abi"
)

// TestHandWritten checks the module that was written in WAT from ABI.md only, with the
// manifest and the vectors of that page. This also tests the examples of the page.
func TestHandWritten(t *testing.T) {
	page, err := os.ReadFile("ABI.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile("(?s)```json\n(.*?)\n```").FindAllSubmatch(page, -1)
	if len(examples) != 2 {
		t.Fatalf("ABI.md has %d examples in JSON, want 2", len(examples))
	}
	module, err := os.ReadFile("testdata/wat/words.wasm")
	if err != nil {
		t.Fatal(err)
	}
	module = abi.AppendCustom(module, abi.SectionManifest, examples[0][1])
	module = abi.AppendCustom(module, abi.SectionVectors, examples[1][1])
	r := wasm.Check(t.Context(), module)
	if len(r.Problems) > 0 {
		t.Errorf("complaints: %q", r.Problems)
	}
	if r.Measurements == nil || r.Measurements.WorstFuel > 100 {
		t.Errorf("trial %+v", r.Measurements)
	}
}

// wat2wasm returns the path of the WAT compiler. The first call installs it with npm in
// a folder outside the repository.
func wat2wasm(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(cache, "fieldmark-npm", "wat")
	tool := filepath.Join(folder, "node_modules", ".bin", "wat2wasm")
	if _, err := os.Stat(tool); err == nil {
		return tool
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"package.json", "package-lock.json"} {
		b, err := os.ReadFile(filepath.Join("testdata", "wat", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	install := exec.Command("npm", "ci", "--silent", "--ignore-scripts")
	install.Dir = folder
	if said, err := install.CombinedOutput(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("the module in WAT is compiled by wabt, which npm (Node.js) could not install: %v\n%s", err, said)
		}
		t.Skipf("npm could not install wabt: %v", err)
	}
	return tool
}

// TestHandWrittenIsCompiled compares the committed binary with its source.
func TestHandWrittenIsCompiled(t *testing.T) {
	tool := wat2wasm(t)
	out := filepath.Join(t.TempDir(), "words.wasm")
	if said, err := exec.Command(tool, "testdata/wat/words.wat", "-o", out).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/wat/words.wasm")
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("words.wat compiles to %d bytes that differ from the %d committed (%v)", len(got), len(want), err)
	}
}

package examples_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/wasmtest"
	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/abi"
	"github.com/fieldmark/fieldmark/wasm/card"
	"github.com/fieldmark/fieldmark/wasm/examples"
)

// -facts is how many random facts every module is held against its card on; zero
// means 100,000, and fewer of what takes long. -update rewrites the digests.
var (
	facts  = flag.Int("facts", 0, "random facts for every module")
	update = flag.Bool("update", false, "write the digests of the modules")
)

// example is a scorer, and how much slower it is than others.
type example struct {
	language string
	dear     int
}

var all = []example{{"c", 1}, {"assemblyscript", 1}, {"go", 10}, {"rust", 1}}

// TestExamples builds each scorer from a project as `fieldmark module new` makes
// it, wants the committed digest, and holds the module against its card.
func TestExamples(t *testing.T) {
	for _, e := range all {
		t.Run(e.language, func(t *testing.T) {
			packed, oracle := wasmtest.Example(t, e.language)
			e.checkDigest(t, packed)
			engine, err := wasm.New(wasm.Config{Instances: 1, WASI: true})
			must(t, err)
			t.Cleanup(func() { must(t, engine.Close(context.Background())) })
			m, err := engine.Load(t.Context(), packed)
			must(t, err)
			n := *facts
			if n == 0 {
				n = 100_000 / e.dear
			}
			compare(t, m, oracle, n)
			t.Logf("%d bytes, equal on %d facts", len(packed), n)
		})
	}
}

// TestCardExample builds the scorecard that a project without code begins with,
// formatted as it should be, and has it tried as an origin would.
func TestCardExample(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "scorer")
	must(t, examples.Write("card", folder))
	for _, name := range []string{"README.md", "card.schema.json"} {
		if !exists(filepath.Join(folder, name)) {
			t.Errorf("the project has no %s", name)
		}
	}
	text, err := os.ReadFile(filepath.Join(folder, "card.json"))
	must(t, err)
	if formatted, err := card.Format(text); err != nil || !bytes.Equal(formatted, text) {
		t.Errorf("it should be written (%v)\n%s", err, formatted)
	}
	c, err := card.Parse(text)
	must(t, err)
	module, err := c.Compile()
	must(t, err)
	if r := wasm.Check(t.Context(), module); len(r.Problems) > 0 {
		t.Errorf("complaints: %q", r.Problems)
	}
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

// checkDigest holds the module to the digest in digests.txt, which is of one
// version of its compiler: with another one only says so.
func (e *example) checkDigest(t *testing.T, packed []byte) {
	t.Helper()
	version := e.version(t)
	line := fmt.Sprintf("%s %s", e.language, fieldmark.DigestOf(sha256.Sum256(packed)))
	text, err := os.ReadFile("digests.txt")
	must(t, err)
	for old := range strings.Lines(string(text)) {
		named, with, _ := strings.Cut(strings.TrimSpace(old), " by ")
		if !strings.HasPrefix(named, e.language+" ") {
			continue
		}
		switch {
		case *update:
			must(t, os.WriteFile("digests.txt", bytes.Replace(text, []byte(old), []byte(line+" by "+version+"\n"), 1),
				0o644))
		case with != version:
			t.Logf("compiled by %s; digests.txt is of %s", version, with)
		case named != line:
			t.Errorf("compiled by %s: got %s, want %s", version, line, named)
		}
		return
	}
	t.Logf("no digest is committed: %s by %s", line, version)
}

// version names the compiler.
func (e *example) version(t *testing.T) string {
	t.Helper()
	command := map[string][]string{
		"c": {"sh", "-c", `"$(command -v clang-19 || command -v clang)" --version | head -1`}, "go": {"go", "env",
			"GOVERSION"},
	}[e.language]
	switch e.language {
	case "assemblyscript":
		command = []string{wasmtest.AssemblyScript(t), "--version"}
	case "rust":
		command = []string{wasmtest.Rustc(t), "--version"}
	}
	out, err := exec.Command(command[0], command[1:]...).Output()
	must(t, err)
	return strings.TrimSpace(string(out))
}

// compare holds a module against a card on n random facts.
func compare(t *testing.T, m *wasm.Module, oracle *card.Card, n int) {
	t.Helper()
	random := rand.New(rand.NewPCG(7, uint64(n)))
	inputs := oracle.Manifest().Inputs
	values, states := make([]int64, len(inputs)), make([]byte, len(inputs))
	var got abi.Result
	for range n {
		for i := range values {
			states[i] = abi.StateMeasured
			if random.IntN(8) == 0 {
				states[i] = byte(random.IntN(3))
			}
			values[i] = 0
			if states[i] == abi.StateMeasured {
				values[i] = random.Int64N([]int64{2, 1100, 1_000_000,
					abi.MaxValue}[random.IntN(4)]) * int64(1-2*random.IntN(8)/7)
			}
		}
		must(t, m.Score(t.Context(), values, states, &got))
		if want := oracle.Eval(values, states); got.Score != want.Score || got.Gates != want.Gates ||
			!slices.Equal(got.Marks, want.Marks) {
			t.Fatalf("values %v, states %v: got %v, want %v", values, states, got, want)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

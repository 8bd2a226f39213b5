package author

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/fieldmark/fieldmark/cmd/fieldmark/command"
	"github.com/fieldmark/fieldmark/wasm/card"
	"github.com/fieldmark/fieldmark/wasm/geo"
)

// TestYAMLCard converts the built-in card to YAML and checks that it gives the same
// module and, once formatted, the same JSON.
func TestYAMLCard(t *testing.T) {
	source := []byte(readFile(t, "..", "..", "..", "wasm", "geo", "geo-readiness-2.json"))
	var node yaml.Node
	must(t, yaml.Unmarshal(source, &node)) // JSON is YAML
	plainStyle(&node)
	text, err := yaml.Marshal(&node)
	must(t, err)
	if bytes.Contains(text, []byte(`{"`)) {
		t.Fatalf("still JSON: %.80s", text)
	}
	c, _, err := parseCard("geo.yaml", text)
	must(t, err)
	module, err := c.Compile()
	must(t, err)
	if !bytes.Equal(module, geo.Module()) {
		t.Error("another module")
	}
	_, asJSON, err := yamlToJSON(text)
	must(t, err)
	formatted, err := card.Format(asJSON)
	must(t, err)
	want, err := card.Format(source)
	must(t, err)
	if !bytes.Equal(formatted, want) {
		t.Error("another JSON")
	}
}

// plainStyle makes the encoder write every value in block style, on separate lines.
func plainStyle(n *yaml.Node) {
	n.Style = 0
	for _, c := range n.Content {
		plainStyle(c)
	}
}

// TestYAMLMistakes checks the line and column of a mistake, counted from 1 as in
// editors.
func TestYAMLMistakes(t *testing.T) {
	sound := "name: n\nversion: 1.0.0\nmethodology: {id: n, version: '1.0', url: /n}\nauthor: A\nlicence: MIT\n" +
		"inputs:\n  - {name: text.words, unit: words, direction: up}\ncomponents:\n  - id: all\n    label: All\n    " +
		"weight: 100\n    signals:\n" +
		"      - {id: one, label: One, points: 100, advice: Do., combine: mean, parts: [{input: text.words, curve: " +
		"{linear: [[0, 0], [300, 1]]}}]}\ngates: []\n"
	if _, _, err := parseCard("c.yml", []byte(sound)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ old, new, want string }{
		{"weight: 100", "weight: 99", "11:13: components[0].weight is 99"},
		{"label: All", "label: ''", "10:12: components[0].label has 0 characters"},
		{"author: A", "author: no", `"no"`}, // in YAML 1.2 this is a string, not a boolean
		{"author: A", "author: true", `4:9: "true" is neither a string nor a number`},
		{"licence: MIT", "licence: &x MIT\nother: *x", "aliases are not supported"},
		{"gates: []", "gates: *x", "unknown anchor"},
		{"name: n\n", "name: [\n", "yaml: line"},
	} {
		_, _, err := parseCard("c.yml", []byte(strings.Replace(sound, tt.old, tt.new, 1)))
		if tt.new == "author: no" {
			if err != nil {
				t.Errorf("%s: %v", tt.new, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.new, err, tt.want)
		}
	}
}

// TestYAMLWarnings builds a card with an unused input: the warning contains the
// position in the YAML file, and the module is written.
func TestYAMLWarnings(t *testing.T) {
	dir := t.TempDir()
	path, module := filepath.Join(dir, "c.yaml"), filepath.Join(dir, "c.wasm")
	text := "name: n\nversion: 1.0.0\nmethodology: {id: n, version: '1.0', url: /n}\nauthor: A\nlicence: MIT\n" +
		"inputs:\n  - {name: text.words, unit: words, direction: up}\n  - {name: page.time, unit: ms, direction: " +
		"down}\n" +
		"components:\n  - id: all\n    label: All\n    weight: 100\n    signals:\n" +
		"      - {id: one, label: One, points: 100, advice: Do., combine: mean, parts: [{input: text.words, curve: " +
		"{linear: [[0, 0], [300, 1]]}}]}\ngates: []\n"
	must(t, os.WriteFile(path, []byte(text), 0o600))
	var stderr strings.Builder
	build := moduleBuildCmd{cardFile: cardFile{File: path}, Output: module}
	must(t, build.Run(&command.Streams{Out: io.Discard, Err: &stderr}))
	if want := path + `:8:5: inputs[1] "page.time" is not used by any signal or gate (warning)` +
		"\n"; stderr.String() != want {
		t.Errorf("got %q, want %q", stderr.String(), want)
	}
	if _, err := os.Stat(module); err != nil {
		t.Error(err)
	}
	stderr.Reset()
	pack := modulePackCmd{ModuleFile: ModuleFile{File: module}, Card: path, Output: module}
	must(t, pack.Run(&command.Streams{Out: io.Discard, Err: &stderr}))
	if want := path + `:8:5: inputs[1] "page.time" is not used by any signal or gate (warning)` +
		"\n"; stderr.String() != want {
		t.Errorf("pack prints %q, want %q", stderr.String(), want)
	}
	must(t, os.WriteFile(path, []byte(strings.Replace(text, "weight: 100", "weight: 99", 1)), 0o600))
	if err := build.Run(&command.Streams{Out: io.Discard, Err: io.Discard}); err == nil ||
		!strings.HasSuffix(err.Error(), ": 1 mistake") {
		t.Errorf("got error %v, want 1 mistake", err)
	}
}

// TestYAMLMemory parses files whose expansion is very large: each is rejected with
// limited memory.
func TestYAMLMemory(t *testing.T) {
	const size, most = card.MaxFile, 150 << 20
	bomb := "a0: &a0 [x]\n"
	for i := range 30 {
		bomb += fmt.Sprintf("a%d: &a%d [*a%d, *a%d]\n", i+1, i+1, i, i)
	}
	var deep strings.Builder
	for i := 0; deep.Len() < size-1000; i++ {
		fmt.Fprintf(&deep, "%s-\n", strings.Repeat(" ", i))
	}
	for name, text := range map[string]string{
		"aliases of aliases":     bomb,
		"merged aliases":         "a: &a {x: 1}\nb:\n" + strings.Repeat("  - <<: *a\n", 10_000),
		"lists in lists":         "a: " + strings.Repeat("[", size-10),
		"lists by indentation":   deep.String(),
		"maps in maps":           strings.Repeat("{a: ", size/4-1),
		"small values":           "a: [" + strings.Repeat("x,", size/2-10) + "]",
		"keys":                   strings.Repeat("? a\n", size/4-1),
		"documents":              strings.Repeat("---\n", size/4-1),
		"tags":                   "a: [" + strings.Repeat("!!x y,", size/6-10) + "]",
		"more than a card holds": strings.Repeat("#", size+1),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := parseCard("c.yml", []byte(text))
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > most || err == nil {
			t.Errorf("%s: allocated %d MB for %d kB, error %.80v; want at most %d and an error", name, got>>20,
				len(text)>>10, err, most>>20)
		}
	}
}

func FuzzYAMLCard(f *testing.F) {
	f.Add([]byte("name: n\ninputs: [a, 1, {b: 2}]"))
	f.Add([]byte("a: &x [*x]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, asJSON, err := yamlToJSON(text); err == nil {
			_, _ = card.Parse(asJSON)
		}
	})
}

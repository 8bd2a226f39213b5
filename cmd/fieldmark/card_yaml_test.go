package main

import (
	"bytes"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/fieldmark/fieldmark/wasm/card"
	"github.com/fieldmark/fieldmark/wasm/geo"
)

// TestYAMLCard turns the built-in card into YAML and wants the same module, and
// the same JSON to the byte once formatted.
func TestYAMLCard(t *testing.T) {
	source := []byte(readFile(t, "..", "..", "wasm", "geo", "geo-readiness.json"))
	var node yaml.Node
	must(t, yaml.Unmarshal(source, &node)) // JSON is YAML
	plainStyle(&node)
	text, err := yaml.Marshal(&node)
	must(t, err)
	if bytes.Contains(text, []byte(`{"`)) {
		t.Fatalf("still JSON: %.80s", text)
	}
	c, err := parseCard("geo.yaml", text)
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

// plainStyle writes every value in lines of its own.
func plainStyle(n *yaml.Node) {
	n.Style = 0
	for _, c := range n.Content {
		plainStyle(c)
	}
}

// TestYAMLMistakes wants the place of a mistake as an editor counts it.
func TestYAMLMistakes(t *testing.T) {
	sound := "name: n\nversion: 1.0.0\nmethodology: {id: n, version: '1.0', url: /n}\nauthor: A\nlicence: MIT\n" +
		"inputs:\n  - {name: text.words, unit: words, direction: up}\ncomponents:\n  - id: all\n    label: All\n    weight: 100\n    signals:\n" +
		"      - {id: one, label: One, points: 100, advice: Do., combine: mean, parts: [{input: text.words, curve: {linear: [[0, 0], [300, 1]]}}]}\ngates: []\n"
	if _, err := parseCard("c.yml", []byte(sound)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ old, new, want string }{
		{"weight: 100", "weight: 99", "11:13: components[0].weight is 99"},
		{"label: All", "label: ''", "10:12: components[0].label has 0 characters"},
		{"author: A", "author: no", `"no"`}, // YAML 1.2 has no such truth value: it is a text
		{"author: A", "author: true", `4:9: "true" is neither a text nor a number`},
		{"licence: MIT", "licence: &x MIT\nother: *x", "aliases are not read"},
		{"gates: []", "gates: *x", "unknown anchor"},
		{"name: n\n", "name: [\n", "yaml: line"},
	} {
		_, err := parseCard("c.yml", []byte(strings.Replace(sound, tt.old, tt.new, 1)))
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

func FuzzYAMLCard(f *testing.F) {
	f.Add([]byte("name: n\ninputs: [a, 1, {b: 2}]"))
	f.Add([]byte("a: &x [*x]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, asJSON, err := yamlToJSON(text); err == nil {
			_, _ = card.Parse(asJSON)
		}
	})
}

package abi_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/wasm/abi"
	"github.com/fieldmark/fieldmark/wasm/geo"
)

func smallManifest() abi.Manifest {
	return abi.Manifest{
		Name: "small", Version: "1.0.0", ABI: abi.Name,
		Methodology: fieldmark.Methodology{ID: "small", Version: "1.0", URL: "/methodology"},
		Author:      "Somebody", Licence: "MIT",
		Inputs: []abi.Input{{Name: "a.b", Unit: "words", Direction: abi.Up}, {Name: "c", Unit: "bool",
			Direction: abi.Down}},
		Components: []abi.Component{{ID: "all", Label: "All", Weight: 100, Signals: []abi.Signal{
			{ID: "all.one", Label: "One", Points: 60, Inputs: []string{"a.b"}, Unit: "words", Advice: "Write."},
			{ID: "all.two", Label: "Two", Points: 40, Inputs: []string{"a.b", "c"}, Unit: "share", Advice: "Do."},
		}}},
		Gates:  []abi.Gate{{ID: "shut", Limit: 30, Reason: "It is shut."}},
		Limits: abi.Limits{Pages: 1},
	}
}

func smallVectors() []abi.Vector {
	all := make([]abi.Vector, abi.MinVectors)
	for i := range all {
		all[i] = abi.Vector{Values: []int64{1000, 0}, States: "10", Score: 500, Gates: 1, Marks: []int32{5,
			abi.MarkUnknown}}
	}
	return all
}

func TestManifestRoundTrip(t *testing.T) {
	for name, want := range map[string]abi.Manifest{"small": smallManifest(), "built-in": geo.Card().Manifest()} {
		b, err := want.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := abi.ParseManifest(b)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, *got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

func TestManifestIsCanonical(t *testing.T) {
	m := smallManifest()
	m.Author = `A "quoted" <b>\ & é`
	b, err := m.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(b, []byte(`"author":"A \"quoted\" <b>\\ & é"`)) {
		t.Errorf("author is escaped otherwise than stated: %s", b)
	}
	text := string(b)
	for name, other := range map[string]string{
		"white space":    strings.Replace(text, ",", ", ", 1),
		"line end":       text + "\n",
		"second value":   text + text,
		"capital member": strings.Replace(text, `"name"`, `"Name"`, 1),
		"member twice":   strings.Replace(text, `{"name":"small"`, `{"name":"other","name":"small"`, 1),
		"unknown member": strings.Replace(text, `{"name"`, `{"extra":1,"name"`, 1),
		"missing member": strings.Replace(text, `"licence":"MIT",`, ``, 1),
		"null list": strings.Replace(text, `"gates":[{"id":"shut","limit":30,"reason":"It is shut."}]`,
			`"gates":null`, 1),
		"escaped letter":  strings.Replace(text, `"small"`, `"sm\u0061ll"`, 1),
		"another number":  strings.Replace(text, `"limit":30`, `"limit":3e1`, 1),
		"not UTF-8":       strings.Replace(text, "é", "\xe9", 1),
		"replaced letter": strings.Replace(text, "é", `\ud800`, 1),
	} {
		if other == text {
			t.Fatalf("%s: nothing was changed", name)
		}
		if _, err := abi.ParseManifest([]byte(other)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestManifestCheck(t *testing.T) {
	for _, tt := range []struct {
		want   string
		change func(*abi.Manifest)
	}{
		{"name", func(m *abi.Manifest) { m.Name = "Small" }},
		{"name", func(m *abi.Manifest) { m.Name = strings.Repeat("a", 65) }},
		{"version", func(m *abi.Manifest) { m.Version = "1.0.0-beta" }},
		{"abi", func(m *abi.Manifest) { m.ABI = "scorer/2" }},
		{"methodology.url", func(m *abi.Manifest) { m.Methodology.URL = "javascript:alert(1)" }},
		{"methodology.url", func(m *abi.Manifest) { m.Methodology.URL = "//elsewhere.example" }},
		{"author", func(m *abi.Manifest) { m.Author = "" }},
		{"licence", func(m *abi.Manifest) { m.Licence = "MIT\nor else" }},
		{"limits.pages", func(m *abi.Manifest) { m.Limits.Pages = 257 }},
		{"inputs are 0", func(m *abi.Manifest) { m.Inputs = nil }},
		{"inputs are 257", func(m *abi.Manifest) { m.Inputs = make([]abi.Input, 257) }},
		{"inputs[1].name", func(m *abi.Manifest) { m.Inputs[1].Name = "a.b" }},
		{"inputs[0].unit", func(m *abi.Manifest) { m.Inputs[0].Unit = "" }},
		{"inputs[0].direction", func(m *abi.Manifest) { m.Inputs[0].Direction = "left" }},
		{"components are 0", func(m *abi.Manifest) { m.Components = nil }},
		{"components[0].id", func(m *abi.Manifest) { m.Components[0].ID = "-" }},
		{"components[0].label", func(m *abi.Manifest) { m.Components[0].Label = "a\u202eb" }},
		{"components[0].weight", func(m *abi.Manifest) { m.Components[0].Weight = 99 }},
		{"must have 100", func(m *abi.Manifest) {
			m.Components[0].Weight = 101
			m.Components[0].Signals[0].Points = 61
		}},
		{"components[0].signals", func(m *abi.Manifest) { m.Components[0].Signals = nil }},
		{"signals[1].id", func(m *abi.Manifest) { m.Components[0].Signals[1].ID = "all.one" }},
		{"signals[0].points", func(m *abi.Manifest) { m.Components[0].Signals[0].Points = 0 }},
		{"signals[0].advice", func(m *abi.Manifest) { m.Components[0].Signals[0].Advice = strings.Repeat("é", 301) }},
		{"signals[0].inputs[0]", func(m *abi.Manifest) { m.Components[0].Signals[0].Inputs[0] = "z" }},
		{"signals[1].inputs[1]", func(m *abi.Manifest) { m.Components[0].Signals[1].Inputs[1] = "a.b" }},
		{"signals[0].unit", func(m *abi.Manifest) { m.Components[0].Signals[0].Unit = "share" }},
		{"gates are 33", func(m *abi.Manifest) { m.Gates = make([]abi.Gate, 33) }},
		{"gates[0].limit", func(m *abi.Manifest) { m.Gates[0].Limit = 101 }},
		{"gates[0].reason", func(m *abi.Manifest) { m.Gates[0].Reason = "" }},
	} {
		m := smallManifest()
		tt.change(&m)
		b, err := m.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := abi.ParseManifest(b); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got error %v, want one about %q", err, tt.want)
		}
	}
}

func TestVectors(t *testing.T) {
	m := smallManifest()
	parse := func(all []abi.Vector) error {
		b, err := abi.AppendVectors(nil, all)
		if err != nil {
			t.Fatal(err)
		}
		_, err = abi.ParseVectors(b, &m)
		return err
	}
	if err := parse(smallVectors()); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*abi.Vector){
		"too few values":  func(v *abi.Vector) { v.Values = v.Values[:1] },
		"too few states":  func(v *abi.Vector) { v.States = "1" },
		"unknown state":   func(v *abi.Vector) { v.States = "13" },
		"unmeasured":      func(v *abi.Vector) { v.Values[1] = 1 },
		"out of bounds":   func(v *abi.Vector) { v.Values[0] = abi.MaxValue + 1 },
		"wrong sum":       func(v *abi.Vector) { v.Score++ },
		"unknown gate":    func(v *abi.Vector) { v.Gates = 2 },
		"too few marks":   func(v *abi.Vector) { v.Marks = v.Marks[:1] },
		"mark too large":  func(v *abi.Vector) { v.Marks[0] = 1001 },
		"marks left out":  func(v *abi.Vector) { v.Marks = nil },
		"values left out": func(v *abi.Vector) { v.Values = nil },
	} {
		all := smallVectors()
		change(&all[3])
		if err := parse(all); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if err := parse(smallVectors()[1:]); err == nil {
		t.Error("too few vectors: accepted")
	}
}

// TestWrittenContract checks that the code accepts the examples of ABI.md, which
// authors copy.
func TestWrittenContract(t *testing.T) {
	text, err := os.ReadFile("../ABI.md")
	if err != nil {
		t.Fatal(err)
	}
	var examples []string
	for _, block := range strings.Split(string(text), "```json\n")[1:] {
		example, _, _ := strings.Cut(block, "\n```")
		examples = append(examples, example)
	}
	if len(examples) != 2 {
		t.Fatalf("ABI.md has %d JSON examples, want a manifest and vectors", len(examples))
	}
	m, err := abi.ParseManifest([]byte(examples[0]))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := abi.ParseVectors([]byte(examples[1]), m); err != nil {
		t.Error(err)
	}
}

func FuzzParseManifest(f *testing.F) {
	m := smallManifest()
	b, err := m.Append(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := abi.ParseManifest(b)
		if err != nil {
			return
		}
		again, err := m.Append(nil)
		if err != nil || !bytes.Equal(again, b) {
			t.Errorf("accepted %q, which is written %q (%v)", b, again, err)
		}
	})
}

func FuzzParseVectors(f *testing.F) {
	m := smallManifest()
	b, err := abi.AppendVectors(nil, smallVectors())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		all, err := abi.ParseVectors(b, &m)
		if err != nil {
			return
		}
		again, err := abi.AppendVectors(nil, all)
		if err != nil || !bytes.Equal(again, b) {
			t.Errorf("accepted %q, which is written %q (%v)", b, again, err)
		}
	})
}

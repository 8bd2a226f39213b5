package abi_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/wasm/abi"
	"github.com/fieldmark/fieldmark/wasm/geo"
)

// section is one section of a module taken apart.
type section struct {
	id   byte
	body []byte
}

func appendSection(dst []byte, s section) []byte {
	dst = append(dst, s.id)
	n := len(s.body)
	for n >= 0x80 {
		dst, n = append(dst, byte(n)|0x80), n>>7
	}
	return append(append(dst, byte(n)), s.body...)
}

// join builds a module from sections.
func join(all ...section) []byte {
	b := []byte("\x00asm\x01\x00\x00\x00")
	for _, s := range all {
		b = appendSection(b, s)
	}
	return b
}

func custom(name string, content []byte) section {
	return section{0, append(append([]byte{byte(len(name))}, name...), content...)}
}

var (
	memory  = section{5, []byte{1, 1, 1, 1}}
	exports = section{7, []byte("\x03\x06memory\x02\x00\x0fscorer_v1_input\x00\x00\x0fscorer_v1_score\x00\x01")}
)

// small returns the sections of a module that Parse accepts. It has no code, which only
// the engine validates.
func small(t testing.TB) (manifest, vectors section) {
	t.Helper()
	m := smallManifest()
	text, err := m.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	golden, err := abi.AppendVectors(nil, smallVectors())
	if err != nil {
		t.Fatal(err)
	}
	return custom(abi.SectionManifest, text), custom(abi.SectionVectors, golden)
}

func TestParse(t *testing.T) {
	manifest, vectors := small(t)
	for _, tt := range []struct {
		name   string
		module []byte
		want   string // in the error; empty: accepted
	}{
		{"built-in", geo.Module(), ""},
		{"smallest", join(memory, exports, manifest, vectors), ""},
		{"custom sections first", join(vectors, manifest, memory, exports), ""},
		{"other custom section", join(memory, exports, manifest, vectors, custom("name", []byte("x"))), ""},
		{"empty import section", join(section{2, []byte{0}}, memory, exports, manifest, vectors), ""},

		{"nothing", nil, "not a WebAssembly module"},
		{"text", []byte("(module)"), "not a WebAssembly module"},
		{"component", []byte("\x00asm\x0d\x00\x01\x00"), "core module"},
		{"too large", make([]byte, fieldmark.MaxAnyModule+1), "at most"},
		{"too large for its class", join(memory, exports, manifest, vectors,
			custom("x", make([]byte, fieldmark.MaxModule))), "at most 1048576"},
		{"cut short", geo.Module()[:len(geo.Module())-1], "cut short"},
		{"length without end", append(join(), 1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01), "cut short"},
		{"length past 32 bits", append(join(), 1, 0xff, 0xff, 0xff, 0xff, 0x7f), "cut short"},
		{"wrong order", join(exports, memory, manifest, vectors), "out of order"},
		{"twice", join(memory, memory, exports, manifest, vectors), "twice"},
		{"unknown section", join(memory, exports, section{13, []byte{0}}, manifest, vectors), "unknown"},
		{"too many sections", join(bytesOf(custom("x", nil), abi.MaxSections+1)...), "more than"},

		{"import", join(section{2, []byte("\x01\x03env\x03log\x00\x00")}, memory, exports, manifest, vectors),
			`imports, none are allowed: "env"."log"`},
		{"start function", join(memory, exports, section{8, []byte{0}}, manifest, vectors), "start function"},

		{"no memory", join(exports, manifest, vectors), "no memory"},
		{"two memories", join(section{5, []byte{2, 1, 1, 1, 1, 1, 1}}, exports, manifest, vectors), "exactly one"},
		{"memory without maximum", join(section{5, []byte{1, 0, 1}}, exports, manifest, vectors), "maximum"},
		{"shared memory", join(section{5, []byte{1, 3, 1, 1}}, exports, manifest, vectors), "maximum"},
		{"64-bit memory", join(section{5, []byte{1, 5, 1, 1}}, exports, manifest, vectors), "maximum"},
		{"too much memory", join(section{5, []byte{1, 1, 1, 17}}, exports, manifest, vectors), "at most 16"},
		{"more than the maximum", join(section{5, []byte{1, 1, 2, 1}}, exports, manifest, vectors), "2 to 1"},
		{"more than the manifest says", join(section{5, []byte{1, 1, 1, 2}}, exports, manifest, vectors),
			"manifest says 1"},

		{"no exports", join(memory, manifest, vectors), "no exported memory memory"},
		{"export of the wrong kind", join(memory, section{7, bytes.Replace(exports.body, []byte("score\x00"),
			[]byte("score\x03"), 1)}, manifest, vectors), "no exported function scorer_v1_score"},
		{"export twice", join(memory, section{7, []byte("\x02\x01a\x00\x00\x01a\x00\x00")}, manifest, vectors),
			"twice"},
		{"reserved export", join(memory, section{7, []byte("\x01\x0efieldmark.fuel\x03\x00")}, manifest, vectors),
			"reserved for the host"},
		{"too many exports", join(memory, section{7, []byte{0x81, 0x02}}, manifest, vectors), "exports"},
		{"exports cut short", join(memory, section{7, []byte("\x02\x06memory\x02")}, manifest, vectors), "malformed"},

		{"no manifest", join(memory, exports, vectors), "no custom section scorer.manifest"},
		{"no vectors", join(memory, exports, manifest), "no custom section scorer.vectors"},
		{"two manifests", join(memory, exports, manifest, manifest, vectors), "appears twice"},
		{"empty manifest", join(memory, exports, custom(abi.SectionManifest, nil), vectors), "manifest"},
		{"custom section without a name", join(section{0, []byte{9}}), "malformed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := abi.Parse(tt.module)
			if tt.want == "" && err != nil {
				t.Errorf("refused: %v", err)
			}
			if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// TestParseListsEverything checks that all five faults of a module are reported.
func TestParseListsEverything(t *testing.T) {
	manifest, _ := small(t)
	_, err := abi.Parse(join(section{2, []byte("\x01\x03env\x03log\x00\x00")}, section{5, []byte{1, 1, 1, 99}},
		section{8, []byte{0}}, manifest))
	list, ok := errors.AsType[abi.Problems](err)
	if !ok {
		t.Fatalf("got error %v", err)
	}
	for i, want := range []string{"imports", "99 pages", "start function", "export", "export", "export",
		"manifest says 1", "no custom section scorer.vectors"} {
		if i >= len(list) || !strings.Contains(list[i], want) {
			t.Errorf("complaint %d: want one with %q, got all of %q", i, want, list)
		}
	}
}

func bytesOf(s section, n int) []section {
	all := make([]section, n)
	for i := range all {
		all[i] = s
	}
	return all
}

// TestAppendCustom adds the custom sections to a module that was built without them.
func TestAppendCustom(t *testing.T) {
	manifest, vectors := small(t)
	module := join(memory, exports)
	module = abi.AppendCustom(module, abi.SectionManifest, manifest.body[1+len(abi.SectionManifest):])
	module = abi.AppendCustom(module, abi.SectionVectors, vectors.body[1+len(abi.SectionVectors):])
	got, err := abi.Parse(module)
	if err != nil {
		t.Fatal(err)
	}
	if got.Manifest.Name != "small" || len(got.Vectors) != abi.MinVectors {
		t.Errorf("got %q with %d vectors", got.Manifest.Name, len(got.Vectors))
	}
}

func FuzzParse(f *testing.F) {
	manifest, vectors := small(f)
	f.Add(geo.Module())
	f.Add(join(memory, exports, manifest, vectors))
	f.Add(join(section{6, []byte{1, 0x7f, 0, 0x41, 0, 0x0b}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := abi.Parse(b)
		if err == nil && (m.Manifest == nil || len(m.Vectors) < abi.MinVectors) {
			t.Errorf("accepted without manifest or vectors: %+v", m)
		}
	})
}

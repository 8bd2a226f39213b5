package bulk_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/bulk"
)

func TestBrands(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		want       string // slugs, or the code of the problem
		fields     string // pointers and codes
	}{
		{"a list", `{"brands":["a","b-1"]}`, "a b-1", ""},
		{"white space", " {\n\"brands\" :\t[ \"a\" , \"b\" ] }\r\n", "a b", ""},
		{"escapes", `{"br\u0061nds":["\u0061b"]}`, "ab", ""},
		{"none", `{"brands":[]}`, "", ""},
		{"the same one twice", `{"brands":["a","a"]}`, "a a", ""},

		{"no body", ``, "malformed_json", ""},
		{"cut off", `{"brands":["a"`, "malformed_json", ""},
		{"two documents", `{"brands":["a"]}{}`, "malformed_json", ""},
		{"comma at the end", `{"brands":["a",]}`, "malformed_json", ""},
		{"no comma", `{"brands":["a" "b"]}`, "malformed_json", ""},
		{"not UTF-8", "{\"brands\":[\"\xff\"]}", "invalid_utf8", ""},
		{"named twice", `{"brands":["a"],"brands":["b"]}`, "duplicate_member", ""},
		{"a list alone", `["a"]`, "validation_failed", " type"},
		{"null", `null`, "validation_failed", " type"},
		{"another member", `{"brands":["a"],"slugs":[]}`, "validation_failed", "/slugs unknown_field"},
		{"a long name", `{"` + strings.Repeat("x", 50) + `":1}`, "validation_failed", " unknown_field"},
		{"no member", `{}`, "validation_failed", "/brands required"},
		{"no list", `{"brands":"a"}`, "validation_failed", "/brands type"},
		{"numbers", `{"brands":["a",1,null]}`, "validation_failed", "/brands/1 type,/brands/2 type"},
		{"no slugs", `{"brands":["a","B","","é"]}`, "validation_failed",
			"/brands/1 pattern,/brands/2 pattern,/brands/3 pattern"},
		{"deep", strings.Repeat("[", 20_000), "malformed_json", ""},
	} {
		list, err := bulk.Brands([]byte(tt.body))
		var all []string
		for _, slug := range list {
			all = append(all, string(slug))
		}
		got, fields := strings.Join(all, " "), ""
		if fe, ok := errors.AsType[*fieldmark.Error](err); ok {
			got = string(fe.Code)
			for i, f := range fe.Fields {
				fields += strings.Repeat(",", min(i, 1)) + f.Pointer + " " + f.Code
			}
		}
		if got != tt.want || fields != tt.fields {
			t.Errorf("%s: %s (%s), want %s (%s)", tt.name, got, fields, tt.want, tt.fields)
		}
	}
	_, err := bulk.Brands([]byte(`{"brands":[` + strings.Repeat(`"A",`, 999) + `"A"]}`))
	if fe := fieldmark.AsError(err); len(fe.Fields) == 0 || len(fe.Fields) > 50 {
		t.Errorf("a thousand bad slugs are %d problems", len(fe.Fields))
	}
}

// Every list of slugs is read as encoding/json reads it, however it is written.
func FuzzBrands(f *testing.F) {
	for _, body := range []string{`{"brands":["a","b"]}`, `{"brands":[]}`, `{"brands" : [ "a\u0062" ]}`, `{"a":1}`} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := bulk.Brands(body)
		var want fieldmark.ScoreBatchRequest
		if jerr := json.Unmarshal(body, &want); err == nil && (jerr != nil || !slices.Equal(got, want.Brands)) {
			t.Errorf("%q: %v, want %v (%v)", body, got, want.Brands, jerr)
		}
	})
}

func BenchmarkBrands(b *testing.B) {
	var slugs []string
	for i := range fieldmark.MaxBatchScores {
		slugs = append(slugs, fmt.Sprint("a-usual-brand-", i))
	}
	body, err := json.Marshal(map[string]any{"brands": slugs})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if list, err := bulk.Brands(body); err != nil || len(list) != len(slugs) {
			b.Fatal(len(list), err)
		}
	}
}

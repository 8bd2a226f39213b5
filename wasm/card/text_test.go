package card_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark/wasm/card"
)

func TestFormat(t *testing.T) {
	long := strings.Repeat("x", 70)
	got, err := card.Format([]byte(`{"a":1.50,"b":["` + long + `",{"c":"é\n<b>","d":[]},"` + long +
		`"],"e":{},"f":[null,true]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  "a": 1.50,
  "b": [
    "` + long + `",
    {"c": "é\n<b>", "d": []},
    "` + long + `"
  ],
  "e": {},
  "f": [null, true]
}
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, text := range []string{``, `{`, `{"a":1,"a":2}`, `{} {}`, `[1,]`, `{"a" 1}`} {
		if out, err := card.Format([]byte(text)); err == nil {
			t.Errorf("%s became %s", text, out)
		}
	}
}

// TestFormatKeepsTheMeaning checks that the formatted built-in card compiles to the
// same bytes, and that formatting is idempotent.
func TestFormatKeepsTheMeaning(t *testing.T) {
	file, err := os.ReadFile("../geo/geo-readiness-2.json")
	if err != nil {
		t.Fatal(err)
	}
	once, err := card.Format(file)
	if err != nil {
		t.Fatal(err)
	}
	twice, err := card.Format(once)
	if err != nil || !bytes.Equal(once, twice) {
		t.Errorf("formatted twice it differs (%v)", err)
	}
	var compiled [2][]byte
	for i, text := range [][]byte{file, once} {
		if compiled[i], err = parse(t, string(text)).Compile(); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(compiled[0], compiled[1]) {
		t.Error("formatted it compiles to other bytes")
	}
}

// TestSchema checks that the built-in card is valid by the schema, and that Parse
// accepts every member of the schema.
func TestSchema(t *testing.T) {
	var schema, file any
	must(t, json.Unmarshal(card.Schema(), &schema))
	text, err := os.ReadFile("../geo/geo-readiness-2.json")
	must(t, err)
	must(t, json.Unmarshal(text, &file))
	v := validator{defs: schema.(object)["$defs"].(object)}
	if v.check("", schema.(object), file); len(v.complaints) > 0 {
		t.Errorf("the built-in: %q", v.complaints)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		text, err := json.Marshal(anyCard(r))
		must(t, err)
		must(t, json.Unmarshal(text, &file))
		if v.check("", schema.(object), file); len(v.complaints) > 0 {
			t.Fatalf("%s: %q", text, v.complaints)
		}
	}
	for _, wrong := range []string{`{}`, `[]`, strings.Replace(string(text), `"up"`, `"upwards"`, 1),
		strings.Replace(string(text), `"combine"`, `"combines"`, 1), strings.Replace(string(text), `"mean"`, `"max"`,
			1)} {
		v.complaints = nil
		must(t, json.Unmarshal([]byte(wrong), &file))
		if v.check("", schema.(object), file); len(v.complaints) == 0 {
			t.Errorf("valid by the schema: %.200s", wrong)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// validator implements the keywords of JSON Schema that the schema of cards uses.
type validator struct {
	defs       object
	complaints []string
}

func (v *validator) check(path string, s object, value any) {
	complain := func(what string) { v.complaints = append(v.complaints, path+": "+what) }
	if ref, ok := s["$ref"].(string); ok {
		s = v.defs[strings.TrimPrefix(ref, "#/$defs/")].(object)
	}
	if list, ok := s["enum"].([]any); ok && !slices.Contains(list, value) {
		complain("not in the list")
	}
	if forms, ok := s["oneOf"].([]any); ok {
		fits := 0
		for _, form := range forms {
			try := validator{defs: v.defs}
			if try.check(path, form.(object), value); len(try.complaints) == 0 {
				fits++
			}
		}
		if fits != 1 {
			complain("fits other than one form")
		}
	}
	switch x := value.(type) {
	case object:
		if s["type"] != nil && s["type"] != "object" {
			complain("an object")
			return
		}
		properties, _ := s["properties"].(object)
		for name, member := range x {
			if p, ok := properties[name].(object); ok {
				v.check(path+"/"+name, p, member)
			} else if s["additionalProperties"] == false {
				complain("unknown member " + name)
			}
		}
		required, _ := s["required"].([]any)
		for _, name := range required {
			if _, ok := x[name.(string)]; !ok {
				complain("no member " + name.(string))
			}
		}
	case []any:
		if s["type"] != nil && s["type"] != "array" {
			complain("an array")
		}
		for i, item := range x {
			if items, ok := s["items"].(object); ok {
				v.check(fmt.Sprint(path, "/", i), items, item)
			}
		}
	case string:
		if s["type"] != nil && s["type"] != "string" {
			complain("a string")
		}
	case float64:
		if s["type"] != nil && s["type"] != "number" && s["type"] != "integer" {
			complain("a number")
		}
	}
}

// TestProblemsHaveLines checks the line number of a mistake.
func TestProblemsHaveLines(t *testing.T) {
	text := strings.Replace(one("mean", "\n  {\"input\": \"a\",\n   \"curve\": {\"linear\": [[0, 0], [1, 7]]}}",
		anyGate), `"label": "All"`, `"label": ""`, 1)
	_, err := card.Parse([]byte(text))
	if err == nil || !strings.Contains(err.Error(),
		"9:33: components[0].signals[0].parts[0].curve.linear[1] gives a mark of 7") {
		t.Errorf("got error %v", err)
	}
	_, err = card.Parse([]byte(strings.Replace(text, "[1, 7]", "[1, 1]", 1)))
	if err == nil || !strings.Contains(err.Error(), "components[0].label has 0 characters") ||
		strings.Contains(err.Error(), "card: 1:1:") {
		t.Errorf("got error %v", err)
	}
}

// FuzzFormat checks that formatting preserves everything that Parse reads.
func FuzzFormat(f *testing.F) {
	file, err := os.ReadFile("../geo/geo-readiness-2.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(file)
	f.Add([]byte(one("mean", `{"input": "a", "curve": {"steps": [[1, 1]]}}`, anyGate)))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := card.Parse(b); err != nil {
			return
		}
		formatted, err := card.Format(b)
		if err != nil {
			t.Fatalf("parsed but not formatted: %v", err)
		}
		if _, err := card.Parse(formatted); err != nil {
			t.Errorf("formatted it is refused: %v\n%s", err, formatted)
		}
	})
}

package developer_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/fieldmark/fieldmark/edge/developer"
)

// golden is the OpenAPI document that the origin publishes now.
func golden(t *testing.T) []byte {
	t.Helper()
	raw, err := os.ReadFile("../../origin/api/testdata/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func parse(t *testing.T) *developer.Reference {
	t.Helper()
	r, err := developer.Parse(golden(t))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestExamples validates the composed examples of every request, response and event with the
// schemas of the document.
func TestExamples(t *testing.T) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(golden(t)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	if err := c.AddResource("openapi.json", doc); err != nil {
		t.Fatal(err)
	}
	checked := 0
	check := func(what, pointer, example string) {
		t.Helper()
		s, err := c.Compile("openapi.json#" + pointer)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(example))
		if err == nil {
			err = s.Validate(v)
		}
		if err != nil {
			t.Errorf("%s: %v\n%s", what, err, example)
		}
		checked++
	}
	escape := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace
	const schema = "/content/application~1json/schema"
	for _, g := range parse(t).Groups {
		for _, p := range g.Parts {
			for _, o := range p.Operations {
				at := "/paths/" + escape(o.Path) + "/" + strings.ToLower(o.Method)
				if o.Body != nil && o.Body.Example != "" {
					check(o.ID, at+"/requestBody"+schema, o.Body.Example)
				}
				for _, r := range o.Responses {
					if r.Body != nil && r.Body.Example != "" {
						check(o.ID+" "+r.Status, at+"/responses/"+r.Status[:3]+schema, r.Body.Example)
					}
				}
			}
		}
	}
	for _, e := range parse(t).Events {
		check(e.Type, "/webhooks/"+e.Type+"/post/requestBody"+schema, e.Body.Example)
	}
	if checked < 200 {
		t.Errorf("%d examples were validated, want at least 200", checked)
	}
}

// TestParse: every operation and every event of the document is in the reference.
func TestParse(t *testing.T) {
	var doc struct {
		Paths    map[string]map[string]struct{ OperationID string }
		Webhooks map[string]any
	}
	if err := json.Unmarshal(golden(t), &doc); err != nil {
		t.Fatal(err)
	}
	r := parse(t)
	found := map[string]string{}
	for _, g := range r.Groups {
		for _, p := range g.Parts {
			for _, o := range p.Operations {
				found[o.Path+" "+strings.ToLower(o.Method)] = o.ID
			}
		}
	}
	for path, item := range doc.Paths {
		for method, o := range item {
			if found[path+" "+method] != o.OperationID {
				t.Errorf("%s %s: %q, want %q", method, path, found[path+" "+method], o.OperationID)
			}
		}
	}
	if len(r.Events) != len(doc.Webhooks) {
		t.Errorf("%d events, want %d", len(r.Events), len(doc.Webhooks))
	}
}

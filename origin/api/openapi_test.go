package api_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/api"
)

var update = flag.Bool("update", false, "rewrite golden files")

// TestOpenAPI compares the document with a golden file, so that API changes show in review.
func TestOpenAPI(t *testing.T) {
	fx := newFixture(t, nil)
	rec := fx.mustSend(200, request{method: "GET", path: fieldmark.PathOpenAPI}, nil)
	golden := filepath.Join("testdata", "openapi.json")
	if *update {
		if err := os.WriteFile(golden, rec.Body.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), rec.Body.String()); diff != "" {
		t.Errorf("the document differs from %s; if that is meant, run with -update (-want +got):\n%s", golden, diff)
	}
	var doc struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			OperationID string
			Responses   map[string]json.RawMessage
		}
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &doc); err != nil || doc.OpenAPI != "3.1.0" {
		t.Fatalf("OpenAPI %q: %v", doc.OpenAPI, err)
	}
	ids := map[string]bool{}
	for path, operations := range doc.Paths {
		if strings.HasPrefix(path, fieldmark.PathInternal) {
			t.Errorf("%s is not for the public", path)
		}
		for method, o := range operations {
			if o.OperationID == "" || ids[o.OperationID] || o.Responses["default"] == nil {
				t.Errorf("%s %s: id %q is missing or there twice, or no problem is described", method, path,
					o.OperationID)
			}
			ids[o.OperationID] = true
		}
	}
	again := fx.send(request{method: "GET", path: fieldmark.PathOpenAPI,
		header: map[string]string{"If-None-Match": rec.Header().Get("ETag")}})
	if again.Code != 304 {
		t.Errorf("the same version again: %d, want 304", again.Code)
	}
}

// TestProblems: the document says of every problem, also of those that only an edge sends, what
// to do about it.
func TestProblems(t *testing.T) {
	fx := newFixture(t, nil)
	var doc struct {
		Problems []struct {
			Code          fieldmark.Code
			Status        int
			Title, Remedy string
		} `json:"x-problems"`
	}
	rec := fx.mustSend(200, request{method: "GET", path: fieldmark.PathOpenAPI}, nil)
	if err := json.Unmarshal(rec.Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	listed := map[fieldmark.Code]bool{}
	for _, p := range doc.Problems {
		listed[p.Code] = true
		if p.Status != p.Code.Status() || p.Title != p.Code.Title() || p.Remedy == "" {
			t.Errorf("%s: %d %q, remedy %q", p.Code, p.Status, p.Title, p.Remedy)
		}
	}
	for _, code := range fieldmark.Codes() {
		if !listed[code] {
			t.Errorf("x-problems has no %s", code)
		}
	}
}

func TestConfig(t *testing.T) {
	_, err := api.New(api.Config{})
	if err == nil || !strings.Contains(err.Error(), "service") || !strings.Contains(err.Error(), "node token") {
		t.Errorf("empty config: %v, want both complaints", err)
	}
}

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

// TestProblemPages follows the type of every problem.
func TestProblemPages(t *testing.T) {
	fx := newFixture(t, nil)
	for _, code := range fieldmark.Codes() {
		rec := fx.mustSend(200, request{method: "GET", path: "/problems/" + string(code)}, nil)
		page := rec.Body.String()
		if !strings.HasPrefix(rec.Header().Get("Content-Type"), "text/html") || !strings.Contains(page, string(code)) {
			t.Errorf("page of %s: %s", code, page)
		}
		if strings.Contains(page, "<p></p>") {
			t.Errorf("page of %s says nothing about what to do", code)
		}
	}
	if rec := fx.send(request{method: "GET",
		path: "/problems/nonsense"}); fx.problem(rec).Code != fieldmark.CodeNotFound {
		t.Errorf("unknown code: %s, want not_found", rec.Body)
	}
}

func TestConfig(t *testing.T) {
	_, err := api.New(api.Config{})
	if err == nil || !strings.Contains(err.Error(), "service") || !strings.Contains(err.Error(), "node token") {
		t.Errorf("empty config: %v, want both complaints", err)
	}
}

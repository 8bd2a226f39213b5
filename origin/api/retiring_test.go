package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/api"
)

// TestRetiring serves a route that will be gone one day: every answer of it says
// so, and nobody else's does.
func TestRetiring(t *testing.T) {
	w := newWorld(t, nil)
	since := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	cfg := api.Config{Service: w.service, NodeToken: nodeToken, PublicAPI: true}
	if _, err := api.NewRetiring(cfg, since, since.AddDate(0, 11, 0)); err == nil || !strings.Contains(err.Error(), "retires") {
		t.Errorf("eleven months of notice: %v, want an error", err)
	}
	var err error
	if w.handler, err = api.NewRetiring(cfg, since, since.AddDate(1, 0, 0)); err != nil {
		t.Fatal(err)
	}
	want := http.Header{
		"Deprecation": {"@1798761600"},
		"Sunset":      {"Sat, 01 Jan 2028 00:00:00 GMT"},
		"Link":        {`<https://docs.example/v0>; rel="deprecation"; type="text/html"`, `<https://docs.example/v0>; rel="sunset"; type="text/html"`},
	}
	for _, path := range []string{api.RetiringPath, api.RetiringPath + "?nonsense=1"} {
		got := http.Header{}
		for name := range want {
			got[name] = w.send(ask{method: "GET", path: path}).Header()[name]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("GET %s (-want +got):\n%s", path, diff)
		}
	}
	if h := w.send(ask{method: "GET", path: fieldmark.PathMissions, key: w.reader}).Header(); h.Get("Deprecation") != "" || h.Get("Sunset") != "" {
		t.Errorf("a route that stays says %v", h)
	}
	var doc struct {
		Paths map[string]map[string]struct{ Deprecated bool }
	}
	if err := json.Unmarshal(w.send(ask{method: "GET", path: fieldmark.PathOpenAPI}).Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if !doc.Paths[api.RetiringPath]["get"].Deprecated || doc.Paths[fieldmark.PathMissions]["get"].Deprecated {
		t.Errorf("the document calls %v deprecated, want the retiring route alone", doc.Paths)
	}
}

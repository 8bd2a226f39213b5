package api_test

import (
	"encoding/json"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/api"
)

// With a configured public address, the type of a problem is an absolute URL, also in the
// results of a batch.
func TestProblemType(t *testing.T) {
	for base, want := range map[string]string{
		"":                        "/problems/validation_failed",
		"https://geo.example":     "https://geo.example/problems/validation_failed",
		"https://geo.example/at/": "https://geo.example/at/problems/validation_failed",
	} {
		fx := newFixture(t, func(cfg *api.Config) { cfg.BaseURL = base })
		rec := fx.send(request{method: "POST", path: fieldmark.PathMissions, key: fx.creator, body: `{}`}.keyed("one"))
		if p := fx.problem(rec); p.Type != want {
			t.Errorf("base URL %q: the type of a problem is %q, want %q", base, p.Type, want)
		}
		rec = fx.send(request{method: "POST", path: fieldmark.PathMissions + "/batch", key: fx.creator,
			body: `{"missions":[{}]}`}.keyed("batch"))
		var report fieldmark.BatchReport
		if err := json.Unmarshal(rec.Body.Bytes(), &report); err != nil || len(report.Results) != 1 ||
			report.Results[0].Problem == nil {
			t.Fatalf("base URL %q: a batch: %s, %v", base, rec.Body, err)
		}
		if p := report.Results[0].Problem; p.Type != want {
			t.Errorf("base URL %q: the type of a batch's problem is %q, want %q", base, p.Type, want)
		}
	}
}

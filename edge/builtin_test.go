package edge_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/wasm/geo"
)

// allFacts are facts for every version of the built-in method.
func allFacts(words int64) fieldmark.Facts {
	f := factsWith(words)
	for _, in := range geo.Cards()[0].Manifest().Inputs {
		if _, ok := f.Find(in.Name); ok {
			continue
		}
		value := int64(0)
		if in.Direction == "up" {
			value = 1000
		}
		f.Facts = append(f.Facts, fieldmark.Fact{ID: in.Name, State: fieldmark.Measured, Value: value, Unit: in.Unit})
		slices.SortFunc(f.Facts, func(a, b fieldmark.Fact) int { return strings.Compare(a.ID, b.ID) })
	}
	return f
}

// TestNewVersionOfTheBuiltIn walks an installation from version 1.0 of the built-in method to
// 2.0: a new program stores the new version and changes no score; an administrator previews
// it, runs it as a canary and activates it; histories show the change as such; and a rollback
// restores the old one. Nodes that trust one key need no signature of it.
func TestNewVersionOfTheBuiltIn(t *testing.T) {
	t.Parallel()
	record := storetest.New(t)
	before, after := digestOf(geo.Modules()[0]), digestOf(geo.Module())
	st, old, _ := openOrigin(t, record, geo.Modules()[0])
	const brands = 20
	for i := range brands {
		slug := fieldmark.Slug(fmt.Sprintf("brand-%d", i))
		_, _, err := old.Brands.Put(t.Context(), fieldmark.Brand{Slug: slug, Name: string(slug), Niche: "tools",
			URL: "https://" + string(slug) + ".example/", Language: "en", Public: true})
		must(t, err)
		_, err = old.Brands.PutFacts(t.Context(), slug, allFacts(int64(10*i)))
		must(t, err)
	}
	must(t, st.Close())

	h := newFixtureOver(t, record, fieldmark.ModuleKeyOf(make(ed25519.PublicKey, ed25519.PublicKeySize)))
	modules := h.service.Modules
	states := func() map[fieldmark.Digest]fieldmark.ModuleState {
		list, err := modules.List(t.Context())
		must(t, err)
		got := map[fieldmark.Digest]fieldmark.ModuleState{}
		for _, m := range list {
			got[m.Digest] = m.State
		}
		return got
	}
	if got := states(); got[before] != fieldmark.ModuleActive || got[after] != fieldmark.ModuleKept || len(got) != 2 {
		t.Fatalf("after the start of the new program: %v, want 1.0 active and 2.0 stored", got)
	}
	h.until("all are ranked by 1.0", func() bool { return h.board().Total == brands })
	if s := h.score("brand-3"); s.Methodology.Version != "1.0" {
		t.Errorf("scored by %s, want 1.0 until an administrator activates 2.0", s.Methodology.Version)
	}

	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- modules.Run(ctx) }()
	defer func() { stop(); must(t, <-done) }()
	_, err := modules.RequestPreview(t.Context(), after)
	must(t, err)
	var preview fieldmark.ModulePreview
	h.until("the preview is done", func() bool {
		preview, err = modules.Preview(t.Context(), after)
		must(t, err)
		return preview.State == fieldmark.PreviewDone || preview.State == fieldmark.PreviewFailed
	})
	if r := preview.Result; r == nil || preview.Against != before || r.Brands != brands || r.Faults != 0 ||
		r.DirectionsBroken != 0 || len(r.Movers) == 0 {
		t.Fatalf("preview: %+v", preview)
	}

	_, err = modules.Activate(t.Context(), after, 50)
	must(t, err)
	h.until("some brands are scored by the canary", func() bool {
		n := 0
		for i := range brands {
			if s := h.score(fmt.Sprintf("brand-%d", i)); s.Canary && s.Module.Digest == after {
				n++
			}
		}
		return n > 0 && n < brands
	})
	_, err = modules.Activate(t.Context(), after, 100)
	must(t, err)
	h.until("all are scored by 2.0", func() bool {
		s := h.score("brand-3")
		return s.Module.Digest == after && !s.Canary && h.board().Methodology.Version == "2.0"
	})
	if s := h.score("brand-3"); s.Components[0].Signals[0].EvidenceGrade == "" ||
		s.Components[0].Signals[0].Effort == 0 {
		t.Errorf("a signal of 2.0 without evidence grade or effort: %+v", s.Components[0].Signals[0])
	}
	var history fieldmark.ScoreHistory
	h.until("the history shows the change", func() bool {
		must(t, json.Unmarshal([]byte(h.get("/api/v1/score/brand-3/history").body), &history))
		return history.Module.Digest == after
	})
	var changed []string
	for _, c := range history.Changes {
		if c.Kind == fieldmark.ChangeModule {
			changed = append(changed, c.Module.Version)
		}
	}
	if len(changed) == 0 || changed[len(changed)-1] != "2.0.0" || history.Methodology.Version != "2.0" {
		t.Errorf("changes of the method %v, method %v; want 2.0.0 last", changed, history.Methodology)
	}

	_, err = modules.RollBack(t.Context())
	must(t, err)
	h.until("1.0 scores again", func() bool { return h.score("brand-3").Module.Digest == before })
	if got := states(); got[before] != fieldmark.ModuleActive || got[after] != fieldmark.ModulePrevious {
		t.Errorf("after the rollback: %v", got)
	}
}

// TestNewInstallation: a new database activates the newest version and has the older ones, so
// that their scores can be verified.
func TestNewInstallation(t *testing.T) {
	h := newFixture(t)
	active, err := h.service.Modules.Active(t.Context())
	must(t, err)
	if active.Digest != digestOf(geo.Module()) || active.Version != "2.0.0" {
		t.Errorf("active %+v, want 2.0.0", active)
	}
	for _, module := range geo.Modules() {
		if a := h.get("/api/v1/modules/" + string(digestOf(module))); a.status != 200 || a.body != string(module) {
			t.Errorf("%s: %d, %d bytes", digestOf(module), a.status, len(a.body))
		}
	}
}

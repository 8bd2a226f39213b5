package edge_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/wasmtest"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/geo"
)

func digestOf(module []byte) fieldmark.Digest { return fieldmark.DigestOf(sha256.Sum256(module)) }

// sign stores a signature of a module, as a check would.
func (h *fixture) sign(m fieldmark.SignedModule, body []byte) {
	h.t.Helper()
	must(h.t, h.store.Write(h.t.Context(), func(ctx context.Context, tx *store.Tx) error {
		return tx.PutModule(ctx, m, body, nil, fieldmark.At(time.Now()))
	}))
}

// activate activates a module and returns its reference.
func (h *fixture) activate(module []byte) fieldmark.ModuleRef {
	h.t.Helper()
	ref, err := wasm.Ref(module)
	must(h.t, err)
	must(h.t, h.service.Modules.ActivateBytes(h.t.Context(), ref, module))
	return ref
}

func (h *fixture) board() (board fieldmark.Board) {
	h.t.Helper()
	must(h.t, json.Unmarshal([]byte(h.get("/api/v1/leaderboard").body), &board))
	return board
}

// TestFailingModuleIsRolledBack activates a module that traps for one site. Every request still gets
// a response, the previous module becomes active automatically, the scores that the bad
// module made of other sites are dropped, and the origin receives a report.
func TestFailingModuleIsRolledBack(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.brand("plain", "Plain", 500)
	h.brand("odd", "Odd", wasmtest.BadWords)
	for i := range 2 { // three faults while ranking, and two to come
		h.brand(fieldmark.Slug(fmt.Sprintf("odd-%d", i)), "Odd", wasmtest.BadWords)
	}
	h.until("all are ranked", func() bool { return h.board().Total == 4 })
	good := h.activate(wasmtest.Words(t, "1.0.0", "words", 1000))
	h.until("the good module scores", func() bool {
		return h.score("odd").Module == good && h.score("odd-0").Module == good && h.board().Total == 4
	})

	bad := h.activate(wasmtest.Bad(t, "1.0.1"))
	back := func() bool { r := h.edge.Report(); return r.RolledBack != nil && r.RolledBack.From == bad }
	ok := func(paths ...string) {
		t.Helper()
		for _, path := range paths {
			if a := h.get(path); a.status != 200 {
				t.Fatalf("%s: %d %s", path, a.status, a.body)
			}
		}
	}
	stale := 0
	h.until("the module before is back", func() bool {
		for _, slug := range []string{"odd", "odd-0"} {
			s := h.score(slug)
			if !s.Stale {
				continue
			}
			stale++
			if s.Score == nil || *s.Score != 77_700 || s.Module != good {
				t.Errorf("stale score %v by %s, want the last good one", s.Score, s.Module.Version)
			}
			// Not before: they too make the module fail, and it may be taken back before a score is read.
			ok("/api/badge/odd", "/brands/odd")
		}
		ok("/api/v1/score/plain", "/")
		return back()
	})
	h.until("everything is scored by the good module", func() bool {
		s := h.score("plain")
		return s.Module == good && !s.Stale && h.board().Total == 4 && h.score("odd").Module == good &&
			!h.score("odd").Stale
	})
	report := h.edge.Report()
	if report.Module != good || report.RolledBack.To != good || report.RolledBack.Kind != "trap" || report.Error == "" {
		t.Errorf("report %+v", report)
	}
	if stale == 0 {
		t.Error("no reader saw a stale score") // the first one to ask for it must
	}
	var told []fieldmark.Event
	h.until("the origin has an event", func() bool {
		page, err := h.service.Events.After(t.Context(), fieldmark.EventCursor{Number: 0}, 0, 0)
		must(t, err)
		told = slices.DeleteFunc(page.Events,
			func(e fieldmark.Event) bool { return e.Type != fieldmark.EventModuleRolledBack })
		return len(told) > 0
	})
	if len(told) != 1 || !strings.Contains(string(told[0].Data), string(bad.Digest)) {
		t.Errorf("told %d times: %s", len(told), told[0].Data)
	}
	status, err := h.service.Modules.Status(t.Context())
	if err != nil || len(status.Nodes) != 1 || status.Nodes[0].Module != good || status.Plan.Digest != bad.Digest {
		t.Errorf("status %+v, %v", status, err)
	}
	var metrics bytes.Buffer
	h.edge.WriteMetrics(&metrics)
	for _, want := range []string{
		`fieldmark_edge_module_rollbacks_total{digest="` + string(bad.Digest) + `"} 1`,
		`fieldmark_edge_module_faults_total{digest="` + string(bad.Digest) + `",kind="trap"} `,
		`fieldmark_edge_module_fuel_count{digest="` + string(good.Digest) + `"} `,
	} {
		if !strings.Contains(metrics.String(), want) {
			t.Errorf("metrics without %s", want)
		}
	}

	// An operator can activate it again, until it fails again.
	generation := report.Generation
	must(t, h.service.Modules.ActivateBytes(t.Context(), good, nil))
	must(t, h.service.Modules.ActivateBytes(t.Context(), bad, nil))
	h.until("it went wrong once more",
		func() bool { h.get("/api/v1/score/odd"); return h.edge.Report().Generation >= generation+2 })
	h.until("the good one is back", func() bool { return h.score("plain").Module == good })
}

// TestModuleFailsForOneBrand activates a module that traps for one of three brands, too few
// for a rollback: the report names the brand until it is scored again.
func TestModuleFailsForOneBrand(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.brand("plain", "Plain", 500)
	h.brand("odd", "Odd", wasmtest.BadWords)
	h.until("both are ranked", func() bool { return h.board().Total == 2 })
	bad := h.activate(wasmtest.Bad(t, "1.0.1"))
	h.until("the report names the brand", func() bool {
		r := h.edge.Report()
		return r.Module == bad && strings.Contains(r.Error, "cannot score 1 of the brands, most recently odd: ")
	})
	if r := h.edge.Report(); strings.Contains(r.Error, "\n") {
		t.Errorf("got %q, want one line", r.Error)
	}
	h.brand("odd", "Odd", 500) // it is audited again, with other facts
	h.until("nothing is wrong", func() bool { return h.edge.Report().Error == "" && h.board().Total == 2 })
}

// TestModuleRefused has the origin name a module that no edge can load: the active module
// stays, and the report gives the reason.
func TestModuleRefused(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.brand("plain", "Plain", 500)
	h.catchUp()
	builtin := h.score("plain").Module
	junk := []byte("\x00asm\x01\x00\x00\x00")
	ref := fieldmark.ModuleRef{Name: "junk", Version: "1.0.0", Digest: digestOf(junk)}
	must(t, h.service.Modules.ActivateBytes(t.Context(), ref, junk))
	h.until("the report says why", func() bool { return strings.Contains(h.edge.Report().Error, "no memory") })
	h.brand("other", "Other", 100)
	h.until("the log is followed", func() bool { return h.board().Total == 2 })
	if s := h.score("plain"); s.Module != builtin || s.Stale {
		t.Errorf("scored by %s, stale %v", s.Module.Name, s.Stale)
	}

	// One that reads a fact in another unit than it is measured in fits no site.
	h.activate(wasmtest.Words(t, "1.0.0", "pages", 1000))
	h.until("it is taken back", func() bool {
		h.get("/api/v1/score/plain")
		r := h.edge.Report()
		return r.RolledBack != nil && r.RolledBack.Kind == "input"
	})
	h.until("the built-in scores", func() bool { return h.score("plain").Module == builtin && h.board().Total == 2 })
}

// TestCanary scores a share of the brands by a canary module, and ranks none by it.
func TestCanary(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	const brands = 40
	for i := range brands {
		h.brand(fieldmark.Slug(fmt.Sprintf("b%02d", i)), "B", int64(300+i))
	}
	h.until("all are ranked", func() bool { return h.board().Total == brands })
	before := h.board()
	module := wasmtest.Words(t, "2.0.0", "words", 1000)
	ref, err := wasm.Ref(module)
	must(t, err)
	builtin, err := wasm.Ref(geo.Module())
	must(t, err)
	must(t, h.service.Modules.ActivateBytes(t.Context(), ref, module))
	must(t, h.service.Modules.ActivateBytes(t.Context(), builtin, nil))
	inCanary := func() (slugs []string) {
		for i := range brands {
			slug := fmt.Sprintf("b%02d", i)
			s := h.score(slug)
			if s.Canary != (s.Module == ref) {
				t.Errorf("%s: canary %v, scored by %s", slug, s.Canary, s.Module.Name)
			}
			if s.Canary {
				slugs = append(slugs, slug)
			}
		}
		return slugs
	}
	begin := func(percent int) []string {
		_, err := h.service.Modules.Activate(t.Context(), ref.Digest, percent)
		must(t, err)
		var covered, slugs []string
		h.until("the canary has begun", func() bool {
			c := h.edge.Report().Canary
			if c == nil || c.Percent != percent {
				return false
			}
			for i := range brands {
				if slug := fmt.Sprintf("b%02d", i); c.Covers(fieldmark.Slug(slug)) {
					covered = append(covered, slug)
				}
			}
			return true
		})
		h.until("its scores are served", func() bool { // the scores from before are purged after it has begun
			slugs = inCanary()
			return slices.Equal(slugs, covered)
		})
		return slugs
	}
	few := begin(30)
	many := begin(60)
	if len(few) < 4 || len(few) > 22 || len(many) <= len(few) || len(many) > 36 {
		t.Errorf("%d of %d in the canary at 30 %%, %d at 60 %%", len(few), brands, len(many))
	}
	for _, slug := range few {
		if !slices.Contains(many, slug) {
			t.Errorf("%s left the canary when it grew", slug)
		}
	}
	h.brand("late", "Late", 10)
	h.catchUp()
	if b := h.board(); b.Methodology != before.Methodology || b.Items[0].Score != before.Items[0].Score {
		t.Errorf("ranked by %v with %v on top", b.Methodology, b.Items[0].Score)
	}
	_, err = h.service.Modules.RollBack(t.Context())
	must(t, err)
	h.until("the canary has ended", func() bool { return h.edge.Report().Canary == nil && len(inCanary()) == 0 })
}

// TestSignedOnly holds an edge to the keys it was given.
func TestSignedOnly(t *testing.T) {
	t.Parallel()
	public, private, err := ed25519.GenerateKey(nil)
	must(t, err)
	_, stranger, err := ed25519.GenerateKey(nil)
	must(t, err)
	h := newFixture(t)
	h.keys = []fieldmark.ModuleKey{fieldmark.ModuleKeyOf(public)}
	h.startEdge() // beside the first, which takes anything
	h.brand("plain", "Plain", 500)
	h.catchUp()
	builtin := h.score("plain").Module
	keep := func(version string, key ed25519.PrivateKey) fieldmark.Digest {
		module := wasmtest.Words(t, version, "words", 1000)
		signed := fieldmark.SignedModule{}
		signed.ModuleRef, err = wasm.Ref(module)
		must(t, err)
		if key != nil {
			s := fieldmark.SignModule(signed.Digest, key)
			signed.Signature = &s
		}
		must(t, h.service.Modules.ActivateBytes(t.Context(), signed.ModuleRef, module))
		if key != nil {
			h.sign(signed, module)
			must(t, h.service.Modules.ActivateBytes(t.Context(), builtin, nil))
			must(t, h.service.Modules.ActivateBytes(t.Context(), signed.ModuleRef, nil))
		}
		return signed.Digest
	}
	for _, tt := range []struct {
		version string
		key     ed25519.PrivateKey
		want    string
	}{{"1.0.0", nil, "is not signed"}, {"1.0.1", stranger, "is not trusted here"}} {
		digest := keep(tt.version, tt.key)
		h.until("the edge refuses "+tt.version, func() bool {
			r := h.edge.Report()
			return strings.Contains(r.Error, tt.want) && strings.Contains(r.Error, string(digest))
		})
		if s := h.score("plain"); s.Module != builtin {
			t.Errorf("%s: scored by %s", tt.version, s.Module.Digest)
		}
	}
	digest := keep("1.0.2", private)
	h.until("the signed one scores", func() bool { return h.score("plain").Module.Digest == digest })
	if problem := h.edge.Report().Error; problem != "" {
		t.Errorf("still a problem: %s", problem)
	}
}

package edge_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin/store"
)

// TestPromotedStandby fails over to a standby that lacks the newest changes of two brands and has
// given their numbers to others before edges poll again. No edge goes on serving what was lost.
func TestPromotedStandby(t *testing.T) {
	t.Parallel()
	primary := storetest.StartServer(t)
	standby := primary.Standby()
	h := newOriginFixture(t, primary.Or(standby))
	h.startEdge()
	edges := []string{h.base}
	h.startEdge()
	edges = append(edges, h.base)
	h.brand("kept", "As it was", 500)
	standby.CatchUp(primary)
	standby.Disconnect()
	h.brand("kept", "As it was not", 500)
	h.brand("phantom", "Phantom", 400)

	// wrong returns what edges serve of the lost changes.
	wrong := func() (all []string) {
		for _, h.base = range edges {
			for _, path := range []string{"/api/v1/score/", "/api/badge/", "/brands/"} {
				if a := h.get(path + "kept"); a.status != 200 || strings.Contains(a.body, "As it was not") {
					all = append(all, path+"kept "+strconv.Itoa(a.status))
				}
				if a := h.get(path + "phantom"); a.status != 404 {
					all = append(all, path+"phantom "+strconv.Itoa(a.status))
				}
			}
		}
		return all
	}
	h.until("edges serve the changes that will be lost", func() bool { return len(wrong()) == 6*len(edges) })
	before, err := h.store.LogStatus(t.Context(), 0)
	must(t, err)

	primary.Kill()
	standby.Promote()
	promoted := time.Now()
	for n := 0; ; {
		if _, _, err := h.service.Brands.Put(t.Context(), fieldmark.Brand{
			Slug: fieldmark.Slug("real-" + strconv.Itoa(n)),
			Name: "Real", URL: "https://real-" + strconv.Itoa(n) + ".example/", Niche: "tools", Language: "en",
			Public: true}); err != nil {
			if !fieldmark.IsCode(err, fieldmark.CodeOriginUnavailable) {
				t.Fatal(err)
			}
			continue // a connection to the server that was killed
		}
		n++
		if now, err := h.service.Events.Head(t.Context()); err == nil && now > before.Head {
			break
		}
	}
	h.until("no edge serves what was lost", func() bool { return len(wrong()) == 0 })
	t.Logf("no edge served what was lost %v after the promotion", time.Since(promoted).Round(time.Millisecond))
	for range 50 {
		if all := wrong(); len(all) > 0 {
			t.Fatalf("edges serve what was lost again: %q", all)
		}
	}
	if after, err := h.store.LogStatus(t.Context(), 0); err != nil || after.Name == before.Name {
		t.Errorf("the log is called %q (%v) before and after the failover", after.Name, err)
	}
}

// TestFactsFromReplica lets an origin read facts from a standby: edges show every change at once,
// also while the standby replays none, and after it is gone.
func TestFactsFromReplica(t *testing.T) {
	t.Parallel()
	primary := storetest.StartServer(t)
	migrated := store.Config{URL: primary.URL}
	_, err := store.Migrate(t.Context(), migrated)
	must(t, err)
	standby := primary.Standby()
	h := newOriginFixture(t, store.Config{URL: primary.URL, ReadURL: standby.URL})
	h.startEdge()
	shows := func(name string) {
		t.Helper()
		h.brand("acme", name, 500)
		h.until("the edge shows "+name, func() bool {
			return strings.Contains(h.get("/api/v1/score/acme").body, `"`+name+`"`) &&
				strings.Contains(h.get("/brands/acme").body, name)
		})
	}
	counts := func() store.ReplicaStatus {
		t.Helper()
		status, _, err := h.store.Replica(t.Context())
		must(t, err)
		return status
	}
	h.until("the replica is read", func() bool {
		shows("Name " + strconv.FormatInt(counts().Reads, 10))
		return counts().Reads > 1
	})
	standby.PauseReplay()
	behind := counts().Behind
	for n := range 3 {
		shows("Paused " + strconv.Itoa(n))
	}
	if counts().Behind == behind {
		t.Error("no read noticed that replay is paused")
	}
	standby.ResumeReplay()
	reads := counts().Reads
	h.until("the replica is read again", func() bool {
		shows("Resumed " + strconv.FormatInt(counts().Behind, 10))
		return counts().Reads > reads
	})
	standby.Kill()
	for n := range 3 {
		shows("Killed " + strconv.Itoa(n))
	}
}

package origin_test

import (
	"crypto/sha256"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/module"
	"github.com/fieldmark/fieldmark/origin/store"
)

// hooked returns a database for which the function that *next is set to runs once,
// after the next read outside of a transaction: as another request between that read
// and the write that follows it.
func hooked(t *testing.T) (next *func(), cfg store.Config) {
	next = new(func())
	cfg = storetest.New(t)
	cfg.Hooks.Query = func(time.Duration) {
		if fn := *next; fn != nil {
			*next = nil
			fn()
		}
	}
	return next, cfg
}

// The second of two requests that enable a paused endpoint finds nothing held: it
// does not skip what became due since the first one.
func TestEnableTwiceSkipsNothingDue(t *testing.T) {
	next, cfg := hooked(t)
	w := openFixture(t, cfg)
	e := createEndpoint(t, w, "http://127.0.0.1:9/", "mission.created")
	paused, enabled := fieldmark.EndpointPaused, fieldmark.EndpointEnabled
	w.patch(t, e.ID, fieldmark.EndpointPatch{State: &paused})
	*next = func() {
		w.patch(t, e.ID, fieldmark.EndpointPatch{State: &enabled})
		openMission(t, w, "a")
	}
	w.patch(t, e.ID, fieldmark.EndpointPatch{State: &enabled, Held: fieldmark.HeldSkip})
	if n := states(w.deliveries(t)); n[fieldmark.DeliveryDue] != 1 {
		t.Errorf("deliveries after the endpoint was enabled twice: %v, want the new one due", n)
	}
}

// An origin that starts does not replace a module that was activated after it read
// that there is no active module.
func TestPrepareKeepsTheFirstModule(t *testing.T) {
	next, cfg := hooked(t)
	bytes := []byte("another module")
	ref := fieldmark.ModuleRef{Name: "geo-readiness", Version: "2.0.0",
		Digest: fieldmark.DigestOf(sha256.Sum256(bytes))}
	st := storetest.Open(t, cfg)
	service := func(body []byte, ref fieldmark.ModuleRef) *origin.Service {
		s, err := origin.New(origin.Config{Store: st, Secret: appSecret,
			BuiltIn: []module.BuiltIn{{Ref: ref, Bytes: body}}})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first, second := service(bytes, ref), service(testModule, moduleRef)
	*next = func() {
		if err := first.Prepare(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := second.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := second.Modules.Active(t.Context()); err != nil || got != ref {
		t.Errorf("active module %+v, %v; want %+v, which was activated first", got, err, ref)
	}
}

// A slug that is taken is an error of its row and does not stop the import.
func TestImportReportsTakenSlugs(t *testing.T) {
	w := newFixture(t)
	b := acme
	putBrand(t, w, b)
	if _, err := w.Brands.Rename(t.Context(), b.Slug, "acme-anvils"); err != nil {
		t.Fatal(err)
	}
	one, two := b, b
	one.Slug, two.Slug = "one", "two"
	report, err := w.Brands.Import(t.Context(), []fieldmark.Brand{one, b, two})
	if err != nil || report.Added != 2 || len(report.Rejected) != 1 || report.Rejected[0].Pointer != "/1/slug" {
		t.Errorf("import: %+v, %v; want two added and /1/slug rejected", report, err)
	}
}

// The cooldown of a mission that was reopened and canceled begins when it was
// canceled.
func TestCooldownBeginsAtTheCancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		id := w.fire(t, "a", time.Minute).Missions[0].ID
		if _, err := w.Missions.Complete(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute) // virtual
		for _, to := range []fieldmark.MissionStatus{fieldmark.MissionInProgress, fieldmark.MissionCanceled} {
			if _, err := w.Missions.Transition(t.Context(), id, to, nil); err != nil {
				t.Fatal(err)
			}
		}
		if r := w.fire(t, "a", time.Minute); r.Merged != 1 || r.Created != 0 {
			t.Errorf("alert right after the cancellation: %+v, want it merged", r)
		}
	})
}

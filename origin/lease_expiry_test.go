package origin_test

import (
	"context"
	"log/slog"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/module"
	"github.com/fieldmark/fieldmark/origin/store"
)

var workerID = regexp.MustCompile(`worker=(\w+)`)

// A lease of work that is not done in the process, such as that of a claim whose
// commit was not acknowledged, is not renewed because of other work: it expires,
// and the deadline is acted on.
func TestLeaseOfUnknownWorkExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		compare := func(ctx context.Context, _, _ []byte,
			_ func(func(fieldmark.BrandState) error) error) (fieldmark.ModuleComparison, error) {
			<-ctx.Done() // busy until the end
			return fieldmark.ModuleComparison{}, ctx.Err()
		}
		var err error
		w.Service, err = origin.New(origin.Config{Store: w.Store, Secret: appSecret,
			Log:     slog.New(slog.NewTextHandler(w.Log, nil)),
			Checker: module.Checker{Compare: compare}})
		if err != nil {
			t.Fatal(err)
		}
		m := openMission(t, w, "a")
		policy := fieldmark.SLAPolicy{Priority: m.Priority, ResponseMinutes: 1, OnsiteMinutes: 600,
			ResolutionMinutes: 6000, Calendar: fieldmark.CalendarAlways}
		if _, err := w.Missions.SLA.PutPolicy(t.Context(), policy); err != nil {
			t.Fatal(err)
		}
		stop := w.run(t)
		defer stop()
		if _, err := w.Modules.RequestPreview(t.Context(), moduleRef.Digest); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		worker := workerID.FindStringSubmatch(w.logged())[1]
		err = w.Store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			ids, err := tx.ClaimSLAs(ctx, worker, time.Now().Add(time.Hour), time.Now().Add(10*time.Second), 1, false)
			if len(ids) != 1 {
				t.Errorf("claimed %d timers, want 1", len(ids))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(63 * time.Second) // virtual
		got, err := w.Missions.Get(t.Context(), "", m.ID)
		if err != nil || got.SLA == nil || got.SLA.Metrics[0].BreachedAt == nil {
			t.Errorf("SLA %+v, %v; want the response target to be breached", got.SLA, err)
		}
	})
}

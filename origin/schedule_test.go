package origin_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/origin/store"

	"context"
)

// TestScheduledAudits changes the scheduled day of a brand and checks that the
// brand is audited without a request and scheduled again about a week ahead. A
// brand that was audited with other rules is audited earlier.
func TestScheduledAudits(t *testing.T) {
	w := newFixture(t)
	hold := make(chan struct{})
	site := receive(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			<-hold
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			io.WriteString(w, "<!doctype html><html lang=en><title>Acme makes anvils</title><h1>Acme</h1>")
			return
		}
		http.NotFound(w, r)
	})
	b := acme
	b.URL = site.URL + "/"
	putBrand(t, w, b)
	other := acme
	other.Slug = "old"
	putBrand(t, w, other)
	if _, err := w.Brands.PutFacts(t.Context(), "old", facts(time.Now(), 1)); err != nil {
		t.Fatal(err)
	}
	write := func(fn func(context.Context, *store.Tx) error) {
		t.Helper()
		if err := w.Store.Write(t.Context(), fn); err != nil {
			t.Fatal(err)
		}
	}
	far := time.Now().Add(6 * 24 * time.Hour)
	write(func(ctx context.Context, tx *store.Tx) error {
		if err := tx.RecordAudit(ctx, "old", far, "rules of another time"); err != nil {
			return err
		}
		return tx.ScheduleAudit(ctx, "acme", time.Now().Add(-time.Second))
	})
	stop := w.run(t)
	defer stop()
	waittest.Until(t, "it runs, and says how far it is", func() bool {
		runs, err := w.Brands.Audits.List(t.Context())
		return err == nil && len(runs) == 1 && runs[0].Brand == "acme" && runs[0].Running &&
			strings.Contains(runs[0].Step, "home page")
	})
	close(hold)
	waittest.Until(t, "it is audited", func() bool {
		state, _, err := w.Brands.State(t.Context(), "acme")
		return err == nil && state.Facts != nil
	})
	waittest.Until(t, "nothing is in line", func() bool {
		runs, err := w.Brands.Audits.List(t.Context())
		return err == nil && len(runs) == 0
	})
	due := func(at time.Time) string {
		var list []fieldmark.Slug
		write(func(ctx context.Context, tx *store.Tx) (err error) {
			list, err = tx.DueBrands(ctx, at, 10)
			return err
		})
		var names []string
		for _, s := range list {
			names = append(names, string(s))
		}
		return strings.Join(names, " ")
	}
	const day = 24 * time.Hour
	for _, tt := range []struct {
		in   time.Duration
		want string
	}{{day, "old"}, {6 * day, "old"}, {8 * day, "old acme"}} {
		if got := due(time.Now().Add(tt.in)); got != tt.want {
			t.Errorf("due within %v: %q, want %q", tt.in, got, tt.want)
		}
	}
}

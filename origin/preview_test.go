package origin_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/module"
)

// A preview that cannot read brands because the database is unavailable is retried.
func TestPreviewSurvivesAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		var calls atomic.Int64
		compare := func(_ context.Context, _, _ []byte,
			each func(func(fieldmark.BrandState) error) error) (fieldmark.ModuleComparison, error) {
			if calls.Add(1) == 1 {
				return fieldmark.ModuleComparison{}, fieldmark.Errorf(fieldmark.CodeOriginUnavailable,
					"the database cannot be reached")
			}
			return fieldmark.ModuleComparison{}, each(func(fieldmark.BrandState) error { return nil })
		}
		var err error
		w.Service, err = origin.New(origin.Config{Store: w.Store, Secret: appSecret,
			Checker: module.Checker{Compare: compare}})
		if err != nil {
			t.Fatal(err)
		}
		stop := w.run(t)
		defer stop()
		if _, err := w.Modules.RequestPreview(t.Context(), moduleRef.Digest); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // virtual
		p, err := w.Modules.Preview(t.Context(), moduleRef.Digest)
		if err != nil || p.State != fieldmark.PreviewDone {
			t.Errorf("preview %+v, %v after %d attempts; want done", p, err, calls.Load())
		}
	})
}

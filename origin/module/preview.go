package module

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/visibility"
)

// Limits of previews. A preview scores all brands, which takes minutes of one processor.
const (
	maxRunning       = 1           // previews that a process computes at a time
	progressInterval = time.Second // between two writes of the progress
)

// RequestPreview starts a preview of a module in the background: all brands are scored by it and by
// the module that is active now, and the scores are compared. The preview names that module, because
// another may be active when the result is read.
func (s *Service) RequestPreview(ctx context.Context, d fieldmark.Digest) (fieldmark.ModulePreview, error) {
	p := fieldmark.ModulePreview{Digest: d, State: fieldmark.PreviewWaiting, RequestedAt: fieldmark.At(time.Now())}
	if s.checker.Compare == nil {
		return p, fieldmark.Errorf(fieldmark.CodeModuleDisabled, "this origin cannot run modules")
	}
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.SignedModule(ctx, d); err != nil {
			return store.NotFound(err, "there is no module with this digest")
		}
		plan, err := tx.ModulePlan(ctx)
		if err != nil {
			return store.NotFound(err, "no scoring module is active")
		}
		// Stored now, because another module may be activated before the preview runs.
		p.Against = plan.Digest
		return tx.EnqueuePreview(ctx, p)
	})
	if err != nil {
		return p, fmt.Errorf("request a preview: %w", err)
	}
	return p, nil
}

// Preview returns the progress of a preview, and its result when it is done.
func (s *Service) Preview(ctx context.Context, d fieldmark.Digest) (fieldmark.ModulePreview, error) {
	p, err := s.store.Preview(ctx, d)
	return p, store.NotFound(err, "no preview of this module was requested")
}

// claim leases requested previews. One whose process ended during each of job.MaxClaims attempts
// fails instead: its module may crash the process, and would do so at every attempt.
func (s *Service) claim(ctx context.Context, limit int) ([]job.Job, error) {
	var claimed []fieldmark.ModulePreview
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		now := time.Now()
		claimed,
			err = tx.ClaimPreviews(ctx, s.jobs.Worker(), now, now.Add(job.LeaseDuration), limit, job.MaxClaims,
			fmt.Sprintf(job.ReasonLost, job.MaxClaims))
		return err
	})
	if err != nil {
		return nil, err
	}
	todo := make([]job.Job, len(claimed))
	for i, p := range claimed {
		todo[i] = job.Job{Lease: store.Lease{Kind: store.LeasePreview, ID: string(p.Digest)},
			Do: func(ctx context.Context) { s.preview(ctx, p) }}
	}
	return todo, nil
}

// preview compares two modules and stores the result, or why that failed.
// A failure of the database is no result, and the preview is done again.
func (s *Service) preview(ctx context.Context, p fieldmark.ModulePreview) {
	result, err := s.compare(ctx, &p)
	// The numbers so far are dropped: a preview that is made of two runs would count brands
	// twice.
	if err != nil && ctx.Err() != nil {
		return // the lease is freed at shutdown and the next process starts again
	}
	if fieldmark.IsCode(err, fieldmark.CodeOriginUnavailable) {
		s.log.Warn("preview interrupted; it is claimed again when its lease has expired",
			slog.String("module", string(p.Digest)), slog.Any("error", err))
		return
	}
	p.State = fieldmark.PreviewDone
	if p.Result = &result; err != nil {
		p.State, p.Error, p.Result = fieldmark.PreviewFailed, err.Error(), nil
	}
	ctx, cancel := job.ShutdownContext(ctx)
	defer cancel()
	if err := s.writeProgress(ctx, p); err != nil {
		s.log.Error("store the result of a preview", slog.Any("error", err))
	}
}

// compare reads the brands in pages, while others change: a preview is an estimate for people.
// Brands that change meanwhile are counted as they were read.
func (s *Service) compare(ctx context.Context, p *fieldmark.ModulePreview) (none fieldmark.ModuleComparison,
	err error) {
	from, err := s.store.Module(ctx, p.Against)
	if err != nil {
		return none, err
	}
	to, err := s.store.Module(ctx, p.Digest)
	if err != nil {
		return none, err
	}
	if p.Total, err = s.store.CountPublicBrands(ctx); err != nil {
		return none, err
	}
	written := time.Now()
	result, err := s.checker.Compare(ctx, from, to, func(fn func(fieldmark.BrandState) error) error {
		_, err := s.brands.EachState(ctx, func(state fieldmark.BrandState) error {
			if err := fn(state); err != nil {
				return err
			}
			// Progress is written once a second and not for each brand.
			if p.Done++; time.Since(written) < progressInterval {
				return nil
			}
			written = time.Now()
			return s.writeProgress(ctx, *p)
		})
		return err
	})
	if err != nil {
		return none, err
	}
	result.Foretells, err = s.foretell(ctx, p.Digest, from, to)
	return result, err
}

// foretell compares both modules with what studies measured; nil without ranked studies.
func (s *Service) foretell(ctx context.Context, d fieldmark.Digest, from, to []byte) (list []fieldmark.Foretelling,
	err error) {
	if s.studies == nil || s.checker.With == nil {
		return nil, nil
	}
	record, err := s.store.ModuleRecord(ctx, d)
	if err != nil {
		return nil, err
	}
	err = s.checker.With(ctx, [][]byte{from, to}, func(score visibility.Scorer) (err error) {
		list, err = s.studies.Foretell(ctx, record.CreatedAt.Std(), score)
		return err
	})
	return list, err
}

// writeProgress changes nothing if the lease was lost, so two processes never mix their numbers.
// The condition is on the worker that holds the lease.
func (s *Service) writeProgress(ctx context.Context, p fieldmark.ModulePreview) error {
	return s.store.Write(ctx,
		func(ctx context.Context, tx *store.Tx) error { return tx.UpdatePreview(ctx, s.jobs.Worker(), p) })
}

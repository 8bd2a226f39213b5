package dump

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/objects"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/store/replica"
)

const (
	// makeAt is the time of day, in UTC, at which dumps are made: brands were ranked by then.
	makeAt = 2 * time.Hour
	// poll is the interval of looking whether a dump is due, or has a brand that is gone. The files of such a dump are
	// deleted within it.
	poll = time.Minute
	// settled is how long a standing may be due before the dump waits for it.
	settled = time.Minute
	// remakeDelay is the time from a withdrawal to the next dump: several removals make one dump, and a
	// stream of them makes at most six an hour.
	remakeDelay = 10 * time.Minute
	// keepWithdrawn is how long a withdrawn dump is known as such; later it is not found.
	keepWithdrawn = fieldmark.MaxDumps * 24 * time.Hour

	// prefix begins the keys of the files.
	prefix = "dumps/"
	// orphanAge is how long a file without a row is kept: it may be in the making, and the clocks of
	// origins may differ.
	orphanAge = 24 * time.Hour
	// sweepInterval is the time between two sweeps of a process. S3 charges for lists.
	sweepInterval = 6 * time.Hour
)

func objectKey(id, suffix string) string { return prefix + id + suffix }

// Run makes the dumps of each day and deletes old ones until ctx ends. However many processes run, one
// makes a dump.
func (s *Service) Run(ctx context.Context) error {
	if s.objects == nil {
		return nil
	}
	var wg sync.WaitGroup
	wg.Go(func() { s.jobs.AtStartAndEvery(ctx, poll, "make a dump", s.tick) })
	wg.Go(func() { s.jobs.AtStartAndEvery(ctx, sweepInterval, "sweep dumps", s.Sweep) })
	wg.Wait()
	return nil
}

// tick withdraws dumps whose brands are gone, and makes a dump if one is due.
func (s *Service) tick(ctx context.Context) error {
	// First: a removed brand must leave the published files even while no dump can be made.
	if err := s.prune(ctx); err != nil {
		return err
	}
	now := time.Now()
	// A read, so that the processes without work do not write once a minute.
	if due, err := s.store.DailyJobDue(ctx, store.JobDump, now); err != nil || !due {
		return err
	}
	module, ready, err := s.ready(ctx, now)
	if err != nil || !ready {
		return err
	}
	return s.jobs.Daily(ctx, store.JobDump, now,
		func(ctx context.Context) error { return s.make(ctx, module, now) })
}

// ready returns the active module, and whether all standings are of it. The first dump is made when
// the first brand is scored.
func (s *Service) ready(ctx context.Context, now time.Time) (module fieldmark.ModuleRef, ready bool, err error) {
	plan, err := s.store.ModulePlan(ctx)
	if errors.Is(err, store.ErrNotFound) {
		return module, false, nil
	}
	if err != nil {
		return module, false, err
	}
	scored, err := s.store.StaleStandings(ctx, "", 1) // by any module
	if err != nil || len(scored) == 0 {
		return module, false, err
	}
	late, err := s.store.StandingsLate(ctx, plan.Digest, now.Add(-settled))
	return plan.ModuleRef, !late, err
}

// make makes a dump. Its row is written after its files are stored.
func (s *Service) make(ctx context.Context, module fieldmark.ModuleRef, now time.Time) error {
	log, err := s.store.LogStatus(ctx, 0)
	if err != nil {
		return err
	}
	d := store.Dump{ID: fieldmark.NewID(fieldmark.PrefixDump, now), CreatedAt: now}
	d.Day, d.Log, d.Module = now.UTC().Format(time.DateOnly), log.Name, module
	d.Event = log.Head // of a dump without brands
	// A replica may cancel so long a read; then both files are written again from the primary.
	err = s.store.ReadAt(ctx, replica.Position{Log: log.Name, Event: log.Head}, func(ctx context.Context) error {
		d.Brands = 0
		return s.objects.Put(ctx, objectKey(d.ID, suffixLines), func(lines io.Writer) error {
			return s.objects.Put(ctx, objectKey(d.ID, suffixTable), func(table io.Writer) error {
				return s.write(ctx, &d.Dump, lines, table)
			})
		})
	})
	// Scores of two modules are not comparable, so a dump never has both.
	if err == nil {
		var after fieldmark.ModuleRef
		if after, _, err = s.ready(ctx, now); err == nil && after != module {
			err = errors.New("a module was activated meanwhile")
		}
	}
	if err != nil {
		s.deleteFiles(ctx, d.ID)
		return fmt.Errorf("make the dump of %s: %w", d.Day, err)
	}
	// The next time of day, not a day from now: a late dump does not delay those after it.
	next := now.UTC().Truncate(24 * time.Hour).Add(makeAt)
	if !next.After(now) {
		next = next.AddDate(0, 0, 1)
	}
	// If the outcome of the commit is unknown, the row may exist: the files are left to Sweep.
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.AddDump(ctx, d); err != nil {
			return err
		}
		return tx.EndDailyJob(ctx, store.JobDump, s.jobs.Worker(), next)
	})
	if err != nil {
		return err
	}
	s.log.Info("made a dump", slog.String("id", d.ID), slog.Int("brands", d.Brands), slog.Int64("bytes", d.Bytes),
		slog.Duration("took", time.Since(now)))
	return s.prune(ctx)
}

// prune withdraws dumps that have brands which are no longer listed, and deletes the dumps that are too
// old and the files of both.
func (s *Service) prune(ctx context.Context) error {
	rows, err := s.store.Dumps(ctx)
	if err != nil {
		return err
	}
	now, kept := time.Now(), 0
	var old, files []string
	fresh := false
	for _, d := range rows {
		switch {
		case !d.Withdrawn:
			// Rows are the newest first, so what exceeds the limit is the oldest.
			if kept++; kept > fieldmark.MaxDumps {
				old, files = append(old, d.ID), append(files, d.ID)
			}
		case now.Sub(d.CreatedAt) > keepWithdrawn:
			old, files = append(old, d.ID), append(files, d.ID)
		case !d.Recorded:
			fresh, files = true, append(files, d.ID)
		}
	}
	if !fresh && len(old) == 0 {
		return nil
	}
	// Rows first: a file without a row is swept, a row without its file would be a link that does not work.
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		for _, id := range old {
			if err := tx.DeleteDump(ctx, id); err != nil {
				return err
			}
		}
		return tx.WithdrawDumps(ctx, now, now.Add(remakeDelay))
	})
	if err == nil {
		s.deleteFiles(ctx, files...)
	}
	return err
}

// deleteFiles deletes the files of dumps that nothing needs. If that fails, the sweep tries again.
func (s *Service) deleteFiles(ctx context.Context, ids ...string) {
	ctx, cancel := job.ShutdownContext(ctx)
	defer cancel()
	for _, id := range ids {
		for _, suffix := range []string{suffixLines, suffixTable} {
			if err := s.objects.Delete(ctx, objectKey(id, suffix)); err != nil {
				s.log.Warn("delete a file of a dump; the next sweep tries again", slog.String("dump", id),
					slog.Any("error", err))
			}
		}
	}
}

// Sweep deletes the files that no dump needs: those of withdrawn dumps, and those without a row that are
// older than a day.
func (s *Service) Sweep(ctx context.Context) error {
	rows, err := s.store.Dumps(ctx)
	if err != nil {
		return err
	}
	known := map[string]bool{} // whether a row needs its files
	for _, d := range rows {
		known[d.ID] = !d.Recorded
	}
	young := fieldmark.FirstID(fieldmark.PrefixDump, time.Now().Add(-orphanAge))
	return s.objects.List(ctx, prefix, func(o objects.Object) error {
		id, _, _ := strings.Cut(path.Base(o.Key), ".")
		needed, row := known[id]
		if needed || !row && id >= young || !fieldmark.CheckID(fieldmark.PrefixDump, id) {
			return nil
		}
		return s.objects.Delete(ctx, o.Key)
	})
}

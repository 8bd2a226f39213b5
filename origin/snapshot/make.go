package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/rankingfile"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/objects"
	"github.com/fieldmark/fieldmark/origin/store"
)

const (
	// poll is the interval of looking whether a file is due: edges wait for the first of a module or a day.
	poll = 5 * time.Second
	// pollFew is the interval with too few brands for files: an installation that makes none reads once a minute.
	pollFew = time.Minute
	// interval is the age at which a file is replaced, if a score has changed.
	interval = 15 * time.Minute
	// maxChanges is the number of changed brands at which a file is replaced early: an edge that starts from it
	// scores each of them, and takes no file with more than twice as many.
	maxChanges = 5000
	// maxDue is how many lines of a file may have to be scored again, for the same reason.
	maxDue = 1000
	// keep is how many files are kept: one may be in a download.
	keep = 4
	// settled is how long a standing may be due before a file waits for it.
	settled = time.Minute

	prefix = "rankings/"
	suffix = ".zst"
	// orphanAge is how long a file without a row is kept: it may be in the making, and the clocks of origins may
	// differ.
	orphanAge = 24 * time.Hour
	// sweepInterval is the time between two sweeps of a process. S3 charges for lists.
	sweepInterval = 6 * time.Hour
)

func objectKey(id string) string { return prefix + id + suffix }

// errUnsettled is the error of a file whose standings are still being computed.
var errUnsettled = errors.New("the standings are not complete")

// Run makes files and deletes old ones until ctx ends. However many processes run, one makes a file.
func (s *Service) Run(ctx context.Context) error {
	if s.cfg.Objects == nil {
		return nil
	}
	var wg sync.WaitGroup
	wg.Go(func() { s.cfg.Jobs.AtStartAndEvery(ctx, poll, "make a ranking file", s.tick) })
	wg.Go(func() { s.cfg.Jobs.AtStartAndEvery(ctx, sweepInterval, "sweep ranking files", s.Sweep) })
	wg.Wait()
	return nil
}

// tick makes a file if one is due.
func (s *Service) tick(ctx context.Context) error {
	now := time.Now()
	if now.Before(s.pollAt) {
		return nil
	}
	// Read before the claim, which is a write: most polls find nothing due.
	free, err := s.cfg.Store.DailyJobDue(ctx, store.JobRankingFile, now)
	if err != nil || !free {
		return err
	}
	if _, due, err := s.due(ctx, now); err != nil || !due {
		return err
	}
	// One process makes a file: it reads all brands, which takes seconds of the database's time.
	return s.cfg.Jobs.Daily(ctx, store.JobRankingFile, now,
		func(ctx context.Context) error { return s.makeDue(ctx, now) })
}

// makeDue makes a file and ends the job, which this process has claimed.
func (s *Service) makeDue(ctx context.Context, now time.Time) error {
	// Again: another process may have made a file between both.
	module, due, err := s.due(ctx, now)
	if err == nil && !due {
		return s.end(ctx, now)
	}
	if err == nil {
		err = s.make(ctx, module, now)
	}
	if errors.Is(err, errUnsettled) { // a module was activated just now, or many standings became due
		return s.end(ctx, now.Add(poll))
	}
	// A process that is stopped has not failed to make a file.
	if err != nil && ctx.Err() == nil {
		s.failed.Add(1)
	}
	return err
}

// end ends the lease; the next file is not made before a time.
func (s *Service) end(ctx context.Context, next time.Time) error {
	return s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.EndDailyJob(ctx, store.JobRankingFile, s.cfg.Jobs.Worker(), next)
	})
}

// due returns the active module, and whether a file should be made by it now.
func (s *Service) due(ctx context.Context, now time.Time) (module fieldmark.ModuleRef, due bool, err error) {
	plan, err := s.cfg.Store.ModulePlan(ctx)
	if errors.Is(err, store.ErrNotFound) {
		return module, false, nil
	}
	if err != nil {
		return module, false, err
	}
	rows, err := s.cfg.Store.RankingFiles(ctx)
	if err != nil {
		return module, false, err
	}
	// Edges score so few brands faster than they read a file. Files of more brands than now are deleted.
	if many, err := s.cfg.Store.MoreBrands(ctx, s.cfg.Min); err != nil || !many {
		s.pollAt = now.Add(pollFew)
		return module, false, errors.Join(err, s.prune(ctx, rows, 0))
	}
	// Late standings would be lines that each edge has to score itself.
	if late, err := s.cfg.Store.StandingsLate(ctx, plan.Digest, now.Add(-settled)); err != nil || late {
		return module, false, err
	}
	// Values depend on the module and on the day, so an edge cannot use a file of others.
	if len(rows) == 0 || rows[0].Module.Digest != plan.Digest || rows[0].Day != now.UTC().Format(time.DateOnly) {
		return plan.ModuleRef, true, nil
	}
	n, err := s.cfg.Store.CountScoreChanges(ctx, rows[0].Event, maxChanges)
	return plan.ModuleRef, n == maxChanges || n > 0 && now.Sub(rows[0].CreatedAt.Std()) >= interval, err
}

// make makes a file. Its row is written after the file is stored.
func (s *Service) make(ctx context.Context, module fieldmark.ModuleRef, now time.Time) error {
	// Its head is replaced by the event of the snapshot of the database that the lines are of.
	log, err := s.cfg.Store.LogStatus(ctx, 0)
	if err != nil {
		return err
	}
	// The id is new for each file, so an edge that still downloads the one before is not disturbed.
	f := store.RankingFile{ID: fieldmark.NewID(fieldmark.PrefixRanking, now)}
	var old []fieldmark.Slug
	err = s.cfg.Objects.Put(ctx, objectKey(f.ID), func(to io.Writer) (err error) {
		footer := rankingfile.Footer{Epoch: log.Name, Event: log.Head, Module: module,
			Day: now.UTC().Format(time.DateOnly)}
		f.RankingFile, old, err = s.write(ctx, to, footer, now)
		return err
	})
	if err != nil {
		s.deleteFile(ctx, f.ID)
		return errors.Join(fmt.Errorf("make a ranking file: %w", err), s.request(ctx, old))
	}
	// If the outcome of the commit is unknown, the row may exist: the file is left to Sweep.
	err = s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.AddRankingFile(ctx, f); err != nil {
			return err
		}
		return tx.EndDailyJob(ctx, store.JobRankingFile, s.cfg.Jobs.Worker(), now)
	})
	if err != nil {
		return err
	}
	s.cfg.Log.Info("made a ranking file", slog.Int("lines", f.Lines), slog.Int64("bytes", f.Bytes),
		slog.Int64("event", f.Event), slog.Duration("took", time.Since(now)))
	rows, err := s.cfg.Store.RankingFiles(ctx)
	if err != nil {
		return err
	}
	return errors.Join(s.prune(ctx, rows, keep), s.request(ctx, old))
}

// write writes the lines of all brands as of now, from one snapshot of the database. Old are the brands whose
// standings have no values, at most maxDue: a process of an earlier release has computed them, or they are damaged.
func (s *Service) write(ctx context.Context, to io.Writer, footer rankingfile.Footer,
	now time.Time) (f fieldmark.RankingFile, old []fieldmark.Slug, err error) {
	w, err := rankingfile.NewWriter(to, footer)
	if err != nil {
		return f, nil, err
	}
	due := 0
	add := func(b *store.RankedBrand) error {
		if b.Module != "" && b.Module != footer.Module.Digest {
			return errUnsettled
		}
		l, err := line(b, now)
		if err != nil { // one brand must not keep all edges from files
			s.cfg.Log.Warn("a standing is computed again", slog.String("brand", string(b.Slug)), slog.Any("error", err))
		}
		if l.Due {
			// It is computed again, so that the next file has it.
			if due++; b.Module != "" && b.Values == nil || err != nil {
				old = append(old, b.Slug)
			}
		}
		if due > maxDue {
			return errUnsettled
		}
		return w.Add(&l)
	}
	err = s.cfg.Store.Snapshot(ctx, func(ctx context.Context) error {
		event, err := s.cfg.Store.Head(ctx)
		if err != nil {
			return err
		}
		w.SetEvent(event)
		return s.cfg.Store.EachRanked(ctx, add)
	})
	if err != nil {
		return f, old, err
	}
	made, err := w.Close()
	return fieldmark.RankingFile{SHA256: made.SHA256, Epoch: made.Epoch, Event: made.Event, Module: made.Module,
		Day: made.Day, Lines: made.Lines, Bytes: made.Bytes, HeadBytes: made.HeadBytes, HeadSHA256: made.HeadSHA256,
		CreatedAt: fieldmark.At(now)}, old, err
}

// line returns the line of a brand or an alias. It is due if its standing is not that of now, or is damaged; then
// there is an error, too.
func line(b *store.RankedBrand, now time.Time) (l rankingfile.Line, err error) {
	l = rankingfile.Line{Slug: b.Slug, Target: b.Target}
	if b.Target != "" {
		return l, nil
	}
	l.Name, l.Host, l.Niche, l.Language = b.Name, rankingfile.HostOf(b.URL), b.Niche, b.Language
	switch {
	case b.Unlisted:
		l.Status = fieldmark.StatusUnlisted
	case !b.Audited:
		l.Status = fieldmark.StatusPending
	case b.Values == nil:
		l.Status, l.Due = fieldmark.StatusPending, true
	default:
		if l.Values, err = rankingfile.ParseValues(b.Values); err != nil {
			l.Status, l.Due = fieldmark.StatusPending, true
			return l, err
		}
		// A standing that has become due since is in the file; the edge scores that brand itself.
		l.Due = b.DueAt != nil && !b.DueAt.After(now)
	}
	return l, nil
}

// request makes standings due.
func (s *Service) request(ctx context.Context, brands []fieldmark.Slug) error {
	if len(brands) == 0 {
		return nil
	}
	return s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		for _, slug := range brands {
			if err := tx.RequestStanding(ctx, slug, time.Now()); err != nil {
				return err
			}
		}
		return nil
	})
}

// prune deletes all but the newest n of rows, and their files.
func (s *Service) prune(ctx context.Context, rows []store.RankingFile, n int) error {
	if len(rows) <= n {
		return nil
	}
	err := s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		// Rows before files: a listed file can then always be read.
		for _, f := range rows[n:] {
			if err := tx.DeleteRankingFile(ctx, f.ID); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, f := range rows[n:] {
		s.deleteFile(ctx, f.ID)
	}
	return nil
}

// deleteFile deletes a file that nothing needs. If that fails, the sweep tries again.
func (s *Service) deleteFile(ctx context.Context, id string) {
	ctx, cancel := job.ShutdownContext(ctx)
	defer cancel()
	if err := s.cfg.Objects.Delete(ctx, objectKey(id)); err != nil {
		s.cfg.Log.Warn("delete a ranking file; the next sweep tries again", slog.String("file", id),
			slog.Any("error", err))
	}
}

// Sweep deletes the files without a row that are older than a day.
func (s *Service) Sweep(ctx context.Context) error {
	rows, err := s.cfg.Store.RankingFiles(ctx)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, f := range rows {
		known[objectKey(f.ID)] = true
	}
	// Ids begin with their time, so comparing them compares ages.
	young := path.Base(objectKey(fieldmark.FirstID(fieldmark.PrefixRanking, time.Now().Add(-orphanAge))))
	return s.cfg.Objects.List(ctx, prefix, func(o objects.Object) error {
		if known[o.Key] || path.Base(o.Key) >= young {
			return nil
		}
		return s.cfg.Objects.Delete(ctx, o.Key)
	})
}

package snapshot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/objects"
	"github.com/fieldmark/fieldmark/origin/store"
)

// Config configures a Service.
type Config struct {
	Store   *store.Store
	Objects objects.Store // of the files; nil: none are made or read
	Jobs    *job.Runner
	Log     *slog.Logger
	// Min is the number of brands above which files are made; 0: fieldmark.MinRankingFile.
	Min int
}

// Service makes ranking files and reads them. Its methods may be called from any goroutine.
type Service struct {
	cfg    Config
	pollAt time.Time // no file is due before; of tick alone
	listed atomic.Pointer[list]
	failed atomic.Int64
}

// New returns a Service that has started nothing.
func New(cfg Config) *Service {
	if cfg.Min == 0 {
		cfg.Min = fieldmark.MinRankingFile
	}
	return &Service{cfg: cfg}
}

const (
	// urlLifetime is how long an address in the list can be used: a download of 10 million brands takes a
	// minute at 100 Mbit/s.
	urlLifetime = 15 * time.Minute
	// listLifetime is how long a list is answered from memory, so that a fleet which starts costs one read.
	listLifetime = time.Second
)

// list is a list of files as it was read.
type list struct {
	rows []store.RankingFile
	at   time.Time
}

// rows returns the files that have rows, as they were at most listLifetime ago.
func (s *Service) rows(ctx context.Context) ([]store.RankingFile, error) {
	// Concurrent callers may read twice; that is cheaper than a lock that all of them wait for.
	if l := s.listed.Load(); l != nil && time.Since(l.at) < listLifetime {
		return l.rows, nil
	}
	now := time.Now()
	rows, err := s.cfg.Store.RankingFiles(ctx)
	if err != nil {
		return nil, err
	}
	s.listed.Store(&list{rows, now})
	return rows, nil
}

// List lists the files that can be read, the newest first.
func (s *Service) List(ctx context.Context) (fieldmark.RankingFiles, error) {
	all := fieldmark.RankingFiles{Items: []fieldmark.RankingFile{}}
	if s.cfg.Objects == nil {
		return all, nil
	}
	rows, err := s.rows(ctx)
	if err != nil {
		return all, err
	}
	for _, f := range rows {
		// An edge that cannot read there reads here.
		if f.URL, err = s.cfg.Objects.URL(ctx, objectKey(f.ID), urlLifetime); err != nil {
			s.cfg.Log.Warn("sign the address of a ranking file", slog.Any("error", err))
		}
		all.Items = append(all.Items, f.RankingFile)
	}
	return all, nil
}

// Open opens a file by its digest in hexadecimal; CodeNotFound if there is no such file. The caller closes it.
func (s *Service) Open(ctx context.Context, sha256 string) (*objects.File, error) {
	none := fieldmark.Errorf(fieldmark.CodeNotFound, "there is no such file")
	if s.cfg.Objects == nil {
		return nil, none
	}
	rows, err := s.rows(ctx)
	if err != nil {
		return nil, err
	}
	for _, f := range rows {
		if f.SHA256 != sha256 {
			continue
		}
		file, err := objects.OpenFile(ctx, s.cfg.Objects, objectKey(f.ID), f.Bytes)
		if errors.Is(err, objects.ErrNotFound) {
			return nil, none // the database was restored without the files
		}
		if err != nil {
			return nil, fmt.Errorf("open ranking file %s: %w", f.ID, err)
		}
		return file, nil
	}
	return nil, none
}

// Stats describe the newest file.
type Stats struct {
	Made   time.Time // zero: there is no file
	Bytes  int64
	Lines  int
	Failed int64 // how often this process could not make a file
}

// Stats returns what there is to watch.
func (s *Service) Stats(ctx context.Context) (Stats, error) {
	v := Stats{Failed: s.failed.Load()}
	rows, err := s.rows(ctx)
	if err == nil && len(rows) > 0 {
		v.Made, v.Bytes, v.Lines = rows[0].CreatedAt.Std(), rows[0].Bytes, rows[0].Lines
	}
	return v, err
}

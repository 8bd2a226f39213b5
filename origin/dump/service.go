package dump

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

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
	Terms   fieldmark.DumpTerms // of all dumps, also of older ones
}

// Service makes dumps and reads them. Its methods may be called from any goroutine.
type Service struct {
	store   *store.Store
	objects objects.Store
	jobs    *job.Runner
	log     *slog.Logger
	terms   fieldmark.DumpTerms
}

// New returns a Service that has started nothing.
func New(cfg Config) *Service {
	return &Service{store: cfg.Store, objects: cfg.Objects, jobs: cfg.Jobs, log: cfg.Log, terms: cfg.Terms}
}

// The ends of the names of files.
const (
	suffixLines = ".ndjson.zst"
	suffixTable = ".csv.zst"
)

// List lists the dumps that can be read, the newest first, at most fieldmark.MaxDumps.
func (s *Service) List(ctx context.Context) ([]fieldmark.Dump, error) {
	rows, err := s.store.Dumps(ctx)
	list := []fieldmark.Dump{}
	for _, d := range rows {
		if d.Withdrawn || len(list) == fieldmark.MaxDumps {
			continue
		}
		// The address has the digest, so the content at it never changes.
		d.Path = fieldmark.PathDumps + "/" + d.SHA256 + suffixLines
		d.CSV.Path = fieldmark.PathDumps + "/" + d.CSV.SHA256 + suffixTable
		d.DumpTerms = s.terms
		list = append(list, d.Dump)
	}
	return list, err
}

// Open opens the file with a name: its digest in hexadecimal, and .ndjson.zst or .csv.zst. An unknown one is
// CodeNotFound, one that was withdrawn CodeDumpWithdrawn. The caller closes the file.
func (s *Service) Open(ctx context.Context, name string) (*File, error) {
	none := fieldmark.Errorf(fieldmark.CodeNotFound, "there is no such dump")
	digest, suffix := name, ""
	if at := strings.IndexByte(name, '.'); at >= 0 {
		digest, suffix = name[:at], name[at:]
	}
	// Checked before the database is queried: names come from the path of a request.
	if _, err := fieldmark.ParseDigest("sha256:" + digest); err != nil || s.objects == nil {
		return nil, none
	}
	d, err := s.store.DumpOf(ctx, digest)
	if errors.Is(err, store.ErrNotFound) {
		return nil, none
	}
	if err != nil {
		return nil, err
	}
	var size int64
	switch {
	case suffix == suffixLines && digest == d.SHA256:
		size = d.Bytes
	case suffix == suffixTable && digest == d.CSV.SHA256:
		size = d.CSV.Bytes
	default:
		return nil, none
	}
	if d.Withdrawn {
		return nil, fieldmark.Errorf(fieldmark.CodeDumpWithdrawn,
			"a brand in this dump is no longer listed; %s lists the dumps that can be read", fieldmark.PathDumps)
	}
	// A storage that fails is an error before the response begins. The file may be missing, if the database
	// was restored without the files.
	f, err := objects.OpenFile(ctx, s.objects, objectKey(d.ID, suffix), size)
	if errors.Is(err, objects.ErrNotFound) {
		return nil, none
	}
	if err != nil {
		return nil, fmt.Errorf("open dump %s: %w", d.ID, err)
	}
	return &File{digest, f}, nil
}

// File is the content of a file of a dump.
type File struct {
	SHA256 string
	*objects.File
}

package dump

import (
	"context"
	"errors"
	"fmt"
	"io"
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
}

// Service makes dumps and reads them. Its methods may be called from any goroutine.
type Service struct {
	store   *store.Store
	objects objects.Store
	jobs    *job.Runner
	log     *slog.Logger
}

// New returns a Service that has started nothing.
func New(cfg Config) *Service {
	return &Service{store: cfg.Store, objects: cfg.Objects, jobs: cfg.Jobs, log: cfg.Log}
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
		d.Path = fieldmark.PathDumps + "/" + d.SHA256 + suffixLines
		d.CSV.Path = fieldmark.PathDumps + "/" + d.CSV.SHA256 + suffixTable
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
	f := &File{SHA256: digest, open: func(offset int64) (io.ReadCloser, error) {
		return s.objects.OpenAt(ctx, objectKey(d.ID, suffix), offset)
	}}
	switch {
	case suffix == suffixLines && digest == d.SHA256:
		f.size = d.Bytes
	case suffix == suffixTable && digest == d.CSV.SHA256:
		f.size = d.CSV.Bytes
	default:
		return nil, none
	}
	if d.Withdrawn {
		return nil, fieldmark.Errorf(fieldmark.CodeDumpWithdrawn,
			"a brand in this dump is no longer listed; %s lists the dumps that can be read", fieldmark.PathDumps)
	}
	// A storage that fails is an error before the response begins. The file may be missing, if the database
	// was restored without the files.
	if f.at, err = f.open(0); errors.Is(err, objects.ErrNotFound) {
		return nil, none
	}
	if err != nil {
		return nil, fmt.Errorf("open dump %s: %w", d.ID, err)
	}
	return f, nil
}

// File is the content of a file of a dump.
type File struct {
	SHA256 string

	open   func(offset int64) (io.ReadCloser, error)
	size   int64
	offset int64         // of the next byte that Read returns
	at     io.ReadCloser // at offset; nil: not open
}

// Read implements io.Reader.
func (f *File) Read(p []byte) (n int, err error) {
	if f.offset >= f.size {
		return 0, io.EOF
	}
	if f.at == nil {
		if f.at, err = f.open(f.offset); err != nil {
			return 0, err
		}
	}
	n, err = f.at.Read(p)
	f.offset += int64(n)
	return n, err
}

// Seek implements io.Seeker. It opens nothing.
func (f *File) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += f.offset
	case io.SeekEnd:
		offset += f.size
	}
	if offset < 0 {
		return 0, errors.New("seek before the start of a dump")
	}
	if offset == f.offset {
		return offset, nil
	}
	err := f.Close()
	f.offset = offset
	return offset, err
}

// Close implements io.Closer.
func (f *File) Close() error {
	if f.at == nil {
		return nil
	}
	err := f.at.Close()
	f.at = nil
	return err
}

package dump

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"

	"github.com/klauspost/compress/zstd"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/export"
)

// window is the window of the compression in bytes: the largest that every decoder must support
// (RFC 8878, section 3.1.1.1.2).
const window = 8 << 20

// file compresses one file and hashes what it becomes. The same input makes the same bytes in every process
// of one release: one goroutine compresses, in blocks whose size does not depend on the writes.
type file struct {
	*zstd.Encoder
	sum  hash.Hash
	size int64
	to   io.Writer
}

func newFile(to io.Writer) (*file, error) {
	f := &file{sum: sha256.New(), to: to}
	enc, err := zstd.NewWriter(compressed{f}, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window),
		zstd.WithEncoderLevel(zstd.SpeedDefault))
	f.Encoder = enc
	return f, err
}

// compressed receives the compressed bytes of a file.
type compressed struct{ *file }

// Write implements io.Writer.
func (c compressed) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.sum.Write(p[:n])
	c.size += int64(n)
	return n, err
}

// digest returns the digest of the closed file.
func (f *file) digest() string { return hex.EncodeToString(f.sum.Sum(nil)) }

// write writes both files of a dump in one pass over a snapshot of the database, and sets the members of d about
// them.
func (s *Service) write(ctx context.Context, d *fieldmark.Dump, lines, table io.Writer) error {
	a, err := newFile(lines)
	if err != nil {
		return fmt.Errorf("compress a dump: %w", err)
	}
	b, err := newFile(table)
	if err != nil {
		return fmt.Errorf("compress a dump: %w", err)
	}
	rows := csv.NewWriter(b)
	if err := rows.Write(columns); err != nil {
		return err
	}
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	// Lines are not embedded in HTML, and \u0026 in place of & would make them longer.
	encoder.SetEscapeHTML(false)
	add := func(item *fieldmark.ScoreItem) error {
		d.Brands++
		line.Reset()
		if err := encoder.Encode(item); err != nil {
			return fmt.Errorf("encode the score of %s: %w", item.Slug, err)
		}
		if _, err := a.Write(line.Bytes()); err != nil {
			return err
		}
		return rows.Write(cells(item))
	}
	err = s.store.Snapshot(ctx, func(ctx context.Context) (err error) {
		if d.Event, err = s.store.Head(ctx); err != nil {
			return err
		}
		return s.store.EachScore(ctx, add)
	})
	if err != nil {
		return err
	}
	// Before the encoders close: the CSV writer still has rows in its buffer.
	rows.Flush()
	if err := errors.Join(rows.Error(), a.Close(), b.Close()); err != nil {
		return err
	}
	d.Bytes, d.SHA256 = a.size, a.digest()
	d.CSV.Bytes, d.CSV.SHA256 = b.size, b.digest()
	return nil
}

// columns is the header of the CSV file.
var columns = []string{"slug", "name", "niche", "language", "status", "score", "grade", "low", "high", "confidence",
	"geoReady", "full", "asOf", "event"}

// cells returns the row of a brand. Cells without a value are empty.
func cells(i *fieldmark.ScoreItem) []string {
	milli := func(m *fieldmark.Milli) string {
		if m == nil {
			return ""
		}
		return m.String()
	}
	var low, high, asOf string
	if i.Range != nil {
		low, high = i.Range.Low.String(), i.Range.High.String()
	}
	if i.AsOf != nil {
		asOf = i.AsOf.String()
	}
	all := []string{string(i.Slug), i.Name, i.Niche, i.Language, string(i.Status), milli(i.Score), string(i.Grade), low,
		high, string(i.Confidence), strconv.FormatBool(i.GeoReady), milli(i.Full), asOf, strconv.FormatInt(i.Event, 10)}
	for at := range all {
		// A name that begins like a formula would be computed by a spreadsheet (CSV injection).
		all[at] = export.Cell(all[at])
	}
	return all
}

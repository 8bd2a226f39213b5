package snapshot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/ranking"
	"github.com/fieldmark/fieldmark/internal/rankingfile"
)

// framesAtOnce is how many frames are in memory at a time, 11 MB each: one is decompressed by each of two
// processors while others arrive.
const framesAtOnce = 4

// download reads all frames of a file. A frame that does not arrive is requested again, not those before it.
func (l *Loader) download(ctx context.Context, f *fieldmark.RankingFile) (*Loaded, error) {
	day, err := time.Parse(time.DateOnly, f.Day)
	if err != nil || f.HeadBytes <= 0 || f.HeadBytes > rankingfile.MaxFooter || f.Bytes > rankingfile.MaxFile {
		return nil, fmt.Errorf("day %.20q, %d bytes, footer of %d bytes", f.Day, f.Bytes, f.HeadBytes)
	}
	var footer rankingfile.Footer
	// The footer is at the end of the file, because the frames are complete only then.
	if err := l.fetch(ctx, f, f.Bytes-f.HeadBytes, f.HeadBytes, func(b []byte) error {
		footer, err = rankingfile.ParseFooter(b, f.HeadSHA256)
		return err
	}); err != nil {
		return nil, err
	}
	// The list came from the origin, and the file perhaps from other storage: both must agree.
	if footer.Epoch != f.Epoch || footer.Event != f.Event || footer.Module != f.Module || footer.Day != f.Day ||
		footer.Lines != f.Lines || footer.Bytes() != f.Bytes-f.HeadBytes {
		return nil, errors.New("the footer is of another file")
	}
	decoder, err := rankingfile.NewDecoder()
	if err != nil {
		return nil, err
	}
	defer decoder.Close()
	frames := make([]frame, len(footer.Frames))
	var g errgroup.Group
	g.SetLimit(framesAtOnce)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	offset := int64(0)
	for i := range footer.Frames {
		// Frames are independent, so each can be checked and retried without the others.
		at, of := offset, &footer.Frames[i]
		g.Go(func() error {
			err := l.fetch(ctx, f, at, of.Bytes, func(b []byte) error { return frames[i].decode(decoder, of, b) })
			if err != nil {
				cancel() // the other frames are of no use
			}
			return err
		})
		offset += of.Bytes
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return join(f, day, frames), nil
}

// fetch reads a range of a file and calls use with it, again if one of both fails.
func (l *Loader) fetch(ctx context.Context, f *fieldmark.RankingFile, offset, n int64, use func([]byte) error) error {
	return retry(ctx, func() error {
		b, err := l.Origin.RankingFileRange(ctx, f, offset, n)
		if err != nil {
			return err
		}
		return use(b)
	})
}

// frame is what a frame has.
type frame struct {
	rows   []ranking.Row
	due    []fieldmark.Slug
	failed fieldmark.Slug
}

func (fr *frame) decode(d *rankingfile.Decoder, of *rankingfile.Frame, b []byte) error {
	// Reset, because a frame that failed is decoded again.
	*fr = frame{rows: make([]ranking.Row, 0, of.Lines)}
	return d.Decode(of, b, func(line *rankingfile.Line) {
		fr.rows = append(fr.rows, ranking.RowOf(line))
		if line.Due {
			fr.due = append(fr.due, line.Slug)
		}
		if line.Failed {
			fr.failed = line.Slug
		}
	})
}

// join puts the rows of all frames together.
// It keeps pointers into the rows of the frames, so that no row is copied.
func join(f *fieldmark.RankingFile, day time.Time, frames []frame) *Loaded {
	loaded := &Loaded{File: *f, Day: day, Rows: make([]*ranking.Row, 0, f.Lines),
		Changed: map[fieldmark.Slug]int64{}}
	for i := range frames {
		for j := range frames[i].rows {
			loaded.Rows = append(loaded.Rows, &frames[i].rows[j])
		}
		for _, slug := range frames[i].due {
			// Due when the file was made: the edge scores it as if it had changed then.
			loaded.Changed[slug] = f.Event
		}
		if frames[i].failed != "" {
			loaded.Failed = frames[i].failed
		}
	}
	return loaded
}

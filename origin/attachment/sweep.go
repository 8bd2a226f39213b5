package attachment

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/objects"
	"github.com/fieldmark/fieldmark/origin/store"
)

const (
	// prefix begins the keys of objects that are attachments; other objects may share a bucket.
	prefix = "attachments/"
	// folderName is the length of the beginning of an id that names the folder of its object:
	// the time, in steps of 2.3 hours, so that a folder has thousands of files and not millions.
	folderName = len(fieldmark.PrefixAttachment) + 1 + 5

	// orphanAge is how long an object without a row is kept. Its row may be about to be written:
	// an upload takes minutes at most, but the clocks of origins may differ.
	orphanAge = 24 * time.Hour
	// sweepInterval is the time between two sweeps of a process. S3 charges for lists.
	sweepInterval = 6 * time.Hour
	// comparePage is how many rows are read at once.
	comparePage = 500
)

// objectKey returns the key of the content of an attachment. The order of keys is that of ids.
func objectKey(id string) string { return prefix + id[:folderName] + "/" + id }

// Run deletes contents without attachments until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	if s.objects != nil {
		s.jobs.AtStartAndEvery(ctx, sweepInterval, "sweep attachments", s.Sweep)
	}
	return nil
}

// Sweep deletes the contents that no attachment has and that are older than a day: those of
// uploads that were interrupted, and of removed attachments whose deletion failed.
func (s *Service) Sweep(ctx context.Context) error {
	young := fieldmark.FirstID(fieldmark.PrefixAttachment, time.Now().Add(-orphanAge))
	deleted := 0
	err := compare(ctx, s.store, s.objects, func(_ *store.Attachment, o *objects.Object) error {
		if o == nil {
			return nil
		}
		id := strings.TrimSuffix(path.Base(o.Key), objects.PartialSuffix)
		if id >= young || !fieldmark.CheckID(fieldmark.PrefixAttachment, id) { // too young, or not ours
			return nil
		}
		deleted++
		return s.objects.Delete(ctx, o.Key)
	})
	if deleted > 0 {
		s.log.Info("deleted contents without attachments", slog.Int("count", deleted))
	}
	return err
}

// Finding is an attachment whose content is missing or has another size.
type Finding struct {
	ID, Mission, Problem string
}

// Check compares the attachments in the database with their contents. It does not read these.
func Check(ctx context.Context, db *store.Store, from objects.Store) (checked int, bad []Finding, err error) {
	err = compare(ctx, db, from, func(a *store.Attachment, o *objects.Object) error {
		if a == nil {
			return nil // an upload that is not finished, or that the next sweep deletes
		}
		checked++
		switch {
		case o == nil:
			// It may have been added after the list, or removed since its row was read.
			now, err := db.Attachment(ctx, a.MissionID, a.ID)
			if err != nil || now.RemovedAt != nil {
				return err
			}
			object, err := from.Open(ctx, objectKey(a.ID))
			if err == nil {
				return object.Close()
			}
			if !errors.Is(err, objects.ErrNotFound) {
				return err
			}
			bad = append(bad, Finding{a.ID, a.MissionID, "its file is missing"})
		case o.Size != sealedSize(a.Size):
			bad = append(bad, Finding{a.ID, a.MissionID, "its file has another size"})
		}
		return nil
	})
	return checked, bad, err
}

// compare calls each for every attachment that is not removed, with its object or nil, and for
// every object without an attachment. Both are read in the order of their ids.
func compare(ctx context.Context, db *store.Store, from objects.Store,
	each func(*store.Attachment, *objects.Object) error) error {
	rows := &rowReader{db: db}
	err := from.List(ctx, prefix, func(o objects.Object) error {
		id := path.Base(o.Key)
		if !fieldmark.CheckID(fieldmark.PrefixAttachment, id) || o.Key != objectKey(id) {
			return each(nil, &o) // an unfinished file, or not ours
		}
		for {
			row, err := rows.peek(ctx)
			if err != nil {
				return err
			}
			if row == nil || row.ID > id {
				return each(nil, &o)
			}
			rows.next()
			if row.ID == id {
				return each(row, &o)
			}
			if err := each(row, nil); err != nil {
				return err
			}
		}
	})
	for err == nil {
		row, rerr := rows.peek(ctx)
		if err = rerr; row == nil {
			break
		}
		rows.next()
		if err == nil {
			err = each(row, nil)
		}
	}
	if err != nil {
		return fmt.Errorf("compare attachments with %s: %w", from, err)
	}
	return nil
}

// rowReader reads the attachments that are not removed, page by page.
type rowReader struct {
	db   *store.Store
	page []store.Attachment
	last string // id
	end  bool
}

// peek returns the next row, or nil after the last.
func (r *rowReader) peek(ctx context.Context) (*store.Attachment, error) {
	if len(r.page) == 0 && !r.end {
		page, err := r.db.AttachmentsAfter(ctx, r.last, comparePage)
		if err != nil {
			return nil, err
		}
		r.page, r.end = page, len(page) < comparePage
	}
	if len(r.page) == 0 {
		return nil, nil
	}
	return &r.page[0], nil
}

func (r *rowReader) next() {
	r.last, r.page = r.page[0].ID, r.page[1:]
}

package attachment_test

import (
	"bytes"
	"context"
	"crypto/sha256"

	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/attachment"
	"github.com/fieldmark/fieldmark/origin/objects"
	"github.com/fieldmark/fieldmark/origin/store"
)

func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }

// fixture is an origin with one mission, whose objects are in a folder.
type fixture struct {
	*origin.Service
	db      *store.Store
	folder  string
	mission fieldmark.Mission
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	f := &fixture{folder: t.TempDir(), db: storetest.Open(t, storetest.New(t))}
	f.Service = f.over(t, objects.NewFolder(f.folder))
	f.mission = f.open(t, "1")
	return f
}

// over returns another origin on the database of the fixture, with other objects.
func (f *fixture) over(t testing.TB, place objects.Store) *origin.Service {
	t.Helper()
	s, err := origin.New(origin.Config{Store: f.db, Secret: bytes.Repeat([]byte("s"), 32), Objects: place,
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func (f *fixture) open(t testing.TB, id string) fieldmark.Mission {
	t.Helper()
	m, _, err := f.Missions.Create(t.Context(), access.DefaultAccount,
		fieldmark.MissionRequest{ExternalID: id, Source: "demo", Title: "Replace the fan"})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// files returns the contents of all objects by path.
func (f *fixture) files(t testing.TB) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	err := filepath.WalkDir(f.folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		all[path], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// jpeg returns a file of n bytes that begins like a photo.
func jpeg(n int, seed byte) []byte {
	b := bytes.Repeat([]byte{seed, 1, 2, 3, 5, 7, 11}, n/7+1)[:n]
	copy(b, "\xff\xd8\xff\xe0")
	return b
}

func (f *fixture) upload(contentType string, content []byte) attachment.Upload {
	return attachment.Upload{Account: access.DefaultAccount, Mission: f.mission.ID, ContentType: contentType,
		Author: fieldmark.NoteAuthor{ID: "ann", Name: "Ann"}, Body: bytes.NewReader(content)}
}

// events returns the events of a type.
func (f *fixture) events(t testing.TB, kind fieldmark.EventType) []fieldmark.Event {
	t.Helper()
	page, err := f.Events.After(t.Context(), fieldmark.EventCursor{}, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var found []fieldmark.Event
	for _, e := range page.Events {
		if e.Type == kind {
			found = append(found, e)
		}
	}
	return found
}

func read(ctx context.Context, f *fixture, id string) ([]byte, error) {
	c, err := f.Attachments.Open(ctx, "", f.mission.ID, id)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return io.ReadAll(c)
}

func TestAddAndRead(t *testing.T) {
	f := newFixture(t)
	// The sizes around the borders of the chunks that are encrypted at once.
	for _, size := range []int{4, 64<<10 - 1, 64 << 10, 64<<10 + 1, 128 << 10, 1<<20 + 7, fieldmark.MaxAttachment} {
		content := jpeg(size, byte(size))
		u := f.upload("image/jpeg", content)
		u.Name, u.Digest = "site.JPG", fieldmark.DigestOf(sha256.Sum256(content))
		a, err := f.Attachments.Add(t.Context(), u)
		if err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		if a.Size != int64(size) || a.Digest != u.Digest || a.Name != "site.JPG" || a.ContentType != "image/jpeg" ||
			a.Author != u.Author || a.MissionID != f.mission.ID {
			t.Errorf("%d bytes: added %+v", size, a)
		}
		if got, err := read(t.Context(), f, a.ID); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%d bytes: read %d bytes, %v", size, len(got), err)
		}
	}
	for path, b := range f.files(t) {
		if bytes.Contains(b, []byte{1, 2, 3, 5, 7, 11}) {
			t.Errorf("%s has the content in the clear", path)
		}
	}
	if added := f.events(t, fieldmark.EventAttachmentAdded); len(added) != 7 ||
		bytes.Contains(added[0].Data, []byte("site")) || bytes.Contains(added[0].Data, []byte("://")) ||
		!bytes.Contains(added[0].Data, []byte(`"contentType":"image/jpeg"`)) {
		t.Errorf("%d events, the first %s", len(added), added[0].Data)
	}
	if err := f.db.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

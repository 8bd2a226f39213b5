package origin_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/rankingfile"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/objects"
	"github.com/fieldmark/fieldmark/origin/store"
)

// rankingBrands is how many brands the origins of these tests have, one more than without ranking files.
const rankingBrands = 6

// failing is a store of objects that can be made to fail.
type failing struct {
	objects.Store
	fails atomic.Bool
	puts  atomic.Int64
}

// Put implements objects.Store. It fails after the content was written.
func (f *failing) Put(ctx context.Context, key string, write func(io.Writer) error) error {
	f.puts.Add(1)
	return f.Store.Put(ctx, key, func(to io.Writer) error {
		if err := write(to); err != nil || !f.fails.Load() {
			return err
		}
		return objects.ErrUnavailable
	})
}

// rankings is an origin that makes ranking files in a folder.
type rankings struct {
	*fixture
	t      testing.TB
	folder string
	place  *failing
}

func openRankings(t testing.TB, record store.Config, folder string) *rankings {
	t.Helper()
	r := &rankings{t: t, folder: folder, place: &failing{Store: objects.NewFolder(folder)}}
	r.fixture = openFixture(t, record, func(c *origin.Config) {
		c.Objects, c.Scorer, c.MinRankingFile = r.place, pointScorer{}, rankingBrands-1
	})
	return r
}

// newRankings is openRankings with brands and a running worker of standings. It is for a bubble of synctest.
func newRankings(t testing.TB) *rankings {
	t.Helper()
	r := openRankings(t, storetest.New(t), t.TempDir())
	for i := range rankingBrands {
		r.facts(fmt.Sprint("brand-", i), int64(10_000*(i+1)))
	}
	t.Cleanup(r.start(r.Standings.Run))
	return r
}

// facts registers a brand if needed, and gives it a score.
func (r *rankings) facts(slug string, points int64) {
	r.t.Helper()
	_, _, err := r.Brands.Put(r.t.Context(), fieldmark.Brand{Slug: fieldmark.Slug(slug), Name: "Name of " + slug,
		URL: "https://www." + slug + ".example/", Niche: "tools", Language: "en", Public: true})
	if err == nil {
		_, err = r.Brands.PutFacts(r.t.Context(), fieldmark.Slug(slug), facts(time.Now(), points))
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// start runs a worker until stop is called, which waits for its end.
func (r *rankings) start(run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	return sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Error(err)
		}
	})
}

// rows returns the files that the database knows, the newest first, and checks that the folder has these and no
// others.
func (r *rankings) rows(more ...string) []store.RankingFile {
	r.t.Helper()
	rows, err := r.Store.RankingFiles(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	want := slices.Clone(more)
	for _, f := range rows {
		want = append(want, f.ID+".zst")
	}
	entries, err := os.ReadDir(filepath.Join(r.folder, "rankings"))
	if err != nil && !os.IsNotExist(err) {
		r.t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		r.t.Errorf("the folder has %v, want %v", got, want)
	}
	return rows
}

// lines reads a file as an edge does, and returns its lines.
func (r *rankings) lines(f *fieldmark.RankingFile) (all []rankingfile.Line) {
	r.t.Helper()
	file, err := r.Snapshots.Open(r.t.Context(), f.SHA256)
	if err != nil {
		r.t.Fatal(err)
	}
	defer file.Close()
	content, err := io.ReadAll(file)
	if err != nil {
		r.t.Fatal(err)
	}
	head, err := rankingfile.ParseFooter(content[int64(len(content))-f.HeadBytes:], f.HeadSHA256)
	if err != nil {
		r.t.Fatal(err)
	}
	if int64(len(content)) != f.Bytes || head.Event != f.Event || head.Epoch != f.Epoch || head.Day != f.Day {
		r.t.Errorf("%d bytes with head %+v, want %+v", len(content), head, f)
	}
	d, err := rankingfile.NewDecoder()
	if err != nil {
		r.t.Fatal(err)
	}
	defer d.Close()
	for i := range head.Frames {
		frame := &head.Frames[i]
		err := d.Decode(frame, content[:frame.Bytes], func(l *rankingfile.Line) { all = append(all, *l) })
		if err != nil {
			r.t.Fatal(err)
		}
		content = content[frame.Bytes:]
	}
	return all
}

// TestRankingFiles: of two origins one makes each file, when a score has changed and the last file is 15 minutes old,
// when many have, when another module is active, and when a day begins. The last four are kept.
func TestRankingFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := newRankings(t)
		second := openRankings(t, first.At, first.folder)
		run := func() (stop func()) {
			a, b := first.start(first.Snapshots.Run), second.start(second.Snapshots.Run)
			return func() { a(); b() }
		}
		stop := run()
		until := func(d time.Duration, want int, why string) {
			t.Helper()
			time.Sleep(d)
			if n := first.place.puts.Load() + second.place.puts.Load(); n != int64(want) {
				t.Fatalf("%s: %d files were made, want %d", why, n, want)
			}
		}
		until(time.Minute, 1, "at the start")
		made := first.rows()[0]
		lines := second.lines(&made.RankingFile)
		if len(lines) != rankingBrands || made.Lines != rankingBrands {
			t.Fatalf("%d lines, the list says %d; want %d", len(lines), made.Lines, rankingBrands)
		}
		for i, l := range lines {
			slug, want := fieldmark.Slug(fmt.Sprint("brand-", i)), int32(10_000*(i+1))
			if l.Slug != slug || l.Score.Score != want ||
				l.Host != fmt.Sprintf("brand-%d.example", i) || !l.Ranked || l.Due {
				t.Errorf("line %+v, want a score of %d", l, want)
			}
		}
		until(30*time.Minute, 1, "without a change")
		first.facts("brand-3", 99_000)
		until(time.Minute, 2, "after a change, with an old file")
		first.facts("brand-3", 80_000)
		until(5*time.Minute, 2, "after a change, with a new file")
		until(11*time.Minute, 3, "15 minutes after it")
		if l := first.lines(&first.rows()[0].RankingFile)[3]; l.Score.Score != 80_000 {
			t.Errorf("the newest file has %+v, want 80000", l)
		}
		next := []byte("\x00asm: another module")
		ref := fieldmark.ModuleRef{Name: "other", Version: "1.0.0", Digest: fieldmark.DigestOf(sha256.Sum256(next))}
		if err := first.Modules.ActivateBytes(t.Context(), ref, next); err != nil {
			t.Fatal(err)
		}
		until(time.Minute, 4, "with another module")
		if f := first.rows()[0]; f.Module != ref || first.lines(&f.RankingFile)[3].Score.Score != 90_000 {
			t.Errorf("the newest file is by %+v, want %+v", f.Module, ref)
		}
		now := time.Now().UTC()
		midnight := now.Truncate(24*time.Hour).AddDate(0, 0, 1)
		stop() // a day of looks whether a file is due takes long
		time.Sleep(midnight.Add(-time.Minute).Sub(now))
		t.Cleanup(run())
		until(59*time.Second, 4, "before midnight")
		until(time.Minute, 5, "after midnight")
		rows := first.rows()
		if day := midnight.Format(time.DateOnly); rows[0].Day != day || rows[1].Day == day {
			t.Errorf("the newest files are of %s and %s, want %s and the day before", rows[0].Day, rows[1].Day, day)
		}
		if len(rows) != 4 {
			t.Errorf("%d files are kept, want 4", len(rows))
		}
	})
}

// TestRankingFileFails: an origin that cannot store a file tries again when its lease has ended, and leaves nothing
// behind.
func TestRankingFileFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRankings(t)
		r.place.fails.Store(true)
		t.Cleanup(r.start(r.Snapshots.Run))
		time.Sleep(58 * time.Second) // between two looks, which come every five seconds
		stats, err := r.Snapshots.Stats(t.Context())
		if err != nil || stats.Failed == 0 || stats.Failed > 6 || len(r.rows()) > 0 {
			t.Errorf("%+v, %v, %d files; want some failures", stats, err, len(r.rows()))
		}
		r.place.fails.Store(false)
		time.Sleep(time.Minute)
		if rows := r.rows(); len(rows) != 1 {
			t.Errorf("%d files, want 1", len(rows))
		}
	})
}

// TestUnsettledStandings: no file is made while standings are late, and a brand that another process has just made due
// is marked.
func TestUnsettledStandings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := openRankings(t, storetest.New(t), t.TempDir())
		for i := range rankingBrands {
			r.facts(fmt.Sprint("brand-", i), 50_000)
		}
		t.Cleanup(r.start(r.Snapshots.Run))
		time.Sleep(10 * time.Minute) // no process computes standings
		if rows := r.rows(); len(rows) > 0 {
			t.Errorf("%d files while standings are late, want none", len(rows))
		}
		stop := r.start(r.Standings.Run)
		time.Sleep(time.Minute)
		stop()
		before := r.rows()
		r.facts("brand-2", 60_000) // it is not computed
		time.Sleep(30 * time.Second)
		if err := r.Store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			return errors.Join(tx.DeleteRankingFile(ctx, before[0].ID),
				r.place.Delete(ctx, "rankings/"+before[0].ID+".zst"))
		}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		rows := r.rows()
		if len(rows) != 1 || rows[0].ID == before[0].ID {
			t.Fatalf("%d files, want a new one", len(rows))
		}
		for _, l := range r.lines(&rows[0].RankingFile) {
			if l.Due != (l.Slug == "brand-2") {
				t.Errorf("line of %s: due %v", l.Slug, l.Due)
			}
		}
	})
}

// TestDamagedStanding: a standing that cannot be read keeps no edge from a file: its line is due, and it is computed
// again.
func TestDamagedStanding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRankings(t)
		time.Sleep(time.Minute)
		if err := r.Store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			was, err := tx.Standing(ctx, "brand-2")
			if err != nil {
				return err
			}
			next := was
			next.Values = []byte{0, 0, 0}
			_, err = tx.PutStanding(ctx, &was, &next)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(r.start(r.Snapshots.Run))
		time.Sleep(time.Minute)
		damaged := r.rows()[0]
		r.facts("brand-3", 60_000)
		time.Sleep(16 * time.Minute)
		repaired := r.rows()[0]
		for i, f := range []store.RankingFile{damaged, repaired} {
			for _, l := range r.lines(&f.RankingFile) {
				if want := l.Slug == "brand-2" && i == 0; l.Due != want || l.Ranked == want {
					t.Errorf("file %d: line %+v, want due %v", i, l, want)
				}
			}
		}
	})
}

// TestSweepRankingFiles: files without a row are deleted when they are a day old, and all files when there are too few
// brands for them.
func TestSweepRankingFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRankings(t)
		stop := r.start(r.Snapshots.Run)
		time.Sleep(time.Minute)
		stop()
		orphan := func(age time.Duration) string {
			name := fieldmark.NewID(fieldmark.PrefixRanking, time.Now().Add(-age)) + ".zst"
			if err := os.WriteFile(filepath.Join(r.folder, "rankings", name), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
			return name
		}
		old, young := orphan(25*time.Hour), orphan(23*time.Hour)
		if len(r.rows(old, young)) != 1 {
			t.Fatal("no file was made")
		}
		if err := r.Snapshots.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.rows(young)
		time.Sleep(2 * time.Hour)
		if err := r.Snapshots.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		made := r.rows()[0]
		if err := r.Brands.Delete(t.Context(), "brand-0"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(r.start(r.Snapshots.Run))
		time.Sleep(2 * time.Minute)
		if rows := r.rows(); len(rows) > 0 {
			t.Errorf("%d files of too few brands, want none", len(rows))
		}
		_, err := r.Snapshots.Open(t.Context(), made.SHA256)
		wantCode(t, "open a deleted file", err, fieldmark.CodeNotFound)
	})
}

// TestMissingRankingFile: after a restore of the database alone its rows have no files.
func TestMissingRankingFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRankings(t)
		t.Cleanup(r.start(r.Snapshots.Run))
		time.Sleep(time.Minute)
		made := r.rows()[0]
		if err := os.RemoveAll(filepath.Join(r.folder, "rankings")); err != nil {
			t.Fatal(err)
		}
		_, err := r.Snapshots.Open(t.Context(), made.SHA256)
		wantCode(t, "open a file that is gone", err, fieldmark.CodeNotFound)
		_, err = r.Snapshots.Open(t.Context(), strings.Repeat("0", 64))
		wantCode(t, "open a file that never was", err, fieldmark.CodeNotFound)
	})
}

// TestRankingFileInS3: the list has an address of a file in S3 at which it can be read without credentials, in ranges,
// and the origin reads it too.
func TestRankingFileInS3(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test-secret")
	backend := s3mem.New()
	if err := backend.CreateBucket("field"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(backend).Server())
	defer server.Close()
	place, err := objects.Parse("s3://field/marks?endpoint="+url.QueryEscape(server.URL), "")
	if err != nil {
		t.Fatal(err)
	}
	r := openRankings(t, storetest.New(t), t.TempDir())
	r.place.Store = place
	for i := range rankingBrands {
		r.facts(fmt.Sprint("brand-", i), 50_000)
	}
	t.Cleanup(r.start(r.Standings.Run))
	t.Cleanup(r.start(r.Snapshots.Run))
	var files fieldmark.RankingFiles
	waittest.Until(t, "there is a file", func() bool {
		if files, err = r.Snapshots.List(t.Context()); err != nil {
			t.Fatal(err)
		}
		return len(files.Items) > 0
	})
	f := files.Items[0]
	if len(r.lines(&f)) != rankingBrands {
		t.Errorf("a file of %d lines, want %d", f.Lines, rankingBrands)
	}
	req, err := http.NewRequestWithContext(t.Context(), "GET", f.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", f.Bytes-f.HeadBytes, f.Bytes-1))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	head, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusPartialContent {
		t.Fatalf("read %s: %s, %v", f.URL, resp.Status, err)
	}
	if _, err := rankingfile.ParseFooter(head, f.HeadSHA256); err != nil {
		t.Error(err)
	}
	if u, err := url.Parse(f.URL); err != nil || u.Query().Get("X-Amz-Expires") != "900" {
		t.Errorf("the address %s, want it to expire in 15 minutes", f.URL)
	}
}

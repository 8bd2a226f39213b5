package origin_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/objects"
	"github.com/fieldmark/fieldmark/origin/store"
)

// dumps is an origin that makes dumps in a folder.
type dumps struct {
	*fixture
	t      testing.TB
	folder string
}

func openDumps(t testing.TB, record store.Config, folder string) *dumps {
	t.Helper()
	return &dumps{openFixture(t, record, func(c *origin.Config) { c.Objects = objects.NewFolder(folder) }), t, folder}
}

// start makes dumps until stop is called.
func (d *dumps) start() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Dumps.Run(ctx) }()
	return sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			d.t.Error(err)
		}
	})
}

// brand registers a brand, with a score unless points is negative.
func (d *dumps) brand(slug fieldmark.Slug, name string, public bool, points int64) {
	d.t.Helper()
	_, _, err := d.Brands.Put(d.t.Context(), fieldmark.Brand{Slug: slug, Name: name,
		URL: "https://" + string(slug) + ".example/", Niche: "tools", Language: "en", Public: public})
	if err == nil && points >= 0 {
		_, err = d.Brands.PutFacts(d.t.Context(), slug, facts(time.Now(), points))
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *dumps) list() []fieldmark.Dump {
	d.t.Helper()
	all, err := d.Dumps.List(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	return all
}

// files returns the names of the stored files.
func (d *dumps) files() (names []string) {
	entries, err := os.ReadDir(filepath.Join(d.folder, "dumps"))
	if err != nil && !os.IsNotExist(err) {
		d.t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// read returns the decompressed content of a file, whose digest and size it checks.
func (d *dumps) read(path, digest string, size int64) string {
	d.t.Helper()
	f, err := d.Dumps.Open(d.t.Context(), strings.TrimPrefix(path, fieldmark.PathDumps+"/"))
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	packed, err := io.ReadAll(f)
	if err != nil {
		d.t.Fatal(err)
	}
	if sum := sha256.Sum256(packed); hex.EncodeToString(sum[:]) != digest || int64(len(packed)) != size {
		d.t.Errorf("%s has %d bytes with digest %x, the list says %d and %s", path, len(packed), sum, size, digest)
	}
	plain, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1))
	if err != nil {
		d.t.Fatal(err)
	}
	defer plain.Close()
	text, err := io.ReadAll(plain)
	if err != nil {
		d.t.Fatal(err)
	}
	return string(text)
}

// errOf returns the error of opening the lines of a dump.
func (d *dumps) errOf(one fieldmark.Dump) error {
	f, err := d.Dumps.Open(d.t.Context(), strings.TrimPrefix(one.Path, fieldmark.PathDumps+"/"))
	if err == nil {
		f.Close()
	}
	return err
}

// digests are those of TestDumps on each engine, which runs the test once.
var digests = map[string]string{}

// TestDumps: of two origins one makes the dump, with the brands that changes have; both make the same bytes
// of the same rows, and so do both engines.
func TestDumps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // it is midnight in UTC
		record, folder := storetest.New(t), t.TempDir()
		a, b := openDumps(t, record, folder), openDumps(t, record, folder)
		if stop := a.start(); true {
			time.Sleep(3 * time.Minute)
			stop()
		}
		if got := a.list(); len(got) != 0 || len(a.files()) != 0 {
			t.Fatalf("without brands there is %v", got)
		}
		a.brand("zeta", "Zeta <&>", true, -1)
		a.brand("acme", `=cmd|'/c calc'!A1`, true, 50_000)
		a.brand("hidden", "Hidden", false, 50_000)
		a.brand("mid", "Mid, \"quoted\"", true, 60_000)
		a.startStandings(t)
		stopA, stopB := a.start(), b.start()
		time.Sleep(3 * time.Minute)
		stopA()
		stopB()
		first := a.list()
		if len(first) != 1 || len(a.files()) != 2 {
			t.Fatalf("two origins made %+v with the files %v, want one dump", first, a.files())
		}
		d := first[0]
		page, err := a.Standings.Changes(t.Context(), "0", 100, 0)
		if err != nil {
			t.Fatal(err)
		}
		if d.Day != "2000-01-01" || d.Brands != 3 || d.Event != page.Head || d.Log != page.Log ||
			d.Module != moduleRef {
			t.Errorf("dump %+v, the log is %s at %d", d, page.Log, page.Head)
		}
		slices.SortFunc(page.Items, func(x, y fieldmark.ScoreItem) int { return cmp.Compare(x.Slug, y.Slug) })
		var want bytes.Buffer
		lines := json.NewEncoder(&want)
		lines.SetEscapeHTML(false)
		for _, item := range page.Items {
			if err := lines.Encode(item); err != nil {
				t.Fatal(err)
			}
		}
		if got := b.read(d.Path, d.SHA256, d.Bytes); got != want.String() || !strings.Contains(got, `"score":50`) {
			t.Errorf("the dump has\n%s, and changes have\n%s", got, &want)
		}
		rows, err := csv.NewReader(strings.NewReader(b.read(d.CSV.Path, d.CSV.SHA256, d.CSV.Bytes))).ReadAll()
		if err != nil || len(rows) != 4 {
			t.Fatalf("%d rows: %v", len(rows), err)
		}
		if got := strings.Join(rows[1][:6], "|"); got != `acme|'=cmd|'/c calc'!A1|tools|en|scored|50` {
			t.Errorf("row %s", got)
		}
		if got := rows[2][1]; got != "Mid, \"quoted\"" {
			t.Errorf("cell %s", got)
		}

		stop := b.start()
		time.Sleep(2 * time.Hour)
		stop()
		both := a.list()
		if len(both) != 2 || both[0].SHA256 != d.SHA256 || both[0].CSV.SHA256 != d.CSV.SHA256 ||
			both[0].Event != d.Event {
			t.Errorf("at 02:00 the dumps are %+v, want another of the same bytes", both)
		}
		engine := fmt.Sprint(record.URL != "")
		digests[engine] = d.SHA256
		for other, digest := range digests {
			if digest != d.SHA256 {
				t.Errorf("engine %s made %s, %s made %s", engine, d.SHA256, other, digest)
			}
		}
		for _, name := range []string{"", "x", d.SHA256, d.SHA256 + ".csv.zst", d.CSV.SHA256 + ".ndjson.zst",
			strings.Repeat("0", 64) + ".csv.zst", d.SHA256 + ".ndjson.zst/../x"} {
			if _, err := a.Dumps.Open(t.Context(), name); !fieldmark.IsCode(err, fieldmark.CodeNotFound) {
				t.Errorf("%q: %v", name, err)
			}
		}
	})
}

// TestDumpTakedown: dumps that have a brand which was removed, hidden or renamed are refused at once, lose
// their files, and are followed by a new dump within the hour. Others stay.
func TestDumpTakedown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := openDumps(t, storetest.New(t), t.TempDir())
		for _, slug := range []fieldmark.Slug{"acme", "beta", "gone", "shy", "old"} {
			a.brand(slug, "B", true, 50_000)
		}
		a.startStandings(t)
		defer a.start()()
		time.Sleep(2 * time.Minute)
		a.brand("late", "Late", true, 50_000)
		if err := a.Brands.Delete(t.Context(), "late"); err != nil {
			t.Fatal(err)
		}
		for left, act := range []func() error{
			func() error { _, err := a.Brands.Rename(t.Context(), "old", "new"); return err },
			func() error { a.brand("shy", "B", false, -1); return nil },
			func() error { return a.Brands.Delete(t.Context(), "gone") },
			func() error { return a.Brands.Delete(t.Context(), "new") },
		} {
			before := a.list()
			if len(before) != 1 {
				t.Fatalf("%d: %+v, want one dump", left, before)
			}
			if err := a.errOf(before[0]); err != nil {
				t.Errorf("%d: before: %v", left, err)
			}
			if err := act(); err != nil {
				t.Fatal(err)
			}
			if err := a.errOf(before[0]); !fieldmark.IsCode(err, fieldmark.CodeDumpWithdrawn) {
				t.Errorf("%d: at once: %v", left, err)
			}
			if got := a.list(); len(got) != 0 {
				t.Errorf("%d: the list has %+v", left, got)
			}
			time.Sleep(15 * time.Minute)
			after := a.list()
			if len(after) != 1 || after[0].Event <= before[0].Event || len(a.files()) != 2 {
				t.Errorf("%d: then %+v and the files %v", left, after, a.files())
			}
			if err := a.errOf(before[0]); !fieldmark.IsCode(err, fieldmark.CodeDumpWithdrawn) {
				t.Errorf("%d: later: %v", left, err)
			}
		}
		if got := a.list(); got[0].Brands != 2 {
			t.Errorf("%d brands are left, want 2", got[0].Brands)
		}
	})
}

// TestOldDumps: 30 dumps are kept, and files without a row go after a day.
func TestOldDumps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		record := storetest.New(t)
		a := openDumps(t, record, t.TempDir())
		a.brand("acme", "Acme", true, 50_000)
		a.startStandings(t)
		defer a.start()()
		for range fieldmark.MaxDumps + 3 {
			time.Sleep(time.Minute + time.Second)
			storetest.Exec(t, record, "UPDATE daily_job SET due_at = 0 WHERE name = 'dump'")
		}
		time.Sleep(2 * time.Minute)
		if n, files := len(a.list()), len(a.files()); n != fieldmark.MaxDumps || files != 2*n {
			t.Errorf("%d dumps with %d files are kept", n, files)
		}
		orphan := func(age time.Duration, end string) string {
			name := fieldmark.NewID(fieldmark.PrefixDump, time.Now().Add(-age)) + end
			if err := os.WriteFile(filepath.Join(a.folder, "dumps", name), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
			return name
		}
		young, old := orphan(time.Hour, ".csv.zst"), orphan(25*time.Hour, ".ndjson.zst")
		partial, other := orphan(25*time.Hour, ".csv.zst"+objects.PartialSuffix), orphan(25*time.Hour, "")+"x"
		if err := os.WriteFile(filepath.Join(a.folder, "dumps", other), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := a.Dumps.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		for name, stays := range map[string]bool{young: true, old: false, partial: false, other: true} {
			if slices.Contains(a.files(), name) != stays {
				t.Errorf("%s stays: %v, want %v", name, !stays, stays)
			}
		}
		if n := len(a.files()); n != 2*fieldmark.MaxDumps+2 {
			t.Errorf("%d files are left", n)
		}
	})
}

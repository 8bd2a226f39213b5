package publiclog_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/internal/translog"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/module"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/geo"
)

func TestMain(m *testing.M) {
	os.Exit(storetest.Main(m, storetest.Alone{Engine: storetest.Postgres, Tests: "TestFailover"}))
}

const host = "marks.example"

// fixture is an origin with a public log.
type fixture struct {
	t testing.TB
	*origin.Service
	cfg     store.Config
	store   *store.Store
	refs    []fieldmark.ModuleRef
	stopLog func()
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	f := &fixture{t: t, cfg: storetest.New(t)}
	f.store = storetest.Open(t, f.cfg)
	f.Service = f.open(host)
	f.start()
	return f
}

// open returns one more origin over the database.
func (f *fixture) open(name string) *origin.Service {
	f.t.Helper()
	var builtIn []module.BuiltIn
	f.refs = nil
	for _, body := range geo.Modules() {
		ref, err := wasm.Ref(body)
		must(f.t, err)
		f.refs = append(f.refs, ref)
		builtIn = append(builtIn, module.BuiltIn{Ref: ref, Bytes: body})
	}
	s, err := origin.New(origin.Config{Store: f.store, Secret: bytes.Repeat([]byte("s"), 32), BuiltIn: builtIn,
		PublicLog: name, Log: slog.New(slog.NewTextHandler(f.t.Output(), nil))})
	must(f.t, err)
	must(f.t, s.Prepare(f.t.Context()))
	return s
}

// start runs the log until stopLog, or until the end of the test.
func (f *fixture) start(more ...*origin.Service) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, s := range append(more, f.Service) {
		running.Go(func() { _ = s.PublicLog.Run(ctx) })
	}
	f.stopLog = sync.OnceFunc(func() { cancel(); running.Wait() })
	f.t.Cleanup(f.stopLog)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// audit registers a brand and stores facts of so many pages.
func (f *fixture) audit(slug fieldmark.Slug, pages int) fieldmark.Digest {
	f.t.Helper()
	ctx := f.t.Context()
	_, _, err := f.Brands.Put(ctx, fieldmark.Brand{Slug: slug, Name: "Acme", URL: "https://acme.example/",
		Niche: "tools", Language: "en", Public: true})
	must(f.t, err)
	_, err = f.Brands.PutFacts(ctx, slug, fieldmark.Facts{Version: fieldmark.FactsVersion,
		URL: "https://acme.example/", Pages: pages, AsOf: fieldmark.At(time.Now())})
	must(f.t, err)
	brand, err := f.store.Brand(ctx, slug)
	must(f.t, err)
	return brand.FactsDigest
}

// until waits for a size of the newest log.
func (f *fixture) until(size int64) fieldmark.PublicLog {
	f.t.Helper()
	var list []fieldmark.PublicLog
	waittest.Until(f.t, fmt.Sprintf("the log has %d leaves", size), func() bool {
		var err error
		list, err = f.PublicLog.List(f.t.Context())
		return err == nil && list[0].Size >= size
	})
	if list[0].Size != size {
		f.t.Fatalf("the log has %d leaves, want %d", list[0].Size, size)
	}
	return list[0]
}

// checkpoint returns the verified checkpoint of a log.
func (f *fixture) checkpoint(log fieldmark.PublicLog) translog.Checkpoint {
	f.t.Helper()
	signed, err := f.PublicLog.Checkpoint(f.t.Context(), log.Number)
	must(f.t, err)
	c, _, err := translog.OpenCheckpoint(signed, log.Keys[0])
	must(f.t, err)
	if c.Origin != log.Origin || c.N != log.Size {
		f.t.Fatalf("the checkpoint is of %s with %d leaves, want %s with %d", c.Origin, c.N, log.Origin, log.Size)
	}
	return c
}

// proves checks that the log proves the newest score of a brand.
func (f *fixture) proves(slug fieldmark.Slug, facts, module fieldmark.Digest, keys []string) fieldmark.ScoreProof {
	f.t.Helper()
	p, err := f.PublicLog.Proof(f.t.Context(), slug, facts, module)
	must(f.t, err)
	r, _, err := translog.Verify(&p, keys...)
	must(f.t, err)
	if r.Brand != slug || r.Facts != facts || r.Module != module || time.Since(r.Time) > time.Hour {
		f.t.Errorf("the proof is of %+v", r)
	}
	return p
}

// TestLog: each change is one leaf, across tiles, activations, removals and renames.
func TestLog(t *testing.T) {
	f := newFixture(t)
	ctx := t.Context()
	active := f.refs[len(f.refs)-1].Digest
	const brands = 300 // more than a tile
	facts := map[fieldmark.Slug]fieldmark.Digest{}
	name := func(i int) fieldmark.Slug { return fieldmark.Slug(fmt.Sprint("brand-", i)) }
	for i := range brands {
		facts[name(i)] = f.audit(name(i), i+1)
	}
	log := f.until(brands)
	first := f.checkpoint(log)
	for _, i := range []int{0, 255, 256, brands - 1} {
		f.proves(name(i), facts[name(i)], active, log.Keys)
	}
	f.audit(name(7), 8) // equal facts
	facts[name(8)] = f.audit(name(8), 1000)
	log = f.until(brands + 1)
	f.proves(name(8), facts[name(8)], active, log.Keys)

	_, err := f.Modules.Activate(ctx, f.refs[0].Digest, 100)
	must(t, err)
	log = f.until(2*brands + 1)
	f.proves(name(299), facts[name(299)], f.refs[0].Digest, log.Keys)
	second := f.checkpoint(log)
	reader := f.reader(log, second)
	proof, err := tlog.ProveTree(second.N, first.N, reader)
	must(t, err)
	must(t, tlog.CheckTree(proof, second.N, second.Hash, first.N, first.Hash))

	before := f.proves(name(9), facts[name(9)], f.refs[0].Digest, log.Keys)
	must(t, f.Brands.Delete(ctx, name(9)))
	_, err = f.PublicLog.Proof(ctx, name(9), facts[name(9)], f.refs[0].Digest)
	if !fieldmark.IsCode(err, fieldmark.CodeNotFound) {
		t.Errorf("a proof of a removed brand: %v, want not_found", err)
	}
	if rows, err := f.store.PublicLogBrands(ctx, "", 1000); err != nil || len(rows) != brands-1 {
		t.Errorf("%d secrets, %v; want %d", len(rows), err, brands-1)
	}
	// The leaf stays, and who keeps the proof can verify it.
	if _, _, err := translog.Verify(&before, log.Keys...); err != nil {
		t.Error(err)
	}
	f.stopLog()
	must(t, f.store.Check(ctx))
}

// reader reads the hashes of a log from its tiles, as clients do, authenticated by a checkpoint.
func (f *fixture) reader(log fieldmark.PublicLog, c translog.Checkpoint) tlog.HashReader {
	return tlog.TileHashReader(c.Tree, tiles(func(path string) ([]byte, error) {
		return f.PublicLog.Tile(f.t.Context(), log.Number, path)
	}))
}

// tiles is a tlog.TileReader.
type tiles func(path string) ([]byte, error)

func (tiles) Height() int                     { return translog.Height }
func (tiles) SaveTiles([]tlog.Tile, [][]byte) {}
func (r tiles) ReadTiles(list []tlog.Tile) (data [][]byte, err error) {
	for _, t := range list {
		body, err := r(translog.TilePath(t))
		if err != nil {
			return nil, err
		}
		data = append(data, body)
	}
	return data, nil
}

// TestOrigins: of several origins of a database, one appends each change, and another continues when it
// stops.
func TestOrigins(t *testing.T) {
	f := newFixture(t)
	f.until(0)
	f.stopLog()
	f.start(f.open(host), f.open(host))
	var writers sync.WaitGroup
	for w := range 3 {
		writers.Go(func() {
			for i := range 20 {
				f.audit(fieldmark.Slug(fmt.Sprint("brand-", w, "-", i)), 1+w*20+i)
			}
		})
	}
	writers.Wait()
	f.until(60)
	f.stopLog()
	f.audit("late", 4)
	f.Service = f.open(host)
	f.start()
	f.checkpoint(f.until(61))
	f.stopLog()
	must(t, f.store.Check(t.Context()))
}

// TestRestored: a database from an earlier time begins another log; the old one stays as it was.
func TestRestored(t *testing.T) {
	f := newFixture(t)
	digest := f.audit("acme", 1)
	old := f.checkpoint(f.until(1))
	f.stopLog()
	must(t, f.store.RenameLog(t.Context())) // as fieldmark restore does
	f.start()
	for list := []fieldmark.PublicLog(nil); len(list) < 2 || list[0].Size < 1; {
		var err error
		list, err = f.PublicLog.List(t.Context())
		must(t, err)
	}
	list, err := f.PublicLog.List(t.Context())
	must(t, err)
	if !list[1].Ended || list[0].Ended || list[0].Origin == list[1].Origin {
		t.Errorf("logs after the restore: %+v", list)
	}
	if got := f.checkpoint(list[1]); got != old {
		t.Errorf("the ended log is %+v, want %+v", got, old)
	}
	f.proves("acme", digest, f.refs[len(f.refs)-1].Digest, list[0].Keys)
}

// TestFailover: a standby that lacks leaves of its primary begins another log when it is promoted, and never
// signs another history of the first one.
func TestFailover(t *testing.T) {
	primary := storetest.StartServer(t)
	f := &fixture{t: t, cfg: store.Config{URL: primary.URL}}
	var err error
	f.store, err = store.Open(t.Context(), f.cfg)
	must(t, err)
	f.Service = f.open(host)
	f.start()
	digest := f.audit("acme", 1)
	f.until(1)
	standby := primary.Standby()
	standby.CatchUp(primary)
	standby.Disconnect()
	f.audit("bolt", 2)
	signed := f.checkpoint(f.until(2))
	f.stopLog()
	must(t, f.store.Close())
	primary.Kill()
	standby.Promote()

	f.store = storetest.Open(t, store.Config{URL: standby.URL})
	f.Service = f.open(host)
	f.start()
	var list []fieldmark.PublicLog
	for len(list) < 2 || list[0].Size < 1 {
		list, err = f.PublicLog.List(t.Context())
		must(t, err)
	}
	if list[0].Number != 2 || list[0].Origin == signed.Origin || !list[1].Ended || list[1].Size != 1 {
		t.Errorf("logs after the failover: %+v", list)
	}
	f.audit("coil", 3)
	f.until(2)
	f.proves("acme", digest, f.refs[len(f.refs)-1].Digest, list[0].Keys)
	if end := f.checkpoint(list[1]); end.N != 1 {
		t.Errorf("the log of the primary has %d leaves after the failover, want 1", end.N)
	}
}

// TestRewritten: an origin does not sign a log whose entries were changed, and db check names them.
func TestRewritten(t *testing.T) {
	f := newFixture(t)
	for i := range 3 {
		f.audit(fieldmark.Slug(fmt.Sprint("brand-", i)), i+1)
	}
	f.until(3)
	f.stopLog()
	original, err := f.store.PublicLogTile(t.Context(), 1, translog.EntryLevel, 0)
	must(t, err)
	changed := bytes.Clone(original)
	changed[translog.EntrySize] ^= 1
	const update = `UPDATE public_log_tile SET body = $1 WHERE level = -1`
	f.exec(update, changed)
	if err := f.store.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "public log") {
		t.Errorf("check of a rewritten log: %v", err)
	}
	f.audit("brand-4", 9)
	f.start()
	for f.PublicLog.Errors() == 0 {
		time.Sleep(time.Millisecond) // until the log has tried
	}
	f.until(3)
	f.exec(update, original)
	f.until(4)
}

// exec changes the database without the store.
func (f *fixture) exec(text string, args ...any) {
	f.t.Helper()
	db := f.database()
	defer db.Close()
	_, err := db.ExecContext(f.t.Context(), text, args...)
	must(f.t, err)
}

// database opens the database without the store.
func (f *fixture) database() *sql.DB {
	f.t.Helper()
	// The origin writes at the same time.
	driver, name := "sqlite", "file:"+strings.NewReplacer("%", "%25", "?", "%3F").Replace(f.cfg.Path)+
		"?_pragma=busy_timeout(30000)"
	if f.cfg.URL != "" {
		driver, name = "pgx", f.cfg.URL
	}
	db, err := sql.Open(driver, name)
	must(f.t, err)
	return db
}

// TestRotate: a rotation is signed by the key before, too, so that a witness of that key can follow.
func TestRotate(t *testing.T) {
	f := newFixture(t)
	f.audit("acme", 1)
	before := f.until(1)
	after, err := f.PublicLog.Rotate(t.Context())
	must(t, err)
	if len(after.Keys) != 2 || after.Keys[1] != before.Keys[0] || after.Keys[0] == before.Keys[0] {
		t.Errorf("keys %q after %q", after.Keys, before.Keys)
	}
	f.checkpoint(after)
	after.Keys = before.Keys
	f.checkpoint(after)
	f.audit("acme", 2)
	f.checkpoint(f.until(2))
}

// TestOff: without a name there is no log.
func TestOff(t *testing.T) {
	f := newFixture(t)
	f.stopLog()
	off := f.open("")
	must(t, off.PublicLog.Run(t.Context()))
	_, err := off.PublicLog.List(t.Context())
	if !fieldmark.IsCode(err, fieldmark.CodeModuleDisabled) {
		t.Errorf("a log that is off: %v", err)
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/internal/testkit/wasmtest"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/wasm"
)

// moduleFleet is an origin and three edges that accept modules signed by one key only.
type moduleFleet struct {
	t         testing.TB
	dir       string
	admin     string
	edges     []string // addresses
	processes []*process
	base      string // base URL of the first edge
	sites     int
	publicKey string
}

// populate stores n brands with facts: each has 20 words more than the previous one,
// except the last four, at which a bad module traps.
func (f *moduleFleet) populate(n int) {
	f.t.Helper()
	ctx := f.t.Context()
	secret, err := os.ReadFile(filepath.Join(f.dir, "var", "secret"))
	must(f.t, err)
	st, err := store.Open(ctx, store.Config{Path: filepath.Join(f.dir, "var", "fieldmark.db")})
	must(f.t, err)
	service, err := origin.New(origin.Config{Store: st, Secret: bytes.TrimSpace(secret)})
	must(f.t, err)
	for i := range n {
		words := int64(20 * (i + 1))
		if i >= n-4 {
			words = wasmtest.BadWords
		}
		slug := fieldmark.Slug(fmt.Sprintf("site-%02d", i))
		_, _, err := service.Brands.Put(ctx, fieldmark.Brand{Slug: slug, Name: "Site",
			URL: "https://" + string(slug) + ".example/", Niche: "tools", Language: "en", Public: true})
		must(f.t, err)
		_, err = service.Brands.PutFacts(ctx, slug, fieldmark.Facts{
			Version: fieldmark.FactsVersion, URL: "https://" + string(slug) + ".example/", Pages: 10,
			AsOf:  fieldmark.At(time.Now()),
			Facts: []fieldmark.Fact{{ID: "text.words", State: fieldmark.Measured, Value: words * 1000, Unit: "words"}},
		})
		must(f.t, err)
	}
	must(f.t, st.Close())
	f.sites = n
}

func newModuleFleet(t testing.TB) *moduleFleet {
	t.Helper()
	f := &moduleFleet{t: t, dir: t.TempDir()}
	token := strings.Repeat("n", 32)
	f.admin = newKey(t, f.dir, "admin:*")
	f.populate(30)
	f.publicKey = strings.TrimSpace(runOnce(t, f.dir, "module", "keygen", "-o", "author.pem"))
	origin := startDetector(t, f.dir, "origin", "--data", "var", "--node-token", token, "--origin-listen",
		"127.0.0.1:0",
		"--debug-listen", "127.0.0.1:0", "--module-keys", f.publicKey)
	at := origin.logged("origin", "listen")
	for range 3 {
		p := startDetector(t, f.dir, "edge", "--origin", at, "--node-token", token, "--listen", "127.0.0.1:0",
			"--debug-listen",
			"127.0.0.1:0", "--module-keys", f.publicKey, "--cache-bytes", "8388608")
		f.processes = append(f.processes, p)
		f.edges = append(f.edges, p.logged("edge", "listen"))
		debug := p.logged("edge", "debug")
		waittest.Until(t, "the edge is ready", func() bool {
			status, _, _, err := try("GET", debug+"/readyz", "")
			return err == nil && status == 200
		})
	}
	f.base = f.edges[0]
	return f
}

// run runs a command of an operator and returns its output, and whether it succeeded.
func (f *moduleFleet) run(args ...string) (string, bool) {
	f.t.Helper()
	p := start(f.t, f.dir, append(args, "--url", f.base, "--admin-key", f.admin)...)
	<-p.done
	return p.printed(), p.cmd.Wait() == nil
}

// must is run for commands that must succeed.
func (f *moduleFleet) must(args ...string) string {
	f.t.Helper()
	printed, ok := f.run(args...)
	if !ok {
		f.t.Fatalf("fieldmark %v: %s", args, printed)
	}
	return printed
}

// push signs a module and uploads it to the origin.
func (f *moduleFleet) push(name string, module []byte) fieldmark.Digest {
	f.t.Helper()
	must(f.t, os.WriteFile(filepath.Join(f.dir, name), module, 0o644))
	runOnce(f.t, f.dir, "module", "sign", name, "--key", "author.pem")
	f.must("module", "push", name)
	ref, err := wasm.Ref(module)
	must(f.t, err)
	return ref.Digest
}

func (f *moduleFleet) score(edge string, site int) (s fieldmark.Score) {
	f.t.Helper()
	status, _, body, err := try("GET", fmt.Sprintf("%s/api/v1/score/site-%02d", edge, site), "")
	must(f.t, err)
	if status != 200 {
		f.t.Fatalf("score of site %d: %d %s", site, status, body)
	}
	must(f.t, json.Unmarshal([]byte(body), &s))
	return s
}

// everywhere waits until every edge computes scores and rankings with a module.
func (f *moduleFleet) everywhere(d fieldmark.Digest, top fieldmark.Milli) {
	f.t.Helper()
	for _, edge := range f.edges {
		waittest.Until(f.t, edge+" scores by "+string(d), func() bool {
			if f.score(edge, 0).Module.Digest != d {
				return false
			}
			board, err := readBoard(edge)
			return err == nil && len(board.Items) > 0 && board.Items[len(board.Items)-1].Score == top
		})
	}
}

func readBoard(edge string) (b fieldmark.Board, err error) {
	status, _, body, err := try("GET", edge+"/api/v1/leaderboard?limit=100", "")
	if err == nil && status != 200 {
		err = fmt.Errorf("leaderboard: %d %s", status, body)
	}
	if err == nil {
		err = json.Unmarshal([]byte(body), &b)
	}
	return b, err
}

// load reads from every edge until stopped, and counts the reads. A failed read and a
// ranking with scores of two modules are errors.
func (f *moduleFleet) load(ctx context.Context, wait *sync.WaitGroup, reads *atomic.Int64) {
	for i, edge := range f.edges {
		for range 2 {
			wait.Go(func() {
				for n := i; ctx.Err() == nil; n++ {
					path := []string{fmt.Sprintf("/api/v1/score/site-%02d", n%f.sites),
						fmt.Sprintf("/api/badge/site-%02d", n%f.sites), fmt.Sprintf("/brands/site-%02d", n%f.sites),
						"/"}[n%4]
					if status, _, body, err := try("GET", edge+path, ""); err != nil || status != 200 {
						f.t.Errorf("%s: %d %v %s", path, status, err, body)
						return
					}
					board, err := readBoard(edge)
					if err == nil {
						err = unmixed(board)
					}
					if err != nil {
						f.t.Error(err)
						return
					}
					reads.Add(2)
				}
			})
		}
	}
}

// unmixed checks that all scores of a ranking are from the module of its last line:
// each site has 20 words more than the one before, and full marks require 1,000 or 2,000.
func unmixed(b fieldmark.Board) error {
	if len(b.Items) == 0 {
		return nil
	}
	last := b.Items[len(b.Items)-1].Score
	for _, it := range b.Items {
		var site fieldmark.Milli
		if _, err := fmt.Sscanf(string(it.Slug), "site-%d", &site); err != nil {
			return err
		}
		if want := last * (site + 1); site < 26 && it.Score != want {
			return fmt.Errorf("%s has %s in a ranking where it should have %s", it.Slug, it.Score, want)
		}
	}
	return nil
}

// TestModuleFleet follows modules from their author to three edges: signature check,
// preview, canary, rollback and swaps under load.
func TestModuleFleet(t *testing.T) {
	t.Parallel()
	f := newModuleFleet(t)
	one := wasmtest.Words(t, "1.0.0", "words", 1000)
	must(t, os.WriteFile(filepath.Join(f.dir, "one.wasm"), one, 0o644))

	t.Run("only signed modules are taken", func(t *testing.T) {
		if said, ok := f.run("module", "push", "one.wasm"); ok || !strings.Contains(said, "is not signed") {
			t.Errorf("unsigned: %v %s", ok, said)
		}
		runOnce(t, f.dir, "module", "keygen", "-o", "stranger.pem")
		runOnce(t, f.dir, "module", "sign", "one.wasm", "--key", "stranger.pem")
		if said, ok := f.run("module", "push", "one.wasm"); ok || !strings.Contains(said, "not trusted here") {
			t.Errorf("signed by a stranger: %v %s", ok, said)
		}
		body, err := json.Marshal(fieldmark.ModulePush{Module: one})
		must(t, err)
		if status, _, answer := ask(t, "POST", f.base+"/api/admin/v1/modules", string(body), "Authorization",
			"Bearer "+f.admin); status != 422 || !strings.Contains(answer, `"module_refused"`) {
			t.Errorf("unsigned by the API: %d %s", status, answer)
		}
	})
	first := f.push("one.wasm", one)
	f.must("module", "activate", string(first))
	f.everywhere(first, 2000)
	second := f.push("two.wasm", wasmtest.Words(t, "2.0.0", "words", 2000))

	t.Run("preview", func(t *testing.T) {
		said := f.must("module", "preview", string(second), "--json")
		var p fieldmark.ModulePreview
		must(t, json.Unmarshal([]byte(said[strings.Index(said, "{\n"):]), &p))
		r := p.Result
		if p.State != fieldmark.PreviewDone || p.Done != f.sites || r == nil || r.Brands != f.sites ||
			r.Moved != f.sites || r.RankCorrelation != 1000 ||
			r.LargestMove == 0 || len(r.Movers) == 0 || r.Movers[0].Reasons[0].ID != "all.words" {
			t.Errorf("preview: %s", said)
		}
		if said := f.must("module", "preview", string(second)); !strings.Contains(said, "grade changed") ||
			!strings.Contains(said, "all.words") {
			t.Errorf("in words: %s", said)
		}
	})
	t.Run("canary", func(t *testing.T) {
		f.must("module", "activate", string(second), "--canary", "40%")
		for _, edge := range f.edges {
			waittest.Until(t, "some are in the canary", func() bool { return f.inCanary(edge, second) > 3 })
			if n := f.inCanary(edge, second); n > 22 {
				t.Errorf("%d of %d in the canary", n, f.sites)
			}
			board, err := readBoard(edge)
			if err == nil {
				err = unmixed(board)
			}
			if err != nil || board.Items[len(board.Items)-1].Score != 2000 {
				t.Errorf("ranked otherwise: %v", err)
			}
		}
		waittest.Until(t, "the status shows it",
			func() bool { return strings.Count(f.must("module", "status"), " 40 %") == 4 })
		f.must("module", "rollback")
		for _, edge := range f.edges {
			waittest.Until(t, "none is in the canary", func() bool { return f.inCanary(edge, second) == 0 })
		}
	})
	t.Run("a module goes wrong", f.goesWrong)
	t.Run("swaps under load", func(t *testing.T) { f.swaps(t, first, second) })
}

func (f *moduleFleet) inCanary(edge string, d fieldmark.Digest) (n int) {
	for site := range f.sites {
		if s := f.score(edge, site); s.Canary && s.Module.Digest == d {
			n++
		}
	}
	return n
}

// goesWrong activates a module that passes every check and then traps: each edge rolls
// it back, and no reader sees an error.
func (f *moduleFleet) goesWrong(t *testing.T) {
	before := f.score(f.base, 0).Module.Digest
	bad := f.push("bad.wasm", wasmtest.Bad(t, "3.0.0"))
	f.must("module", "preview", string(bad))
	var reads atomic.Int64
	var readers sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	defer readers.Wait()
	defer stop()
	f.load(ctx, &readers, &reads)
	if printed := f.must("module", "activate", string(bad)); !strings.Contains(printed,
		"warning: in the preview it could not score ") {
		t.Errorf("activate after a preview with faults printed %q, want a warning", printed)
	}
	var status fieldmark.ModuleStatus
	waittest.Until(t, "every edge has taken it back", func() bool {
		must(t, json.Unmarshal([]byte(f.must("module", "status", "--json")), &status))
		n := 0
		for _, node := range status.Nodes {
			if r := node.RolledBack; r != nil && r.From.Digest == bad && node.Module.Digest == before {
				n++
			}
		}
		return n == len(f.edges)
	})
	f.must("module", "rollback")
	f.everywhere(before, 2000)
	t.Logf("%d reads meanwhile", reads.Load())
}

// swaps alternates between two modules during reads.
func (f *moduleFleet) swaps(t *testing.T, first, second fieldmark.Digest) {
	n := 100
	if raceDetector {
		n = 6 // each takes ten times as long
	}
	var reads atomic.Int64
	var readers sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	f.load(ctx, &readers, &reads)
	var settled []float64
	for i := range n {
		digest, lowest := second, fieldmark.Milli(1000)
		if i%2 == 1 {
			digest, lowest = first, 2000
		}
		body := `{"percent":100}`
		if status, _, answer := ask(t, http.MethodPost, f.base+"/api/admin/v1/modules/"+string(digest)+"/activate",
			body, "Authorization", "Bearer "+f.admin); status != 200 {
			t.Fatalf("activate: %d %s", status, answer)
		}
		f.everywhere(digest, lowest)
		if i == n/2 { // the caches are full at this point
			settled = f.memory()
		}
	}
	stop()
	readers.Wait()
	var after []float64
	if !raceDetector { // the race detector keeps memory
		waittest.Until(t, "no edge holds a tenth more than halfway", func() bool {
			after = f.memory()
			for i := range after {
				if after[i] > 1.1*settled[i] {
					return false
				}
			}
			return true
		})
	}
	t.Logf("%d swaps on each of %d edges, %d reads, memory %.0f, then %.0f MiB", n, len(f.edges), reads.Load(), settled,
		after)
}

// memory returns the resident memory of each edge in MiB.
func (f *moduleFleet) memory() (all []float64) {
	for _, p := range f.processes {
		var kib float64
		for line := range strings.Lines(readFile(f.t, fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))) {
			if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
				_, err := fmt.Sscan(rest, &kib)
				must(f.t, err)
			}
		}
		all = append(all, kib/1024)
	}
	return all
}

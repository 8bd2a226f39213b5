package edge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/internal/testkit/wasmtest"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/standing"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/wasm"
)

// randomFacts are facts of a time, of which some are unknown or changed.
func randomFacts(random *rand.Rand, at time.Time) fieldmark.Facts {
	f := factsWith(random.Int64N(600))
	for j := range f.Facts {
		switch random.IntN(8) {
		case 0:
			f.Facts[j].State, f.Facts[j].Value = fieldmark.Unknown, 0
		case 1:
			f.Facts[j].Value = random.Int64N(f.Facts[j].Value + 1)
		}
	}
	f.AsOf = fieldmark.At(at)
	return f
}

// filled is an origin with n brands that have a past, aliases, unlisted brands and some without facts, and whose
// standings are computed.
func filled(t *testing.T, n int) *fixture {
	t.Helper()
	h := newOriginFixture(t, storetest.New(t))
	h.importBrands("b", n)
	random := rand.New(rand.NewPCG(20, 26))
	for i := range n {
		slug := fieldmark.Slug("b-" + strconv.Itoa(i))
		if i%10 == 0 {
			continue // pending
		}
		ago := random.Int64N(int64(120 * 24 * time.Hour))
		for range random.IntN(4) {
			at := time.Now().Add(-time.Duration(ago))
			_, err := h.service.Brands.PutFacts(t.Context(), slug, randomFacts(random, at))
			must(t, err)
			ago = random.Int64N(ago + 1)
		}
	}
	for i := range 5 {
		_, err := h.service.Brands.Rename(t.Context(), fieldmark.Slug(fmt.Sprint("b-", 20+i)),
			fieldmark.Slug(fmt.Sprint("renamed-", i)))
		must(t, err)
	}
	for i, public := range []bool{true, false} { // only the second is unlisted
		slug := fieldmark.Slug(fmt.Sprint("b-", 31+i))
		must(t, h.store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			return tx.SetUnlisted(ctx, slug, new(fieldmark.At(time.Now())))
		}))
		_, _, err := h.service.Brands.Put(t.Context(), fieldmark.Brand{Slug: slug, Name: "Left",
			URL: "https://" + string(slug) + ".example/", Niche: "tools", Language: "en", Public: public})
		must(t, err)
	}
	h.computeStandings()
	return h
}

// computeStandings computes standings until the test ends, and waits until there is nothing to do.
func (h *fixture) computeStandings() {
	t := h.t
	t.Helper()
	scorer, log := &wasm.Scorer{}, slog.New(slog.DiscardHandler)
	service := standing.New(standing.Config{Store: h.store, Scorer: scorer, Log: log,
		Jobs: job.NewRunner(h.store, log)})
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var running errgroup.Group
	running.Go(func() error { return service.Run(ctx) })
	t.Cleanup(func() {
		stop()
		must(t, errors.Join(running.Wait(), scorer.Close(context.WithoutCancel(ctx))))
	})
	h.settle()
}

// settle waits until all standings are computed.
func (h *fixture) settle() {
	h.t.Helper()
	h.until("all standings are computed", func() bool {
		active, err := h.service.Modules.Active(h.t.Context())
		must(h.t, err)
		late, err := h.store.StandingsLate(h.t.Context(), active.Digest, time.Now())
		must(h.t, err)
		return !late
	})
}

// makeFile makes a ranking file by the active module.
func (h *fixture) makeFile() fieldmark.RankingFile {
	t := h.t
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var running errgroup.Group
	running.Go(func() error { return h.service.Snapshots.Run(ctx) })
	active, err := h.service.Modules.Active(ctx)
	must(t, err)
	var files []store.RankingFile
	h.until("there is a ranking file", func() bool {
		files, err = h.store.RankingFiles(ctx)
		must(t, err)
		return len(files) > 0 && files[0].Module.Digest == active.Digest
	})
	stop()
	must(t, running.Wait())
	h.until("it is listed", func() bool { // the list is kept for a second
		list, err := h.service.Snapshots.List(t.Context())
		must(t, err)
		return list.Items[0].SHA256 == files[0].SHA256
	})
	return files[0].RankingFile
}

// ofFiles reports whether a request is for ranking files.
func ofFiles(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, fieldmark.PathInternalSnapshots)
}

// ofNamedBrands reports whether a request is for the facts of several brands by their slugs, and ofAllBrands whether it
// is for those of all brands.
func ofNamedBrands(r *http.Request) bool {
	return r.URL.Path == fieldmark.PathInternalFacts && r.URL.Query().Has("slug")
}

func ofAllBrands(r *http.Request) bool {
	return r.URL.Path == fieldmark.PathInternalFacts && !r.URL.Query().Has("slug")
}

// unsupported answers as an origin of a release without ranking files.
func unsupported(w http.ResponseWriter, r *http.Request) bool {
	if !ofFiles(r) {
		return false
	}
	w.Header().Set("Content-Type", fieldmark.ProblemType)
	w.WriteHeader(http.StatusNotFound)
	_, _ = w.Write([]byte(`{"code":"not_found","status":404}`))
	return true
}

// wantLoaded checks how many files the edge has used and refused.
func (h *fixture) wantLoaded(loaded, refused string) {
	h.t.Helper()
	for name, want := range map[string]string{"fieldmark_edge_snapshots_loaded_total": loaded,
		"fieldmark_edge_snapshots_refused_total": refused} {
		if got := h.metric(name); got != want {
			h.t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// cursors are encrypted by a key of the edge.
var cursors = regexp.MustCompile(`cursor=[^"&]*`)

// diff compares pages tag by tag.
func diff(got, want string) string {
	return cmp.Diff(strings.Split(got, "<"), strings.Split(want, "<"))
}

// pages are what shows all that a ranking keeps.
func (h *fixture) pages() string {
	h.t.Helper()
	board := h.board()
	board.NextCursor = ""
	raw, err := json.Marshal(board)
	must(h.t, err)
	all := string(raw)
	for _, path := range []string{"/?q=b", "/", "/?niche=tools"} {
		a := h.get(path)
		if a.status != http.StatusOK {
			h.t.Errorf("%s: %d", path, a.status)
		}
		all += "\n" + cursors.ReplaceAllString(strings.ReplaceAll(a.body, h.base, ""), "")
	}
	return all
}

// TestStartFromFile: an edge that starts from a ranking file, and from what has changed since, shows what an edge
// shows that scores all brands, down to the id of its ranking.
func TestStartFromFile(t *testing.T) {
	t.Parallel()
	h := filled(t, 300)
	made := h.makeFile()
	if made.Lines != 305 {
		t.Errorf("%d lines, want 300 brands and 5 aliases", made.Lines)
	}
	random := rand.New(rand.NewPCG(3, 4))
	for i := 40; i < 60; i++ { // these changed since
		_, err := h.service.Brands.PutFacts(t.Context(), fieldmark.Slug("b-"+strconv.Itoa(i)),
			randomFacts(random, time.Now()))
		must(t, err)
	}
	must(t, h.service.Brands.Delete(t.Context(), "b-61"))
	_, err := h.service.Brands.Rename(t.Context(), "b-62", "renamed-later")
	must(t, err)
	h.settle()
	h.intercept.Store(new(interceptor(unsupported)))
	h.startEdge()
	want := h.pages()
	h.wantLoaded("0", "0")

	// Each first answer stops in the middle: the connection of the head fails, and that of the frame hangs.
	var all, named atomic.Int64
	var seen sync.Map // ranges; edges request several frames at once
	fail := func(w http.ResponseWriter, r *http.Request) bool {
		if ofAllBrands(r) {
			all.Add(1)
		}
		if ofNamedBrands(r) {
			named.Add(1)
		}
		if !ofFiles(r) || r.Header.Get("Range") == "" {
			return false
		}
		if _, again := seen.LoadOrStore(r.Header.Get("Range"), true); again {
			return false
		}
		rec := httptest.NewRecorder()
		h.handler.ServeHTTP(rec, r)
		w.Header().Set("Content-Length", rec.Header().Get("Content-Length"))
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes()[:rec.Body.Len()/2])
		if strings.HasPrefix(r.Header.Get("Range"), "bytes=0-") {
			must(t, http.NewResponseController(w).Flush())
			<-r.Context().Done()
		}
		panic(http.ErrAbortHandler)
	}
	h.intercept.Store(new(interceptor(fail)))
	h.startEdge()
	if got := h.pages(); got != want {
		t.Errorf("started from a file (-), and not (+):\n%s", diff(got, want))
	}
	h.wantLoaded("1", "0")
	parts := 0
	seen.Range(func(any, any) bool { parts++; return true })
	if parts != 2 || all.Load() != 0 {
		t.Errorf("%d parts were read, all brands %d times; want head and frame, and 0", parts, all.Load())
	}
	if n := named.Load(); n < 1 || n > 8 {
		t.Errorf("the lines to compare were read in %d requests, want 1 to 8", n)
	}
	// It follows the log.
	must(t, h.service.Brands.Delete(t.Context(), "b-63"))
	h.until("the deleted brand is gone", func() bool { return h.get("/brands/b-63").status == http.StatusNotFound })
}

// TestDueLines: a standing that waits to be computed does not reach the ranking. The second edge starts from an origin
// of a release whose brands cannot be read together.
func TestDueLines(t *testing.T) {
	t.Parallel()
	h := filled(t, 60)
	must(t, h.store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		was, err := tx.Standing(ctx, "b-41")
		if err != nil {
			return err
		}
		next := was
		next.Values = nil // as a process of an earlier release has left it
		_, err = tx.PutStanding(ctx, &was, &next)
		return err
	}))
	h.makeFile()
	h.intercept.Store(new(interceptor(unsupported)))
	h.startEdge()
	want := h.pages()
	one := func(w http.ResponseWriter, r *http.Request) bool {
		if !ofNamedBrands(r) {
			return false
		}
		w.Header().Set("Content-Type", fieldmark.ProblemType)
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"code":"invalid_parameter","status":400}`))
		return true
	}
	h.intercept.Store(new(interceptor(one)))
	h.startEdge()
	h.wantLoaded("1", "0")
	if got := h.pages(); got != want {
		t.Errorf("started from a file (-), and not (+):\n%s", diff(got, want))
	}
}

// TestRefusedFiles: an edge uses no file that is damaged, or whose lines are not what the facts give.
func TestRefusedFiles(t *testing.T) {
	t.Parallel()
	h := filled(t, 60)
	for name, change := range map[string]func([]byte){
		"damaged":   func(b []byte) { b[len(b)/2] ^= 1 },
		"truncated": func(b []byte) { clear(b[len(b)/2:]) },
	} {
		t.Run(name, func(t *testing.T) {
			h.makeFile()
			damage := func(w http.ResponseWriter, r *http.Request) bool {
				if !ofFiles(r) || r.Header.Get("Range") == "" {
					return false
				}
				rec := httptest.NewRecorder()
				h.handler.ServeHTTP(rec, r)
				b := bytes.Clone(rec.Body.Bytes())
				change(b)
				for name := range rec.Header() {
					w.Header().Set(name, rec.Header().Get(name))
				}
				w.WriteHeader(rec.Code)
				_, _ = w.Write(b)
				return true
			}
			h.intercept.Store(new(interceptor(damage)))
			h.startEdge()
			h.wantLoaded("0", "1")
		})
	}
	want := h.pages()
	// The origin has computed other scores.
	storetest.Exec(t, h.record, `UPDATE standing SET body = (SELECT MAX(body) FROM standing), due_at = NULL`,
		`DELETE FROM ranking_file`)
	h.makeFile()
	h.intercept.Store(nil)
	h.startEdge()
	h.wantLoaded("0", "1")
	if got := h.pages(); got != want {
		t.Errorf("a file refused (-), before (+):\n%s", diff(got, want))
	}
}

// TestModuleFile: after another module was activated, an edge shows the ranking of the one before until there is a
// file of the new one, and no list has both.
func TestModuleFile(t *testing.T) {
	t.Parallel()
	h := filled(t, 60)
	h.makeFile()
	h.change = func(*edge.Config) {}
	h.startEdge()
	h.wantLoaded("1", "0")
	before := h.board()
	var scored atomic.Int64
	count := func(_ http.ResponseWriter, r *http.Request) bool {
		if ofAllBrands(r) {
			scored.Add(1)
		}
		return false
	}
	h.intercept.Store(new(interceptor(count)))
	ref := h.activate(wasmtest.Words(t, "1.0.0", "words", 1000))
	h.settle()
	if got := h.board(); got.Snapshot != before.Snapshot {
		t.Errorf("before there is a file of the new module, the ranking is %s, want %s", got.Snapshot, before.Snapshot)
	}
	h.makeFile()
	h.until("the ranking is of the new module", func() bool { return h.board().Snapshot != before.Snapshot })
	h.wantLoaded("2", "0")
	if got := h.score("b-42").Module; got != ref || scored.Load() > 0 {
		t.Errorf("scored by %s, want %s; all brands were read %d times", got.Digest, ref.Digest, scored.Load())
	}
}

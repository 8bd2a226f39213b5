package edge_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/errgroup"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/objects"
	"github.com/fieldmark/fieldmark/origin/standing"
	"github.com/fieldmark/fieldmark/wasm"
)

// dumpTerms are those of every origin of these tests.
var dumpTerms = fieldmark.DumpTerms{Licence: "CC-BY-4.0", Attribution: "Scores by marks.example"}

// Dumps pass through an edge as they are: with ranges and conditions, without being stored, and refused as
// soon as they are withdrawn. The origin keeps them in a folder, or in a bucket of S3.
func TestDumpsThroughAnEdge(t *testing.T) {
	t.Run("folder", func(t *testing.T) { testDumps(t, objects.NewFolder(t.TempDir())) })
	t.Run("s3", func(t *testing.T) {
		t.Setenv("AWS_ACCESS_KEY_ID", "test")
		t.Setenv("AWS_SECRET_ACCESS_KEY", "test-secret")
		backend := s3mem.New()
		must(t, backend.CreateBucket("field"))
		var ranges atomic.Int64
		fake := gofakes3.New(backend).Server()
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet && r.Header.Get("Range") != "" {
				ranges.Add(1)
			}
			fake.ServeHTTP(w, r)
		}))
		defer server.Close()
		place, err := objects.Parse("s3://field/prod?region=eu-central-1&endpoint="+url.QueryEscape(server.URL), "")
		must(t, err)
		testDumps(t, place)
		if ranges.Load() < 3 {
			t.Errorf("%d ranges were read from the bucket: an origin would read whole files", ranges.Load())
		}
	})
}

// testDumps makes a dump in a place and reads it through an edge.
func testDumps(t *testing.T, place objects.Store) {
	h := newOriginFixture(t, storetest.New(t))
	h.service, h.handler = originOver(t, h.store, place)
	h.startEdge()
	for i := range 300 {
		h.brand(fieldmark.Slug(fmt.Sprint("b", i)), fmt.Sprint("Name ", i, " <&> ü"), -1)
	}
	for i := range 10 {
		h.ranked(fieldmark.Slug(fmt.Sprint("r", i)), "tools", "en", found{words: int64(100 + 20*i)})
	}
	scorer, log := &wasm.Scorer{}, slog.New(slog.DiscardHandler)
	standings := standing.New(standing.Config{Store: h.store, Scorer: scorer, Log: log,
		Jobs: job.NewRunner(h.store, log)})
	ctx, stop := context.WithCancel(t.Context())
	var running errgroup.Group
	running.Go(func() error { return standings.Run(ctx) })
	t.Cleanup(func() {
		stop()
		must(t, errors.Join(running.Wait(), scorer.Close(context.WithoutCancel(ctx))))
	})
	active, err := h.service.Modules.Active(t.Context())
	must(t, err)
	h.until("every brand is scored", func() bool {
		late, err := h.store.StandingsLate(t.Context(), active.Digest, time.Now())
		must(t, err)
		return !late
	})
	running.Go(func() error { return h.service.Dumps.Run(ctx) })
	var all fieldmark.List[fieldmark.Dump]
	h.until("there is a dump", func() bool { // not through the edge, which keeps the list for a minute
		all.Data, err = h.service.Dumps.List(t.Context())
		must(t, err)
		return len(all.Data) > 0
	})
	index := h.get(fieldmark.PathDumps)
	must(t, json.Unmarshal([]byte(index.body), &all))
	if index.header.Get("Cache-Control") != "public, max-age=60" || len(all.Data) != 1 {
		t.Fatalf("the list: %v %s", index.header, index.body)
	}
	d := all.Data[0]
	if d.Licence != dumpTerms.Licence || d.Attribution != dumpTerms.Attribution {
		t.Errorf("the terms are %+v, want %+v", d.DumpTerms, dumpTerms)
	}
	whole := h.get(d.Path)
	tag := `"` + d.SHA256 + `"`
	for name, want := range map[string]string{"Content-Type": "application/zstd", "Etag": tag, "Content-Encoding": "",
		"Cache-Control": "public, max-age=31536000, immutable", "Accept-Ranges": "bytes",
		"Access-Control-Allow-Origin": "*"} {
		if got := whole.header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if whole.status != http.StatusOK || int64(len(whole.body)) != d.Bytes {
		t.Fatalf("%d with %d bytes, want %d", whole.status, len(whole.body), d.Bytes)
	}
	lines, err := zstd.NewReader(strings.NewReader(whole.body))
	must(t, err)
	defer lines.Close()
	n := 0
	for scan := bufio.NewScanner(lines); scan.Scan(); n++ {
		var item fieldmark.ScoreItem
		must(t, json.Unmarshal(scan.Bytes(), &item))
		if n%50 > 0 && item.Slug[0] != 'r' {
			continue
		}
		var b fieldmark.ScoreBatch
		h.until("the edge knows "+string(item.Slug), func() bool {
			_, b = h.batch("", string(item.Slug))
			return len(b.Items) == 1 && b.Items[0].Rank != nil == (item.Score != nil)
		})
		item.Event, b.Items[0].Rank = 0, nil
		if got, want := marshal(t, item), marshal(t, b.Items[0]); got != want {
			t.Errorf("the dump has\n%s, and a batch\n%s", got, want)
		}
	}
	if n != 310 {
		t.Errorf("%d lines", n)
	}
	asked := h.asked.Load()
	for _, c := range []struct {
		method string
		header []string
		status int
		body   string
		length int64
	}{
		{"GET", []string{"If-None-Match", tag}, 304, "", -1},
		{"GET", []string{"If-None-Match", `"x"`}, 200, whole.body, d.Bytes},
		{"GET", []string{"Range", "bytes=10-19"}, 206, whole.body[10:20], 10},
		{"GET", []string{"Range", "bytes=-7"}, 206, whole.body[len(whole.body)-7:], 7},
		{"GET", []string{"Range", "bytes=100-", "If-Range", tag}, 206, whole.body[100:], d.Bytes - 100},
		{"GET", []string{"Range", "bytes=100-", "If-Range", `"x"`}, 200, whole.body, d.Bytes},
		{"GET", []string{"Range", "bytes=99999999-"}, 416, "", -1},
		{"HEAD", nil, 200, "", d.Bytes},
	} {
		a := h.do(c.method, d.Path, "", c.header...)
		if a.status != c.status || c.status != 416 && a.body != c.body ||
			c.length >= 0 && a.header.Get("Content-Length") != fmt.Sprint(c.length) {
			t.Errorf("%s %v: %d with %d bytes, Content-Length %s; want %d with %d", c.method, c.header, a.status,
				len(a.body), a.header.Get("Content-Length"), c.status, len(c.body))
		}
	}
	if got := h.asked.Load() - asked; got < 8 {
		t.Errorf("of 8 requests %d reached the origin: the others would miss a withdrawal", got)
	}
	table := h.get(d.CSV.Path)
	if table.status != http.StatusOK || int64(len(table.body)) != d.CSV.Bytes {
		t.Errorf("CSV: %d with %d bytes, want %d", table.status, len(table.body), d.CSV.Bytes)
	}
	if got := stored(t, place); len(got) != 2 {
		t.Errorf("the files are %q, want two", got)
	}
	must(t, h.service.Brands.Delete(t.Context(), "b7"))
	for _, path := range []string{d.Path, d.CSV.Path} {
		h.wantProblem(h.get(path), http.StatusGone, fieldmark.CodeDumpWithdrawn)
		h.wantProblem(h.do("GET", path, "", "If-None-Match", tag), http.StatusGone, fieldmark.CodeDumpWithdrawn)
	}
	h.wantProblem(h.get(fieldmark.PathDumps+"/x"), http.StatusNotFound, fieldmark.CodeNotFound)
	a := h.get(fieldmark.PathScores + "?since=99999")
	h.wantProblem(a, http.StatusGone, fieldmark.CodeSinceTooOld)
	if !strings.Contains(a.body, fieldmark.PathDumps) {
		t.Errorf("%s does not name the dumps", a.body)
	}
}

// stored lists the files of dumps in a place.
func stored(t *testing.T, place objects.Store) (keys []string) {
	t.Helper()
	must(t, place.List(t.Context(), "dumps/", func(o objects.Object) error {
		keys = append(keys, o.Key)
		return nil
	}))
	return keys
}

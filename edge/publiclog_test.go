package edge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/translog"
)

// startLog runs the public log of the origin.
func (h *fixture) startLog() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.service.PublicLog.Run(ctx) }()
	h.t.Cleanup(func() { cancel(); must(h.t, <-done) })
}

// logOf waits until the edge has a log of a size.
func (h *fixture) logOf(size int64) (log fieldmark.PublicLog) {
	h.t.Helper()
	h.until(fmt.Sprintf("the edge has a public log of %d leaves", size), func() bool {
		var list fieldmark.List[fieldmark.PublicLog]
		a := h.get(fieldmark.PathLog)
		if a.status != http.StatusOK {
			return false
		}
		must(h.t, json.Unmarshal([]byte(a.body), &list))
		log = list.Data[0]
		return log.Size == size
	})
	return log
}

// httpTiles reads tiles of a log from an edge (tlog.TileReader).
type httpTiles struct{ h *fixture }

func (httpTiles) Height() int                     { return translog.Height }
func (httpTiles) SaveTiles([]tlog.Tile, [][]byte) {}
func (r httpTiles) ReadTiles(list []tlog.Tile) (data [][]byte, err error) {
	for _, t := range list {
		a := r.h.get(fieldmark.PathLog + "/1/" + translog.TilePath(t))
		if a.status != http.StatusOK || !strings.Contains(a.header.Get("Cache-Control"), "immutable") {
			return nil, fmt.Errorf("%s: %d %s", translog.TilePath(t), a.status, a.header.Get("Cache-Control"))
		}
		data = append(data, []byte(a.body))
	}
	return data, nil
}

// checkpoint reads the checkpoint of a log from the edge until it has a size. The checkpoint is verified
// by package note alone.
func (h *fixture) checkpoint(log fieldmark.PublicLog) (c translog.Checkpoint) {
	h.t.Helper()
	verifier, err := note.NewVerifier(log.Keys[0])
	must(h.t, err)
	if verifier.Name() != "marks.example" {
		h.t.Errorf("the key is of %s", verifier.Name())
	}
	h.until("the edge has the checkpoint", func() bool {
		a := h.get(fieldmark.PathLog + "/1/checkpoint")
		n, err := note.Open([]byte(a.body), note.VerifierList(verifier))
		must(h.t, err)
		c, err = translog.ParseCheckpoint(n.Text)
		must(h.t, err)
		return c.N == log.Size
	})
	return c
}

// TestPublicLogFiles: tools for the Go checksum database accept the log as an edge serves it.
func TestPublicLogFiles(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.startLog()
	const brands = 260
	for i := range brands {
		h.brand(fieldmark.Slug(fmt.Sprint("brand-", i)), "Brand", int64(i))
	}
	log := h.logOf(brands)
	c := h.checkpoint(log)
	hashes := tlog.TileHashReader(c.Tree, httpTiles{h})

	h.brand("brand-1", "Brand", 299)
	grown := h.checkpoint(h.logOf(brands + 1))
	consistency, err := tlog.ProveTree(grown.N, c.N, tlog.TileHashReader(grown.Tree, httpTiles{h}))
	must(t, err)
	must(t, tlog.CheckTree(consistency, grown.N, grown.Hash, c.N, c.Hash))

	for _, index := range []int64{0, 200, 255, 256, brands - 1} {
		proof, err := tlog.ProveRecord(c.N, index, hashes)
		must(t, err)
		bundle := tlog.Tile{H: translog.Height, L: translog.EntryLevel, N: index / translog.Width, W: translog.Width}
		bundle.W = int(min(translog.Width, c.N-bundle.N*translog.Width))
		a := h.get(fieldmark.PathLog + "/1/" + translog.TilePath(bundle))
		entries, err := translog.ParseBundle([]byte(a.body), bundle.W)
		must(t, err)
		leaf := translog.LeafHash(entries[index%translog.Width])
		must(t, tlog.CheckRecord(proof, c.N, c.Hash, index, leaf))
	}
	for _, path := range []string{"/1/tile/0/001.p/9", "/1/tile/0/1", "/1/tile/8/0/000", "/2/checkpoint", "/1/proof",
		"/proof", "/1/tile/0/000.p/0", "/1/tile/1/000.p/2", "/1/tile/0/x" + strings.Repeat("999/x", 6) + "000"} {
		if a := h.get(fieldmark.PathLog + path); a.status != http.StatusNotFound {
			t.Errorf("%s: %d, want 404", path, a.status)
		}
	}
}

// TestScoreProof: ?proof=1 puts beside a score the proof that the log has it, and adds nothing else.
func TestScoreProof(t *testing.T) {
	h := newFixture(t)
	const path = "/api/v1/score/brand-3?proof=1"
	for i := range 5 {
		h.brand(fieldmark.Slug(fmt.Sprint("brand-", i)), "Brand", int64(i*50))
	}
	h.score("brand-3")
	early := h.get(path)
	h.wantProblem(early, http.StatusServiceUnavailable, fieldmark.CodeOriginUnavailable) // it has not begun
	h.startLog()
	log := h.logOf(5)
	var a answer
	proved := func() (score fieldmark.Score) {
		h.until("the edge has the proof", func() bool { a = h.get(path); return a.status == http.StatusOK })
		must(t, json.Unmarshal([]byte(a.body), &score))
		r, _, err := translog.Verify(score.Proof, log.Keys...)
		must(t, err)
		if r.Brand != "brand-3" || r.Facts != score.FactsDigest || r.Module != score.Module.Digest ||
			score.Proof.Log != log.Origin {
			t.Errorf("the proof is of %+v in %s", r, score.Proof.Log)
		}
		return score
	}
	score := proved()
	plain := h.get("/api/v1/score/brand-3")
	if !strings.HasPrefix(a.body, strings.TrimSuffix(plain.body, "}\n")+`,"proof":{"log":`) ||
		a.header.Get("Cache-Control") != plain.header.Get("Cache-Control") ||
		a.header.Get("Surrogate-Key") != plain.header.Get("Surrogate-Key") ||
		a.header.Get("Etag") == plain.header.Get("Etag") {
		t.Errorf("with its proof: %v %s", a.header, a.body)
	}
	if again := h.get(path, "If-None-Match", a.header.Get("Etag")); again.status != http.StatusNotModified {
		t.Errorf("with its own Etag: %d", again.status)
	}
	asked := h.asked.Load()
	if h.get(path); h.asked.Load() != asked {
		t.Error("a proof is not kept")
	}
	for _, query := range []string{"=0", "=1&proof=1", "=1&asOf=2026-01-01"} {
		h.wantProblem(h.get("/api/v1/score/brand-3?proof"+query), 400, fieldmark.CodeInvalidParameter)
	}
	h.wantProblem(h.get("/api/v1/score/nobody?proof=1"), 404, fieldmark.CodeNotFound)

	h.brand("brand-3", "Brand", 299)
	h.until("the score is that of the new facts",
		func() bool { return h.score("brand-3").FactsDigest != score.FactsDigest })
	if next := proved(); next.Proof.Index != 5 {
		t.Errorf("the proof is of leaf %d, want 5", next.Proof.Index)
	}
	must(t, h.service.Brands.Delete(t.Context(), "brand-3"))
	h.until("the proof of a removed brand is gone", func() bool { return h.get(path).status == http.StatusNotFound })
}

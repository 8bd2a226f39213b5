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

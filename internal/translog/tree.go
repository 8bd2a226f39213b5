package translog

import (
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

// ErrContradiction is in the errors of a log whose files contradict a checkpoint that it signed.
var ErrContradiction = errors.New("the log contradicts a checkpoint that it signed")

// Load returns a file of a log by its path below the address of the log, as TilePath returns it.
type Load func(path string) ([]byte, error)

// tiles is a tlog.TileReader. It keeps the error of load: package tlog mixes it with its own.
type tiles struct {
	load   Load
	failed error
}

// Height implements tlog.TileReader.
func (*tiles) Height() int { return Height }

// SaveTiles implements tlog.TileReader. Nothing is kept: few tiles are read of each checkpoint.
func (*tiles) SaveTiles([]tlog.Tile, [][]byte) {}

// ReadTiles implements tlog.TileReader.
func (r *tiles) ReadTiles(list []tlog.Tile) (data [][]byte, err error) {
	for _, t := range list {
		body, err := r.load(TilePath(t))
		if err != nil {
			r.failed = err
			return nil, err
		}
		data = append(data, body)
	}
	return data, nil
}

// explain returns an error of reading verified hashes: one of load as it is, and any other as a
// contradiction.
func (r *tiles) explain(err error, format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	if r.failed != nil {
		return fmt.Errorf("%s: %w", what, r.failed)
	}
	return fmt.Errorf("%w: %s: %v", ErrContradiction, what, err)
}

// Extends returns nil if the first leaves of a log, as c has them, are those of an older checkpoint of it,
// and an ErrContradiction if they are not. It reads tiles by load, and verifies them against c.
func (c Checkpoint) Extends(older Checkpoint, load Load) error {
	if c.Origin != older.Origin || c.N < older.N {
		return fmt.Errorf("a checkpoint of %s with %d leaves cannot extend one of %s with %d", c.Origin, c.N,
			older.Origin, older.N)
	}
	root := c.Hash
	if c.N > older.N {
		source := &tiles{load: load}
		var err error
		if root, err = tlog.TreeHash(older.N, tlog.TileHashReader(c.Tree, source)); err != nil {
			return source.explain(err, "compute the root of the first %d of %d leaves", older.N, c.N)
		}
	}
	if root != older.Hash {
		return fmt.Errorf("%w: of %d leaves, the first %d have the root %s, and a checkpoint of %d leaves has %s",
			ErrContradiction, c.N, older.N, root, older.N, older.Hash)
	}
	return nil
}

// VerifyEntries returns nil if the entries of a bundle are leaves of c, and an ErrContradiction if one is
// not. It reads the bundle and tiles by load.
func (c Checkpoint) VerifyEntries(bundle int64, load Load) error {
	first := bundle * Width
	n := int(min(Width, c.N-first))
	if bundle < 0 || n <= 0 {
		return fmt.Errorf("a log of %d leaves has no bundle %d", c.N, bundle)
	}
	path := TilePath(tlog.Tile{H: Height, L: EntryLevel, N: bundle, W: n})
	body, err := load(path)
	if err != nil {
		return err
	}
	entries, err := ParseBundle(body, n)
	if err != nil {
		return fmt.Errorf("%w: %s: %v", ErrContradiction, path, err)
	}
	indexes := make([]int64, n)
	for i := range indexes {
		indexes[i] = tlog.StoredHashIndex(0, first+int64(i))
	}
	source := &tiles{load: load}
	hashes, err := tlog.TileHashReader(c.Tree, source).ReadHashes(indexes)
	if err != nil {
		return source.explain(err, "read the leaves of %s", path)
	}
	for i, h := range hashes {
		if LeafHash(entries[i]) != h {
			return fmt.Errorf("%w: entry %d is not leaf %d, which has the hash %s", ErrContradiction, first+int64(i),
				first+int64(i), h)
		}
	}
	return nil
}

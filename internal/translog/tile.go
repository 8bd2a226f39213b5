package translog

import (
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// Height is the height of tiles, as tlog-tiles demands, and Width the number of hashes of a full tile.
const (
	Height = 8
	Width  = 1 << Height
)

// EntryLevel is the level of entry bundles in a tlog.Tile.
const EntryLevel = -1

// maxLevel bounds the levels of tiles: 8 of them hold more leaves than there are numbers.
const maxLevel = 7

// TilePath returns the path of a tile or an entry bundle below the address of a log, such as
// tile/0/x001/067.p/12 and tile/entries/x001/067. The form differs from that of the Go checksum database
// in the height, which is left out.
func TilePath(t tlog.Tile) string {
	t.H = Height
	path := strings.TrimPrefix(t.Path(), fmt.Sprintf("tile/%d/", Height))
	return "tile/" + strings.Replace(path, "data/", "entries/", 1)
}

// ParseTilePath is the reverse of TilePath. It accepts one path for each tile.
func ParseTilePath(path string) (t tlog.Tile, err error) {
	rest, ok := strings.CutPrefix(path, "tile/")
	if ok {
		if entries, found := strings.CutPrefix(rest, "entries/"); found {
			rest = "data/" + entries
		}
		t, err = tlog.ParseTilePath(fmt.Sprintf("tile/%d/%s", Height, rest))
	}
	if !ok || err != nil || t.L > maxLevel || TilePath(t) != path {
		return t, fmt.Errorf("%.100q is not the path of a tile", path)
	}
	return t, nil
}

// Exists reports whether a log of size leaves has a tile or bundle, full or partial.
func Exists(t tlog.Tile, size int64) bool {
	hashes := size >> (Height * max(t.L, 0)) // that the level has
	return t.N <= hashes>>Height && t.N<<Height+int64(t.W) <= hashes
}

// Reader returns hashes of the tree from tiles that load returns: all hashes of a tile that the log has,
// as far as it has them.
func Reader(load func(level int, number int64) ([]byte, error)) tlog.HashReader {
	return tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		tiles := map[tlog.Tile][]byte{}
		hashes := make([]tlog.Hash, len(indexes))
		for i, index := range indexes {
			t := tlog.TileForIndex(Height, index)
			key := tlog.Tile{H: Height, L: t.L, N: t.N, W: Width}
			data, ok := tiles[key]
			if !ok {
				var err error
				if data, err = load(t.L, t.N); err != nil {
					return nil, err
				}
				tiles[key] = data
			}
			if len(data) < t.W*tlog.HashSize {
				return nil, fmt.Errorf("tile %s has %d bytes", TilePath(t), len(data))
			}
			var err error
			if hashes[i], err = tlog.HashFromTile(t, data[:t.W*tlog.HashSize], index); err != nil {
				return nil, err
			}
		}
		return hashes, nil
	})
}

// EntryHashes returns the tile of level 0 of entries, EntrySize bytes each.
func EntryHashes(entries []byte) []byte {
	hashes := make([]byte, 0, len(entries))
	for ; len(entries) >= EntrySize; entries = entries[EntrySize:] {
		h := LeafHash(entries[:EntrySize])
		hashes = append(hashes, h[:]...)
	}
	return hashes
}

package check

import (
	"context"
	"fmt"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/fieldmark/fieldmark/internal/translog"
)

// publicLogs describes the public logs whose leaves do not lead to the root of their checkpoint. It
// computes every tree from its entries, and every stored tile. Signatures are not verified: the keys are
// derived from a secret that a check does not have.
func publicLogs(ctx context.Context, query Query) (broken []string, err error) {
	rows, err := query(ctx, `SELECT number, size, checkpoint FROM public_log ORDER BY number`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var number, size int64
		var checkpoint string
		if err := rows.Scan(&number, &size, &checkpoint); err != nil {
			return nil, err
		}
		why, err := brokenLog(ctx, query, number, size, checkpoint)
		if err != nil {
			return broken, err
		}
		if why != "" {
			broken = append(broken, fmt.Sprintf("public log %d: %s; restore a backup", number, why))
		}
	}
	return broken, rows.Err()
}

// brokenLog returns why a log is broken; empty: it is not.
func brokenLog(ctx context.Context, query Query, number, size int64, checkpoint string) (string, error) {
	n, err := note.Open([]byte(checkpoint), note.VerifierList())
	if e, ok := err.(*note.UnverifiedNoteError); ok { // as expected without keys
		n, err = e.Note, nil
	}
	if err != nil {
		return err.Error(), nil
	}
	c, err := translog.ParseCheckpoint(n.Text)
	if err != nil {
		return err.Error(), nil
	}
	// The tree keeps one hash for each level and the hashes of tiles, not the entries.
	t := tree{stored: map[int64][]byte{}}
	// Entries are read bundle by bundle: a log may have more of them than fit into memory.
	for bundle := int64(0); bundle*translog.Width < size; bundle++ {
		rows, err := query(ctx, `SELECT body FROM public_log_tile WHERE log = $1 AND level = -1 AND number = $2`,
			number, bundle)
		var body []byte
		if err == nil {
			for rows.Next() && err == nil {
				err = rows.Scan(&body)
			}
			rows.Close()
		}
		if err != nil {
			return "", err
		}
		for ; len(body) >= translog.EntrySize; body = body[translog.EntrySize:] {
			t.append(translog.LeafHash(body[:translog.EntrySize]))
		}
	}
	if t.size != size || c.N != size {
		return fmt.Sprintf("it has %d entries, %d according to its state and %d according to its checkpoint", t.size,
			size, c.N), nil
	}
	if root := t.root(); root != c.Hash {
		return fmt.Sprintf("its entries lead to the root %s, and its checkpoint has %s", root, c.Hash), nil
	}
	return brokenTile(ctx, query, number, &t)
}

// tree computes hashes from leaves, without tiles.
type tree struct {
	size   int64
	peaks  []tlog.Hash      // roots of the perfect trees that leaves form so far, the largest first
	stored map[int64][]byte // hashes that tiles have, by their level from 1 on
}

// append adds a leaf and joins subtrees of the same size (RFC 9162, section 2.1.1): each trailing zero bit of the new
// size completes one. Every translog.Height levels, the completed roots are those that tiles store.
func (t *tree) append(h tlog.Hash) {
	t.size++
	t.peaks = append(t.peaks, h)
	for height, n := 1, t.size; n&1 == 0; height, n = height+1, n>>1 {
		last := len(t.peaks) - 1
		t.peaks[last-1] = tlog.NodeHash(t.peaks[last-1], t.peaks[last])
		t.peaks = t.peaks[:last]
		if height%translog.Height == 0 {
			level := int64(height / translog.Height)
			t.stored[level] = append(t.stored[level], t.peaks[last-1][:]...)
		}
	}
}

// root folds the peaks from the smallest on, as RFC 9162 defines the root of a tree that is not perfect.
func (t *tree) root() tlog.Hash {
	if len(t.peaks) == 0 {
		empty, _ := tlog.TreeHash(0, nil) // does not fail without leaves
		return empty
	}
	root := t.peaks[len(t.peaks)-1]
	for i := len(t.peaks) - 2; i >= 0; i-- {
		root = tlog.NodeHash(t.peaks[i], root)
	}
	return root
}

// brokenTile returns which stored tile does not have the hashes of the tree.
func brokenTile(ctx context.Context, query Query, log int64, t *tree) (string, error) {
	// Level -1 has the entries, and tiles of level 0 the hashes of leaves that are computed from them on reading.
	rows, err := query(ctx, `SELECT level, number, body FROM public_log_tile WHERE log = $1 AND level > 0
		ORDER BY level, number`, log)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	const size = translog.Width * tlog.HashSize
	for rows.Next() {
		var level, number int64
		var body []byte
		if err := rows.Scan(&level, &number, &body); err != nil {
			return "", err
		}
		want := t.stored[level]
		// The last tile of a level is partial; an offset beyond the end compares with nothing, and so fails.
		from := min(number*size, int64(len(want)))
		if string(body) != string(want[from:min(from+size, int64(len(want)))]) {
			return fmt.Sprintf("tile %d of level %d does not have the hashes of its leaves", number, level), nil
		}
	}
	return "", rows.Err()
}

package publiclog

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/translog"
	"github.com/fieldmark/fieldmark/origin/store"
)

// secretSize is the number of bytes of a brand's secret: enough against guessing, as each entry of the
// brand is useless without it.
const secretSize = 16

// tileKey names a tile or a bundle of a log.
type tileKey struct {
	level  int
	number int64
}

// batch appends leaves to a log in a transaction.
// Tiles are read once and written once, however many leaves it appends.
type batch struct {
	tx     *store.Tx
	log    *store.PublicLog
	plan   fieldmark.ModulePlan
	tiles  map[tileKey][]byte // read or written
	dirty  map[tileKey]bool
	brands map[fieldmark.Slug]*store.PublicLogBrand // with a new leaf
}

// newBatch takes the plan of the transaction, so that all leaves of a batch have the modules of one moment.
func newBatch(tx *store.Tx, log *store.PublicLog, plan fieldmark.ModulePlan) *batch {
	return &batch{tx: tx, log: log, plan: plan, tiles: map[tileKey][]byte{}, dirty: map[tileKey]bool{},
		brands: map[fieldmark.Slug]*store.PublicLogBrand{}}
}

// add appends the score of a brand unless its newest leaf has the same content. Empty facts are the newest.
func (b *batch) add(ctx context.Context, slug fieldmark.Slug, facts fieldmark.Digest, at time.Time) error {
	brand := b.brands[slug]
	if brand == nil {
		found, err := b.tx.PublicLogBrand(ctx, slug)
		if errors.Is(err, store.ErrNotFound) { // removed since, or not audited yet
			return nil
		}
		if err != nil {
			return err
		}
		brand = &found
	}
	// An event other than an audit does not name facts.
	if facts == "" {
		facts = brand.Facts
	}
	if facts != brand.Facts && brand.Secret != nil && brand.Log == b.log.Number && at.Before(brand.At) {
		return nil // the newest leaf was made of later facts, which were read before this event
	}
	return b.addBrand(ctx, brand, facts, at)
}

// addBrand is add of a brand that was read.
func (b *batch) addBrand(ctx context.Context, brand *store.PublicLogBrand, facts fieldmark.Digest, at time.Time) error {
	r := translog.Record{Brand: brand.Slug, Facts: facts, Module: b.plan.DigestFor(brand.Slug)}
	if brand.Secret != nil && brand.Log == b.log.Number {
		r.Time = brand.At
		// Compared by a mark, because the text of a leaf is not stored: only its hash is published.
		if _, entry := entryOf(brand, r); mark(entry) == brand.Mark {
			return nil
		}
	}
	if brand.Secret == nil {
		brand.Secret = make([]byte, secretSize)
		rand.Read(brand.Secret) // never fails (crypto/rand)
	}
	// Microseconds are what the database keeps; a finer time could not be proved again.
	r.Time = at.UTC().Truncate(time.Microsecond)
	brand.Log, brand.Leaf, brand.At = b.log.Number, b.log.Size, r.Time
	_, entry := entryOf(brand, r)
	brand.Mark = mark(entry)
	b.brands[brand.Slug] = brand
	return b.append(ctx, entry)
}

// entryOf returns the salt and the entry of a brand's newest leaf for a record.
func entryOf(brand *store.PublicLogBrand, r translog.Record) (salt, entry []byte) {
	salt = translog.LeafSalt(brand.Secret, brand.Log, brand.Leaf)
	return salt, translog.Entry(salt, r.String())
}

// mark returns what is stored of an entry beside its brand.
// 64 bits are enough: it distinguishes an unchanged score from a changed one and is no protection.
func mark(entry []byte) int64 { return int64(binary.BigEndian.Uint64(entry)) }

// append appends an entry, and the hashes of the tiles that it completes.
func (b *batch) append(ctx context.Context, entry []byte) error {
	hash := entry
	for level, index := translog.EntryLevel, b.log.Size; ; {
		key := tileKey{level, index / translog.Width}
		body, err := b.load(ctx, key)
		if err != nil {
			return err
		}
		// Appending to a tile of another length would publish a tree that contradicts signed ones.
		if int64(len(body)) != index%translog.Width*tlog.HashSize {
			return fmt.Errorf("tile %d of level %d has %d bytes before leaf %d", key.number, level, len(body),
				b.log.Size)
		}
		body = append(body, hash...)
		b.tiles[key], b.dirty[key] = body, true
		// Only a full tile has a hash in the level above (C2SP tlog-tiles).
		if index%translog.Width != translog.Width-1 {
			break
		}
		if level == translog.EntryLevel {
			body, level = translog.EntryHashes(body), 0
		}
		root := tileRoot(body)
		level, index, hash = level+1, index/translog.Width, root[:]
	}
	// Once for each entry, after all its hashes have their places.
	b.log.Size++
	return nil
}

// tileRoot returns the root of a full tile.
// A full tile is a perfect tree, so its root is computed by halves.
func tileRoot(tile []byte) tlog.Hash {
	if len(tile) == tlog.HashSize {
		return tlog.Hash(tile)
	}
	half := len(tile) / 2
	return tlog.NodeHash(tileRoot(tile[:half]), tileRoot(tile[half:]))
}

// load returns the bytes of a tile or a bundle, with what the batch has appended.
func (b *batch) load(ctx context.Context, key tileKey) ([]byte, error) {
	if body, ok := b.tiles[key]; ok {
		return body, nil
	}
	body, err := b.tx.PublicLogTile(ctx, b.log.Number, key.level, key.number)
	if err != nil {
		return nil, err
	}
	b.tiles[key] = body
	return body, nil
}

// root returns the root of the log with what the batch has appended.
func (b *batch) root(ctx context.Context) (tlog.Hash, error) {
	root, err := tlog.TreeHash(b.log.Size, translog.Reader(hashes(func(level int, number int64) ([]byte, error) {
		return b.load(ctx, tileKey{level, number})
	})))
	if err != nil {
		return root, fmt.Errorf("compute the root of public log %d: %w", b.log.Number, err)
	}
	return root, nil
}

// hashes returns a load of tiles that computes those of level 0 from entries.
// Level 0 is not stored: it would repeat the entries.
func hashes(load func(level int, number int64) ([]byte, error)) func(level int, number int64) ([]byte, error) {
	return func(level int, number int64) ([]byte, error) {
		if level > 0 {
			return load(level, number)
		}
		entries, err := load(translog.EntryLevel, number)
		return translog.EntryHashes(entries), err
	}
}

// write writes what the batch has appended.
// It is called in the transaction that also stores the checkpoint, so readers see both or neither.
func (b *batch) write(ctx context.Context) error {
	for key := range b.dirty {
		if err := b.tx.PutPublicLogTile(ctx, b.log.Number, key.level, key.number, b.tiles[key]); err != nil {
			return err
		}
	}
	for _, brand := range b.brands {
		if err := b.tx.PutPublicLogBrand(ctx, brand); err != nil {
			return err
		}
	}
	return nil
}

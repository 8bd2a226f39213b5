package publiclog

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/translog"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/keyring"
	"github.com/fieldmark/fieldmark/origin/store"
)

// keyOverlap is how long the key before a rotation also signs: verifiers that fetch the keys of a log at
// least monthly accept each checkpoint by a key that they have.
const keyOverlap = 30 * 24 * time.Hour

// Config is what a Log needs.
type Config struct {
	Store    *store.Store
	Jobs     *job.Runner
	Log      *slog.Logger
	AuditLog *auditlog.Log
	MAC      keyring.MAC // seeds of signing keys
	// Name is the host name of the origin, under which it signs; empty: there is no log. A log that
	// exists keeps its name.
	Name string
}

// Log is the public log of scores. Its methods may be called from any goroutine, Run once at a time.
type Log struct {
	cfg    Config
	errors atomic.Int64

	// Only Run uses the position: no event up to seen concerns a score that log number does not have.
	number, seen int64
}

// New returns a Log that has started nothing.
func New(cfg Config) *Log { return &Log{cfg: cfg} }

// Errors returns how many attempts to append failed.
func (l *Log) Errors() int64 { return l.errors.Load() }

// Origin returns the first line of the checkpoints of a log: its address without the scheme.
func Origin(p *store.PublicLog) string {
	return fmt.Sprintf("%s%s/%d", p.Name, fieldmark.PathLog, p.Number)
}

// errOff is the error of every method without a log.
func errOff() error {
	return fieldmark.Errorf(fieldmark.CodeModuleDisabled, "this server keeps no public log")
}

// read reads all logs, the newest first. There is at least one.
func (l *Log) read(ctx context.Context) ([]store.PublicLog, error) {
	if l.cfg.Name == "" {
		return nil, errOff()
	}
	all, _, err := l.cfg.Store.PublicLogs(ctx)
	if err == nil && len(all) == 0 {
		err = fieldmark.Errorf(fieldmark.CodeOriginUnavailable, "the public log has not begun yet")
	}
	return all, err
}

// find reads all logs: there are few, one for each restore of the database.
func (l *Log) find(ctx context.Context, number int64) (*store.PublicLog, error) {
	all, err := l.read(ctx)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].Number == number {
			return &all[i], nil
		}
	}
	return nil, fieldmark.Errorf(fieldmark.CodeNotFound, "there is no such public log")
}

// List describes all logs, the newest first.
func (l *Log) List(ctx context.Context) (list []fieldmark.PublicLog, err error) {
	all, err := l.read(ctx)
	if err != nil {
		return nil, err
	}
	// Ended logs are listed, too: their checkpoints stay verifiable.
	for i := range all {
		keys, err := l.keys(&all[i])
		if err != nil {
			return nil, err
		}
		list = append(list, fieldmark.PublicLog{Number: all[i].Number, Origin: Origin(&all[i]), Size: all[i].Size,
			Keys: keys, Ended: i > 0})
	}
	return list, nil
}

// Checkpoint returns the newest signed checkpoint of a log.
func (l *Log) Checkpoint(ctx context.Context, number int64) ([]byte, error) {
	p, err := l.find(ctx, number)
	if err != nil {
		return nil, err
	}
	return []byte(p.Checkpoint), nil
}

// Tile returns a tile or an entry bundle by its path below the address of a log, as translog.TilePath
// returns it. Its bytes never change.
func (l *Log) Tile(ctx context.Context, number int64, path string) ([]byte, error) {
	t, err := translog.ParseTilePath(path)
	if err != nil {
		return nil, &fieldmark.Error{Code: fieldmark.CodeNotFound, Detail: "there is no such file of the public log",
			Err: err}
	}
	p, err := l.find(ctx, number)
	if err != nil {
		return nil, err
	}
	// A tile beyond the checkpoint is not served before a signature covers it.
	if !translog.Exists(t, p.Size) {
		return nil, fieldmark.Errorf(fieldmark.CodeNotFound, "the public log has no such tile yet")
	}
	load := func(level int, tile int64) ([]byte, error) {
		return l.cfg.Store.PublicLogTile(ctx, number, level, tile)
	}
	if t.L >= 0 {
		load = hashes(load)
	}
	body, err := load(t.L, t.N)
	if err != nil {
		return nil, err
	}
	if len(body) < t.W*tlog.HashSize {
		return nil, fmt.Errorf("%s of public log %d has %d bytes", path, number, len(body))
	}
	// A partial tile is a prefix of the stored one, which may have grown since.
	if body = body[:t.W*tlog.HashSize]; t.L == translog.EntryLevel {
		body = translog.AppendBundle(nil, body)
	}
	return body, nil
}

// Proof proves that the newest log has a brand with its facts and its module. The error is CodeNotFound
// if that is not the content of the newest leaf of the brand, such as in the second after a change.
func (l *Log) Proof(ctx context.Context, slug fieldmark.Slug, facts, module fieldmark.Digest) (p fieldmark.ScoreProof,
	err error) {
	missing := fieldmark.Errorf(fieldmark.CodeNotFound,
		"the public log does not have this score yet; repeat the request in a second")
	all, err := l.read(ctx) // before the leaf: a log has the leaves of its size, and may have more
	if err != nil {
		return p, err
	}
	log := &all[0]
	brand, err := l.cfg.Store.PublicLogBrand(ctx, slug)
	if errors.Is(err, store.ErrNotFound) || err == nil && (brand.Secret == nil || brand.Log != log.Number ||
		brand.Leaf >= log.Size) {
		return p, missing
	}
	if err != nil {
		return p, err
	}
	r := translog.Record{Brand: slug, Facts: facts, Module: module, Time: brand.At}
	salt, entry := entryOf(&brand, r)
	if mark(entry) != brand.Mark {
		return p, missing
	}
	proof, err := tlog.ProveRecord(log.Size, brand.Leaf, translog.Reader(hashes(
		func(level int, number int64) ([]byte, error) {
			return l.cfg.Store.PublicLogTile(ctx, log.Number, level, number)
		})))
	if err != nil {
		return p, fmt.Errorf("prove leaf %d of public log %d: %w", brand.Leaf, log.Number, err)
	}
	p = fieldmark.ScoreProof{Log: Origin(log), Index: brand.Leaf, Record: r.String(),
		Salt: base64.StdEncoding.EncodeToString(salt), Hashes: make([]string, len(proof)), Checkpoint: log.Checkpoint}
	for i, h := range proof {
		p.Hashes[i] = h.String()
	}
	return p, nil
}

// Rotate signs with a new key from now on, and with the one before for keyOverlap.
func (l *Log) Rotate(ctx context.Context) (fieldmark.PublicLog, error) {
	if _, err := l.read(ctx); err != nil {
		return fieldmark.PublicLog{}, err
	}
	err := l.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		all, _, err := tx.PublicLogs(ctx)
		if err != nil || len(all) == 0 {
			return err
		}
		log := &all[0]
		b := newBatch(tx, log, fieldmark.ModulePlan{})
		if err := l.verify(ctx, b); err != nil {
			return err
		}
		log.Key, log.KeyAt = log.Key+1, time.Now()
		if err := l.sign(ctx, b); err != nil {
			return err
		}
		if err := tx.PutPublicLog(ctx, log); err != nil {
			return err
		}
		return l.cfg.AuditLog.Append(ctx, tx, "public_log.key_rotated", Origin(log), log.Key-1, log.Key)
	})
	if err != nil {
		return fieldmark.PublicLog{}, fmt.Errorf("rotate the key of the public log: %w", err)
	}
	list, err := l.List(ctx)
	if err != nil {
		return fieldmark.PublicLog{}, err
	}
	return list[0], nil
}

// sign sets the checkpoint of a log with what a batch has appended.
func (l *Log) sign(ctx context.Context, b *batch) error {
	root, err := b.root(ctx)
	if err != nil {
		return err
	}
	signers, _, err := l.signers(b.log)
	if err != nil {
		return err
	}
	c := translog.Checkpoint{Origin: Origin(b.log), Tree: tlog.Tree{N: b.log.Size, Hash: root}}
	signed, err := note.Sign(&note.Note{Text: c.Text()}, signers...)
	b.log.Checkpoint = string(signed)
	return err
}

// keys returns the keys that verify the checkpoints of a log, the newest first.
func (l *Log) keys(p *store.PublicLog) ([]string, error) {
	_, keys, err := l.signers(p)
	return keys, err
}

// signers returns the signers of a log, and their public keys. Both are derived from the application
// secret, so every origin has them.
func (l *Log) signers(p *store.PublicLog) (signers []note.Signer, keys []string, err error) {
	oldest := p.Key
	if p.Key > 1 && time.Since(p.KeyAt) < keyOverlap {
		oldest--
	}
	for n := p.Key; n >= oldest; n-- {
		mac := hmac.New(sha256.New, l.cfg.MAC)
		fmt.Fprintf(mac, "key %d of %s", n, p.Name)
		signer, key, err := translog.NewSigner(p.Name, mac.Sum(nil))
		if err != nil {
			return nil, nil, err
		}
		signers, keys = append(signers, signer), append(keys, key)
	}
	return signers, keys, nil
}

// NameOf returns the host name of an address, which names the keys of a log; empty without one.
func NameOf(baseURL string) string {
	_, rest, found := strings.Cut(baseURL, "://")
	if !found {
		return ""
	}
	host, _, _ := strings.Cut(rest, "/")
	return host
}

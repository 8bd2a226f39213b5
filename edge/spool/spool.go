package spool

import (
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/fieldmark/fieldmark"
)

// Bounds of a spool. Beyond one of them nothing more is accepted.
const (
	maxRequests     = 1_000_000        // a day at eleven a second
	maxBytes        = 1 << 30          // of rows; some 2 KB each with their indexes
	accountFraction = 4                // one account may have a quarter of both: see usage
	maxAge          = 24 * time.Hour   // of the oldest request: after a day people have taken over
	maxDisk         = 80               // percent of the disk that may be in use: other programs need the rest
	diskEvery       = time.Second      // between two checks of the disk
	rowBytes        = 512              // what a row needs beside its content
	schema          = 1                // PRAGMA user_version
	commitLimit     = 10 * time.Second // for one group
	maxGroup        = 512              // requests that share a commit: their senders wait for all of them
)

// Why a request is not accepted.
var (
	// ErrFull is a spool at one of its bounds, an account at its share of them, or a disk that is full.
	ErrFull = errors.New("the spool is full")
	// ErrConflict is a request whose identifiers another request in the spool has, with other content.
	ErrConflict = errors.New("another request in the spool has the same source and externalId")
	// ErrReused is an idempotency key that another request in the spool has.
	ErrReused = errors.New("another request in the spool has the same idempotency key")
)

// Sender sends an accepted request to an origin and returns its decision. An error means that there
// is no decision yet.
type Sender func(context.Context, fieldmark.SpooledRequest) (fieldmark.Intake, error)

// Config configures a Spool.
type Config struct {
	Dir string // folder of the spool, which no other process may use at the same time; required
	// Tokens are the node tokens, the current one first. Requests are sealed by a key that is derived
	// from it; those that were sealed under another one can still be read. At least one.
	Tokens []string
	Log    *slog.Logger // nil: nothing is logged
}

// Spool is an open spool. Its methods may be called from any goroutine.
type Spool struct {
	db      *sql.DB // of one connection
	lock    *flock.Flock
	dir     string
	name    string // of this spool; ids of requests begin with it
	ciphers []cipher.AEAD
	log     *slog.Logger
	keys    knownKeys

	accepted, delivered, refused, failures atomic.Int64  // see Stats
	stored                                 chan struct{} // has an element after a commit

	mu sync.Mutex

	waiting  []*write
	leading  bool             // a goroutine commits
	all      usage            // in the file, or about to be
	accounts map[string]usage // of each account that has rows
	oldest   time.Time        // when the oldest row was accepted; zero: the spool is empty
	lanes    map[lane]int     // number of rows
	diskAt   time.Time        // of the last check of the disk
	diskFull bool             // what it found
	failed   map[int64]int    // by number: attempts that failed while others succeeded
	damaged  map[int64]bool   // by number: rows that cannot be read
	limit    usage            // maxRequests and maxBytes
	window   int64            // windowBytes
	now      func() time.Time // of the machine
}

// usage is how many rows the spool or an account has, and their bytes with rowBytes for each. An account may have a
// quarter: 300 notifications a minute of 1 MiB, which one key may send, would otherwise fill the spool in the first
// minutes of an outage, and every other account would be refused until its end.
type usage struct{ rows, bytes int64 }

// plus returns the usage with n more rows (fewer if negative), each of which has size bytes of content.
func (u usage) plus(n, size int64) usage { return usage{u.rows + n, u.bytes + n*(size+rowBytes)} }

// share is what one account may have.
func (u usage) share() usage { return usage{u.rows / accountFraction, u.bytes / accountFraction} }

// exceeds reports whether there are more rows or bytes than a limit.
func (u usage) exceeds(limit usage) bool { return u.rows > limit.rows || u.bytes > limit.bytes }

// lane is a hash of an account and a source: requests of one lane are sent one after the other.
type lane [16]byte

// Request is a request to accept.
type Request struct {
	Key     Key
	Content [sha256.Size]byte // digest of its meaning, whatever its form
	fieldmark.SpooledRequest
}

// lane returns the lane of the request.
func (r *Request) lane() lane { return laneOf(r.Key.Account, r.Source) }

func laneOf(account, source string) lane {
	sum := sha256.Sum256([]byte(account + "\n" + strings.ToLower(source)))
	return lane(sum[:len(lane{})])
}

// Open opens the spool in a folder and creates what does not exist. It fails if another process has it
// open, if a newer program wrote it, or if its requests were sealed under none of the tokens.
func Open(ctx context.Context, cfg Config) (*Spool, error) {
	s := &Spool{dir: cfg.Dir, log: cmp.Or(cfg.Log, slog.New(slog.DiscardHandler)), stored: make(chan struct{}, 1),
		keys: knownKeys{all: map[[sha256.Size]byte]Key{}}, accounts: map[string]usage{}, lanes: map[lane]int{},
		failed: map[int64]int{}, damaged: map[int64]bool{}, limit: usage{maxRequests, maxBytes}, window: windowBytes,
		now: time.Now}
	if err := s.open(ctx, cfg); err != nil {
		return nil, fmt.Errorf("open the spool in %s: %w", cfg.Dir, errors.Join(err, s.Close()))
	}
	return s, nil
}

func (s *Spool) open(ctx context.Context, cfg Config) error {
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return err
	}
	path, err := filepath.Abs(filepath.Join(cfg.Dir, "spool.db"))
	if err != nil {
		return err
	}
	// SQLite's own lock is not enough: the driver closes a connection whose query was interrupted.
	s.lock = flock.New(filepath.Join(cfg.Dir, "spool.lock"), flock.SetPermissions(0o600))
	locked, err := s.lock.TryLock()
	if err == nil && !locked {
		err = errors.New("another process has it open")
	}
	if err != nil {
		return err
	}
	query := url.Values{"_pragma": {"busy_timeout(500)", "locking_mode(EXCLUSIVE)", "journal_mode(WAL)",
		"synchronous(FULL)"}, "_txlock": {"exclusive"}}
	file := &url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}
	if s.db, err = sql.Open("sqlite", file.String()); err != nil {
		return err
	}
	s.db.SetMaxOpenConns(1)
	if err := s.create(ctx); err != nil {
		return err
	}
	for _, token := range cfg.Tokens {
		sealing, err := newCipher(token, s.name)
		if err != nil {
			return err
		}
		s.ciphers = append(s.ciphers, sealing)
	}
	if len(s.ciphers) == 0 {
		return errors.New("a node token is required")
	}
	return s.load(ctx)
}

// newCipher derives the key of a spool from a node token.
func newCipher(token, name string) (cipher.AEAD, error) {
	secret, err := hkdf.Key(sha256.New, []byte(token), []byte(name), "fieldmark spool", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// create creates the tables of a new spool and reads its name.
// Numbers are never used again (AUTOINCREMENT), because an origin identifies a request by its number.
func (s *Spool) create(ctx context.Context) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var version int
	if err := tx.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&version); err != nil {
		return err
	}
	switch version {
	case 0:
		for _, text := range []string{
			`CREATE TABLE spool (name TEXT NOT NULL) STRICT`,
			`CREATE TABLE request (
				seq         INTEGER PRIMARY KEY AUTOINCREMENT,
				account     TEXT NOT NULL,
				lane        BLOB NOT NULL,
				natural     BLOB UNIQUE,          -- hash of account, source and externalId; NULL: a notification
				idempotency BLOB UNIQUE,          -- hash of account and idempotency key; NULL: none was sent
				content     BLOB NOT NULL,        -- digest of what is asked for
				accepted_at INTEGER NOT NULL,     -- microseconds
				sealed      BLOB NOT NULL         -- the request, encrypted
			) STRICT`,
			fmt.Sprintf(`PRAGMA user_version = %d`, schema),
		} {
			if _, err := tx.ExecContext(ctx, text); err != nil {
				return err
			}
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO spool (name) VALUES (?)`,
			strings.ToLower(rand.Text()[:16])); err != nil {
			return err
		}
	case schema:
	default:
		return fmt.Errorf("it has format %d of a newer program, want %d", version, schema)
	}
	if err := tx.QueryRowContext(ctx, `SELECT name FROM spool`).Scan(&s.name); err != nil {
		return err
	}
	return tx.Commit()
}

// load counts what is in the file, and checks that one of the oldest requests can be read.
func (s *Spool) load(ctx context.Context) error {
	if err := s.countRows(ctx); err != nil {
		return err
	}
	// If none can be read, the token is missing. A single row may be damaged, and the others are sent.
	var damage error // of the oldest
	seen, readable := 0, false
	err := s.each(ctx, 0, func(e entry) bool {
		if seen++; seen == 1 {
			damage = e.damage
		}
		readable = e.damage == nil
		return !readable && seen < windowSize
	})
	if err != nil {
		return err
	}
	if !readable {
		return damage // nil if the spool is empty
	}
	s.signal()
	return s.findOldest(ctx)
}

// countRows counts the rows in the file. It does not group them in SQL: SQLite would sort them with their content, in
// temporary files of up to maxBytes, while it finds the length of a column without reading it.
func (s *Spool) countRows(ctx context.Context) error {
	rows, err := s.db.QueryContext(ctx, `SELECT account, lane, LENGTH(sealed) FROM request`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var account string
		var hash []byte
		var size int64
		if err := rows.Scan(&account, &hash, &size); err != nil {
			return err
		}
		if len(hash) != len(lane{}) {
			return errors.New("a row is damaged")
		}
		s.count(account, lane(hash), 1, size)
	}
	return rows.Err()
}

// count adds n rows of a size to what is counted, 1 or -1. It is called with mu held, or before the spool is used.
// Nothing is kept of an account or a lane without rows, so the maps have at most as many entries as there are rows.
func (s *Spool) count(account string, l lane, n, size int64) {
	s.all = s.all.plus(n, size)
	if s.accounts[account] = s.accounts[account].plus(n, size); s.accounts[account].rows <= 0 {
		delete(s.accounts, account)
	}
	if s.lanes[l] += int(n); s.lanes[l] <= 0 {
		delete(s.lanes, l)
	}
}

// findOldest sets when the oldest request that can be read was accepted.
func (s *Spool) findOldest(ctx context.Context) error {
	var oldest time.Time
	err := s.each(ctx, 0, func(e entry) bool {
		if e.damage != nil {
			s.setAside(&e)
			return true
		}
		oldest = e.acceptedAt
		return false
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.oldest = oldest
	return nil
}

// setAside reports a row that cannot be read, once, and no longer counts it: it is not sent, blocks no other, and
// stays in the file for someone who has the token that it was sealed under.
func (s *Spool) setAside(e *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.damaged[e.seq] {
		return
	}
	s.damaged[e.seq] = true
	s.count(e.account, e.lane, -1, e.size)
	s.failures.Add(1)
	s.log.Error("an accepted request cannot be read and is not sent", "id", s.id(e.seq), "err", e.damage)
}

// Close closes the file and unlocks the folder. No other method may be running.
func (s *Spool) Close() error {
	var errs []error
	if s.db != nil {
		errs = append(errs, s.db.Close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}

// Stats are the numbers of a spool since it was opened, and what is in it.
type Stats struct {
	Accepted, Delivered, Refused int64
	Failures                     int64 // requests that could not be stored, and those that an origin could not decide
	Requests, Bytes              int64 // in the spool
	Oldest                       time.Duration
}

// Stats returns the numbers of the spool.
func (s *Spool) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := Stats{Accepted: s.accepted.Load(), Delivered: s.delivered.Load(), Refused: s.refused.Load(),
		Failures: s.failures.Load(), Requests: s.all.rows, Bytes: s.all.bytes}
	if !s.oldest.IsZero() {
		v.Oldest = s.now().Sub(s.oldest)
	}
	return v
}

// Holds reports whether requests of a source of an account are in the spool. A notification that follows
// them must not overtake them: the end of an alert would be applied before its beginning.
func (s *Spool) Holds(account, source string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lanes) > 0 && s.lanes[laneOf(account, source)] > 0
}

// id returns the id of a request.
func (s *Spool) id(seq int64) string { return s.name + "." + strconv.FormatInt(seq, 10) }

// Find returns a request in the spool by its id, if it is of an account.
func (s *Spool) Find(ctx context.Context, account, id string) (fieldmark.Intake, bool, error) {
	number, own := strings.CutPrefix(id, s.name+".")
	seq, err := strconv.ParseInt(number, 10, 64)
	if !own || err != nil {
		return fieldmark.Intake{}, false, nil
	}
	var found entry
	err = s.each(ctx, seq-1, func(e entry) bool { found = e; return false })
	if err != nil || found.seq != seq || found.account != account || found.damage != nil {
		return fieldmark.Intake{}, false, err
	}
	return s.receipt(&found), true, nil
}

// receipt is the answer to the sender of a request that is in the spool.
func (s *Spool) receipt(e *entry) fieldmark.Intake {
	return fieldmark.Intake{ID: s.id(e.seq), State: fieldmark.IntakeAccepted, Source: e.request.Source,
		ExternalID: e.request.ExternalID, AcceptedAt: fieldmark.At(e.acceptedAt)}
}

// entry is a request in the spool.
type entry struct {
	seq        int64
	account    string
	lane       lane
	acceptedAt time.Time
	size       int64 // of the sealed request
	request    fieldmark.SpooledRequest
	damage     error // why request could not be read
	failure    error // of the last attempt to send it
}

// each reads requests after a number in their order until f returns false, one at a time: each may have some 1.4 MB.
// f must not use the database, which has one connection.
func (s *Spool) each(ctx context.Context, after int64, f func(entry) bool) error {
	rows, err := s.db.QueryContext(ctx, `SELECT seq, account, lane, accepted_at, content, sealed FROM request
		WHERE seq > ? ORDER BY seq`, after)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var e entry
		var hash, content, sealed []byte
		var at int64
		if err := rows.Scan(&e.seq, &e.account, &hash, &at, &content, &sealed); err != nil {
			return err
		}
		copy(e.lane[:], hash)
		e.acceptedAt, e.size = time.UnixMicro(at), int64(len(sealed))
		if e.request, err = s.unseal(content, sealed); err != nil {
			e.damage = fmt.Errorf("request %d: %w", e.seq, err)
		}
		if !f(e) {
			return nil
		}
	}
	return rows.Err()
}

// seal encrypts a request. Its digest is authenticated with it, so that rows cannot be mixed.
func (s *Spool) seal(r *Request) ([]byte, error) {
	plain, err := json.Marshal(r.SpooledRequest)
	if err != nil {
		return nil, err
	}
	return s.ciphers[0].Seal(nil, nil, plain, r.Content[:]), nil
}

func (s *Spool) unseal(content, sealed []byte) (r fieldmark.SpooledRequest, err error) {
	for _, c := range s.ciphers {
		plain, err := c.Open(nil, nil, sealed, content)
		if err == nil {
			return r, json.Unmarshal(plain, &r)
		}
	}
	return r, errors.New("it is damaged, or was sealed under a node token that is not set: set the new and the old one")
}

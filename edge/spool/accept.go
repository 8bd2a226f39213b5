package spool

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
)

// write is a request that waits for its commit.
type write struct {
	request *Request
	sealed  []byte
	ready   chan struct{} // closed when it was committed, or when its goroutine is to commit
	leads   bool          // set before ready is closed: the goroutine is to commit

	receipt fieldmark.Intake
	err     error
}

// Accept stores a request and returns the answer to its sender after the disk has it. The same request
// again gets the same answer. The error is ErrFull, ErrConflict, ErrReused or one of the disk; then
// the request is not in the spool.
//
// Requests that arrive during a commit share the next one: the first of them commits for all.
func (s *Spool) Accept(r *Request) (fieldmark.Intake, error) {
	sealed, err := s.seal(r)
	if err != nil {
		return fieldmark.Intake{}, fmt.Errorf("seal a request: %w", err)
	}
	w := &write{request: r, sealed: sealed, ready: make(chan struct{})}
	s.mu.Lock()
	if err := s.admit(w); err != nil {
		s.mu.Unlock()
		s.failures.Add(1)
		return fieldmark.Intake{}, err
	}
	s.waiting = append(s.waiting, w)
	lead := !s.leading
	s.leading = true
	s.mu.Unlock()
	if !lead {
		<-w.ready
		lead = w.leads
	}
	if lead {
		s.commitGroup()
	}
	return w.receipt, w.err
}

// admit reserves room for a request. It is called with mu held.
func (s *Spool) admit(w *write) error {
	now := s.now()
	if now.Sub(s.diskAt) > diskEvery || now.Before(s.diskAt) {
		s.diskAt, s.diskFull = now, diskUse(s.dir) > maxDisk
	}
	account, size := w.request.Key.Account, int64(len(w.sealed))
	own := s.accounts[account]
	switch {
	case s.all.plus(1, size).exceeds(s.limit):
		return fmt.Errorf("%w: it has %d requests of %d bytes", ErrFull, s.all.rows, s.all.bytes)
	case own.plus(1, size).exceeds(s.limit.share()):
		return fmt.Errorf("%w for the account %s: it has %d requests of %d bytes", ErrFull, account, own.rows,
			own.bytes)
	case !s.oldest.IsZero() && now.Sub(s.oldest) > maxAge:
		return fmt.Errorf("%w: the oldest request is of %s", ErrFull, s.oldest.UTC().Format(time.RFC3339))
	case s.diskFull:
		return fmt.Errorf("%w: more than %d %% of its disk is in use", ErrFull, maxDisk)
	}
	s.count(account, w.request.lane(), 1, size)
	return nil
}

// commitGroup commits what waits, and then makes the goroutine of the next request the leader.
func (s *Spool) commitGroup() {
	runtime.Gosched() // requests that are about to wait share this commit
	s.mu.Lock()
	group := s.waiting[:min(len(s.waiting), maxGroup)]
	s.waiting = s.waiting[len(group):]
	s.mu.Unlock()

	added, err := s.commit(group)

	s.mu.Lock()
	now := s.now()
	for i, w := range group {
		if err != nil {
			w.err = err
		}
		if !added[i] || err != nil {
			s.count(w.request.Key.Account, w.request.lane(), -1, int64(len(w.sealed)))
			continue
		}
		s.accepted.Add(1)
		if s.oldest.IsZero() {
			s.oldest = now
		}
	}
	if len(s.waiting) > 0 {
		s.waiting[0].leads = true
		close(s.waiting[0].ready)
	} else {
		s.leading, s.waiting = false, nil
	}
	s.mu.Unlock()
	for _, w := range group {
		if !w.leads {
			close(w.ready)
		}
		if w.err != nil {
			s.failures.Add(1)
		}
	}
	s.signal()
}

// commit inserts the requests of a group. added are those that are new; the others have the receipt of the row
// that is there, or an error.
func (s *Spool) commit(group []*write) (added []bool, err error) {
	// Not the context of a request: others wait for the commit too.
	ctx, cancel := context.WithTimeout(context.Background(), commitLimit)
	defer cancel()
	added = make([]bool, len(group))
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return added, storeError(err)
	}
	defer tx.Rollback()
	insert, err := tx.PrepareContext(ctx, `INSERT INTO request (account, lane, natural, idempotency, content,
		accepted_at, sealed) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`)
	if err != nil {
		return added, storeError(err)
	}
	defer insert.Close()
	for i, w := range group {
		if added[i], err = s.insert(ctx, tx, insert, w); err != nil {
			return added, storeError(err)
		}
	}
	return added, storeError(tx.Commit())
}

func storeError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("store a request: %w", err)
}

// insert inserts a request, unless the same one is there or one that conflicts with it.
func (s *Spool) insert(ctx context.Context, tx *sql.Tx, insert *sql.Stmt, w *write) (added bool, err error) {
	r, now := w.request, s.now()
	var natural, idempotency []byte
	if r.ExternalID != "" {
		natural = hashOf(r.Key.Account, strings.ToLower(r.Source), r.ExternalID)
	}
	if r.IdempotencyKey != "" {
		idempotency = hashOf(r.Key.Account, r.IdempotencyKey)
	}
	l := r.lane()
	e := entry{acceptedAt: now, request: r.SpooledRequest}
	done, err := insert.ExecContext(ctx, r.Key.Account, l[:], natural, idempotency, r.Content[:], now.UnixMicro(),
		w.sealed)
	if err != nil {
		return false, err
	}
	if n, err := done.RowsAffected(); err != nil || n > 0 {
		if err == nil {
			e.seq, err = done.LastInsertId() // of this connection, the only one
		}
		w.receipt = s.receipt(&e)
		return err == nil, err
	}
	var content, key []byte
	var at int64
	err = tx.QueryRowContext(ctx, `SELECT seq, content, idempotency, accepted_at FROM request
		WHERE idempotency = ? OR natural = ? ORDER BY idempotency = ? DESC LIMIT 1`, idempotency, natural,
		idempotency).Scan(&e.seq, &content, &key, &at)
	if err != nil {
		return false, err
	}
	e.acceptedAt = time.UnixMicro(at)
	w.receipt = s.receipt(&e)
	if !bytes.Equal(content, r.Content[:]) {
		if w.err = ErrConflict; idempotency != nil && bytes.Equal(key, idempotency) {
			w.err = ErrReused
		}
	}
	return false, nil
}

// hashOf returns a hash of several texts, none of which contains the separator.
func hashOf(parts ...string) []byte {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return sum[:]
}

// signal wakes the goroutine that sends requests.
func (s *Spool) signal() {
	select {
	case s.stored <- struct{}{}:
	default:
	}
}

package auditlog

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/keyring"
	"github.com/fieldmark/fieldmark/origin/store"
)

// Limits of the audit log.
const (
	MaxPage     = 200      // entries in one response
	verifyBatch = 1000     // entries that Verify reads at once
	maxText     = 256      // bytes of a name, a target or a User-Agent
	maxState    = 16 << 10 // bytes of a state before or after: keys and endpoints have less
)

// Actor is who acts: an administrator, an API key or a command.
type Actor struct {
	Kind    fieldmark.ActorKind
	Name    string
	Address string
	Agent   string // User-Agent
	Request string // id of the request
}

// actorState is the actor of a context, and whether an entry was appended under it.
// The flag lets a caller add an entry only if the act has not done so itself.
type actorState struct {
	Actor
	appended atomic.Bool
}

type actorKey struct{}

// WithActor returns a context under which a acts: Append enters its acts into the
// audit log.
func WithActor(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, &actorState{Actor: a})
}

// actorOf returns nil without an actor.
func actorOf(ctx context.Context) *actorState {
	a, _ := ctx.Value(actorKey{}).(*actorState)
	return a
}

// ActorText returns the kind and the name of the actor of ctx, such as "person ada", or "" without
// one.
// It is stored with events, so it is clipped as in the log.
func ActorText(ctx context.Context) string {
	if a := actorOf(ctx); a != nil {
		return string(a.Kind) + " " + Clip(a.Name)
	}
	return ""
}

// ActorName returns the name of the actor of ctx, or "" without one.
func ActorName(ctx context.Context) string {
	if a := actorOf(ctx); a != nil {
		return a.Name
	}
	return ""
}

// Log is the audit log. Its methods may be called from any goroutine.
type Log struct {
	store *store.Store
	key   keyring.MAC
}

// New returns the audit log of a database. Key makes the sums of its entries.
func New(s *store.Store, key keyring.MAC) *Log { return &Log{store: s, key: key} }

// Append adds an act of the actor of ctx, in the transaction of the act. Without
// an actor it does nothing: background jobs leave no entries. Before and after are
// the states of the target as API clients see them, or nil; they hold no secret.
func (l *Log) Append(ctx context.Context, tx *store.Tx, act, target string, before, after any) error {
	a := actorOf(ctx)
	if a == nil {
		return nil
	}
	e := fieldmark.AuditEntry{
		At: fieldmark.At(time.Now()), Kind: a.Kind, Actor: Clip(a.Name), Act: Clip(act), Target: Clip(target),
		Address: Clip(a.Address), Agent: Clip(a.Agent), Request: Clip(a.Request),
	}
	var err error
	if e.Before, err = encodeState(before); err != nil {
		return fmt.Errorf("encode the state of %s before %s: %w", target, act, err)
	}
	if e.After, err = encodeState(after); err != nil {
		return fmt.Errorf("encode the state of %s after %s: %w", target, act, err)
	}
	// The last entry is read in the transaction, so two acts cannot get the same number.
	last, err := tx.LastAuditEntry(ctx)
	if err != nil {
		return err
	}
	e.Number = last.Number + 1
	if e.Sum, err = l.sum(last.Sum, &e); err != nil {
		return err
	}
	if err := tx.AddAuditEntry(ctx, &e); err != nil {
		return err
	}
	a.appended.Store(true)
	return nil
}

// AppendIfNone adds an act of the actor of ctx unless an entry was appended under
// ctx already.
func (l *Log) AppendIfNone(ctx context.Context, act, target string) error {
	if a := actorOf(ctx); a == nil || a.appended.Load() {
		return nil
	}
	return l.AppendAlone(ctx, act, target)
}

// AppendAlone adds an act of the actor of ctx in a separate transaction.
func (l *Log) AppendAlone(ctx context.Context, act, target string) error {
	return l.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return l.Append(ctx, tx, act, target, nil, nil)
	})
}

// Clip returns a text from outside in a form that both databases can store: valid
// UTF-8 without NUL, of at most 256 bytes.
// It cuts between characters, so what is stored is valid UTF-8.
func Clip(s string) string {
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "")
	if len(s) <= maxText {
		return s
	}
	end := maxText
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}

// encodeState returns a state as JSON, or its size and digest if it is too long.
// A long state is named and not cut: half a document could be taken for the whole.
func encodeState(v any) (json.RawMessage, error) {
	if v == nil {
		return nil, nil
	}
	b, err := json.Marshal(v)
	if err == nil && len(b) > maxState {
		sum := sha256.Sum256(b)
		b, err = json.Marshal(map[string]any{"bytes": len(b), "digest": fieldmark.DigestOf(sum)})
	}
	return b, err
}

// sum returns the checksum of an entry, computed over its other members and the checksum
// of the previous entry. Write access to the rows is not enough to extend the chain: that
// also needs the key.
// The number is among the members, so entries cannot change places.
func (l *Log) sum(before string, e *fieldmark.AuditEntry) (string, error) {
	unsummed := *e
	unsummed.Sum = before
	b, err := json.Marshal(unsummed)
	if err != nil {
		return "", fmt.Errorf("sum entry %d of the audit log: %w", e.Number, err)
	}
	return l.key.Sum(string(b)), nil
}

// Verify reads the whole log and checks every sum. Entries removed from the end
// leave a valid chain: to find that, pass an earlier verdict that was kept
// elsewhere; the entry of its number must exist and have its sum.
func (l *Log) Verify(ctx context.Context, kept fieldmark.AuditVerdict) (v fieldmark.AuditVerdict, err error) {
	for {
		batch, err := l.store.AuditEntriesAfter(ctx, v.Entries, verifyBatch)
		if err != nil {
			return v, err
		}
		for i := range batch {
			if v.Why, err = l.check(&v, &batch[i]); err != nil {
				return v, err
			}
			// The chain is intact but is another one: the log was replaced by one that was
			// signed with the same key.
			if e := &batch[i]; v.Why == "" && e.Number == kept.Entries && e.Sum != kept.Sum {
				v.Why = "it is not the entry of the earlier check"
			}
			if v.Why != "" {
				v.Broken = v.Entries + 1
				return v, nil
			}
			v.Entries, v.Sum = batch[i].Number, batch[i].Sum
		}
		if len(batch) < verifyBatch {
			break
		}
	}
	if v.Entries < kept.Entries {
		v.Broken, v.Why = v.Entries+1, fmt.Sprintf("it is missing: the log had %d entries before", kept.Entries)
	}
	return v, nil
}

// check returns what is wrong with the entry that follows a verified part, or "".
func (l *Log) check(v *fieldmark.AuditVerdict, e *fieldmark.AuditEntry) (why string, err error) {
	if e.Number != v.Entries+1 {
		return fmt.Sprintf("it is missing: entry %d comes next", e.Number), nil
	}
	want, err := l.sum(v.Sum, e)
	if err == nil && subtle.ConstantTimeCompare([]byte(want), []byte(e.Sum)) != 1 {
		why = "its sum is wrong: it or the entry before was changed, or the application secret is another"
	}
	return why, err
}

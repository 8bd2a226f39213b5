package origin

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
)

// Bounds of the audit log.
const (
	MaxAuditPage  = 200      // entries in one answer
	auditBatch    = 1000     // entries checked between two questions to the record
	maxAuditText  = 256      // bytes of a name, a target or a User-Agent
	maxAuditState = 16 << 10 // bytes of what something was or became: keys and endpoints have less
)

// Actor is an administrator at work: what is done under its context is written
// into the audit log, in the transaction that does it.
type Actor struct {
	Kind    fieldmark.ActorKind
	Name    string
	Address string
	Agent   string
	Request string
}

// acting is an actor and whether what it does was noted.
type acting struct {
	Actor
	noted atomic.Bool
}

type actorKey struct{}

// As returns a context under which a acts.
func As(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, &acting{Actor: a})
}

func actorOf(ctx context.Context) *acting {
	a, _ := ctx.Value(actorKey{}).(*acting)
	return a
}

// did adds to the audit log what the actor of ctx does; nothing where nobody
// does. Before and after are what is acted on as it may be shown, or nil.
func (s *Service) did(ctx context.Context, tx *store.Tx, act, target string, before, after any) error {
	a := actorOf(ctx)
	if a == nil {
		return nil
	}
	e := fieldmark.AuditEntry{
		At: fieldmark.At(time.Now()), Kind: a.Kind, Actor: clip(a.Name), Act: clip(act), Target: clip(target),
		Address: clip(a.Address), Agent: clip(a.Agent), Request: clip(a.Request),
	}
	var err error
	if e.Before, err = auditState(before); err != nil {
		return fmt.Errorf("note what %s was: %w", target, err)
	}
	if e.After, err = auditState(after); err != nil {
		return fmt.Errorf("note what %s became: %w", target, err)
	}
	last, err := tx.LastAudit(ctx)
	if err != nil {
		return err
	}
	e.Number = last.Number + 1
	if e.Sum, err = s.vault.auditSum(last.Sum, &e); err != nil {
		return err
	}
	if err := tx.AddAudit(ctx, &e); err != nil {
		return err
	}
	a.noted.Store(true)
	return nil
}

// Note adds an act of the actor of ctx to the audit log, unless what was done
// under ctx is in it already.
func (s *Service) Note(ctx context.Context, act, target string) error {
	if a := actorOf(ctx); a == nil || a.noted.Load() {
		return nil
	}
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error { return s.did(ctx, tx, act, target, nil, nil) })
}

// clip bounds a text from outside and makes it one that every engine keeps as it is.
func clip(s string) string {
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "")
	if len(s) <= maxAuditText {
		return s
	}
	end := maxAuditText
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}

func auditState(v any) (json.RawMessage, error) {
	if v == nil {
		return nil, nil
	}
	b, err := json.Marshal(v)
	if err == nil && len(b) > maxAuditState {
		sum := sha256.Sum256(b)
		b, err = json.Marshal(map[string]any{"bytes": len(b), "digest": fieldmark.DigestOf(sum)})
	}
	return b, err
}

// auditSum is over an entry without its own sum, and the sum before it.
func (v vault) auditSum(before string, e *fieldmark.AuditEntry) (string, error) {
	unsummed := *e
	unsummed.Sum = before
	b, err := json.Marshal(unsummed)
	if err != nil {
		return "", fmt.Errorf("sum entry %d of the audit log: %w", e.Number, err)
	}
	h := hmac.New(sha256.New, v.audit)
	h.Write(b)
	return base64.StdEncoding.EncodeToString(h.Sum(nil)), nil
}

// AuditLog lists entries before a number, the newest first; 0 begins at the
// newest. Actor and target narrow the list where they are not empty.
func (s *Service) AuditLog(ctx context.Context, before int64, actor, target string, limit int) ([]fieldmark.AuditEntry, error) {
	return s.store.AuditsBefore(ctx, before, clip(actor), clip(target), min(max(limit, 1), MaxAuditPage+1))
}

// VerifyAuditLog reads the whole audit log and says whether every sum holds. What
// was cut off its end shows only to who kept an earlier verdict: a log that holds
// it has an entry of that number with that sum, which kept asks for.
func (s *Service) VerifyAuditLog(ctx context.Context, kept fieldmark.AuditVerdict) (v fieldmark.AuditVerdict, err error) {
	for {
		batch, err := s.store.AuditsAfter(ctx, v.Entries, auditBatch)
		if err != nil {
			return v, err
		}
		for i := range batch {
			if v.Why, err = s.judge(&v, &batch[i]); err != nil {
				return v, err
			}
			if e := &batch[i]; v.Why == "" && e.Number == kept.Entries && e.Sum != kept.Sum {
				v.Why = "it is not the entry that was noted down"
			}
			if v.Why != "" {
				v.Broken = v.Entries + 1
				return v, nil
			}
			v.Entries, v.Sum = batch[i].Number, batch[i].Sum
		}
		if len(batch) < auditBatch {
			break
		}
	}
	if v.Entries < kept.Entries {
		v.Broken, v.Why = v.Entries+1, fmt.Sprintf("it is gone: the log had %d entries once", kept.Entries)
	}
	return v, nil
}

// judge says what is wrong with the entry after those that hold.
func (s *Service) judge(v *fieldmark.AuditVerdict, e *fieldmark.AuditEntry) (why string, err error) {
	if e.Number != v.Entries+1 {
		return fmt.Sprintf("it is gone: entry %d comes next", e.Number), nil
	}
	want, err := s.vault.auditSum(v.Sum, e)
	if err == nil && subtle.ConstantTimeCompare([]byte(want), []byte(e.Sum)) != 1 {
		why = "its sum does not hold: it or the one before was changed, or the application secret is another"
	}
	return why, err
}

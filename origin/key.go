package origin

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
)

// MaxKeys bounds a list of keys.
const MaxKeys = 1000

// useNotedEvery is how exact the last use of a key is: a write per request would
// cost more than the request.
const useNotedEvery = time.Minute

// CreateKey makes a key for an account. Its token is in the answer and nowhere else.
func (s *Service) CreateKey(ctx context.Context, account string, r fieldmark.KeyRequest) (fieldmark.NewKey, error) {
	if err := invalid(checkKey(&r)); err != nil {
		return fieldmark.NewKey{}, err
	}
	token := fieldmark.NewKeyToken(
		randomBase62(fieldmark.Base62, fieldmark.KeyPublicChars),
		randomBase62(fieldmark.Base62, fieldmark.KeySecretChars))
	now := time.Now()
	row := store.Key{
		Key: fieldmark.Key{
			ID: newID(fieldmark.PrefixKey, now), Prefix: token.Public(), Account: account,
			Name: r.Name, Scopes: r.Scopes, CreatedAt: fieldmark.At(now), RateLimit: r.RateLimit,
		},
		Hash: s.vault.hashToken(token.String()), HashVersion: keyHashVersion,
	}
	if r.ExpiresInDays > 0 {
		ends := fieldmark.At(now.AddDate(0, 0, r.ExpiresInDays))
		row.ExpiresAt = &ends
	}
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := hasAccount(ctx, tx, account); err != nil {
			return err
		}
		return tx.AddKey(ctx, &row)
	})
	if err != nil {
		return fieldmark.NewKey{}, fmt.Errorf("create a key: %w", err)
	}
	return fieldmark.NewKey{Key: row.Key, Token: token.String()}, nil
}

// checkKey returns every complaint about a key request and fills in its default life.
func checkKey(r *fieldmark.KeyRequest) []fieldmark.FieldError {
	var bad complaints
	if n := utf8.RuneCountInString(r.Name); n == 0 || n > fieldmark.MaxKeyName || !plain(r.Name, false) {
		bad.add("/name", "range", fmt.Sprintf("must have 1 to %d characters", fieldmark.MaxKeyName))
	}
	if len(r.Scopes) == 0 {
		bad.add("/scopes", "required", "at least one scope is required")
	}
	for i, sc := range r.Scopes {
		if _, err := fieldmark.ParseScope(string(sc)); err != nil {
			bad.add(fmt.Sprintf("/scopes/%d", i), "enum", fmt.Sprintf("must be one of %v", fieldmark.Scopes()))
		} else if slices.Contains(r.Scopes[:i], sc) {
			bad.add(fmt.Sprintf("/scopes/%d", i), "conflict", "is there twice")
		}
	}
	if r.ExpiresInDays == 0 {
		r.ExpiresInDays = fieldmark.DefaultKeyDays
	}
	if r.ExpiresInDays < -1 || r.ExpiresInDays > fieldmark.MaxKeyDays {
		bad.add("/expiresInDays", "range", fmt.Sprintf("must be -1 for never, or 1 to %d", fieldmark.MaxKeyDays))
	}
	if l := r.RateLimit; l != nil {
		for name, n := range map[string]int{"reads": l.Reads, "writes": l.Writes} {
			if n < 0 || n > fieldmark.MaxRate {
				bad.add("/rateLimit/"+name, "range", fmt.Sprintf("must be 1 to %d a minute, or 0 for what every key may", fieldmark.MaxRate))
			}
		}
		if *l == (fieldmark.RateLimit{}) {
			r.RateLimit = nil
		}
	}
	return bad
}

// hasAccount refuses to give something to an account that is not there.
func hasAccount(ctx context.Context, tx *store.Tx, account string) error {
	ok, err := tx.HasAccount(ctx, account)
	if err == nil && !ok {
		return fieldmark.Errorf(fieldmark.CodeNotFound, "there is no such account")
	}
	return err
}

// Authenticate returns the key a token belongs to. Unknown, mistyped and revoked
// tokens get the same error after the same work.
func (s *Service) Authenticate(ctx context.Context, token string) (fieldmark.Key, error) {
	t, err := fieldmark.ParseKeyToken(token)
	if err != nil {
		return fieldmark.Key{}, err
	}
	row, err := s.store.KeyByPublic(ctx, t.Public())
	if err != nil && !errors.Is(err, store.ErrNone) {
		return fieldmark.Key{}, fmt.Errorf("authenticate: %w", err)
	}
	// A key that is not there has an empty hash, which no token has.
	right := subtle.ConstantTimeCompare([]byte(s.vault.hashToken(token)), []byte(row.Hash)) == 1
	if !right || row.HashVersion != keyHashVersion || row.RevokedAt != nil {
		return fieldmark.Key{}, fieldmark.Errorf(fieldmark.CodeInvalidAPIKey, "the API key is unknown, mistyped or revoked")
	}
	now := time.Now()
	if row.ExpiresAt != nil && !now.Before(row.ExpiresAt.Std()) {
		return fieldmark.Key{}, fieldmark.Errorf(fieldmark.CodeExpiredAPIKey, "the API key expired; ask for a new one")
	}
	if row.LastUsedAt == nil || now.Sub(row.LastUsedAt.Std()) >= useNotedEvery {
		s.uses.note(row.ID, now)
	}
	return row.Key, nil
}

// Keys lists keys, the newest first.
func (s *Service) Keys(ctx context.Context) ([]fieldmark.Key, error) {
	rows, err := s.store.Keys(ctx, MaxKeys)
	if err != nil {
		return nil, err
	}
	list := make([]fieldmark.Key, len(rows))
	for i, k := range rows {
		list[i] = k.Key
	}
	return list, nil
}

// RevokeKey ends a key's life at once. A key that was revoked stays as it is.
func (s *Service) RevokeKey(ctx context.Context, id string) (fieldmark.Key, error) {
	var key store.Key
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		if key, err = tx.Key(ctx, id); err != nil || key.RevokedAt != nil {
			return err
		}
		now := fieldmark.At(time.Now())
		key.RevokedAt = &now
		if err := tx.RevokeKey(ctx, id, now); err != nil {
			return err
		}
		e := store.Event{Event: fieldmark.Event{Type: fieldmark.EventKeyRevoked}, Subject: id}
		_, err = s.tell(ctx, tx, "", e, key.Key)
		return err
	})
	if err != nil {
		return fieldmark.Key{}, fmt.Errorf("revoke key: %w", missing(err, "there is no such key"))
	}
	return key.Key, nil
}

// uses remembers which keys and calendars were used until that is written down.
// There is one entry per each at most.
type uses struct {
	mu sync.Mutex
	at map[string]time.Time
}

func (u *uses) note(id string, at time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.at[id] = at
}

func (u *uses) take() map[string]time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	taken := u.at
	u.at = make(map[string]time.Time)
	return taken
}

// writeUses notes in the record when keys and calendars were last used.
func (s *Service) writeUses(ctx context.Context) error {
	taken := s.uses.take()
	if len(taken) == 0 {
		return nil
	}
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		for id, at := range taken {
			touch := tx.TouchKey
			if fieldmark.CheckID(fieldmark.PrefixCalendar, id) {
				touch = tx.TouchCalendar
			}
			if err := touch(ctx, id, at); err != nil {
				return err
			}
		}
		return nil
	})
}

package access

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
)

// OwnerSessionLifetime is how long a session of a brand owner lasts: a stolen cookie is useless
// after a working day.
const OwnerSessionLifetime = 12 * time.Hour

// OwnerSessions are the sessions of brand owners, who sign in with an API key. The database
// holds hashes of their tokens. A session ends with its key. Its methods may be called from any
// goroutine.
type OwnerSessions struct {
	store *store.Store
	keys  *Keys
}

// SignIn returns the token of a new session for the account of an API key. The key needs
// fieldmark.ScopeBrandManage.
func (s *OwnerSessions) SignIn(ctx context.Context, key string, by Caller) (session string, err error) {
	k, err := s.keys.Authenticate(ctx, key, by)
	if err != nil {
		return "", err
	}
	if err := requireOwner(&k.Key); err != nil {
		return "", err
	}
	token := rand.Text() + rand.Text() // 2 x 130 bits
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.AddOwnerSession(ctx, hashSession(token), k.ID, time.Now())
	})
	if err != nil {
		return "", fmt.Errorf("sign in with key %s: %w", k.ID, err)
	}
	return token, nil
}

func requireOwner(k *fieldmark.Key) error {
	if k.Allows(fieldmark.ScopeBrandManage) {
		return nil
	}
	e := fieldmark.Errorf(fieldmark.CodeInsufficientScope, "the key needs the scope %s", fieldmark.ScopeBrandManage)
	e.Scope = fieldmark.ScopeBrandManage
	return e
}

// Get returns the key of a session. If the session is unknown or has ended, or the key is
// revoked, expired or used from another network than its own, it returns
// CodeInvalidCredentials.
func (s *OwnerSessions) Get(ctx context.Context, token string, by Caller) (fieldmark.Key, error) {
	ended := fieldmark.Errorf(fieldmark.CodeInvalidCredentials, "the session has ended; sign in again")
	if token == "" || len(token) > maxPassword {
		return fieldmark.Key{}, ended
	}
	now := time.Now()
	k, err := s.store.OwnerSession(ctx, hashSession(token), now.Add(-OwnerSessionLifetime))
	if errors.Is(err, store.ErrNotFound) {
		return fieldmark.Key{}, ended
	}
	if err != nil {
		return fieldmark.Key{}, err
	}
	state := k.State(now)
	if state == fieldmark.KeyRevoked || state == fieldmark.KeyExpired || !k.Admits(by.Addr) ||
		!k.Allows(fieldmark.ScopeBrandManage) {
		return fieldmark.Key{}, ended
	}
	return k.Key, nil
}

// SignOut ends a session. A session that has ended already is no error.
func (s *OwnerSessions) SignOut(ctx context.Context, token string) error {
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.DeleteOwnerSession(ctx, hashSession(token))
	})
}

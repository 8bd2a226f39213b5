package offer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// Use returns the limits of an account and what it has used of them.
func (s *Service) Use(ctx context.Context, account string) (u fieldmark.AccountUse, err error) {
	a, err := s.store.Account(ctx, account)
	if err != nil {
		return u, err
	}
	o, err := s.store.OfferOf(ctx, account)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return u, err
	}
	// Daily limits count calendar days of UTC, numbered from 1970: every process derives the
	// same day from its clock, and no job has to reset a counter at midnight.
	const day = 24 * time.Hour
	now := time.Now()
	today := now.UnixMicro() / day.Microseconds()
	used, err := s.store.AccountUse(ctx, account, today)
	if err != nil {
		return u, err
	}
	used.ResetsAt = fieldmark.AtMicros((today + 1) * day.Microseconds())
	// An account without an offer has the zero offer without limits, so the defaults of the
	// service fill in below.
	u = fieldmark.AccountUse{ID: a.ID, Name: a.Name, Parent: a.Parent, Offer: o.Name, Limits: o.Limits, Used: used}
	if u.Limits.Endpoints == 0 {
		u.Limits.Endpoints = s.endpoints
	}
	// An offer cannot promise a longer history than the database has: the retention of the
	// service is the upper bound.
	if kept := int(s.history / day); kept > 0 && (u.Limits.HistoryDays == 0 || kept < u.Limits.HistoryDays) {
		u.Limits.HistoryDays = kept
	}
	// The list says which scopes a key of this account may have. admin:* is never part of an
	// offer, and only a top-level account manages sub-accounts: the depth of the tree is one.
	for _, scope := range fieldmark.Scopes() {
		if scope != fieldmark.ScopeAdmin && o.Allows(scope) &&
			(scope != fieldmark.ScopeAccountManage || a.Parent == "") {
			u.Scopes = append(u.Scopes, scope)
		}
	}
	return u, nil
}

// maxEverSubAccounts limits the sub-accounts of a group, removed ones included: their ids are
// never used again, because their missions stay.
const maxEverSubAccounts = 10 * fieldmark.MaxSubAccounts

// Groups manages the sub-accounts of group accounts. Every method takes the group, and treats the
// sub-accounts of others as if they did not exist. A group sees the keys of its sub-accounts, and
// not their missions.
type Groups struct {
	store    *store.Store
	auditLog *auditlog.Log
	keys     *access.Keys
}

// requireGroup returns an error unless an account may have sub-accounts. The offer may have
// changed since the key of the caller was created.
// It runs inside the transaction of the change, so an offer that is replaced meanwhile cannot
// leave a sub-account behind.
func requireGroup(ctx context.Context, tx *store.Tx, account string) error {
	a, err := tx.Account(ctx, account)
	if err != nil {
		return err
	}
	o, err := tx.OfferOf(ctx, account)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if a.Parent != "" || o.Kind != fieldmark.OfferGroup {
		return fieldmark.Errorf(fieldmark.CodeInsufficientScope, "only an account with a group offer has sub-accounts")
	}
	return nil
}

// write runs fn in a transaction of a group.
// what names the operation in errors, as in "rename a sub-account".
func (s *Groups) write(ctx context.Context, group, what string,
	fn func(ctx context.Context, tx *store.Tx) error) error {
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := requireGroup(ctx, tx, group); err != nil {
			return err
		}
		return fn(ctx, tx)
	})
	if err != nil {
		return fmt.Errorf("%s of group %s: %w", what, group, err)
	}
	return nil
}

// List returns the sub-accounts of a group by id.
// A group has at most fieldmark.MaxSubAccounts of them, so the list has no pages. Removed
// sub-accounts are not in it.
func (s *Groups) List(ctx context.Context, group string) ([]fieldmark.SubAccount, error) {
	return s.store.SubAccounts(ctx, group, time.Now(), fieldmark.MaxSubAccounts)
}

// Get returns a sub-account; one that is not of the group is CodeNotFound.
// The answer is the same for a sub-account of another group and for one that does not exist, so
// ids cannot be probed.
func (s *Groups) Get(ctx context.Context, group, id string) (fieldmark.SubAccount, error) {
	a, err := s.store.SubAccount(ctx, group, id, time.Now())
	return a, noSubAccount(err)
}

// noSubAccount turns a missing row into the CodeNotFound that callers see; other errors stay as
// they are.
func noSubAccount(err error) error { return store.NotFound(err, "there is no such sub-account") }

// Create creates a sub-account. Its id is that of the group, a dot, and the name of the request;
// administrators cannot create accounts with a dot, so nothing is revealed about other accounts.
// The key of a group may be in use at two places at once: both limits are counted in the
// transaction that inserts, and a taken id is a conflict at /id, not an overwrite.
func (s *Groups) Create(ctx context.Context, group string,
	r fieldmark.SubAccountRequest) (a fieldmark.SubAccount, err error) {
	bad := validateName(r.Name)
	id := group + "." + r.ID
	if !fieldmark.ValidAccount(r.ID) || len(r.ID) > fieldmark.MaxSubAccountName {
		bad.Add("/id", "pattern", fmt.Sprintf("must be 1 to %d of a-z, 0-9, - and _, beginning with a letter or digit",
			fieldmark.MaxSubAccountName))
	} else if len(id) > fieldmark.MaxAccountIDLength {
		bad.Add("/id", "range", fmt.Sprintf("must have at most %d characters after the id of the group",
			fieldmark.MaxAccountIDLength-len(group)-1))
	}
	if err := bad.Err(); err != nil {
		return a, err
	}
	row := fieldmark.Account{ID: id, Name: r.Name, Parent: group, CreatedAt: fieldmark.At(time.Now())}
	err = s.write(ctx, group, "create a sub-account", func(ctx context.Context, tx *store.Tx) error {
		// Two limits: live ones bound what the group can do at once, and those of all time
		// bound the rows that stay for the missions of removed ones.
		live, err := tx.CountSubAccounts(ctx, group)
		if err != nil {
			return err
		}
		ever, err := tx.CountEverSubAccounts(ctx, group)
		if err != nil {
			return err
		}
		if live >= fieldmark.MaxSubAccounts || ever >= maxEverSubAccounts {
			return fieldmark.Errorf(fieldmark.CodeTooMany,
				"a group has at most %d sub-accounts, and %d with removed ones",
				fieldmark.MaxSubAccounts, maxEverSubAccounts)
		}
		// A removed sub-account keeps its row, so its id is still taken: a new one must not
		// inherit the missions of the old.
		added, err := tx.AddAccount(ctx, row)
		if err != nil {
			return err
		}
		if !added {
			return validation.Error("/id", "conflict", "a sub-account has or had this id")
		}
		return s.auditLog.Append(ctx, tx, "account.created", id, nil, row)
	})
	return fieldmark.SubAccount{ID: id, Name: row.Name, CreatedAt: row.CreatedAt}, err
}

// validateName returns what is wrong with a display name. It counts code points, as clients do,
// and allows no line breaks: lists show a name on one line.
func validateName(name string) (bad validation.Errors) {
	if n := utf8.RuneCountInString(name); n < 1 || n > fieldmark.MaxAccountName {
		bad.Add("/name", "range", fmt.Sprintf("must have 1 to %d characters", fieldmark.MaxAccountName))
	}
	bad.Line("/name", name)
	return bad
}

// Rename changes the display name of a sub-account.
// The request may repeat the id, which many clients send back as they read it; another id is a
// conflict. A name that does not change adds no audit log entry.
func (s *Groups) Rename(ctx context.Context, group, id string,
	r fieldmark.SubAccountRequest) (a fieldmark.SubAccount, err error) {
	bad := validateName(r.Name)
	if r.ID != "" && r.ID != strings.TrimPrefix(id, group+".") {
		bad.Add("/id", "conflict", "the id cannot be changed")
	}
	if err := bad.Err(); err != nil {
		return a, err
	}
	err = s.write(ctx, group, "rename a sub-account", func(ctx context.Context, tx *store.Tx) error {
		if a, err = tx.SubAccount(ctx, group, id, time.Now()); err != nil {
			return noSubAccount(err)
		}
		if a.Name == r.Name {
			return nil
		}
		old := a
		a.Name = r.Name
		if err := tx.RenameAccount(ctx, id, r.Name); err != nil {
			return err
		}
		return s.auditLog.Append(ctx, tx, "account.updated", id, old, a)
	})
	return a, err
}

// Remove removes a sub-account: its keys are revoked and its endpoints deleted. Its missions stay,
// and administrators can finish them.
// Everything happens in one transaction, so no key of the sub-account works after the response,
// and a failure leaves it as it was.
func (s *Groups) Remove(ctx context.Context, group, id string) error {
	const reason = "the sub-account was removed"
	return s.write(ctx, group, "remove a sub-account", func(ctx context.Context, tx *store.Tx) error {
		now := time.Now()
		a, err := tx.SubAccount(ctx, group, id, now)
		if err != nil {
			return noSubAccount(err)
		}
		if err := s.keys.RevokeAll(ctx, tx, id, reason); err != nil {
			return err
		}
		endpoints, err := tx.Subscribers(ctx, id, now)
		if err != nil {
			return err
		}
		// The list is the cache of the transaction, which each deletion changes: iterate over a
		// copy.
		for _, e := range slices.Clone(endpoints) {
			if _, err := tx.DeleteEndpoint(ctx, e.ID, reason, now); err != nil {
				return err
			}
		}
		if err := tx.RemoveSubAccount(ctx, id, now); err != nil {
			return err
		}
		return s.auditLog.Append(ctx, tx, "account.removed", id, a, nil)
	})
}

// Keys lists the keys of a sub-account, the newest first, revoked and expired ones included.
// The keys have no secrets: those are shown once, when a key is created.
func (s *Groups) Keys(ctx context.Context, group, id string) ([]fieldmark.Key, error) {
	if _, err := s.Get(ctx, group, id); err != nil {
		return nil, err
	}
	rows, err := s.store.KeysOf(ctx, id, access.MaxKeys)
	keys := make([]fieldmark.Key, len(rows))
	for i, k := range rows {
		keys[i] = k.Key
	}
	return keys, err
}

// CreateKey creates a key of a sub-account. The offer of the group must allow its scopes, and it
// never has account:manage or admin:*: a sub-account must not reach its siblings. The account in
// the request must be empty or the sub-account.
// The response is the only one with the secret of the key.
func (s *Groups) CreateKey(ctx context.Context, group, id string,
	r fieldmark.KeyRequest) (k fieldmark.NewKey, err error) {
	var bad validation.Errors
	for i, scope := range r.Scopes {
		if scope == fieldmark.ScopeAdmin || scope == fieldmark.ScopeAccountManage {
			bad.Add(fmt.Sprintf("/scopes/%d", i), "conflict", "a key of a sub-account cannot have this scope")
		}
	}
	if r.Account != "" && r.Account != id {
		bad.Add("/account", "conflict", "must be the sub-account of the address, or left out")
	}
	if err := bad.Err(); err != nil {
		return k, err
	}
	err = s.write(ctx, group, "create a key", func(ctx context.Context, tx *store.Tx) error {
		a, err := tx.SubAccount(ctx, group, id, time.Now())
		if err != nil {
			return noSubAccount(err)
		}
		// Counted in the transaction that adds the key, so concurrent requests cannot exceed
		// it.
		if a.Keys >= fieldmark.MaxSubAccountKeys {
			return fieldmark.Errorf(fieldmark.CodeTooMany, "a sub-account has at most %d live keys",
				fieldmark.MaxSubAccountKeys)
		}
		k, err = s.keys.CreateIn(ctx, tx, id, r)
		return err
	})
	return k, err
}

// RevokeKey revokes a key of a sub-account. A key of another account is CodeNotFound.
// Revoking a revoked key again succeeds and changes nothing, so a client may repeat the
// request.
func (s *Groups) RevokeKey(ctx context.Context, group, id, key string) error {
	return s.write(ctx, group, "revoke a key", func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.SubAccount(ctx, group, id, time.Now()); err != nil {
			return noSubAccount(err)
		}
		k, err := tx.Key(ctx, key)
		if errors.Is(err, store.ErrNotFound) || err == nil && k.Account != id {
			return fieldmark.Errorf(fieldmark.CodeNotFound, "there is no such key")
		}
		if err != nil || k.RevokedAt != nil {
			return err
		}
		_, err = s.keys.RevokeIn(ctx, tx, k, "revoked by the group")
		return err
	})
}

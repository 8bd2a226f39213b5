package access

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/keyring"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
)

const (
	// MaxKeys limits a list of keys.
	MaxKeys = 1000
	// MaxLiveKeys is how many live keys an account may have: one for each program and
	// environment is far fewer. A stolen admin key cannot fill the list.
	MaxLiveKeys = 100
)

// keyHashVersion marks the hashes of API keys, should their MAC change.
const keyHashVersion = 1

// Keys are the API keys. A key is shown once, when it is created; the database holds
// its MAC, so that neither a copy of the database nor write access to it yields one.
type Keys struct {
	store    *store.Store
	auditLog *auditlog.Log
	mac      keyring.MAC
	lastUsed LastUsed
}

// Create creates a key for an account, or for the account of the request if account is empty.
// The response is the only place that has its token. An account that does not exist is
// CodeNotFound; one with MaxLiveKeys live keys is a conflict.
func (s *Keys) Create(ctx context.Context, account string, r fieldmark.KeyRequest) (fieldmark.NewKey, error) {
	return s.create(ctx, account, r, nil)
}

// CreateAfter is Create for an HTML form. It returns CodeVersionMismatch unless newest
// is still the id of the newest key ("" for none): a form that is submitted twice, or
// reloaded, creates one key. A nil newest is no condition.
func (s *Keys) CreateAfter(ctx context.Context, newest *string, r fieldmark.KeyRequest) (fieldmark.NewKey, error) {
	return s.create(ctx, "", r, newest)
}

func (s *Keys) create(ctx context.Context, account string, r fieldmark.KeyRequest, newest *string) (k fieldmark.NewKey,
	err error) {
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := validation.IsNewest(ctx, newest, tx.NewestKey); err != nil {
			return err
		}
		k, err = s.CreateIn(ctx, tx, account, r)
		return err
	})
	return k, err
}

// CreateIn is Create in a transaction.
// The limit is checked in it, so that two requests at once cannot both add the last key.
func (s *Keys) CreateIn(ctx context.Context, tx *store.Tx, account string,
	r fieldmark.KeyRequest) (fieldmark.NewKey, error) {
	if err := validation.Errors(ValidateKey(&r)).Err(); err != nil {
		return fieldmark.NewKey{}, err
	}
	account = cmp.Or(account, r.Account, DefaultAccount)
	now := time.Now()
	row, token := s.newKey(now, r.Test)
	row.Account, row.Name, row.Scopes, row.RateLimit = account, r.Name, r.Scopes, r.RateLimit
	row.Networks, _ = parseNetworks(r.Networks) // ValidateKey has checked them
	row.Agent, row.AgentWritesPerDay = r.Agent, r.AgentWritesPerDay
	if r.ExpiresInDays > 0 {
		ends := fieldmark.At(now.AddDate(0, 0, r.ExpiresInDays))
		row.ExpiresAt = &ends
	}
	err := RequireAccount(ctx, tx, account)
	if err == nil {
		err = CheckOffer(ctx, tx, account, r.Scopes, r.ExpiresInDays)
	}
	if err == nil && r.Test {
		row.Account, row.Test, err = fieldmark.TestAccount(account), true, makeWorld(ctx, tx, account, now)
	}
	if err == nil {
		err = requireKeys(ctx, tx, row.Account, now, 1)
	}
	if err == nil {
		err = tx.AddKey(ctx, &row)
	}
	if err == nil {
		err = s.auditLog.Append(ctx, tx, "api_key.created", row.ID, nil, row.Key)
	}
	if err != nil {
		return fieldmark.NewKey{}, fmt.Errorf("create a key: %w", err)
	}
	return fieldmark.NewKey{Key: row.Key, Token: token}, nil
}

// requireKeys returns an error unless an account has fewer live keys than times the limit of its
// kind, which is lower for accounts that claims made: anyone with a website can have one.
func requireKeys(ctx context.Context, tx *store.Tx, account string, now time.Time, times int) error {
	small, err := tx.MadeByClaim(ctx, account)
	if err != nil {
		return err
	}
	limit := times * MaxLiveKeys
	switch {
	case small:
		limit = fieldmark.ClaimKeys
	case fieldmark.IsTestAccount(account):
		limit = times * fieldmark.TestKeys
	}
	n, err := tx.LiveKeys(ctx, account, now)
	if err == nil && n >= limit {
		return validation.Error("", "conflict", fmt.Sprintf("an account has at most %d live keys", limit))
	}
	return err
}

// RevokeAll ends all keys of an account at once, in the transaction of the reason.
// Each has an entry and an event, as if it had been revoked alone.
func (s *Keys) RevokeAll(ctx context.Context, tx *store.Tx, account, reason string) error {
	keys, err := tx.RevokeKeys(ctx, account, fieldmark.At(time.Now()), reason)
	if err != nil {
		return err
	}
	for _, k := range keys {
		if err := s.auditLog.Append(ctx, tx, "api_key.revoked", k.ID, nil, k.Key); err != nil {
			return err
		}
		e := store.Event{Event: fieldmark.Event{Type: fieldmark.EventKeyRevoked}, Subject: k.ID}
		if _, err := event.Emit(ctx, tx, "", e, k.Key); err != nil {
			return err
		}
	}
	return nil
}

// newKey returns a random token and the row that stores its MAC. The public part of the token
// finds the row, so that authentication reads one row by an index; the MAC of the whole token
// is what must match.
// A MAC is enough where a password needs argon2id: the token has 190 random bits, and every
// request would have to wait for the hash.
func (s *Keys) newKey(now time.Time, test bool) (row store.Key, token string) {
	newToken := fieldmark.NewKeyToken
	if test {
		newToken = fieldmark.NewTestKeyToken
	}
	t := newToken(
		randomBase62(fieldmark.Base62, fieldmark.KeyPublicChars),
		randomBase62(fieldmark.Base62, fieldmark.KeySecretChars))
	return store.Key{
		Key: fieldmark.Key{ID: fieldmark.NewID(fieldmark.PrefixKey, now), Prefix: t.Public(),
			CreatedAt: fieldmark.At(now)},
		Hash: s.mac.Sum(t.String()), HashVersion: keyHashVersion,
	}, t.String()
}

// ValidateKey returns everything that is wrong with a request, and sets its defaults.
// A default lifetime exists because keys without an end are never rotated.
func ValidateKey(r *fieldmark.KeyRequest) []fieldmark.FieldError {
	var bad validation.Errors
	if n := utf8.RuneCountInString(r.Name); n == 0 || n > fieldmark.MaxKeyName || !validation.IsText(r.Name, false) {
		bad.Add("/name", "range", fmt.Sprintf("must have 1 to %d characters", fieldmark.MaxKeyName))
	}
	if len(r.Scopes) == 0 {
		bad.Add("/scopes", "required", "at least one scope is required")
	}
	for i, sc := range r.Scopes {
		if _, err := fieldmark.ParseScope(string(sc)); err != nil {
			bad.Add(fmt.Sprintf("/scopes/%d", i), "enum", fmt.Sprintf("must be one of %v", fieldmark.Scopes()))
		} else if slices.Contains(r.Scopes[:i], sc) {
			bad.Add(fmt.Sprintf("/scopes/%d", i), "conflict", "is listed twice")
		}
	}
	if r.ExpiresInDays == 0 {
		r.ExpiresInDays = fieldmark.DefaultKeyDays
		if r.Test {
			r.ExpiresInDays = fieldmark.TestKeyDays
		}
	}
	if r.Test {
		bad = append(bad, validateTestKey(r)...)
	}
	if r.ExpiresInDays < -1 || r.ExpiresInDays > fieldmark.MaxKeyDays {
		bad.Add("/expiresInDays", "range", fmt.Sprintf("must be -1 for never, or 1 to %d", fieldmark.MaxKeyDays))
	}
	if l := r.RateLimit; l != nil {
		for name, n := range map[string]int{"reads": l.Reads, "writes": l.Writes} {
			if n < 0 || n > fieldmark.MaxRate {
				bad.Add("/rateLimit/"+name, "range",
					fmt.Sprintf("must be 1 to %d a minute, or 0 for the default of all keys", fieldmark.MaxRate))
			}
		}
		if *l == (fieldmark.RateLimit{}) {
			r.RateLimit = nil
		}
	}
	r.Agent = cmp.Or(r.Agent, fieldmark.AgentDry)
	if r.Agent != fieldmark.AgentOff && r.Agent != fieldmark.AgentDry && r.Agent != fieldmark.AgentWrite {
		bad.Add("/agent", "enum", "must be off, dry or write")
	}
	r.AgentWritesPerDay = cmp.Or(r.AgentWritesPerDay, fieldmark.DefaultAgentWrites)
	if r.AgentWritesPerDay < 1 || r.AgentWritesPerDay > fieldmark.MaxAgentWrites {
		bad.Add("/agentWritesPerDay", "range", fmt.Sprintf("must be 1 to %d", fieldmark.MaxAgentWrites))
	}
	_, wrong := parseNetworks(r.Networks)
	return append(bad, wrong...)
}

// parseNetworks parses networks in CIDR notation. A single address is a network of one
// address.
// IPv4 addresses mapped into IPv6 are refused: they never match, since the edge unmaps the
// client's address.
func parseNetworks(list []string) (networks []netip.Prefix, bad validation.Errors) {
	if len(list) > fieldmark.MaxKeyNetworks {
		bad.Add("/networks", "too_long", fmt.Sprintf("at most %d", fieldmark.MaxKeyNetworks))
		return nil, bad
	}
	for i, text := range list {
		p, err := netip.ParsePrefix(text)
		if addr, aerr := netip.ParseAddr(text); aerr == nil && addr.Zone() == "" {
			p, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		if err != nil || p.Addr().Is4In6() {
			bad.Add(fmt.Sprintf("/networks/%d", i), "format",
				"must be an address or a network, as in 192.0.2.0/24 or 2001:db8::/32")
			continue
		}
		networks = append(networks, p.Masked())
	}
	return networks, bad
}

// Authenticate returns the key of a token. Unknown, mistyped and revoked tokens get the same
// error after the same work, so that the response time does not reveal which case applies. An
// active key that is used from a network outside its list is returned together with the error.
// The scopes of the key are checked by the caller; those that the offer of the account does not
// allow are left out. A key in the grace period after its rotation is valid.
func (s *Keys) Authenticate(ctx context.Context, token string, by Caller) (Authenticated, error) {
	t, err := fieldmark.ParseKeyToken(token)
	if err != nil {
		return Authenticated{}, err
	}
	row, err := s.store.KeyByPublic(ctx, t.Public())
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return Authenticated{}, fmt.Errorf("authenticate: %w", err)
	}
	// A key that does not exist has an empty hash, which no token has.
	right := subtle.ConstantTimeCompare([]byte(s.mac.Sum(token)), []byte(row.Hash)) == 1
	if !right || row.HashVersion != keyHashVersion || row.RevokedAt != nil {
		return Authenticated{}, errInvalidKey()
	}
	return s.admit(&row, by)
}

// errInvalidKey is the same for all keys that are not valid, so that a caller cannot distinguish them.
func errInvalidKey() error {
	return fieldmark.Errorf(fieldmark.CodeInvalidAPIKey, "the API key is unknown, mistyped or revoked")
}

// AuthenticateID is Authenticate for a request that an edge authenticated by the token of a key and
// accepted: it may have been revoked or changed since. The caller must have verified that it serves
// an edge. A key that was revoked is returned together with the error, for its account.
func (s *Keys) AuthenticateID(ctx context.Context, id string, by Caller) (Authenticated, error) {
	row, err := s.store.KeyWithOffer(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return Authenticated{}, errInvalidKey()
	case err != nil:
		return Authenticated{}, fmt.Errorf("authenticate: %w", err)
	case row.RevokedAt != nil:
		return Authenticated{Key: row.Key}, errInvalidKey()
	}
	k, err := s.admit(&row, by)
	k.Key.Account, k.ID = row.Account, row.ID // also of a key that expired
	return k, err
}

// admit applies the limits of a key that its caller has proved to have.
func (s *Keys) admit(row *store.Key, by Caller) (Authenticated, error) {
	now := time.Now()
	if row.ExpiresAt != nil && !now.Before(row.ExpiresAt.Std()) {
		return Authenticated{}, fieldmark.Errorf(fieldmark.CodeExpiredAPIKey, "the API key expired; ask for a new one")
	}
	if !row.Admits(by.Addr) {
		return Authenticated{Key: row.Key}, fieldmark.Errorf(fieldmark.CodeIPNotAllowed,
			"the API key may not be used from this address")
	}
	// One write a minute for each key, however often it is used.
	if row.LastUsedAt == nil || now.Sub(row.LastUsedAt.Std()) >= LastUsedPrecision {
		s.lastUsed.Record(row.ID, Use{At: now, Network: networkOf(by.Addr), Agent: auditlog.Clip(by.Agent)})
	}
	return authenticated(row), nil
}

// Authenticated is a key that a caller has proved to have.
type Authenticated struct {
	fieldmark.Key
	Group string // the account whose limits apply: the parent of the key's account, or that account
	// requests a minute of all keys of the group together; 0: no such limit
	GroupRate fieldmark.RateLimit
}

// authenticated returns a key with the limits of its account's offer.
func authenticated(row *store.Key) Authenticated {
	a := Authenticated{Key: row.Key, Group: row.Group, GroupRate: fieldmark.RateLimit{
		Reads: row.Offer.Limits.ReadsPerMinute, Writes: row.Offer.Limits.WritesPerMinute}}
	if row.Test {
		a.GroupRate = fieldmark.RateLimit{Reads: fieldmark.TestReads, Writes: fieldmark.TestWrites}
	}
	forbidden := func(s fieldmark.Scope) bool { return !row.Offer.Allows(s) }
	if row.Offer.Kind != "" && slices.ContainsFunc(row.Scopes, forbidden) {
		a.Scopes = slices.DeleteFunc(slices.Clone(row.Scopes), forbidden) // callers share the row
	}
	return a
}

// List returns keys, the newest first. Keys that are revoked or expired are included. There are
// at most MaxKeys.
func (s *Keys) List(ctx context.Context) ([]fieldmark.Key, error) {
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

// Revoke ends a key at once. Revoking it again changes nothing. Origins read the key from the
// database for each request, so none accepts it after the commit.
func (s *Keys) Revoke(ctx context.Context, id, reason string) (fieldmark.Key, error) {
	if utf8.RuneCountInString(reason) > fieldmark.MaxRevokeReason || !validation.IsText(reason, false) {
		return fieldmark.Key{},
			validation.Error("/reason", "range",
				fmt.Sprintf("must have at most %d characters in one line", fieldmark.MaxRevokeReason))
	}
	var key store.Key
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		if key, err = tx.Key(ctx, id); err != nil || key.RevokedAt != nil {
			return err
		}
		key, err = s.RevokeIn(ctx, tx, key, reason)
		return err
	})
	if err != nil {
		return fieldmark.Key{}, fmt.Errorf("revoke key: %w", store.NotFound(err, "there is no such key"))
	}
	return key.Key, nil
}

// RevokeIn revokes a live key in a transaction.
func (s *Keys) RevokeIn(ctx context.Context, tx *store.Tx, key store.Key, reason string) (store.Key, error) {
	before, now := key.Key, fieldmark.At(time.Now())
	key.RevokedAt, key.RevokedReason = &now, reason
	if err := tx.RevokeKey(ctx, key.ID, now, reason); err != nil {
		return key, err
	}
	if err := s.auditLog.Append(ctx, tx, "api_key.revoked", key.ID, before, key.Key); err != nil {
		return key, err
	}
	e := store.Event{Event: fieldmark.Event{Type: fieldmark.EventKeyRevoked}, Subject: key.ID}
	_, err := event.Emit(ctx, tx, "", e, key.Key)
	return key, err
}

// Rotate creates a key with the account, scopes, limits and lifetime of another, as far as the
// offer of the account allows them now. The old key works for the grace period, and until its own
// expiry at the latest. Both are live in the grace period, so that a fleet of programs can switch
// one by one. A key that is not live is CodeKeyNotLive, and one whose scopes the offer has all
// lost CodeInsufficientScope.
func (s *Keys) Rotate(ctx context.Context, id string, r fieldmark.KeyRotation) (created fieldmark.NewKey, err error) {
	hours := fieldmark.DefaultGrace
	if r.GraceHours != nil {
		hours = *r.GraceHours
	}
	if hours < 0 || hours > fieldmark.MaxGraceHours {
		return created,
			validation.Error("/graceHours", "range", fmt.Sprintf("must be 0 to %d", fieldmark.MaxGraceHours))
	}
	now := time.Now()
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		old, err := tx.Key(ctx, id)
		if err != nil {
			return store.NotFound(err, "there is no such key")
		}
		if state := old.State(now); state != fieldmark.KeyLive {
			return fieldmark.Errorf(fieldmark.CodeKeyNotLive, "the key is %s; only one that is live can be rotated",
				state)
		}
		row, token := s.newKey(now, old.Test)
		row.Account, row.Name, row.Scopes, row.RateLimit, row.Networks = old.Account, old.Name, old.Scopes,
			old.RateLimit,
			old.Networks
		row.Agent, row.AgentWritesPerDay, row.Replaces = old.Agent, old.AgentWritesPerDay, old.ID
		if old.ExpiresAt != nil {
			ends := fieldmark.At(now.Add(old.ExpiresAt.Std().Sub(old.CreatedAt.Std())))
			row.ExpiresAt = &ends
		}
		if err := limitKey(ctx, tx, &row, now); err != nil {
			return err
		}
		// Twice the limit, so that an account at its limit can rotate all of its keys.
		if err := requireKeys(ctx, tx, old.Account, now, 2); err != nil {
			return err
		}
		if err := tx.AddKey(ctx, &row); err != nil {
			return err
		}
		ends := fieldmark.At(now.Add(time.Duration(hours) * time.Hour))
		if old.ExpiresAt != nil && old.ExpiresAt.Std().Before(ends.Std()) {
			ends = *old.ExpiresAt
		}
		if err := tx.ReplaceKey(ctx, old.ID, row.ID, fieldmark.At(now), &ends); err != nil {
			return err
		}
		row.Test = old.Test
		created = fieldmark.NewKey{Key: row.Key, Token: token}
		return s.auditLog.Append(ctx, tx, "api_key.rotated", old.ID, old.Key, row.Key)
	})
	if err != nil {
		return fieldmark.NewKey{}, fmt.Errorf("rotate key: %w", err)
	}
	return created, nil
}

// expiryNotices returns when accounts are notified, in days before a key expires. The
// later notice comes first: a key with a shorter lifetime gets the one that is true.
func expiryNotices() []int { return []int{3, 14} }

// maxNotices limits the keys of one transaction, because other writers wait for it.
const maxNotices = 200

// notifyExpiring emits api_key.expiring for keys that expire within 14 or 3 days, once for
// each. The event and the mark that it was emitted are committed together, so several processes
// may run it.
// The mark is a number of days, so that a key that got the notice of 14 days still gets that of 3.
func (s *Keys) notifyExpiring(ctx context.Context) error {
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		now := time.Now()
		for _, days := range expiryNotices() {
			keys, err := tx.ExpiringKeys(ctx, now, now.AddDate(0, 0, days), days, maxNotices)
			if err != nil {
				return err
			}
			for _, k := range keys {
				left := int(k.ExpiresAt.Std().Sub(now)/(24*time.Hour)) + 1
				e := store.Event{Event: fieldmark.Event{Type: fieldmark.EventKeyExpiring}, Subject: k.ID}
				notice := fieldmark.KeyExpiring{KeyID: k.ID, Name: k.Name, Prefix: k.Prefix, ExpiresAt: *k.ExpiresAt,
					DaysLeft: left}
				if _, err := event.Emit(ctx, tx, k.Account, e, notice); err != nil {
					return err
				}
				if err := tx.MarkExpiryNotified(ctx, k.ID, days); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// writeLastUsed writes when keys were last used.
func (s *Keys) writeLastUsed(ctx context.Context) error {
	return s.lastUsed.Write(ctx, s.store, func(ctx context.Context, tx *store.Tx, id string, u Use) error {
		return tx.TouchKey(ctx, id, u.At, u.Network, u.Agent)
	})
}

// randomBase62 returns n random characters of alphabet, uniformly distributed.
func randomBase62(alphabet string, n int) string {
	limit := byte(256 / len(alphabet) * len(alphabet)) // higher bytes would make the first characters more likely
	out := make([]byte, 0, n)
	var pool [64]byte
	for len(out) < n {
		rand.Read(pool[:]) // never fails (crypto/rand)
		for _, b := range pool {
			if b < limit && len(out) < n {
				out = append(out, alphabet[int(b)%len(alphabet)])
			}
		}
	}
	return string(out)
}

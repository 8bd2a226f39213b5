package portal

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/keyring"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
	"github.com/fieldmark/fieldmark/origin/webhook"
)

const (
	// defaultMinutes is long enough to open a link that a program has just shown.
	defaultMinutes = 15
	maxMinutes     = 60
	// maxEndpoints limits the endpoints that a link names.
	maxEndpoints = 10
	maxReturnURL = 2048 // bytes
	// MaxLiveLinks limits the links of an account that have not ended: a program that creates one for each
	// page view is a mistake.
	MaxLiveLinks = 1000
	// sessionLifetime is how long a stolen cookie is useful.
	sessionLifetime = time.Hour
	// keptLinks is how long a link that has ended has another error than one that never existed.
	keptLinks = 7 * 24 * time.Hour
	// tokenChars is the length of a token and of a cookie: 256 bits in base64url without padding.
	tokenChars = 43
)

// LinksConfig configures Links. All fields are required.
type LinksConfig struct {
	Store    *store.Store
	MAC      keyring.MAC
	AuditLog *auditlog.Log
	Webhooks *webhook.Service
}

// Links creates portal links and holds the sessions that they begin. The database has hashes of their
// tokens and cookies. Its methods may be called from any goroutine.
type Links struct{ cfg LinksConfig }

// NewLinks returns Links, which start nothing.
func NewLinks(cfg LinksConfig) *Links { return &Links{cfg} }

// newToken returns a token or a cookie.
func newToken() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// hash returns what the database keeps of a token or cookie. It is keyed, so a copy of the database opens no page, and
// kind makes a token useless as a cookie: the token is in the address bar and in logs of others.
func (s *Links) hash(kind, token string) string { return s.cfg.MAC.Sum(kind + " " + token) }

// Create creates a link for the account of an API key. The link is revoked with the key. The URL in the
// result is a path.
func (s *Links) Create(ctx context.Context, k *fieldmark.Key, r fieldmark.PortalLinkRequest) (
	fieldmark.PortalLink, error,
) {
	if err := Validate(&r).Err(); err != nil {
		return fieldmark.PortalLink{}, err
	}
	now, token := time.Now(), newToken()
	if r.Minutes == 0 {
		r.Minutes = defaultMinutes
	}
	l := store.PortalLink{ID: fieldmark.NewID(fieldmark.PrefixPortal, now), Account: k.Account, KeyID: k.ID,
		Hash: s.hash("token", token), PortalLinkRequest: r, CreatedAt: fieldmark.At(now),
		ExpiresAt: fieldmark.At(now.Add(time.Duration(r.Minutes) * time.Minute))}
	if err := s.checkEndpoints(ctx, &l); err != nil {
		return fieldmark.PortalLink{}, err
	}
	err := s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		n, err := tx.CountPortalLinks(ctx, l.Account, now)
		if err != nil {
			return err
		}
		if n >= MaxLiveLinks {
			return fieldmark.Errorf(fieldmark.CodeTooMany, "an account has at most %d links that have not ended",
				MaxLiveLinks)
		}
		if err := tx.AddPortalLink(ctx, &l, now.Add(-keptLinks)); err != nil {
			return err
		}
		return s.cfg.AuditLog.Append(ctx, tx, "portal_link.created", l.ID, nil, l.PortalLinkRequest)
	})
	if err != nil {
		return fieldmark.PortalLink{}, fmt.Errorf("create a portal link: %w", err)
	}
	return fieldmark.PortalLink{URL: fieldmark.PathPortal + token, ExpiresAt: l.ExpiresAt}, nil
}

// checkEndpoints returns the errors of the endpoints that a link names: those of another account or
// another customer do not exist for it.
func (s *Links) checkEndpoints(ctx context.Context, l *store.PortalLink) error {
	var bad validation.Errors
	for i, id := range l.Endpoints {
		e, err := s.cfg.Webhooks.Endpoint(ctx, l.Account, id)
		if err != nil && !fieldmark.IsCode(err, fieldmark.CodeNotFound) {
			return err
		}
		if err != nil || !opens(l, &e) {
			bad.Add(fmt.Sprintf("/endpoints/%d", i), "not_found", "there is no such endpoint")
		}
	}
	return bad.Err()
}

// Validate returns every error of a request that its schema cannot express.
func Validate(r *fieldmark.PortalLinkRequest) validation.Errors {
	bad := webhook.CheckFilter("", r.Customer, r.Filter)
	if len(r.Endpoints) > maxEndpoints {
		bad.Add("/endpoints", "too_long", fmt.Sprintf("at most %d endpoints", maxEndpoints))
	}
	if r.Minutes < 0 || r.Minutes > maxMinutes {
		bad.Add("/minutes", "range", fmt.Sprintf("must be 1 to %d", maxMinutes))
	}
	if r.ReturnURL != "" {
		u, err := url.Parse(r.ReturnURL)
		if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || len(r.ReturnURL) > maxReturnURL {
			bad.Add("/returnUrl", "format", fmt.Sprintf("must be an https address of at most %d bytes, without a user "+
				"name", maxReturnURL))
		}
	}
	return bad
}

// opens reports whether a link gives access to an endpoint.
func opens(l *store.PortalLink, e *fieldmark.Endpoint) bool {
	return e.Account == l.Account && (l.Customer == "" || e.Customer == l.Customer) &&
		(len(l.Endpoints) == 0 || slices.Contains(l.Endpoints, e.ID))
}

// reader reads links and keys, within a transaction or without one.
type reader interface {
	PortalLink(ctx context.Context, hash string) (store.PortalLink, error)
	Key(ctx context.Context, id string) (store.Key, error)
}

// errNoLink is also returned for text that cannot be a token, so that a guess reveals nothing.
func errNoLink() error {
	return fieldmark.Errorf(fieldmark.CodeNotFound, "There is no page at this address.")
}

// errUsedLink does not distinguish whether the link expired, was used or lost its key: in each case a new one is
// needed.
func errUsedLink() error {
	return fieldmark.Errorf(fieldmark.CodeLinkExpired,
		"It works once, for a short time. Open the page again from where you got the link.")
}

// unspent returns the link of a token. An unknown one is CodeNotFound; one that has ended, was spent, or
// whose key no longer works is CodeLinkExpired.
func (s *Links) unspent(ctx context.Context, db reader, token string) (store.PortalLink, error) {
	if len(token) != tokenChars {
		return store.PortalLink{}, errNoLink()
	}
	now := time.Now()
	l, err := db.PortalLink(ctx, s.hash("token", token))
	if errors.Is(err, store.ErrNotFound) {
		return l, errNoLink()
	}
	if err != nil {
		return l, fmt.Errorf("find a portal link: %w", err)
	}
	if l.SpentAt != nil || !l.ExpiresAt.Std().After(now) {
		return l, errUsedLink()
	}
	ok, err := keyWorks(ctx, db, &l, now)
	if err == nil && !ok {
		err = errUsedLink()
	}
	return l, err
}

// keyWorks reports whether the key that created a link still may.
func keyWorks(ctx context.Context, db reader, l *store.PortalLink, now time.Time) (bool, error) {
	k, err := db.Key(ctx, l.KeyID)
	if err != nil {
		return false, fmt.Errorf("find the key of a portal link: %w", err)
	}
	state := k.State(now)
	return state != fieldmark.KeyRevoked && state != fieldmark.KeyExpired && k.Account == l.Account &&
		k.Allows(fieldmark.ScopeWebhookManage), nil
}

// check returns the error of a token, without spending it.
func (s *Links) check(ctx context.Context, token string) error {
	_, err := s.unspent(ctx, s.cfg.Store, token)
	return err
}

// spend begins the session of a link and returns its cookie. It checks and spends the token in one
// transaction, so that of two requests one begins a session. as returns the context of who opens it.
func (s *Links) spend(ctx context.Context, token string,
	as func(context.Context, *store.PortalLink) context.Context) (cookie string, err error) {
	cookie = newToken()
	err = s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		l, err := s.unspent(ctx, tx, token)
		if err != nil {
			return err
		}
		fresh, err := tx.SpendPortalLink(ctx, l.Hash, s.hash("session", cookie), time.Now())
		if err == nil && !fresh {
			err = errUsedLink()
		}
		if err != nil {
			return err
		}
		return s.cfg.AuditLog.Append(as(ctx, &l), tx, "portal_link.opened", l.ID, nil, nil)
	})
	return cookie, err
}

// session returns the link of a session. A session that has ended, or whose key no longer works, is
// CodeLinkExpired.
func (s *Links) session(ctx context.Context, cookie string) (store.PortalLink, error) {
	if len(cookie) != tokenChars {
		return store.PortalLink{}, errUsedLink()
	}
	now := time.Now()
	l, err := s.cfg.Store.PortalSession(ctx, s.hash("session", cookie), now.Add(-sessionLifetime))
	if errors.Is(err, store.ErrNotFound) {
		return l, errUsedLink()
	}
	if err != nil {
		return l, fmt.Errorf("find a session of a portal link: %w", err)
	}
	ok, err := keyWorks(ctx, s.cfg.Store, &l, now)
	if err == nil && !ok {
		err = errUsedLink()
	}
	return l, err
}

// endSession ends a session.
func (s *Links) endSession(ctx context.Context, cookie string) error {
	return s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.EndPortalSession(ctx, s.hash("session", cookie))
	})
}

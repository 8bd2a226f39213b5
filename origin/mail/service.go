package mail

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net/mail"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/keyring"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// The paths of the pages that mail links to, below the pages of owners, without a session.
const (
	ConfirmPath     = fieldmark.PathOwner + "/mail/confirm"
	UnsubscribePath = fieldmark.PathOwner + "/mail/unsubscribe"
)

// Limits of addresses. Anyone who claims a brand could have mail sent to strangers.
const (
	MaxAddresses  = 3              // of a brand
	addsPerDay    = 5              // of a brand: each sends one mail to an address that did not ask
	confirmWithin = 24 * time.Hour // after that, a link of an older mail does nothing
	actionAdd     = "mail"         // as it is counted
	idPrefix      = "mla"
)

// Address is an address that receives digests of a brand, and the state of the next mail to it.
type Address = store.MailAddress

// Config is what a Service needs. Without a Relay, the others are not used.
type Config struct {
	Store    *store.Store
	MAC      keyring.MAC // of the links in mail
	AuditLog *auditlog.Log
	Jobs     *job.Runner
	Log      *slog.Logger
	Relay    *Relay // nil: no mail is sent
	BaseURL  string // of the public pages, without a slash at the end
}

// Service manages the addresses that receive digests, and sends them. Its methods may be called
// from any goroutine.
type Service struct{ cfg Config }

// New returns a Service that has started nothing.
func New(cfg Config) *Service { return &Service{cfg} }

// Enabled reports whether mail is sent.
func (s *Service) Enabled() bool { return s.cfg.Relay != nil }

// List lists the addresses of a brand that an account added, the oldest first.
// They include those that are not confirmed yet.
func (s *Service) List(ctx context.Context, account string, slug fieldmark.Slug) ([]Address, error) {
	return s.cfg.Store.MailAddresses(ctx, slug, account)
}

// Add adds an address to a brand that the account manages, and sends it a request for
// confirmation.
// The mail has no text of the account, so no one can send a message of another kind through it.
func (s *Service) Add(ctx context.Context, account string, slug fieldmark.Slug, address string) error {
	if !s.Enabled() {
		return fieldmark.Errorf(fieldmark.CodeModuleDisabled, "mail is disabled")
	}
	address = strings.TrimSpace(address)
	if !ValidAddress(address) {
		return validation.Error("/address", "format", "must be an e-mail address such as ann@acme.example")
	}
	now := time.Now()
	a := Address{ID: fieldmark.NewRandomID(idPrefix), Brand: slug, Account: account, Address: address,
		State: store.MailPending, CreatedAt: now, DueAt: now}
	err := s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		manages, err := tx.Manages(ctx, account, slug)
		if err != nil {
			return err
		}
		// A claim may have ended since the page was loaded.
		if !manages {
			return fieldmark.Errorf(fieldmark.CodeNotFound, "there is no such brand")
		}
		list, err := tx.MailAddresses(ctx, slug, account)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(list, func(a Address) bool { return a.Address == address }) {
			return validation.Error("/address", "conflict", "is in the list")
		}
		if len(list) >= MaxAddresses {
			return validation.Error("/address", "range", fmt.Sprintf("a brand has at most %d addresses", MaxAddresses))
		}
		// Deleted addresses count as well, or the limit could be avoided by deleting them.
		added, err := tx.OwnerActions(ctx, slug, actionAdd, now.Add(-24*time.Hour))
		if err != nil {
			return err
		}
		if len(added) >= addsPerDay {
			return &fieldmark.Error{Code: fieldmark.CodeRateLimited,
				RetryAfter: added[0].Add(24 * time.Hour).Sub(now),
				Detail:     fmt.Sprintf("a brand can add %d addresses a day", addsPerDay)}
		}
		if err := tx.AddOwnerAction(ctx, slug, actionAdd, now, now.Add(-24*time.Hour)); err != nil {
			return err
		}
		if err := tx.AddMailAddress(ctx, &a); err != nil {
			return err
		}
		// The audit log gets the id only: an address is personal data, and entries are never
		// deleted.
		return s.cfg.AuditLog.Append(ctx, tx, "mail_address.added", string(slug), nil, map[string]any{"id": a.ID})
	})
	if err != nil {
		return fmt.Errorf("add a mail address to %s: %w", slug, err)
	}
	return nil
}

// ValidAddress reports whether mail can be sent to an address. It has no spaces and no line breaks,
// so that it cannot add header fields (RFC 5322, section 2.2).
func ValidAddress(address string) bool {
	a, err := mail.ParseAddress(address)
	return err == nil && a.Address == address && ascii(address) && len(address) <= fieldmark.MaxDisputeEmail &&
		!strings.ContainsAny(address, `"[]`)
}

// ascii reports whether a text is printable ASCII without spaces.
func ascii(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r > '~' || r <= ' ' }) < 0
}

// Remove removes an address that the account added.
// A digest that is being sent may still arrive.
func (s *Service) Remove(ctx context.Context, account string, slug fieldmark.Slug, id string) error {
	return s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		a, err := tx.MailAddress(ctx, id)
		if err == nil && (a.Account != account || a.Brand != slug) {
			err = store.ErrNotFound
		}
		if err != nil {
			return store.NotFound(err, "there is no such address")
		}
		if err := tx.DeleteMailAddress(ctx, id); err != nil {
			return err
		}
		return s.cfg.AuditLog.Append(ctx, tx, "mail_address.removed", string(slug), map[string]any{"id": id}, nil)
	})
}

// link returns the address of a page that acts for one mail address.
// The token is a MAC of path and id, so a link to confirm cannot unsubscribe, and none can be
// guessed.
func (s *Service) link(path, id string) string {
	return s.cfg.BaseURL + path + "?" + url.Values{"token": {id + "." + s.cfg.MAC.Sum(path+" "+id)}}.Encode()
}

// verify returns the id of a token that link made.
func (s *Service) verify(path, token string) (id string, ok bool) {
	id, sum, _ := strings.Cut(token, ".")
	return id, subtle.ConstantTimeCompare([]byte(sum), []byte(s.cfg.MAC.Sum(path+" "+id))) == 1
}

var errLink = fieldmark.Errorf(fieldmark.CodeNotFound, "the link is wrong or has expired")

// Confirm confirms an address by the token of a link. A second call changes nothing.
// The first digest is about events from now on.
func (s *Service) Confirm(ctx context.Context, token string) error {
	id, ok := s.verify(ConfirmPath, token)
	if !ok || !s.Enabled() {
		return errLink
	}
	head, err := s.cfg.Store.Head(ctx)
	if err != nil {
		return err
	}
	return s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		a, err := tx.MailAddress(ctx, id)
		now := time.Now()
		if errors.Is(err, store.ErrNotFound) || err == nil && a.State == store.MailPending &&
			now.Sub(a.CreatedAt) > confirmWithin {
			return errLink
		}
		if err != nil {
			return err
		}
		return tx.ConfirmMailAddress(ctx, id, head, nextDigest(now))
	})
}

// Unsubscribe ends the mail to an address by the token of a link. An address that is unknown, or
// is unsubscribed already, is no error: the sender of a one-click request cannot do anything
// about it.
func (s *Service) Unsubscribe(ctx context.Context, token string) error {
	id, ok := s.verify(UnsubscribePath, token)
	if !ok {
		return errLink
	}
	return s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.DeleteMailAddress(ctx, id)
	})
}

// digestHour is when digests are sent, in UTC: after the daily ranking, and before the working
// day of Europe.
const digestHour = 6

// nextDigest returns when the next digest after a time is sent.
// Digests of all addresses are due at once; workers send them a few at a time.
func nextDigest(now time.Time) time.Time {
	now = now.UTC()
	at := time.Date(now.Year(), now.Month(), now.Day(), digestHour, 0, 0, 0, time.UTC)
	if !at.After(now) {
		at = at.AddDate(0, 0, 1)
	}
	return at
}

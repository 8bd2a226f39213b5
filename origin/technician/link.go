package technician

import (
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/keyring"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
)

const (
	// MaxLinks limits a list of links, which has no pages.
	MaxLinks = 2000
	// MaxLiveLinks limits the links of an account that are not revoked: one for each technician.
	MaxLiveLinks = 1000
	// tokenChars is the length of a token: 256 bits in base64url without padding.
	tokenChars = 43
	// maxAssigneeID and maxAssigneeName are the limits of fieldmark.Assignee, in code points.
	maxAssigneeID   = 128
	maxAssigneeName = 200
)

// LinksConfig configures Links. All fields but BaseURL are required.
type LinksConfig struct {
	Store    *store.Store
	MAC      keyring.MAC
	AuditLog *auditlog.Log
	Jobs     *job.Runner
	Log      *slog.Logger
	BaseURL  string // of the public pages, without a slash at the end; empty: calendars have no links
}

// Links manages the secret links to pages of technicians, one for each assignee of an account. Its
// methods may be called from any goroutine.
//
// A token is computed from the application secret, the id of its link and how often the link was
// rotated. The database has a hash of it, so a copy of the database opens no page, and calendar
// feeds can contain the address although it is not stored.
type Links struct {
	LinksConfig
	lastUsed access.LastUsed
}

// NewLinks returns Links that have started nothing.
func NewLinks(cfg LinksConfig) *Links { return &Links{LinksConfig: cfg} }

// Run writes when links were last used, until ctx ends.
// The last use is written at most once in access.LastUsedPrecision for each link: writing with
// every page would make each read a write.
func (s *Links) Run(ctx context.Context) error {
	s.Jobs.Every(ctx, access.LastUsedPrecision, "write the last uses of technicians' links", s.writeLastUsed)
	last, cancel := job.ShutdownContext(ctx)
	defer cancel()
	if err := s.writeLastUsed(last); err != nil {
		s.Log.Error("write the last uses of technicians' links", slog.Any("error", err))
	}
	return nil
}

// A use that is lost in a crash only makes a link look less used.
func (s *Links) writeLastUsed(ctx context.Context) error {
	return s.lastUsed.Write(ctx, s.Store, func(ctx context.Context, tx *store.Tx, id string, u access.Use) error {
		return tx.TouchTechnicianLink(ctx, id, u.At)
	})
}

// token returns the secret part of the address of a link.
// Rotating adds one to the generation, which changes the token without storing it.
func (s *Links) token(l *store.TechnicianLink) string {
	sum, err := base64.StdEncoding.DecodeString(s.MAC.Sum(fmt.Sprintf("token %s %d", l.ID, l.Generation)))
	if err != nil {
		panic("BUG: a MAC is not base64: " + err.Error())
	}
	return base64.RawURLEncoding.EncodeToString(sum)
}

// hash returns what the database has of a token.
func (s *Links) hash(token string) string { return s.MAC.Sum("hash " + token) }

// pinHash returns what the database has of a PIN. Only the secret key of the MAC protects it: there
// are a million PINs.
func (s *Links) pinHash(id, pin string) string {
	if pin == "" {
		return ""
	}
	return s.MAC.Sum("pin " + id + " " + pin)
}

// addressed adds the address to a link.
// The address is in the responses to Create and Rotate only: lists do not contain it.
func (s *Links) addressed(l *store.TechnicianLink) fieldmark.NewTechnicianLink {
	return fieldmark.NewTechnicianLink{TechnicianLink: l.TechnicianLink,
		Path: fieldmark.PathTechnician + s.token(l) + "/"}
}

// ValidateLink returns every error of a request that its schema cannot express.
func ValidateLink(r *fieldmark.TechnicianLinkRequest) validation.Errors {
	var bad validation.Errors
	r.Assignee.ID, r.Assignee.Name = strings.TrimSpace(r.Assignee.ID), strings.TrimSpace(r.Assignee.Name)
	if n := utf8.RuneCountInString(r.Assignee.ID); n == 0 || n > maxAssigneeID {
		bad.Add("/assignee/id", "range", "must have 1 to 128 characters")
	}
	if utf8.RuneCountInString(r.Assignee.Name) > maxAssigneeName {
		bad.Add("/assignee/name", "too_long", "must have at most 200 characters")
	}
	bad.Line("/assignee/id", r.Assignee.ID)
	bad.Line("/assignee/name", r.Assignee.Name)
	if r.PIN != "" && (len(r.PIN) != 6 || strings.Trim(r.PIN, "0123456789") != "") {
		bad.Add("/pin", "pattern", "must be 6 digits")
	}
	return bad
}

// end returns the end of a link that begins now.
func end(until *fieldmark.Time, now time.Time) (fieldmark.Time, error) {
	last := now.Add(fieldmark.MaxTechnicianLink)
	if until == nil {
		return fieldmark.At(last), nil
	}
	// A minute more: the client counted 30 days from when it sent the request.
	if !until.Std().After(now) || until.Std().After(last.Add(time.Minute)) {
		return fieldmark.Time{}, validation.Error("/until", "range", "must be in the next 30 days")
	}
	return *until, nil
}

// Create creates the link of an assignee. The response is the only one that contains its address. An
// assignee with a link that has not ended is a conflict: another one would not end the first.
func (s *Links) Create(ctx context.Context, r fieldmark.TechnicianLinkRequest) (fieldmark.NewTechnicianLink, error) {
	if err := ValidateLink(&r).Err(); err != nil {
		return fieldmark.NewTechnicianLink{}, err
	}
	now := time.Now()
	until, err := end(r.Until, now)
	if err != nil {
		return fieldmark.NewTechnicianLink{}, err
	}
	row := store.TechnicianLink{TechnicianLink: fieldmark.TechnicianLink{
		ID: fieldmark.NewID(fieldmark.PrefixLink, now), Account: cmp.Or(r.Account, access.DefaultAccount),
		Assignee: r.Assignee, Until: until, PIN: r.PIN != "", CreatedAt: fieldmark.At(now)}}
	row.Hash, row.PINHash = s.hash(s.token(&row)), s.pinHash(row.ID, r.PIN)
	// One live link for each assignee: an overlooked second address would stay valid after the
	// first was revoked.
	err = s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := access.RequireAccount(ctx, tx, row.Account); err != nil {
			return err
		}
		old, err := tx.LiveTechnicianLink(ctx, row.Account, row.Assignee.ID)
		switch {
		case err == nil && old.Until.Std().After(now):
			return validation.Error("/assignee/id", "conflict",
				"already has a link; give that a new address, or end it")
		// It has ended by time but still counts as live in the index: closing it makes room for
		// the new one.
		case err == nil: // it has ended
			old.RevokedAt = &old.Until
			if err := tx.UpdateTechnicianLink(ctx, &old); err != nil {
				return err
			}
		case !errors.Is(err, store.ErrNotFound):
			return err
		}
		n, err := tx.LiveTechnicianLinks(ctx, row.Account)
		if err != nil {
			return err
		}
		if n >= MaxLiveLinks {
			return fieldmark.Errorf(fieldmark.CodeTooMany, "an account has at most %d links", MaxLiveLinks)
		}
		if err := tx.AddTechnicianLink(ctx, &row); err != nil {
			return err
		}
		return s.AuditLog.Append(ctx, tx, "technician_link.created", row.ID, nil, row.TechnicianLink)
	})
	if err != nil {
		return fieldmark.NewTechnicianLink{}, fmt.Errorf("create a technician's link: %w", err)
	}
	return s.addressed(&row), nil
}

// List lists the newest MaxLinks links, the newest first, also those that have ended.
func (s *Links) List(ctx context.Context) ([]fieldmark.TechnicianLink, error) {
	rows, err := s.Store.TechnicianLinks(ctx, MaxLinks)
	if err != nil {
		return nil, err
	}
	list := make([]fieldmark.TechnicianLink, len(rows))
	for i := range rows {
		list[i] = rows[i].TechnicianLink
	}
	return list, nil
}

// Rotate gives a link a new address and a new end. The old address is not found from then on, and
// devices need the PIN again. A revoked link is CodeNotFound.
func (s *Links) Rotate(ctx context.Context, id string, r fieldmark.TechnicianLinkRotation) (
	fieldmark.NewTechnicianLink, error) {
	row, err := s.change(ctx, "technician_link.rotated", id, func(l *store.TechnicianLink, now time.Time) error {
		if l.RevokedAt != nil {
			return fieldmark.Errorf(fieldmark.CodeNotFound, "the link was revoked; create another")
		}
		until, err := end(r.Until, now)
		if err != nil {
			return err
		}
		at := fieldmark.At(now)
		l.Until, l.RotatedAt, l.Generation = until, &at, l.Generation+1
		l.Hash, l.PINFailures, l.PINSince = s.hash(s.token(l)), 0, nil
		return nil
	})
	if err != nil {
		return fieldmark.NewTechnicianLink{}, fmt.Errorf("rotate a technician's link: %w", err)
	}
	return s.addressed(&row), nil
}

// Revoke ends a link at once. A link that is already revoked does not change.
func (s *Links) Revoke(ctx context.Context, id string) (fieldmark.TechnicianLink, error) {
	row, err := s.change(ctx, "technician_link.revoked", id, func(l *store.TechnicianLink, now time.Time) error {
		if l.RevokedAt == nil {
			at := fieldmark.At(now)
			l.RevokedAt = &at
		}
		return nil
	})
	if err != nil {
		return fieldmark.TechnicianLink{}, fmt.Errorf("revoke a technician's link: %w", err)
	}
	return row.TechnicianLink, nil
}

// change reads a link, updates it and appends an audit log entry in one transaction.
func (s *Links) change(ctx context.Context, act, id string,
	change func(*store.TechnicianLink, time.Time) error) (row store.TechnicianLink, err error) {
	err = s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		if row, err = tx.TechnicianLink(ctx, id); err != nil {
			return err
		}
		before := row.TechnicianLink
		if err := change(&row, time.Now()); err != nil {
			return err
		}
		if err := tx.UpdateTechnicianLink(ctx, &row); err != nil {
			return err
		}
		return s.AuditLog.Append(ctx, tx, act, id, before, row.TechnicianLink)
	})
	return row, store.NotFound(err, "there is no such link")
}

// Address returns the address of the page of an assignee, or "" if there is no link, for entries of
// a calendar that its address alone opens. Such a calendar shows contacts if details is
// set; otherwise only links with a PIN are returned, because the page shows contacts too.
func (s *Links) Address(ctx context.Context, account, assignee string, details bool) (string, error) {
	if s.BaseURL == "" {
		return "", nil
	}
	l, err := s.Store.LiveTechnicianLink(ctx, account, assignee)
	if errors.Is(err, store.ErrNotFound) || err == nil && (!l.Until.Std().After(time.Now()) || !details && !l.PIN) {
		return "", nil
	}
	return s.BaseURL + fieldmark.PathTechnician + s.token(&l) + "/", err
}

// open returns the link of a token. One that is unknown, replaced or revoked is CodeNotFound, one
// that has ended CodeLinkExpired.
func (s *Links) open(ctx context.Context, token string) (store.TechnicianLink, error) {
	none := fieldmark.Errorf(fieldmark.CodeNotFound, "There is no page at this address. Your link may have been "+
		"replaced: ask your dispatcher for the new one.")
	if len(token) != tokenChars {
		return store.TechnicianLink{}, none
	}
	l, err := s.Store.TechnicianLinkByHash(ctx, s.hash(token))
	if errors.Is(err, store.ErrNotFound) || err == nil && l.RevokedAt != nil {
		return store.TechnicianLink{}, none
	}
	if err != nil {
		return l, fmt.Errorf("find a technician's link: %w", err)
	}
	now := time.Now()
	if !l.Until.Std().After(now) {
		return l, fieldmark.Errorf(fieldmark.CodeLinkExpired,
			"It worked until %s. Ask your dispatcher for a new one.", l.Until.Std().Format("2 January 2006"))
	}
	if l.LastUsedAt == nil || now.Sub(l.LastUsedAt.Std()) >= access.LastUsedPrecision {
		s.lastUsed.Record(l.ID, access.Use{At: now})
	}
	return l, nil
}

// PINs are short, so few may be tried: with 5 an hour, a link of 30 days withstands 3,600 guesses of
// a million.
const (
	maxPINTries = 5
	pinWindow   = time.Hour
	// sessionLifetime is how long a device needs no PIN again: a working day.
	sessionLifetime = 12 * time.Hour
)

// checkPIN counts a try and compares a PIN, in one transaction: concurrent guesses are counted
// too. A wrong PIN is CodeInvalidCredentials, and CodeRateLimited follows maxPINTries of them.
func (s *Links) checkPIN(ctx context.Context, id, pin string) (l store.TechnicianLink, err error) {
	var refusal *fieldmark.Error
	err = s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		refusal = nil // the transaction may run twice
		if l, err = tx.TechnicianLink(ctx, id); err != nil {
			return err
		}
		now := time.Now()
		if l.PINSince == nil || now.Sub(l.PINSince.Std()) >= pinWindow {
			at := fieldmark.At(now)
			l.PINFailures, l.PINSince = 0, &at
		}
		if l.PINFailures >= maxPINTries {
			refusal = fieldmark.Errorf(fieldmark.CodeRateLimited, "too many wrong PINs")
			refusal.RetryAfter = l.PINSince.Std().Add(pinWindow).Sub(now)
			return nil
		}
		if subtle.ConstantTimeCompare([]byte(s.pinHash(id, pin)), []byte(l.PINHash)) == 1 {
			l.PINFailures, l.PINSince = 0, nil
		} else {
			l.PINFailures++
			refusal = fieldmark.Errorf(fieldmark.CodeInvalidCredentials, "this is not the PIN of this link")
		}
		return tx.UpdateTechnicianLink(ctx, &l)
	})
	if err == nil && refusal != nil {
		err = refusal
	}
	return l, err
}

// session returns the value of the cookie of a device on which the PIN was entered, which ends at a time.
func (s *Links) session(l *store.TechnicianLink, until time.Time) string {
	return fmt.Sprintf("%d.%s", until.Unix(), base64.RawURLEncoding.EncodeToString([]byte(s.MAC.Sum(
		fmt.Sprintf("session %s %d %s %d", l.ID, l.Generation, l.PINHash, until.Unix())))))
}

// admits reports whether a device may open a link: it has no PIN, or the cookie is of a session.
func (s *Links) admits(l *store.TechnicianLink, cookie string) bool {
	if l.PINHash == "" {
		return true
	}
	var until int64
	if _, err := fmt.Sscanf(cookie, "%d.", &until); err != nil {
		return false
	}
	at := time.Unix(until, 0)
	return time.Now().Before(at) && subtle.ConstantTimeCompare([]byte(cookie), []byte(s.session(l, at))) == 1
}

// outbox names the acts that a device has not sent yet. It is the same for all links of an assignee,
// so that they are sent from the page of a later link, and it does not reveal the assignee.
func (s *Links) outbox(l *store.TechnicianLink) string {
	return s.MAC.Sum(fmt.Sprintf("outbox %s %s", l.Account, l.Assignee.ID))[:22]
}

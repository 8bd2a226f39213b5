package mission

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/keyring"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
)

const (
	// MaxCalendars limits a list of calendars.
	MaxCalendars = 1000
	// MaxLiveCalendars limits the calendars of an account that are not revoked. A
	// team needs a few, and the subscribers of each poll it every few minutes.
	MaxLiveCalendars = 100
)

// The token in the address of a calendar. It has 256 bits, because it is the only
// credential that clients send.
const (
	calendarTokenBytes = 32
	calendarTokenChars = 43 // of base64url without padding
)

// newCalendarToken returns a random token.
func newCalendarToken() string {
	var random [calendarTokenBytes]byte
	rand.Read(random[:]) // never fails (crypto/rand)
	return base64.RawURLEncoding.EncodeToString(random[:])
}

// Calendars manages the calendar feeds of planned missions, to which phones subscribe. The
// address of a feed is its only credential; the database stores a keyed hash of it. Its methods
// may be called from any goroutine.
type Calendars struct {
	store    *store.Store
	mac      keyring.MAC // hashes tokens
	auditLog *auditlog.Log
	log      *slog.Logger
	lastUsed access.LastUsed
	feeds    feeds

	technicianPage func(ctx context.Context, account, assignee string, details bool) (string, error)
}

// writeLastUsed writes to the database when calendars were last used. Uses are collected in
// memory, because a write for each poll would cost more than the feed. After an error they are
// lost; the next poll records a newer one.
func (s *Calendars) writeLastUsed(ctx context.Context) error {
	return s.lastUsed.Write(ctx, s.store, func(ctx context.Context, tx *store.Tx, id string, u access.Use) error {
		return tx.TouchCalendar(ctx, id, u.At)
	})
}

// Create creates a calendar feed of the plan. The response is the only place that
// contains its address.
func (s *Calendars) Create(ctx context.Context, r fieldmark.CalendarRequest) (fieldmark.NewCalendar, error) {
	return s.create(ctx, r, nil)
}

// CreateAfter is Create for an HTML form: newest is the id of the newest calendar when the form
// was opened. If there is a newer one, it returns CodeVersionMismatch, so a form that is
// submitted twice creates one calendar.
func (s *Calendars) CreateAfter(ctx context.Context, newest *string,
	r fieldmark.CalendarRequest) (fieldmark.NewCalendar, error) {
	return s.create(ctx, r, newest)
}

func (s *Calendars) create(ctx context.Context, r fieldmark.CalendarRequest, newest *string) (fieldmark.NewCalendar,
	error) {
	if r.Account == "" {
		r.Account = access.DefaultAccount
	}
	if err := ValidateCalendar(&r).Err(); err != nil {
		return fieldmark.NewCalendar{}, err
	}
	now, token := time.Now(), newCalendarToken()
	row := store.Calendar{
		Calendar: fieldmark.Calendar{ID: fieldmark.NewID(fieldmark.PrefixCalendar, now), CalendarRequest: r,
			CreatedAt: fieldmark.At(now)},
		Hash: s.mac.Sum(token),
	}
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := errors.Join(validation.IsNewest(ctx, newest, tx.NewestCalendar),
			access.RequireAccount(ctx, tx, r.Account)); err != nil {
			return err
		}
		// Counted in the transaction: two requests at once must not exceed the limit together.
		n, err := tx.LiveCalendars(ctx, r.Account)
		if err != nil {
			return err
		}
		if n >= MaxLiveCalendars {
			return validation.Error("", "conflict", fmt.Sprintf("an account has at most %d calendars",
				MaxLiveCalendars))
		}
		if err := tx.AddCalendar(ctx, &row); err != nil {
			return err
		}
		return s.auditLog.Append(ctx, tx, "calendar.created", row.ID, nil, row.Calendar)
	})
	if err != nil {
		return fieldmark.NewCalendar{}, fmt.Errorf("create a calendar: %w", err)
	}
	return addressed(row.Calendar, token), nil
}

// addressed adds the address to a calendar. The address contains the token, which is not
// stored.
func addressed(c fieldmark.Calendar, token string) fieldmark.NewCalendar {
	return fieldmark.NewCalendar{Calendar: c, Path: fieldmark.PathCalendar + token + ".ics"}
}

// List lists the newest MaxCalendars calendars, the newest first, also revoked ones.
func (s *Calendars) List(ctx context.Context) ([]fieldmark.Calendar, error) {
	rows, err := s.store.Calendars(ctx, MaxCalendars)
	if err != nil {
		return nil, err
	}
	list := make([]fieldmark.Calendar, len(rows))
	for i, c := range rows {
		list[i] = c.Calendar
	}
	return list, nil
}

// Rotate gives a calendar a new address. The old address is not found from then on. Subscribers
// must be given the new one. A revoked calendar is CodeNotFound.
func (s *Calendars) Rotate(ctx context.Context, id string) (fieldmark.NewCalendar, error) {
	token := newCalendarToken()
	c, err := s.change(ctx, "calendar.rotated", id, func(ctx context.Context, tx *store.Tx, c *fieldmark.Calendar,
		now fieldmark.Time) error {
		if c.RevokedAt != nil {
			return fieldmark.Errorf(fieldmark.CodeNotFound, "the calendar was revoked; make another")
		}
		c.RotatedAt = &now
		return tx.RotateCalendar(ctx, id, s.mac.Sum(token), now)
	})
	if err != nil {
		return fieldmark.NewCalendar{}, fmt.Errorf("rotate calendar: %w", err)
	}
	return addressed(c, token), nil
}

// Revoke ends a calendar at once. A calendar that is already revoked does not change. Its
// address is not found from then on.
func (s *Calendars) Revoke(ctx context.Context, id string) (fieldmark.Calendar, error) {
	c, err := s.change(ctx, "calendar.revoked", id, func(ctx context.Context, tx *store.Tx, c *fieldmark.Calendar,
		now fieldmark.Time) error {
		if c.RevokedAt != nil {
			return nil
		}
		c.RevokedAt = &now
		return tx.RevokeCalendar(ctx, id, now)
	})
	if err != nil {
		return fieldmark.Calendar{}, fmt.Errorf("revoke calendar: %w", err)
	}
	s.feeds.drop(id)
	return c, nil
}

// change reads a calendar, updates it and appends an audit log entry in one transaction.
func (s *Calendars) change(ctx context.Context, act, id string,
	change func(context.Context, *store.Tx, *fieldmark.Calendar, fieldmark.Time) error) (fieldmark.Calendar, error) {

	var row store.Calendar
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		if row, err = tx.Calendar(ctx, id); err != nil {
			return err
		}
		before := row.Calendar
		if err := change(ctx, tx, &row.Calendar, fieldmark.At(time.Now())); err != nil {
			return err
		}
		return s.auditLog.Append(ctx, tx, act, id, before, row.Calendar)
	})
	return row.Calendar, store.NotFound(err, "there is no such calendar")
}

// calendar returns the calendar of a token. A token that is unknown, replaced or
// revoked is not found, rather than unauthorized: phones would prompt their users
// for a password.
func (s *Calendars) calendar(ctx context.Context, token string) (store.Calendar, error) {
	if len(token) != calendarTokenChars {
		return store.Calendar{}, errNoCalendar()
	}
	row, err := s.store.CalendarByHash(ctx, s.mac.Sum(token))
	if errors.Is(err, store.ErrNotFound) || err == nil && row.RevokedAt != nil {
		return store.Calendar{}, errNoCalendar()
	}
	if err != nil {
		return store.Calendar{}, fmt.Errorf("find a calendar: %w", err)
	}
	if now := time.Now(); row.LastUsedAt == nil || now.Sub(row.LastUsedAt.Std()) >= access.LastUsedPrecision {
		s.lastUsed.Record(row.ID, access.Use{At: now})
	}
	return row, nil
}

func errNoCalendar() error {
	return fieldmark.Errorf(fieldmark.CodeNotFound, "there is no calendar at this address")
}

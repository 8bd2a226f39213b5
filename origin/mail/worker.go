package mail

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/webhook"
)

// maxSending is how many mails a process sends at once: relays limit connections of a client.
const maxSending = 4

// The events of an account are read in pages, so that few are in memory at once: those of its missions are among
// them. A mail is about maxPages of them at most, so that it is sent within seconds; the next one is due at once and
// goes on from there.
const (
	eventPage = 1000
	maxPages  = 10
)

// retries are the delays before the attempts of a mail: a greylisting relay accepts the same
// mail after minutes (RFC 6647).
var retries = webhook.ScheduleOf(&fieldmark.RetryPolicy{Schedule: fieldmark.RetryQuick})

// Send sends one mail in plain text to an address that did not subscribe to anything. The id makes the
// Message-ID, which is the same in every attempt. Subject is one line. An error that wraps ErrRefused
// is final.
func (s *Service) Send(ctx context.Context, id, to, subject, text string) error {
	return s.cfg.Relay.send(ctx, message{id: id, to: to, subject: line(subject, maxText), text: text})
}

// Lost returns an error if the process ended during every attempt of a mail: it is not sent again, because it may be
// what ends them. attempts includes the one that begins now.
func Lost(attempts int) error {
	if attempts <= len(retries) {
		return nil
	}
	return fmt.Errorf(job.ReasonLost, len(retries))
}

// NextAttempt returns when a mail is tried again after some attempts, the last of which ended with err.
// The zero time means never.
func NextAttempt(attempts int, err error, now time.Time) time.Time {
	if err == nil || errors.Is(err, ErrRefused) || attempts >= len(retries) {
		return time.Time{}
	}
	return now.Add(retries[attempts])
}

// Run sends mail as it becomes due until ctx ends. Any number of processes may run it on one
// database.
func (s *Service) Run(ctx context.Context) error {
	if !s.Enabled() {
		return nil
	}
	return s.cfg.Jobs.Work(ctx, store.TopicMail, maxSending, s.claimDue)
}

// claimDue leases due mail.
func (s *Service) claimDue(ctx context.Context, limit int) (todo []job.Job, err error) {
	now := time.Now()
	var ids []string
	err = s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		ids, err = tx.ClaimDueMail(ctx, s.cfg.Jobs.Worker(), now, now.Add(job.LeaseDuration), limit)
		return err
	})
	if err != nil {
		return nil, err // what fn read is not leased
	}
	for _, id := range ids {
		todo = append(todo, job.Job{Lease: store.Lease{Kind: store.LeaseMail, ID: id}, Do: func(ctx context.Context) {
			if err := s.process(ctx, id); err != nil && ctx.Err() == nil {
				s.cfg.Log.Error("send mail", slog.String("address", id), slog.Any("error", err))
			}
		}})
	}
	return todo, nil
}

// process sends the mail to an address that is due, and stores when the next one is. A process
// that stops after the relay accepted a mail sends it again, with the same Message-ID.
func (s *Service) process(ctx context.Context, id string) error {
	a, err := s.cfg.Store.MailAddress(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil // unsubscribed meanwhile
	}
	if err != nil {
		return err
	}
	now := time.Now()
	manages, err := s.cfg.Store.Manages(ctx, a.Account, a.Brand)
	if err != nil {
		return err
	}
	// An address that was never confirmed is deleted, as its mail announced.
	if a.State == store.MailPending && (!manages || now.Sub(a.CreatedAt) > confirmWithin) {
		return s.delete(ctx, id)
	}
	m, read, err := s.compose(ctx, &a)
	if err != nil {
		return err
	}
	if m.text != "" {
		if err = Lost(a.Attempts); err == nil {
			err = s.cfg.Relay.send(ctx, m)
		}
		s.cfg.Log.Info("mail", slog.String("address", id), slog.String("state", string(a.State)),
			slog.Int("attempt", a.Attempts), slog.Any("error", err))
	}
	// The process stops: the lease expires, and another one sends the mail.
	if ctx.Err() != nil {
		return ctx.Err()
	}
	ctx, cancel := job.ShutdownContext(ctx)
	defer cancel()
	if !manages && (err == nil && !read.more || a.Attempts >= len(retries)) {
		return s.delete(ctx, id) // it was the last mail
	}
	next := after(a, err, read, time.Now())
	return s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.EndMail(ctx, s.cfg.Jobs.Worker(), &a, &next)
	})
}

// after returns an address after an attempt: a mail that was sent is followed by the next digest;
// one that the relay did not accept is tried again, and its events are in the next digest.
func after(a Address, err error, read position, now time.Time) Address {
	next := a
	next.Error = ""
	if err != nil {
		next.Error = line(err.Error(), maxText)
	}
	switch {
	case errors.Is(err, ErrRefused):
		next.State, next.DueAt = store.MailEnded, time.Time{}
		return next
	case err != nil && a.Attempts < len(retries):
		next.DueAt = now.Add(retries[a.Attempts])
		return next
	case err == nil && a.State == store.MailConfirmed:
		next.After = read.upTo
	}
	next.Attempts, next.DueAt = 0, nextDigest(now)
	if err == nil && read.more {
		next.DueAt = now
	}
	if a.State == store.MailPending {
		next.DueAt = a.CreatedAt.Add(confirmWithin + time.Second) // when it is deleted
	}
	return next
}

// delete removes an address.
func (s *Service) delete(ctx context.Context, id string) error {
	return s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.DeleteMailAddress(ctx, id)
	})
}

// position is how far a digest has read the event log.
type position struct {
	upTo int64 // the number of an event
	more bool  // there may be later events of the account
}

// compose returns the mail that is due and, for a digest, the events that it is about; without a text there is
// nothing to send.
func (s *Service) compose(ctx context.Context, a *Address) (m message, read position, err error) {
	b, err := s.cfg.Store.Brand(ctx, a.Brand)
	if err != nil {
		return m, read, err
	}
	name := line(b.Name, subjectText)
	m = message{id: fmt.Sprintf("%s.%d", a.ID, a.After), to: a.Address}
	if a.State == store.MailPending {
		m.subject = "Confirm mail about " + name
		m.text = fmt.Sprintf("Someone asked %s to send you a daily digest of changes of the brand %s.\n\n"+
			"To receive it, open this page within 24 hours and press the button:\n%s\n\n"+
			"If it was not you, do nothing: there will be no other mail.\n", s.cfg.BaseURL, name,
			s.link(ConfirmPath, a.ID))
		return m, read, nil
	}
	about, read, err := s.events(ctx, a)
	if err != nil {
		return m, read, err
	}
	subject, lines := digest(&b.Brand, about)
	// A day without changes sends no mail.
	if len(lines) == 0 {
		return m, read, nil
	}
	m.subject, m.unsubscribe = subject, s.link(UnsubscribePath, a.ID)
	m.text = fmt.Sprintf("%s\n%s%s%s\n\n%s\n\nChange what you receive: %s%s/brands/%s/notifications\n"+
		"Unsubscribe: %s\n", name, s.cfg.BaseURL, fieldmark.PathBrandPage, a.Brand, strings.Join(lines, "\n"),
		s.cfg.BaseURL, fieldmark.PathOwner, a.Brand, m.unsubscribe)
	return m, read, nil
}

// events returns the events of the brand of an address since its last digest. Those of missions and of other brands
// of the account are left out: they are in other digests or in none.
func (s *Service) events(ctx context.Context, a *Address) (about []store.Event, read position, err error) {
	head, err := s.cfg.Store.Head(ctx) // before the events: none between them is lost
	if err != nil {
		return nil, read, err
	}
	read.upTo = a.After
	for range maxPages {
		page, err := s.cfg.Store.AccountEvents(ctx, a.Account, read.upTo, eventPage)
		if err != nil {
			return nil, read, err
		}
		for _, e := range page {
			if read.upTo = e.Number; e.Subject == string(a.Brand) {
				about = append(about, e)
			}
		}
		if len(page) < eventPage {
			read.upTo = max(read.upTo, head)
			return about, read, nil
		}
	}
	read.more = true
	return about, read, nil
}

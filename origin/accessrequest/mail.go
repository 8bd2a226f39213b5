package accessrequest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/mail"
	"github.com/fieldmark/fieldmark/origin/store"
)

// maxSending is how many mails a process sends at once. There are few.
const maxSending = 2

// claimDue leases requests whose mail is due.
func (s *Service) claimDue(ctx context.Context, limit int) (todo []job.Job, err error) {
	now := time.Now()
	var ids []string
	err = s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		ids, err = tx.ClaimDueAccessMail(ctx, s.cfg.Jobs.Worker(), now, now.Add(job.LeaseDuration), limit)
		return err
	})
	if err != nil {
		return nil, err // what fn read is not leased
	}
	for _, id := range ids {
		lease := store.Lease{Kind: store.LeaseAccess, ID: id}
		// A mail that cannot be sent is no failure of the job: EndAccessMail stores when to try
		// again. While the process stops, the context is the reason, and the lease expires
		// instead.
		todo = append(todo, job.Job{Lease: lease, Do: func(ctx context.Context) {
			if err := s.send(ctx, id); err != nil && ctx.Err() == nil {
				s.cfg.Log.Error("send mail about a request for an API key", slog.String("request", id),
					slog.Any("error", err))
			}
		}})
	}
	return todo, nil
}

// send sends the mail about the present state of a request, and stores when another attempt is due.
func (s *Service) send(ctx context.Context, id string) error {
	r, err := s.cfg.Store.AccessRequest(ctx, id)
	// The request was deleted while its mail waited: nothing is left to say.
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	var next time.Time
	if subject, text := s.compose(&r); text != "" {
		// The id of the message is that of request and state. A receiver that sees two of them,
		// because a process ended after sending, shows one.
		if err = mail.Lost(r.Attempts); err == nil {
			err = s.cfg.Mail.Send(ctx, r.ID+"."+string(r.State), r.Form.Email, subject, text)
		}
		s.cfg.Log.Info("mail about a request for an API key", slog.String("request", id),
			slog.String("state", string(r.State)), slog.Int("attempt", r.Attempts), slog.Any("error", err))
		next = mail.NextAttempt(r.Attempts, err, time.Now())
	}
	// Interrupted by the end of the process: the lease is left to expire, and the attempt is
	// repeated.
	if ctx.Err() != nil {
		return ctx.Err()
	}
	// The outcome is written even while the process stops, so that a mail that was sent is not
	// sent again.
	ctx, cancel := job.ShutdownContext(ctx)
	defer cancel()
	return s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.EndAccessMail(ctx, s.cfg.Jobs.Worker(), &r, next)
	})
}

// compose returns the mail about a request. It has no text of the applicant: anyone can enter the
// address of a stranger, and must not be able to send that stranger a message of their own.
func (s *Service) compose(r *store.AccessRequest) (subject, text string) {
	page := s.cfg.BaseURL + fieldmark.PathAccessPage + "/" + s.secret(r.ID)
	switch r.State {
	case fieldmark.AccessPending:
		return "Your request for an API key", fmt.Sprintf("%s has a request for an API key that names this "+
			"address.\n\nIts state is shown on this page. Keep the address secret: it also shows the key.\n%s\n\n"+
			"If you did not send the request, ignore this mail.\n", s.cfg.BaseURL, page)
	case fieldmark.AccessApproved:
		return "Your request for an API key was approved", fmt.Sprintf("Your request for an API key of %s was "+
			"approved.\n\nThe key is shown once. Open this page until %s, press the button and store the key:\n%s\n",
			s.cfg.BaseURL, date(fieldmark.At(r.EndsAt)), page)
	case fieldmark.AccessDeclined:
		return "Your request for an API key was declined", fmt.Sprintf("Your request for an API key of %s was "+
			"declined.\n\n%s\n\n%s\n", s.cfg.BaseURL, r.Reason, page)
	}
	// An issued or expired request needs no mail: the applicant has seen the page.
	return "", ""
}

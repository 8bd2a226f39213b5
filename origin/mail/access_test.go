package mail_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/webhook"
)

// TestAccessRequestMail: the applicant gets the address of the page of a request at once, and each decision.
// Anyone can enter the address of a stranger, so no mail has text of the form. A mail whose process ended in
// every attempt is not sent again.
func TestAccessRequestMail(t *testing.T) {
	r := startRelay(t, "starttls")
	f := newIdleFixture(t, r, fmt.Sprintf("smtp://fieldmark:secret@127.0.0.1:%d", r.port))
	ctx := auditlog.WithActor(t.Context(), auditlog.Actor{Kind: fieldmark.ActorPerson, Name: "ann"})
	form := fieldmark.AccessRequestForm{Organization: "Stranger Ltd", Name: "Sam Stranger", Email: "sam@acme.example",
		Purpose: "Buy at stranger.example: our billing creates missions.", Offer: fieldmark.OfferStandard,
		Scopes: []fieldmark.Scope{fieldmark.ScopeMissionCreate}}
	sent := 0
	wants := func(subject string, parts ...string) {
		t.Helper()
		sent++
		_, header, body := f.wait(sent)
		if got := decodeSubject(t, header); got != subject || header.Get("To") != "<sam@acme.example>" {
			t.Errorf("mail %d: %q to %s, want %q", sent, got, header.Get("To"), subject)
		}
		for _, part := range parts {
			if !strings.Contains(body, part) {
				t.Errorf("mail %d lacks %q: %s", sent, part, body)
			}
		}
		if strings.Contains(strings.ToLower(body), "stranger") {
			t.Errorf("mail %d has text of the applicant: %s", sent, body)
		}
	}
	open := func(network string) fieldmark.NewAccessRequest {
		t.Helper()
		request, err := f.AccessRequests.Open(t.Context(), access.ParseCaller(network, ""), form)
		must(t, err)
		wants("Your request for an API key", "names this address",
			"https://marks.example"+fieldmark.PathAccessPage+"/"+request.Secret+"\n")
		return request
	}
	other := form
	other.Email = "lost@acme.example"
	lost, err := f.AccessRequests.Open(t.Context(), access.ParseCaller("203.0.113.1", ""), other)
	must(t, err)
	for range webhook.ScheduleOf(&fieldmark.RetryPolicy{Schedule: fieldmark.RetryQuick}) {
		f.write(func(ctx context.Context, tx *store.Tx) error {
			now := time.Now()
			ids, err := tx.ClaimDueAccessMail(ctx, "dead", now, now.Add(time.Hour), 8)
			if len(ids) != 1 {
				t.Errorf("the mail of %q is due, want that of one request", ids)
			}
			return errors.Join(err, tx.ReleaseLeases(ctx, ""))
		})
	}
	f.run()
	waittest.Until(t, "the lost mail ends", func() bool {
		a, err := f.store.AccessRequest(t.Context(), lost.ID)
		must(t, err)
		return a.DueAt.IsZero()
	})
	first := open("192.0.2.1")
	_, err = f.AccessRequests.Approve(ctx, first.ID, fieldmark.AccessApproval{Account: "acme", NewAccount: true,
		ExpiresInDays: 90, Scopes: form.Scopes})
	must(t, err)
	wants("Your request for an API key was approved", "press the button", "/"+first.Secret+"\n")
	second := open("198.51.100.1")
	_, err = f.AccessRequests.Decline(ctx, second.ID, fieldmark.AccessRefusal{Reason: "We serve one country."})
	must(t, err)
	wants("Your request for an API key was declined", "We serve one country.", "/"+second.Secret+"\n")
}

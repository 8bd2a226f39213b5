package mail_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/auditlog"
)

// TestAccessRequestMail: the applicant gets the address of the page of a request at once, and each decision.
// Anyone can enter the address of a stranger, so no mail has text of the form.
func TestAccessRequestMail(t *testing.T) {
	r := startRelay(t, "starttls")
	f := newFixture(t, r, fmt.Sprintf("smtp://fieldmark:secret@127.0.0.1:%d", r.port))
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
	first := open("192.0.2.1")
	_, err := f.AccessRequests.Approve(ctx, first.ID, fieldmark.AccessApproval{Account: "acme", NewAccount: true,
		ExpiresInDays: 90, Scopes: form.Scopes})
	must(t, err)
	wants("Your request for an API key was approved", "press the button", "/"+first.Secret+"\n")
	second := open("198.51.100.1")
	_, err = f.AccessRequests.Decline(ctx, second.ID, fieldmark.AccessRefusal{Reason: "We serve one country."})
	must(t, err)
	wants("Your request for an API key was declined", "We serve one country.", "/"+second.Secret+"\n")
}

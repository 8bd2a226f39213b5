package mail_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/mail"
	"github.com/fieldmark/fieldmark/origin/store"
)

// TestDigest: an address confirms, is sent one mail with what changed, and unsubscribes by one
// request without a session. Names of brands add neither header fields nor lines.
func TestDigest(t *testing.T) {
	r := startRelay(t, "starttls")
	f := newFixture(t, r, fmt.Sprintf("smtp://fieldmark:secret@127.0.0.1:%d", r.port))
	must(t, f.Mail.Add(t.Context(), account, "acme", " ann@acme.example "))
	got, header, body := f.wait(1)
	if !got.TLS || got.Sender != "geo@marks.example" || fmt.Sprint(got.To) != "[ann@acme.example]" ||
		header.Get("List-Unsubscribe") != "" || decodeSubject(t, header) != "Confirm mail about Acme" {
		t.Errorf("the request for confirmation is\n%+v", got)
	}
	f.emit(fieldmark.EventClaimContested, fieldmark.ClaimChange{Slug: "acme"})
	f.settled()
	if state := f.addresses()[0].State; state != store.MailPending || len(r.mails()) != 1 {
		t.Errorf("an address that did not confirm is %s and was sent %d mails", state, len(r.mails()))
	}
	before := time.Now()
	f.confirm(body)
	must(t, f.Mail.Confirm(t.Context(), token(t, body, "/owner/mail/confirm?token="))) // twice is no error
	if due := f.addresses()[0].DueAt.UTC(); due.Hour() != 6 || due.Before(before) ||
		due.After(time.Now().Add(24*time.Hour)) {
		t.Errorf("the first digest is due at %v, want 6 o'clock", due)
	}

	score, next := fieldmark.Milli(30_000), fieldmark.Milli(82_300)
	hostile := "Acme\r\nBcc: victim@other.example\r\n\r\nYou won\u202e <b>=?utf-8?q?x?="
	f.write(func(ctx context.Context, tx *store.Tx) error {
		b, err := tx.Brand(ctx, "acme")
		if err != nil {
			return err
		}
		b.Name = hostile
		return tx.PutBrand(ctx, b.Brand)
	})
	f.emit(fieldmark.EventDisputeUpheld, fieldmark.DisputeChange{Slug: "acme", Signal: "read.server_text",
		State: fieldmark.DisputeUpheld, Answer: "It is there.\n\nClaim: it expired."})
	f.emit(fieldmark.EventScoreChanged, fieldmark.ScoreChange{Slug: "acme", Name: hostile, Cause: fieldmark.CauseFacts,
		From:    fieldmark.Standing{Status: fieldmark.StatusScored, Score: &score, Grade: "E"},
		To:      fieldmark.Standing{Status: fieldmark.StatusScored, Score: &next, Grade: "B"},
		Signals: []fieldmark.SignalChange{{ID: "read.headings", Label: "Headings", From: 0, To: 5_000}},
		Gates:   []fieldmark.GateChange{{Gate: fieldmark.Gate{Reason: "robots.txt blocks crawlers."}}}})
	f.emit(fieldmark.EventBrandAudited, fieldmark.BrandAudit{Slug: "acme", Result: fieldmark.AuditMeasured})
	f.settled()
	var text strings.Builder
	for n := 2; n <= len(r.mails()); n++ { // the events may have been sent one by one
		list := r.mails()
		_, header, body = (&fixture{t: t, relay: &relay{said: list[:n]}}).wait(n)
		text.WriteString(body)
		subject := decodeSubject(t, header)
		if header.Get("Bcc") != "" || len(header["Subject"]) != 1 || strings.ContainsAny(subject, "\r\n\u202e") ||
			!strings.HasPrefix(subject, "Acme Bcc: victim@other.example You won <b>") {
			t.Errorf("the header is %q", header)
		}
	}
	for _, want := range []string{"  GEO score: 82.3 B, was 30 E: an audit found other facts. No longer capped: " +
		"robots.txt blocks crawlers. Headings +5.\n",
		"  Dispute of read.server_text: upheld. Answer: It is there. Claim: it expired.\n",
		"https://marks.example/brands/acme\n", "https://marks.example/owner/brands/acme/notifications\n"} {
		if strings.Count(text.String(), want) < 1 {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	if header.Get("List-Unsubscribe-Post") != "List-Unsubscribe=One-Click" ||
		header.Get("Auto-Submitted") != "auto-generated" || !strings.HasSuffix(header.Get("Message-ID"),
		"@marks.example>") {
		t.Errorf("the header is %q", header)
	}
	sent := len(r.mails())
	f.write(func(ctx context.Context, tx *store.Tx) error { return tx.ExpediteMail(ctx, "acme", time.Now()) })
	f.settled()
	if n := len(r.mails()); n != sent {
		t.Errorf("%d mails without an event", n-sent)
	}
	unsubscribe := token(t, header.Get("List-Unsubscribe"), "<https://marks.example/owner/mail/unsubscribe?token=")
	if err := f.Mail.Unsubscribe(t.Context(), unsubscribe+"x"); !fieldmark.IsCode(err, fieldmark.CodeNotFound) {
		t.Errorf("a wrong token: %v", err)
	}
	must(t, f.Mail.Unsubscribe(t.Context(), unsubscribe))
	must(t, f.Mail.Unsubscribe(t.Context(), unsubscribe))
	if list := f.addresses(); len(list) != 0 {
		t.Errorf("after the unsubscription: %+v", list)
	}
	must(t, f.store.Check(t.Context()))
}

// TestDigestOfABusyAccount: the events of a brand are sent once each, also after more events of the account than one
// page, and than one mail looks at: a second mail follows at once.
func TestDigestOfABusyAccount(t *testing.T) {
	r := startRelay(t, "starttls")
	f := newIdleFixture(t, r, fmt.Sprintf("smtp://fieldmark:secret@127.0.0.1:%d", r.port))
	now := time.Now()
	f.write(func(ctx context.Context, tx *store.Tx) error {
		return tx.AddMailAddress(ctx, &mail.Address{ID: "mla_1", Brand: "acme", Account: account,
			Address: "ann@acme.example", State: store.MailConfirmed, CreatedAt: now})
	})
	number := 0
	others := func(n int) {
		t.Helper()
		f.write(func(ctx context.Context, tx *store.Tx) error {
			for range n {
				number++
				err := tx.AppendEvent(ctx, &store.Event{Account: account, Subject: "msn_1", Event: fieldmark.Event{
					ID: fmt.Sprintf("evt_%026d", number), Type: fieldmark.EventMissionCreated, Time: fieldmark.At(now),
					Data: []byte("{}")}})
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	answers := []string{"in the first page", "in the second page", "in the second mail"}
	for i, n := range []int{0, 1_500, 10_000} {
		others(n)
		f.emit(fieldmark.EventDisputeUpheld, fieldmark.DisputeChange{Slug: "acme", Signal: "read.server_text",
			State: fieldmark.DisputeUpheld, Answer: answers[i]})
	}
	head, err := f.store.Head(t.Context())
	must(t, err)
	f.run()
	waittest.Until(t, "all events were read", func() bool { return f.addresses()[0].After >= head })
	_, _, body := f.wait(2)
	if strings.Count(body, answers[2]) != 1 || strings.Contains(body, "page") {
		t.Errorf("the second mail is\n%s", body)
	}
	_, _, body = (&fixture{t: t, relay: &relay{said: r.mails()[:1]}}).wait(1)
	for i, answer := range answers {
		if got := strings.Count(body, answer); got != 1 && i < 2 || got != 0 && i == 2 {
			t.Errorf("%q is in the first mail %d times:\n%s", answer, got, body)
		}
	}
	if due := f.addresses()[0].DueAt; !due.After(time.Now()) {
		t.Errorf("after the last event, the next digest is due at %v", due)
	}
}

// TestFailedClaimSendsNoMail: a transaction that leases mail and fails causes no mail.
func TestFailedClaimSendsNoMail(t *testing.T) {
	for _, table := range []string{"mail_address", "access_request"} {
		t.Run(table, func(t *testing.T) {
			r := startRelay(t, "starttls")
			f := newIdleFixture(t, r, fmt.Sprintf("smtp://fieldmark:secret@127.0.0.1:%d", r.port))
			if table == "mail_address" {
				must(t, f.Mail.Add(t.Context(), account, "acme", "ann@acme.example"))
			} else {
				_, err := f.AccessRequests.Open(t.Context(), access.ParseCaller("192.0.2.1", ""),
					fieldmark.AccessRequestForm{Organization: "Acme", Name: "Ann", Email: "ann@acme.example",
						Purpose: "Our billing creates missions.", Offer: fieldmark.OfferStandard,
						Scopes: []fieldmark.Scope{fieldmark.ScopeMissionCreate}})
				must(t, err)
			}
			allow := storetest.RefuseClaims(t, f.at, table)
			f.run()
			waittest.Until(t, "claims fail",
				func() bool { return f.log.Count("claim jobs") >= 2 || len(r.mails()) > 0 })
			if n := len(r.mails()); n != 0 {
				t.Errorf("%d mails by a transaction that failed", n)
			}
			allow()
			f.settled()
			waittest.Until(t, "no mail about a request is due", func() bool {
				list, err := f.store.AccessRequests(t.Context(), "", "", 1)
				must(t, err)
				return len(list) == 0 || list[0].DueAt.IsZero()
			})
			f.wait(1)
		})
	}
}

// TestRelayRefuses: a refusal for now is tried again with the same mail, a permanent one ends the
// address, and a mail is never sent without TLS or to a server of another name.
func TestRelayRefuses(t *testing.T) {
	r := startRelay(t, "smtps")
	f := newIdleFixture(t, r, fmt.Sprintf("smtps://fieldmark:secret@127.0.0.1:%d", r.port))
	refusedWhenExpedited(f)
	f.run()
	must(t, f.Mail.Add(t.Context(), account, "acme", "greylisted@acme.example"))
	must(t, f.Mail.Add(t.Context(), account, "acme", "unknown@acme.example"))
	state := func(i int, want store.MailState, text string, attempts int) mail.Address {
		t.Helper()
		var a mail.Address
		waittest.Until(t, fmt.Sprintf("address %d is %s after %d attempts", i, want, attempts), func() bool {
			for _, a = range f.addresses() {
				if strings.HasPrefix(a.Address, []string{"greylisted", "unknown", "ann"}[i]) {
					break
				}
			}
			return a.State == want && strings.Contains(a.Error, text) && a.Attempts >= attempts
		})
		return a
	}
	if a := state(1, store.MailEnded, "550", 1); !a.DueAt.IsZero() {
		t.Errorf("a refused address is due at %v", a.DueAt)
	}
	state(0, store.MailPending, "451", 2) // after 2 seconds, by the schedule
	must(t, f.Mail.Add(t.Context(), account, "acme", "ann@acme.example"))
	if got, _, _ := f.wait(1); !got.TLS || got.To[0] != "ann@acme.example" {
		t.Errorf("mail %+v", got)
	}
	err := f.Mail.Add(t.Context(), account, "acme", "bob@acme.example")
	if !fieldmark.IsCode(err, fieldmark.CodeValidationFailed) {
		t.Errorf("a fourth address: %v", err)
	}
	for _, bad := range []string{"", "ann", "Ann <ann@acme.example>", "ann@acme.example\r\nDATA", "ü@acme.example",
		strings.Repeat("a", 250) + "@b.example"} {
		if err := f.Mail.Add(t.Context(), account, "acme", bad); !fieldmark.IsCode(err,
			fieldmark.CodeValidationFailed) {
			t.Errorf("address %q: %v", bad, err)
		}
	}
	if err := f.Mail.Add(t.Context(), "another", "acme", "a@acme.example"); !fieldmark.IsCode(err,
		fieldmark.CodeNotFound) {
		t.Errorf("an account that does not manage the brand: %v", err)
	}
}

// refusedWhenExpedited ends an address whose digest was expedited while the relay refused it: it must not be due again.
func refusedWhenExpedited(f *fixture) {
	f.t.Helper()
	now := time.Now()
	was := mail.Address{ID: "mla_1", Brand: "acme", Account: account, Address: "gone@acme.example",
		State: store.MailConfirmed, CreatedAt: now, DueAt: now.Truncate(time.Microsecond)}
	f.write(func(ctx context.Context, tx *store.Tx) error { return tx.AddMailAddress(ctx, &was) })
	f.write(func(ctx context.Context, tx *store.Tx) error {
		ids, err := tx.ClaimDueMail(ctx, "relay", now, now.Add(time.Hour), 8)
		if len(ids) != 1 {
			f.t.Errorf("the mail of %q is due, want that of one address", ids)
		}
		return err
	})
	f.write(func(ctx context.Context, tx *store.Tx) error {
		return tx.ExpediteMail(ctx, "acme", now.Add(time.Second))
	})
	next := was
	next.State, next.DueAt = store.MailEnded, time.Time{}
	f.write(func(ctx context.Context, tx *store.Tx) error { return tx.EndMail(ctx, "relay", &was, &next) })
	if a := f.addresses()[0]; a.State != store.MailEnded || !a.DueAt.IsZero() {
		f.t.Errorf("a refused address is %s and due at %v", a.State, a.DueAt)
	}
	f.write(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteMailAddress(ctx, was.ID) })
}

// TestRelayNeedsTLS: without the encryption that the URL says, nothing is sent, and the error
// names the cause and not the password.
func TestRelayNeedsTLS(t *testing.T) {
	plain, secured := startRelay(t, "plain"), startRelay(t, "starttls")
	for name, tt := range map[string]struct {
		to   *relay
		url  string
		want string
	}{
		"no STARTTLS":      {plain, "smtp://fieldmark:secret@127.0.0.1:%d", "STARTTLS"},
		"wrong password":   {secured, "smtp://fieldmark:wrong@127.0.0.1:%d", "535"},
		"other name":       {secured, "smtp://fieldmark:secret@localhost:%d", "certificate"},
		"not TLS at all":   {plain, "smtps://127.0.0.1:%d", "TLS handshake"},
		"this machine, ok": {plain, "smtp://127.0.0.1:%d?tls=off", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, tt.to, fmt.Sprintf(tt.url, tt.to.port))
			must(t, f.Mail.Add(t.Context(), account, "acme", "ann@acme.example"))
			if tt.want == "" {
				waittest.Until(t, "the mail arrives", func() bool { return len(tt.to.mails()) == 1 })
				return
			}
			waittest.Until(t, "an attempt failed", func() bool { return f.addresses()[0].Error != "" })
			a := f.addresses()[0]
			if a.State != store.MailPending || !strings.Contains(a.Error, tt.want) ||
				strings.Contains(a.Error, "secret") {
				t.Errorf("%s: %q, want %q", a.State, a.Error, tt.want)
			}
		})
	}
	if n := len(secured.mails()); n != 0 {
		t.Errorf("%d mails were sent with wrong settings", n)
	}
}

func TestParseRelay(t *testing.T) {
	for _, bad := range []string{"", "mail.example", "http://mail.example", "smtp://", "smtp://mail.example?tls=off",
		"smtp://10.0.0.1?tls=off", "smtps://mail.example?tls=off", "smtp://u:hunter2@mail.example:0/",
		"smtp://u:hunter2@m/x",
		"smtp://u:hunter2@m:port", "smtp://u:hunter2@[::1"} {
		if _, err := mail.ParseRelay(bad, "geo@marks.example"); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := mail.ParseRelay("smtps://mail.example", "nobody"); err == nil {
		t.Error("a sender that is no address was accepted")
	}
	for _, good := range []string{"smtps://u:p@mail.example:465", "smtp://mail.example", "smtp://[::1]:25?tls=off",
		"smtp://localhost:25?tls=off"} {
		if _, err := mail.ParseRelay(good, "Fieldmark <geo@marks.example>"); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
}

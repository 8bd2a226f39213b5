package owner_test

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/formtest"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/mail"
	"github.com/fieldmark/fieldmark/origin/store"
)

// TestWalkForms sends every form of the owner's pages with bad values: see formtest.Walker.
func TestWalkForms(t *testing.T) {
	relay, err := mail.ParseRelay("smtp://127.0.0.1:1?tls=off", "geo@marks.example") // nothing listens there
	must(t, err)
	f := newFixture(t, func(c *origin.Config) { c.MailRelay, c.BaseURL = relay, "https://marks.example" })
	w := formtest.Walker{Sent: map[string]bool{},
		Get: func(path string) string { return f.do(path, nil).Body.String() },
		Post: func(action string, form url.Values) (int, string) {
			rec := f.do(action, form)
			return rec.Code, rec.Body.String()
		},
		Skip: func(f formtest.Form) bool {
			return strings.HasSuffix(f.Action, "/sign-out") || strings.HasPrefix(f.Values.Get("do"), "dlv_")
		}}
	w.Walk(t, "/owner/sign-in")
	f.signIn()
	must(t, f.service.Brands.Audits.Request(t.Context(), "acme"))
	f.audited("acme")
	says(t, "an endpoint", f.do(acmePages+"/notifications", url.Values{"url": {"https://127.0.0.1:1/hook"},
		"newest": {"none"}}), 200)
	says(t, "an address", f.do(acmePages+"/notifications/mail", url.Values{"address": {"ann@acme.example"}}), 303)
	list, err := f.service.Webhooks.Endpoints(t.Context(), "brand-acme")
	must(t, err)
	paths := []string{"", "/disputes", "/notifications/" + list[0].ID, "/notifications", "/profile", "/claim"}
	for _, path := range paths {
		w.Walk(t, acmePages+path)
	}
	dispute := formtest.Parse(t, w.Get(acmePages+"/disputes"))[1].Values
	dispute.Set("text", "The page has valid markup.")
	f.disputed(dispute)
	must(t, f.store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		unlisted := fieldmark.At(time.Now())
		return tx.SetUnlisted(ctx, "acme", &unlisted)
	}))
	for _, path := range paths {
		w.Walk(t, acmePages+path)
	}
	if len(w.Sent) < 16 {
		t.Errorf("found only %d forms", len(w.Sent))
	}
}

package admin_test

import (
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/access/oidc"
	"github.com/fieldmark/fieldmark/origin/admin"
	"github.com/fieldmark/fieldmark/origin/store"
)

// TestPasswordsOff disables passwords: only the provider can sign users in, and an outage of it is reported.
// Without a configured provider nothing is disabled.
func TestPasswordsOff(t *testing.T) {
	b := newBrowser(t, false)
	if body := b.page("/admin/sign-in", "Password"); strings.Contains(body, "/sign-in/provider") {
		t.Errorf("a provider is offered without a configuration: %s", body)
	}
	b.rejected("/admin/sign-in/provider", nil, 404, "nothing here")
	b.rejected("/admin/sign-in/return?code=c&state=s", nil, 404, "nothing here")

	db, err := store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "origin.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	provider, err := oidc.New(oidc.Config{Issuer: "https://login.invalid", ClientID: "us",
		RedirectURL: "https://marks.example/back", Rules: oidc.Rules{Admins: []string{"ops"}}, Label: "Acme <b>"})
	if err != nil {
		t.Fatal(err)
	}
	if b.service, err = origin.New(origin.Config{Store: db, Secret: []byte(strings.Repeat("s", 32)), SignOn: provider,
		SignOnOnly: true}); err != nil {
		t.Fatal(err)
	}
	if err := b.service.Access.Admins.SetPassword(t.Context(), user, password); err != nil {
		t.Fatal(err)
	}
	if b.handler, err = admin.New(admin.Config{Service: b.service, Secure: true,
		Log: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	if body := b.page("/admin/sign-in", "Sign in with Acme &lt;b&gt;"); strings.Contains(body, `type="password"`) {
		t.Errorf("a password is asked for: %s", body)
	}
	b.rejected("/admin/sign-in", url.Values{"user": {user}, "password": {password}}, 401, "is wrong")
	b.rejected("/admin/sign-in/provider", nil, 502, "is not available; try again later")
	b.rejected("/admin/sign-in/return?code=c&state=s", nil, 401, "Sign in again")
	b.header = map[string]string{"Cookie": "__Host-sign-on=" + strings.Repeat("A", 400)}
	b.rejected("/admin/sign-in/return?code=c&state=s", nil, 401, "Sign in again")
}

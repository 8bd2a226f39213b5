package oidc_test

import (
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/store"
)

// Re-authentication applies the provider's claims as a sign-in does: it updates the role,
// and it signs a user out who no longer has access.
func TestConfirmationAppliesTheRules(t *testing.T) {
	i := newIssuer(t)
	db, err := store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "origin.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	s, err := origin.New(origin.Config{Store: db, Secret: []byte(strings.Repeat("s", 32)),
		SignOn: mustNew(t, i.config())})
	if err != nil {
		t.Fatal(err)
	}
	come := func(group, session, token string) (string, error) {
		address, kept, err := s.Access.SignOn.Begin(t.Context(), access.AuthRequest{Session: session})
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		i.claims = map[string]any{"iss": i.URL, "aud": "us", "sub": "u1", "nonce": u.Query().Get("nonce"),
			"iat":       now.Unix(),
			"exp":       now.Add(time.Minute).Unix(),
			"auth_time": now.Unix(), "groups": group, "email": "ann@acme.example", "email_verified": true}
		token, _, err = s.Access.SignOn.Finish(t.Context(),
			access.Callback{Flow: kept, Token: token,
				Query: url.Values{"code": {"c"}, "state": {u.Query().Get("state")}}})
		return token, err
	}
	token, err := come("ops", "", "")
	if err != nil {
		t.Fatal(err)
	}
	in, err := s.Access.Sessions.Get(t.Context(), token)
	if err != nil || in.Role != fieldmark.RoleAdmin {
		t.Fatalf("signed in as %+v, %v; want an administrator", in, err)
	}
	if _, err := come("staff", in.Name, token); err != nil {
		t.Fatal(err)
	}
	if in, err = s.Access.Sessions.Get(t.Context(), token); err != nil || in.Role != fieldmark.RoleViewer {
		t.Errorf("confirmed as a viewer: %+v, %v; want the role of a viewer", in, err)
	}
	if _, err := come("none", in.Name, token); err == nil {
		t.Error("a person who is no longer admitted confirmed the session")
	}
	if _, err := s.Access.Sessions.Get(t.Context(), token); !fieldmark.IsCode(err, fieldmark.CodeInvalidCredentials) {
		t.Errorf("session of a person who is no longer admitted: %v, want it ended", err)
	}
}

package origin_test

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin/access"
)

func createKey(t testing.TB, w *fixture, r fieldmark.KeyRequest) fieldmark.NewKey {
	t.Helper()
	k, err := w.Access.Keys.Create(t.Context(), access.DefaultAccount, r)
	if err != nil {
		t.Fatalf("create a key of %+v: %v", r, err)
	}
	return k
}

var intake = fieldmark.KeyRequest{Name: "intake", Scopes: []fieldmark.Scope{fieldmark.ScopeMissionCreate}}

func TestAuthenticate(t *testing.T) {
	w := newFixture(t)
	ctx := t.Context()
	k := createKey(t, w, intake)
	got, err := w.Access.Keys.Authenticate(ctx, k.Token, access.Caller{})
	if err != nil || got.ID != k.ID || got.Account != access.DefaultAccount ||
		!got.Allows(fieldmark.ScopeMissionCreate) || got.Allows(fieldmark.ScopeAdmin) {
		t.Errorf("authenticated as %+v, %v; want %+v", got, err, k.Key)
	}
	if !strings.HasPrefix(k.Token, k.Prefix+"_") || k.ExpiresAt == nil {
		t.Errorf("new key %+v", k)
	}
	parsed, err := fieldmark.ParseKeyToken(k.Token)
	if err != nil {
		t.Fatal(err)
	}
	unknown := fieldmark.NewKeyToken("AAAAAAAA", parsed.Secret()).String()
	wrong := fieldmark.NewKeyToken(strings.TrimPrefix(parsed.Public(), "fm_live_"), strings.Repeat("A", 32)).String()
	var texts []string
	for _, token := range []string{"", "x", k.Token[:len(k.Token)-1], k.Token + "x", unknown, wrong} {
		_, err := w.Access.Keys.Authenticate(ctx, token, access.Caller{})
		texts = append(texts, wantCode(t, token, err, fieldmark.CodeInvalidAPIKey).Detail)
	}
	if _, err := w.Access.Keys.Revoke(ctx, k.ID, ""); err != nil {
		t.Fatal(err)
	}
	_, err = w.Access.Keys.Authenticate(ctx, k.Token, access.Caller{})
	texts = append(texts, wantCode(t, "revoked", err, fieldmark.CodeInvalidAPIKey).Detail)
	for _, text := range texts {
		if text != texts[0] {
			t.Errorf("refusals differ: %q and %q", text, texts[0])
		}
	}
}

func TestRevokeKey(t *testing.T) {
	w := newFixture(t)
	k := createKey(t, w, intake)
	first, err := w.Access.Keys.Revoke(t.Context(), k.ID, "")
	if err != nil || first.RevokedAt == nil {
		t.Fatalf("revoked %+v, %v", first, err)
	}
	again, err := w.Access.Keys.Revoke(t.Context(), k.ID, "")
	if err != nil || !sameTime(*again.RevokedAt, *first.RevokedAt) || w.types(t, 1) != "api_key.revoked" {
		t.Errorf("revoked again: %+v, %v, events %q", again, err, w.types(t, 1))
	}
	_, err = w.Access.Keys.Revoke(t.Context(), "key_nobody", "")
	wantCode(t, "unknown key", err, fieldmark.CodeNotFound)
}

func TestCreateKeyComplains(t *testing.T) {
	w := newFixture(t)
	_, err := w.Access.Keys.Create(t.Context(), access.DefaultAccount, fieldmark.KeyRequest{
		Name: "\n", Scopes: []fieldmark.Scope{"mission:create", "mission:fly", "mission:create"}, ExpiresInDays: -2})
	wantFields(t, "all wrong", err, "/name", "/scopes/1", "/scopes/2", "/expiresInDays")
	_, err = w.Access.Keys.Create(t.Context(), access.DefaultAccount, fieldmark.KeyRequest{Name: "x"})
	wantFields(t, "no scope", err, "/scopes")
	_, err = w.Access.Keys.Create(t.Context(), "nobody", intake)
	wantCode(t, "unknown account", err, fieldmark.CodeNotFound)
}

func TestKeyExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		day, never := intake, intake
		day.ExpiresInDays, never.ExpiresInDays = 1, -1
		short, long := createKey(t, w, day), createKey(t, w, never)
		time.Sleep(24 * time.Hour) // virtual
		_, err := w.Access.Keys.Authenticate(t.Context(), short.Token, access.Caller{})
		wantCode(t, "a key of yesterday", err, fieldmark.CodeExpiredAPIKey)
		if _, err := w.Access.Keys.Authenticate(t.Context(), long.Token, access.Caller{}); err != nil ||
			long.ExpiresAt != nil {
			t.Errorf("a key without end: %v, expires %v", err, long.ExpiresAt)
		}
	})
}

func TestKeyLastUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		k := createKey(t, w, intake)
		stop := w.run(t)
		defer stop()
		used := func() *fieldmark.Time {
			keys, err := w.Access.Keys.List(t.Context())
			if err != nil || len(keys) != 1 {
				t.Fatalf("keys %v, %v", keys, err)
			}
			return keys[0].LastUsedAt
		}
		for range 30 {
			if _, err := w.Access.Keys.Authenticate(t.Context(), k.Token, access.Caller{}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		if at := used(); at != nil {
			t.Errorf("the use was written on the request path: %v", at)
		}
		time.Sleep(time.Minute)
		first := used()
		if first == nil {
			t.Fatal("the use was not written within a minute")
		}
		if _, err := w.Access.Keys.Authenticate(t.Context(), k.Token, access.Caller{}); err != nil {
			t.Fatal(err)
		}
		stop() // writes what is not written yet
		if last := used(); !last.Std().After(first.Std()) {
			t.Errorf("last use %v after the end, was %v", last, first)
		}
	})
}

// Stored data alone must not let an attacker authenticate.
func TestSecretsAtRest(t *testing.T) {
	w := newFixture(t)
	k := createKey(t, w, intake)
	p, err := w.Webhooks.CreateEndpoint(t.Context(), access.DefaultAccount,
		fieldmark.EndpointRequest{URL: "http://127.0.0.1:9/"})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Access.Admins.SetPassword(t.Context(), "root", "a long enough password"); err != nil {
		t.Fatal(err)
	}
	session, err := w.Access.Sessions.SignIn(t.Context(), access.Credentials{User: "root",
		Password: "a long enough password"})
	if err != nil {
		t.Fatal(err)
	}
	token, err := fieldmark.ParseKeyToken(k.Token)
	if err != nil {
		t.Fatal(err)
	}
	kept := storetest.Dump(t, w.At)
	for name, secret := range map[string]string{"key": token.Secret(),
		"endpoint": strings.TrimPrefix(p.Secret, "whsec_"),
		"password": "a long enough password", "session": session} {
		if bytes.Contains(kept, []byte(secret)) {
			t.Errorf("the secret of the %s stands in the record", name)
		}
	}
	if !bytes.Contains(kept, []byte(token.Public())) {
		t.Errorf("the key's public part %s is not in the %d bytes that were searched", token.Public(), len(kept))
	}
	if w.Store.Shared() {
		return
	}
	for _, file := range []string{w.At.Path, w.At.Path + "-wal"} {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, %v; want 0600", file, info.Mode(), err)
		}
	}
}

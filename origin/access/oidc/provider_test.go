package oidc_test

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access/oidc"
)

// issuer is a provider with configurable responses.
type issuer struct {
	*httptest.Server
	key *rsa.PrivateKey

	mu       sync.Mutex
	asked    int               // number of discovery requests
	form     url.Values        // of the last token request
	announce map[string]any    // changes to discovery
	head     map[string]string // of the token
	claims   map[string]any    // of the token
	signer   *rsa.PrivateKey   // nil: the key of the provider
	user     map[string]any    // UserInfo response; nil: the endpoint fails
	status   int               // of the token response; 0 means 200
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{key: newRSA(t), announce: map[string]any{},
		head: map[string]string{"alg": "RS256", "kid": "1", "typ": "JWT"}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", i.discovery)
	mux.HandleFunc("GET /keys", i.keys)
	mux.HandleFunc("POST /token", i.token)
	mux.HandleFunc("GET /user", i.about)
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	return i
}

func newRSA(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (i *issuer) write(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func (i *issuer) discovery(w http.ResponseWriter, _ *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.asked++
	said := map[string]any{"issuer": i.URL, "authorization_endpoint": i.URL + "/auth",
		"token_endpoint":                        i.URL + "/token",
		"jwks_uri":                              i.URL + "/keys",
		"userinfo_endpoint":                     i.URL + "/user",
		"id_token_signing_alg_values_supported": []string{"RS256", "HS256", "none"}}
	maps.Copy(said, i.announce)
	i.write(w, said)
}

func (i *issuer) keys(w http.ResponseWriter, _ *http.Request) {
	number := func(n *big.Int) string { return base64.RawURLEncoding.EncodeToString(n.Bytes()) }
	i.write(w, map[string]any{"keys": []map[string]string{{"kty": "RSA", "kid": "1", "alg": "RS256", "use": "sig",
		"n": number(i.key.N), "e": number(big.NewInt(int64(i.key.E)))}}})
}

func (i *issuer) token(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	_ = r.ParseForm()
	i.form = r.Form
	if i.status != 0 {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(i.status)
		_, _ = io.WriteString(w, `{"error":"invalid_grant","error_description":"secret-of-the-provider"}`)
		return
	}
	i.write(w, map[string]any{"access_token": "at", "token_type": "Bearer", "id_token": i.sign()})
}

// sign creates the token. It implements the forbidden algorithms as an attacker would:
// "none" without a signature, HS256 with the public key as the secret.
func (i *issuer) sign() string {
	part := func(v any) string {
		b, _ := json.Marshal(v)
		return base64.RawURLEncoding.EncodeToString(b)
	}
	text := part(i.head) + "." + part(i.claims)
	if i.head["alg"] != "RS256" {
		return text + "."
	}
	key := i.key
	if i.signer != nil {
		key = i.signer
	}
	sum := sha256.Sum256([]byte(text))
	sig, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		panic(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(sig)
}

func (i *issuer) about(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.user == nil || r.Header.Get("Authorization") != "Bearer at" {
		http.Error(w, "no", http.StatusInternalServerError)
		return
	}
	i.write(w, i.user)
}

func (i *issuer) config() oidc.Config {
	return oidc.Config{Issuer: i.URL, ClientID: "us", ClientSecret: "s",
		RedirectURL: "https://marks.example/admin/sign-in/return", Scopes: []string{"email", "groups"},
		Rules: oidc.Rules{Claim: "groups", Admins: []string{"ops"}, Viewers: []string{"staff"}},
		Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
}

func mustNew(t *testing.T, cfg oidc.Config) *oidc.Provider {
	t.Helper()
	p, err := oidc.New(cfg)
	if err != nil {
		t.Fatalf("new: %v", err)
	}
	return p
}

// TestFinish checks that only a valid token is accepted.
func TestFinish(t *testing.T) {
	i := newIssuer(t)
	p := mustNew(t, i.config())
	f := oidc.NewFlow(false)
	now := time.Now()
	good := func() map[string]any {
		return map[string]any{"iss": i.URL, "aud": "us", "sub": "u1", "exp": now.Add(time.Hour).Unix(),
			"iat":    now.Unix(),
			"nonce":  f.Nonce,
			"groups": []any{"staff", 7}, "email": "Ann@Acme.example", "email_verified": true,
			"auth_time": now.Unix() - 5}
	}
	ann := oidc.Identity{Issuer: i.URL, Subject: "u1", Email: "ann@acme.example", Role: fieldmark.RoleViewer,
		AuthTime: time.Unix(now.Unix()-5, 0)}
	for _, tt := range []struct {
		name   string
		change func(c map[string]any)
		want   oidc.Identity
		err    error
	}{
		{"a good one", func(map[string]any) {}, ann, nil},
		{"of another issuer", func(c map[string]any) { c["iss"] = "https://evil.example" }, oidc.Identity{},
			oidc.ErrDenied},
		{"for another client", func(c map[string]any) { c["aud"] = "them" }, oidc.Identity{}, oidc.ErrDenied},
		{"for several, made for another",
			func(c map[string]any) { c["aud"], c["azp"] = []string{"us", "them"}, "them" },
			oidc.Identity{}, oidc.ErrDenied},
		{"expired", func(c map[string]any) { c["exp"] = now.Add(-time.Minute).Unix() }, oidc.Identity{},
			oidc.ErrDenied},
		{"of the future", func(c map[string]any) { c["iat"] = now.Add(time.Hour).Unix() }, oidc.Identity{},
			oidc.ErrDenied},
		{"of another flow", func(c map[string]any) { c["nonce"] = "x" }, oidc.Identity{}, oidc.ErrDenied},
		{"of no flow", func(c map[string]any) { delete(c, "nonce") }, oidc.Identity{}, oidc.ErrDenied},
		{"of nobody", func(c map[string]any) { delete(c, "sub") }, oidc.Identity{}, oidc.ErrDenied},
		{"of a name without end", func(c map[string]any) { c["sub"] = strings.Repeat("x", 256) }, oidc.Identity{},
			oidc.ErrDenied},
		{"without a signature", func(map[string]any) { i.head["alg"] = "none" }, oidc.Identity{}, oidc.ErrDenied},
		{"signed with what is public", func(map[string]any) { i.head["alg"] = "HS256" }, oidc.Identity{},
			oidc.ErrDenied},
		{"signed by another", func(map[string]any) { i.signer = newRSA(t) }, oidc.Identity{}, oidc.ErrDenied},
		{"of no group", func(c map[string]any) { c["groups"] = "opsies" },
			oidc.Identity{Issuer: i.URL, Subject: "u1", Email: ann.Email, AuthTime: ann.AuthTime}, nil},
		{"both groups, as one text", func(c map[string]any) { c["groups"] = "ops" },
			oidc.Identity{Issuer: i.URL, Subject: "u1", Email: ann.Email, Role: fieldmark.RoleAdmin,
				AuthTime: ann.AuthTime},
			nil},
		{"an address that is not verified", func(c map[string]any) { c["email_verified"] = false },
			oidc.Identity{Issuer: i.URL, Subject: "u1", Role: fieldmark.RoleViewer, AuthTime: ann.AuthTime}, nil},
		{"groups are asked for", func(c map[string]any) {
			delete(c, "groups")
			i.user = map[string]any{"sub": "u1", "groups": []string{"ops"}, "auth_time": now.Unix()}
		}, oidc.Identity{Issuer: i.URL, Subject: "u1", Email: ann.Email, Role: fieldmark.RoleAdmin,
			AuthTime: ann.AuthTime},
			nil},
		{"another address is verified", func(c map[string]any) {
			delete(c, "groups")
			delete(c, "email_verified")
			i.user = map[string]any{"sub": "u1", "groups": []string{"ops"}, "email": "eve@acme.example",
				"email_verified": true}
		}, oidc.Identity{Issuer: i.URL, Subject: "u1", Role: fieldmark.RoleAdmin, AuthTime: ann.AuthTime}, nil},
		{"the answer is about another", func(c map[string]any) {
			delete(c, "groups")
			i.user = map[string]any{"sub": "u2", "groups": []string{"ops"}}
		}, oidc.Identity{}, oidc.ErrDenied},
		{"groups cannot be asked for", func(c map[string]any) { delete(c, "groups") }, oidc.Identity{},
			oidc.ErrUnavailable},
		{"an address cannot be asked for", func(c map[string]any) { delete(c, "email") },
			oidc.Identity{Issuer: i.URL, Subject: "u1", Role: fieldmark.RoleViewer, AuthTime: ann.AuthTime}, nil},
		{"the code is refused", func(map[string]any) { i.status = 400 }, oidc.Identity{}, oidc.ErrDenied},
		{"the provider fails", func(map[string]any) { i.status = 500 }, oidc.Identity{}, oidc.ErrUnavailable},
	} {
		i.head["alg"], i.signer, i.user, i.status = "RS256", nil, nil, 0
		i.claims = good()
		tt.change(i.claims)
		got, err := p.Finish(t.Context(), "code", f)
		if !errors.Is(err, tt.err) || !cmp.Equal(got, tt.want) {
			t.Errorf("a token %s: %+v, %v; want %+v, %v", tt.name, got, err, tt.want, tt.err)
		}
		if err != nil && strings.Contains(err.Error(), "secret-of-the-provider") {
			t.Errorf("a token %s: the error holds the provider's answer: %v", tt.name, err)
		}
	}
	if i.form.Get("code_verifier") != f.Verifier || i.form.Get("redirect_uri") != i.config().RedirectURL {
		t.Errorf("the code was exchanged with %v, want the verifier and the address to return to", i.form)
	}
}

// TestBegin checks that the request has all parameters that bind the response to the flow.
func TestBegin(t *testing.T) {
	p := mustNew(t, newIssuer(t).config())
	for _, fresh := range []bool{false, true} {
		f := oidc.NewFlow(fresh)
		address, err := p.Begin(t.Context(), f)
		u, bad := url.Parse(address)
		if err != nil || bad != nil {
			t.Fatalf("begin: %v, %v", err, bad)
		}
		sum := sha256.Sum256([]byte(f.Verifier))
		want := map[string]string{"response_type": "code", "client_id": "us",
			"redirect_uri": "https://marks.example/admin/sign-in/return", "scope": "openid email groups",
			"state": f.State, "nonce": f.Nonce, "code_challenge_method": "S256",
			"code_challenge": base64.RawURLEncoding.EncodeToString(sum[:]), "max_age": "43200"}
		if fresh {
			want["prompt"], want["max_age"] = "login", "0"
		}
		got := map[string]string{}
		for name := range u.Query() {
			got[name] = u.Query().Get(name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("fresh %v: %s", fresh, diff)
		}
	}
}

// TestUnreachableProvider: an unreachable provider does not block the origin, and retries are limited.
func TestUnreachableProvider(t *testing.T) {
	i := newIssuer(t)
	i.announce["issuer"] = "https://evil.example"
	p, began := mustNew(t, i.config()), time.Now()
	for range 10 {
		if _, err := p.Begin(t.Context(), oidc.NewFlow(false)); !errors.Is(err, oidc.ErrUnavailable) {
			t.Errorf("a provider that says it is another: %v, want %v", err, oidc.ErrUnavailable)
		}
	}
	asked := i.asked
	if asked > 2+int(time.Since(began)/time.Second) {
		t.Errorf("asked %d times, want once a second", asked)
	}
	guarded := i.config()
	guarded.Allow = nil
	if _, err := mustNew(t, guarded).Begin(t.Context(), oidc.NewFlow(false)); !errors.Is(err, oidc.ErrUnavailable) ||
		i.asked > asked {
		t.Errorf("a provider within, of no network that is allowed: %v, asked %d times, want %v", err, i.asked,
			oidc.ErrUnavailable)
	}
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	}))
	defer endless.Close()
	cfg := i.config()
	cfg.Issuer = endless.URL
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if _, err := mustNew(t, cfg).Begin(ctx, oidc.NewFlow(false)); !errors.Is(err, oidc.ErrUnavailable) ||
		len(err.Error()) > 1000 {
		t.Errorf("an answer without end: %.2000v, want %v", err, oidc.ErrUnavailable)
	}
	moved := httptest.NewServer(http.RedirectHandler(i.URL+"/.well-known/openid-configuration", http.StatusFound))
	defer moved.Close()
	cfg.Issuer = moved.URL
	asked = i.asked
	if _, err := mustNew(t, cfg).Begin(t.Context(), oidc.NewFlow(false)); !errors.Is(err, oidc.ErrUnavailable) ||
		i.asked != asked {
		t.Errorf("a redirect: %v, asked %d more times, want %v and none", err, i.asked-asked, oidc.ErrUnavailable)
	}
}

// TestDiscoveryIsShared: concurrent calls share one discovery request, and its result is cached.
func TestDiscoveryIsShared(t *testing.T) {
	i := newIssuer(t)
	p := mustNew(t, i.config())
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, err := p.Begin(t.Context(), oidc.NewFlow(false)); err != nil {
				t.Errorf("begin: %v", err)
			}
		})
	}
	all.Wait()
	if i.asked != 1 {
		t.Errorf("asked %d times, want once", i.asked)
	}
}

// TestNew: an unsafe configuration is rejected with all its errors.
func TestNew(t *testing.T) {
	whole := oidc.Config{Issuer: "https://login.example", ClientID: "us", RedirectURL: "https://marks.example/back",
		Rules: oidc.Rules{Admins: []string{"ops"}}}
	if p := mustNew(t, whole); p.Label() != "login.example" || p.Issuer() != whole.Issuer {
		t.Errorf("called %q of %q, want the host of the issuer", p.Label(), p.Issuer())
	}
	for _, tt := range []struct {
		change func(*oidc.Config)
		want   string
	}{
		{func(c *oidc.Config) { c.Issuer = "http://login.example" }, "must be https"},
		{func(c *oidc.Config) { c.Issuer = "login.example" }, "not an address"},
		{func(c *oidc.Config) { c.Issuer = "https://u:p@login.example" }, "not an address"},
		{func(c *oidc.Config) { c.ClientID, c.RedirectURL = "", "" }, "client id is required\nthe public address"},
		{func(c *oidc.Config) { c.Rules = oidc.Rules{} }, "no one could sign in"},
	} {
		cfg := whole
		tt.change(&cfg)
		if _, err := oidc.New(cfg); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %q", cfg, err, tt.want)
		}
	}
}

// FuzzRules reads claims of any form. Only a listed string value grants access.
func FuzzRules(f *testing.F) {
	for _, seed := range []string{`{"groups":["ops"]}`, `{"groups":"ops"}`, `{"a":{"groups":["ops",1,null]}}`,
		`{"a.groups":"ops"}`,
		`{"email":"ops","email_verified":"true"}`, `{"groups":{"ops":true}}`, `null`, `{"auth_time":1e400}`,
		`{"email":["ops","x"],"email_verified":true}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, claim := range []string{"groups", "a.groups", "email", "", "."} {
			r := oidc.Rules{Claim: claim, Admins: []string{"ops"}}
			p, err := r.Read([]byte(text))
			if err == nil && p.Role != "" &&
				(!strings.Contains(strings.ToLower(unquoted(text)), "ops") || p.Role != fieldmark.RoleAdmin) {
				t.Errorf("%s lets somebody in as %s by %s", text, p.Role, claim)
			}
			if err == nil && p.Email != "" && !json.Valid([]byte(text)) {
				t.Errorf("%s gives an address", text)
			}
		}
	})
}

// unquoted decodes JSON escape sequences, so that a plain text search works.
func unquoted(text string) string {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	return fmt.Sprint(v)
}

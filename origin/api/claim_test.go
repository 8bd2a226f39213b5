package api_test

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/claim"
	"github.com/fieldmark/fieldmark/origin/safehttp"
)

// zone is a DNS server. It has TXT records by name.
type zone map[string]string

func (z zone) LookupTXT(_ context.Context, name string) ([]string, error) {
	if text, ok := z[strings.TrimSuffix(name, ".")]; ok {
		return []string{text}, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
}

func TestClaims(t *testing.T) {
	dns := zone{}
	at := storetest.New(t)
	// Every site is at an address that must not be reached, so that only DNS proves.
	client := safehttp.New(safehttp.Config{ConnectTo: map[string]string{"acme.example:443": "127.0.0.1:1",
		"best.example:443": "127.0.0.1:1"}})
	t.Cleanup(client.CloseIdle)
	fx := openFixture(t, at, nil, func(c *origin.Config) { c.Prover = claim.NewProver([]claim.Lookup{dns}, client) })
	fx.putBrand("acme")
	fx.putBrand("best")
	const claims = fieldmark.PathClaims
	open := func(slug string) (c fieldmark.NewClaim) {
		rec := fx.mustSend(201, request{method: "POST", path: claims, body: `{"brand":"` + slug + `"}`}, &c)
		if got := rec.Header().Get("Location"); got != claims+"/"+c.ID ||
			!strings.HasPrefix(c.Secret, claim.SecretPrefix) {
			t.Fatalf("opened %+v at %q", c, got)
		}
		return c
	}
	// obtain proves a claim and gets the key of its account.
	obtain := func(c fieldmark.NewClaim) (a fieldmark.ClaimAccess) {
		dns[c.Proofs[0].Names[0]] = c.Proofs[0].Value
		fx.mustSend(200, request{method: "POST", path: claims + "/" + c.ID + "/verify", key: c.Secret}, nil)
		fx.mustSend(201, request{method: "POST", path: claims + "/" + c.ID + "/access", key: c.Secret}, &a)
		return a
	}
	early, mine, theirs := open("acme"), open("acme"), open("best")
	a, b := obtain(mine), obtain(theirs)
	one, other, first := claims+"/"+mine.ID, claims+"/"+theirs.ID, claims+"/"+early.ID
	rec := fx.mustSend(200, request{method: "GET", path: one, key: a.Key.Token}, nil)
	if body := rec.Body.String(); !strings.Contains(body, `"state":"verified"`) ||
		strings.Contains(body, mine.Secret) ||
		rec.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("own claim: %s, %v", body, rec.Header())
	}
	for _, tt := range []struct {
		name, method, path, key, body string
		status                        int
		want                          string // part of the response
	}{
		{"unknown brand", "POST", claims, "", `{"brand":"nobody"}`, 422, `"/brand"`},
		{"both", "POST", claims, "", `{"brand":"acme","url":"https://acme.example/"}`, 422, `"/brand"`},
		{"neither", "POST", claims, "", `{}`, 422, `"/brand"`},
		{"unknown member", "POST", claims, "", `{"slug":"acme"}`, 422, `"unknown_field"`},
		{"address inside", "POST", claims, "", `{"url":"http://169.254.169.254/"}`, 422, `"/url"`},
		{"wrong code", "POST", claims, "", `{"brand":"acme","code":"fm_transfer_x"}`, 422, `"/code"`},
		{"large body", "POST", claims, "", `{"brand":"` + strings.Repeat("a", fieldmark.MaxClaimBody) + `"}`, 413, ""},

		{"no credentials", "GET", one, "", "", 401, `"missing_credentials"`},
		{"wrong secret", "GET", one, claim.SecretPrefix + "x", "", 401, `"invalid_api_key"`},
		{"secret of another claim", "GET", one, early.Secret, "", 401, `"invalid_api_key"`},
		{"replayed secret", "POST", one + "/access", mine.Secret, "", 401, `"invalid_api_key"`},
		{"replayed secret, to withdraw", "DELETE", one, mine.Secret, "", 401, `"invalid_api_key"`},
		{"key without the scope", "GET", one, fx.reader, "", 403, `"insufficient_scope"`},
		{"no claim", "GET", claims + "/clm_x", a.Key.Token, "", 404, `"not_found"`},
		{"another's", "GET", other, a.Key.Token, "", 404, `"not_found"`},
		{"another's, to verify", "POST", other + "/verify", a.Key.Token, "", 404, `"not_found"`},
		{"another's, to transfer", "POST", other + "/transfer", a.Key.Token, "", 404, `"not_found"`},
		{"another's, to object", "POST", other + "/object", a.Key.Token, "", 404, `"not_found"`},
		{"another's, to withdraw", "DELETE", other, a.Key.Token, "", 404, `"not_found"`},
		{"another's of the same brand", "GET", first, a.Key.Token, "", 404, `"not_found"`},
		{"secret instead of a key", "POST", first + "/transfer", early.Secret, "", 401, ""},

		{"access without a proof", "POST", first + "/access", early.Secret, "", 409, `"claim_state"`},
		{"no proof", "POST", first + "/verify", early.Secret, "", 409, `"proof_missing"`},
		{"too early", "POST", first + "/verify", early.Secret, "", 429, `"rate_limited"`},
		{"nothing to object to", "POST", one + "/object", a.Key.Token, "", 409, `"claim_state"`},
		{"fourth claim", "POST", claims, "", `{"brand":"acme"}`, 201, ""},
		{"fifth claim", "POST", claims, "", `{"brand":"acme"}`, 201, ""},
		{"one more", "POST", claims, "", `{"brand":"acme"}`, 429, `"rate_limited"`},
		{"all as administrator", "GET", fieldmark.PathAdminAPI + "claims", b.Key.Token, "", 403, ""},
	} {
		rec := fx.send(request{method: tt.method, path: tt.path, key: tt.key, body: tt.body})
		if rec.Code != tt.status || !strings.Contains(rec.Body.String(), tt.want) {
			t.Errorf("%s: %d %s, want %d with %s", tt.name, rec.Code, rec.Body, tt.status, tt.want)
		}
		if rec.Code >= 400 {
			fx.problem(rec)
		}
		if rec.Code == 429 && rec.Header().Get("Retry-After") == "" {
			t.Errorf("%s: no Retry-After", tt.name)
		}
	}
	fx.mustSend(204, request{method: "DELETE", path: one, key: a.Key.Token}, nil)
	if rec := fx.send(request{method: "GET", path: one, key: a.Key.Token}); rec.Code != 401 {
		t.Errorf("key of a withdrawn claim: %d %s", rec.Code, rec.Body)
	}

	off := openFixture(t, at, nil, func(c *origin.Config) { c.OwnersOff = true })
	for _, r := range []request{{method: "POST", path: claims, body: `{"brand":"acme"}`},
		{method: "GET", path: other, key: b.Key.Token}, {method: "POST", path: other + "/verify", key: b.Key.Token},
		{method: "DELETE", path: other, key: b.Key.Token}} {
		rec := off.send(r)
		if p := off.problem(rec); rec.Code != 404 || p.Code != fieldmark.CodeModuleDisabled {
			t.Errorf("%s %s with owners off: %d %s", r.method, r.path, rec.Code, p.Code)
		}
	}
}

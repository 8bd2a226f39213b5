package api_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/store"
)

// ownedBrand is a brand with facts whose claim an account holds.
type ownedBrand struct {
	slug       fieldmark.Slug
	claim, key string
}

// own creates a public brand with a name and facts, and an account with a key that holds its claim.
func (fx *fixture) own(slug fieldmark.Slug, name string) ownedBrand {
	fx.t.Helper()
	now, account, site := time.Now(), "brand-"+string(slug), "https://"+string(slug)+".example/"
	at := fieldmark.At(now)
	_, _, err := fx.service.Brands.Put(fx.t.Context(), fieldmark.Brand{Slug: slug, Name: name, URL: site,
		Niche: "tools", Language: "en", Public: true})
	if err == nil {
		_, err = fx.service.Brands.PutFacts(fx.t.Context(), slug, fieldmark.Facts{Version: fieldmark.FactsVersion,
			URL: site, Pages: 1, AsOf: at, Facts: []fieldmark.Fact{{ID: "schema.valid", State: fieldmark.Measured,
				Unit: "share", Value: 250}}})
	}
	o := ownedBrand{slug: slug, claim: fieldmark.NewID(fieldmark.PrefixClaim, now)}
	c := store.Claim{ID: o.claim, Brand: slug, Account: account, State: fieldmark.ClaimVerified, CreatedAt: now,
		DueAt: now.Add(time.Hour), ClaimBody: store.ClaimBody{URL: site, Token: "t-" + string(slug), VerifiedAt: &at,
			Proven: []store.ProvenMethod{{Method: fieldmark.ClaimDNS, At: at}}}}
	if err == nil {
		err = fx.store.Write(fx.t.Context(), func(ctx context.Context, tx *store.Tx) error {
			if err := tx.PutAccount(ctx, account, at); err != nil {
				return err
			}
			return tx.PutClaim(ctx, &c)
		})
	}
	if err != nil {
		fx.t.Fatal(err)
	}
	o.key = fx.key(account, fieldmark.ScopeBrandManage)
	return o
}

// contest adds a claim that contests the brand of another.
func (fx *fixture) contest(o ownedBrand) {
	fx.t.Helper()
	at := fieldmark.At(time.Now())
	c := store.Claim{ID: fieldmark.NewID(fieldmark.PrefixClaim, at.Std()), Brand: o.slug,
		State: fieldmark.ClaimContested, CreatedAt: at.Std(), DueAt: at.Std().Add(time.Hour),
		ClaimBody: store.ClaimBody{Token: "other", Proven: []store.ProvenMethod{{Method: fieldmark.ClaimMeta, At: at}},
			Contest: &store.ClaimContest{Holder: o.claim, Since: at, Until: at}}}
	if err := fx.store.Write(fx.t.Context(), func(ctx context.Context, tx *store.Tx) error {
		return tx.PutClaim(ctx, &c)
	}); err != nil {
		fx.t.Fatal(err)
	}
}

// dispute opens a dispute by the owner.
func (fx *fixture) dispute(o ownedBrand) (id string) {
	fx.t.Helper()
	var d fieldmark.DisputeStatus
	fx.mustSend(201, request{method: "POST", path: fieldmark.PathBrands + string(o.slug) + "/disputes", key: o.key,
		body: goodDispute}, &d)
	return d.ID
}

const goodDispute = `{"signal":"schema.valid","kind":"wrong","text":"The markup is valid since Monday."}`

// ownedPath creates a brand with an owner for a write of an owner or about one, and returns its path and the key of
// the owner. The path is empty if the operation is another one.
func (fx *fixture) ownedPath(operation, path string) (filled, key string) {
	fx.t.Helper()
	if !slices.Contains([]string{"auditOwnBrand", "patchProfile", "requestAliases", "setListing", "setWishes",
		"withdrawDispute", "transferClaim", "objectClaim", "revokeClaim", "decideBrandRequest"}, operation) {
		return "", ""
	}
	o := fx.own(fieldmark.Slug(strings.ToLower(operation)), operation)
	id := o.claim
	switch operation {
	case "withdrawDispute":
		id = fx.dispute(o)
	case "objectClaim":
		fx.contest(o)
	case "decideBrandRequest":
		r, err := fx.service.Brands.Owners.RequestAliases(fx.t.Context(), "brand-"+string(o.slug), o.slug,
			fieldmark.AliasRequest{Names: []fieldmark.Slug{"wanted"}})
		if err != nil {
			fx.t.Fatal(err)
		}
		id = r.ID
	}
	return strings.NewReplacer("{slug}", string(o.slug), "{id}", id).Replace(path), o.key
}

// TestOwnerRoutes: only the account that holds the claim of a brand reaches the calls of its owner; a brand of
// another account does not exist for it. Without owners, no account reaches them.
func TestOwnerRoutes(t *testing.T) {
	fx := newFixture(t, nil)
	mine, theirs := fx.own("acme", "Acme"), fx.own("best", "Best")
	fx.putBrand("free")
	off := openFixture(t, fx.at, nil, func(c *origin.Config) { c.OwnersOff = true })
	dispute := fx.dispute(mine)
	for _, tt := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", "/profile", "", 200},
		{"PATCH", "/profile", `{"description":"Tools."}`, 200},
		{"PATCH", "/profile", `{"name":"best"}`, 202}, // the name of another brand
		{"PUT", "/aliases", `{"names":["anvils"]}`, 202},
		{"PUT", "/wishes", `{"checks":true,"pause":10}`, 200},
		{"POST", "/audit", "", 202},
		{"GET", "/disputes", "", 200},
		{"POST", "/disputes/" + dispute + "/withdraw", "", 200},
		{"POST", "/disputes", goodDispute, 201},
		{"POST", "/listing", `{"listed":false,"reason":"redesign"}`, 200},
	} {
		send := func(fx *fixture, slug, key string) (int, fieldmark.Code) {
			rec := fx.send(request{method: tt.method, path: fieldmark.PathBrands + slug + tt.path, key: key,
				body: tt.body})
			if rec.Code < 400 {
				if got := rec.Header().Get("Cache-Control"); key != "" && got != "no-store" {
					t.Errorf("%s %s: Cache-Control %q, want no-store", tt.method, tt.path, got)
				}
				return rec.Code, ""
			}
			return rec.Code, fx.problem(rec).Code
		}
		public := tt.path == "/disputes" // also for anyone
		for _, c := range []struct {
			who, slug, key string
			on             *fixture
			status         int
			code           fieldmark.Code
		}{
			{"nobody", "acme", "", fx, 401, fieldmark.CodeMissingCredentials},
			{"a key without the scope", "acme", fx.reader, fx, 403, fieldmark.CodeInsufficientScope},
			{"the owner of another brand", "acme", theirs.key, fx, 404, fieldmark.CodeNotFound},
			{"an administrator, who does not own it", "acme", fx.admin, fx, 403, fieldmark.CodeInsufficientScope},
			{"an owner, of a brand without claim", "free", mine.key, fx, 404, fieldmark.CodeNotFound},
			{"an owner, of no brand", "none", mine.key, fx, 404, fieldmark.CodeNotFound},
			{"the owner, without owners", "acme", mine.key, off, 404, fieldmark.CodeModuleDisabled},
			{"the owner", "acme", mine.key, fx, tt.status, ""},
		} {
			if public && c.key == "" {
				continue
			}
			if status, code := send(c.on, c.slug, c.key); status != c.status || code != c.code {
				t.Errorf("%s %s by %s: %d %s, want %d %s", tt.method, tt.path, c.who, status, code, c.status, c.code)
			}
		}
	}
	// The public may dispute a finding also without owners.
	rec := off.send(request{method: "POST", path: fieldmark.PathBrands + "best/disputes",
		body: strings.TrimSuffix(goodDispute, "}") + `,"email":"ann@acme.example"}`})
	if rec.Code != http.StatusCreated {
		t.Errorf("a dispute of the public without owners: %d %s", rec.Code, rec.Body)
	}
}

// TestApprovalKeepsLaterChanges: the approval of a profile changes only what the owner asked for, in the brand as it
// is then. A request that was stored by an earlier version, without a patch, changes the whole profile.
func TestApprovalKeepsLaterChanges(t *testing.T) {
	fx := newFixture(t, nil)
	fx.own("best", "Best")
	for _, tt := range []struct {
		slug    fieldmark.Slug
		request string // "": one of an earlier version
		want    fieldmark.BrandProfile
	}{
		{"one-member", `{"name":"best"}`,
			fieldmark.BrandProfile{Name: "best", Niche: "tools", Language: "de", Description: "Newer."}},
		// The form of the owner has all members.
		{"all-members", `{"name":"best","niche":"tools","language":"en","description":""}`,
			fieldmark.BrandProfile{Name: "best", Niche: "tools", Language: "de", Description: "Newer."}},
		{"earlier-version", "",
			fieldmark.BrandProfile{Name: "best", Niche: "tools", Language: "en", Description: "Old."}},
	} {
		o := fx.own(tt.slug, "Acme "+string(tt.slug))
		profile := fieldmark.PathBrands + string(o.slug) + "/profile"
		if tt.request != "" {
			fx.mustSend(202, request{method: "PATCH", path: profile, key: o.key, body: tt.request}, nil)
		} else {
			fx.putRequest(o, tt.want)
		}
		fx.mustSend(200, request{method: "PATCH", path: profile, key: o.key, body: `{"description":"Newer."}`}, nil)
		b, err := fx.service.Brands.Get(t.Context(), o.slug)
		if err != nil {
			t.Fatal(err)
		}
		b.Language = "de"
		if _, _, err := fx.service.Brands.Put(t.Context(), b); err != nil { // by an administrator
			t.Fatal(err)
		}
		var pending struct{ Data []fieldmark.BrandRequest }
		fx.mustSend(200, request{method: "GET", path: fieldmark.PathAdminAPI + "brand-requests", key: fx.admin},
			&pending)
		if len(pending.Data) != 1 {
			t.Fatalf("%s: %+v, want one request", tt.slug, pending.Data)
		}
		fx.mustSend(200, request{method: "POST", path: fieldmark.PathAdminAPI + "brand-requests/" + pending.Data[0].ID +
			"/decision", key: fx.admin, body: `{"state":"approved"}`}, nil)
		var got fieldmark.BrandProfile
		fx.mustSend(200, request{method: "GET", path: profile, key: o.key}, &got)
		if got != tt.want {
			t.Errorf("%s %s: profile %+v, want %+v", tt.slug, tt.request, got, tt.want)
		}
	}
}

// putRequest stores a pending request of a profile as earlier versions did: without a patch.
func (fx *fixture) putRequest(o ownedBrand, p fieldmark.BrandProfile) {
	fx.t.Helper()
	at := fieldmark.At(time.Now())
	err := fx.store.Write(fx.t.Context(), func(ctx context.Context, tx *store.Tx) error {
		return tx.PutBrandRequest(ctx, &fieldmark.BrandRequest{ID: fieldmark.NewID(fieldmark.PrefixChange, at.Std()),
			Brand: o.slug, Account: "brand-" + string(o.slug), Kind: fieldmark.RequestProfile,
			State: fieldmark.RequestPending, Change: fieldmark.BrandChange{Profile: &p}, RequestedAt: at})
	})
	if err != nil {
		fx.t.Fatal(err)
	}
}

// TestOwnerInput: what is wrong in a call of an owner has a code and a pointer, and changes nothing.
func TestOwnerInput(t *testing.T) {
	fx := newFixture(t, nil)
	o := fx.own("acme", "Acme")
	long := func(n int) string { return strings.Repeat("é", n) }
	evidence := func(n int) string {
		return "[" + strings.Join(slices.Repeat([]string{`{"url":"https://acme.example/"}`}, n), ",") + "]"
	}
	dispute := func(member, value string) string {
		return strings.TrimSuffix(goodDispute, "}") + fmt.Sprintf(`,%q:%s}`, member, value)
	}
	for _, tt := range []struct {
		method, path, body string
		status             int
		code               fieldmark.Code
		pointer            string
	}{
		{"PATCH", "/profile", `{"name":""}`, 422, fieldmark.CodeValidationFailed, "/name"},
		{"PATCH", "/profile", `{"name":"` + long(101) + `"}`, 422, fieldmark.CodeValidationFailed, "/name"},
		{"PATCH", "/profile", `{"niche":"Hand Tools"}`, 422, fieldmark.CodeValidationFailed, "/niche"},
		{"PATCH", "/profile", `{"language":"klingon-"}`, 422, fieldmark.CodeValidationFailed, "/language"},
		{"PATCH", "/profile", `{"description":"` + long(2001) + `"}`, 422, fieldmark.CodeValidationFailed,
			"/description"},
		{"PATCH", "/profile", `{"url":"https://evil.example/"}`, 422, fieldmark.CodeValidationFailed, "/url"},
		{"PATCH", "/profile", `{"public":false}`, 422, fieldmark.CodeValidationFailed, "/public"},
		{"PUT", "/aliases", `{"names":[]}`, 422, fieldmark.CodeValidationFailed, "/names"},
		{"PUT", "/aliases", `{"names":["a","b","c","d"]}`, 422, fieldmark.CodeValidationFailed, "/names"},
		{"PUT", "/aliases", `{"names":["ok","No good"]}`, 422, fieldmark.CodeValidationFailed, "/names/1"},
		{"PUT", "/aliases", `{"names":["ok","ok"]}`, 422, fieldmark.CodeValidationFailed, "/names/1"},
		{"PUT", "/aliases", `{"names":["acme"]}`, 422, fieldmark.CodeValidationFailed, "/names/0"},
		{"PUT", "/wishes", `{"checks":true,"pause":0}`, 422, fieldmark.CodeValidationFailed, "/pause"},
		{"PUT", "/wishes", `{"checks":true,"pause":11}`, 422, fieldmark.CodeValidationFailed, "/pause"},
		{"POST", "/listing", `{"listed":false,"reason":"` + long(201) + `"}`, 422, fieldmark.CodeValidationFailed,
			"/reason"},
		{"POST", "/disputes", dispute("email", `"ann@acme.example"`), 422, fieldmark.CodeValidationFailed, "/email"},
		{"POST", "/disputes", dispute("evidence", evidence(6)), 422, fieldmark.CodeValidationFailed, "/evidence"},
		{"POST", "/disputes", dispute("evidence", `[{"url":"javascript:alert(1)"}]`), 422,
			fieldmark.CodeValidationFailed, "/evidence/0/url"},
		{"POST", "/disputes", dispute("evidence", `[{"url":"https://a.example/","note":"`+long(241)+`"}]`), 422,
			fieldmark.CodeValidationFailed, "/evidence/0/note"},
		{"POST", "/disputes", `{"signal":"no.such","kind":"wrong","text":"The markup is valid since Monday."}`, 422,
			fieldmark.CodeValidationFailed, "/signal"},
		{"POST", "/disputes", `{"signal":"schema.valid","kind":"rude","text":"short"}`, 422,
			fieldmark.CodeValidationFailed, "/kind"},
		{"POST", "/disputes/dsp_x/withdraw", "", 404, fieldmark.CodeNotFound, ""},
	} {
		rec := fx.send(request{method: tt.method, path: fieldmark.PathBrands + "acme" + tt.path, key: o.key,
			body: tt.body})
		p := fx.problem(rec)
		if rec.Code != tt.status || p.Code != tt.code || tt.pointer != "" && !slices.ContainsFunc(p.Errors,
			func(e fieldmark.FieldError) bool { return e.Pointer == tt.pointer }) {
			t.Errorf("%s %s %.80s: %d %s %+v, want %d %s "+
				"at %s", tt.method, tt.path, tt.body, rec.Code, p.Code, p.Errors,
				tt.status, tt.code, tt.pointer)
		}
	}
	got, err := fx.service.Brands.Owners.Get(t.Context(), "brand-acme", "acme")
	if err != nil || got.Name != "Acme" || !got.Listing.Listed || len(got.Requests) != 0 || got.Wishes.Pause != 1 {
		t.Errorf("after the refusals: %+v, %v", got, err)
	}
}

// TestOwnerLimits: what an owner does too often has Retry-After; an old version changes nothing.
func TestOwnerLimits(t *testing.T) {
	fx := newFixture(t, nil)
	o := fx.own("acme", "Acme")
	const one = fieldmark.PathBrands + "acme"
	send := func(want int, r request) (fieldmark.Code, http.Header) {
		t.Helper()
		r.path, r.key = one+r.path, o.key
		rec := fx.send(r)
		if rec.Code != want {
			t.Fatalf("%s %s %s: %d %s, want %d", r.method, r.path, r.body, rec.Code, rec.Body, want)
		}
		if rec.Code < 400 {
			return "", rec.Header()
		}
		return fx.problem(rec).Code, rec.Header()
	}
	limited := func(what string, want fieldmark.Code, code fieldmark.Code, h http.Header) {
		t.Helper()
		if code != want || h.Get("Retry-After") == "" {
			t.Errorf("%s: %s, Retry-After %q; want %s with a time", what, code, h.Get("Retry-After"), want)
		}
	}
	_, first := send(200, request{method: "GET", path: "/profile"})
	change := request{method: "PATCH", path: "/profile", header: map[string]string{"If-Match": first.Get("ETag")}}
	for i := range fieldmark.OwnerProfilesPerWeek {
		change.body = fmt.Sprintf(`{"description":"Version %d"}`, i)
		_, h := send(200, change)
		if i == 0 {
			if code, _ := send(412, change); code != fieldmark.CodeVersionMismatch {
				t.Errorf("a change of an old version: %s", code)
			}
		}
		change.header = map[string]string{"If-Match": h.Get("ETag")}
	}
	change.body = `{"description":"one more"}`
	code, h := send(429, change)
	limited("a fourth change", fieldmark.CodeRateLimited, code, h)

	send(202, request{method: "POST", path: "/audit"})
	code, h = send(429, request{method: "POST", path: "/audit"})
	limited("a second audit", fieldmark.CodeHostBudget, code, h)

	fx.dispute(o)
	if code, _ := send(409, request{method: "POST", path: "/disputes", body: goodDispute}); code !=
		fieldmark.CodeDisputeExists {
		t.Errorf("a second dispute of the signal: %s", code)
	}
	send(200, request{method: "POST", path: "/listing", body: `{"listed":false}`})
	code, h = send(409, request{method: "POST", path: "/listing", body: `{"listed":true}`})
	limited("listed again", fieldmark.CodeRelistTooSoon, code, h)
	if code, _ := send(409, request{method: "POST", path: "/audit"}); code != fieldmark.CodeBrandUnlisted {
		t.Errorf("an audit of an unlisted brand: %s", code)
	}
}

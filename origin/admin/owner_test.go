package admin_test

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
)

// claimed creates a brand with facts, and gives an account a verified claim of it.
func (b *browser) claimed(slug fieldmark.Slug, name, account string) (claimID string) {
	b.t.Helper()
	ctx, now := b.t.Context(), time.Now()
	site := "https://" + string(slug) + ".example/"
	_, err := b.service.Brands.Create(ctx, fieldmark.Brand{Slug: slug, Name: name, URL: site, Niche: "tools",
		Language: "en", Public: true})
	if err == nil {
		_, err = b.service.Brands.PutFacts(ctx, slug, fieldmark.Facts{Version: fieldmark.FactsVersion, URL: site,
			Pages: 3, AsOf: fieldmark.At(now), Facts: []fieldmark.Fact{{ID: "schema.valid", State: fieldmark.Measured,
				Unit: "share", Value: 250, Evidence: []fieldmark.Evidence{{URL: site + hostile, Fact: hostile}}}}})
	}
	if err != nil {
		b.t.Fatal(err)
	}
	at := fieldmark.At(now.Add(-48 * time.Hour))
	c := store.Claim{ID: fieldmark.NewID(fieldmark.PrefixClaim, now), Brand: slug, Account: account,
		State: fieldmark.ClaimVerified, CreatedAt: now, DueAt: now.Add(time.Hour),
		ClaimBody: store.ClaimBody{URL: site, Token: "token-of-" + string(slug), VerifiedAt: &at, CheckedAt: &at,
			Proven: []store.ProvenMethod{{Method: fieldmark.ClaimDNS, Domain: string(slug) + ".example", At: at}},
			Tried:  []fieldmark.ClaimAttempt{{Method: fieldmark.ClaimDNS, Found: true, Detail: hostile}},
			History: []fieldmark.ClaimStep{{At: at, State: fieldmark.ClaimPending, Detail: "opened"},
				{At: at, State: fieldmark.ClaimVerified, Detail: "proven by dns " + hostile}}}}
	b.write(func(ctx context.Context, tx *store.Tx) error {
		if err := tx.PutAccount(ctx, account, at); err != nil {
			return err
		}
		return tx.PutClaim(ctx, &c)
	})
	return c.ID
}

func (b *browser) write(fn func(context.Context, *store.Tx) error) {
	b.t.Helper()
	if err := b.store.Write(b.t.Context(), fn); err != nil {
		b.t.Fatal(err)
	}
}

// TestDisputesOfOwners: a dispute of an owner waits for an administrator only after its audit, and
// shows what the audit found beside what the owner says, all of it as text.
func TestDisputesOfOwners(t *testing.T) { synctest.Test(t, testDisputesOfOwners) }

func testDisputesOfOwners(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	b.claimed("acme", "Acme", "brand-acme")
	const bidi = "\u202egnp.exe"
	d, err := b.service.Brands.Disputes.OpenAsOwner(t.Context(), "brand-acme", "acme", fieldmark.DisputeRequest{
		Signal: "schema.valid", Kind: fieldmark.DisputeNotApplicable, Text: hostile + bidi,
		Evidence: []fieldmark.DisputeEvidence{{URL: "https://acme.example/proof", Note: hostile}}})
	if err != nil {
		t.Fatal(err)
	}
	if page := b.page("/admin/disputes", "No disputes."); strings.Contains(page, `class="count"`) {
		t.Error("a dispute that an audit may settle is counted in the navigation")
	}
	b.page("/admin/disputes?state=open", "schema.valid", "its owner")
	one := "/admin/disputes/" + d.ID
	b.page(one, "audited again first")

	b.write(func(ctx context.Context, tx *store.Tx) error { // the audit found the same
		d, err := tx.Dispute(ctx, d.ID)
		d.State = fieldmark.DisputeInReview
		if err != nil {
			return err
		}
		return tx.PutDispute(ctx, d)
	})
	b.page("/admin", "1 dispute needs a decision")
	b.page("/admin/disputes", "schema.valid", "in review", "for less than a minute", `<span class="count">1`)
	page := b.page(one, "What the owner says", "https://acme.example/proof", "What the audit found", "0.25",
		"become not applicable for 90 days", "brand-acme")
	checkEscaped(t, page)
	if strings.Contains(page, "\u202e") || strings.Contains(page, `href="https://acme.example/proof`) {
		t.Error("characters that turn text, or an address of the owner, are live")
	}
	b.rejected(one, url.Values{"do": {"upheld"}, "answer": {" "}}, 422, `id="answer" aria-invalid="true"`)
	b.rejected(one, url.Values{"do": {"settled"}, "answer": {"Kept text"}}, 422, ">Kept text</textarea>")
	b.post(one, url.Values{"do": {"upheld"}, "answer": {"No markup is needed."}}, one)
	b.page(one, "upheld", "No markup is needed.", "disputed by the brand, upheld", "changed since")
	if page := b.page("/admin/disputes?state=upheld", user); strings.Contains(page, `class="count"`) {
		t.Error("a decided dispute is counted in the navigation")
	}
}

// TestClaimPages: claims are listed by state and brand with their proof, and an administrator ends
// one with a reason.
func TestClaimPages(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	b.page("/admin/claims", "No claims.")
	acme, best := b.claimed("acme", "Acme", "brand-acme"), b.claimed("best", "Best", "brand-best")
	key, err := b.service.Access.Keys.Create(t.Context(), "brand-acme", fieldmark.KeyRequest{Name: "owner",
		Scopes: []fieldmark.Scope{fieldmark.ScopeBrandManage}})
	if err != nil {
		t.Fatal(err)
	}
	now := fieldmark.At(time.Now())
	newcomer := store.Claim{ID: fieldmark.NewID(fieldmark.PrefixClaim, now.Std()), Brand: "acme",
		State: fieldmark.ClaimContested, CreatedAt: now.Std(), DueAt: now.Std(), ClaimBody: store.ClaimBody{
			URL: "https://acme.example/", Token: "another", Proven: []store.ProvenMethod{{Method: fieldmark.ClaimFile,
				At: now}}, Contest: &store.ClaimContest{Holder: acme, Since: now, Until: now}}}
	b.write(func(ctx context.Context, tx *store.Tx) error { return tx.PutClaim(ctx, &newcomer) })

	b.page("/admin", "1 brand is contested by a second claim", `href="/admin/claims?state=contested"`)
	b.page("/admin/claims", acme, best, newcomer.ID, "contest until", "brand-best")
	for query, want := range map[string][2]string{"brand=best": {best, acme}, "state=contested": {newcomer.ID, best}} {
		if page := b.page("/admin/claims?"+query, want[0]); strings.Contains(page, "/admin/claims/"+want[1]) {
			t.Errorf("%s lists %s", query, want[1])
		}
	}
	if rec := b.do("/admin/claims?before=x", nil); rec.Code != 400 {
		t.Errorf("an invalid cursor: %d, want 400", rec.Code)
	}
	if rec := b.do("/admin/claims/clm_x", nil); rec.Code != 404 {
		t.Errorf("a claim that does not exist: %d, want 404", rec.Code)
	}
	b.page("/admin/brands/acme", "claimed</a> since", "by dns")
	one := "/admin/claims/" + acme
	checkEscaped(t, b.page(one, "acme.example", "Other claims of this brand", newcomer.ID, "other proof: file",
		"The contest is then decided", "proven by dns"))
	b.rejected(one, url.Values{"reason": {" "}}, 422, `id="reason" aria-invalid="true"`)
	b.post(one, url.Values{"reason": {"The site was sold."}}, one)
	page := b.page(one, "revoked", "The site was sold.")
	if strings.Contains(page, `id="reason"`) {
		t.Error("a claim that ended has the form that revokes it")
	}
	b.rejected(one, url.Values{"reason": {"Again."}}, 409, "The claim is revoked.")
	keys, err := b.service.Access.Keys.List(t.Context())
	for _, k := range keys {
		if k.ID == key.ID && k.RevokedAt == nil {
			t.Error("the key of the revoked claim is live")
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	b.page("/admin/audit-log?target="+acme, "claim.revoked", user)
}

// TestBrandRequestPages: a request of an owner is shown with what it changes; a rejection needs a
// reason, an approval that cannot be applied says why, and both are final.
func TestBrandRequestPages(t *testing.T) { synctest.Test(t, testBrandRequestPages) }

func testBrandRequestPages(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	b.page("/admin/requests", "No requests.")
	b.claimed("acme", "Acme", "brand-acme")
	b.claimed("best", hostile, "brand-best")
	owners := b.service.Brands.Owners
	aliases, err := owners.RequestAliases(t.Context(), "brand-acme", "acme",
		fieldmark.AliasRequest{Names: []fieldmark.Slug{"anvils", "best"}})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Millisecond) // virtual; ids of one instant have no order
	name := hostile
	if _, _, review, err := owners.PatchProfile(t.Context(), "brand-acme", "acme", fieldmark.ProfilePatch{Name: &name},
		nil); err != nil || !review {
		t.Fatalf("the name of another brand: review %v, %v", review, err)
	}
	newer := "A newer text"
	if _, _, review, err := owners.PatchProfile(t.Context(), "brand-acme", "acme",
		fieldmark.ProfilePatch{Description: &newer}, nil); err != nil || review {
		t.Fatalf("a description: review %v, %v", review, err)
	}
	pending, err := owners.Requests(t.Context(), fieldmark.RequestPending, "", 10)
	if err != nil || len(pending) != 2 {
		t.Fatalf("%+v, %v; want two requests", pending, err)
	}
	profile := pending[0]
	b.page("/admin", "2 requests of brand owners need a decision")
	checkEscaped(t, b.page("/admin/requests", "anvils", `<span class="count">2`, "for less than a minute"))

	one := "/admin/requests/" + aliases.ID
	b.page(one, "Aliases to add", "anvils")
	b.rejected(one, url.Values{"do": {"rejected"}}, 422, `id="answer" aria-invalid="true"`)
	b.rejected(one, url.Values{"do": {"approved"}, "answer": {"Kept text"}}, 409, ">Kept text</textarea>")
	b.post(one, url.Values{"do": {"rejected"}, "answer": {"best is another brand."}}, one)
	b.page(one, "rejected", "best is another brand.", user)
	b.rejected(one, url.Values{"do": {"approved"}}, 409, "was rejected on")

	two := "/admin/requests/" + profile.ID
	page := b.page(two, "Change of the profile", "Acme")
	checkEscaped(t, page)
	if strings.Contains(page, newer) {
		t.Errorf("a description that changed after the request is shown as a part of it:\n%s", page)
	}
	b.post(two, url.Values{"do": {"approved"}}, two)
	b.page(two, "approved", "The brand has this profile.")
	if got, err := b.service.Brands.Get(t.Context(), "acme"); err != nil || got.Name != hostile ||
		got.Description != newer {
		t.Errorf("the brand after the approval: %+v, %v", got, err)
	}
	b.page("/admin/requests?state=rejected", "anvils", user)
	b.page("/admin/audit-log", "brand_request.decided")
	for path, want := range map[string]int{"/admin/requests/brq_x": 404, "/admin/requests?before=x": 400} {
		if rec := b.do(path, nil); rec.Code != want {
			t.Errorf("%s: %d, want %d", path, rec.Code, want)
		}
	}
}

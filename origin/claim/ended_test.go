package claim_test

import (
	"slices"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/claim"
)

// emitted lists the types of the events after a number.
func (f *fixture) emitted(t testing.TB, after int64) (types []fieldmark.EventType) {
	t.Helper()
	page, err := f.Events.After(t.Context(), fieldmark.EventCursor{Number: after}, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range page.Events {
		types = append(types, e.Type)
	}
	return types
}

// TestEndedClaimCancelsRequests: however a claim ends, what its owner has asked for ends with it: open disputes,
// pending requests and wishes for the crawler. What was decided stays: it is about the site.
func TestEndedClaimCancelsRequests(t *testing.T) {
	for name, end := range map[string]func(*fixture, fieldmark.NewClaim, fieldmark.ClaimAccess) error{
		"withdrawn": func(f *fixture, c fieldmark.NewClaim, a fieldmark.ClaimAccess) error {
			return f.Claims.Withdraw(t.Context(), c.ID, claim.Caller{Account: a.Account})
		},
		"revoked": func(f *fixture, c fieldmark.NewClaim, _ fieldmark.ClaimAccess) error {
			_, err := f.Claims.Revoke(t.Context(), c.ID, fieldmark.ClaimRevocation{Reason: "sold"})
			return err
		},
		"transferred": func(f *fixture, c fieldmark.NewClaim, a fieldmark.ClaimAccess) error {
			offer, err := f.Claims.Transfer(t.Context(), c.ID, claim.Caller{Account: a.Account})
			if err != nil {
				return err
			}
			next := f.openClaim(t, fieldmark.ClaimRequest{Brand: "acme", Code: offer.Code}, "198.51.100.1")
			f.out.show(next.Claim, fieldmark.ClaimMeta, true)
			f.verify(t, next)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			ctx := t.Context()
			f.brand(t, "acme", "https://acme.example/")
			_, err := f.Brands.PutFacts(ctx, "acme", fieldmark.Facts{Version: fieldmark.FactsVersion,
				URL: "https://acme.example/", Pages: 1, AsOf: fieldmark.At(time.Now()), Facts: []fieldmark.Fact{
					{ID: "access.https", State: fieldmark.Measured, Unit: "bool"},
					{ID: "schema.valid", State: fieldmark.Measured, Unit: "share"}}})
			if err != nil {
				t.Fatal(err)
			}
			c, a := f.verified(t, "acme", fieldmark.ClaimDNS, "192.0.2.1")
			dispute := func(signal string) fieldmark.Dispute {
				d, err := f.Brands.Disputes.OpenAsOwner(ctx, a.Account, "acme", fieldmark.DisputeRequest{Signal: signal,
					Kind: fieldmark.DisputeWrong, Text: "That is not so on our site."})
				if err != nil {
					t.Fatal(err)
				}
				return d
			}
			decided, open := dispute("access.https"), dispute("schema.valid")
			_, err = f.Brands.Disputes.Decide(ctx, decided.ID, fieldmark.DisputeDecision{
				State: fieldmark.DisputeUpheld, Answer: "You are right."})
			if err != nil {
				t.Fatal(err)
			}
			request, err := f.Brands.Owners.RequestAliases(ctx, a.Account, "acme",
				fieldmark.AliasRequest{Names: []fieldmark.Slug{"anvils"}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.Brands.Owners.SetWishes(ctx, a.Account, "acme", fieldmark.Wishes{Pause: 9}); err != nil {
				t.Fatal(err)
			}
			if err := end(f, c, a); err != nil {
				t.Fatal(err)
			}
			f.wantState(t, c.ID, fieldmark.ClaimState(name))
			for id, want := range map[string]fieldmark.DisputeState{decided.ID: fieldmark.DisputeUpheld,
				open.ID: fieldmark.DisputeLapsed} {
				if d, err := f.Brands.Disputes.Get(ctx, id); err != nil || d.State != want || d.DecidedAt == nil {
					t.Errorf("dispute of %s is %s, %v; want %s", d.Signal, d.State, err, want)
				}
			}
			_, err = f.Brands.Owners.DecideRequest(ctx, request.ID, fieldmark.RequestDecision{
				State: fieldmark.RequestApproved})
			wantCode(t, "approve a request of the former owner", err, fieldmark.CodeRequestDecided)
			if w, err := f.store.Wishes(ctx, "acme"); err != nil || !w.Checks || w.Pause != 1 {
				t.Errorf("wishes %+v, %v; want the defaults", w, err)
			}
			if err := f.store.Check(ctx); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestDeleteClaimedBrand: with a brand go its claims and their keys, and edges learn of the keys.
func TestDeleteClaimedBrand(t *testing.T) {
	f := newFixture(t)
	f.brand(t, "acme", "https://acme.example/")
	c, a := f.verified(t, "acme", fieldmark.ClaimDNS, "192.0.2.1")
	newcomer := f.openClaim(t, fieldmark.ClaimRequest{Brand: "acme"}, "198.51.100.1")
	f.out.show(newcomer.Claim, fieldmark.ClaimFile, true)
	if got := f.verify(t, newcomer); got.State != fieldmark.ClaimContested {
		t.Fatalf("the newcomer is %s, want contested", got.State)
	}
	before, err := f.Events.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx := auditlog.WithActor(t.Context(), auditlog.Actor{Kind: fieldmark.ActorPerson, Name: "ada"})
	if err := f.Brands.Delete(ctx, "acme"); err != nil {
		t.Fatal(err)
	}
	if got := f.emitted(t, before); !slices.Contains(got, fieldmark.EventKeyRevoked) ||
		!slices.Contains(got, fieldmark.EventBrandRemoved) {
		t.Errorf("events %v, want api_key.revoked and brand.removed", got)
	}
	if f.works(t, a) || f.manages(t, a, "acme") {
		t.Error("the owner of a deleted brand has rights")
	}
	log, err := f.AuditLog.List(t.Context(), 0, auditlog.Filter{Target: a.Key.ID}, 10)
	if err != nil || !slices.ContainsFunc(log,
		func(e fieldmark.AuditEntry) bool { return e.Act == "api_key.revoked" }) {
		t.Errorf("audit log of the key: %+v, %v; want api_key.revoked", log, err)
	}
	for _, id := range []string{c.ID, newcomer.ID} {
		_, err := f.Claims.Get(t.Context(), id, claim.Caller{Admin: true})
		wantCode(t, "claim of a deleted brand", err, fieldmark.CodeNotFound)
	}
	if err := f.store.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

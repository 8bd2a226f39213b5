package client_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/claim"
	"github.com/fieldmark/fieldmark/origin/client"
)

// zone is a DNS server with TXT records by name. No site answers.
type zone map[string]string

func (z zone) LookupTXT(_ context.Context, name string) ([]string, error) {
	if text, ok := z[strings.TrimSuffix(name, ".")]; ok {
		return []string{text}, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
}

func (z zone) Do(req *http.Request) (*http.Response, error) {
	return nil, &net.DNSError{Err: "no such host", Name: req.URL.Host, IsNotFound: true}
}

// TestOwnerCalls: an owner claims a brand and changes what an owner may change; an administrator decides what
// the owner asks for, and revokes the claim.
func TestOwnerCalls(t *testing.T) {
	ctx, dns := t.Context(), zone{}
	_, admin, server := start(t, func(c *origin.Config) { c.Prover = claim.NewProver([]claim.Lookup{dns}, dns) })
	for _, slug := range []fieldmark.Slug{"acme", "best"} {
		if _, err := admin.PutBrand(ctx, brand(slug)); err != nil {
			t.Fatal(err)
		}
	}
	stranger := dial(t, client.Config{BaseURL: server.URL})
	opened, err := stranger.OpenClaim(ctx, fieldmark.ClaimRequest{Brand: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	dns[opened.Proofs[0].Names[0]] = opened.Proofs[0].Value
	if c, err := stranger.VerifyClaim(ctx, opened.ID, opened.Secret); err != nil || c.State != fieldmark.ClaimVerified {
		t.Fatalf("verified %+v, %v", c, err)
	}
	got, err := stranger.AccessClaim(ctx, opened.ID, opened.Secret)
	if err != nil {
		t.Fatal(err)
	}
	owner := dial(t, client.Config{BaseURL: server.URL, Key: got.Key.Token})

	p, version, err := owner.Profile(ctx, "acme")
	if err != nil || p.Name != "Brand" || version == "" {
		t.Fatalf("profile %+v of version %q, %v", p, version, err)
	}
	name, taken := "Acme", "Brand"
	if p, review, err := owner.PatchProfile(ctx, "acme", fieldmark.ProfilePatch{Name: &name}, version); err != nil ||
		review || p.Name != "Acme" {
		t.Errorf("changed profile %+v, review %t, %v", p, review, err)
	}
	if _, _, err := owner.PatchProfile(ctx, "acme", fieldmark.ProfilePatch{Name: &taken}, version); !fieldmark.IsCode(
		err, fieldmark.CodeVersionMismatch) {
		t.Errorf("a change of an old version: %v, want version_mismatch", err)
	}
	if _, review, err := owner.PatchProfile(ctx, "acme", fieldmark.ProfilePatch{Name: &taken}, ""); err != nil ||
		!review {
		t.Errorf("the name of another brand: review %t, %v", review, err)
	}
	if r, err := owner.RequestAliases(ctx, "acme", "anvils"); err != nil || r.State != fieldmark.RequestPending {
		t.Errorf("request for an alias: %+v, %v", r, err)
	}
	if w, err := owner.SetWishes(ctx, "acme", fieldmark.Wishes{Pause: 3}); err != nil || w.Pause != 3 || w.Checks {
		t.Errorf("wishes %+v, %v", w, err)
	}
	if err := owner.AuditOwnBrand(ctx, "acme"); err != nil {
		t.Errorf("request an audit: %v", err)
	}
	if err := owner.AuditOwnBrand(ctx, "acme"); !fieldmark.IsCode(err, fieldmark.CodeHostBudget) {
		t.Errorf("request another: %v, want host_budget", err)
	}
	if err := owner.AuditOwnBrand(ctx, "best"); !fieldmark.IsCode(err, fieldmark.CodeNotFound) {
		t.Errorf("the brand of another: %v, want not_found", err)
	}
	r := fieldmark.DisputeRequest{Signal: "access.https", Kind: fieldmark.DisputeWrong,
		Text: "The site redirects to https."}
	if _, err := owner.DisputeAsOwner(ctx, "acme", r); !fieldmark.IsCode(err, fieldmark.CodeValidationFailed) {
		t.Errorf("a dispute without an audit: %v, want validation_failed", err)
	}
	if list, err := owner.OwnDisputes(ctx, "acme"); err != nil || len(list) != 0 {
		t.Errorf("own disputes %+v, %v; want none", list, err)
	}
	none := fieldmark.PrefixDispute + opened.ID[len(fieldmark.PrefixClaim):]
	if _, err := owner.WithdrawDispute(ctx, "acme", none); !fieldmark.IsCode(err, fieldmark.CodeNotFound) {
		t.Errorf("withdraw a dispute that does not exist: %v, want not_found", err)
	}
	if l, err := owner.SetListing(ctx, "acme", fieldmark.ListingRequest{Reason: "redesign"}); err != nil ||
		l.Listed || l.RelistAfter == nil {
		t.Errorf("unlisted: %+v, %v", l, err)
	}

	pending, err := admin.BrandRequests(ctx)
	if err != nil || len(pending) != 2 {
		t.Fatalf("requests %+v, %v; want two", pending, err)
	}
	for _, r := range pending {
		d := fieldmark.RequestDecision{State: fieldmark.RequestApproved}
		if r.Kind == fieldmark.RequestProfile {
			d = fieldmark.RequestDecision{State: fieldmark.RequestRejected, Answer: "It is another brand."}
		}
		if got, err := admin.DecideBrandRequest(ctx, r.ID, d); err != nil || got.State != d.State {
			t.Errorf("decided %+v, %v; want %s", got, err, d.State)
		}
	}
	if c, err := admin.AnyClaim(ctx, opened.ID); err != nil || c.Account != got.Account || len(c.History) == 0 {
		t.Errorf("claim %+v, %v", c, err)
	}
	if _, err := admin.RevokeClaim(ctx, opened.ID, fieldmark.ClaimRevocation{Reason: "sold"}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := owner.Profile(ctx, "acme"); !fieldmark.IsCode(err, fieldmark.CodeInvalidAPIKey) {
		t.Errorf("the key of a revoked claim: %v", err)
	}
}

package admin_test

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
)

// TestDisputes: the overview names what waits for a decision; a decision needs a reason and
// is final; nothing that a stranger sent is markup.
func TestDisputes(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	b.page("/admin/disputes", "No disputes.")
	form := url.Values{"slug": {"acme"}, "name": {"Acme"}, "url": {"https://acme.example/"}, "niche": {"tools"},
		"language": {"en"}, "public": {"yes"}}
	b.post("/admin/brands", form, "/admin/brands/acme")
	facts := fieldmark.Facts{Version: fieldmark.FactsVersion, URL: "https://acme.example/", Pages: 3,
		AsOf: fieldmark.At(time.Now()), Facts: []fieldmark.Fact{{ID: fieldmark.FactManipulation,
			State: fieldmark.Measured, Unit: "bool", Value: 1000}}}
	if _, err := b.service.Brands.PutFacts(t.Context(), "acme", facts); err != nil {
		t.Fatal(err)
	}
	found := fieldmark.Suspicion{Rule: "override", URL: "https://acme.example/" + hostile, Passage: hostile,
		Hidden: hostile, FirstSeen: fieldmark.At(time.Now())}
	err := b.store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		return tx.PutSuspicions(ctx, "acme", []store.Suspicion{{Suspicion: found, Confirmed: true},
			{Suspicion: found}})
	})
	if err != nil {
		t.Fatal(err)
	}
	d, err := b.service.Brands.Disputes.Open(t.Context(), "acme", fieldmark.DisputeRequest{
		Signal: fieldmark.GateManipulation, Kind: fieldmark.DisputeWrong, Text: hostile, Email: "ann@acme.example"})
	if err != nil {
		t.Fatal(err)
	}
	b.page("/admin", "1 dispute needs a decision", "Suspected manipulation on the site of acme")
	page := b.page("/admin/brands/acme", "Suspected manipulation", "The score is not affected", "Disputes to decide")
	checkEscaped(t, page)
	if n := strings.Count(page, "<q>"); n != 1 {
		t.Errorf("the page of the brand lists %d suspicions, want the one that is not confirmed", n)
	}
	b.page("/admin/disputes", "manipulation", "acme")
	one := "/admin/disputes/" + d.ID
	checkEscaped(t, b.page(one, "ann@acme.example", "Disputed passages", "these passages no longer count"))
	b.rejected(one, url.Values{"do": {"upheld"}, "answer": {" "}}, 422, "Reason")
	b.post(one, url.Values{"do": {"upheld"}, "answer": {"It is a quotation."}}, one)
	b.page(one, "upheld", "It is a quotation.", user)
	b.rejected(one, url.Values{"do": {"rejected"}, "answer": {"No."}}, 409, "was upheld on")
	b.page("/admin/disputes?state=upheld", "manipulation", user)
	b.page("/admin/audit-log", "dispute.decided")
	if rec := b.do("/admin/disputes/dsp_x", nil); rec.Code != 404 {
		t.Errorf("a dispute that does not exist: %d, want 404", rec.Code)
	}
}

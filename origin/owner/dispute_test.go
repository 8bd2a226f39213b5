package owner_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
)

const reason = "The page says so since Monday."

// dispute opens a dispute of a fact by the owner of acme.
func (f *fixture) dispute(fact string) fieldmark.Dispute {
	f.t.Helper()
	d, err := f.service.Brands.Disputes.OpenAsOwner(f.t.Context(), "brand-acme", "acme", fieldmark.DisputeRequest{
		Signal: fact, Kind: fieldmark.DisputeWrong, Text: reason})
	must(f.t, err)
	return d
}

// auditNow audits acme, also if an audit is due later.
func (f *fixture) auditNow() {
	f.t.Helper()
	must(f.t, f.service.Brands.Audits.Request(f.t.Context(), "acme"))
	f.audited("acme")
}

func (f *fixture) wantDispute(id string, want fieldmark.DisputeState) {
	f.t.Helper()
	d, err := f.service.Brands.Disputes.Get(f.t.Context(), id)
	must(f.t, err)
	if d.State != want || (d.DecidedAt == nil) != want.Undecided() {
		f.t.Errorf("dispute of %s is %s (ended %v), want %s", d.Signal, d.State, d.DecidedAt, want)
	}
}

// fact returns a fact of acme as it is stored.
func (f *fixture) fact(id string) fieldmark.Fact {
	f.t.Helper()
	state, _, err := f.service.Brands.State(f.t.Context(), "acme")
	must(f.t, err)
	found, ok := state.Facts.Find(id)
	if !ok {
		f.t.Fatalf("no fact %s", id)
	}
	return found
}

// told lists the types of the events of disputes of acme.
func (f *fixture) told() (types []string) {
	f.t.Helper()
	page, err := f.service.Events.After(f.t.Context(), fieldmark.EventCursor{}, 0, 0)
	must(f.t, err)
	for _, e := range page.Events {
		if strings.HasPrefix(string(e.Type), "dispute.") {
			types = append(types, strings.TrimPrefix(string(e.Type), "dispute."))
		}
	}
	return types
}

// TestDisputeStates: the audit of a dispute settles what it finds changed, and leaves the rest to an
// administrator until the owner withdraws it or loses the claim.
func TestDisputeStates(t *testing.T) {
	f := newFixture(t)
	f.auditNow()
	const markup, headings = "canonical.good", "headings.good"
	first, second := f.dispute(markup), f.dispute(headings)
	f.wantDispute(first.ID, fieldmark.DisputeOpen)
	f.site.fixed.Store(true)
	f.auditNow()
	f.wantDispute(first.ID, fieldmark.DisputeSettled)
	f.wantDispute(second.ID, fieldmark.DisputeInReview)

	// An audit while a dispute is in review decides nothing.
	f.site.fixed.Store(false)
	f.auditNow()
	f.wantDispute(second.ID, fieldmark.DisputeInReview)
	_, err := f.service.Brands.Disputes.Withdraw(t.Context(), "brand-acme", "acme", second.ID)
	must(t, err)
	f.wantDispute(second.ID, fieldmark.DisputeWithdrawn)
	_, err = f.service.Brands.Disputes.Decide(t.Context(), second.ID, fieldmark.DisputeDecision{
		State: fieldmark.DisputeUpheld, Answer: "Yes."})
	if !fieldmark.IsCode(err, fieldmark.CodeDisputeDecided) {
		t.Errorf("decide a dispute that was withdrawn: %v", err)
	}
	third := f.dispute(headings)
	f.auditNow()
	f.wantDispute(third.ID, fieldmark.DisputeInReview)
	fourth := f.dispute(markup)
	c, err := f.store.ClaimOf(t.Context(), "acme")
	must(t, err)
	if got := strings.Join(f.told(), " "); got != "opened opened settled withdrawn opened opened" {
		t.Errorf("events of disputes: %s", got)
	}
	_, err = f.service.Claims.Revoke(t.Context(), c.ID, fieldmark.ClaimRevocation{Reason: "sold"})
	must(t, err)
	f.wantDispute(third.ID, fieldmark.DisputeLapsed)
	f.wantDispute(fourth.ID, fieldmark.DisputeLapsed)
	f.auditNow()
	f.wantDispute(fourth.ID, fieldmark.DisputeLapsed)
}

// TestUpheldFact: an upheld dispute makes its fact unknown in every later audit, until 90 days are over or the
// rules of the auditor change.
func TestUpheldFact(t *testing.T) {
	f := newFixture(t)
	f.auditNow()
	const id = "headings.good"
	found := f.fact(id)
	if found.State != fieldmark.Measured {
		t.Fatalf("%s is %s", id, found.State)
	}
	d := f.dispute(id)
	upheld, err := f.service.Brands.Disputes.Decide(t.Context(), d.ID, fieldmark.DisputeDecision{
		State: fieldmark.DisputeUpheld, Answer: "Yes."})
	must(t, err)
	// change stores the dispute with another time or other rules, and audits the site.
	change := func(at time.Time, rules string) fieldmark.Fact {
		t.Helper()
		must(t, f.store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			d, err := tx.Dispute(ctx, d.ID)
			decided := fieldmark.At(at)
			d.DecidedAt, d.Rules = &decided, rules
			if err != nil {
				return err
			}
			return tx.PutDispute(ctx, d)
		}))
		f.auditNow()
		return f.fact(id)
	}
	now := time.Now()
	for _, tt := range []struct {
		name  string
		at    time.Time
		rules string
		want  fieldmark.FactState
	}{
		{"just decided", now, upheld.Rules, fieldmark.Unknown},
		{"89 days later", now.Add(-89 * 24 * time.Hour), upheld.Rules, fieldmark.Unknown},
		{"91 days later", now.Add(-91 * 24 * time.Hour), upheld.Rules, fieldmark.Measured},
		{"with other rules", now, "other", fieldmark.Measured},
	} {
		got := change(tt.at, tt.rules)
		if got.State != tt.want {
			t.Errorf("%s: %s is %s, want %s", tt.name, id, got.State, tt.want)
		}
		if byDispute := len(got.Evidence) > 0 && strings.Contains(got.Evidence[0].URL, d.ID); byDispute !=
			(tt.want == fieldmark.Unknown) {
			t.Errorf("%s: evidence %+v", tt.name, got.Evidence)
		}
	}
	if got := f.fact(id); got.Value != found.Value {
		t.Errorf("after the dispute %s is %d, want %d as before", id, got.Value, found.Value)
	}
}

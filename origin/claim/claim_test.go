package claim_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/claim"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/store"
)

const day = 24 * time.Hour

func TestClaimByEachMethod(t *testing.T) {
	f := newFixture(t)
	for i, m := range fieldmark.ClaimMethods() {
		slug := fieldmark.Slug("brand-" + string(m))
		host := "www." + string(m) + ".example"
		f.brand(t, slug, "https://"+host+"/")
		address := "192.0." + string(rune('0'+i)) + ".1"
		c := f.openClaim(t, fieldmark.ClaimRequest{URL: host}, address)
		if c.Brand != slug || len(c.Proofs) != 3 || c.State != fieldmark.ClaimPending {
			t.Fatalf("opened claim = %+v", c.Claim)
		}
		_, err := f.Claims.Verify(t.Context(), c.ID, bySecret(c))
		wantCode(t, "verify without a proof", err, fieldmark.CodeProofMissing)
		if tried := fieldmark.AsError(err).Tried; len(tried) != 3 {
			t.Errorf("tried = %+v, want each method", tried)
		}
		_, err = f.Claims.Verify(t.Context(), c.ID, bySecret(c))
		wantCode(t, "verify twice in a minute", err, fieldmark.CodeRateLimited)
		_, err = f.Claims.Access(t.Context(), c.ID, bySecret(c))
		wantCode(t, "access without a proof", err, fieldmark.CodeClaimState)
	}
}

func TestAccess(t *testing.T) {
	f := newFixture(t)
	f.brand(t, "acme", "https://acme.example/")
	c, a := f.verified(t, "acme", fieldmark.ClaimDNS, "192.0.2.1")
	if a.Account != "brand-acme" || !f.works(t, a) || !f.manages(t, a, "acme") || !a.Key.Allows("brand:manage") {
		t.Errorf("access = %+v", a)
	}
	_, err := f.Claims.Access(t.Context(), c.ID, bySecret(c))
	wantCode(t, "replay of the secret", err, fieldmark.CodeInvalidAPIKey)
	_, err = f.Claims.Get(t.Context(), c.ID, bySecret(c))
	wantCode(t, "get by a used secret", err, fieldmark.CodeInvalidAPIKey)
	_, err = f.Claims.Get(t.Context(), c.ID, claim.Caller{Account: "default"})
	wantCode(t, "get by another account", err, fieldmark.CodeNotFound)
	if got, err := f.Claims.OfBrand(t.Context(), a.Account, "acme"); err != nil || got.Method != fieldmark.ClaimDNS ||
		got.Domain != "acme.example" {
		t.Errorf("claim of the brand = %+v, %v", got, err)
	}
	state, _, err := f.Brands.State(t.Context(), "acme")
	if err != nil || state.Claim == nil || !state.Claim.Verified || state.Claim.Method != fieldmark.ClaimDNS {
		t.Errorf("state for edges = %+v, %v", state.Claim, err)
	}
	// The account is small: one key and its replacement.
	if _, err := f.Access.Keys.Rotate(t.Context(), a.Key.ID, fieldmark.KeyRotation{}); err != nil {
		t.Error(err)
	}
	_, err = f.Access.Keys.Create(t.Context(), a.Account, fieldmark.KeyRequest{Name: "third",
		Scopes: []fieldmark.Scope{fieldmark.ScopeBrandManage}})
	wantCode(t, "a third key", err, fieldmark.CodeValidationFailed)
	if err := f.Claims.Withdraw(t.Context(), c.ID, claim.Caller{Account: a.Account}); err != nil {
		t.Fatal(err)
	}
	if f.works(t, a) || f.manages(t, a, "acme") {
		t.Error("a withdrawn claim has rights")
	}
	if state, _, _ := f.Brands.State(t.Context(), "acme"); state.Claim != nil {
		t.Errorf("state for edges after the end = %+v", state.Claim)
	}
}

func TestOpenLimits(t *testing.T) {
	f := newFixture(t)
	f.brand(t, "acme", "https://acme.example/")
	for _, tt := range []struct {
		r    fieldmark.ClaimRequest
		want string
	}{
		{fieldmark.ClaimRequest{}, "/brand"},
		{fieldmark.ClaimRequest{Brand: "acme", URL: "acme.example"}, "/brand"},
		{fieldmark.ClaimRequest{Brand: "nobody"}, "/brand"},
		{fieldmark.ClaimRequest{URL: "ftp://acme.example"}, "/url"},
		{fieldmark.ClaimRequest{URL: "https://user@acme.example"}, "/url"},
		{fieldmark.ClaimRequest{URL: "https://127.0.0.1/"}, "/url"},
		{fieldmark.ClaimRequest{URL: "https://[::1]/"}, "/url"},
		{fieldmark.ClaimRequest{URL: "https://github.io/"}, "/url"},
		{fieldmark.ClaimRequest{URL: "localhost"}, "/url"},
		{fieldmark.ClaimRequest{Brand: "acme", Code: "fm_transfer_wrong"}, "/code"},
	} {
		_, err := f.Claims.Open(t.Context(), f.caller("192.0.2.1"), tt.r)
		if e := fieldmark.AsError(err); e == nil || len(e.Fields) != 1 || e.Fields[0].Pointer != tt.want {
			t.Errorf("open %+v = %v, want an error at %s", tt.r, err, tt.want)
		}
	}
	for range fieldmark.ClaimsPerDay {
		f.openClaim(t, fieldmark.ClaimRequest{Brand: "acme"}, "192.0.2.1")
	}
	_, err := f.Claims.Open(t.Context(), f.caller("192.0.2.99"), fieldmark.ClaimRequest{Brand: "acme"})
	wantCode(t, "a sixth claim of the network", err, fieldmark.CodeRateLimited)
	f.openClaim(t, fieldmark.ClaimRequest{Brand: "acme"}, "198.51.100.1")
}

func TestNewSites(t *testing.T) {
	for _, mode := range []claim.NewBrands{claim.NewBrandsOff, claim.NewBrandsReview, claim.NewBrandsOn} {
		t.Run(string(mode), func(t *testing.T) {
			f := newFixture(t, func(c *origin.Config) { c.NewBrands = mode })
			c, err := f.Claims.Open(t.Context(), f.caller("192.0.2.1"), fieldmark.ClaimRequest{URL: "shop.new.example"})
			if mode == claim.NewBrandsOff {
				wantCode(t, "claim of a new site", err, fieldmark.CodeValidationFailed)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if list, _ := f.Brands.List(t.Context(), "", 10); len(list) != 0 {
				t.Errorf("brands before the proof: %v", list)
			}
			f.out.show(c.Claim, fieldmark.ClaimFile, true)
			got := f.verify(t, c)
			b, err := f.Brands.Get(t.Context(), "new")
			if err != nil || got.Brand != "new" || b.Public != (mode == claim.NewBrandsOn) ||
				b.URL != "https://shop.new.example/" {
				t.Errorf("registered %+v for %+v: %v", b, got, err)
			}
		})
	}
}

func TestLapseAndExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.brand(t, "acme", "https://acme.example/")
		c, a := f.verified(t, "acme", fieldmark.ClaimDNS, "192.0.2.1")
		f.pass(t, 30*day)
		f.wantState(t, c.ID, fieldmark.ClaimVerified)
		f.out.show(c.Claim, fieldmark.ClaimDNS, false)
		f.pass(t, 9*day)
		f.wantState(t, c.ID, fieldmark.ClaimLapsing)
		if !f.works(t, a) || !f.manages(t, a, "acme") {
			t.Error("a lapsing claim has no rights")
		}
		f.out.show(c.Claim, fieldmark.ClaimDNS, true)
		f.pass(t, 8*day)
		f.wantState(t, c.ID, fieldmark.ClaimVerified)
		f.out.show(c.Claim, fieldmark.ClaimDNS, false)
		f.pass(t, 22*day)
		f.wantState(t, c.ID, fieldmark.ClaimExpired)
		if f.works(t, a) || f.manages(t, a, "acme") {
			t.Error("an expired claim has rights")
		}
		var lapsing int
		for _, h := range f.get(t, c.ID).History {
			if h.State == fieldmark.ClaimLapsing {
				lapsing++
			}
		}
		if lapsing != 2 {
			t.Errorf("history has %d times lapsing, want 2", lapsing)
		}
		entries, err := f.AuditLog.List(t.Context(), 0, auditlog.Filter{Target: c.ID}, 50)
		if err != nil || len(entries) < 6 || entries[0].Act != "claim.expired" {
			t.Errorf("audit log = %+v, %v", entries, err)
		}
	})
}

// TestUnansweredIsNotAbsent: a DNS server that is out of order for some hours changes nothing.
func TestUnansweredIsNotAbsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.brand(t, "acme", "https://acme.example/")
		c, _ := f.verified(t, "acme", fieldmark.ClaimDNS, "192.0.2.1")
		next := f.get(t, c.ID).NextCheck.Std()
		time.Sleep(time.Until(next))
		f.out.down["acme.example"] = true
		f.work(t)
		f.wantState(t, c.ID, fieldmark.ClaimVerified)
		delete(f.out.down, "acme.example")
		f.pass(t, day)
		f.wantState(t, c.ID, fieldmark.ClaimVerified)
		f.out.down["acme.example"] = true
		f.pass(t, 24*day) // permanently: the rights end
		f.wantState(t, c.ID, fieldmark.ClaimExpired)
	})
}

// TestLostCheckWaits: a check that crashes its process each time is made a day later, and is no check without a proof.
func TestLostCheckWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.brand(t, "acme", "https://acme.example/")
		c, _ := f.verified(t, "acme", fieldmark.ClaimDNS, "192.0.2.1")
		time.Sleep(time.Until(f.get(t, c.ID).NextCheck.Std()) + time.Second) // it has milliseconds
		leased := func() (n int) {
			err := f.store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
				ids, _, err := tx.ClaimDueClaims(ctx, "dead", time.Now(), time.Now().Add(time.Minute), 8, job.MaxClaims)
				n = len(ids)
				return errors.Join(err, tx.ReleaseLeases(ctx, ""))
			})
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		for i := range job.MaxClaims {
			if n := leased(); n != 1 {
				t.Fatalf("attempt %d: %d claims are leased, want 1", i+1, n)
			}
		}
		if n := leased(); n != 0 {
			t.Errorf("after %d lost attempts %d claims are leased, want none", job.MaxClaims, n)
		}
		time.Sleep(23 * time.Hour)
		if f.work(t) {
			t.Error("it is checked within a day")
		}
		time.Sleep(2 * time.Hour)
		if !f.work(t) {
			t.Error("it is not checked a day later")
		}
		f.wantState(t, c.ID, fieldmark.ClaimVerified)
	})
}

func TestContest(t *testing.T) {
	type outcome struct{ holder, newcomer fieldmark.ClaimState }
	for _, tt := range []struct {
		name          string
		holds, claims fieldmark.ClaimMethod
		gone          bool // the holder's proof
		objects       bool
		hour          bool // the newcomer has his proof for an hour only
		after         time.Duration
		want          outcome
	}{
		{"silence loses to an equal proof", "dns", "dns", false, false, false, 8 * day,
			outcome{"transferred", "verified"}},
		{"nothing changes hands early", "dns", "dns", false, false, false, 6 * day, outcome{"verified", "contested"}},
		{"an answer wins", "dns", "dns", false, true, false, 8 * day, outcome{"verified", "expired"}},
		{"a weaker proof never wins", "dns", "meta", false, false, false, 8 * day, outcome{"verified", "expired"}},
		{"a stronger proof wins", "meta", "dns", false, false, false, 8 * day, outcome{"transferred", "verified"}},
		{"an hour gains nothing", "meta", "dns", false, false, true, 8 * day, outcome{"verified", "expired"}},
		{"72 hours without a proof", "dns", "dns", true, false, false, 74 * time.Hour,
			outcome{"transferred", "verified"}},
		{"71 hours without a proof", "dns", "dns", true, false, false, 70 * time.Hour, outcome{"lapsing", "contested"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				f.brand(t, "acme", "https://www.acme.example/")
				holder, a := f.verified(t, "acme", tt.holds, "192.0.2.1")
				time.Sleep(day)
				if err := f.store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
					return tx.AddMailAddress(ctx, &store.MailAddress{ID: "mla_1", Brand: "acme", Account: a.Account,
						State: store.MailConfirmed, CreatedAt: time.Now(), DueAt: time.Now().Add(day)})
				}); err != nil {
					t.Fatal(err)
				}
				newcomer := f.openClaim(t, fieldmark.ClaimRequest{Brand: "acme"}, "198.51.100.1")
				// The records of the parties are at different names, and the pages differ.
				newcomer.Proofs[0].Names = newcomer.Proofs[0].Names[1:]
				f.out.show(newcomer.Claim, tt.claims, true)
				if tt.gone {
					f.out.show(holder.Claim, tt.holds, false)
				}
				got := f.verify(t, newcomer)
				if got.State != fieldmark.ClaimContested {
					t.Fatalf("newcomer is %s", got.State)
				}
				if m, err := f.store.MailAddress(t.Context(), "mla_1"); err != nil || m.DueAt.After(time.Now()) {
					t.Errorf("mail to the holder is due at %v, %v; want at once", m.DueAt, err)
				}
				if tt.hour {
					time.Sleep(time.Hour)
					f.out.show(newcomer.Claim, tt.claims, false)
				}
				if tt.objects {
					owner := claim.Caller{Account: a.Account}
					c, err := f.Claims.Object(t.Context(), holder.ID, owner)
					if err != nil || c.Contest == nil || len(c.Contest.Proofs) == 0 {
						t.Fatalf("object = %+v, %v", c, err)
					}
					_, err = f.Claims.Object(t.Context(), holder.ID, owner)
					wantCode(t, "object with the old token", err, fieldmark.CodeProofMissing)
					c.Proofs = c.Contest.Proofs
					f.out.show(c, tt.holds, true)
					time.Sleep(2 * time.Minute)
					if _, err := f.Claims.Object(t.Context(), holder.ID, owner); err != nil {
						t.Fatal(err)
					}
				}
				f.pass(t, tt.after)
				f.wantState(t, holder.ID, tt.want.holder)
				f.wantState(t, newcomer.ID, tt.want.newcomer)
				if held := tt.want.holder == "verified" || tt.want.holder == "lapsing"; f.works(t, a) != held {
					t.Errorf("the key of the holder works: %v, want %v", !held, held)
				}
			})
		})
	}
}

// TestContestOfLapsedHolder: a holder without a proof for a week has nothing to object with.
func TestContestOfLapsedHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.brand(t, "acme", "https://acme.example/")
		holder, a := f.verified(t, "acme", fieldmark.ClaimFile, "192.0.2.1")
		f.out.show(holder.Claim, fieldmark.ClaimFile, false)
		for f.get(t, holder.ID).State != fieldmark.ClaimLapsing {
			f.pass(t, day)
		}
		f.pass(t, 8*day)
		newcomer := f.openClaim(t, fieldmark.ClaimRequest{Brand: "acme"}, "198.51.100.1")
		f.out.show(newcomer.Claim, fieldmark.ClaimDNS, true)
		if got := f.verify(t, newcomer); got.State != fieldmark.ClaimVerified {
			t.Errorf("newcomer is %s", got.State)
		}
		f.wantState(t, holder.ID, fieldmark.ClaimTransferred)
		if f.works(t, a) {
			t.Error("the old key works")
		}
	})
}

func TestTransfer(t *testing.T) {
	f := newFixture(t)
	f.brand(t, "acme", "https://acme.example/")
	old, a := f.verified(t, "acme", fieldmark.ClaimDNS, "192.0.2.1")
	offer, err := f.Claims.Transfer(t.Context(), old.ID, claim.Caller{Account: a.Account})
	if err != nil || !strings.HasPrefix(offer.Code, "fm_transfer_") {
		t.Fatalf("offer = %+v, %v", offer, err)
	}
	next := f.openClaim(t, fieldmark.ClaimRequest{Brand: "acme", Code: offer.Code}, "198.51.100.1")
	if !f.works(t, a) {
		t.Error("the code alone ends the key")
	}
	f.out.show(next.Claim, fieldmark.ClaimMeta, true)
	if got := f.verify(t, next); got.State != fieldmark.ClaimVerified {
		t.Errorf("receiver is %s", got.State)
	}
	f.wantState(t, old.ID, fieldmark.ClaimTransferred)
	if f.works(t, a) || f.manages(t, a, "acme") {
		t.Error("the old owner has rights")
	}
	access, err := f.Claims.Access(t.Context(), next.ID, bySecret(next))
	if err != nil || access.Account != "brand-acme-2" || !f.manages(t, access, "acme") {
		t.Errorf("access of the receiver = %+v, %v", access, err)
	}
}

// TestTwoOrigins: two parties prove the same brand in the same second on two origins.
func TestTwoOrigins(t *testing.T) {
	f := newFixture(t)
	g := open(t, f.at, f.out)
	for n := range 20 {
		slug := fieldmark.Slug("brand-" + string(rune('a'+n)))
		host := string(slug) + ".example"
		one := f.openClaim(t, fieldmark.ClaimRequest{URL: host}, "192.0."+string(rune('0'+n%10))+".1")
		two := g.openClaim(t, fieldmark.ClaimRequest{URL: host}, "198.51."+string(rune('0'+n%10))+".1")
		f.out.show(one.Claim, fieldmark.ClaimFile, true)
		f.out.show(two.Claim, fieldmark.ClaimMeta, true)
		var states [2]fieldmark.ClaimState
		var wg sync.WaitGroup
		for i, verify := range []func() (fieldmark.Claim, error){
			func() (fieldmark.Claim, error) { return f.Claims.Verify(t.Context(), one.ID, bySecret(one)) },
			func() (fieldmark.Claim, error) { return g.Claims.Verify(t.Context(), two.ID, bySecret(two)) },
		} {
			wg.Go(func() {
				c, err := verify()
				if err != nil {
					t.Error(err)
				}
				states[i] = c.State
			})
		}
		wg.Wait()
		if states != [2]fieldmark.ClaimState{"verified", "contested"} &&
			states != [2]fieldmark.ClaimState{"contested", "verified"} {
			t.Errorf("states = %v, want one verified and one contested", states)
		}
	}
}

func TestRevoke(t *testing.T) {
	f := newFixture(t)
	f.brand(t, "acme", "https://acme.example/")
	c, a := f.verified(t, "acme", fieldmark.ClaimMeta, "192.0.2.1")
	_, err := f.Claims.Revoke(t.Context(), c.ID, fieldmark.ClaimRevocation{Reason: " "})
	wantCode(t, "revoke without a reason", err, fieldmark.CodeValidationFailed)
	got, err := f.Claims.Revoke(t.Context(), c.ID, fieldmark.ClaimRevocation{Reason: "the site was taken over"})
	if err != nil || got.State != fieldmark.ClaimRevoked || f.works(t, a) {
		t.Errorf("revoked = %+v, %v", got, err)
	}
	_, err = f.Claims.Revoke(t.Context(), c.ID, fieldmark.ClaimRevocation{Reason: "again"})
	wantCode(t, "revoke twice", err, fieldmark.CodeClaimState)
}

func TestOff(t *testing.T) {
	f := newFixture(t, func(c *origin.Config) { c.OwnersOff = true })
	_, err := f.Claims.Open(t.Context(), f.caller("192.0.2.1"), fieldmark.ClaimRequest{Brand: "acme"})
	wantCode(t, "open", err, fieldmark.CodeModuleDisabled)
}

package claim_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/claim"
)

// schedules is how many random schedules TestRandomSchedules runs.
var schedules = flag.Int("schedules", 150, "random schedules")

// party is one of those who claim a brand, and what is true of it in the world.
type party struct {
	fieldmark.NewClaim
	shows     map[fieldmark.ClaimMethod]bool
	proven    map[fieldmark.ClaimMethod]bool // at some check
	gone      time.Time                      // since when it shows nothing; zero: it shows something
	contested time.Time
	invited   bool // has the code of a transfer
}

func (p *party) strongest(of map[fieldmark.ClaimMethod]bool) (n int) {
	for m, on := range of {
		if on {
			n = max(n, m.Strength())
		}
	}
	return n
}

// TestRandomSchedules lets three parties do anything at any time and checks each change of
// the holder against what was true in the world.
func TestRandomSchedules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(24, 4))
		f := newFixture(t)
		grants := 0
		for n := range *schedules {
			slug := fieldmark.Slug(fmt.Sprintf("brand-%d", n))
			f.brand(t, slug, "https://"+string(slug)+".example/")
			grants += f.schedule(t, rng, slug, n)
		}
		t.Logf("%d schedules, %d changes of the holder, none wrong", *schedules, grants)
	})
}

// schedule runs one schedule and returns how often the brand changed hands.
func (f *fixture) schedule(t *testing.T, rng *rand.Rand, slug fieldmark.Slug, n int) (grants int) {
	parties := make([]*party, 3)
	for i := range parties {
		parties[i] = &party{shows: map[fieldmark.ClaimMethod]bool{}, proven: map[fieldmark.ClaimMethod]bool{},
			gone: time.Now()}
		parties[i].NewClaim = f.openClaim(t, fieldmark.ClaimRequest{Brand: slug},
			fmt.Sprintf("10.%d.%d.%d", n/250, n%250, i))
	}
	var holder *party
	check := func(what string) {
		t.Helper()
		c, err := f.store.ClaimOf(t.Context(), slug)
		if err != nil {
			holder = nil
			return
		}
		var next *party
		for _, p := range parties {
			if p.ID == c.ID {
				next = p
			}
		}
		if next == holder {
			return
		}
		grants++
		old := holder
		holder = next
		if !next.gone.IsZero() {
			t.Fatalf("%s after %s: granted without a proof: %+v", slug, what, f.get(t, c.ID).History)
		}
		if old == nil || f.get(t, old.ID).State != fieldmark.ClaimTransferred || next.invited {
			return
		}
		waited := time.Since(next.contested)
		lapsed := !old.gone.IsZero() && next.contested.Sub(old.gone) >= 7*day
		absent := !old.gone.IsZero() && time.Since(old.gone) >= 72*time.Hour && waited >= 72*time.Hour
		if next.strongest(next.shows) < old.strongest(old.proven) || !lapsed && !absent && waited < 7*day {
			t.Fatalf("%s after %s: changed hands after %v: %+v", slug, what, waited, f.get(t, c.ID).History)
		}
	}
	for range 14 {
		p := parties[rng.IntN(len(parties))]
		what := f.act(t, rng, p, holder)
		check(what)
		wait := []time.Duration{time.Hour, 25 * time.Hour, 3 * day, 8 * day}[rng.IntN(4)]
		for end := time.Now().Add(wait); time.Now().Before(end); {
			time.Sleep(min(12*time.Hour, time.Until(end)))
			f.work(t)
			check("waiting")
		}
	}
	for _, p := range parties { // nothing is due of this brand while the next ones run
		if f.get(t, p.ID).State.Open() {
			if err := f.Claims.Withdraw(t.Context(), p.ID, claim.Caller{Admin: true}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return grants
}

// act does one random thing in the name of a party.
func (f *fixture) act(t *testing.T, rng *rand.Rand, p, holder *party) string {
	m := fieldmark.ClaimMethods()[rng.IntN(3)]
	state := f.get(t, p.ID)
	by := claim.Caller{Admin: true}
	switch rng.IntN(9) {
	case 0, 1:
		f.out.show(p.Claim, m, true)
		p.shows[m], p.gone = true, time.Time{}
		return "show"
	case 2:
		for m := range p.shows {
			f.out.show(p.Claim, m, false)
		}
		p.shows = map[fieldmark.ClaimMethod]bool{}
		if p.gone.IsZero() {
			p.gone = time.Now()
		}
		return "hide"
	case 3:
		if holder != p || state.Contest == nil {
			return "nothing"
		}
		c, err := f.Claims.Object(t.Context(), p.ID, by)
		if err != nil || c.Contest == nil || c.Contest.Proofs == nil {
			return "object in vain"
		}
		fresh := c
		fresh.Proofs = c.Contest.Proofs
		f.out.show(fresh, m, true)
		time.Sleep(2 * time.Minute)
		if _, err := f.Claims.Object(t.Context(), p.ID, by); err != nil {
			f.out.show(fresh, m, false)
			return "object in vain"
		}
		for old := range p.shows {
			f.out.show(p.Claim, old, false)
		}
		p.Claim.Proofs, p.gone = fresh.Proofs, time.Time{}
		p.shows, p.proven = map[fieldmark.ClaimMethod]bool{m: true}, map[fieldmark.ClaimMethod]bool{m: true}
		return "object"
	}
	time.Sleep(2 * time.Minute)
	got, err := f.Claims.Verify(t.Context(), p.ID, by)
	if err == nil && got.State == fieldmark.ClaimContested && state.State == fieldmark.ClaimPending {
		p.contested = time.Now()
	}
	for m, on := range p.shows {
		p.proven[m] = p.proven[m] || on && err == nil
	}
	return "verify"
}

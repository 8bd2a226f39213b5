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

// schedules is how many random schedules TestRandomSchedules runs; make simulate runs 10,000.
var schedules = flag.Int("schedules", 30, "random schedules")

// maxLost is the longest time that a holder keeps the brand without a proof: the longest
// pause before a check, the time in which its claim is lapsing, and the steps of the test.
const maxLost = 8*day + 14*day + day

// party is a claim of a brand, and what is true of it in the world.
type party struct {
	fieldmark.NewClaim
	shows     map[fieldmark.ClaimMethod]bool
	proven    map[fieldmark.ClaimMethod]bool // at some check
	gone      time.Time                      // since when it shows no proven method; zero: it shows one
	contested time.Time
	held      time.Time // since when it holds the brand
	invitedBy *party    // that gave it the code of a transfer
	withdrawn bool
}

func strongest(of map[fieldmark.ClaimMethod]bool) (n int) {
	for m, on := range of {
		if on {
			n = max(n, m.Strength())
		}
	}
	return n
}

// update sets gone after a change: checks that are not requested look for proven methods alone.
func (p *party) update() {
	for m := range p.shows {
		if p.proven[m] {
			p.gone = time.Time{}
			return
		}
	}
	if p.gone.IsZero() {
		p.gone = time.Now()
	}
}

// lostFor returns how long the party shows no proof that a check would find.
func (p *party) lostFor(at time.Time) time.Duration {
	if p.gone.IsZero() {
		return 0
	}
	return at.Sub(p.gone)
}

// world is one brand and those who claim it.
type world struct {
	*fixture
	rng     *rand.Rand
	slug    fieldmark.Slug
	parties []*party // a party that opens another claim is replaced
	holder  *party   // nil: none
	opened  *int     // claims of all worlds, to have a network for each
	changes int      // of the holder
}

// schedulesPerClock is how many schedules one bubble of testing/synctest runs: they take 40
// years, and a clock that begins in 2000 must not pass 2262, where nanoseconds end.
const schedulesPerClock = 250

// TestRandomSchedules lets three parties do anything at any time and checks each change of
// the holder against what was true in the world.
func TestRandomSchedules(t *testing.T) {
	var opened, changes, contests int
	for first := 0; first < *schedules; first += schedulesPerClock {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(24, uint64(first)))
			f := newFixture(t)
			for n := first; n < min(first+schedulesPerClock, *schedules); n++ {
				slug := fieldmark.Slug(fmt.Sprintf("brand-%d", n))
				f.brand(t, slug, "https://"+string(slug)+".example/")
				w := &world{fixture: f, rng: rng, slug: slug, opened: &opened}
				contests += w.run(t)
				changes += w.changes
			}
		})
	}
	t.Logf("%d schedules, %d claims, %d contests, %d changes of the holder, none wrong", *schedules, opened, contests,
		changes)
}

// run runs one schedule and returns how many contests it had.
func (w *world) run(t *testing.T) (contests int) {
	for range 3 {
		w.parties = append(w.parties, w.open(t, nil))
	}
	for range 20 {
		p := w.rng.IntN(len(w.parties))
		was := w.parties[p].contested
		what := w.act(t, p)
		w.parties[p].update()
		w.check(t, what)
		if w.parties[p].contested != was {
			contests++
		}
		wait := []time.Duration{time.Hour, 25 * time.Hour, 3 * day, 8 * day}[w.rng.IntN(4)]
		for end := time.Now().Add(wait); time.Now().Before(end); {
			time.Sleep(min(12*time.Hour, time.Until(end)))
			if w.work(t) {
				w.check(t, "waiting")
			}
		}
	}
	for _, p := range w.parties { // nothing is due of this brand while the next ones run
		if w.get(t, p.ID).State.Open() {
			if err := w.Claims.Withdraw(t.Context(), p.ID, claim.Caller{Admin: true}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return contests
}

// open opens a claim, with the code of a transfer if the holder invites it.
func (w *world) open(t *testing.T, by *party) *party {
	p := &party{shows: map[fieldmark.ClaimMethod]bool{}, proven: map[fieldmark.ClaimMethod]bool{},
		gone: time.Now(), invitedBy: by}
	r := fieldmark.ClaimRequest{Brand: w.slug}
	if by != nil {
		offer, err := w.Claims.Transfer(t.Context(), by.ID, claim.Caller{Admin: true})
		if err != nil { // it is lapsing
			p.invitedBy = nil
		}
		r.Code = offer.Code
	}
	*w.opened++
	p.NewClaim = w.openClaim(t, r, fmt.Sprintf("%d.%d.%d.1", 11+*w.opened>>16, *w.opened>>8&255, *w.opened&255))
	return p
}

// check finds the holder and, if it is another one than before, checks that it should be.
func (w *world) check(t *testing.T, what string) {
	t.Helper()
	fail := func(p *party, why string) {
		t.Helper()
		t.Fatalf("%s after %s: %s: %+v", w.slug, what, why, w.get(t, p.ID).History)
	}
	old, now := w.holder, time.Now()
	w.holder = nil
	if c, err := w.store.ClaimOf(t.Context(), w.slug); err == nil {
		for _, p := range w.parties {
			if p.ID == c.ID {
				w.holder = p
			}
		}
	}
	next := w.holder
	if next == old {
		if old != nil && old.lostFor(now) > maxLost {
			fail(old, fmt.Sprintf("holds the brand without a proof for %s", old.lostFor(now)))
		}
		return
	}
	w.changes++
	if next != nil {
		next.held = now
		if !next.gone.IsZero() {
			fail(next, "granted without a proof")
		}
	}
	if old == nil {
		return
	}
	switch state := w.get(t, old.ID).State; {
	case state == fieldmark.ClaimWithdrawn && old.withdrawn:
	case state == fieldmark.ClaimExpired && old.lostFor(now) >= 14*day:
	case state == fieldmark.ClaimTransferred && next != nil:
		if next.invitedBy != old || now.Sub(next.CreatedAt.Std()) >= 7*day {
			w.checkContest(t, old, next, func(why string) { fail(next, why) })
		}
	default:
		fail(old, fmt.Sprintf("the claim is %s without a reason", state))
	}
}

// checkContest checks that next, which won a contest against old, should have.
func (w *world) checkContest(t *testing.T, old, next *party, fail func(why string)) {
	t.Helper()
	since, now := next.contested, time.Now()
	if since.IsZero() {
		fail("changed hands without a contest")
	}
	if old.held.After(since) { // a new holder is asked again
		since = old.held
	}
	waited, lapsing := now.Sub(since), since
	for _, step := range w.get(t, old.ID).History {
		if step.State == fieldmark.ClaimLapsing {
			lapsing = step.At.Std()
		}
	}
	switch {
	case strongest(next.shows) < strongest(old.proven):
		fail("a weaker proof won")
	case waited >= 7*day:
	case old.lostFor(since) >= 7*day && since.Sub(lapsing) >= 7*day:
	case waited >= 72*time.Hour && old.lostFor(now) >= waited:
	default:
		fail(fmt.Sprintf("changed hands after %s", waited))
	}
}

// act does one random thing in the name of a party.
func (w *world) act(t *testing.T, at int) string {
	p := w.parties[at]
	state := w.get(t, p.ID)
	if !state.State.Open() {
		w.parties[at] = w.open(t, nil)
		p = w.parties[at]
		state = p.Claim
	}
	by, m := claim.Caller{Admin: true}, fieldmark.ClaimMethods()[w.rng.IntN(3)]
	switch n := w.rng.IntN(24); {
	case n < 8:
		w.out.show(p.Claim, m, true)
		p.shows[m] = true
		if n < 2 {
			return "show"
		}
	case n < 10:
		for m := range p.shows {
			w.out.show(p.Claim, m, false)
		}
		p.shows = map[fieldmark.ClaimMethod]bool{}
		return "hide"
	case n < 12 && p == w.holder && state.Contest != nil:
		return w.object(t, p, m)
	case n == 12 && p == w.holder:
		other := (at + 1) % len(w.parties)
		if !w.get(t, w.parties[other].ID).State.Open() {
			w.parties[other] = w.open(t, p)
		}
		return "invite"
	case n == 13:
		if err := w.Claims.Withdraw(t.Context(), p.ID, by); err != nil {
			t.Fatal(err)
		}
		p.withdrawn = true
		return "withdraw"
	}
	time.Sleep(2 * time.Minute)
	_, err := w.Claims.Verify(t.Context(), p.ID, by)
	if err == nil && state.State == fieldmark.ClaimPending && w.holder != nil {
		p.contested = time.Now()
	}
	for m := range p.shows {
		p.proven[m] = p.proven[m] || err == nil
	}
	return "verify"
}

// object answers a contest with a fresh token.
func (w *world) object(t *testing.T, p *party, m fieldmark.ClaimMethod) string {
	by := claim.Caller{Admin: true}
	fresh, err := w.Claims.Object(t.Context(), p.ID, by)
	if err != nil || fresh.Contest == nil || fresh.Contest.Proofs == nil {
		return "object in vain"
	}
	fresh.Proofs = fresh.Contest.Proofs
	w.out.show(fresh, m, true)
	time.Sleep(2 * time.Minute)
	if _, err := w.Claims.Object(t.Context(), p.ID, by); err != nil {
		w.out.show(fresh, m, false)
		return "object in vain"
	}
	for old := range p.shows {
		w.out.show(p.Claim, old, false)
	}
	p.Claim.Proofs = fresh.Proofs
	p.shows, p.proven = map[fieldmark.ClaimMethod]bool{m: true}, map[fieldmark.ClaimMethod]bool{m: true}
	return "object"
}

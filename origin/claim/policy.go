package claim

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
)

// Times of claims.
const (
	pendingFor = fieldmark.ClaimDays * 24 * time.Hour
	// recheckEvery, plus or minus a tenth, so that claims of one day are not checked at once,
	// and the times in recheckAfter bound how long an owner keeps the rights after losing the
	// domain: three weeks.
	recheckEvery = 7 * 24 * time.Hour
	// An unanswered check is repeated this often before it counts as one without a proof: the
	// DNS servers of a site may be out of order, and so may ours.
	unansweredEvery = time.Hour
	maxUnanswered   = 6
	// objectFor is how long a holder can answer a contest; missingFor is how long if all
	// checks since its beginning found no proof of his; after lapsedFor without a proof he
	// cannot.
	objectFor    = 7 * 24 * time.Hour
	missingFor   = 72 * time.Hour
	lapsedFor    = 7 * 24 * time.Hour
	contestEvery = 24 * time.Hour // checks of both parties during a contest
	transferFor  = 7 * 24 * time.Hour
)

// recheckAfter are the pauses between the checks of a lapsing claim; it expires with the last.
func recheckAfter() []time.Duration {
	const day = 24 * time.Hour
	return []time.Duration{1 * day, 2 * day, 4 * day, 7 * day}
}

// expireAfter is how long a claim is lapsing: the sum of recheckAfter.
const expireAfter = 14 * 24 * time.Hour

// nextRecheck returns when a verified claim is checked again.
func nextRecheck(now time.Time) time.Time {
	return now.Add(recheckEvery*9/10 + rand.N(recheckEvery/5))
}

// step sets the state of a claim and adds an entry to its history.
func step(c *store.Claim, state fieldmark.ClaimState, now time.Time, detail string) {
	c.State = state
	c.History = append(c.History, fieldmark.ClaimStep{At: fieldmark.At(now), State: state, Detail: detail})
	if n := len(c.History) - fieldmark.MaxClaimSteps; n > 0 {
		c.History = slices.Delete(c.History, 0, n)
	}
}

// end puts a claim into a final state. Nothing proves it any longer.
func end(c *store.Claim, state fieldmark.ClaimState, now time.Time, reason string) {
	step(c, state, now, reason)
	c.Reason, c.Secret, c.DueAt = reason, "", time.Time{}
	c.Contest, c.Objection, c.Transfer, c.ExpiresAt = nil, nil, nil, nil
}

// prove stores which methods a check found.
func prove(c *store.Claim, f finding, now time.Time) {
	at := fieldmark.At(now)
	c.CheckedAt, c.FailingAt, c.Failures, c.Unanswered, c.ExpiresAt = &at, nil, 0, 0, nil
	c.Tried, c.Resolvers = f.tried, f.resolvers
	for _, p := range f.proven {
		p.At = at
		if i := slices.IndexFunc(c.Proven, func(q store.ProvenMethod) bool { return q.Method == p.Method }); i >= 0 {
			c.Proven[i] = p
		} else {
			c.Proven = append(c.Proven, p)
		}
	}
}

// methods are those that were proven: rechecks look for them alone.
func methods(c *store.Claim) (list []fieldmark.ClaimMethod) {
	for _, p := range c.Proven {
		list = append(list, p.Method)
	}
	return list
}

// strength is that of the strongest method that was ever proven: a holder whose record is
// gone for a day does not become easier to replace.
func strength(c *store.Claim) (n int) {
	for _, p := range c.Proven {
		n = max(n, p.Method.Strength())
	}
	return n
}

// recheck applies what a check of a holder found, and reports what changed.
func recheck(c *store.Claim, f finding, now time.Time) (was fieldmark.ClaimState) {
	was = c.State
	if len(f.proven) > 0 {
		prove(c, f, now)
		if was == fieldmark.ClaimLapsing {
			step(c, fieldmark.ClaimVerified, now, "a proof was found again")
		}
		c.DueAt = nextRecheck(now)
		return was
	}
	c.Tried, c.Resolvers = f.tried, f.resolvers
	if !f.answered && c.Unanswered < maxUnanswered {
		c.Unanswered++
		c.DueAt = now.Add(unansweredEvery)
		return was
	}
	at := fieldmark.At(now)
	c.CheckedAt, c.Unanswered = &at, 0
	if c.FailingAt == nil {
		until := fieldmark.At(now.Add(expireAfter))
		c.FailingAt, c.ExpiresAt = &at, &until
		step(c, fieldmark.ClaimLapsing, now, "no proof was found; the rights end on "+until.String()[:10])
	}
	if c.ExpiresAt != nil && !now.Before(c.ExpiresAt.Std()) {
		end(c, fieldmark.ClaimExpired, now, "no proof was found for 14 days")
		return was
	}
	// A check that was requested in between does not move the others.
	due := c.FailingAt.Std()
	for _, pause := range recheckAfter() {
		if due = due.Add(pause); due.After(now) {
			break
		}
	}
	c.DueAt = due
	c.Failures++
	return was
}

// verdict is the result of a contest.
type verdict int

const (
	undecided verdict = iota
	newcomerWins
	newcomerLoses
)

// decide decides a contest after both parties were checked. The holder has not answered it:
// an answer ends a contest at once. Nothing changes hands without a proof of the newcomer at
// this moment, and without one as strong as the strongest that the holder ever had: who
// controls a zone for an hour gains nothing, nor does a weaker proof by waiting.
func decide(newcomer, holder *store.Claim, proof fieldmark.ClaimMethod, now time.Time) verdict {
	c := newcomer.Contest
	strong := proof.Strength() >= strength(holder)
	failed := holder.FailingAt != nil && !c.Seen
	switch {
	case strong && failed && c.Since.Std().Sub(holder.FailingAt.Std()) >= lapsedFor:
		return newcomerWins
	case strong && failed && now.Sub(c.Since.Std()) >= missingFor:
		return newcomerWins
	case now.Before(c.Until.Std()):
		return undecided
	case strong:
		return newcomerWins
	}
	return newcomerLoses
}

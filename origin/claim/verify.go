package claim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/store"
)

// Limits of the worker and of requested checks.
// The times of claims are in policy.go.
const (
	maxChecking  = 8                // claims that one process checks at once
	checkTimeout = 16 * time.Second // of one check of a claim: below the time of a request
	checkPause   = time.Minute      // between checks of a claim that its owner requests
	keepEnded    = 30 * 24 * time.Hour
	newNiche     = "other" // of brands that claims register
	newLanguage  = "en"
	maxFormer    = 10   // tokens that a claim had: a contest takes a week, and records of older ones are long gone
	maxSuffix    = 1000 // of slugs and accounts that are taken
)

// Run checks claims that are due until ctx ends. Any number of processes may run it on one
// database.
func (s *Service) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.jobs.Work(ctx, store.TopicClaims, maxChecking, s.claimDue) })
	// Ended claims are kept for a month, in which an administrator may look at what happened.
	wg.Go(func() {
		s.jobs.AtStartAndEvery(ctx, time.Hour, "prune claims", func(ctx context.Context) error {
			return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
				return tx.PruneClaims(ctx, time.Now().Add(-keepEnded))
			})
		})
	})
	wg.Wait()
	return nil
}

// claimDue leases due claims.
func (s *Service) claimDue(ctx context.Context, limit int) (todo []job.Job, err error) {
	now := time.Now()
	var ids, lost []string
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		ids, lost, err = tx.ClaimDueClaims(ctx, s.jobs.Worker(), now, now.Add(job.LeaseDuration), limit, job.MaxClaims)
		return err
	})
	if err != nil {
		return nil, err
	}
	// A check that fails is no proof against a claim, so the claim stays as it is.
	for _, id := range lost {
		s.log.Error("a claim is not checked for a day: no check of it ended", slog.String("claim", id),
			slog.Int("attempts", job.MaxClaims))
	}
	for _, id := range ids {
		// An error of the database leaves the lease to expire, and the check is repeated.
		todo = append(todo, job.Job{Lease: store.Lease{Kind: store.LeaseClaim, ID: id}, Do: func(ctx context.Context) {
			if err := s.Check(ctx, id); err != nil && ctx.Err() == nil {
				s.log.Error("check a claim", slog.String("claim", id), slog.Any("error", err))
			}
		}})
	}
	return todo, nil
}

// Check does what a due claim needs: a pending one expires, the proofs of the others are
// looked for. After an error it is done again when the lease has expired.
func (s *Service) Check(ctx context.Context, id string) error {
	c, err := s.store.Claim(ctx, id)
	if err != nil {
		return err
	}
	found, holder, err := s.checkProof(ctx, &c, false)
	if err != nil || ctx.Err() != nil {
		return errors.Join(err, ctx.Err())
	}
	// What was found is stored also while the process stops: the requests to the site were
	// made.
	ctx, cancel := job.ShutdownContext(ctx)
	defer cancel()
	if err = s.apply(ctx, id, found, holder, false); fieldmark.IsCode(err, fieldmark.CodeProofMissing) {
		return nil
	}
	return err
}

// apply is settle in a separate transaction. CodeProofMissing does not undo what it stored.
// Tried methods and counts must survive, so the transaction commits and the error is returned
// afterwards.
func (s *Service) apply(ctx context.Context, id string, f finding, h *held, requested bool) error {
	var missing error
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		// The transaction may run twice.
		missing = nil
		err := s.applyCheck(ctx, tx, id, f, h, requested)
		if fieldmark.IsCode(err, fieldmark.CodeProofMissing) {
			missing, err = err, nil
		}
		return err
	})
	if err != nil {
		return err
	}
	return missing
}

// held is what a check of the holder of a brand found.
type held struct {
	id string
	finding
}

// checkProof looks for the proofs of a claim and, if another claim holds the brand, for those of
// that one. A requested check looks for every method, a due one for those proven before.
// The holder is checked with it, because both decide a contest at one moment.
func (s *Service) checkProof(ctx context.Context, c *store.Claim, requested bool) (f finding, h *held, err error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	// A pending claim is not checked by itself: the owner requests a check when the proof is published.
	if c.State == fieldmark.ClaimPending && !requested || !c.State.Open() {
		return f, nil, nil
	}
	if f, err = s.find(ctx, c, requested); err != nil || c.State.Holds() || len(f.proven) == 0 && requested {
		return f, nil, err
	}
	slug := c.Brand
	if slug == "" { // it may have been registered since
		if slug, err = brandAt(ctx, s.store.ClaimReader, c.URL); err != nil || slug == "" {
			return f, nil, err
		}
	}
	holder, err := optional(s.store.ClaimOf(ctx, slug))
	if err != nil || holder == nil {
		return f, nil, err
	}
	h = &held{id: holder.ID}
	h.finding, err = s.find(ctx, holder, false)
	return f, h, err
}

// find looks for the methods proven before, or for all of them.
func (s *Service) find(ctx context.Context, c *store.Claim, all bool) (finding, error) {
	address, err := addressOf(ctx, s.store.BrandReader, c)
	if err != nil {
		return finding{}, err
	}
	t, err := newTarget(c.ID, c.Token, address)
	if err != nil {
		return finding{}, err
	}
	t.ignored = c.Former
	if c.Objection != nil {
		t.ignored = append(slices.Clone(c.Former), c.Objection.Token)
	}
	// A due check repeats only what was proven: a method that was never used needs no request.
	only := methods(c)
	if all {
		only = nil
	}
	return s.prover.check(ctx, t, only), nil
}

// Verify looks for the proofs of a claim now. It is CodeProofMissing if none is found.
// It takes up to checkTimeout.
func (s *Service) Verify(ctx context.Context, id string, by Caller) (fieldmark.Claim, error) {
	var c *store.Claim
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		if c, err = s.load(ctx, tx, id, by); err != nil {
			return err
		}
		if !c.State.Open() {
			return errState(c)
		}
		// Counted before the requests are sent, and in a transaction: parallel calls cannot
		// exceed the limits.
		return s.countRequest(ctx, tx, c)
	})
	if err != nil {
		return fieldmark.Claim{}, err
	}
	found, holder, err := s.checkProof(ctx, c, true)
	if err != nil {
		return fieldmark.Claim{}, err
	}
	ctx = context.WithoutCancel(ctx) // a proof that was found counts, also if the client has left
	return s.orView(ctx, id, s.apply(ctx, id, found, holder, true))
}

// countRequest counts a requested check against its limits.
// Each check sends requests to a site, which did not agree to be checked.
func (s *Service) countRequest(ctx context.Context, tx *store.Tx, c *store.Claim) error {
	now := time.Now()
	// The slice is filtered in place; the times are in order.
	recent := c.Requested[:0]
	for _, at := range c.Requested {
		if now.Sub(at.Std()) < 24*time.Hour {
			recent = append(recent, at)
		}
	}
	tooSoon := func(wait time.Duration, detail string) error {
		return &fieldmark.Error{Code: fieldmark.CodeRateLimited, RetryAfter: wait, Detail: detail}
	}
	if n := len(recent); n >= fieldmark.ClaimChecksPerDay {
		return tooSoon(recent[0].Std().Add(24*time.Hour).Sub(now),
			fmt.Sprintf("a claim is checked %d times a day", fieldmark.ClaimChecksPerDay))
	} else if n > 0 {
		if wait := recent[n-1].Std().Add(checkPause).Sub(now); wait > 0 {
			return tooSoon(wait, "a claim is checked once a minute")
		}
	}
	c.Requested = append(recent, fieldmark.At(now))
	return tx.PutClaim(ctx, c)
}

// errState returns the error for an action that the state of a claim does not allow.
func errState(c *store.Claim) error {
	return fieldmark.Errorf(fieldmark.CodeClaimState, "the claim is %s", c.State)
}

// errProof has what was tried, so the owner sees what was wrong with each method.
func errProof(tried []fieldmark.ClaimAttempt, detail string) error {
	return &fieldmark.Error{Code: fieldmark.CodeProofMissing, Detail: detail, Tried: tried}
}

// applyCheck applies what a check found, in the state that the claim has by now.
// The state may have changed while the proofs were looked for, so it is read again here.
func (s *Service) applyCheck(ctx context.Context, tx *store.Tx, id string, f finding, h *held, requested bool) error {
	c, err := tx.Claim(ctx, id)
	if err != nil {
		return err
	}
	now := time.Now()
	switch c.State {
	case fieldmark.ClaimVerified, fieldmark.ClaimLapsing:
		if f.tried == nil || requested && len(f.proven) == 0 {
			return s.unproven(ctx, tx, &c, f) // a check that the owner requested cannot harm him
		}
		return s.applyToHolder(ctx, tx, &c, f, now)
	case fieldmark.ClaimContested:
		if requested && len(f.proven) == 0 {
			return s.unproven(ctx, tx, &c, f)
		}
		return s.decideContest(ctx, tx, &c, f, h, now)
	case fieldmark.ClaimPending:
		switch {
		case len(f.proven) > 0:
			return s.applyProof(ctx, tx, &c, f, h, now)
		case !now.Before(c.ExpiresAt.Std()):
			end(&c, fieldmark.ClaimExpired, now, "not proven within 7 days")
			return s.put(ctx, tx, &c, "claim.expired")
		}
		return s.unproven(ctx, tx, &c, f)
	}
	// Its owner withdrew it, or a contest ended it.
	if !requested { // it ended while its proofs were looked for
		return nil
	}
	return errState(&c)
}

// unproven stores what was looked for in vain.
func (s *Service) unproven(ctx context.Context, tx *store.Tx, c *store.Claim, f finding) error {
	if f.tried != nil {
		c.Tried = f.tried
	}
	if err := tx.PutClaim(ctx, c); err != nil {
		return err
	}
	return errProof(f.tried, "no proof was found")
}

// put stores a claim and adds the step to the audit log, both or neither.
func (s *Service) put(ctx context.Context, tx *store.Tx, c *store.Claim, act string) error {
	if err := tx.PutClaim(ctx, c); err != nil {
		return err
	}
	return s.audit(ctx, tx, act, c)
}

// applyToHolder applies a check of a claim that holds its brand.
// It emits at most one event, and invalidates the pages of the brand only if they change.
func (s *Service) applyToHolder(ctx context.Context, tx *store.Tx, c *store.Claim, f finding, now time.Time) error {
	// Public is what pages show of a claim; most checks change nothing of it.
	shown := c.Public()
	was := recheck(c, f, now)
	newcomer, err := optional(tx.ContestOf(ctx, c.Brand))
	if err != nil {
		return err
	}
	if newcomer != nil {
		// decide depends on whether a check during the contest found the proof of the holder.
		if len(f.proven) > 0 && !newcomer.Contest.Seen {
			newcomer.Contest.Seen = true
			if err := tx.PutClaim(ctx, newcomer); err != nil {
				return err
			}
		}
		// During a contest the holder is checked as often as the other party.
		if next := now.Add(contestEvery); c.State.Holds() && next.Before(c.DueAt) {
			c.DueAt = next
		}
	}
	switch {
	case c.State == fieldmark.ClaimExpired:
		return s.endHolder(ctx, tx, c, fieldmark.EventClaimExpired, "claim.expired", "claim expired")
	case c.State == was:
		if err := tx.PutClaim(ctx, c); err != nil {
			return err
		}
	case c.State == fieldmark.ClaimLapsing:
		if err := emit(ctx, tx, fieldmark.EventClaimLapsing, c, c.State, c.ExpiresAt); err != nil {
			return err
		}
		return s.put(ctx, tx, c, "claim.lapsing")
	default:
		if err := emit(ctx, tx, fieldmark.EventClaimVerified, c, c.State, nil); err != nil {
			return err
		}
		if err := s.put(ctx, tx, c, "claim.verified"); err != nil {
			return err
		}
	}
	if next := c.Public(); *next != *shown {
		return emitBrand(ctx, tx, c.Brand)
	}
	return nil
}

// endHolder ends the rights of an ended claim that held its brand: keys, and with the row
// sessions. A contest of the brand is decided now.
// t is the event of the end, empty if the caller has emitted another one.
func (s *Service) endHolder(ctx context.Context, tx *store.Tx, c *store.Claim, t fieldmark.EventType, act,
	reason string) error {
	if t != "" { // before the claim ends, or its account does not receive it
		if err := emit(ctx, tx, t, c, c.State, nil); err != nil {
			return err
		}
	}
	if err := s.put(ctx, tx, c, act); err != nil {
		return err
	}
	if c.Account != "" {
		// Requests that wait for the owner, such as disputes, end with the claim.
		if err := tx.LapseOwner(ctx, c.Brand, c.Account, fieldmark.At(time.Now())); err != nil {
			return err
		}
		if err := s.keys.RevokeAll(acting(ctx), tx, c.Account, reason); err != nil {
			return err
		}
	}
	newcomer, err := optional(tx.ContestOf(ctx, c.Brand))
	if err != nil {
		return err
	}
	// The party that contested the brand may win now.
	if newcomer != nil {
		newcomer.DueAt = time.Now()
		if err := tx.PutClaim(ctx, newcomer); err != nil {
			return err
		}
	}
	return emitBrand(ctx, tx, c.Brand)
}

// applyProof applies the first proof of a pending claim.
// A brand without a holder is granted at once; otherwise the holder can object.
func (s *Service) applyProof(ctx context.Context, tx *store.Tx, c *store.Claim, f finding, h *held,
	now time.Time) error {
	prove(c, f, now)
	// The brand of a new site is registered only now: a claim that is never proven registers
	// nothing.
	if err := s.register(ctx, tx, c, now); err != nil {
		return err
	}
	holder, err := holderOf(ctx, tx, c.Brand)
	if err != nil {
		return err
	}
	switch {
	case holder == nil:
		return s.grant(ctx, tx, c, now, "proven by "+string(f.best()))
	// The owner agreed to the transfer, so there is no contest.
	case c.From == holder.ID && holder.Transfer != nil && now.Before(holder.Transfer.Until.Std()):
		return s.handOver(ctx, tx, holder, c, now, "transferred by its owner")
	}
	if err := s.contest(ctx, tx, c, holder, now); err != nil {
		return err
	}
	return s.decideContest(ctx, tx, c, f, h, now)
}

// grant gives a claim its brand.
// The checks continue: the rights last as long as the proof.
func (s *Service) grant(ctx context.Context, tx *store.Tx, c *store.Claim, now time.Time, detail string) error {
	at := fieldmark.At(now)
	c.VerifiedAt, c.ExpiresAt, c.Contest, c.DueAt = &at, nil, nil, nextRecheck(now)
	step(c, fieldmark.ClaimVerified, now, detail)
	if err := s.put(ctx, tx, c, "claim.verified"); err != nil {
		return err
	}
	return emitBrand(ctx, tx, c.Brand)
}

// handOver ends the claim of a holder with its keys and sessions, and gives the brand to
// another claim. The keys, sessions and requests of the old owner end first.
func (s *Service) handOver(ctx context.Context, tx *store.Tx, holder, c *store.Claim, now time.Time,
	reason string) error {
	if err := emit(ctx, tx, fieldmark.EventClaimTransferred, holder, fieldmark.ClaimTransferred, nil); err != nil {
		return err
	}
	end(holder, fieldmark.ClaimTransferred, now, reason)
	// endHolder decides a contest of the brand, which this is.
	c.Contest = nil // before endHolder looks for one
	if c.State == fieldmark.ClaimContested {
		c.State = fieldmark.ClaimPending
		if err := tx.PutClaim(ctx, c); err != nil {
			return err
		}
	}
	if err := s.endHolder(ctx, tx, holder, "", "claim.transferred", "claim transferred"); err != nil {
		return err
	}
	return s.grant(ctx, tx, c, now, reason)
}

// register finds the brand of a proven site, or registers it.
// An unlisted brand waits for an administrator, depending on NewBrands.
func (s *Service) register(ctx context.Context, tx *store.Tx, c *store.Claim, now time.Time) (err error) {
	if c.Brand != "" {
		return nil
	}
	if c.Brand, err = brandAt(ctx, tx.ClaimTx.ClaimReader, c.URL); err != nil || c.Brand != "" {
		return err
	}
	u, err := url.Parse(c.URL)
	if err != nil {
		return fmt.Errorf("parse the URL of claim %s: %w", c.ID, err)
	}
	// The name is the domain until the owner gives another one: a title of the page would be
	// text of a stranger.
	name := registrable(u)
	label, _, _ := strings.Cut(name, ".")
	var slug []byte
	// Only characters of slugs; a domain in another script has its Punycode form here.
	for _, r := range []byte(label) {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-' && len(slug) > 0 && slug[len(slug)-1] != '-' {
			slug = append(slug, r)
		}
	}
	base := strings.Trim(string(slug[:min(len(slug), fieldmark.MaxSlug-5)]), "-")
	if base == "" {
		base = "site"
	}
	for n := 1; n <= maxSuffix; n++ {
		b := fieldmark.Brand{Slug: fieldmark.Slug(numbered(base, n)), Name: name, URL: c.URL, Niche: newNiche,
			Language: newLanguage, Public: s.newBrands == NewBrandsOn}
		// A slug that is taken belongs to another site.
		added, err := s.brands.CreateIn(ctx, tx, b)
		if err != nil {
			return err
		}
		if added {
			c.Brand = b.Slug
			// The first audit begins at once: the owner is waiting for it.
			return tx.EnqueueAudit(ctx, b.Slug, now)
		}
	}
	return fieldmark.Errorf(fieldmark.CodeBrandExists, "every slug like %s is taken", base)
}

// numbered returns base, base-2, base-3 and so on.
func numbered(base string, n int) string {
	if n == 1 {
		return base
	}
	return fmt.Sprintf("%s-%d", base, n)
}

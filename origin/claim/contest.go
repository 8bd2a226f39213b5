package claim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// contest begins a contest of a brand that another claim holds. A brand has one contest at a
// time; a stronger proof ends the contest of a weaker one, so that a weak claim cannot keep
// the owner of a domain out.
func (s *Service) contest(ctx context.Context, tx *store.Tx, c, holder *store.Claim, now time.Time) error {
	// At equal strength the first one wins: a second one could otherwise restart the time to
	// object.
	other, err := optional(tx.ContestOf(ctx, c.Brand))
	if err != nil {
		return err
	}
	if other != nil {
		if strength(other) >= strength(c) {
			return &fieldmark.Error{Code: fieldmark.CodeClaimContested, RetryAfter: max(time.Second,
				other.Contest.Until.Std().Sub(now)), Detail: "another claim contests this brand until " +
				other.Contest.Until.String()}
		}
		end(other, fieldmark.ClaimExpired, now, "another claim has a stronger proof")
		if err := s.put(ctx, tx, other, "claim.expired"); err != nil {
			return err
		}
	}
	// The time to object begins now, with the event to the holder.
	c.Contest = &store.ClaimContest{Holder: holder.ID, Since: fieldmark.At(now),
		Until: fieldmark.At(now.Add(objectFor))}
	c.DueAt = now.Add(contestEvery)
	step(c, fieldmark.ClaimContested, now, "another claim holds the brand; its owner can object until "+
		c.Contest.Until.String())
	if err := s.put(ctx, tx, c, "claim.contested"); err != nil {
		return err
	}
	return emit(ctx, tx, fieldmark.EventClaimContested, holder, holder.State, &c.Contest.Until)
}

// decideContest applies a check of both parties of a contest, and decides it if it is time.
// f is what the check of c found, h that of the holder, nil if the holder was not checked.
func (s *Service) decideContest(ctx context.Context, tx *store.Tx, c *store.Claim, f finding, h *held,
	now time.Time) error {
	holder, err := holderOf(ctx, tx, c.Brand)
	if err != nil {
		return err
	}
	// The brand was handed over during the contest: the new holder gets the whole time to
	// object.
	if holder != nil && holder.ID != c.Contest.Holder { // who has not been notified yet
		c.Contest = &store.ClaimContest{Holder: holder.ID, Since: fieldmark.At(now),
			Until: fieldmark.At(now.Add(objectFor))}
		if err := tx.PutClaim(ctx, c); err != nil {
			return err
		}
		if err := emit(ctx, tx, fieldmark.EventClaimContested, holder, holder.State, &c.Contest.Until); err != nil {
			return err
		}
	}
	// The check of the holder may end its claim, such as after its domain was lost.
	if holder != nil && h != nil && h.id == holder.ID {
		if err := s.applyToHolder(ctx, tx, holder, h.finding, now); err != nil {
			return err
		}
		if fresh, err := tx.Claim(ctx, c.ID); err != nil { // applyToHolder may have changed it
			return err
		} else if c.Contest != nil && fresh.Contest != nil {
			c.Contest.Seen = fresh.Contest.Seen
		}
		if !holder.State.Holds() {
			holder = nil
		}
	}
	// Three cases: a proof, a clear absence, and silence. A silent server must not decide a
	// contest.
	switch {
	case len(f.proven) > 0:
		prove(c, f, now)
	case f.answered || c.Unanswered >= maxUnanswered:
		end(c, fieldmark.ClaimExpired, now, "the proof was gone during the contest")
		return s.put(ctx, tx, c, "claim.expired")
	default:
		// The check is soon repeated; only several silent ones in a row count as an absence.
		c.Unanswered++
		c.DueAt = now.Add(unansweredEvery)
		return tx.PutClaim(ctx, c)
	}
	// Without a holder there is nothing to contest.
	if holder == nil {
		return s.grant(ctx, tx, c, now, "the claim of the other party ended")
	}
	switch decide(c, holder, f.best(), now) {
	case newcomerWins:
		return s.handOver(ctx, tx, holder, c, now, "another claim won a contest with a proof by "+string(f.best()))
	case newcomerLoses:
		end(c, fieldmark.ClaimExpired, now, "the present owner has a stronger proof")
		return s.put(ctx, tx, c, "claim.expired")
	}
	// The next check is also due at the moments at which the outcome can change.
	c.DueAt = now.Add(contestEvery)
	for _, at := range []time.Time{c.Contest.Since.Std().Add(missingFor), c.Contest.Until.Std()} {
		if at.After(now) && at.Before(c.DueAt) {
			c.DueAt = at
		}
	}
	return tx.PutClaim(ctx, c)
}

// Object answers a contest. The first call returns the proofs of a fresh token; the next ones
// look for it. The contest ends when the fresh proof is as strong as that of the other party:
// it is the last one then, and the old token proves nothing any longer. An attacker who
// controls the site may show the old token, which is public; a fresh one proves control now.
// The caller of both calls is the owner or an administrator.
func (s *Service) Object(ctx context.Context, id string, by Caller) (fieldmark.Claim, error) {
	var c, newcomer *store.Claim
	issued := false
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		if c, newcomer, err = s.loadContest(ctx, tx, id, by); err != nil {
			return err
		}
		// An objection to an earlier contest has another token.
		if issued = c.Objection == nil || c.Objection.Claim != newcomer.ID; issued {
			c.Objection = &store.ClaimObjection{Claim: newcomer.ID, Token: token()}
			step(c, c.State, time.Now(), "objects to a contest")
			return s.put(ctx, tx, c, "claim.objected")
		}
		return s.countRequest(ctx, tx, c)
	})
	if err != nil || issued {
		// The first call only returns what to publish: nothing can be found yet.
		return s.orView(ctx, id, err)
	}
	address, err := addressOf(ctx, s.store.BrandReader, c)
	if err != nil {
		return fieldmark.Claim{}, err
	}
	t, err := newTarget(c.ID, c.Objection.Token, address)
	if err != nil {
		return fieldmark.Claim{}, err
	}
	// Old tokens may still be published; they must not count as those of a stranger.
	t.ignored = append(slices.Clone(c.Former), c.Token)
	checkCtx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	f := s.prover.check(checkCtx, t, nil)
	// A proof that was found counts, also if the client has left.
	ctx = context.WithoutCancel(ctx)
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		c, newcomer, err := s.loadContest(ctx, tx, id, by)
		if err != nil {
			return err
		}
		// Another request may have finished it, or the contest may be over.
		if c.Objection == nil || c.Objection.Token != t.token || newcomer.ID != c.Objection.Claim {
			return errState(c)
		}
		// A weaker proof would let an owner who lost the DNS keep a brand against one who has
		// it.
		if need := strength(newcomer); f.best().Strength() < need {
			return errProof(f.tried, fmt.Sprintf("the fresh token must be proven by %s",
				strings.Join(atLeast(need), " or ")))
		}
		now := time.Now()
		end(newcomer, fieldmark.ClaimExpired, now, "the present owner proved control with a fresh token")
		if err := s.put(ctx, tx, newcomer, "claim.expired"); err != nil {
			return err
		}
		// The former token is remembered for a while: DNS caches still have it.
		c.Former = append(c.Former, c.Token)
		c.Former = c.Former[max(0, len(c.Former)-maxFormer):]
		// The fresh proof replaces all earlier ones: those of the old token prove nothing any
		// longer.
		c.Token, c.Objection, c.Proven = t.token, nil, nil
		prove(c, f, now)
		c.DueAt = nextRecheck(now)
		step(c, fieldmark.ClaimVerified, now, "proven with a fresh token; the contest is over")
		if err := emit(ctx, tx, fieldmark.EventClaimVerified, c, c.State, nil); err != nil {
			return err
		}
		if err := s.put(ctx, tx, c, "claim.verified"); err != nil {
			return err
		}
		return emitBrand(ctx, tx, c.Brand)
	})
	return s.orView(ctx, id, err)
}

// atLeast returns the methods of a strength or more.
func atLeast(strength int) (names []string) {
	for _, m := range fieldmark.ClaimMethods() {
		if m.Strength() >= strength {
			names = append(names, string(m))
		}
	}
	return names
}

// loadContest returns a claim that holds its brand and the one that contests it, or the error
// for the caller.
func (s *Service) loadContest(ctx context.Context, tx *store.Tx, id string, by Caller) (c, newcomer *store.Claim,
	err error) {
	if c, err = s.load(ctx, tx, id, by); err != nil {
		return nil, nil, err
	}
	if !c.State.Holds() {
		return nil, nil, errState(c)
	}
	newcomer, err = optional(tx.ContestOf(ctx, c.Brand))
	if err == nil && newcomer == nil {
		err = fieldmark.Errorf(fieldmark.CodeClaimState, "no other claim contests the brand")
	}
	return c, newcomer, err
}

// orView returns the error or, without one, the claim.
func (s *Service) orView(ctx context.Context, id string, err error) (fieldmark.Claim, error) {
	if err != nil {
		return fieldmark.Claim{}, err
	}
	return s.Get(ctx, id, Caller{Admin: true})
}

// Transfer returns a code for another party, who opens a claim with it and proves it himself. A
// new code replaces the one before. The transfer does not skip the proof: a leaked code gives
// no brand to a party that does not control its site.
func (s *Service) Transfer(ctx context.Context, id string, by Caller) (fieldmark.ClaimTransfer, error) {
	now := time.Now()
	t := fieldmark.ClaimTransfer{Code: codePrefix + token(), ExpiresAt: fieldmark.At(now.Add(transferFor))}
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		c, err := s.load(ctx, tx, id, by)
		if err != nil {
			return err
		}
		// A lapsing or contested claim must be settled first, so that a transfer cannot save
		// one that is about to end.
		if c.State != fieldmark.ClaimVerified {
			return errState(c)
		}
		c.Transfer = &store.ClaimTransfer{Code: s.mac.Sum(t.Code), Until: t.ExpiresAt}
		step(c, c.State, now, "offers a transfer until "+t.ExpiresAt.String())
		return s.put(ctx, tx, c, "claim.transfer_offered")
	})
	if err != nil {
		return fieldmark.ClaimTransfer{}, err
	}
	return t, nil
}

// Withdraw ends a claim on request of its owner.
// Keys and sessions of its account end at once.
func (s *Service) Withdraw(ctx context.Context, id string, by Caller) error {
	return s.finish(ctx, id, by, fieldmark.ClaimWithdrawn, "withdrawn by its owner")
}

// Revoke ends a claim by an administrator.
// The reason is shown to the owner and is in the audit log.
func (s *Service) Revoke(ctx context.Context, id string, r fieldmark.ClaimRevocation) (fieldmark.Claim, error) {
	reason := strings.TrimSpace(r.Reason)
	if n := utf8.RuneCountInString(reason); n == 0 || n > fieldmark.MaxClaimReason ||
		!validation.IsText(reason, false) {
		return fieldmark.Claim{}, validation.Error("/reason", "range",
			fmt.Sprintf("must have 1 to %d characters in one line", fieldmark.MaxClaimReason))
	}
	return s.orView(ctx, id, s.finish(ctx, id, Caller{Admin: true}, fieldmark.ClaimRevoked, reason))
}

// finish ends an open claim. With one that held its brand go its keys, and a contest is
// decided.
func (s *Service) finish(ctx context.Context, id string, by Caller, state fieldmark.ClaimState, reason string) error {
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		c, err := s.load(ctx, tx, id, by)
		if err != nil {
			return err
		}
		if !c.State.Open() {
			return errState(c)
		}
		held := c.State.Holds()
		end(c, state, time.Now(), reason)
		act := map[fieldmark.ClaimState]string{fieldmark.ClaimWithdrawn: "claim.withdrawn",
			fieldmark.ClaimRevoked: "claim.revoked"}[state]
		if !held {
			return s.put(ctx, tx, c, act)
		}
		return s.endHolder(ctx, tx, c, "", act, "claim "+string(state))
	})
}

// Access gives a verified claim an account and its key. The secret is invalid afterwards.
// It works once: the secret is used up, and the key is in this response only.
func (s *Service) Access(ctx context.Context, id string, by Caller) (fieldmark.ClaimAccess, error) {
	var a fieldmark.ClaimAccess
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		c, err := s.load(ctx, tx, id, by)
		if err != nil {
			return err
		}
		// Only a proven claim gets an account, and only one.
		if !c.State.Holds() || c.Account != "" {
			return errState(c)
		}
		if c.Account, err = addAccount(ctx, tx, c); err != nil {
			return err
		}
		c.Secret = ""
		step(c, c.State, time.Now(), "made the account "+c.Account)
		if err := s.put(ctx, tx, c, "claim.accessed"); err != nil { // before the key: the account is small
			return err
		}
		a.Account = c.Account
		a.Key, err = s.keys.CreateIn(ctx, tx, c.Account, fieldmark.KeyRequest{Name: "owner of " + string(c.Brand),
			Scopes:        []fieldmark.Scope{fieldmark.ScopeBrandManage, fieldmark.ScopeWebhookManage},
			ExpiresInDays: -1}) // it ends with the claim, which is checked every week
		if err != nil {
			return err
		}
		return emit(ctx, tx, fieldmark.EventClaimVerified, c, c.State, nil)
	})
	return a, err
}

// addAccount adds the account brand-<slug>, with a number if that is taken.
// The account is as long as an account may be, with room for a number.
func addAccount(ctx context.Context, tx *store.Tx, c *store.Claim) (string, error) {
	const maxAccount = 64 // characters: see fieldmark.ValidAccount
	base := "brand-" + string(c.Brand)
	base = strings.Trim(base[:min(len(base), maxAccount-5)], "-")
	for n := 1; n <= maxSuffix; n++ {
		account := fieldmark.Account{ID: numbered(base, n), Name: string(c.Brand), Note: "made by " + c.ID,
			CreatedAt: fieldmark.At(time.Now())}
		added, err := tx.AddAccount(ctx, account)
		if err != nil || added {
			return account.ID, err
		}
	}
	return "", fieldmark.Errorf(fieldmark.CodeClaimState, "every account like %s is taken", base)
}

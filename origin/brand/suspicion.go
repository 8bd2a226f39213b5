package brand

import (
	"context"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/audit"
	"github.com/fieldmark/fieldmark/origin/store"
)

// Limits of suspicions.
const (
	maxSuspicions = 100  // stored per brand: as many as an administrator may read
	maxUpheld     = 1000 // upheld disputes of a brand that are read
	// confirmMargin is added to audit.ConfirmAfter, so that the clock of another process
	// may be behind by some minutes.
	confirmMargin = 10 * time.Minute
)

// passage identifies words that an administrator can dismiss. The page is not part of
// it: the same words on another page of the site mean the same, as they do in other case or
// with other spaces.
type passage struct{ rule, words string }

func passageOf(s fieldmark.Suspicion) passage {
	return passage{s.Rule, strings.ToLower(strings.Join(strings.Fields(s.Passage), " "))}
}

// dismissedPassages are the passages of the upheld disputes of a brand.
func dismissedPassages(ctx context.Context, db store.BrandReader, slug fieldmark.Slug) (map[passage]bool, error) {
	upheld, err := db.Disputes(ctx, store.DisputeQuery{Brand: slug, State: fieldmark.DisputeUpheld, Limit: maxUpheld})
	if err != nil {
		return nil, err
	}
	all := map[passage]bool{}
	for _, d := range upheld {
		for _, s := range d.Passages {
			all[passageOf(s)] = true
		}
	}
	return all, nil
}

// putSuspicions stores the suspicions of an audit in place of the earlier ones, except
// dismissed ones.
func putSuspicions(ctx context.Context, tx *store.Tx, slug fieldmark.Slug, report audit.Report) error {
	dismissed, err := dismissedPassages(ctx, tx.BrandReader, slug)
	if err != nil {
		return err
	}
	var found []store.Suspicion
	for _, s := range report.Suspicions {
		if len(found) < maxSuspicions && !dismissed[passageOf(s)] {
			age := report.Facts.AsOf.Std().Sub(s.FirstSeen.Std())
			found = append(found, store.Suspicion{Suspicion: s,
				Confirmed: s.Unread == "" && age >= audit.ConfirmAfter})
		}
	}
	return tx.PutSuspicions(ctx, slug, found)
}

// confirmationDue returns the time at which an audit can confirm a suspicion of a brand,
// or next if that is earlier; a zero next is never. A time that has passed does not count:
// the audit that was due then could not read the page, and would fail again at once.
func confirmationDue(ctx context.Context, tx *store.Tx, slug fieldmark.Slug, now, next time.Time) (time.Time, error) {
	found, err := tx.Suspicions(ctx, slug)
	for _, s := range found {
		at := s.FirstSeen.Std().Add(audit.ConfirmAfter + confirmMargin)
		if !s.Confirmed && at.After(now) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next, err
}

// Suspicions returns the unconfirmed suspicions of a brand. Slug may be an alias.
func (s *Service) Suspicions(ctx context.Context, slug fieldmark.Slug) (fieldmark.BrandSuspicions, error) {
	if to, err := s.store.ResolveAlias(ctx, slug); err == nil {
		slug = to
	}
	r := fieldmark.BrandSuspicions{Suspicions: []fieldmark.Suspicion{}}
	var err error
	if r.NextAudit, err = s.store.NextAudit(ctx, slug); err != nil {
		return r, store.NotFound(err, "there is no such brand")
	}
	found, err := s.store.Suspicions(ctx, slug)
	for _, f := range found {
		if !f.Confirmed {
			r.Suspicions = append(r.Suspicions, f.Suspicion)
		}
	}
	return r, err
}

// Suspected lists up to MaxPage brands with unconfirmed suspicions.
func (s *Service) Suspected(ctx context.Context) ([]fieldmark.Slug, error) {
	return s.store.SuspectedBrands(ctx, MaxPage)
}

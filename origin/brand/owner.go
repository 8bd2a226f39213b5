package brand

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// Owners are the changes that the owner of a brand may make: an account that holds its claim.
// An owner never changes a fact or a score. Every method returns CodeNotFound for a brand that
// the account does not manage.
type Owners struct {
	store    *store.Store
	auditLog *auditlog.Log
	brands   *Service
}

// The actions of owners that are counted.
// Others are not counted: they are limited by the rate of the key.
const (
	actionAudit   = "audit"
	actionProfile = "profile"
	actionDispute = "dispute"
)

// rate is how often an action may happen within a period.
type rate struct {
	n      int
	period time.Duration
}

// An audit sends requests to the site, a dispute is read by an administrator, and a changed
// profile changes what others see.
var actionRates = map[string][]rate{
	actionAudit:   {{fieldmark.OwnerAuditsPerHour, time.Hour}, {fieldmark.OwnerAuditsPerDay, 24 * time.Hour}},
	actionProfile: {{fieldmark.OwnerProfilesPerWeek, 7 * 24 * time.Hour}},
	actionDispute: {{fieldmark.OwnerDisputesPerMonth, 30 * 24 * time.Hour}},
}

// wait returns how long an action that happened at times must wait; 0: it may happen now.
// times are in order, so the oldest that counts is found by searching. The longest wait of all
// rates applies.
func wait(rates []rate, times []time.Time, now time.Time) (longest time.Duration) {
	for _, r := range rates {
		first, _ := slices.BinarySearchFunc(times, now.Add(-r.period), time.Time.Compare)
		if n := len(times) - first; n >= r.n {
			longest = max(longest, times[len(times)-r.n].Add(r.period).Sub(now))
		}
	}
	return longest
}

// spend counts an action. It returns an error with a code and Retry-After if it happened too
// often.
// It is counted in the transaction of the action: an action that fails is not counted.
func spend(ctx context.Context, tx *store.Tx, slug fieldmark.Slug, kind string, code fieldmark.Code,
	now time.Time) error {
	rates := actionRates[kind]
	// The last rate has the longest period: older actions are deleted when the next one is
	// added.
	oldest := now.Add(-rates[len(rates)-1].period)
	times, err := tx.OwnerActions(ctx, slug, kind, oldest)
	if err != nil {
		return err
	}
	if w := wait(rates, times, now); w > 0 {
		var limits []string
		for _, r := range rates {
			limits = append(limits, fmt.Sprintf("%d in %s", r.n, period(r.period)))
		}
		e := fieldmark.Errorf(code, "the limit is %s; the next is possible at %s UTC", strings.Join(limits, " and "),
			now.Add(w).UTC().Format("2006-01-02 15:04"))
		e.RetryAfter = w
		return e
	}
	return tx.AddOwnerAction(ctx, slug, kind, now, oldest)
}

// period writes a duration for an error message.
func period(d time.Duration) string {
	if d == time.Hour {
		return "an hour"
	}
	if d == 24*time.Hour {
		return "a day"
	}
	return fmt.Sprintf("%d days", int(d/(24*time.Hour)))
}

// requireManager returns CodeNotFound unless an account manages a brand.
// The answer is the same for a brand that does not exist.
func requireManager(ctx context.Context, db store.ClaimReader, account string, slug fieldmark.Slug) error {
	ok, err := db.Manages(ctx, account, slug)
	if err == nil && !ok {
		err = fieldmark.Errorf(fieldmark.CodeNotFound, "you manage no brand with this slug")
	}
	return err
}

// write runs fn in a transaction with a brand that the account manages.
// what names the operation in errors. The brand is read after the check, so nothing is revealed
// about those of others.
func (s *Owners) write(ctx context.Context, account string, slug fieldmark.Slug, what string,
	fn func(ctx context.Context, tx *store.Tx, b fieldmark.Brand) error) error {
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := requireManager(ctx, tx.ClaimReader, account, slug); err != nil {
			return err
		}
		b, err := tx.Brand(ctx, slug)
		if err != nil {
			return err
		}
		return fn(ctx, tx, b.Brand)
	})
	if err != nil {
		return fmt.Errorf("%s of %s: %w", what, slug, err)
	}
	return nil
}

// OwnedBrand is a brand as its owner sees it.
type OwnedBrand struct {
	fieldmark.Brand
	Aliases  []fieldmark.Slug
	Listing  fieldmark.BrandListing
	Wishes   fieldmark.Wishes
	Requests []fieldmark.BrandRequest // the newest, at most maxOwnRequests
	Audit    *fieldmark.AuditRun      // queued, running or failed; nil: none
	// when the owner may request another audit; zero: now
	AuditAfter time.Time
}

// maxOwnRequests limits the requests that an owner sees.
const maxOwnRequests = 10

// Brands lists the brands that an account manages, in the order of slugs.
// An account manages few brands, each of which it has claimed.
func (s *Owners) Brands(ctx context.Context, account string) ([]fieldmark.Brand, error) {
	slugs, err := s.store.ManagedBrands(ctx, account)
	if err != nil {
		return nil, err
	}
	list := make([]fieldmark.Brand, 0, len(slugs))
	for _, slug := range slugs {
		b, err := s.store.Brand(ctx, slug)
		if err != nil {
			return nil, err
		}
		list = append(list, b.Brand)
	}
	return list, nil
}

// Get returns a brand that an account manages.
func (s *Owners) Get(ctx context.Context, account string, slug fieldmark.Slug) (o OwnedBrand, err error) {
	if err := requireManager(ctx, s.store.ClaimReader, account, slug); err != nil {
		return o, err
	}
	b, err := s.store.Brand(ctx, slug)
	if err != nil {
		return o, err
	}
	o.Brand = b.Brand
	if o.Aliases, err = s.store.Aliases(ctx, slug); err != nil {
		return o, err
	}
	unlisted, err := s.store.Unlisted(ctx, slug)
	if err != nil {
		return o, err
	}
	o.Listing = listingOf(unlisted)
	if o.Wishes, err = s.store.Wishes(ctx, slug); err != nil {
		return o, err
	}
	if o.Requests, err = s.store.BrandRequests(ctx, slug, "", "", maxOwnRequests); err != nil {
		return o, err
	}
	now := time.Now()
	if o.Audit, err = s.store.AuditRun(ctx, slug, now); err != nil {
		return o, err
	}
	// The page shows the wait instead of a button that would be refused.
	times, err := s.store.OwnerActions(ctx, slug, actionAudit, now.Add(-24*time.Hour))
	if w := wait(actionRates[actionAudit], times, now); w > 0 {
		o.AuditAfter = now.Add(w)
	}
	return o, err
}

// listingOf returns the listing of a brand that was unlisted at a time, nil: it is listed.
func listingOf(unlisted *fieldmark.Time) fieldmark.BrandListing {
	if unlisted == nil {
		return fieldmark.BrandListing{Listed: true}
	}
	after := fieldmark.At(unlisted.Std().AddDate(0, 0, fieldmark.RelistAfterDays))
	return fieldmark.BrandListing{UnlistedAt: unlisted, RelistAfter: &after}
}

// RequestAudit queues an audit. It is counted: each audit sends requests to the site.
func (s *Owners) RequestAudit(ctx context.Context, account string, slug fieldmark.Slug) error {
	return s.write(ctx, account, slug, "request an audit",
		func(ctx context.Context, tx *store.Tx, b fieldmark.Brand) error {
			if err := requireListed(ctx, tx, slug); err != nil {
				return err
			}
			now := time.Now()
			if err := spend(ctx, tx, slug, actionAudit, fieldmark.CodeHostBudget, now); err != nil {
				return err
			}
			return tx.EnqueueAudit(ctx, slug, now)
		})
}

// requireListed returns CodeBrandUnlisted if the owner of a brand has unlisted it.
// A brand that is not shown is not audited either.
func requireListed(ctx context.Context, tx *store.Tx, slug fieldmark.Slug) error {
	unlisted, err := tx.Unlisted(ctx, slug)
	if err == nil && unlisted != nil {
		err = fieldmark.Errorf(fieldmark.CodeBrandUnlisted, "the brand is unlisted since %s, and is not audited",
			date(*unlisted))
	}
	return err
}

// Profile returns the profile of a brand and when it was changed.
func (s *Owners) Profile(ctx context.Context, account string, slug fieldmark.Slug) (fieldmark.BrandProfile,
	fieldmark.Time, error) {
	if err := requireManager(ctx, s.store.ClaimReader, account, slug); err != nil {
		return fieldmark.BrandProfile{}, fieldmark.Time{}, err
	}
	b, err := s.store.Brand(ctx, slug)
	return b.Profile(), b.UpdatedAt, err
}

// PatchProfile changes the profile of a brand. Allowed reports whether the change may apply to
// the version that was changed at a time; nil: always. If another public brand of the niche
// has the name, nothing changes and an administrator decides: then review is true.
// changed is the version in If-Match or in the form.
func (s *Owners) PatchProfile(ctx context.Context, account string, slug fieldmark.Slug, p fieldmark.ProfilePatch,
	allowed func(changed fieldmark.Time) error) (profile fieldmark.BrandProfile, changed fieldmark.Time, review bool,
	err error) {
	err = s.write(ctx, account, slug, "change the profile",
		func(ctx context.Context, tx *store.Tx, b fieldmark.Brand) error {
			if allowed != nil {
				if err := allowed(b.UpdatedAt); err != nil {
					return err
				}
			}
			before := b.Profile()
			profile, changed = p.Apply(before), b.UpdatedAt
			if err := validateProfile(b, profile); err != nil {
				return err
			}
			// A repeated request changes nothing and is not counted.
			if profile == before {
				return nil
			}
			now := time.Now()
			if err := spend(ctx, tx, slug, actionProfile, fieldmark.CodeRateLimited, now); err != nil {
				return err
			}
			// A name that another brand of the niche has could be meant to deceive, so a person
			// looks at it.
			if profile.Name != before.Name || profile.Niche != before.Niche {
				if review, err = tx.BrandNamed(ctx, profile.Name, profile.Niche, slug); err != nil {
					return err
				}
			}
			if review {
				// Only what differs: a form sends all members, and those that it does not change may have changed
				// before the decision.
				patch := before.PatchTo(profile)
				_, err = s.putRequest(ctx, tx, account, slug, fieldmark.RequestProfile,
					fieldmark.BrandChange{Profile: &profile, Patch: &patch})
				return err
			}
			b, err := s.applyProfile(ctx, tx, b, profile)
			changed = b.UpdatedAt
			return err
		})
	return profile, changed, review, err
}

// validateProfile checks a profile by the rules of brands, so that both accept the same. A name
// is one line for owners.
func validateProfile(b fieldmark.Brand, p fieldmark.BrandProfile) error {
	b.Name, b.Niche, b.Language, b.Description = p.Name, p.Niche, p.Language, p.Description
	bad := validation.Errors(validate(&b, ""))
	bad.Line("/name", p.Name)
	return bad.Err()
}

// applyProfile writes a profile with its event and its entry in the audit log.
func (s *Owners) applyProfile(ctx context.Context, tx *store.Tx, b fieldmark.Brand,
	p fieldmark.BrandProfile) (fieldmark.Brand, error) {
	before := b.Profile()
	b.Name, b.Niche, b.Language, b.Description = p.Name, p.Niche, p.Language, p.Description
	b, _, err := s.brands.put(ctx, tx, b)
	if err != nil {
		return b, err
	}
	return b, s.auditLog.Append(ctx, tx, "brand.profile_changed", string(b.Slug), before, p)
}

// RequestAliases requests aliases, which an administrator decides. It replaces an earlier request. An alias
// stays an address of the brand, so only an administrator gives one.
func (s *Owners) RequestAliases(ctx context.Context, account string, slug fieldmark.Slug,
	r fieldmark.AliasRequest) (request fieldmark.BrandRequest, err error) {
	var bad validation.Errors
	if len(r.Names) == 0 || len(r.Names) > fieldmark.MaxOwnerAliases {
		bad.Add("/names", "range", fmt.Sprintf("must be 1 to %d", fieldmark.MaxOwnerAliases))
	}
	for i, name := range r.Names {
		switch {
		case !fieldmark.ValidSlug(string(name)) || name == slug:
			bad.Add(fmt.Sprintf("/names/%d", i), "pattern",
				"must be 1 to 63 of a-z, 0-9 and single hyphens, and not the slug of the brand")
		case slices.Contains(r.Names[:i], name):
			bad.Add(fmt.Sprintf("/names/%d", i), "conflict", "is listed twice")
		}
	}
	if err := bad.Err(); err != nil {
		return request, err
	}
	err = s.write(ctx, account, slug, "request aliases",
		func(ctx context.Context, tx *store.Tx, _ fieldmark.Brand) (err error) {
			request, err = s.putRequest(ctx, tx, account, slug, fieldmark.RequestAliases,
				fieldmark.BrandChange{Aliases: r.Names})
			return err
		})
	return request, err
}

// SetListing unlists a brand, or lists it again RelistAfterDays later at the earliest.
// The wait keeps an owner from hiding the brand for each bad audit. The history shows the gap.
func (s *Owners) SetListing(ctx context.Context, account string, slug fieldmark.Slug,
	r fieldmark.ListingRequest) (listing fieldmark.BrandListing, err error) {
	r.Reason = strings.TrimSpace(r.Reason)
	var bad validation.Errors
	if utf8.RuneCountInString(r.Reason) > fieldmark.MaxListingReason {
		bad.Add("/reason", "too_long", fmt.Sprintf("must have at most %d characters", fieldmark.MaxListingReason))
	}
	bad.Line("/reason", r.Reason)
	if err := bad.Err(); err != nil {
		return listing, err
	}
	err = s.write(ctx, account, slug, "change the listing",
		func(ctx context.Context, tx *store.Tx, b fieldmark.Brand) error {
			unlisted, err := tx.Unlisted(ctx, slug)
			if err != nil {
				return err
			}
			// Repeating the state that it has changes nothing.
			if listing = listingOf(unlisted); listing.Listed == r.Listed {
				return nil
			}
			now := time.Now()
			if r.Listed && now.Before(listing.RelistAfter.Std()) {
				e := fieldmark.Errorf(fieldmark.CodeRelistTooSoon, "the brand can be listed again at %s UTC",
					listing.RelistAfter.Std().UTC().Format("2006-01-02 15:04"))
				e.RetryAfter = listing.RelistAfter.Std().Sub(now)
				return e
			}
			unlisted = nil
			if !r.Listed {
				// A brand that an administrator hides must not become public by unlisting and
				// listing it again.
				if !b.Public { // an administrator decides whether it is
					return fieldmark.Errorf(fieldmark.CodeBrandUnlisted, "the brand is not public")
				}
				at := fieldmark.At(now)
				unlisted = &at
			}
			listing = listingOf(unlisted)
			if err := tx.SetUnlisted(ctx, slug, unlisted); err != nil {
				return err
			}
			b.Public = r.Listed
			if _, _, err = s.brands.put(ctx, tx, b); err != nil {
				return err
			}
			return s.auditLog.Append(ctx, tx, "brand.listing_changed", string(slug), nil, r)
		})
	return listing, err
}

// SetWishes stores the crawl settings of the owner of a brand. They apply to every
// audit and check of the site.
func (s *Owners) SetWishes(ctx context.Context, account string, slug fieldmark.Slug,
	w fieldmark.Wishes) (fieldmark.Wishes, error) {
	if w.Pause < fieldmark.MinCrawlPause || w.Pause > fieldmark.MaxCrawlPause {
		return w, validation.Error("/pause", "range", fmt.Sprintf("must be %d to %d seconds", fieldmark.MinCrawlPause,
			fieldmark.MaxCrawlPause))
	}
	return w, s.write(ctx, account, slug, "set the wishes",
		func(ctx context.Context, tx *store.Tx, b fieldmark.Brand) error {
			before, err := tx.Wishes(ctx, slug)
			if err != nil || before == w {
				return err
			}
			u, err := url.Parse(b.URL)
			if err != nil {
				return err
			}
			// They are stored by host, because a check has the host and not the brand.
			if err := tx.PutWishes(ctx, slug, strings.ToLower(u.Hostname()), w); err != nil {
				return err
			}
			return s.auditLog.Append(ctx, tx, "brand.wishes_changed", string(slug), before, w)
		})
}

// AllowsChecks reports whether anyone may check the site at a host: no owner of a brand there
// refuses it.
func (s *Owners) AllowsChecks(ctx context.Context, host string) (bool, error) {
	refused, err := s.store.ChecksRefused(ctx, host)
	return !refused, err
}

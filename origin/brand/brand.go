package brand

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/language"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/audit"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// Limits of lists of brands.
const (
	MaxPage       = 500   // brands in one response
	importBatch   = 100   // brands of an import in one transaction: other writers wait for it
	statesPerRead = 200   // brands with facts in one query: none stays open while a slow client receives
	MaxImport     = 20000 // brands in one import: as many short ones as fit into fieldmark.MaxBulkBody
)

// Config is what a Service needs.
type Config struct {
	Store    *store.Store
	AuditLog *auditlog.Log
	Jobs     *job.Runner
	Log      *slog.Logger
	Auditor  *audit.Auditor // nil: audits wait in the queue for a process that has one
	// between audits of a brand, plus or minus a tenth; 0: DefaultAuditInterval; negative: only on request
	AuditInterval time.Duration
	// SignalFacts returns the facts that a signal of a module depends on; nil: owners can
	// dispute facts, but no signals.
	SignalFacts func(module []byte, signal string) ([]string, error)
	// RevokeKeys ends the keys of an account that a claim of a deleted brand made.
	RevokeKeys func(ctx context.Context, tx *store.Tx, account, reason string) error
}

// Service manages the brands. Its methods may be called from any goroutine.
// Claims are in package claim, scores in package standing.
type Service struct {
	Audits   *Audits
	Samples  *Samples
	Disputes *Disputes
	Owners   *Owners

	store      *store.Store
	auditLog   *auditlog.Log
	log        *slog.Logger
	revokeKeys func(ctx context.Context, tx *store.Tx, account, reason string) error // Config.RevokeKeys
}

// New returns a Service that has started nothing.
func New(cfg Config) *Service {
	s := &Service{store: cfg.Store, auditLog: cfg.AuditLog, log: cfg.Log, revokeKeys: cfg.RevokeKeys,
		Samples:  &Samples{store: cfg.Store},
		Disputes: &Disputes{store: cfg.Store, auditLog: cfg.AuditLog, signalFacts: cfg.SignalFacts}}
	s.Disputes.brands = s
	s.Owners = &Owners{store: cfg.Store, auditLog: cfg.AuditLog, brands: s}
	s.Audits = &Audits{store: cfg.Store, brands: s, jobs: cfg.Jobs, log: cfg.Log, auditor: cfg.Auditor,
		interval: cmp.Or(cfg.AuditInterval, DefaultAuditInterval)}
	cfg.Jobs.OnRenew(s.Audits.writeProgress)
	// A process without an auditor must take no share of the audits: they would wait for it.
	if cfg.Auditor != nil {
		cfg.Jobs.Share(store.WorkAudits)
	}
	return s
}

// Run audits brands that are queued and queues those that are due, until ctx ends.
// Without an auditor it returns at once.
func (s *Service) Run(ctx context.Context) error {
	return s.Audits.run(ctx)
}

// Put creates or updates a brand and reports whether anything changed.
// A brand that is put as it is emits no event, so a repeated import is cheap.
func (s *Service) Put(ctx context.Context, b fieldmark.Brand) (fieldmark.Brand, bool, error) {
	return s.putIf(ctx, b, func(fieldmark.Brand, error) error { return nil })
}

// Create creates a brand. It returns CodeBrandExists if the slug is taken.
func (s *Service) Create(ctx context.Context, b fieldmark.Brand) (fieldmark.Brand, error) {
	b, _, err := s.putIf(ctx, b, func(_ fieldmark.Brand, read error) error {
		if read == nil {
			return fieldmark.Errorf(fieldmark.CodeBrandExists,
				"A brand with this slug exists; edit it on its own page.")
		}
		return nil
	})
	return b, err
}

// CreateIn creates a brand in a transaction, and reports whether its slug was free.
// It serves claims, which register a brand in their transaction.
func (s *Service) CreateIn(ctx context.Context, tx *store.Tx, b fieldmark.Brand) (bool, error) {
	if err := validation.Errors(validate(&b, "")).Err(); err != nil {
		return false, err
	}
	if _, err := tx.Brand(ctx, b.Slug); !errors.Is(err, store.ErrNotFound) {
		return false, err
	}
	// Nothing was written then, so the transaction can go on.
	if _, _, err := s.put(ctx, tx, b); fieldmark.IsCode(err, fieldmark.CodeBrandExists) { // an alias has it
		return false, nil
	} else if err != nil {
		return false, err
	}
	return true, s.auditLog.Append(ctx, tx, "brand.created", string(b.Slug), nil, b)
}

// Update updates a brand whose updatedAt is still changed, as in the form that changes it. It returns
// CodeVersionMismatch if it is not, and CodeNotFound if the brand does not exist.
// The time is compared as text, because it comes from a form.
func (s *Service) Update(ctx context.Context, b fieldmark.Brand, changed string) (fieldmark.Brand, error) {
	b, _, err := s.putIf(ctx, b, func(old fieldmark.Brand, read error) error {
		if read == nil && old.UpdatedAt.String() != changed {
			return fieldmark.Errorf(fieldmark.CodeVersionMismatch, "the brand was changed after the form was opened")
		}
		return store.NotFound(read, "there is no such brand")
	})
	return b, err
}

// putIf puts a brand if allow returns nil for the stored one, and for the error of reading it, in the same
// transaction.
func (s *Service) putIf(ctx context.Context, b fieldmark.Brand, allow func(old fieldmark.Brand, read error) error) (
	fieldmark.Brand, bool, error) {
	if err := validation.Errors(validate(&b, "")).Err(); err != nil {
		return fieldmark.Brand{}, false, err
	}
	var put outcome
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		var before any
		old, err := tx.Brand(ctx, b.Slug)
		if err == nil {
			before = old.Brand
		}
		if err := allow(old.Brand, err); err != nil {
			return err
		}
		// An unchanged brand adds no entry to the audit log.
		if b, put, err = s.put(ctx, tx, b); err != nil || put == unchanged {
			return err
		}
		return s.auditLog.Append(ctx, tx, "brand.changed", string(b.Slug), before, b)
	})
	if err != nil {
		return fieldmark.Brand{}, false, err
	}
	return b, put != unchanged, nil
}

// outcome is the effect of putting a brand.
type outcome int

const (
	unchanged outcome = iota
	added
	updated
)

// put writes a brand if it differs from the stored one.
// It emits brand.changed, clears what belongs to another site, and checks that a new slug is
// not an alias.
func (s *Service) put(ctx context.Context, tx *store.Tx, b fieldmark.Brand) (fieldmark.Brand, outcome, error) {
	now := time.Now()
	b.CreatedAt, b.UpdatedAt = fieldmark.At(now), fieldmark.At(now)
	old, err := tx.Brand(ctx, b.Slug)
	put := updated
	switch {
	case errors.Is(err, store.ErrNotFound):
		if err := requireFree(ctx, tx, b.Slug); err != nil {
			return fieldmark.Brand{}, unchanged, err
		}
		put = added
	case err != nil:
		return fieldmark.Brand{}, unchanged, err
	default:
		b.CreatedAt = old.CreatedAt
		// CreatedAt and UpdatedAt are set by the service and must not make a difference.
		// Compared as a whole, so that a field that is added to Brand later is not overlooked.
		same := b
		same.UpdatedAt = old.UpdatedAt
		if same == old.Brand {
			return same, unchanged, nil
		}
	}
	// An upsert: the row may be new, or have another site, name or niche.
	if err := tx.PutBrand(ctx, b); err != nil {
		return fieldmark.Brand{}, unchanged, err
	}
	// Facts belong to a URL. A brand whose URL changed has none until the new site has
	// been audited.
	if put == updated && old.URL != b.URL && old.FactsDigest != "" {
		if err := tx.ClearFacts(ctx, b.Slug); err != nil {
			return fieldmark.Brand{}, unchanged, err
		}
		if err := tx.RequestStanding(ctx, b.Slug, now); err != nil {
			return fieldmark.Brand{}, unchanged, err
		}
		// Suspicions are about pages of the old site.
		if err := tx.PutSuspicions(ctx, b.Slug, nil); err != nil {
			return fieldmark.Brand{}, unchanged, err
		}
		if err := tx.EnqueueAudit(ctx, b.Slug, now); err != nil {
			return fieldmark.Brand{}, unchanged, err
		}
	}
	_, err = event.Emit(ctx, tx, "", newEvent(fieldmark.EventBrandChanged, b.Slug), b)
	return b, put, err
}

// newEvent returns an event about a brand, which invalidates what edges derive from it.
func newEvent(t fieldmark.EventType, slug fieldmark.Slug) store.Event {
	return store.Event{
		Event:   fieldmark.Event{Type: t, Brand: slug, Tags: []fieldmark.Tag{fieldmark.TagBrand(slug)}},
		Subject: string(slug),
	}
}

// validate returns everything that is wrong with a brand, with pointers below at.
// It trims nothing: names are stored as they were sent.
func validate(b *fieldmark.Brand, at string) []fieldmark.FieldError {
	var bad validation.Errors
	if !fieldmark.ValidSlug(string(b.Slug)) {
		bad.Add(at+"/slug", "pattern", "must be 1 to 63 of a-z, 0-9 and single hyphens")
	}
	if n := utf8.RuneCountInString(b.Name); n == 0 || n > fieldmark.MaxBrandName ||
		!validation.IsText(b.Name, false) || strings.TrimSpace(b.Name) == "" {
		bad.Add(at+"/name", "range",
			fmt.Sprintf("must have 1 to %d characters, none of them a control character", fieldmark.MaxBrandName))
	}
	if !validSite(b.URL) {
		bad.Add(at+"/url", "format", "must be an http or https address without user name")
	}
	if !fieldmark.ValidSlug(b.Niche) {
		bad.Add(at+"/niche", "pattern", "must be 1 to 63 of a-z, 0-9 and single hyphens")
	}
	if _, err := language.Parse(b.Language); err != nil || len(b.Language) > fieldmark.MaxLanguageTag {
		bad.Add(at+"/language", "format", "must be a BCP 47 language tag")
	}
	if utf8.RuneCountInString(b.Description) > fieldmark.MaxBrandDescription ||
		!validation.IsText(b.Description, true) {
		bad.Add(at+"/description", "too_long",
			fmt.Sprintf("must have at most %d characters and no control characters", fieldmark.MaxBrandDescription))
	}
	return bad
}

// validSite reports whether a URL is syntactically one of a website. Whether requests
// may be sent to its address, safehttp decides at the time of the audit.
func validSite(address string) bool {
	u, err := url.Parse(address)
	return err == nil && len(address) <= fieldmark.MaxBrandURL && (u.Scheme == "http" || u.Scheme == "https") &&
		u.Hostname() != "" && u.User == nil && validation.IsText(address, false)
}

// Import puts many brands. An invalid brand is reported under its index and does not
// affect the others.
// Groups of importBatch share a transaction; a failure leaves the groups before it imported.
func (s *Service) Import(ctx context.Context, brands []fieldmark.Brand) (fieldmark.ImportReport, error) {
	var report fieldmark.ImportReport
	if len(brands) > MaxImport {
		e := fieldmark.Errorf(fieldmark.CodeBodyTooLarge, "an import has at most %d brands", MaxImport)
		return report, e
	}
	var good []int // places of brands without validation.Errors
	for i := range brands {
		bad := validate(&brands[i], fmt.Sprintf("/%d", i))
		report.Rejected = appendRejected(report.Rejected, &report.Omitted, bad...)
		if len(bad) == 0 {
			good = append(good, i)
		}
	}
	for group := range slices.Chunk(good, importBatch) {
		// The counts of a group are added after its commit, because a transaction may run
		// twice.
		var puts [updated + 1]int
		var taken validation.Errors
		err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
			for _, i := range group {
				_, put, err := s.put(ctx, tx, brands[i])
				switch {
				case fieldmark.IsCode(err, fieldmark.CodeBrandExists): // nothing was written for this brand
					taken.Add(fmt.Sprintf("/%d/slug", i), "conflict", fieldmark.AsError(err).Detail)
				case err != nil:
					return fmt.Errorf("import brand %s: %w", brands[i].Slug, err)
				default:
					puts[put]++
				}
			}
			return nil
		})
		if err != nil {
			return report, err
		}
		report.Added += puts[added]
		report.Updated += puts[updated]
		report.Unchanged += puts[unchanged]
		report.Rejected = appendRejected(report.Rejected, &report.Omitted, taken...)
	}
	return report, nil
}

// maxRejected bounds the problems that the report of an import lists: a file of the
// wrong format has several in each line, and would be answered with a larger one.
const maxRejected = 1000

// appendRejected appends to the problems of an import up to maxRejected, and counts
// the others as omitted.
func appendRejected(list []fieldmark.FieldError, omitted *int, more ...fieldmark.FieldError) []fieldmark.FieldError {
	n := min(len(more), maxRejected-len(list))
	*omitted += len(more) - n
	return append(list, more[:n]...)
}

// Get returns a brand.
// Aliases are not followed: the caller has an exact slug.
func (s *Service) Get(ctx context.Context, slug fieldmark.Slug) (fieldmark.Brand, error) {
	b, err := s.store.Brand(ctx, slug)
	if err != nil {
		return fieldmark.Brand{}, store.NotFound(err, "there is no such brand")
	}
	return b.Brand, nil
}

// List returns up to limit brands in the order of their slugs, after the slug after.
// A slug is the cursor: brands added meanwhile appear in their place or not at all.
func (s *Service) List(ctx context.Context, after fieldmark.Slug, limit int) ([]fieldmark.Brand, error) {
	if limit <= 0 || limit > MaxPage {
		limit = MaxPage
	}
	rows, err := s.store.Brands(ctx, after, limit)
	if err != nil {
		return nil, err
	}
	list := make([]fieldmark.Brand, len(rows))
	for i, b := range rows {
		list[i] = b.Brand
	}
	return list, nil
}

// State returns a brand with its facts, the past facts that trends need, its answer
// samples, aliases, claim and disputes, and the number of the newest event before they were
// read. For an alias it returns the state of the brand that the alias leads to.
// The number is read first: an edge that stores the state under it never takes it for newer
// than it is.
func (s *Service) State(ctx context.Context, slug fieldmark.Slug) (fieldmark.BrandState, int64, error) {
	asOf, err := s.store.Head(ctx)
	if err != nil {
		return fieldmark.BrandState{}, 0, err
	}
	state, err := s.store.BrandState(ctx, slug)
	if errors.Is(err, store.ErrNotFound) {
		if slug, err = s.store.ResolveAlias(ctx, slug); err == nil {
			state, err = s.store.BrandState(ctx, slug)
		}
	}
	if err != nil {
		return fieldmark.BrandState{}, asOf, store.NotFound(err, "there is no such brand")
	}
	now := time.Now()
	hideUnlisted(&state)
	states := []fieldmark.BrandState{state}
	// Trends need the facts of a few earlier times, which are read together for all brands of a
	// page.
	if err := s.store.AddHistory(ctx, states, fieldmark.TrendTimes(now)); err != nil {
		return fieldmark.BrandState{}, asOf, err
	}
	list, err := s.store.Disputes(ctx, store.DisputeQuery{Brand: slug, Published: now.Add(-upheldFor),
		Limit: fieldmark.MaxPublicDisputes})
	for i := range list {
		states[0].Disputes = append(states[0].Disputes, public(&list[i]))
	}
	return states[0], asOf, err
}

// hideUnlisted removes the facts of a brand that its owner unlisted: nothing public shows
// them, and an edge of a version without unlisted brands must not rank it.
func hideUnlisted(s *fieldmark.BrandState) {
	if s.UnlistedAt != nil {
		s.Facts, s.FactsDigest = nil, ""
	}
}

// AtURL returns the public brand whose home page has this URL, with its facts. Addresses
// that differ in scheme, "www." or a slash at the end are the same. The error has
// CodeNotAudited without such a brand, or before its first audit.
func (s *Service) AtURL(ctx context.Context, rawURL string) (fieldmark.BrandState, error) {
	notAudited := fieldmark.Errorf(fieldmark.CodeNotAudited,
		"no audited brand has this address; send name and description, or run fieldmark llms with the address")
	u, err := url.Parse(strings.TrimSpace(rawURL))
	if err != nil || u.Host == "" {
		return fieldmark.BrandState{}, notAudited
	}
	state, err := s.store.AuditedAt(ctx, HomeURLs(u))
	if errors.Is(err, store.ErrNotFound) {
		return fieldmark.BrandState{}, notAudited
	}
	return state, err
}

// HomeURLs returns the addresses of one home page: scheme, "www." and a slash at the end make no other page.
// The order is that of likelihood and has no effect on the result.
func HomeURLs(u *url.URL) (all [8]string) {
	host, path := strings.TrimPrefix(strings.ToLower(u.Host), "www."), strings.TrimSuffix(u.EscapedPath(), "/")
	i := 0
	for _, scheme := range []string{"https://", "http://"} {
		for _, www := range []string{"", "www."} {
			for _, end := range []string{"/", ""} {
				all[i] = scheme + www + host + path + end
				i++
			}
		}
	}
	return all
}

// States returns up to limit public brands in the order of their slugs, after the slug
// after, and the number of the newest event before they were read. Brands that their owners
// unlisted are among them, without facts. Bare omits the
// evidence of facts, which is two thirds of their size and changes no score. Fewer
// than limit are the last ones.
// The number of the newest event is that of the first page read, so a ranking that starts with
// it misses nothing.
func (s *Service) States(ctx context.Context, after fieldmark.Slug, limit int, bare bool) ([]fieldmark.BrandState,
	int64, error) {
	asOf, err := s.store.Head(ctx)
	if err != nil {
		return nil, 0, err
	}
	var page []fieldmark.BrandState
	for len(page) < limit {
		size := min(statesPerRead, limit-len(page))
		states, err := s.statesPage(ctx, after, size, bare)
		if err != nil {
			return nil, 0, err
		}
		if page = append(page, states...); len(states) < size {
			break
		}
		after = states[len(states)-1].Brand.Slug
	}
	return page, asOf, nil
}

// statesPage reads public brands with everything that scores depend on.
func (s *Service) statesPage(ctx context.Context, after fieldmark.Slug, limit int, bare bool) ([]fieldmark.BrandState,
	error) {
	states, err := s.store.PublicStates(ctx, after, limit, bare)
	if err != nil {
		return nil, err
	}
	for i := range states {
		hideUnlisted(&states[i])
	}
	return states, s.store.AddHistory(ctx, states, fieldmark.TrendTimes(time.Now()))
}

// StatesOf returns the brands with slugs and what their scores depend on, without the evidence of facts, and the
// number of the newest event before they were read. Slugs that are of no brand, or are aliases, are left out.
func (s *Service) StatesOf(ctx context.Context, slugs []fieldmark.Slug) ([]fieldmark.BrandState, int64, error) {
	asOf, err := s.store.Head(ctx)
	if err != nil {
		return nil, 0, err
	}
	found, err := s.store.BareStates(ctx, slugs)
	if err != nil {
		return nil, 0, err
	}
	if _, err := s.store.AddTrends(ctx, found, fieldmark.TrendTimes(time.Now())); err != nil {
		return nil, 0, err
	}
	states := make([]fieldmark.BrandState, 0, len(found))
	for _, state := range found {
		hideUnlisted(state)
		states = append(states, *state)
	}
	return states, asOf, nil
}

// EachState calls fn for every public brand in the order of their slugs, until fn
// fails. AsOf is the number of the newest event before the first was read: later
// changes may or may not be included, and are in the log after asOf.
func (s *Service) EachState(ctx context.Context, fn func(fieldmark.BrandState) error) (asOf int64, err error) {
	if asOf, err = s.store.Head(ctx); err != nil {
		return 0, err
	}
	after := fieldmark.Slug("")
	for {
		states, err := s.statesPage(ctx, after, statesPerRead, false)
		if err != nil {
			return asOf, err
		}
		for _, state := range states {
			if !state.Brand.Public {
				continue
			}
			if err := fn(state); err != nil {
				return asOf, err
			}
		}
		if len(states) < statesPerRead {
			return asOf, nil
		}
		after = states[len(states)-1].Brand.Slug
	}
}

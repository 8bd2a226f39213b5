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

// Bounds of lists of brands.
const (
	MaxPage       = 500   // in one answer
	importBatch   = 100   // brands of an import that share a transaction: others must get a turn between
	statesPerRead = 200   // brands with facts that are read at once; no read stays open over a slow receiver
	MaxImport     = 20000 // brands in one import; what fieldmark.MaxBulkBody holds when each says little
)

// Config is what a Service needs.
type Config struct {
	Store         *store.Store
	AuditLog      *auditlog.Log
	Jobs          *job.Runner
	Log           *slog.Logger
	Auditor       *audit.Auditor // nil: audits wait in the queue for a process that has one
	AuditInterval time.Duration  // between audits of a brand, plus or minus a tenth; 0: DefaultAuditInterval; negative: only on request
}

// Service is the brands. Its methods may be called from any goroutine.
type Service struct {
	Audits  *Audits
	Samples *Samples

	store    *store.Store
	auditLog *auditlog.Log
	log      *slog.Logger
}

// New returns a Service that has started nothing.
func New(cfg Config) *Service {
	s := &Service{store: cfg.Store, auditLog: cfg.AuditLog, log: cfg.Log, Samples: &Samples{store: cfg.Store}}
	s.Audits = &Audits{store: cfg.Store, brands: s, jobs: cfg.Jobs, log: cfg.Log, auditor: cfg.Auditor,
		interval: cmp.Or(cfg.AuditInterval, DefaultAuditInterval)}
	cfg.Jobs.OnRenew(s.Audits.writeProgress)
	return s
}

// Run audits brands that are queued and queues those that are due, until ctx ends.
// Without an auditor it returns at once.
func (s *Service) Run(ctx context.Context) error {
	return s.Audits.run(ctx)
}

// PutBrand makes or changes a brand and reports whether anything came of it.
func (s *Service) Put(ctx context.Context, b fieldmark.Brand) (fieldmark.Brand, bool, error) {
	return s.putIf(ctx, b, func(error) error { return nil })
}

// AddBrand makes a brand; one that exists is CodeBrandExists and stays as it is.
func (s *Service) Create(ctx context.Context, b fieldmark.Brand) (fieldmark.Brand, error) {
	b, _, err := s.putIf(ctx, b, func(read error) error {
		if read == nil {
			return fieldmark.Errorf(fieldmark.CodeBrandExists, "A brand with this slug exists; edit it on its own page.")
		}
		return nil
	})
	return b, err
}

// ChangeBrand changes a brand; one that does not exist is CodeNotFound and is not
// made.
func (s *Service) Update(ctx context.Context, b fieldmark.Brand) (fieldmark.Brand, error) {
	b, _, err := s.putIf(ctx, b, func(read error) error { return store.NotFound(read, "there is no such brand") })
	return b, err
}

// putIf puts a brand unless allow refuses, which is given the error of
// reading the brand of that slug in the same transaction.
func (s *Service) putIf(ctx context.Context, b fieldmark.Brand, allow func(read error) error) (fieldmark.Brand, bool, error) {
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
		if err := allow(err); err != nil {
			return err
		}
		if b, put, err = s.put(ctx, tx, b); err != nil || put == unchanged {
			return err
		}
		return s.auditLog.Append(ctx, tx, "brand.put", string(b.Slug), before, b)
	})
	if err != nil {
		return fieldmark.Brand{}, false, err
	}
	return b, put != unchanged, nil
}

// outcome says what became of a brand that was put.
type outcome int

const (
	unchanged outcome = iota
	added
	updated
)

// put writes a brand that differs from the one that is there.
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
		same := b
		same.UpdatedAt = old.UpdatedAt
		if same == old.Brand {
			return same, unchanged, nil
		}
	}
	if err := tx.PutBrand(ctx, b); err != nil {
		return fieldmark.Brand{}, unchanged, err
	}
	// Facts belong to an address. A brand that moved has none until the new
	// address was audited.
	if put == updated && old.URL != b.URL && old.FactsDigest != "" {
		if err := tx.ClearFacts(ctx, b.Slug); err != nil {
			return fieldmark.Brand{}, unchanged, err
		}
		if err := tx.EnqueueAudit(ctx, b.Slug, now); err != nil {
			return fieldmark.Brand{}, unchanged, err
		}
	}
	_, err = event.Emit(ctx, tx, "", newEvent(fieldmark.EventBrandChanged, b.Slug), b)
	return b, put, err
}

func newEvent(t fieldmark.EventType, slug fieldmark.Slug) store.Event {
	return store.Event{
		Event:   fieldmark.Event{Type: t, Brand: slug, Tags: []fieldmark.Tag{fieldmark.TagBrand(slug)}},
		Subject: string(slug),
	}
}

// validate returns every complaint about a brand, with pointers below at.
func validate(b *fieldmark.Brand, at string) []fieldmark.FieldError {
	var bad validation.Errors
	if !fieldmark.ValidSlug(string(b.Slug)) {
		bad.Add(at+"/slug", "pattern", "must be 1 to 63 of a-z, 0-9 and single hyphens")
	}
	if n := utf8.RuneCountInString(b.Name); n == 0 || n > fieldmark.MaxBrandName || !validation.IsText(b.Name, false) || strings.TrimSpace(b.Name) == "" {
		bad.Add(at+"/name", "range", fmt.Sprintf("must have 1 to %d characters, none of them a control character", fieldmark.MaxBrandName))
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
	if utf8.RuneCountInString(b.Description) > fieldmark.MaxBrandDescription || !validation.IsText(b.Description, true) {
		bad.Add(at+"/description", "too_long", fmt.Sprintf("must have at most %d characters and no control characters", fieldmark.MaxBrandDescription))
	}
	return bad
}

// validSite reports whether a brand's address can be audited at all; whether it
// may be is safehttp's to say, at the time.
func validSite(address string) bool {
	u, err := url.Parse(address)
	return err == nil && len(address) <= fieldmark.MaxBrandURL && (u.Scheme == "http" || u.Scheme == "https") &&
		u.Hostname() != "" && u.User == nil && validation.IsText(address, false)
}

// ImportBrands puts many brands. Each stands for itself: what is wrong with one
// is reported under its place and stops no other.
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
		var puts [updated + 1]int
		var taken validation.Errors
		err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
			for _, i := range group {
				_, put, err := s.put(ctx, tx, brands[i])
				switch {
				case fieldmark.IsCode(err, fieldmark.CodeBrandExists): // nothing was written for it
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

// Brand returns a brand.
func (s *Service) Get(ctx context.Context, slug fieldmark.Slug) (fieldmark.Brand, error) {
	b, err := s.store.Brand(ctx, slug)
	if err != nil {
		return fieldmark.Brand{}, store.NotFound(err, "there is no such brand")
	}
	return b.Brand, nil
}

// ListBrands lists up to limit brands in the order of their slugs, from the one
// after after.
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

// BrandState returns a brand with its facts, those of its past that trends look
// at, its answer samples and its other slugs, and the number of the newest event
// that was in the log before they were read. A slug that only leads to a brand
// gets the state of that one.
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
	states := []fieldmark.BrandState{state}
	err = s.store.AddHistory(ctx, states, fieldmark.TrendTimes(time.Now()))
	return states[0], asOf, err
}

// BrandStates returns up to limit public brands in the order of their slugs, from
// the one after after, and the number of the newest event that was in the log
// before they were read. Bare leaves out the evidence of facts, which is two
// thirds of their size and changes no score. Fewer than limit means that no more
// follow.
func (s *Service) States(ctx context.Context, after fieldmark.Slug, limit int, bare bool) ([]fieldmark.BrandState, int64, error) {
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

// statesPage reads a page of public brands with all that scores look at.
func (s *Service) statesPage(ctx context.Context, after fieldmark.Slug, limit int, bare bool) ([]fieldmark.BrandState, error) {
	states, err := s.store.PublicStates(ctx, after, limit, bare)
	if err != nil {
		return nil, err
	}
	return states, s.store.AddHistory(ctx, states, fieldmark.TrendTimes(time.Now()))
}

// EachBrandState calls fn for every public brand in the order of their slugs,
// until fn fails. AsOf is the number of the newest event that was in the log
// before the first was read; later changes may or may not be among them, and
// are in the log after asOf.
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

package claim

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base32"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/brand"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/keyring"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// NewBrands is the policy for a proven claim of a site that is not registered.
// Fieldmark ranks what it has registered, so an installation decides whether strangers may add
// to it.
type NewBrands string

// Such a claim is refused, registers an unlisted brand, or registers a public one.
const (
	NewBrandsOff    NewBrands = "off"
	NewBrandsReview NewBrands = "review"
	NewBrandsOn     NewBrands = "on"
)

// Prefixes of secrets; scanners may search for them.
// They are public, so that a scanner of a code host can report a secret that was committed.
const (
	SecretPrefix = "fm_claim_"
	codePrefix   = "fm_transfer_"
)

// MaxPage limits a list of claims.
// A caller that requests more, or none, gets this many.
const MaxPage = 200

// Config is what a Service needs. All fields but NewBrands and Off are required.
type Config struct {
	Store     *store.Store
	Keyring   *keyring.Keyring
	AuditLog  *auditlog.Log
	Jobs      *job.Runner
	Log       *slog.Logger
	Access    *access.Service
	Brands    *brand.Service
	Prover    *Prover
	NewBrands NewBrands // empty: NewBrandsReview
	Off       bool      // owners have no calls and no pages; claims are still checked
}

// Service manages claims. Its methods may be called from any goroutine. A claim that proves
// control gets an account, and its keys and sessions end with it. policy.go has the rules; the
// other files apply them.
type Service struct {
	store     *store.Store
	mac       keyring.MAC
	auditLog  *auditlog.Log
	jobs      *job.Runner
	log       *slog.Logger
	keys      *access.Keys
	brands    *brand.Service
	prover    *Prover
	newBrands NewBrands
	off       bool
}

// New returns a Service that has started nothing.
func New(cfg Config) *Service {
	if cfg.NewBrands == "" {
		cfg.NewBrands = NewBrandsReview
	}
	return &Service{store: cfg.Store, mac: cfg.Keyring.Claim, auditLog: cfg.AuditLog, jobs: cfg.Jobs, log: cfg.Log,
		keys: cfg.Access.Keys, brands: cfg.Brands, prover: cfg.Prover, newBrands: cfg.NewBrands, off: cfg.Off}
}

// Caller identifies the caller of a claim: the bearer of its secret, the account that it
// made, or an administrator.
type Caller struct {
	Secret  string
	Account string
	Admin   bool
}

// Enabled returns CodeModuleDisabled if the calls and pages of owners are switched off.
func (s *Service) Enabled() error {
	if s.off {
		return fieldmark.Errorf(fieldmark.CodeModuleDisabled, "claims and the pages of owners are disabled")
	}
	return nil
}

// Open opens a claim of a brand, or of a site by its URL. The secret is in no later response.
// A network can open fieldmark.ClaimsPerDay claims a day; each causes requests to a site that
// did not request them.
func (s *Service) Open(ctx context.Context, by access.Caller, r fieldmark.ClaimRequest) (fieldmark.NewClaim, error) {
	var opened fieldmark.NewClaim
	if err := s.Enabled(); err != nil {
		return opened, err
	}
	now := time.Now()
	// The secret is stored as a MAC and the token as it is: the token is published by the owner
	// anyway.
	expires := fieldmark.At(now.Add(pendingFor))
	secret := SecretPrefix + token()
	c := store.Claim{ID: fieldmark.NewID(fieldmark.PrefixClaim, now), State: fieldmark.ClaimPending,
		// The network is stored as a MAC, because it is only counted.
		Secret: s.mac.Sum(secret), Network: s.mac.Sum("network " + by.Network()), CreatedAt: now,
		DueAt: expires.Std(), ClaimBody: store.ClaimBody{Token: token(), ExpiresAt: &expires}}
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		n, err := tx.CountClaims(ctx, c.Network, now.Add(-24*time.Hour))
		if err != nil {
			return err
		}
		if n >= fieldmark.ClaimsPerDay {
			return &fieldmark.Error{Code: fieldmark.CodeRateLimited, RetryAfter: time.Hour, Detail: fmt.Sprintf(
				"a network can open %d claims a day", fieldmark.ClaimsPerDay)}
		}
		// The brand is looked up in the transaction, so two claims of a new site see the same
		// brand.
		if err := s.resolve(ctx, tx, &c, r); err != nil {
			return err
		}
		step(&c, fieldmark.ClaimPending, now, "opened")
		if err := tx.PutClaim(ctx, &c); err != nil {
			return err
		}
		return s.audit(ctx, tx, "claim.opened", &c)
	})
	if err != nil {
		return opened, fmt.Errorf("open a claim: %w", err)
	}
	view, err := s.view(ctx, s.store.ClaimReader, &c)
	return fieldmark.NewClaim{Claim: view, Secret: secret}, err
}

// resolve finds the brand of a request.
// It also sets the URL whose control is to be proven, and the holder whose transfer code was
// given.
func (s *Service) resolve(ctx context.Context, tx *store.Tx, c *store.Claim, r fieldmark.ClaimRequest) error {
	switch {
	// Both or neither: it would not be clear which one the proof is about.
	case (r.Brand == "") == (r.URL == ""):
		return validation.Error("/brand", "required", "name either the brand or the url")
	case r.Brand != "":
		slug := r.Brand
		// A claim under an old slug is a claim of the brand that has it now.
		if to, err := tx.ResolveAlias(ctx, slug); err == nil {
			slug = to
		} else if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		b, err := tx.Brand(ctx, slug)
		// A brand that is not public has the same answer as none, so its existence is not
		// shown.
		if errors.Is(err, store.ErrNotFound) || err == nil && !b.Public {
			return validation.Error("/brand", "range", "there is no such brand; name the url of its site instead")
		}
		if err != nil {
			return err
		}
		c.Brand, c.URL = b.Slug, b.URL
	default:
		address, err := siteURL(r.URL)
		if err != nil {
			return err
		}
		c.URL = address
		if c.Brand, err = brandAt(ctx, tx.ClaimTx.ClaimReader, address); err != nil {
			return err
		}
		// Refused before the proof, which would be work for nothing.
		if c.Brand == "" && s.newBrands == NewBrandsOff {
			return validation.Error("/url", "range", "no brand with this site is registered here")
		}
	}
	// Without a registrable domain a proof shows no more than control of a part of a stranger's
	// domain.
	if u, err := url.Parse(c.URL); err != nil || registrable(u) == "" {
		return validation.Error("/"+map[bool]string{true: "brand", false: "url"}[r.Brand != ""], "format",
			"the host of the site has no registrable domain")
	}
	if r.Code == "" {
		return nil
	}
	holder, err := holderOf(ctx, tx, c.Brand)
	if err != nil {
		return err
	}
	// A wrong code and an expired one have the same error, so a code cannot be found by trying.
	if holder == nil || !s.offers(holder, r.Code, time.Now()) {
		return validation.Error("/code", "range",
			"the code is wrong or has expired; ask the present owner for a new one")
	}
	c.From = holder.ID
	return nil
}

// siteURL checks and normalizes the URL of a site that is claimed: without query and fragment.
// The URL is compared with those of brands, so it is brought to one form; what identifies no
// site, such as a query, is dropped.
func siteURL(text string) (string, error) {
	bad := func(detail string) (string, error) { return "", validation.Error("/url", "format", detail) }
	text = strings.TrimSpace(text)
	// People type hosts without a scheme.
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || len(text) > fieldmark.MaxBrandURL || !validation.IsText(text, false):
		return bad("must be the address of a website")
	case u.Scheme != "http" && u.Scheme != "https" || u.Opaque != "":
		return bad("must begin with http:// or https://")
	case u.User != nil:
		return bad("must not have a user name")
	// Addresses are no sites: they change hands without a trace.
	case registrable(u) == "" || strings.Trim(hostOf(u), "0123456789.") == "" || strings.Contains(u.Hostname(), ":"):
		return bad("must have a host with a registrable domain, such as shop.example")
	}
	u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = "", false, "", ""
	u.Host = strings.ToLower(u.Host)
	if u.Path == "" {
		u.Path = "/"
	}
	return u.String(), nil
}

// brandAt returns the brand with a URL, "" if no brand has it.
// Scheme, www and a slash at the end make no other site, so all their forms are looked up.
func brandAt(ctx context.Context, db store.ClaimReader, address string) (fieldmark.Slug, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", fmt.Errorf("parse a URL: %w", err)
	}
	urls := brand.HomeURLs(u)
	return db.BrandByURL(ctx, urls[:])
}

// token returns 160 random bits in base 32 and lower case.
// The alphabet survives DNS servers that change the case of records, and people who read it
// out.
func token() string {
	var b [fieldmark.ClaimTokenChars * 5 / 8]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
}

// holderOf returns the claim that holds a brand, nil if none does.
func holderOf(ctx context.Context, tx *store.Tx, slug fieldmark.Slug) (*store.Claim, error) {
	if slug == "" {
		return nil, nil
	}
	return optional(tx.ClaimOf(ctx, slug))
}

// addressOf returns the URL of the site whose control a claim proves: that of the brand, which
// administrators can change.
// The URL of the claim itself counts only until a brand exists.
func addressOf(ctx context.Context, db store.BrandReader, c *store.Claim) (string, error) {
	if c.Brand == "" {
		return c.URL, nil
	}
	b, err := db.Brand(ctx, c.Brand)
	return b.URL, err
}

// optional turns a missing row into nil.
func optional(c store.Claim, err error) (*store.Claim, error) {
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return &c, err
}

// offers reports whether a holder offers a transfer under a code.
// The code is stored as a MAC and compared in constant time.
func (s *Service) offers(holder *store.Claim, code string, now time.Time) bool {
	t := holder.Transfer
	return t != nil && now.Before(t.Until.Std()) &&
		subtle.ConstantTimeCompare([]byte(s.mac.Sum(code)), []byte(t.Code)) == 1
}

// authorize returns the error for a caller who may not see a claim. A wrong secret has the
// same error as one that was used, and as that of a claim that does not exist.
func (s *Service) authorize(c *store.Claim, err error, by Caller) error {
	switch missing := errors.Is(err, store.ErrNotFound); {
	case err != nil && !missing:
		return err
	case by.Secret != "":
		if missing || c.Secret == "" ||
			subtle.ConstantTimeCompare([]byte(s.mac.Sum(by.Secret)), []byte(c.Secret)) != 1 {
			return fieldmark.Errorf(fieldmark.CodeInvalidAPIKey,
				"the secret of the claim is unknown or mistyped, or is not valid any longer")
		}
		return nil
	// The claim of another account looks like none.
	case missing || !by.Admin && (by.Account == "" || c.Account != by.Account):
		return fieldmark.Errorf(fieldmark.CodeNotFound, "there is no such claim")
	}
	return nil
}

// load reads a claim for a caller.
// Administrators may act on claims while the calls of owners are switched off.
func (s *Service) load(ctx context.Context, tx *store.Tx, id string, by Caller) (*store.Claim, error) {
	if err := s.Enabled(); err != nil && !by.Admin {
		return nil, err
	}
	c, err := tx.Claim(ctx, id)
	return &c, s.authorize(&c, err, by)
}

// Get returns a claim.
func (s *Service) Get(ctx context.Context, id string, by Caller) (fieldmark.Claim, error) {
	if err := s.Enabled(); err != nil && !by.Admin {
		return fieldmark.Claim{}, err
	}
	c, err := s.store.Claim(ctx, id)
	if err := s.authorize(&c, err, by); err != nil {
		return fieldmark.Claim{}, err
	}
	return s.view(ctx, s.store.ClaimReader, &c)
}

// OfBrand returns the claim by which an account manages a brand. It is CodeNotFound if the
// account does not.
func (s *Service) OfBrand(ctx context.Context, account string, slug fieldmark.Slug) (fieldmark.Claim, error) {
	c, err := s.store.ClaimOf(ctx, slug)
	if err := s.authorize(&c, err, Caller{Account: account}); err != nil {
		return fieldmark.Claim{}, err
	}
	return s.view(ctx, s.store.ClaimReader, &c)
}

// List returns up to limit claims before an id, the newest first, for administrators.
// An id is the cursor, because ids sort by time.
func (s *Service) List(ctx context.Context, state fieldmark.ClaimState, slug fieldmark.Slug, before string,
	limit int) ([]fieldmark.Claim, error) {
	if limit <= 0 || limit > MaxPage {
		limit = MaxPage
	}
	rows, err := s.store.Claims(ctx, state, slug, before, limit)
	if err != nil {
		return nil, err
	}
	list := make([]fieldmark.Claim, len(rows))
	for i := range rows {
		if list[i], err = s.view(ctx, s.store.ClaimReader, &rows[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// view returns a claim as its owner and administrators see it.
// Open claims have the lines to publish; ended ones keep their history only.
func (s *Service) view(ctx context.Context, db store.ClaimReader, c *store.Claim) (v fieldmark.Claim, err error) {
	v = fieldmark.Claim{ID: c.ID, Brand: c.Brand, URL: c.URL, State: c.State, Account: c.Account,
		CreatedAt: fieldmark.At(c.CreatedAt), ExpiresAt: c.ExpiresAt, VerifiedAt: c.VerifiedAt,
		CheckedAt: c.CheckedAt, Resolvers: c.Resolvers, Reason: c.Reason, Tried: c.Tried, History: c.History,
		Methods: methods(c), Proofs: []fieldmark.ClaimProof{}}
	if best := c.Best(); best != nil {
		v.Method, v.Domain = best.Method, best.Domain
	}
	// The due time of a claim that does not hold a brand is of no use to its owner.
	if c.State.Holds() {
		next := fieldmark.At(c.DueAt)
		v.NextCheck = &next
	}
	if c.Transfer != nil {
		v.Transfer = &c.Transfer.Until
	}
	if !c.State.Open() {
		return v, nil
	}
	// An administrator may have moved the brand to another site since.
	if v.URL, err = addressOf(ctx, s.store.BrandReader, c); err != nil {
		return v, err
	}
	t, err := newTarget(c.ID, c.Token, v.URL)
	if err != nil {
		return v, err
	}
	v.Proofs = t.proofs()
	if c.Contest != nil {
		v.Contest = &fieldmark.ClaimContest{Until: c.Contest.Until}
	}
	if !c.State.Holds() {
		return v, nil
	}
	newcomer, err := optional(db.ContestOf(ctx, c.Brand))
	if err != nil || newcomer == nil {
		return v, err
	}
	v.Contest = &fieldmark.ClaimContest{Until: newcomer.Contest.Until, Method: newcomer.Best().Method}
	if o := c.Objection; o != nil && o.Claim == newcomer.ID {
		// The holder of a contested brand gets the proofs of its objection, whose token is
		// another one.
		t.token = o.Token
		v.Contest.Proofs = t.proofs()
	}
	return v, nil
}

// acting returns a context in which the worker of claims acts unless a person does, so that
// every step is in the audit log.
func acting(ctx context.Context) context.Context {
	if auditlog.ActorName(ctx) != "" {
		return ctx
	}
	return auditlog.WithActor(ctx, auditlog.Actor{Kind: fieldmark.ActorCommand, Name: "claims"})
}

// audit adds an entry to the audit log.
// It has what identifies the claim and its state, and no token.
func (s *Service) audit(ctx context.Context, tx *store.Tx, act string, c *store.Claim) error {
	after := map[string]any{"brand": c.Brand, "url": c.URL, "state": c.State, "account": c.Account,
		"methods": methods(c), "reason": c.Reason}
	return s.auditLog.Append(acting(ctx), tx, act, c.ID, nil, after)
}

// emit emits an event about a claim to the account that holds the brand. It runs before the claim ends,
// because an account receives no events after its claim ended.
// until is the end of the time in which the owner can act, nil without one.
func emit(ctx context.Context, tx *store.Tx, t fieldmark.EventType, c *store.Claim,
	state fieldmark.ClaimState, until *fieldmark.Time) error {
	change := fieldmark.ClaimChange{ID: c.ID, Slug: c.Brand, State: state, Until: until}
	if best := c.Best(); best != nil {
		change.Method = best.Method
	}
	if t != fieldmark.EventClaimVerified { // the owner has days to act, so mail must not wait for the digest
		if err := tx.ExpediteMail(ctx, c.Brand, time.Now()); err != nil {
			return err
		}
	}
	return event.EmitBrand(ctx, tx, c.Brand, t, change)
}

// emitBrand invalidates what edges show of a brand.
// The page, badge and score of a brand show whether it is claimed.
func emitBrand(ctx context.Context, tx *store.Tx, slug fieldmark.Slug) error {
	b, err := tx.Brand(ctx, slug)
	if err != nil {
		return err
	}
	_, err = event.Emit(ctx, tx, "", store.Event{Event: fieldmark.Event{Type: fieldmark.EventBrandChanged,
		Brand: slug, Tags: []fieldmark.Tag{fieldmark.TagBrand(slug)}}, Subject: string(slug)}, b.Brand)
	return err
}

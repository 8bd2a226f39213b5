package accessrequest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/mail"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// ValidateForm trims a request and returns everything that is wrong with it. All errors are
// returned at once, so that a form needs one round trip. The texts are of strangers, so names
// must be one line.
func ValidateForm(f *fieldmark.AccessRequestForm) (bad validation.Errors) {
	for _, in := range []struct {
		pointer string
		text    *string
	}{{"/organization", &f.Organization}, {"/name", &f.Name}} {
		*in.text = strings.TrimSpace(*in.text)
		if n := utf8.RuneCountInString(*in.text); fieldmark.IsBlank(*in.text) || n > fieldmark.MaxAccessName {
			bad.Add(in.pointer, "range", fmt.Sprintf("must have 1 to %d characters", fieldmark.MaxAccessName))
		} else {
			bad.Line(in.pointer, *in.text)
		}
	}
	f.Email = strings.TrimSpace(f.Email)
	if !mail.ValidAddress(f.Email) {
		bad.Add("/email", "format", "must be an e-mail address, such as name@example.com")
	}
	f.Purpose = strings.TrimSpace(bad.Multiline("/purpose", f.Purpose))
	if n := utf8.RuneCountInString(f.Purpose); n < fieldmark.MinAccessPurpose || n > fieldmark.MaxAccessPurpose {
		bad.Add("/purpose", "range", fmt.Sprintf("must have %d to %d characters, has %d", fieldmark.MinAccessPurpose,
			fieldmark.MaxAccessPurpose, n))
	}
	bad = append(bad, scopeErrors(f.Scopes)...)
	// The offer is only what the applicant asks for. An administrator chooses the real one with
	// the approval.
	if !slices.Contains(fieldmark.OfferKinds(), f.Offer) {
		bad.Add("/offer", "enum", "must be standard, group or enterprise")
	} else if i := slices.Index(f.Scopes, fieldmark.ScopeAccountManage); i >= 0 && f.Offer != fieldmark.OfferGroup {
		bad.Add(fmt.Sprintf("/scopes/%d", i), "conflict", "needs a group offer")
	}
	return bad
}

// scopeErrors returns what is wrong with the scopes of a request or of an approval.
// Only scopes of fieldmark.AccessScopes can be requested: admin:* is never given to a stranger.
func scopeErrors(scopes []fieldmark.Scope) (bad validation.Errors) {
	if len(scopes) == 0 {
		bad.Add("/scopes", "required", "at least one scope is required")
	}
	for i, sc := range scopes {
		pointer := fmt.Sprintf("/scopes/%d", i)
		if !slices.Contains(fieldmark.AccessScopes(), sc) {
			bad.Add(pointer, "enum", "must be a scope that can be requested")
		} else if slices.Contains(scopes[:i], sc) {
			bad.Add(pointer, "conflict", "is listed twice")
		}
	}
	return bad
}

// List returns up to limit requests before an id, the newest first. Empty arguments do not restrict it.
// An id is a cursor: ids sort by time, so a page continues where the last one ended even if
// requests were added meanwhile.
func (s *Service) List(ctx context.Context, state fieldmark.AccessState, before string, limit int) (
	[]fieldmark.AccessRequest, error) {
	if limit <= 0 || limit > MaxPage {
		limit = MaxPage
	}
	rows, err := s.cfg.Store.AccessRequests(ctx, state, before, limit)
	if err != nil {
		return nil, err
	}
	list := make([]fieldmark.AccessRequest, len(rows))
	for i := range rows {
		list[i] = viewOf(&rows[i])
	}
	return list, nil
}

// Get returns a request.
func (s *Service) Get(ctx context.Context, id string) (fieldmark.AccessRequest, error) {
	r, err := s.cfg.Store.AccessRequest(ctx, id)
	return viewOf(&r), store.NotFound(err, "there is no such request")
}

// viewOf returns what administrators see of a request.
// The secret and its hash are not part of it: an administrator decides about a key and never
// sees it.
func viewOf(r *store.AccessRequest) fieldmark.AccessRequest {
	return fieldmark.AccessRequest{AccessStatus: statusOf(r), Name: r.Form.Name, Email: r.Form.Email,
		Purpose: r.Form.Purpose, DecidedBy: r.DecidedBy, KeyID: r.KeyID}
}

// Approve approves a pending request. Its key is created when the applicant has it shown.
func (s *Service) Approve(ctx context.Context, id string, a fieldmark.AccessApproval) (fieldmark.AccessRequest, error) {
	key := fieldmark.KeyRequest{Name: "key", Scopes: a.Scopes, RateLimit: a.RateLimit, Networks: a.Networks,
		ExpiresInDays: a.ExpiresInDays}
	// The scopes are checked as those of a request, which are fewer than those of a key; other
	// errors come from the rules of keys, so an approval never promises a key that cannot be
	// created.
	bad := scopeErrors(a.Scopes)
	for _, f := range access.ValidateKey(&key) { // which sets the default lifetime
		if !strings.HasPrefix(f.Pointer, "/scopes") {
			bad = append(bad, f)
		}
	}
	if !fieldmark.ValidAccount(a.Account) {
		bad.Add("/account", "pattern", "must be 1 to 64 of a-z, 0-9, - and _, beginning with a letter or digit")
	}
	if err := bad.Err(); err != nil {
		return fieldmark.AccessRequest{}, err
	}
	// The grant is stored with the request and not the key: no key exists until the applicant
	// takes it.
	grant := &fieldmark.AccessGrant{Account: a.Account, Offer: a.Offer, Scopes: a.Scopes, RateLimit: key.RateLimit,
		Networks: a.Networks, ExpiresInDays: key.ExpiresInDays}
	a.ExpiresInDays = key.ExpiresInDays
	return s.decide(ctx, id, func(ctx context.Context, tx *store.Tx, r *store.AccessRequest, now time.Time) error {
		if err := s.prepareAccount(ctx, tx, &a, fieldmark.Account{ID: a.Account, Name: r.Form.Organization,
			CreatedAt: fieldmark.At(now)}); err != nil {
			return err
		}
		r.State, r.Grant, r.EndsAt = fieldmark.AccessApproved, grant, now.Add(fieldmark.AccessDays*day)
		return nil
	})
}

// prepareAccount creates the account of an approval or finds it, gives it the offer, and returns an
// error if the offer of the account does not allow the key.
func (s *Service) prepareAccount(ctx context.Context, tx *store.Tx, a *fieldmark.AccessApproval,
	account fieldmark.Account) error {
	// A new account must not exist: an approval by mistake could otherwise hand a stranger the
	// missions of another customer.
	if a.NewAccount {
		made, err := s.cfg.Access.Accounts.CreateIn(ctx, tx, account)
		if err == nil && !made {
			err = validation.Error("/account", "conflict", "exists; choose it as an existing account, or another id")
		}
		if err != nil {
			return err
		}
	}
	if ok, err := tx.HasAccount(ctx, a.Account); err != nil || !ok {
		if err == nil {
			err = validation.Error("/account", "range", "does not exist; create it with the approval")
		}
		return err
	}
	// A sub-account has the offer of its group, which decides about its keys.
	account, err := tx.Account(ctx, a.Account)
	if err == nil && account.Parent != "" {
		err = validation.Error("/account", "conflict", "is a sub-account; its parent manages its keys")
	}
	if err != nil {
		return err
	}
	if a.Offer != "" {
		if err := s.cfg.Access.Accounts.SetOfferIn(ctx, tx, a.Account, a.Offer); err != nil {
			return err
		}
	}
	// The offer is checked now, in the transaction of the approval, so the administrator sees
	// the conflict and not the applicant.
	return access.CheckOffer(ctx, tx, a.Account, a.Scopes, a.ExpiresInDays)
}

// Decline declines a pending request. The applicant sees the reason.
func (s *Service) Decline(ctx context.Context, id string, d fieldmark.AccessRefusal) (fieldmark.AccessRequest, error) {
	var bad validation.Errors
	d.Reason = strings.TrimSpace(bad.Multiline("/reason", d.Reason))
	// The reason is required: the applicant sees nothing else. Its lines are kept, as in a
	// mail.
	if n := utf8.RuneCountInString(d.Reason); n == 0 {
		bad.Add("/reason", "required", "give the reason")
	} else if n > fieldmark.MaxAccessReason {
		bad.Add("/reason", "range", fmt.Sprintf("must have at most %d characters", fieldmark.MaxAccessReason))
	}
	if err := bad.Err(); err != nil {
		return fieldmark.AccessRequest{}, err
	}
	return s.decide(ctx, id, func(_ context.Context, _ *store.Tx, r *store.AccessRequest, now time.Time) error {
		r.State, r.Reason, r.EndsAt = fieldmark.AccessDeclined, d.Reason, now.Add(fieldmark.AccessKeptDays*day)
		return nil
	})
}

// decide moves a pending request. The first decision is final: a later one is CodeRequestDecided.
// change sets the new state and may refuse; it runs inside the transaction, possibly twice.
func (s *Service) decide(ctx context.Context, id string, change func(context.Context, *store.Tx, *store.AccessRequest,
	time.Time) error) (view fieldmark.AccessRequest, err error) {
	err = s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		r, err := tx.AccessRequest(ctx, id)
		if err != nil {
			return store.NotFound(err, "there is no such request")
		}
		if r.State != fieldmark.AccessPending {
			return errDecided(&r)
		}
		now := time.Now()
		at := fieldmark.At(now)
		if err := change(ctx, tx, &r, now); err != nil {
			return err
		}
		r.DecidedAt, r.DecidedBy = &at, auditlog.ActorName(ctx)
		// Without mail nothing is due, and no worker ever claims the request.
		r.DueAt = time.Time{}
		if s.cfg.Mail.Enabled() {
			r.DueAt = now
		}
		// The row is moved only from the pending state, so of two administrators at once one
		// gets the error.
		moved, err := tx.MoveAccessRequest(ctx, &r, fieldmark.AccessPending)
		if err == nil && !moved {
			err = fieldmark.Errorf(fieldmark.CodeRequestDecided, "another administrator decided this request just now")
		}
		if err != nil {
			return err
		}
		view = viewOf(&r)
		t := fieldmark.EventAccessApproved
		if r.State == fieldmark.AccessDeclined {
			t = fieldmark.EventAccessDeclined
		}
		return s.record(ctx, tx, &r, t, fieldmark.AccessPending)
	})
	if err != nil {
		return fieldmark.AccessRequest{}, fmt.Errorf("decide request %s: %w", id, err)
	}
	return view, nil
}

// errDecided names who decided and when, so that the second administrator knows whom to ask.
func errDecided(r *store.AccessRequest) error {
	decision := "approved"
	if r.State == fieldmark.AccessDeclined {
		decision = "declined"
	}
	return fieldmark.Errorf(fieldmark.CodeRequestDecided, "this request was %s by %s at %s", decision,
		r.DecidedBy, r.DecidedAt)
}

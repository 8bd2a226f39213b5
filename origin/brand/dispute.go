package brand

import (
	"context"
	"fmt"
	"net/mail"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/audit"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// maxOpenDisputes limits the open disputes of a brand: anyone can open one, and an
// administrator reads each.
const maxOpenDisputes = 10

// Disputes are objections to findings about brands. Anyone can open one, and the owner of a
// brand another kind with more rights; an administrator decides. An open dispute of the public
// is listed without its text and its sender, and never changes stored facts.
type Disputes struct {
	store       *store.Store
	auditLog    *auditlog.Log
	brands      *Service
	signalFacts func(module []byte, signal string) ([]string, error) // Config.SignalFacts
}

// Open opens a dispute of a public brand. Slug may be an alias.
// The sender has no account: the mail address is the only way to answer, and the limit of open
// disputes bounds what strangers cause.
func (s *Disputes) Open(ctx context.Context, slug fieldmark.Slug,
	r fieldmark.DisputeRequest) (fieldmark.DisputeStatus, error) {
	var d fieldmark.Dispute
	if err := validateDispute(&r); err != nil {
		return d.DisputeStatus, err
	}
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		b, err := publicBrand(ctx, tx.BrandReader, slug)
		if err != nil {
			return err
		}
		// Checked in the transaction: an audit may end meanwhile.
		if err := requireFinding(ctx, tx, b.Slug, r.Signal); err != nil {
			return err
		}
		open, err := tx.Disputes(ctx, store.DisputeQuery{Brand: b.Slug, Undecided: true,
			Limit: maxOpenDisputes})
		if err != nil {
			return err
		}
		// One address has one open dispute of a finding: forms are sent twice.
		same := func(d fieldmark.Dispute) bool { return d.Signal == r.Signal && strings.EqualFold(d.Email, r.Email) }
		if i := slices.IndexFunc(open, same); i >= 0 {
			return fieldmark.Errorf(fieldmark.CodeDisputeExists,
				"you opened a dispute of this finding on %s, and it is under review", date(open[i].OpenedAt))
		}
		if len(open) >= maxOpenDisputes {
			return fieldmark.Errorf(fieldmark.CodeTooManyDisputes,
				"%d disputes of this brand are under review; send yours when some of them are decided", len(open))
		}
		now := time.Now()
		d = fieldmark.Dispute{Brand: b.Slug, Text: r.Text, Email: r.Email,
			DisputeStatus: fieldmark.DisputeStatus{ID: fieldmark.NewID(fieldmark.PrefixDispute, now), Signal: r.Signal,
				Kind: r.Kind, State: fieldmark.DisputeOpen, OpenedAt: fieldmark.At(now)}}
		// The passages are copied: the next audit may find others, and an administrator must
		// see what the dispute was about.
		d.Passages, err = passagesOf(ctx, tx, b.Slug, r.Signal)
		if err != nil {
			return err
		}
		if err := tx.PutDispute(ctx, d); err != nil {
			return err
		}
		return emitChanged(ctx, tx, b)
	})
	if err != nil {
		return fieldmark.DisputeStatus{}, fmt.Errorf("open a dispute of %s: %w", slug, err)
	}
	return d.DisputeStatus, nil
}

var signalPattern = regexp.MustCompile(`^[a-z0-9._-]{1,64}$`)

// validateDispute trims a request and returns everything that is wrong with it.
// Evidence is of owners only: an administrator would have to check links of strangers.
func validateDispute(r *fieldmark.DisputeRequest) error {
	bad := disputeErrors(r)
	if len(r.Evidence) > 0 {
		bad.Add("/evidence", "conflict", "needs a key of the owner of the brand")
	}
	r.Email = strings.TrimSpace(r.Email)
	// The address must be bare: no name, no quoting, no address literal, which mail programs
	// treat in many ways.
	if a, err := mail.ParseAddress(r.Email); err != nil || a.Address != r.Email ||
		len(r.Email) > fieldmark.MaxDisputeEmail || strings.ContainsAny(r.Email, `"[]`) {
		bad.Add("/email", "format", "must be an e-mail address, such as name@example.com")
	}
	return bad.Err()
}

// disputeErrors trims the members of every dispute and returns what is wrong with them.
// Errors are returned all at once.
func disputeErrors(r *fieldmark.DisputeRequest) (bad validation.Errors) {
	if !signalPattern.MatchString(r.Signal) {
		bad.Add("/signal", "pattern", "must be the id of a signal or a gate of the score")
	}
	switch r.Kind {
	case fieldmark.DisputeWrong, fieldmark.DisputeOutdated, fieldmark.DisputeNotApplicable,
		fieldmark.DisputeRefusedByWall:
	default:
		bad.Add("/kind", "enum", "must be wrong, outdated, not_applicable or refused_by_wall")
	}
	r.Text = strings.TrimSpace(bad.Multiline("/text", r.Text))
	if n := utf8.RuneCountInString(r.Text); n < fieldmark.MinDisputeText || n > fieldmark.MaxDisputeText {
		bad.Add("/text", "range", fmt.Sprintf("must have %d to %d characters, has %d", fieldmark.MinDisputeText,
			fieldmark.MaxDisputeText, n))
	}
	return bad
}

// publicBrand reads a public brand by its slug or an alias.
// A brand that is not public has the same answer as none.
func publicBrand(ctx context.Context, db store.BrandReader, slug fieldmark.Slug) (fieldmark.Brand, error) {
	if to, err := db.ResolveAlias(ctx, slug); err == nil {
		slug = to
	}
	b, err := db.Brand(ctx, slug)
	if err == nil && !b.Public {
		err = store.ErrNotFound
	}
	return b.Brand, store.NotFound(err, "no public brand has this slug")
}

// requireFinding returns an error about the member signal unless there is something to
// dispute. It reads only the facts: the response must not reveal a suspicion.
func requireFinding(ctx context.Context, tx *store.Tx, slug fieldmark.Slug, signal string) error {
	state, err := tx.BrandState(ctx, slug)
	if err != nil {
		return err
	}
	if state.Facts == nil {
		return validation.Error("/signal", "conflict", "the site has not been audited yet")
	}
	f, ok := state.Facts.Find(fieldmark.FactManipulation)
	if signal == fieldmark.GateManipulation && (!ok || f.State != fieldmark.Measured || f.Value == 0) {
		return validation.Error("/signal", "conflict", "the newest audit found no text written to steer a model")
	}
	return nil
}

// passagesOf returns the findings that a dispute is about.
// Of other findings the facts in the history are the record.
func passagesOf(ctx context.Context, tx *store.Tx, slug fieldmark.Slug, signal string) ([]fieldmark.Suspicion, error) {
	switch signal {
	case fieldmark.GateManipulation:
		return confirmedSuspicions(ctx, tx, slug)
	case fieldmark.FactText:
		return earlierPassages(ctx, tx, slug)
	}
	return nil, nil
}

// confirmedSuspicions returns the suspicions that two audits found, which alone are public.
func confirmedSuspicions(ctx context.Context, tx *store.Tx, slug fieldmark.Slug) (list []fieldmark.Suspicion,
	err error) {
	found, err := tx.Suspicions(ctx, slug)
	for _, f := range found {
		if f.Confirmed {
			list = append(list, f.Suspicion)
		}
	}
	return list, err
}

// emitChanged makes edges render the page of a brand again.
func emitChanged(ctx context.Context, tx *store.Tx, b fieldmark.Brand) error {
	_, err := event.Emit(ctx, tx, "", newEvent(fieldmark.EventBrandChanged, b.Slug), b)
	return err
}

func date(t fieldmark.Time) string { return t.Std().UTC().Format(time.DateOnly) }

// ListOpen lists the public part of the open disputes of a public brand, the newest
// first.
// The page of the brand lists them.
func (s *Disputes) ListOpen(ctx context.Context, slug fieldmark.Slug) ([]fieldmark.DisputeStatus, error) {
	b, err := publicBrand(ctx, s.store.BrandReader, slug)
	if err != nil {
		return nil, err
	}
	open, err := s.store.Disputes(ctx, store.DisputeQuery{Brand: b.Slug, Undecided: true,
		Limit: maxOpenDisputes})
	list := make([]fieldmark.DisputeStatus, len(open))
	for i, d := range open {
		list[i] = public(&d)
	}
	return list, err
}

// Status returns the public part of a dispute of a brand.
// Anyone with the id may read it, as the sender has no account.
func (s *Disputes) Status(ctx context.Context, slug fieldmark.Slug, id string) (fieldmark.DisputeStatus, error) {
	b, err := publicBrand(ctx, s.store.BrandReader, slug)
	if err != nil {
		return fieldmark.DisputeStatus{}, err
	}
	d, err := s.store.Dispute(ctx, id)
	if err == nil && d.Brand != b.Slug {
		err = store.ErrNotFound
	}
	if err != nil {
		return fieldmark.DisputeStatus{}, store.NotFound(err, "this brand has no such dispute")
	}
	return public(&d), nil
}

// Get returns a dispute.
// It has the text and the sender: administrators only.
func (s *Disputes) Get(ctx context.Context, id string) (fieldmark.Dispute, error) {
	d, err := s.store.Dispute(ctx, id)
	return d, store.NotFound(err, "there is no such dispute")
}

// List returns up to limit disputes in a state, the newest first, with ids below before.
// An empty slug is all brands, an empty before starts at the newest.
func (s *Disputes) List(ctx context.Context, slug fieldmark.Slug, state fieldmark.DisputeState, before string,
	limit int) ([]fieldmark.Dispute, error) {
	return s.store.Disputes(ctx, store.DisputeQuery{Brand: slug, State: state, Before: before, Limit: limit})
}

// ListWaiting is List of the disputes that wait for an administrator: those of the public, and those of
// owners whose audit found the same again.
func (s *Disputes) ListWaiting(ctx context.Context, slug fieldmark.Slug, before string,
	limit int) ([]fieldmark.Dispute, error) {
	return s.store.Disputes(ctx, store.DisputeQuery{Brand: slug, Waiting: true, Before: before, Limit: limit})
}

// Decide upholds or rejects an open dispute. An upheld one queues an audit; one of
// GateManipulation makes this and later audits ignore its passages, and one of FactText
// makes them and those of the other brands attribute the text to this brand.
func (s *Disputes) Decide(ctx context.Context, id string, r fieldmark.DisputeDecision) (d fieldmark.Dispute,
	err error) {
	if err := validateDecision(&r); err != nil {
		return d, err
	}
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if d, err = tx.Dispute(ctx, id); err != nil {
			return store.NotFound(err, "there is no such dispute")
		}
		if !d.State.Undecided() {
			return errDecided(&d)
		}
		before, now := d.DisputeStatus, time.Now()
		at := fieldmark.At(now)
		d.State, d.Answer, d.DecidedAt, d.DecidedBy = r.State, r.Answer, &at, auditlog.ActorName(ctx)
		// The rules of the audit are noted: the dispute holds until they change.
		if d.Account != "" && d.State == fieldmark.DisputeUpheld {
			d.Rules = audit.Rules
		}
		if err := tx.PutDispute(ctx, d); err != nil {
			return err
		}
		// The effect is in the transaction of the decision: an upheld dispute never waits for a
		// job.
		if err := s.apply(ctx, tx, &d, now); err != nil {
			return err
		}
		b, err := tx.Brand(ctx, d.Brand)
		if err != nil {
			return err
		}
		changed := map[fieldmark.DisputeState]fieldmark.EventType{
			fieldmark.DisputeUpheld:   fieldmark.EventDisputeUpheld,
			fieldmark.DisputeRejected: fieldmark.EventDisputeRejected}
		if err := s.changed(ctx, tx, b.Brand, &d, changed[d.State]); err != nil {
			return err
		}
		// Without the text and the sender: entries of the audit log are never deleted.
		return s.auditLog.Append(ctx, tx, "dispute.decided", d.ID, before, d.DisputeStatus)
	})
	if err != nil {
		return fieldmark.Dispute{}, fmt.Errorf("decide dispute %s: %w", id, err)
	}
	return d, nil
}

// apply gives an upheld dispute its effect: one of the public queues an audit, one of the owner
// makes the disputed facts unknown in a new revision.
func (s *Disputes) apply(ctx context.Context, tx *store.Tx, d *fieldmark.Dispute, now time.Time) error {
	switch {
	case d.State != fieldmark.DisputeUpheld:
		return nil
	// These need another audit, because the facts depend on what the auditor ignores.
	case d.Account == "" || d.Signal == fieldmark.GateManipulation || d.Signal == fieldmark.FactText:
		return tx.EnqueueAudit(ctx, d.Brand, now)
	}
	state, err := tx.BrandState(ctx, d.Brand)
	if err != nil || state.Facts == nil {
		return err
	}
	facts, err := withUpheld(ctx, tx.BrandReader, d.Brand, *state.Facts, now)
	if err != nil {
		return err
	}
	// A new revision: the earlier one keeps what was found.
	facts.AsOf = fieldmark.At(facts.AsOf.Std().Add(time.Millisecond))
	doc, err := newFactsDocument(facts)
	if err == nil {
		_, err = s.brands.putFacts(ctx, tx, d.Brand, doc)
	}
	return err
}

// validateDecision requires an answer, which the sender sees.
func validateDecision(r *fieldmark.DisputeDecision) error {
	var bad validation.Errors
	if r.State != fieldmark.DisputeUpheld && r.State != fieldmark.DisputeRejected {
		bad.Add("/state", "enum", "must be upheld or rejected")
	}
	r.Answer = strings.TrimSpace(bad.Multiline("/answer", r.Answer))
	if n := utf8.RuneCountInString(r.Answer); n == 0 || n > fieldmark.MaxDisputeAnswer {
		bad.Add("/answer", "range", fmt.Sprintf("must have 1 to %d characters", fieldmark.MaxDisputeAnswer))
	}
	return bad.Err()
}

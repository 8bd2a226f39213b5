package brand

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/audit"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// Limits of disputes by owners.
const (
	recheckWithin = time.Hour // after an audit, the next one of a dispute waits for the rest of it
	// upheldFor is how long an upheld dispute makes facts unknown: as long as facts are current.
	upheldFor = fieldmark.StaleAfter
	// maxOwnDisputes limits a list: more than an owner can open in a year.
	maxOwnDisputes = 300
)

// OpenAsOwner opens a dispute by the account that manages a brand, and queues an audit.
// The audit may settle it without an administrator. Everything is checked in the transaction:
// the account may lose the brand meanwhile.
func (s *Disputes) OpenAsOwner(ctx context.Context, account string, slug fieldmark.Slug,
	r fieldmark.DisputeRequest) (d fieldmark.Dispute, err error) {
	if err := validateOwnerDispute(&r); err != nil {
		return d, err
	}
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := requireManager(ctx, tx.ClaimReader, account, slug); err != nil {
			return err
		}
		if err := requireListed(ctx, tx, slug); err != nil {
			return err
		}
		b, err := tx.Brand(ctx, slug)
		if err != nil {
			return err
		}
		if err := requireFinding(ctx, tx, slug, r.Signal); err != nil {
			return err
		}
		state, err := tx.BareState(ctx, slug)
		if err != nil {
			return err
		}
		now := time.Now()
		d = fieldmark.Dispute{Brand: slug, Text: r.Text, Account: account,
			DisputeStatus: fieldmark.DisputeStatus{ID: fieldmark.NewID(fieldmark.PrefixDispute, now), Signal: r.Signal,
				Kind: r.Kind, State: fieldmark.DisputeOpen, OpenedAt: fieldmark.At(now), Evidence: r.Evidence}}
		// Values are copied: endRecheck compares the next audit with them.
		if d.Facts, err = s.disputedFacts(ctx, tx, state.Facts, r.Signal); err != nil {
			return err
		}
		if d.Passages, err = passagesOf(ctx, tx, slug, r.Signal); err != nil {
			return err
		}
		open, err := tx.Disputes(ctx, store.DisputeQuery{Brand: slug, Account: account, Undecided: true,
			Limit: maxOpenDisputes})
		if err != nil {
			return err
		}
		// A signal has one open dispute of an owner.
		same := func(d fieldmark.Dispute) bool { return d.Signal == r.Signal }
		if i := slices.IndexFunc(open, same); i >= 0 {
			return fieldmark.Errorf(fieldmark.CodeDisputeExists, "you opened a dispute of this signal on %s",
				date(open[i].OpenedAt))
		}
		if len(open) >= maxOpenDisputes {
			return fieldmark.Errorf(fieldmark.CodeTooManyDisputes, "%d of your disputes are open; wait for an answer",
				len(open))
		}
		// Counted last, so a refused dispute uses up nothing.
		if err := spend(ctx, tx, slug, actionDispute, fieldmark.CodeRateLimited, now); err != nil {
			return err
		}
		if err := tx.PutDispute(ctx, d); err != nil {
			return err
		}
		// The site was just audited: the next audit waits for the rest of an hour.
		due := now
		if b.FactsAt != nil && b.FactsAt.Std().Before(now) {
			due = latest(now, b.FactsAt.Std().Add(recheckWithin))
		}
		if err := tx.EnqueueAudit(ctx, slug, due); err != nil {
			return err
		}
		return s.changed(ctx, tx, b.Brand, &d, fieldmark.EventDisputeOpened)
	})
	if err != nil {
		return fieldmark.Dispute{}, fmt.Errorf("open a dispute of %s: %w", slug, err)
	}
	d.Excerpt, d.Owner = excerpt(d.Text), true
	return d, nil
}

// latest returns the later of two times.
func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// validateOwnerDispute returns everything that is wrong with a request: the rules of all
// disputes, and those of evidence. Addresses are only shown, never requested.
func validateOwnerDispute(r *fieldmark.DisputeRequest) error {
	var bad validation.Errors
	if r.Email != "" {
		bad.Add("/email", "conflict", "is not used with a key")
	}
	bad = append(bad, disputeErrors(r)...)
	if len(r.Evidence) > fieldmark.MaxDisputeEvidence {
		bad.Add("/evidence", "range", fmt.Sprintf("must be at most %d", fieldmark.MaxDisputeEvidence))
	}
	for i := range r.Evidence {
		e := &r.Evidence[i]
		e.URL, e.Note = strings.TrimSpace(e.URL), strings.TrimSpace(e.Note)
		if u, err := url.Parse(e.URL); err != nil || !validSite(e.URL) || u.Host == "" {
			bad.Add(fmt.Sprintf("/evidence/%d/url", i), "format", "must be an http or https address")
		}
		bad.Line(fmt.Sprintf("/evidence/%d/note", i), e.Note)
		if utf8.RuneCountInString(e.Note) > fieldmark.MaxDisputeNote {
			bad.Add(fmt.Sprintf("/evidence/%d/note", i), "too_long",
				fmt.Sprintf("must have at most %d characters", fieldmark.MaxDisputeNote))
		}
	}
	return bad.Err()
}

// disputedFacts returns the facts of a signal of the active module, or the fact of that id.
// A fact without a value now is left out: there is nothing to compare.
func (s *Disputes) disputedFacts(ctx context.Context, tx *store.Tx, facts *fieldmark.Facts,
	signal string) (list []fieldmark.DisputedFact, err error) {
	ids, err := s.factsOf(ctx, tx.ModuleReader, facts, signal)
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return nil, validation.Error("/signal", "enum", "must be the id of a signal of the score")
	}
	for _, id := range ids {
		if f, ok := facts.Find(id); ok {
			list = append(list, fieldmark.DisputedFact{ID: f.ID, State: f.State, Value: f.Value})
		}
	}
	return list, nil
}

// factsOf returns the ids of the facts that a dispute of a signal is about; none if the active module has
// no such signal.
func (s *Disputes) factsOf(ctx context.Context, db store.ModuleReader, facts *fieldmark.Facts,
	signal string) ([]string, error) {
	if signal == fieldmark.GateManipulation {
		return []string{fieldmark.FactManipulation}, nil
	}
	// A fact may be disputed by its own id.
	if _, ok := facts.Find(signal); ok {
		return []string{signal}, nil
	}
	if s.signalFacts == nil {
		return nil, nil
	}
	// Before the first module there are no signals.
	plan, err := db.ModulePlan(ctx)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	module, err := db.Module(ctx, plan.Digest)
	if err != nil {
		return nil, err
	}
	return s.signalFacts(module, signal)
}

// Findings returns the facts that a dispute is about, with their evidence: as they are now, and for a
// dispute of an owner also as they were when it was opened.
// An administrator sees what changed since.
func (s *Disputes) Findings(ctx context.Context, d *fieldmark.Dispute) (then, now []fieldmark.Fact, err error) {
	current, err := s.store.BrandState(ctx, d.Brand)
	if err != nil || current.Facts == nil {
		return nil, nil, err
	}
	if d.Account == "" {
		ids, err := s.factsOf(ctx, s.store.ModuleReader, current.Facts, d.Signal)
		for _, id := range ids {
			if f, ok := current.Facts.Find(id); ok {
				now = append(now, f)
			}
		}
		return nil, now, err
	}
	for _, was := range d.Facts {
		f, _ := current.Facts.Find(was.ID)
		f.ID = was.ID
		then = append(then, fieldmark.Fact{ID: was.ID, State: was.State, Value: was.Value, Unit: f.Unit})
		now = append(now, f)
	}
	return then, now, nil
}

// excerpt returns the part of an owner's text that is published: one line without characters
// that hide or turn text.
// The whole text is for administrators; the excerpt is on a public page.
func excerpt(text string) string {
	text = strings.Map(func(r rune) rune {
		if fieldmark.IsHidden(r) || unicode.IsControl(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > fieldmark.MaxDisputeExcerpt {
		runes = append(runes[:fieldmark.MaxDisputeExcerpt-1], '…')
	}
	return string(runes)
}

// public returns what is published of a dispute.
// Evidence of the public is not published: anyone could put links on the page of a brand.
func public(d *fieldmark.Dispute) fieldmark.DisputeStatus {
	status := d.DisputeStatus
	if d.Account != "" {
		status.Owner, status.Excerpt = true, excerpt(d.Text)
	} else {
		status.Evidence = nil
	}
	return status
}

// changed makes edges render the page of a brand again, and sends an event about a dispute.
func (s *Disputes) changed(ctx context.Context, tx *store.Tx, b fieldmark.Brand, d *fieldmark.Dispute,
	t fieldmark.EventType) error {
	if err := emitChanged(ctx, tx, b); err != nil || d.Account == "" {
		return err
	}
	return event.EmitBrand(ctx, tx, b.Slug, t, fieldmark.DisputeChange{ID: d.ID, Slug: b.Slug, Signal: d.Signal,
		Kind: d.Kind, State: d.State, Answer: d.Answer})
}

// ListOwn lists the disputes of a brand by the account that manages it, the newest first.
// They include those that were decided and withdrawn.
func (s *Disputes) ListOwn(ctx context.Context, account string, slug fieldmark.Slug) ([]fieldmark.Dispute, error) {
	if err := requireManager(ctx, s.store.ClaimReader, account, slug); err != nil {
		return nil, err
	}
	list, err := s.store.Disputes(ctx, store.DisputeQuery{Brand: slug, Account: account, Limit: maxOwnDisputes})
	for i := range list {
		list[i].Owner, list[i].Excerpt = true, excerpt(list[i].Text)
	}
	return list, err
}

// Withdraw ends a dispute by the account that opened it.
// Deciding and withdrawing exclude each other: the state is checked in the transaction.
func (s *Disputes) Withdraw(ctx context.Context, account string, slug fieldmark.Slug, id string) (d fieldmark.Dispute,
	err error) {
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := requireManager(ctx, tx.ClaimReader, account, slug); err != nil {
			return err
		}
		// One of another brand or account is not found, so that ids cannot be probed.
		if d, err = tx.Dispute(ctx, id); err == nil && (d.Brand != slug || d.Account != account) {
			err = store.ErrNotFound
		}
		if err != nil {
			return store.NotFound(err, "this brand has no such dispute")
		}
		if !d.State.Undecided() {
			return errDecided(&d)
		}
		b, err := tx.Brand(ctx, slug)
		if err != nil {
			return err
		}
		at := fieldmark.At(time.Now())
		d.State, d.DecidedAt = fieldmark.DisputeWithdrawn, &at
		if err := tx.PutDispute(ctx, d); err != nil {
			return err
		}
		return s.changed(ctx, tx, b.Brand, &d, fieldmark.EventDisputeWithdrawn)
	})
	if err != nil {
		return fieldmark.Dispute{}, fmt.Errorf("withdraw dispute %s: %w", id, err)
	}
	d.Owner, d.Excerpt = true, excerpt(d.Text)
	return d, nil
}

// errDecided names when a dispute ended.
func errDecided(d *fieldmark.Dispute) error {
	return fieldmark.Errorf(fieldmark.CodeDisputeDecided, "this dispute was %s on %s", d.State, date(*d.DecidedAt))
}

// startRecheck marks the open disputes of the owner: the audit that starts now is theirs.
func (s *Disputes) startRecheck(ctx context.Context, slug fieldmark.Slug) error {
	open, err := s.store.Disputes(ctx, store.DisputeQuery{Brand: slug, State: fieldmark.DisputeOpen,
		Limit: maxUpheld})
	if err != nil || !slices.ContainsFunc(open, func(d fieldmark.Dispute) bool { return d.Account != "" }) {
		return err
	}
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		// Each dispute is read again in the transaction: it may have been decided or withdrawn.
		for _, d := range open {
			if d.Account == "" {
				continue
			}
			if d, err = tx.Dispute(ctx, d.ID); err != nil {
				return err
			}
			if d.State != fieldmark.DisputeOpen { // withdrawn meanwhile
				continue
			}
			d.State = fieldmark.DisputeRechecking
			if err := tx.PutDispute(ctx, d); err != nil {
				return err
			}
		}
		return nil
	})
}

// endRecheck settles the disputes of which the audit found other facts, and leaves the others to
// an administrator. Without facts, the audit found nothing.
func (s *Disputes) endRecheck(ctx context.Context, tx *store.Tx, slug fieldmark.Slug, facts *fieldmark.Facts) error {
	list, err := tx.Disputes(ctx, store.DisputeQuery{Brand: slug, State: fieldmark.DisputeRechecking,
		Limit: maxUpheld})
	if err != nil || len(list) == 0 {
		return err
	}
	b, err := tx.Brand(ctx, slug)
	if err != nil {
		return err
	}
	// One different fact is enough: the finding that was disputed is gone.
	for i := range list {
		d := &list[i]
		differs := func(was fieldmark.DisputedFact) bool {
			f, ok := facts.Find(was.ID)
			return !ok || f.State != was.State || f.Value != was.Value
		}
		d.State = fieldmark.DisputeInReview
		if facts != nil && slices.ContainsFunc(d.Facts, differs) {
			at := fieldmark.At(time.Now())
			d.State, d.DecidedAt = fieldmark.DisputeSettled, &at
		}
		if err := tx.PutDispute(ctx, *d); err != nil {
			return err
		}
		if d.State == fieldmark.DisputeInReview {
			err = emitChanged(ctx, tx, b.Brand)
		} else {
			err = s.changed(ctx, tx, b.Brand, d, fieldmark.EventDisputeSettled)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// withUpheld returns facts in which those of upheld disputes of the owner are unknown, or do not
// apply: never better than they were found. A dispute counts for upheldFor, until the rules of
// the auditor change.
func withUpheld(ctx context.Context, db store.BrandReader, slug fieldmark.Slug, facts fieldmark.Facts,
	now time.Time) (fieldmark.Facts, error) {
	upheld, err := db.Disputes(ctx, store.DisputeQuery{Brand: slug, State: fieldmark.DisputeUpheld, Limit: maxUpheld})
	if err != nil {
		return facts, err
	}
	copied := false
	for i := range upheld {
		d := &upheld[i]
		if d.Account == "" || d.Rules != audit.Rules || now.Sub(d.DecidedAt.Std()) > upheldFor ||
			d.Signal == fieldmark.GateManipulation { // its passages do not count; others still do
			continue
		}
		// The result of the audit is that of the report, whose facts must stay as they were found.
		if !copied {
			facts.Facts, copied = slices.Clone(facts.Facts), true
		}
		for _, id := range d.Facts {
			at := slices.IndexFunc(facts.Facts, func(f fieldmark.Fact) bool { return f.ID == id.ID })
			if at < 0 {
				continue
			}
			f := &facts.Facts[at]
			f.State, f.Value = fieldmark.Unknown, 0
			if d.Kind == fieldmark.DisputeNotApplicable {
				f.State = fieldmark.NotApplicable
			}
			f.Evidence = []fieldmark.Evidence{{URL: fieldmark.PathBrands + string(slug) + "/disputes/" + d.ID,
				Fact: "disputed by the brand, upheld " + date(*d.DecidedAt)}}
			facts.Replicates = facts.Replicates.Without(id.ID)
		}
	}
	return facts, nil
}

package standing

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/rankingfile"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/store"
)

// batch is how many standings are computed between two transactions: enough to share the
// cost of a commit, and few enough that a conflict repeats little.
const batch = 200

// Scorer scores facts. This package has no WebAssembly runtime.
// Scoring may take milliseconds for each brand, so it is done outside of transactions.
type Scorer interface {
	// Score scores a brand by the module with a digest, which load returns, as of now.
	Score(ctx context.Context, module fieldmark.Digest, load func(context.Context) ([]byte, error),
		state *fieldmark.BrandState, now time.Time) (fieldmark.Score, error)
	// Ages are the ages of facts at which a score changes, in ascending order.
	Ages() []time.Duration
}

// Config configures a Service.
type Config struct {
	Store  *store.Store
	Jobs   *job.Runner
	Log    *slog.Logger
	Scorer Scorer // nil: another process computes standings
}

// Service computes standings.
type Service struct{ cfg Config }

// New returns a Service.
func New(cfg Config) *Service { return &Service{cfg} }

// Run computes standings as they become due, and ranks brands once a day, until ctx ends. Any
// number of processes may run: a standing that two of them computed is written, and its change
// sent, by one.
// The daily ranking is stored with its day, so it is made once however many processes run.
func (s *Service) Run(ctx context.Context) error {
	if s.cfg.Scorer == nil {
		return nil
	}
	var wg sync.WaitGroup
	wg.Go(func() { s.run(ctx) })
	wg.Go(func() { s.cfg.Jobs.AtStartAndEvery(ctx, rankPoll, "rank brands", s.rankDaily) })
	wg.Go(func() { s.cfg.Jobs.AtStartAndEvery(ctx, pruneInterval, "prune the changes of scores", s.prune) })
	wg.Wait()
	return nil
}

// run computes standings as they become due, and then the stale ones, which are of another module. These
// use half of the time of one processor.
func (s *Service) run(ctx context.Context) {
	for {
		// Watch comes before the read, so that a change between them is not missed.
		due := s.cfg.Store.Watch(store.TopicStandings)
		start := time.Now()
		found, err := s.compute(ctx)
		var pause <-chan time.Time // nil: until something is due
		switch {
		case err != nil && ctx.Err() == nil:
			// The store publishes due standings again when the database has recovered.
			s.cfg.Log.Error("compute standings", slog.Any("error", err))
		case err == nil && found == dueFound:
			continue
		case err == nil && found == staleFound:
			// Half of a processor: a new module must not slow down the requests of this
			// process.
			pause = time.After(time.Since(start))
		}
		select {
		case <-ctx.Done():
			return
		case <-due:
		case <-pause:
		}
	}
}

// found is the kind of standings that may remain after a batch of compute. They may if the batch was full.
type found int

const (
	nothingFound found = iota
	dueFound
	staleFound // of another module
)

// move is a standing before and after its computation.
type move struct {
	was, next store.Standing
	brand     fieldmark.Brand
	score     *fieldmark.Score // nil: the module failed for the brand
	crossed   bool             // the change reaches the default threshold
}

// compute computes one batch of standings.
// States are read without evidence, which no standing needs.
func (s *Service) compute(ctx context.Context) (what found, err error) {
	now := time.Now()
	plan, err := s.cfg.Store.ModulePlan(ctx)
	if errors.Is(err, store.ErrNotFound) {
		return nothingFound, nil
	}
	if err != nil {
		return nothingFound, err
	}
	what = dueFound
	// Due standings come first: receivers wait for their events.
	list, err := s.cfg.Store.DueStandings(ctx, now, batch)
	if err == nil && len(list) == 0 {
		what = staleFound
		list, err = s.cfg.Store.StaleStandings(ctx, plan.Digest, batch)
	}
	if err != nil || len(list) == 0 {
		return nothingFound, err
	}
	slugs := make([]fieldmark.Slug, len(list))
	for i := range list {
		slugs[i] = list[i].Brand
	}
	states, err := s.cfg.Store.BareStates(ctx, slugs)
	if err != nil {
		return nothingFound, err
	}
	// Ages of facts and trends depend on the day, so the next change by time alone is known here.
	next, err := s.cfg.Store.AddTrends(ctx, states, fieldmark.TrendTimes(now))
	if err != nil {
		return nothingFound, err
	}
	moves := make([]move, 0, len(list))
	for i := range list {
		state := states[list[i].Brand]
		if state == nil { // deleted meanwhile
			continue
		}
		m, err := s.score(ctx, &list[i], state, plan.Digest, now)
		if err != nil {
			return nothingFound, err
		}
		if m.score != nil && m.score.Ranked() {
			m.next.DueAt = earlier(m.next.DueAt, trendChange(next[list[i].Brand]))
		}
		moves = append(moves, m)
	}
	err = s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		var changed []fieldmark.Slug
		for i := range moves {
			written, err := put(ctx, tx, &moves[i])
			if err != nil {
				return err
			}
			if written && moves[i].brand.Public && moves[i].visible() {
				changed = append(changed, moves[i].was.Brand)
			}
		}
		return recordChanges(ctx, tx, changed)
	})
	// A batch that is not full was the last one.
	if len(list) < batch {
		what = nothingFound
	}
	return what, err
}

// score computes the standing of one brand. A brand that the module cannot score keeps what
// it had, until its facts or the module change.
func (s *Service) score(ctx context.Context, was *store.Standing, state *fieldmark.BrandState,
	module fieldmark.Digest, now time.Time) (move, error) {
	m := move{was: *was, next: *was, brand: state.Brand}
	m.next.Module, m.next.DueAt = module, nil
	score, err := s.cfg.Scorer.Score(ctx, module, func(ctx context.Context) ([]byte, error) {
		return s.cfg.Store.Module(ctx, module)
	}, state, now)
	if err != nil {
		// The database is unavailable: try again. Any other error is of this brand and must not stop
		// the others.
		if ctx.Err() != nil || fieldmark.IsCode(err, fieldmark.CodeOriginUnavailable) {
			return move{}, err
		}
		s.cfg.Log.Error("score a brand", slog.String("brand", string(was.Brand)), slog.Any("error", err))
		failed := rankingfile.Values{Status: fieldmark.StatusInsufficientData, Failed: true}
		m.next.Values = failed.Append(nil)
		return m, nil
	}
	m.score, m.next.Facts = &score, state.FactsDigest
	values := rankingfile.NewValues(&score)
	m.next.Values = values.Append(nil)
	m.next.Standing, m.next.Points = score.Standing(), score.Points()
	m.next.Spread, m.next.Confidence = nil, ""
	if score.Score != nil {
		m.next.Spread, m.next.Confidence = score.Range, score.Confidence.Level
	}
	// Evidence is not stored with standings: it is in the facts.
	m.next.Gates = nil
	for _, g := range score.Gates {
		g.Evidence = nil
		m.next.Gates = append(m.next.Gates, g)
	}
	m.next.Name, m.next.URL, m.next.Samples = state.Brand.Name, state.Brand.URL, digestOf(state)
	from := m.from(was.Sent)
	// The default threshold is that of accounts that poll.
	if m.crossed = m.next.Standing.Differs(from, fieldmark.DefaultScoreThreshold); m.crossed {
		from = m.next.Standing
	}
	m.next.Sent, m.next.Range = &from, nil
	if score.Ranked() {
		m.next.Range = score.Range
	}
	m.next.DueAt = s.ageLimit(&score, state, now)
	return m, nil
}

// ageLimit returns the next time at which age alone changes a score; nil: none.
func (s *Service) ageLimit(score *fieldmark.Score, state *fieldmark.BrandState, now time.Time) *time.Time {
	var next *time.Time
	// The score changes when the facts or samples are older than the age.
	limit := func(from fieldmark.Time, age time.Duration) {
		if at := from.Std().Add(age + time.Millisecond); at.After(now) {
			next = earlier(next, &at)
		}
	}
	if score.AsOf != nil {
		for _, age := range s.cfg.Scorer.Ages() {
			limit(*score.AsOf, age)
		}
	}
	for i := range state.Studies {
		limit(state.Studies[i].To, fieldmark.VisibilityWithin)
	}
	return next
}

// trendDays are the days that trends look back, from the start of the present one.
var trendDays = [3]int{7, 30, 90}

// trendChange returns the start of the day from which trends compare with another revision than now; nil: of no
// day that is known yet. next are the starts of the revisions that follow those that trends compare with.
func trendChange(next [3]*time.Time) (change *time.Time) {
	const day = 24 * time.Hour
	for i, began := range next {
		if began != nil {
			at := began.UTC().Add(day-time.Microsecond).Truncate(day).AddDate(0, 0, trendDays[i])
			change = earlier(change, &at)
		}
	}
	return change
}

// earlier returns the earlier of two times, of which nil is the latest.
func earlier(a, b *time.Time) *time.Time {
	if a == nil || b != nil && b.Before(*a) {
		return b
	}
	return a
}

// digestOf identifies the visibility samples and studies of a brand; it is empty without any.
func digestOf(state *fieldmark.BrandState) fieldmark.Digest {
	if len(state.Visibility)+len(state.Studies) == 0 {
		return ""
	}
	text, err := json.Marshal(state.Visibility)
	if err != nil {
		panic("BUG: samples cannot be encoded: " + err.Error())
	}
	for i := range state.Studies {
		text = append(text, state.Studies[i].Digest...)
	}
	return fieldmark.DigestOf(sha256.Sum256(text))
}

// put stores a computed standing and sends its change, unless another process did, or the
// brand became due again meanwhile. It reports whether it wrote the standing.
// The comparison with m.was makes the write conditional: two processes that computed the same
// standing write one.
func put(ctx context.Context, tx *store.Tx, m *move) (written bool, err error) {
	written, err = tx.PutStanding(ctx, &m.was, &m.next)
	if err != nil || !written || m.score == nil || !m.next.Standing.Differs(m.from(nil), 0) {
		return written, err
	}
	to, err := m.audience(ctx, tx)
	if err != nil || len(to) == 0 {
		return written, err
	}
	return written, to.Emit(ctx, tx, m.was.Brand, fieldmark.EventScoreChanged, m.change())
}

// audience returns the endpoints whose threshold the move crosses, and stores that they were
// sent it. An account that manages the brand and has no endpoint for its score polls, and
// has the default threshold.
func (m *move) audience(ctx context.Context, tx *store.Tx) (event.Audience, error) {
	to, err := event.BrandAudience(ctx, tx, m.was.Brand, fieldmark.EventScoreChanged)
	if err != nil || len(to) == 0 {
		return nil, err
	}
	// An account without an endpoint for the brand polls its events.
	polls := map[string]bool{}
	for account, endpoints := range to {
		polls[account] = len(endpoints) == 0
	}
	watches, err := tx.Watches(ctx, m.was.Brand)
	if err != nil {
		return nil, err
	}
	for _, w := range watches {
		if !to[w.Account][w.Endpoint] {
			continue
		}
		from, threshold := m.from(w.Sent), fieldmark.DefaultScoreThreshold
		if w.Threshold != nil {
			threshold = *w.Threshold
		}
		if m.next.Standing.Differs(from, threshold) {
			from = m.next.Standing
			// The first standing is stored even if it crosses no threshold: later ones are compared
			// with it.
		} else if delete(to[w.Account], w.Endpoint); w.Sent != nil {
			continue
		}
		if err := tx.SetSent(ctx, w.Endpoint, m.was.Brand, from); err != nil {
			return nil, err
		}
	}
	maps.DeleteFunc(to, func(account string, endpoints map[string]bool) bool {
		return len(endpoints) == 0 && !(polls[account] && m.crossed)
	})
	return to, nil
}

// from returns the standing that a change is compared with: the one that was sent last or, before the
// first change, the previous one.
func (m *move) from(sent *fieldmark.Standing) fieldmark.Standing {
	switch {
	case sent != nil:
		return *sent
	case m.was.Module == "":
		return fieldmark.Standing{Status: fieldmark.StatusPending}
	}
	return m.was.Standing
}

// change returns the event of a move. It has at most fieldmark.MaxSignalChanges signals, those that
// changed most.
func (m *move) change() fieldmark.ScoreChange {
	c := fieldmark.ScoreChange{Slug: m.brand.Slug, Name: m.brand.Name, URL: m.brand.URL,
		From: m.from(nil), To: m.next.Standing, Cause: m.cause(),
		Module:  fieldmark.DigestChange{From: m.was.Module, To: m.next.Module},
		Facts:   fieldmark.DigestChange{From: m.was.Facts, To: m.next.Facts},
		Signals: fieldmark.ChangedSignals(m.was.Points, &m.score.Assessment, fieldmark.MaxSignalChanges),
		Gates:   fieldmark.ChangedGates(m.was.Gates, m.next.Gates)}
	if c.From.Score != nil && c.To.Score != nil {
		delta := *c.To.Score - *c.From.Score
		c.Delta = &delta
	}
	return c
}

// cause returns why the score changed. A new name or URL is the cause only if the facts changed too:
// until the next audit it has no effect on them.
func (m *move) cause() fieldmark.ChangeCause {
	renamed := m.was.URL != m.next.URL || m.was.Name != m.next.Name
	switch {
	case m.was.Module == "":
		return fieldmark.CauseFacts
	case m.was.Facts != m.next.Facts && renamed && m.was.URL != "":
		return fieldmark.CauseAlias
	case m.was.Facts != m.next.Facts:
		return fieldmark.CauseFacts
	case m.was.Module != m.next.Module:
		return fieldmark.CauseModule
	case m.was.Samples != m.next.Samples:
		return fieldmark.CauseSamples
	}
	return fieldmark.CauseAge
}

// Current scores a brand by the active module as of now, with the facts and their evidence
// that the score is of. It is CodeNotFound without an active module.
// It does not read the stored standing, which may wait to be computed.
func (s *Service) Current(ctx context.Context, slug fieldmark.Slug) (score fieldmark.Score, state fieldmark.BrandState,
	err error) {
	if state, err = s.cfg.Store.BrandState(ctx, slug); err != nil {
		return score, state, store.NotFound(err, "there is no such brand")
	}
	score, err = s.ScoreAt(ctx, &state, time.Now())
	return score, state, err
}

// Before scores a brand by the active module with the facts before the present ones, as of
// the last audit that found them. It reports false without such facts.
func (s *Service) Before(ctx context.Context, state fieldmark.BrandState) (score fieldmark.Score, ok bool, err error) {
	revisions, err := s.cfg.Store.Revisions(ctx, state.Brand.Slug, time.Time{}, time.Now(), 2)
	if err != nil || len(revisions) < 2 {
		return score, false, err
	}
	last := revisions[0]
	state.Facts, state.FactsDigest = last.Facts, last.Digest
	score, err = s.ScoreAt(ctx, &state, last.LastAt.Std())
	return score, err == nil, err
}

// ScoreAt scores a brand by the active module as of a time.
func (s *Service) ScoreAt(ctx context.Context, state *fieldmark.BrandState, at time.Time) (score fieldmark.Score,
	err error) {
	if s.cfg.Scorer == nil {
		return score, fieldmark.Errorf(fieldmark.CodeOriginUnavailable, "this process computes no scores")
	}
	plan, err := s.cfg.Store.ModulePlan(ctx)
	if err != nil {
		return score, store.NotFound(err, "no module is active")
	}
	return s.cfg.Scorer.Score(ctx, plan.Digest, func(ctx context.Context) ([]byte, error) {
		return s.cfg.Store.Module(ctx, plan.Digest)
	}, state, at)
}

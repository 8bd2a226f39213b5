package edge

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/edge/site"
	"github.com/fieldmark/fieldmark/origin/client"
	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/scoring"
)

// Scores and facts of the past: a score at a time, the history of a score, and facts and modules by their digest.

// The lifetimes of responses that a digest identifies. Facts are deleted with their brand,
// so shared caches must not keep them indefinitely.
// A module is named by its digest and contains nothing of a brand, so caches may keep it for
// good.
const (
	foreverControl = "public, max-age=31536000, immutable"
	factsControl   = "public, max-age=3600, immutable"
	digestFresh    = 24 * time.Hour
)

const (
	historyDays  = 90 // without a from
	maxSignals   = 12 // of a change: the largest
	historySlash = "/history"
	factsSlash   = "/facts/"
)

// scoreEndpoints serve scores, their history, and the facts and modules behind them.
// They are read-only and public; every document names the facts and the module it was made
// from.
type scoreEndpoints struct {
	*responder
	fetcher *fetcher
	scorer  *scorer
	origin  *client.Client
	replica *replicaState
}

// serveScoreOf handles the paths below /api/v1/score/.
// Routes are matched by the start of the path, so the rest is parsed here. A slug is checked
// before anything is looked up by it.
func (e *scoreEndpoints) serveScoreOf(ctx *fasthttp.RequestCtx) {
	path := string(ctx.Path()[len(fieldmark.PathScore):])
	slug, rest, deeper := strings.Cut(path, "/")
	rest = "/" + rest
	switch {
	case !fieldmark.ValidSlug(slug):
		e.fail(ctx, brandNotFound())
	case !deeper:
		e.serveScore(ctx, fieldmark.Slug(slug))
	case rest == historySlash:
		e.serveHistory(ctx, fieldmark.Slug(slug))
	case strings.HasPrefix(rest, factsSlash):
		e.serveFacts(ctx, fieldmark.Slug(slug), rest)
	default:
		e.fail(ctx, fieldmark.Errorf(fieldmark.CodeNotFound, "there is nothing at this address"))
	}
}

// parseTimes reads parameters that are times or days, each at most once, and
// hands any other to more, which reports whether it is known.
// All errors of a query are returned together. into maps names to where their values go; it
// The table also lists which parameters are times.
func parseTimes(ctx *fasthttp.RequestCtx, into map[string]*time.Time, known string,
	more func(name, value string) (code, detail string, ok bool)) error {
	var bad []fieldmark.FieldError
	seen := map[string]bool{}
	for k, v := range ctx.QueryArgs().All() {
		name, value := string(k), string(v)
		code, detail := "", ""
		to, isTime := into[name]
		switch {
		// A parameter given twice would be read differently by different programs.
		case seen[name]:
			code, detail = "conflict", "must be given once"
		case isTime:
			var ok bool
			if *to, ok = parseTime(value); !ok {
				code, detail = "format", "must be an RFC 3339 time, or a day such as 2026-11-21"
			}
		default:
			var ok bool
			if code, detail, ok = more(name, value); !ok {
				// Unknown parameters are errors: a misspelt one would silently change the
				// answer.
				bad = append(bad, unknownParameter(name, known))
			}
		}
		if seen[name] = true; code != "" {
			bad = append(bad, fieldmark.FieldError{Pointer: "?" + name, Code: code, Detail: detail})
		}
	}
	if bad == nil {
		return nil
	}
	return &fieldmark.Error{Code: fieldmark.CodeInvalidParameter, Detail: "the query is not acceptable", Fields: bad}
}

// parseTime reads a time to the second, or a day as its last one.
// The last second of a day includes everything that happened on it.
func parseTime(text string) (time.Time, bool) {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day.AddDate(0, 0, 1).Add(-time.Second), true
	}
	at, err := time.Parse(time.RFC3339, text)
	// Fractions of a second would make any number of cache keys of one answer.
	return at.UTC().Truncate(time.Second), err == nil
}

// serveScoreAt handles GET /api/v1/score/{slug}?agedUntil=: what the facts of then come
// to by today's module, judged as of then.
func (e *scoreEndpoints) serveScoreAt(ctx *fasthttp.RequestCtx, slug fieldmark.Slug, at time.Time) {
	isDay := len(ctx.QueryArgs().Peek("asOf")) == len(time.DateOnly)
	entry, from, err := e.scoreAt(ctx, slug, at, isDay)
	e.sendDerived(ctx, entry, from, err, "")
}

// scoreAt returns the document of serveScoreAt for a time, or for a day.
func (e *scoreEndpoints) scoreAt(ctx *fasthttp.RequestCtx, slug fieldmark.Slug, at time.Time,
	isDay bool) (*cache.Entry, cache.Source, error) {
	now := time.Now()
	// A day that is not over has an answer as of now.
	today := isDay && at.After(now) && at.Sub(now) < 24*time.Hour
	if at.After(now) && !today {
		// A score of the future would be a promise.
		return nil, cache.SourceNone, badParameter("asOf", "range", "must not be in the future")
	}
	key := fieldmark.PathScore + string(slug) + "@" + at.Format(time.RFC3339)
	if today {
		key += "/open" // the whole day has another answer once it is over
	}
	// It is cached under the time: the past changes only with the module, which the tag covers.
	return e.derived(ctx, slug, key, func(ctx context.Context, m *wasm.Module) (*cache.Entry, int64, error) {
		at := at
		if today {
			at = time.Now()
		}
		// The origin returns the facts as they were known then.
		state, asOf, err := e.origin.BrandStateAt(ctx, slug, at)
		if err := asNotFound(slug, &state, err); err != nil {
			return nil, 0, asUnavailable(err)
		}
		score, err := e.scorer.assessBy(ctx, m, state, at)
		if err != nil {
			return nil, 0, err
		}
		entry, err := newJSONEntry(score, "", scoreCacheControl)
		return entry, asOf, err
	})
}

// badParameter returns the error of one query parameter.
func badParameter(name, code, detail string) error {
	return &fieldmark.Error{Code: fieldmark.CodeInvalidParameter, Detail: "the query is not acceptable",
		Fields: []fieldmark.FieldError{{Pointer: "?" + name, Code: code, Detail: detail}}}
}

// sendDerived sends what derived returned, of the score API.
// suffix follows the slug in the path, so an alias is redirected to the same document of its
// brand.
func (e *scoreEndpoints) sendDerived(ctx *fasthttp.RequestCtx, entry *cache.Entry, from cache.Source, err error,
	suffix string) {
	if err != nil {
		e.failBrand(ctx, err, fieldmark.PathScore, suffix)
		return
	}
	e.send(ctx, entry, from)
}

// derived returns a document that the active module derives from a brand's facts, and
// caches it like a score.
// The entry is dropped by events about the brand and about modules, so it is never older than
// what it was made from.
func (e *scoreEndpoints) derived(ctx *fasthttp.RequestCtx, slug fieldmark.Slug, key string,
	derive func(ctx context.Context, m *wasm.Module) (entry *cache.Entry, asOf int64, err error)) (*cache.Entry,
	cache.Source, error) {
	// Refused before a fill begins: requests for unknown slugs must not reach the origin.
	if err := e.scorer.checkExists(slug); err != nil {
		return nil, cache.SourceNone, err
	}
	if err := e.scorer.modules.require(); err != nil {
		return nil, cache.SourceNone, err
	}
	// getLimited, because a client can name any number of times: those that are not cached
	// count for its network.
	return e.fetcher.getLimited(ctx, key, func(ctx context.Context) (*cache.Entry, error) {
		// An activation between the two reads makes the entry stale and never wrongly fresh.
		known := e.replica.moduleAsOf.Load() // before the module is read
		registry, _ := e.scorer.modules.registryFor(slug)
		m, release, err := registry.Acquire()
		if err != nil {
			return nil, errNoModule
		}
		defer release()
		entry, asOf, err := derive(ctx, m)
		if err != nil {
			return nil, err
		}
		// The older of the two positions: whatever happens after it invalidates the entry.
		entry.AsOf, entry.Tags = min(asOf, known), scoreTags(slug)
		entry.Fresh, entry.OnError = derivedFresh, derivedOnError
		return entry, nil
	})
}

// historyQuery is a request for a history, checked.
type historyQuery struct {
	from, to time.Time // without a to: the present, whenever it is answered
	untilNow bool
	step     string
}

// key names the answer; an open end is one name for all of a day.
func (q *historyQuery) key() string {
	// Otherwise each second would have another entry.
	to := "now"
	if !q.untilNow {
		to = q.to.Format(time.RFC3339)
	}
	return q.step + "/" + q.from.Format(time.DateOnly) + "/" + to
}

// parseHistoryQuery returns a checked query, with the defaults filled in.
func parseHistoryQuery(ctx *fasthttp.RequestCtx, now time.Time) (historyQuery, error) {
	q := historyQuery{step: fieldmark.StepDay}
	err := parseTimes(ctx, map[string]*time.Time{"from": &q.from, "to": &q.to}, "from, to and step",
		func(name, value string) (string, string, bool) {
			if name != "step" {
				return "", "", false
			}
			if q.step = value; value != fieldmark.StepDay && value != fieldmark.StepWeek {
				return "enum", "must be day or week", true
			}
			return "", "", true
		})
	if err != nil {
		return q, err
	}
	// An end in the future is the present.
	if q.to.IsZero() || q.to.After(now) {
		q.to, q.untilNow = now.UTC(), true
	}
	if q.from.IsZero() {
		q.from = q.to.AddDate(0, 0, -historyDays)
	}
	// Steps begin at midnight UTC, so the points of two queries are at the same times.
	q.from = q.from.UTC().Truncate(24 * time.Hour)
	switch {
	case q.from.After(q.to):
		return q, badParameter("from", "range", "must be before to")
	// It bounds how many assessments one request causes.
	case int(q.to.Sub(q.from)/q.stepDuration()) >= fieldmark.MaxHistoryPoints:
		return q, badParameter("from", "range", fmt.Sprintf("must be less than %d steps before to",
			fieldmark.MaxHistoryPoints))
	}
	return q, nil
}

// stepDuration returns the length of a step. A week has seven days of 24 hours: UTC has no
// other.
func (q *historyQuery) stepDuration() time.Duration {
	if q.step == fieldmark.StepWeek {
		return 7 * 24 * time.Hour
	}
	return 24 * time.Hour
}

// serveHistory handles GET /api/v1/score/{slug}/history.
func (e *scoreEndpoints) serveHistory(ctx *fasthttp.RequestCtx, slug fieldmark.Slug) {
	q, err := parseHistoryQuery(ctx, time.Now())
	if err != nil {
		e.fail(ctx, err)
		return
	}
	entry, from, err := e.history(ctx, slug, q)
	e.sendDerived(ctx, entry, from, err, historySlash)
}

// history returns the document of serveHistory.
func (e *scoreEndpoints) history(ctx *fasthttp.RequestCtx, slug fieldmark.Slug, q historyQuery) (*cache.Entry,
	cache.Source, error) {
	key := fieldmark.PathScore + string(slug) + historySlash + "/" + q.key()
	return e.derived(ctx, slug, key,
		func(ctx context.Context, m *wasm.Module) (*cache.Entry, int64, error) {
			q := q
			// The closure may run later than the request: a waiting fill answers as of the time
			// at which it runs.
			if q.untilNow {
				q.to = time.Now().UTC()
			}
			past, asOf, err := e.origin.BrandHistory(ctx, slug, q.from, q.to)
			if err := asNotFound(slug, &fieldmark.BrandState{Brand: past.Brand}, err); err != nil {
				return nil, 0, asUnavailable(err)
			}
			h, err := historyOf(ctx, m, &past, q)
			if err != nil {
				return nil, 0, err
			}
			entry, err := newJSONEntry(h, "", scoreCacheControl)
			return entry, asOf, err
		})
}

// serveFeed handles GET /brands/{slug}/feed.atom: the changes of a year.
// It is the same for all readers and has no parameters.
func (e *scoreEndpoints) serveFeed(ctx *fasthttp.RequestCtx) {
	path := string(ctx.Path())
	slug := fieldmark.Slug(strings.TrimSuffix(strings.TrimPrefix(path, fieldmark.PathBrandPage), site.FeedSuffix))
	if !fieldmark.ValidSlug(string(slug)) {
		e.fail(ctx, brandNotFound())
		return
	}
	if err := noParameters(ctx); err != nil {
		e.fail(ctx, err)
		return
	}
	entry, from, err := e.derived(ctx, slug, path,
		func(ctx context.Context, m *wasm.Module) (*cache.Entry, int64, error) {
			now := time.Now().UTC()
			q := historyQuery{from: now.AddDate(-1, 0, 0), to: now}
			past, asOf, err := e.origin.BrandHistory(ctx, slug, q.from, q.to)
			if err := asNotFound(slug, &fieldmark.BrandState{Brand: past.Brand}, err); err != nil {
				return nil, 0, asUnavailable(err)
			}
			body, err := e.feedOf(ctx, m, &past, q)
			if err != nil {
				return nil, 0, err
			}
			return newEntry(body, etagOf(body), "Content-Type", site.FeedType, "Cache-Control", scoreCacheControl,
				"X-Content-Type-Options", "nosniff", "Access-Control-Allow-Origin", "*"), asOf, nil
		})
	if err != nil {
		e.failBrand(ctx, err, fieldmark.PathBrandPage, site.FeedSuffix)
		return
	}
	e.send(ctx, entry, from)
}

// feedOf returns the feed of the changes in a period. Names of signals come from the module,
// because facts have ids only.
func (e *scoreEndpoints) feedOf(ctx context.Context, m *wasm.Module, past *fieldmark.BrandHistory,
	q historyQuery) ([]byte, error) {
	h := fieldmark.ScoreHistory{}
	if err := markChanges(ctx, m, past, q, &h); err != nil {
		return nil, err
	}
	f := site.Feed{BaseURL: e.baseURL, Brand: past.Brand, Changes: h.Changes, Disputes: past.Disputes,
		Labels: map[string]string{}}
	// They are needed for disputes only.
	if n := len(past.Revisions); n > 0 && len(past.Disputes) > 0 {
		a, err := m.EvaluatePast(ctx, past.Revisions[n-1].Facts, q.to)
		if err != nil {
			return nil, err
		}
		for _, c := range a.Components {
			for _, s := range c.Signals {
				f.Labels[s.ID] = s.Label
			}
		}
	}
	return f.Encode()
}

// The history a brand's page draws: days while they are few, else weeks.
const (
	chartDays  = 120
	chartWeeks = 52
)

// history returns the history drawn on a brand's page, as scored by the active module.
// It is drawn if the origin answers in time: the page does without it otherwise.
func (s *scorer) history(ctx context.Context, slug fieldmark.Slug) (*fieldmark.ScoreHistory, error) {
	registry, _ := s.modules.registryFor(slug)
	m, release, err := registry.Acquire()
	if err != nil {
		return nil, errNoModule
	}
	defer release()
	now := time.Now().UTC()
	q := historyQuery{to: now, from: now.AddDate(0, 0, -7*chartWeeks).Truncate(24 * time.Hour),
		step: fieldmark.StepWeek}
	// A slow origin must not delay a page that is complete without the chart.
	optional, cancel := context.WithTimeout(ctx, chartTimeout)
	defer cancel()
	past, _, err := s.origin.BrandHistory(optional, slug, q.from, q.to)
	if err != nil {
		return nil, err
	}
	// A new brand has a point a day, or its chart would be two points.
	if n := len(past.Revisions); n > 0 && now.Sub(past.Revisions[0].FirstAt.Std()) < chartDays*24*time.Hour {
		q.from, q.step = past.Revisions[0].FirstAt.Std().UTC().Truncate(24*time.Hour), fieldmark.StepDay
	}
	h, err := historyOf(ctx, m, &past, q)
	if h != nil {
		h.Studies = past.Studies // also those from before the first audit
	}
	return h, err
}

// historyOf scores the revisions of a brand at every step.
// It evaluates each revision at most once for each limit of age it passes, not once for each
// step.
func historyOf(ctx context.Context, m *wasm.Module, past *fieldmark.BrandHistory,
	q historyQuery) (*fieldmark.ScoreHistory, error) {
	h := &fieldmark.ScoreHistory{
		Slug: past.Brand.Slug, Name: past.Brand.Name, From: fieldmark.At(q.from), To: fieldmark.At(q.to), Step: q.step,
		Points: []fieldmark.HistoryPoint{}, Changes: []fieldmark.HistoryChange{}, Methodology: m.Methodology(),
		Module: m.Ref(),
	}
	for _, p := range past.Studies {
		if !p.To.Std().Before(q.from) {
			h.Studies = append(h.Studies, p)
		}
	}
	next := 0                  // the first revision that is not yet
	var a fieldmark.Assessment // of the last step
	var assessed [2]int        // its revision and its age
	for at := q.from; at.Before(q.to); {
		at = at.Add(q.stepDuration())
		if at.After(q.to) {
			at = q.to
		}
		for next < len(past.Revisions) && !past.Revisions[next].FirstAt.Std().After(at) {
			next++
		}
		if next == 0 {
			continue // not audited yet
		}
		r := past.Revisions[next-1]
		facts := *r.Facts
		// The audit confirmed these facts until LastAt; a step before that has them as of the
		// step.
		if facts.AsOf = r.LastAt; facts.AsOf.Std().After(at) {
			facts.AsOf = fieldmark.At(at)
		}
		// The same facts change their assessment only at the limits of age.
		if step := [2]int{next, ageOf(facts.AsOf.Std(), at)}; step != assessed {
			var err error
			if a, err = m.Evaluate(ctx, &facts, at); err != nil {
				return nil, err
			}
			assessed = step
		}
		h.Points = append(h.Points, fieldmark.HistoryPoint{
			At: fieldmark.At(at), Status: a.Status, Score: a.Score, Grade: a.Grade, Range: a.Range,
			Confidence: a.Confidence.Level, AsOf: &facts.AsOf, FactsDigest: r.Digest,
		})
	}
	return h, markChanges(ctx, m, past, q, h)
}

// ageOf returns how many of the limits of age facts of an instant have passed at a time.
// Between the limits the age of facts does not change an assessment.
func ageOf(facts, at time.Time) (passed int) {
	for _, limit := range scoring.AgeLimits() {
		if at.Sub(facts) > limit {
			passed++
		}
	}
	return passed
}

// markChanges adds the changes of facts and modules between the two ends.
// A change is a revision of facts or an activation of a module; both are in the order of time.
func markChanges(ctx context.Context, m *wasm.Module, past *fieldmark.BrandHistory, q historyQuery,
	h *fieldmark.ScoreHistory) error {
	activations := past.Activations
	module := func(until time.Time) {
		for len(activations) > 0 && !activations[0].At.Std().After(until) {
			if a := activations[0]; !a.At.Std().Before(q.from) {
				h.Changes = append(h.Changes, fieldmark.HistoryChange{At: a.At, Kind: fieldmark.ChangeModule,
					Module: &a.Module})
			}
			activations = activations[1:]
		}
	}
	var before *fieldmark.Assessment
	// Revisions before the period are evaluated as well: the first change in it is compared
	// with the one before.
	for i := range past.Revisions {
		r := &past.Revisions[i]
		module(r.FirstAt.Std())
		a, err := m.EvaluatePast(ctx, r.Facts, r.FirstAt.Std())
		if err != nil {
			return err
		}
		if !r.FirstAt.Std().Before(q.from) {
			c := fieldmark.HistoryChange{At: r.FirstAt, Kind: fieldmark.ChangeFacts, FactsDigest: r.Digest,
				Score: a.Score}
			if before != nil {
				c.Signals, c.Gates = fieldmark.ChangedSignals(before.Points(), &a, maxSignals),
					fieldmark.ChangedGates(before.Gates, a.Gates)
				if before.Score != nil && a.Score != nil {
					moved := *a.Score - *before.Score
					c.Moved = &moved
				}
			}
			h.Changes = append(h.Changes, c)
		}
		before = &a
	}
	module(q.to)
	return nil
}

// serveFacts handles GET /api/v1/score/{slug}/facts/{digest}: the bytes with that digest.
// Edges and readers recompute scores from it.
func (e *scoreEndpoints) serveFacts(ctx *fasthttp.RequestCtx, slug fieldmark.Slug, suffix string) {
	digest, err := fieldmark.ParseDigest(suffix[len(factsSlash):])
	if err != nil {
		e.fail(ctx, fieldmark.Errorf(fieldmark.CodeNotFound, "there are no such facts"))
		return
	}
	if err := e.scorer.checkExists(slug); err != nil {
		e.failBrand(ctx, err, fieldmark.PathScore, suffix)
		return
	}
	e.serveDigest(ctx, digest, fieldmark.PathScore+string(slug)+suffix, "application/json", factsControl,
		[]string{string(fieldmark.TagBrand(slug))},
		func(ctx context.Context) ([]byte, int64, error) { return e.origin.FactsBody(ctx, slug, digest) })
}

// serveModule handles GET /api/v1/modules/{digest}: the module itself, so that anyone
// can reproduce a score.
// Modules are no secret: the method is public.
func (e *scoreEndpoints) serveModule(ctx *fasthttp.RequestCtx) {
	digest, err := fieldmark.ParseDigest(string(ctx.Path()[len(fieldmark.PathModules):]))
	if err != nil {
		e.fail(ctx, fieldmark.Errorf(fieldmark.CodeNotFound, "there is no such module"))
		return
	}
	e.serveDigest(ctx, digest, fieldmark.PathModules+string(digest), "application/wasm", foreverControl, nil,
		func(ctx context.Context) ([]byte, int64, error) {
			asOf := e.replica.purged.Load()
			body, err := e.origin.Module(ctx, digest)
			return body, asOf, err
		})
}

// serveDigest answers bytes that their digest names, once they were seen to be it.
// The digest is verified before the bytes are stored, so a damaged answer is never kept for a
// year.
func (e *scoreEndpoints) serveDigest(ctx *fasthttp.RequestCtx, digest fieldmark.Digest, key, kind, control string,
	tags []string,
	fetch func(ctx context.Context) ([]byte, int64, error)) {
	if err := noParameters(ctx); err != nil {
		e.fail(ctx, err)
		return
	}
	e.serveCached(ctx, e.fetcher.getLimited, key, func(ctx context.Context) (*cache.Entry, error) {
		body, asOf, err := fetch(ctx)
		// Gone, not merely absent: an entry that is stale must not be served any longer.
		if fieldmark.IsCode(err, fieldmark.CodeNotFound) {
			return nil, fmt.Errorf("%w: %w", cache.ErrGone, err)
		}
		if err != nil {
			return nil, asUnavailable(err)
		}
		// The origin answered with something else, which counts as a failure of the origin.
		if got := fieldmark.DigestOf(sha256.Sum256(body)); got != digest {
			return nil, asUnavailable(fmt.Errorf("requested %s, received %s", digest, got))
		}
		entry := newEntry(body, `"`+string(digest)+`"`,
			"Content-Type", kind,
			"Cache-Control", control,
			"X-Content-Type-Options", "nosniff",
			"Access-Control-Allow-Origin", "*")
		entry.AsOf, entry.Tags, entry.Fresh, entry.OnError = asOf, tags, digestFresh, derivedOnError
		return entry, nil
	}, e.fail)
}

package edge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/edge/compress"
	"github.com/fieldmark/fieldmark/edge/ranking"
	"github.com/fieldmark/fieldmark/edge/site"
	"github.com/fieldmark/fieldmark/origin/client"
	"github.com/fieldmark/fieldmark/wasm/scoring"
)

// The lifetimes of what is derived from facts. Events make it exact, so the
// first one only bounds how long a node that lost its log may be behind.
//
// A score is never served while it is being derived again: what is drawn from
// it would be old at birth. Badges and pages may be.
const (
	derivedFresh   = 5 * time.Minute
	derivedStale   = 24 * time.Hour
	derivedOnError = 7 * 24 * time.Hour
)

// proofRetryAfter is when the public log has a score that changed just now.
const proofRetryAfter = time.Second

// scorer derives scores from the facts at the origin.
type scorer struct {
	origin   *client.Client
	cache    *cache.Cache
	fetcher  *fetcher
	modules  *modules
	rankings *ranking.Store // which brands exist
	replica  *replicaState  // how new the module and the facts are
	meters   *meters
	log      *slog.Logger
}

// scoreValue is what a cached score document holds beside its bytes. The body ends before
// the rank, which changes with other brands and is added per response.
type scoreValue struct {
	head
	score fieldmark.Score // without signals and their evidence: see decodeScore
	etag  string          // without the rank
	stale bool            // what the module before made of it, for the present one could not
	gzip  compress.LazySuffixable
}

// What a score keeps beside its document; TestMemoryBound compares it with the heap.
const (
	// scoreOverhead is the bytes of the value, the score without its signals and the
	// header block.
	scoreOverhead = 2 << 10
	// gzipShare is what share of the document its compressed form is, or less.
	gzipShare = 4
)

// scoreFormat is the version of the score documents that nodes share through Redis.
// It changes with every change of their form or meaning that the module's digest does
// not show: during a rolling upgrade old and new nodes must not read each other's.
const scoreFormat = "9"

// scoreKey is the cache key of a brand's score document, in memory and in Redis.
func scoreKey(slug fieldmark.Slug) string { return "score/" + scoreFormat + "/" + string(slug) }

// scoreTags are the tags of a brand's score, and of all that is made from it.
func scoreTags(slug fieldmark.Slug) []string {
	return []string{string(fieldmark.TagBrand(slug)), string(fieldmark.TagModule)}
}

// readerLease is how long a reader waits for a score that another node is making:
// well below a reader's patience.
const readerLease = time.Second

const scoreCacheControl = "public, max-age=60, s-maxage=300, stale-while-revalidate=3600, stale-if-error=86400"

// serveScore handles GET /api/v1/score/{slug}.
func (e *scoreEndpoints) serveScore(ctx *fasthttp.RequestCtx, slug fieldmark.Slug) {
	var end suffix
	if len(ctx.URI().QueryString()) > 0 {
		var at time.Time
		err := parseTimes(ctx, map[string]*time.Time{"asOf": &at}, "asOf, advice, owner, disputes and proof", end.parse)
		if name := end.today(); err == nil && !at.IsZero() && name != "" {
			err = badParameter(name, "conflict", "is about today; leave asOf out")
		}
		if err != nil {
			e.fail(ctx, err)
			return
		}
		if !at.IsZero() {
			e.serveScoreAt(ctx, slug, at)
			return
		}
	}
	rc, cancel := e.fetcher.context(ctx)
	defer cancel()
	entry, from, err := e.scorer.get(rc, slug)
	if err != nil {
		e.failBrand(ctx, err, fieldmark.PathScore, "")
		return
	}
	v := entry.Value.(*scoreValue)
	if end.owner || end.disputes { // without them the document would deny that there are any
		if end.annotations, _, err = e.scorer.annotations(rc, slug); err != nil {
			e.failBrand(ctx, err, fieldmark.PathScore, "")
			return
		}
	}
	if end.proof {
		if end.proofEntry, err = e.scorer.proof(rc, slug, v); err != nil {
			e.fail(ctx, err)
			return
		}
	}
	end.stale = v.stale || from == cache.SourceOnError
	body, etag := e.scorer.appendSuffix(entry.Body, v, end)
	e.writeHead(ctx, &v.head, v.head.tail, entry, from)
	e.sendScore(ctx, entry.Body, v, body, etag)
}

// sendScore sends a score document, compressed if the client accepts that.
func (e *scoreEndpoints) sendScore(ctx *fasthttp.RequestCtx, beginning []byte, v *scoreValue, end []byte, etag string) {
	accept, list := acceptEncoding(ctx), ctx.Request.Header.PeekBytes(headerIfNoneMatch)
	coded := compress.Gzip.ETag(etag)
	wanted := accept.Negotiate(func(c compress.Encoding) bool { return c == compress.Gzip }) == compress.Gzip
	if wanted && matches(list, []byte(coded)) {
		ctx.Response.Header.Set("Etag", coded)
		ctx.SetStatusCode(fasthttp.StatusNotModified)
		return
	}
	if matches(list, []byte(etag)) {
		ctx.Response.Header.Set("Etag", etag)
		ctx.SetStatusCode(fasthttp.StatusNotModified)
		return
	}
	ctx.SetStatusCode(http.StatusOK)
	var body []byte
	var open *compress.Suffixable
	if wanted {
		open = v.gzip.Get(e.compressor, beginning)
	}
	if open != nil {
		ctx.Response.Header.SetContentEncoding(compress.Gzip.String())
		etag, body = coded, open.Append(make([]byte, 0, open.Size()+len(end)+32), end)
	} else {
		body = append(append(make([]byte, 0, len(beginning)+len(end)), beginning...), end...)
	}
	ctx.Response.Header.Set("Etag", etag)
	ctx.Response.SetBodyRaw(body)
	ctx.Response.SkipBody = ctx.IsHead()
}

// noParameters rejects query parameters on endpoints without any.
func noParameters(ctx *fasthttp.RequestCtx) error {
	for name := range ctx.QueryArgs().All() {
		return &fieldmark.Error{Code: fieldmark.CodeInvalidParameter, Detail: "the query is not acceptable",
			Fields: []fieldmark.FieldError{unknownParameter(string(name), "none")}}
	}
	return nil
}

// suffix holds the members of a score document after its rank.
type suffix struct {
	stale    bool // it could not be renewed
	advice   bool // what would raise it
	owner    bool // who holds the brand
	disputes bool // which findings are disputed
	proof    bool // that the public log has it

	annotations annotations  // with owner and disputes
	proofEntry  *cache.Entry // with proof
}

// parse parses a parameter that adds members.
func (s *suffix) parse(name, value string) (code, detail string, ok bool) {
	wanted, ok := map[string]*bool{"advice": &s.advice, "owner": &s.owner, "disputes": &s.disputes,
		"proof": &s.proof}[name]
	if !ok {
		return "", "", false
	}
	if *wanted = value == "1"; !*wanted {
		return "enum", "must be 1, or left out", true
	}
	return "", "", true
}

// today returns a parameter that was set and is about today; empty: none was set.
func (s *suffix) today() string {
	switch {
	case s.advice:
		return "advice"
	case s.owner:
		return "owner"
	case s.disputes:
		return "disputes"
	case s.proof:
		return "proof"
	}
	return ""
}

// appendSuffix completes a score document with the brand's place in the present
// ranking, and its entity tag with it.
func (s *scorer) appendSuffix(beginning []byte, v *scoreValue, end suffix) (body []byte, etag string) {
	rank := s.rankings.Rank(&v.score)
	body = appendJSON(make([]byte, 0, 128), rank)
	tag := append([]byte{'"'}, v.etag...)
	if rank != nil {
		tag = append(tag, '-')
		for i, n := range []int{rank.Overall, rank.OverallLast, rank.Of, rank.Niche, rank.NicheLast, rank.OfNiche} {
			if i > 0 {
				tag = append(tag, '.')
			}
			tag = strconv.AppendInt(tag, int64(n), 36)
		}
	}
	if end.stale {
		body, tag = append(body, `,"stale":true`...), append(tag, "-stale"...)
	}
	if end.advice {
		score, err := decodeScore(beginning)
		if err != nil {
			panic("BUG: a kept score that cannot be decoded: " + err.Error())
		}
		body, tag = append(body, `,"gains":`...), append(tag, "-advice"...)
		body = appendJSON(body, scoring.Advise(&score.Assessment))
	}
	if end.owner {
		tag = append(tag, "-owner"...)
		if end.annotations.claim != nil {
			body, tag = appendMember(body, tag, "claim", end.annotations.claim)
		}
	}
	if end.disputes {
		body, tag = appendMember(body, append(tag, "-disputes"...), "disputes", end.annotations.disputes)
	}
	if end.proof {
		tag = append(append(tag, "-proof"...), end.proofEntry.ETag...)
		body = append(append(body, `,"proof":`...), end.proofEntry.Body...)
	}
	return append(body, "}\n"...), string(append(tag, '"'))
}

// appendMember appends a member to a document, and a digest of it to its entity tag.
func appendMember(body, tag []byte, name string, v any) ([]byte, []byte) {
	raw := appendJSON(nil, v)
	sum := sha256.Sum256(raw)
	return append(append(body, `,"`+name+`":`...), raw...), hex.AppendEncode(tag, sum[:6])
}

// proof returns the proof that the public log has a score. It is cached apart from the score, which so
// costs no more than before. Its key has both digests, so it is never of other facts or another module.
func (s *scorer) proof(ctx context.Context, slug fieldmark.Slug, v *scoreValue) (*cache.Entry, error) {
	facts, module := v.score.FactsDigest, v.score.Module.Digest
	if facts == "" {
		return nil, fieldmark.Errorf(fieldmark.CodeScoreNotLogged, "the brand has not been audited yet")
	}
	key := "proof/" + string(slug) + "/" + string(facts) + "/" + string(module)
	entry, _, err := s.cache.Fetch(ctx, key, func(ctx context.Context) (*cache.Entry, error) {
		asOf := s.replica.purged.Load()
		p, err := s.origin.ProveScore(ctx, slug, facts, module)
		if fieldmark.IsCode(err, fieldmark.CodeNotFound) {
			return nil, &fieldmark.Error{Code: fieldmark.CodeScoreNotLogged, RetryAfter: proofRetryAfter,
				Detail: "the public log does not have this score yet; repeat the request in a second", Err: err}
		}
		if err != nil {
			return nil, asUnavailable(err)
		}
		body := appendJSON(nil, p)
		sum := sha256.Sum256(body)
		return &cache.Entry{Body: body, ETag: hex.EncodeToString(sum[:6]), Status: http.StatusOK, AsOf: asOf,
			Tags:  scoreTags(slug),
			Fresh: derivedFresh, OnError: derivedOnError}, nil
	})
	return entry, err
}

func appendJSON(b []byte, v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic("BUG: a part of a score that cannot be encoded: " + err.Error())
	}
	return append(b, raw...)
}

func brandNotFound() error {
	return fieldmark.Errorf(fieldmark.CodeNotFound, "no public brand has this slug")
}

// redirectError is the error of a slug that leads to another. For all other purposes it
// is that of a brand that does not exist.
type redirectError struct {
	to fieldmark.Slug
	error
}

// Unwrap returns what the slug alone would be answered.
func (m redirectError) Unwrap() error { return m.error }

// failBrand answers a request for something of a brand: a slug it had before leads
// to the one it has, all else is a failure.
func (w *responder) failBrand(ctx *fasthttp.RequestCtx, err error, prefix, suffix string) {
	if !redirect(ctx, err, prefix, suffix) {
		w.fail(ctx, err)
	}
}

// movedCacheControl is short enough for an alias that is taken back.
const movedCacheControl = "public, max-age=300"

// redirect leads from an old slug to the same thing under the present one, and
// reports whether there was anything to do.
func redirect(ctx *fasthttp.RequestCtx, err error, prefix, suffix string) bool {
	m, ok := errors.AsType[redirectError](err)
	if !ok {
		return false
	}
	to := prefix + string(m.to) + suffix
	if query := ctx.URI().QueryString(); len(query) > 0 {
		to += "?" + string(query)
	}
	h := &ctx.Response.Header
	old := strings.TrimSuffix(strings.TrimPrefix(string(ctx.Path()), prefix), suffix)
	setKeys(h, fieldmark.TagBrand(fieldmark.Slug(old)), fieldmark.TagBrand(m.to))
	h.Set("Location", to)
	h.Set("Cache-Control", movedCacheControl)
	h.Set("Access-Control-Allow-Origin", "*")
	ctx.SetStatusCode(http.StatusMovedPermanently)
	return true
}

// checkExists returns an error if a slug certainly has no brand, as far as the node can
// know without the origin; nothing old is served in its place. Brands that have changed
// since the ranking was made may exist.
func (s *scorer) checkExists(slug fieldmark.Slug) error {
	// again: it may have been ranked between the two
	if s.rankings.Lookup(slug) != ranking.Absent || s.replica.backlog.has(slug) ||
		s.rankings.Lookup(slug) != ranking.Absent {
		return nil
	}
	err := brandNotFound()
	if to := s.rankings.AliasTarget(slug); to != "" {
		err = redirectError{to, err}
	}
	return fmt.Errorf("%w: %w", cache.ErrGone, err)
}

// asNotFound returns the error of a state that has no public brand under a slug, or err. A
// brand that its owner unlisted is still shown, as unlisted.
func asNotFound(slug fieldmark.Slug, state *fieldmark.BrandState, err error) error {
	switch {
	case fieldmark.IsCode(err, fieldmark.CodeNotFound),
		err == nil && !state.Brand.Public && state.UnlistedAt == nil:
		return fmt.Errorf("%w: %w", cache.ErrGone, brandNotFound())
	case err == nil && state.Brand.Slug != slug:
		return fmt.Errorf("%w: %w", cache.ErrGone, redirectError{state.Brand.Slug, brandNotFound()})
	}
	return err
}

// get returns the cached score document of a brand, deriving it on a miss.
func (s *scorer) get(ctx context.Context, slug fieldmark.Slug) (*cache.Entry, cache.Source, error) {
	if err := s.checkExists(slug); err != nil {
		return nil, cache.SourceNone, err
	}
	return s.derive(ctx, slug, readerLease)
}

// derive is score without the check that the brand exists. One node of the fleet
// reads the facts and runs the module; the others wait for it, up to lease.
func (s *scorer) derive(ctx context.Context, slug fieldmark.Slug, lease time.Duration) (*cache.Entry, cache.Source,
	error) {
	if err := s.modules.require(); err != nil {
		return nil, cache.SourceNone, err
	}
	key := scoreKey(slug)
	asked := ctx
	entry, from, err := s.cache.Fetch(ctx, key, s.cache.SharedFill(key, lease, s.decodeShared,
		func(ctx context.Context) (*cache.Entry, error) {
			ctx, span := s.fetcher.trace(ctx, asked)
			defer span.End()
			known := s.replica.moduleAsOf.Load() // before the module is read
			state, asOf, err := s.origin.BrandState(ctx, slug)
			if err := asNotFound(slug, &state, err); err != nil {
				return nil, asUnavailable(err)
			}
			at := time.Now()
			score, err := s.assess(ctx, state, assessedAt(at))
			if err != nil {
				return nil, err
			}
			return newScoreEntry(score, min(asOf, known), at)
		}))
	if isFault(err) {
		return s.cache.Fetch(ctx, key+"?previous", func(ctx context.Context) (*cache.Entry,
			error) {
			return s.fallback(ctx, slug)
		})
	}
	return entry, from, err
}

// asUnavailable turns errors of the node's own requests that no client causes, such as
// those of a server that is no origin or does not accept the node token, into one of an
// origin that is unreachable.
func asUnavailable(err error) error {
	switch fieldmark.AsError(err).Code.Status() {
	case http.StatusNotFound, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return err
	}
	return &fieldmark.Error{Code: fieldmark.CodeOriginUnavailable,
		Detail: "the origin cannot answer just now; repeat the request a little later", Err: err}
}

// full returns the score of a brand with its signals and its rank.
func (s *scorer) full(ctx context.Context, slug fieldmark.Slug) (*fieldmark.Score, error) {
	entry, from, err := s.get(ctx, slug)
	if err != nil {
		return nil, err
	}
	score, err := decodeScore(entry.Body)
	if err != nil {
		return nil, err
	}
	score.Stale = entry.Value.(*scoreValue).stale || from == cache.SourceOnError
	score.Rank = s.rankings.Rank(&score)
	return &score, nil
}

// emptyRank ends a score document without a rank, which is its last member.
const emptyRank = "null}"

// decodeScore decodes a score document that ends before its rank, with all its
// signals and their evidence: they are three times as large decoded as encoded,
// and only pages and advice need them.
func decodeScore(beginning []byte) (score fieldmark.Score, err error) {
	if err := json.Unmarshal(append(slices.Clip(beginning), emptyRank...), &score); err != nil {
		return score, fmt.Errorf("decode a score: %w", err)
	}
	return score, nil
}

// assessedAt is the instant as of which a score is assessed: a whole millisecond, so that
// fieldmark.HeaderAssessedAt states it exactly.
func assessedAt(now time.Time) time.Time { return fieldmark.At(now).Std() }

// newScoreEntry encodes a score document up to its rank. It was assessed as of assessedAt(at).
func newScoreEntry(score fieldmark.Score, asOf int64, at time.Time) (*cache.Entry, error) {
	raw, err := json.Marshal(score)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(raw)
	etag := hex.EncodeToString(sum[:12])
	return &cache.Entry{
		Body: raw[:len(raw)-len(emptyRank)], ETag: etag, Status: http.StatusOK, Value: newScoreValue(score, etag, at),
		AsOf: asOf, Born: at,
		Tags:  scoreTags(score.Slug),
		Fresh: derivedFresh, OnError: derivedOnError, Weight: scoreSize(raw),
	}, nil
}

// scoreSize is what a score keeps beside its document.
func scoreSize(document []byte) int64 { return int64(scoreOverhead + len(document)/gzipShare) }

// newScoreValue returns what a score keeps besides its document: what badges and pages read. Components and engines
// are most of a score and are in the document already, so they are dropped to halve the memory of an entry.
func newScoreValue(score fieldmark.Score, etag string, at time.Time) *scoreValue {
	score.Components = nil
	if score.Visibility != nil {
		summary := *score.Visibility
		summary.Engines = nil
		score.Visibility = &summary
	}
	return &scoreValue{score: score, etag: etag, head: *newHead("",
		"Content-Type", "application/json",
		"Cache-Control", scoreCacheControl,
		"X-Content-Type-Options", "nosniff",
		"Access-Control-Allow-Origin", "*",
		"Timing-Allow-Origin", "*",
		"Vary", "Accept-Encoding",
		fieldmark.HeaderAssessedAt, fieldmark.At(at).String(),
	)}
}

// decodeShared reads a score document that another node has made.
// One that another module made is refused: that node may have rolled back to an
// earlier module, or not have loaded the active one.
func (s *scorer) decodeShared(entry *cache.Entry) error {
	score, err := decodeScore(entry.Body)
	if err != nil {
		return fmt.Errorf("of another node: %w", err)
	}
	if digest := s.modules.digest(score.Slug); score.Module.Digest != digest {
		return fmt.Errorf("%s was scored by %s, here by %s", score.Slug, score.Module.Digest, digest)
	}
	entry.Value, entry.Weight = newScoreValue(score, entry.ETag, entry.Born), scoreSize(entry.Body)
	return nil
}

// runFields go out with pages that run scoring modules in the browser: as pageFields, and
// WebAssembly may be compiled. No other page may.
var runFields = allowWebAssembly(pageFields)

// allowWebAssembly returns the fields of a page with WebAssembly added to its policy.
func allowWebAssembly(fields []string) []string {
	fields = slices.Clone(fields)
	policy := slices.Index(fields, "Content-Security-Policy") + 1
	fields[policy] = strings.Replace(fields[policy], "script-src 'self'", "script-src 'self' 'wasm-unsafe-eval'", 1)
	return fields
}

// newRunPageEntry keeps a page that runs modules.
func newRunPageEntry(body []byte) *cache.Entry {
	entry := newEntry(body, etagOf(body), runFields...)
	entry.Fresh, entry.Stale, entry.OnError = derivedFresh, derivedStale, derivedOnError
	return entry
}

// serveRecompute handles GET /brands/{slug}/recompute: the page on which the browser recomputes
// the score. Its query names changed facts, which only its script reads.
func (e *brandEndpoints) serveRecompute(ctx *fasthttp.RequestCtx) {
	slug, err := fieldmark.ParseSlug(strings.TrimSuffix(strings.TrimPrefix(string(ctx.Path()),
		fieldmark.PathBrandPage), site.RecomputeSuffix))
	if err != nil {
		e.failPage(ctx, brandNotFound(), string(slug))
		return
	}
	fill := func(ctx context.Context) (*cache.Entry, error) {
		entry, _, err := e.scorer.get(ctx, slug)
		if err != nil {
			return nil, err
		}
		score, err := decodeScore(entry.Body)
		if err != nil {
			return nil, err
		}
		body, err := e.site.AppendRecompute(nil, site.RecomputePage{BaseURL: e.baseURL, Score: score})
		if err != nil {
			return nil, err
		}
		return newRunPageEntry(body).From(entry), nil
	}
	e.serveCached(ctx, e.fetcher.get, "page/recompute/"+string(slug), fill, func(ctx *fasthttp.RequestCtx, err error) {
		if !redirect(ctx, err, fieldmark.PathBrandPage, site.RecomputeSuffix) {
			e.failPage(ctx, err, string(slug))
		}
	})
}

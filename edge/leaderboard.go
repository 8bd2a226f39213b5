package edge

import (
	"cmp"
	"context"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/edge/bulk"
	"github.com/fieldmark/fieldmark/edge/mcp"
	"github.com/fieldmark/fieldmark/edge/ranking"
	"github.com/fieldmark/fieldmark/edge/site"
)

// boardEndpoints serve the leaderboard, as JSON and as the home page.
type boardEndpoints struct {
	*pageWriter
	scorer    *scorer
	rankings  *ranking.Store
	cursorKey ranking.CursorKey
	replica   *replicaState
}

// boardTags are the tags of every entry built from one ranking. Only an operator purges
// them.
var boardTags = []string{string(fieldmark.TagBoard)}

// taggedBoard tags an entry built from one ranking and marks it current. Its key names the
// ranking, which is in memory: after a purge the entry is built again from the same
// ranking, until all brands are ranked again.
func (r *replicaState) taggedBoard(entry *cache.Entry) *cache.Entry {
	entry.Tags, entry.AsOf = boardTags, r.purged.Load()
	return entry
}

// unknownParameters describes how unknown parameters are handled. The API rejects them: a
// misspelt filter must not look like an unfiltered list. Pages ignore them: links that
// people follow carry tracking parameters of other sites.
type unknownParameters bool

const (
	rejectUnknown unknownParameters = true
	ignoreUnknown unknownParameters = false
)

// boardParameters are the query parameters of a leaderboard.
const boardParameters = "niche, language, basis, minConfidence, limit and cursor"

// parseBoardQuery parses the query of a leaderboard and returns all problems at once.
func parseBoardQuery(args *fasthttp.Args, s unknownParameters) (ranking.Query, error) {
	q := ranking.Query{Filter: fieldmark.BoardFilter{Basis: fieldmark.BasisReadiness},
		Limit: fieldmark.DefaultBoardLimit}
	var bad []fieldmark.FieldError
	seen := map[string]bool{}
	for k, v := range args.All() {
		key, value := string(k), string(v)
		read, ok := boardParsers[key]
		code, detail := "", ""
		switch {
		case s == ignoreUnknown && (!ok || value == ""): // a form sends what was left empty
		case !ok:
			bad = append(bad, unknownParameter(key, boardParameters))
		case seen[key]:
			code, detail = "conflict", "must be given once"
		default:
			code, detail = read(&q, value)
		}
		if seen[key] = true; code != "" {
			bad = append(bad, fieldmark.FieldError{Pointer: "?" + key, Code: code, Detail: detail})
		}
	}
	if bad != nil {
		return q, &fieldmark.Error{Code: fieldmark.CodeInvalidParameter, Detail: "the query is not acceptable",
			Fields: bad}
	}
	return q, nil
}

// boardParsers parse one parameter each, or return what is wrong with it.
var boardParsers = map[string]func(q *ranking.Query, value string) (code, detail string){
	"niche": func(q *ranking.Query, value string) (code, detail string) {
		if q.Filter.Niche = value; !fieldmark.ValidSlug(value) {
			return "pattern", "must be the slug of a niche"
		}
		return "", ""
	},
	"language": func(q *ranking.Query, value string) (code, detail string) {
		if q.Filter.Language = strings.ToLower(value); !ranking.ValidLanguageRange(value) {
			return "format", "must be a language range such as de or de-AT"
		}
		return "", ""
	},
	"basis": func(q *ranking.Query, value string) (code, detail string) {
		if q.Filter.Basis = value; value != fieldmark.BasisReadiness && value != fieldmark.BasisFull {
			return "enum", "must be readiness, full or visibility"
		}
		return "", ""
	},
	"minConfidence": func(q *ranking.Query, value string) (code, detail string) {
		var ok bool
		if q.Filter.MinConfidence, ok = parseConfidence(value); !ok {
			return "range", "must be 0 to 1 with at most two decimals, or low, medium or high"
		}
		return "", ""
	},
	"limit": func(q *ranking.Query, value string) (code, detail string) {
		n, err := strconv.Atoi(value)
		if q.Limit = n; err != nil || n < 1 || n > fieldmark.MaxBoardLimit {
			return "range", "must be 1 to " + strconv.Itoa(fieldmark.MaxBoardLimit)
		}
		return "", ""
	},
	"cursor": func(q *ranking.Query, value string) (code, detail string) {
		q.Cursor = value
		return "", ""
	},
}

// parseConfidence parses a confidence as a number or as the name of its level. Two decimals
// bound how many different lists a client can request.
func parseConfidence(s string) (fieldmark.Milli, bool) {
	switch fieldmark.ConfidenceLevel(s) {
	case fieldmark.ConfidenceHigh:
		return 850, true
	case fieldmark.ConfidenceMedium:
		return 600, true
	case fieldmark.ConfidenceLow:
		return 400, true
	}
	var m fieldmark.Milli
	if len(s) > len("0.00") || strings.Trim(s, "0123456789.") != "" || m.UnmarshalJSON([]byte(s)) != nil {
		return 0, false
	}
	return m, m <= fieldmark.MilliOne
}

// maxParameterName bounds how much of an unknown parameter's name is returned.
const maxParameterName = 40

// unknownParameter complains of a parameter, by name if it is a plain one.
func unknownParameter(name, known string) fieldmark.FieldError {
	if len(name) > maxParameterName ||
		strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
		name = ""
	}
	return fieldmark.FieldError{Pointer: "?" + name, Code: "unknown_field",
		Detail: "unknown parameter; known: " + known}
}

func errNotRanked() error {
	return fieldmark.Errorf(fieldmark.CodeOriginUnavailable, "this node has not ranked the brands yet")
}

// findRanking returns the ranking of a query, and the place in it.
func (e *boardEndpoints) findRanking(q ranking.Query) (*ranking.Snapshot, int, error) {
	if q.Cursor == "" {
		if s := e.rankings.Current(); s != nil {
			return s, 0, nil
		}
		return nil, 0, errNotRanked()
	}
	id, offset, ok := e.cursorKey.Decode(q.Cursor, q.Filter)
	if !ok {
		return nil, 0, fieldmark.Errorf(fieldmark.CodeInvalidCursor,
			"a cursor belongs to the filters it came with; start again without it")
	}
	s := e.rankings.Find(id)
	if s == nil {
		return nil, 0, fieldmark.Errorf(fieldmark.CodeCursorExpired,
			"the ranking this cursor points into is no longer kept; start again without a cursor")
	}
	return s, offset, nil
}

const boardCacheControl = "public, max-age=30, stale-while-revalidate=300, stale-if-error=86400"

// boardFresh bounds the lifetime of a page of one snapshot. Its key names the snapshot, so
// the page is never wrong; it only becomes unused.
const boardFresh = time.Hour

// serveBoard handles GET /api/v1/leaderboard.
func (e *boardEndpoints) serveBoard(ctx *fasthttp.RequestCtx) {
	if string(ctx.QueryArgs().Peek("basis")) == fieldmark.BasisVisibility {
		e.serveVisibility(ctx)
		return
	}
	q, err := parseBoardQuery(ctx.QueryArgs(), rejectUnknown)
	if err != nil {
		e.fail(ctx, err)
		return
	}
	s, offset, err := e.findRanking(q)
	if err != nil {
		e.fail(ctx, err)
		return
	}
	key := q.Key(offset)
	e.serveCached(ctx, e.fetchOf(&q), "board/"+s.ID+"/"+key, func(context.Context) (*cache.Entry, error) {
		entry, err := newJSONEntry(s.Page(&q, offset, e.cursorKey), etagOf([]byte(s.ID+"/"+key)), boardCacheControl)
		if err != nil {
			return nil, err
		}
		entry.Fresh = boardFresh
		return e.replica.taggedBoard(entry), nil
	}, e.fail)
}

// fetchOf returns how a page of a leaderboard is fetched. A filter by language or confidence reads the row of every
// brand, which takes a tenth of a second for a million of them, and a client can name any number of filters.
func (e *boardEndpoints) fetchOf(q *ranking.Query) fetchFunc {
	if q.Filter.Language != "" || q.Filter.MinConfidence != 0 {
		return e.fetcher.getLimited
	}
	return e.fetcher.get
}

const (
	// maxSearch is the longest name looked for, in bytes.
	maxSearch = 100
	// maxChoices is how many niches a form offers, the largest. A select of
	// hundreds is no help, and the page has a weight to keep.
	maxChoices = 60
)

// serveHome handles GET /: the leaderboard for people.
func (e *boardEndpoints) serveHome(ctx *fasthttp.RequestCtx) {
	if string(ctx.QueryArgs().Peek("basis")) == fieldmark.BasisVisibility {
		e.serveVisibilityPage(ctx)
		return
	}
	q, err := parseBoardQuery(ctx.QueryArgs(), ignoreUnknown)
	if err != nil {
		e.failPage(ctx, err, "")
		return
	}
	search := strings.TrimSpace(string(ctx.QueryArgs().Peek("q")))
	if len(search) > maxSearch || !utf8.ValidString(search) {
		e.failPage(ctx, badParameter("q", "length", "must be text of at most "+strconv.Itoa(maxSearch)+" bytes"), "")
		return
	}
	s, offset, err := e.findRanking(q)
	if err != nil {
		e.failPage(ctx, err, "")
		return
	}
	if search != "" {
		q.Cursor, q.Limit, offset = "", fieldmark.MaxBoardLimit, 0
	}
	key := "page/board/" + s.Key() + "/" + q.Key(offset) + "/" + strconv.Quote(strings.ToLower(search))
	e.servePageBy(ctx, e.fetchOf(&q), key, "", func(context.Context) (*cache.Entry, error) {
		body, err := e.site.AppendBoard(nil, e.boardPage(s, &q, offset, search))
		if err != nil {
			return nil, err
		}
		return e.replica.taggedBoard(newPageEntry(body)), nil
	})
}

// serveNiche handles GET /niches/{niche}: the leaderboard of one niche.
func (e *boardEndpoints) serveNiche(ctx *fasthttp.RequestCtx) {
	q, err := parseBoardQuery(ctx.QueryArgs(), ignoreUnknown)
	if err != nil {
		e.failPage(ctx, err, "")
		return
	}
	// The page has no filters: what a query adds to the path is a place in the list.
	q.Filter = fieldmark.BoardFilter{Basis: fieldmark.BasisReadiness,
		Niche: strings.TrimPrefix(string(ctx.Path()), site.PathNiches+"/")}
	s, offset, err := e.findRanking(q)
	if err != nil {
		e.failPage(ctx, err, "")
		return
	}
	niche := site.NicheLine(s.Niche(q.Filter.Niche))
	if niche.Brands == 0 {
		e.failPage(ctx, fieldmark.Errorf(fieldmark.CodeNotFound, "no ranked brand has this niche"), "")
		return
	}
	e.servePage(ctx, "page/niche/"+s.Key()+"/"+q.Key(offset), "", func(ctx context.Context) (*cache.Entry, error) {
		asOf := e.replica.purged.Load()
		p := e.boardPage(s, &q, offset, "")
		p.Niche = &niche
		var incomplete error
		if offset == 0 {
			if incomplete = e.addStudy(ctx, s, &p); incomplete != nil {
				e.log.Warn("a niche's page is incomplete", "niche", niche.Name, "err", incomplete)
			}
		}
		body, err := e.site.AppendBoard(nil, p)
		if err != nil {
			return nil, err
		}
		page := tagStudy(newPageEntry(body), asOf, niche.Name)
		if page.Fresh = derivedFresh; incomplete != nil {
			page.Fresh = incompleteFresh
		}
		return page, nil
	})
}

// maxNiches is how many niches a page lists, the largest: about 60 KB of HTML.
const maxNiches = 500

// serveNiches handles GET /niches.
func (e *boardEndpoints) serveNiches(ctx *fasthttp.RequestCtx) {
	s, _, err := e.findRanking(ranking.Query{})
	if err != nil {
		e.failPage(ctx, err, "")
		return
	}
	e.servePage(ctx, "page/niches/"+s.Key(), "", func(context.Context) (*cache.Entry, error) {
		largest, all := s.AllNiches(maxNiches)
		p := site.NichesPage{BaseURL: e.baseURL, All: all}
		for _, n := range largest {
			p.Niches = append(p.Niches, site.NicheLine(n))
		}
		body, err := e.site.AppendNiches(nil, p)
		if err != nil {
			return nil, err
		}
		return e.replica.taggedBoard(newPageEntry(body)), nil
	})
}

// searchHome handles GET /?q=.
func (e *boardEndpoints) searchHome(ctx *fasthttp.RequestCtx) route {
	return e.get(ctx, routePage, e.serveHome)
}

// boardPage gathers what a page of the leaderboard shows.
func (e *boardEndpoints) boardPage(s *ranking.Snapshot, q *ranking.Query, offset int, search string) site.BoardPage {
	p := site.BoardPage{
		BaseURL: e.baseURL, Cursor: q.Cursor, Search: search, Ranked: s.RankedCount(), Pending: s.Pending,
		Unreachable: s.Unreachable,
		Niches:      choices(s.Niches(q.Filter, maxChoices)), Languages: choices(s.Languages()), HasFull: s.HasFull(),
	}
	if search == "" {
		p.Board = s.Page(q, offset, e.cursorKey)
	} else {
		found := s.Search(q, search)
		p.Board, p.UnrankedAll = found.Board, found.UnrankedTotal
		for _, u := range found.Unranked {
			p.Unranked = append(p.Unranked, site.UnrankedBrand(u))
		}
	}
	if q.Filter.Basis == fieldmark.BasisFull {
		return p
	}
	for _, it := range p.Board.Items {
		p.Past = append(p.Past, s.Row(it.Slug).Past())
	}
	return p
}

// choices are the facets of a ranking as a form offers them.
func choices(facets []ranking.Facet) []site.Choice {
	all := make([]site.Choice, len(facets))
	for i, f := range facets {
		all[i] = site.Choice(f)
	}
	return all
}

// maxCompareText is the longest list of brands to compare, in bytes: four names of the
// maximum length with their commas.
const maxCompareText = 4*fieldmark.MaxBrandName + 8

// maxSuggested is how many brands are named where a text fits several.
const maxSuggested = 3

// serveCompare handles GET /compare?brands=a,b.
func (e *boardEndpoints) serveCompare(ctx *fasthttp.RequestCtx) route {
	return e.get(ctx, routePage, func(ctx *fasthttp.RequestCtx) {
		p := site.ComparePage{BaseURL: e.baseURL, Asked: string(ctx.QueryArgs().Peek("brands"))}
		rc, cancel := context.WithTimeout(context.Background(), fillTimeout)
		defer cancel()
		slugs, faults := e.namedBrands(p.Asked)
		for _, slug := range slugs {
			score, err := e.scorer.full(rc, slug)
			if fieldmark.IsCode(err, fieldmark.CodeNotFound) { // removed since it was ranked
				faults = append(faults, fmt.Sprintf("No public brand is registered as “%s”.", slug))
				continue
			}
			if err != nil {
				e.failPage(ctx, err, "")
				return
			}
			p.Brands = append(p.Brands, *score)
		}
		status := http.StatusOK
		if p.Faults = faults; faults != nil {
			status = http.StatusBadRequest
		}
		body, err := e.site.AppendCompare(nil, p)
		e.sendPage(ctx, status, body, err)
	})
}

// namedBrands returns the brands that a list of slugs, names and domains names, and what
// is wrong with the list.
func (e *boardEndpoints) namedBrands(list string) (slugs []fieldmark.Slug, faults []string) {
	s := e.rankings.Current()
	if s == nil || strings.TrimSpace(list) == "" {
		return nil, nil
	}
	if len(list) > maxCompareText || !utf8.ValidString(list) {
		return nil, []string{fmt.Sprintf("The list must be text of at most %d bytes.", maxCompareText)}
	}
	var items []string
	for item := range strings.SplitSeq(list, ",") {
		if item = strings.TrimSpace(item); item != "" && !slices.Contains(items, item) {
			items = append(items, item)
		}
	}
	if len(items) > site.MaxCompared { // before the search, which reads every name
		faults = append(faults, fmt.Sprintf("At most %d brands can be compared; the first %[1]d of %d are shown.",
			site.MaxCompared, len(items)))
		items = items[:site.MaxCompared]
	}
	for _, item := range items {
		slug, fault := namedBrand(s, item)
		switch {
		case fault != "":
			faults = append(faults, fault)
		case !slices.Contains(slugs, slug):
			slugs = append(slugs, slug)
		}
	}
	return slugs, faults
}

// namedBrand returns the one brand whose slug is the text, or whose name, slug or host
// contains it.
func namedBrand(s *ranking.Snapshot, text string) (slug fieldmark.Slug, fault string) {
	if fieldmark.ValidSlug(text) {
		if r := s.Row(fieldmark.Slug(text)); r != nil {
			return cmp.Or(r.Target(), r.Slug()), ""
		}
	}
	found := s.Search(&ranking.Query{Limit: maxSuggested}, text)
	var all []string
	for _, e := range found.Board.Items {
		all = append(all, string(e.Slug))
	}
	for _, u := range found.Unranked {
		all = append(all, string(u.Slug))
	}
	switch n := found.Board.Total + found.UnrankedTotal; {
	case n == 0:
		return "", fmt.Sprintf("No public brand is registered as “%s”.", text)
	case n > 1:
		return "", fmt.Sprintf("“%s” matches %d brands: enter one of them, such as %s.", text, n,
			strings.Join(all[:min(len(all), maxSuggested)], " or "))
	}
	return fieldmark.Slug(all[0]), ""
}

// batchEndpoints serve many scores at once.
type batchEndpoints struct {
	*responder
	limiter  *requestLimiter
	rankings *ranking.Store
	replica  *replicaState
	call     func(*fasthttp.RequestCtx, *mcp.Call) (*mcp.Answer, error) // of the origin's API
}

// serve handles POST /api/v1/scores/batch. It reads the ranking alone: no score is derived, and
// the origin is requested only for a key that this node has not seen before.
func (e *batchEndpoints) serve(ctx *fasthttp.RequestCtx) route {
	defer allowCORS(ctx)
	if err := e.serveBatch(ctx); err != nil {
		e.fail(ctx, err)
	}
	return routeBoard
}

// serveBatch answers a batch. A key counts one read of its rate for each ScoresPerRead brands, so a batch is cheaper
// than single requests but not free. Without a key the network's allowance counts, and the batch is shorter.
func (e *batchEndpoints) serveBatch(ctx *fasthttp.RequestCtx) (err error) {
	if !ctx.IsPost() {
		ctx.Response.Header.Set("Allow", "POST, OPTIONS")
		return fieldmark.Errorf(fieldmark.CodeMethodNotAllowed, "only POST is answered here")
	}
	brands, invalid := e.readBrands(ctx)
	authorization := ctx.Request.Header.Peek("Authorization")
	if len(authorization) == 0 {
		if err := e.limiter.admitRead(ctx, 1); err != nil {
			return err
		}
		return e.send(ctx, brands, invalid, fieldmark.MaxAnonymousScores)
	}
	hash, keyed := parseKey(authorization)
	if !keyed {
		return fieldmark.Errorf(fieldmark.CodeInvalidAPIKey, "send Authorization: Bearer with an API key, or none")
	}
	next := func() (unauthorized bool) {
		limit, verr := e.limitOf(ctx, hash, len(brands))
		if err = verr; err == nil {
			err = e.send(ctx, brands, invalid, limit)
		}
		return fieldmark.IsCode(err, fieldmark.CodeInvalidAPIKey) || fieldmark.IsCode(err, fieldmark.CodeExpiredAPIKey)
	}
	if e.limiter.limits.limiter == nil {
		next()
		return err
	}
	reads := (min(len(brands), fieldmark.MaxBatchScores) + fieldmark.ScoresPerRead - 1) / fieldmark.ScoresPerRead
	e.limiter.limits.limitKey(hash, false, max(reads, 1), next, func(b bucket, v cache.RateResult, refused bool) {
		if refusal := e.limiter.count(ctx, b, v, refused); refusal != nil {
			err = refusal
		}
	})
	return err
}

// limitOf returns how many of n slugs the client with a key may request. A key that this node has
// not seen is verified by the origin; while that cannot answer, such a key counts as none.
func (e *batchEndpoints) limitOf(ctx *fasthttp.RequestCtx, hash keyHash, n int) (int, error) {
	_, known := e.limiter.limits.find(hash)
	if known {
		return fieldmark.MaxBatchScores, nil
	}
	_, err := e.call(ctx, &mcp.Call{Method: http.MethodGet, Path: fieldmark.PathAccount})
	if _, known = e.limiter.limits.find(hash); known {
		return fieldmark.MaxBatchScores, nil
	}
	status := http.StatusOK
	if err != nil {
		status = publicError(err).Code.Status()
	}
	if n > fieldmark.MaxAnonymousScores || status == http.StatusUnauthorized || status == http.StatusForbidden {
		return fieldmark.MaxAnonymousScores, err
	}
	return fieldmark.MaxAnonymousScores, e.limiter.admitRead(ctx, 1)
}

// send answers a request for up to limit brands; invalid is what is wrong with it, or nil.
func (e *batchEndpoints) send(ctx *fasthttp.RequestCtx, brands []fieldmark.Slug, invalid error, limit int) error {
	if invalid != nil {
		return invalid
	}
	if len(brands) == 0 || len(brands) > limit {
		detail := ""
		if limit < fieldmark.MaxBatchScores {
			detail = " without an API key, and " + strconv.Itoa(fieldmark.MaxBatchScores) + " with one"
		}
		return bulk.TooMany(limit, detail)
	}
	event := e.replica.applied.Load() // before the ranking, which may be newer
	s := e.rankings.Current()
	if s == nil {
		return errNotRanked()
	}
	h := &ctx.Response.Header
	h.SetContentType("application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	sendOnce(ctx, http.StatusOK, s.AppendBatch(make([]byte, 0, len(brands)*batchItemSize), brands, event))
	return nil
}

// batchItemSize is the length of a usual item of a batch, in bytes.
const batchItemSize = 400

// readBrands reads the slugs of the body.
func (e *batchEndpoints) readBrands(ctx *fasthttp.RequestCtx) ([]fieldmark.Slug, error) {
	h := &ctx.Request.Header
	mediaType, params, err := mime.ParseMediaType(string(h.ContentType()))
	if charset, named := params["charset"]; err != nil || mediaType != "application/json" ||
		named && !strings.EqualFold(charset, "utf-8") {
		return nil, fieldmark.Errorf(fieldmark.CodeUnsupportedMediaType, "send Content-Type: application/json")
	}
	if len(h.Peek("Content-Encoding")) > 0 {
		return nil, fieldmark.Errorf(fieldmark.CodeUnsupportedMediaType, "send the body without Content-Encoding")
	}
	if err := noParameters(ctx); err != nil {
		return nil, err
	}
	if err := readBody(ctx, bulk.MaxBody); err != nil {
		return nil, err
	}
	return bulk.Brands(ctx.Request.Body())
}

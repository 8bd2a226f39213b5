package edge

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache"
)

// keptSnapshots is how many rankings a cursor may still point into. At one a
// second it is the least a reader of several pages can count on; rankings of a
// quiet time last until the next change.
const keptSnapshots = 32

// boards holds the present ranking and the last few before it.
type boards struct {
	now atomic.Pointer[snapshot]

	mu     sync.Mutex
	kept   []*snapshot // newest last
	barred bool        // the next ranking is the only one to keep

	// uncertain: events were missed, and until all brands are ranked again the
	// ranking cannot tell which brands there are not.
	uncertain atomic.Bool
}

func (b *boards) current() *snapshot { return b.now.Load() }

// id returns the name of the present ranking, empty before the first.
func (b *boards) id() string {
	if s := b.now.Load(); s != nil {
		return s.id
	}
	return ""
}

// boardTags are on whatever is made of one ranking. Only an operator purges it.
var boardTags = []string{string(fieldmark.TagBoard)}

// ofBoard marks an entry that is made of one ranking. Its key names the ranking,
// which is in memory, so it is as new as the newest purge: a purge has it made
// again, from the same ranking until all brands are ranked again.
func (e *Edge) ofBoard(entry *cache.Entry) *cache.Entry {
	entry.Tags, entry.AsOf = boardTags, e.follow.purged.Load()
	return entry
}

// set makes s the present ranking.
func (b *boards) set(s *snapshot) {
	if old := b.now.Load(); old != nil && old.id == s.id {
		b.now.Store(s) // the same order; statuses of unranked brands may differ
		b.mu.Lock()
		defer b.mu.Unlock()
		b.kept[len(b.kept)-1], b.barred = s, false
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.barred {
		b.kept, b.barred = nil, false
	}
	b.kept = append(b.kept, s)
	if len(b.kept) > keptSnapshots {
		b.kept = slices.Delete(b.kept, 0, len(b.kept)-keptSnapshots)
	}
	b.now.Store(s)
}

// forget drops all rankings but the present one: what was taken down must not
// be read in an old one.
func (b *boards) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kept = b.kept[max(len(b.kept)-1, 0):]
	b.barred = true
}

// find returns a kept ranking by its id, or nil.
func (b *boards) find(id string) *snapshot {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range slices.Backward(b.kept) {
		if s.id == id {
			return s
		}
	}
	return nil
}

// certainty is an answer that may not be known yet.
type certainty int

const (
	answerUnknown certainty = iota
	answerYes
	answerNo
)

// knows says whether a public brand has the slug, without asking anyone.
func (b *boards) knows(slug fieldmark.Slug) certainty {
	s := b.now.Load()
	if s == nil || b.uncertain.Load() {
		return answerUnknown
	}
	if l := s.line(slug); l != nil && l.to == "" {
		return answerYes
	}
	return answerNo
}

// leads returns the slug that an old one leads to, or nothing.
func (b *boards) leads(slug fieldmark.Slug) fieldmark.Slug {
	if s := b.now.Load(); s != nil {
		if l := s.line(slug); l != nil {
			return l.to
		}
	}
	return ""
}

// rank returns a brand's place, or nil while it has none.
func (b *boards) rank(slug fieldmark.Slug) *fieldmark.Rank {
	s := b.now.Load()
	if s == nil {
		return nil
	}
	l := s.line(slug)
	if l == nil || !l.ranked {
		return nil
	}
	f := s.fields[readiness]
	niche, score := f.niches[l.niche], l.scores[readiness].score
	return &fieldmark.Rank{
		Overall: f.all.now.rank(score), Of: f.all.order.size,
		Niche: niche.now.rank(score), OfNiche: niche.order.size,
	}
}

// score returns what the present ranking knows of a ranked brand: enough for a
// badge, and there when nothing else is.
func (b *boards) score(slug fieldmark.Slug) (*fieldmark.Score, bool) {
	s := b.now.Load()
	if s == nil {
		return nil, false
	}
	l := s.line(slug)
	if l == nil || !l.ranked {
		return nil, false
	}
	it := l.entry(readiness)
	return &fieldmark.Score{Slug: slug, Name: it.Name, Niche: it.Niche, Language: it.Language, Assessment: fieldmark.Assessment{
		Status: fieldmark.StatusScored, Score: &it.Score, Grade: it.Grade, Range: &it.Range, GeoReady: it.GeoReady, AsOf: &it.AsOf,
	}}, true
}

// page cuts one page out of a ranking.
func (s *snapshot) page(q *boardQuery, offset int, key cursorKey) fieldmark.Board {
	view, basis := s.view(q.filter), basisOf(q.filter.Basis)
	b := s.envelope(q.filter)
	b.Total = view.order.size
	for l := range view.order.from(offset) {
		if len(b.Items) == q.limit {
			b.NextCursor = key.encode(s.id, offset+q.limit, q.filter)
			break
		}
		b.Items = append(b.Items, s.item(l, view, basis, q.filtered()))
	}
	return b
}

// envelope is a leaderboard without its lines.
func (s *snapshot) envelope(f fieldmark.BoardFilter) fieldmark.Board {
	return fieldmark.Board{
		Items: []fieldmark.BoardEntry{}, Snapshot: s.id, AsOf: s.asOf, Methodology: s.methodology, Filters: f, Note: fieldmark.BoardNote,
	}
}

// item is a line with its ranks in a view, and among all where it is filtered.
func (s *snapshot) item(l *line, view *list, basis int, filtered bool) fieldmark.BoardEntry {
	it, at := l.entry(basis), l.scores[basis]
	it.Rank = view.now.rank(at.score)
	if filtered {
		it.Overall = s.fields[basis].all.now.rank(at.score)
	}
	if at.then >= 0 {
		it.Change = &fieldmark.BoardChange{
			Rank: view.then.rank(at.then) - it.Rank, Score: fieldmark.Milli(at.score - at.then), Since: s.since,
		}
	}
	return it
}

// cursorKey authenticates cursors, so that only places we named are asked for.
type cursorKey [32]byte

func newCursorKey(nodeToken string) cursorKey {
	return sha256.Sum256([]byte("leaderboard cursor\x00" + nodeToken))
}

const cursorMAC = 8 // bytes; a forged cursor gains nothing but a page of a public list

func (k cursorKey) encode(id string, offset int, f fieldmark.BoardFilter) string {
	raw, err := hex.DecodeString(id)
	if err != nil {
		panic("BUG: a snapshot id that is not hexadecimal: " + id)
	}
	raw = binary.BigEndian.AppendUint32(raw, uint32(offset))
	return base64.RawURLEncoding.EncodeToString(append(raw, k.mac(raw, f)...))
}

// mac covers the filter too: a place in one list is none in another.
func (k cursorKey) mac(raw []byte, f fieldmark.BoardFilter) []byte {
	h := hmac.New(sha256.New, k[:])
	h.Write(raw)
	h.Write([]byte(f.Basis + "\x00" + f.Niche + "\x00" + f.Language + "\x00"))
	h.Write(f.MinConfidence.Append(nil))
	return h.Sum(nil)[:cursorMAC]
}

func (k cursorKey) decode(cursor string, f fieldmark.BoardFilter) (id string, offset int, ok bool) {
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(raw) != 8+4+cursorMAC {
		return "", 0, false
	}
	body, mac := raw[:12], raw[12:]
	if !hmac.Equal(mac, k.mac(body, f)) {
		return "", 0, false
	}
	return hex.EncodeToString(body[:8]), int(binary.BigEndian.Uint32(body[8:])), true
}

// boardQuery is a leaderboard request, checked.
type boardQuery struct {
	filter fieldmark.BoardFilter // in its one canonical form
	limit  int
	cursor string
}

// filtered reports whether the list leaves brands of its basis out.
func (q *boardQuery) filtered() bool {
	return q.filter != fieldmark.BoardFilter{Basis: q.filter.Basis}
}

// key names the page among all pages of one ranking.
func (q *boardQuery) key(offset int) string {
	f := &q.filter
	return f.Basis + "/" + f.Niche + "/" + f.Language + "/" + f.MinConfidence.String() + "/" +
		strconv.Itoa(offset) + "/" + strconv.Itoa(q.limit)
}

// strictness is what becomes of parameters nobody knows. Programs are told: a
// misspelt filter must not look like an unfiltered list. People are not: links
// they follow carry the marks of whoever sent them.
type strictness bool

const (
	strict  strictness = true
	lenient strictness = false
)

// boardParameters are what a leaderboard can be asked for.
const boardParameters = "niche, language, basis, minConfidence, limit and cursor"

// parseBoardQuery reads the query of a leaderboard and tells all complaints at once.
func parseBoardQuery(args *fasthttp.Args, s strictness) (boardQuery, error) {
	q := boardQuery{filter: fieldmark.BoardFilter{Basis: fieldmark.BasisReadiness}, limit: fieldmark.DefaultBoardLimit}
	var bad []fieldmark.FieldError
	seen := map[string]bool{}
	for k, v := range args.All() {
		key, value := string(k), string(v)
		read, ok := boardReaders[key]
		code, detail := "", ""
		switch {
		case s == lenient && (!ok || value == ""): // a form sends what was left empty
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
		return q, &fieldmark.Error{Code: fieldmark.CodeInvalidParameter, Detail: "the query is not acceptable", Fields: bad}
	}
	return q, nil
}

// boardReaders read one parameter each, or say what is wrong with it.
var boardReaders = map[string]func(q *boardQuery, value string) (code, detail string){
	"niche": func(q *boardQuery, value string) (code, detail string) {
		if q.filter.Niche = value; !fieldmark.ValidSlug(value) {
			return "pattern", "must be the slug of a niche"
		}
		return "", ""
	},
	"language": func(q *boardQuery, value string) (code, detail string) {
		if q.filter.Language = strings.ToLower(value); !validRange(value) {
			return "format", "must be a language range such as de or de-AT"
		}
		return "", ""
	},
	"basis": func(q *boardQuery, value string) (code, detail string) {
		if q.filter.Basis = value; value != fieldmark.BasisReadiness && value != fieldmark.BasisFull {
			return "enum", "must be readiness or full"
		}
		return "", ""
	},
	"minConfidence": func(q *boardQuery, value string) (code, detail string) {
		var ok bool
		if q.filter.MinConfidence, ok = parseConfidence(value); !ok {
			return "range", "must be 0 to 1 with at most two decimals, or low, medium or high"
		}
		return "", ""
	},
	"limit": func(q *boardQuery, value string) (code, detail string) {
		n, err := strconv.Atoi(value)
		if q.limit = n; err != nil || n < 1 || n > fieldmark.MaxBoardLimit {
			return "range", "must be 1 to " + strconv.Itoa(fieldmark.MaxBoardLimit)
		}
		return "", ""
	},
	"cursor": func(q *boardQuery, value string) (code, detail string) {
		q.cursor = value
		return "", ""
	},
}

// validRange reports whether a text is a basic language range (RFC 4647, 2.1),
// the wildcard left out: it would be no filter.
func validRange(s string) bool {
	if len(s) > fieldmark.MaxLanguageTag {
		return false
	}
	for i, part := range strings.Split(s, "-") {
		set := "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		if i > 0 {
			set += "0123456789"
		}
		if len(part) < 1 || len(part) > 8 || strings.Trim(part, set) != "" {
			return false
		}
	}
	return true
}

// parseConfidence reads a confidence as a number or by the name of its level.
// Two decimals bound how many different lists can be asked for.
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

// maxParameterName bounds how much of an unknown parameter's name is told back.
const maxParameterName = 40

// unknownParameter complains of a parameter, by name if it is a plain one.
func unknownParameter(name, known string) fieldmark.FieldError {
	if len(name) > maxParameterName || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
		name = ""
	}
	return fieldmark.FieldError{Pointer: "?" + name, Code: "unknown_field", Detail: "unknown parameter; known: " + known}
}

// board finds the ranking and the place a query asks for.
func (e *Edge) board(q boardQuery) (*snapshot, int, error) {
	if q.cursor == "" {
		if s := e.boards.current(); s != nil {
			return s, 0, nil
		}
		return nil, 0, fieldmark.Errorf(fieldmark.CodeOriginUnavailable, "this node has not ranked the brands yet")
	}
	id, offset, ok := e.cursor.decode(q.cursor, q.filter)
	if !ok {
		return nil, 0, fieldmark.Errorf(fieldmark.CodeInvalidCursor, "a cursor belongs to the filters it came with; start again without it")
	}
	s := e.boards.find(id)
	if s == nil {
		return nil, 0, fieldmark.Errorf(fieldmark.CodeCursorExpired, "the ranking this cursor points into is no longer kept; start again without a cursor")
	}
	return s, offset, nil
}

const boardCacheControl = "public, max-age=30, stale-while-revalidate=300, stale-if-error=86400"

// boardFresh bounds how long a page of one snapshot is kept; its key names the
// snapshot, so it can never be wrong, only unneeded.
const boardFresh = time.Hour

// serveBoard answers GET /api/v1/leaderboard.
func (e *Edge) serveBoard(ctx *fasthttp.RequestCtx) {
	q, err := parseBoardQuery(ctx.QueryArgs(), strict)
	if err != nil {
		e.fail(ctx, err)
		return
	}
	s, offset, err := e.board(q)
	if err != nil {
		e.fail(ctx, err)
		return
	}
	rc, cancel := e.requestContext(ctx)
	defer cancel()
	key := q.key(offset)
	entry, from, err := e.cache.Fetch(rc, "board/"+s.id+"/"+key, func(context.Context) (*cache.Entry, error) {
		body, err := json.Marshal(s.page(&q, offset, e.cursor))
		if err != nil {
			return nil, err
		}
		name := sha256.Sum256([]byte(s.id + "/" + key))
		etag := `"` + hex.EncodeToString(name[:12]) + `"`
		entry := newEntry(append(body, '\n'), etag,
			"Content-Type", "application/json",
			"Cache-Control", boardCacheControl,
			"X-Content-Type-Options", "nosniff",
			"Access-Control-Allow-Origin", "*")
		entry.Fresh = boardFresh
		return e.ofBoard(entry), nil
	})
	if err != nil {
		e.fail(ctx, err)
		return
	}
	e.send(ctx, entry, from)
}

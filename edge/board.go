package edge

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/wasm"
)

// snapshot is one immutable ranking of every public brand by one module.
type snapshot struct {
	id          string // of its content: two nodes with the same facts agree on it
	items       []fieldmark.BoardEntry
	place       map[fieldmark.Slug]placed // of every ranked brand
	known       map[fieldmark.Slug]fieldmark.ScoreStatus
	pending     int
	unreachable int
	methodology fieldmark.Methodology
	asOf        *fieldmark.Time // of the newest audit in it
	event       int64           // the newest event it knows of
}

// placed is where a brand stands: its rank, and its line among the items.
type placed struct {
	fieldmark.Rank
	line int
}

// keptSnapshots is how many rankings a cursor may still point into. At one a
// second it is the least a reader of several pages can count on; rankings of a
// quiet time last until the next change.
const keptSnapshots = 32

// boards holds the present ranking and the last few before it.
type boards struct {
	now atomic.Pointer[snapshot]

	mu   sync.Mutex
	kept []*snapshot // newest last
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

// set makes s the present ranking.
func (b *boards) set(s *snapshot) {
	if old := b.now.Load(); old != nil && old.id == s.id {
		b.now.Store(s) // the same order; statuses of unranked brands may differ
		b.mu.Lock()
		defer b.mu.Unlock()
		b.kept[len(b.kept)-1] = s
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kept = append(b.kept, s)
	if len(b.kept) > keptSnapshots {
		b.kept = slices.Delete(b.kept, 0, len(b.kept)-keptSnapshots)
	}
	b.now.Store(s)
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
	if s == nil {
		return answerUnknown
	}
	if _, ok := s.known[slug]; ok {
		return answerYes
	}
	return answerNo
}

// rank returns a brand's place, or nil while it has none.
func (b *boards) rank(slug fieldmark.Slug) *fieldmark.Rank {
	if s := b.now.Load(); s != nil {
		if p, ok := s.place[slug]; ok {
			return &p.Rank
		}
	}
	return nil
}

// score returns what the present ranking knows of a ranked brand: enough for a
// badge, and there when nothing else is.
func (b *boards) score(slug fieldmark.Slug) (*fieldmark.Score, bool) {
	s := b.now.Load()
	if s == nil {
		return nil, false
	}
	p, ok := s.place[slug]
	if !ok {
		return nil, false
	}
	it := s.items[p.line]
	return &fieldmark.Score{Slug: slug, Name: it.Name, Niche: it.Niche, Language: it.Language, Assessment: fieldmark.Assessment{
		Status: fieldmark.StatusScored, Score: &it.Score, Grade: it.Grade, Range: &it.Range, GeoReady: it.GeoReady, AsOf: &it.AsOf,
	}}, true
}

// ranking is the follower's working copy: every public brand, scored by one
// module. Only the follower touches it.
type ranking struct {
	module *wasm.Module
	rows   map[fieldmark.Slug]row
	event  int64 // the newest event it knows of
}

type row struct {
	status fieldmark.ScoreStatus
	entry  fieldmark.BoardEntry // only if ranked
	ranked bool
}

func newRow(score *fieldmark.Score) row {
	r := row{status: score.Status, ranked: score.Ranked()}
	if r.ranked {
		r.entry = fieldmark.NewBoardEntry(score)
	}
	return r
}

// snapshot sorts the rows and numbers them.
func (r *ranking) snapshot() *snapshot {
	s := &snapshot{
		place:       make(map[fieldmark.Slug]placed, len(r.rows)),
		known:       make(map[fieldmark.Slug]fieldmark.ScoreStatus, len(r.rows)),
		methodology: r.module.Methodology(), event: r.event,
	}
	for slug, row := range r.rows {
		s.known[slug] = row.status
		switch {
		case row.ranked:
			s.items = append(s.items, row.entry)
		case row.status == fieldmark.StatusPending:
			s.pending++
		case row.status == fieldmark.StatusUnreachable:
			s.unreachable++
		}
	}
	for i := range s.items {
		if at := s.items[i].AsOf; s.asOf == nil || at.Std().After(s.asOf.Std()) {
			s.asOf = &at
		}
	}
	slices.SortFunc(s.items, fieldmark.CompareBoard)
	fieldmark.SetRanks(s.items)
	s.number()
	s.name(r.module.Ref().Digest)
	return s
}

// number gives each ranked brand its place, over all and within its niche.
func (s *snapshot) number() {
	type niche struct{ count, rank int }
	niches := map[string]*niche{}
	last := map[string]fieldmark.Milli{}
	for i := range s.items {
		it := &s.items[i]
		n := niches[it.Niche]
		if n == nil {
			n = &niche{}
			niches[it.Niche] = n
		}
		n.count++
		if prev, ok := last[it.Niche]; !ok || prev != it.Score {
			n.rank = n.count
		}
		last[it.Niche] = it.Score
		s.place[it.Slug] = placed{fieldmark.Rank{Overall: it.Rank, Of: len(s.items), Niche: n.rank}, i}
	}
	for i := range s.items {
		it := &s.items[i]
		r := s.place[it.Slug]
		r.OfNiche = niches[it.Niche].count
		s.place[it.Slug] = r
	}
}

// name derives the snapshot's id from what it says.
func (s *snapshot) name(module fieldmark.Digest) {
	h := sha256.New()
	h.Write([]byte(module))
	for i := range s.items {
		it := &s.items[i]
		h.Write([]byte(it.Slug))
		h.Write([]byte{0})
		h.Write([]byte(it.Name + "\x00" + it.Niche + "\x00" + it.Language + "\x00"))
		var n [16]byte
		binary.BigEndian.PutUint64(n[:8], uint64(it.Score))
		binary.BigEndian.PutUint64(n[8:], uint64(it.AsOf.Micros()))
		h.Write(n[:])
	}
	s.id = hex.EncodeToString(h.Sum(nil)[:8])
}

// page cuts one page out of a ranking.
func (s *snapshot) page(offset, limit int, key cursorKey) fieldmark.Board {
	offset = min(offset, len(s.items))
	end := min(offset+limit, len(s.items))
	b := fieldmark.Board{
		Items: s.items[offset:end], Snapshot: s.id, AsOf: s.asOf,
		Methodology: s.methodology, Total: len(s.items),
	}
	if b.Items == nil {
		b.Items = []fieldmark.BoardEntry{}
	}
	if end < len(s.items) {
		b.NextCursor = key.encode(s.id, end)
	}
	return b
}

// cursorKey authenticates cursors, so that only places we named are asked for.
type cursorKey [32]byte

func newCursorKey(nodeToken string) cursorKey {
	return sha256.Sum256([]byte("leaderboard cursor\x00" + nodeToken))
}

const cursorMAC = 8 // bytes; a forged cursor gains nothing but a page of a public list

func (k cursorKey) encode(id string, offset int) string {
	raw, err := hex.DecodeString(id)
	if err != nil {
		panic("BUG: a snapshot id that is not hexadecimal: " + id)
	}
	raw = binary.BigEndian.AppendUint32(raw, uint32(offset))
	return base64.RawURLEncoding.EncodeToString(append(raw, k.mac(raw)...))
}

func (k cursorKey) mac(raw []byte) []byte {
	h := hmac.New(sha256.New, k[:])
	h.Write(raw)
	return h.Sum(nil)[:cursorMAC]
}

func (k cursorKey) decode(cursor string) (id string, offset int, ok bool) {
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(raw) != 8+4+cursorMAC {
		return "", 0, false
	}
	body, mac := raw[:12], raw[12:]
	if !hmac.Equal(mac, k.mac(body)) {
		return "", 0, false
	}
	return hex.EncodeToString(body[:8]), int(binary.BigEndian.Uint32(body[8:])), true
}

// boardQuery is a leaderboard request, checked.
type boardQuery struct {
	limit  int
	cursor string
}

// strictness is what becomes of parameters nobody knows. Programs are told: a
// misspelt filter must not look like an unfiltered list. People are not: links
// they follow carry the marks of whoever sent them.
type strictness bool

const (
	strict  strictness = true
	lenient strictness = false
)

// parseBoardQuery reads the query of a leaderboard.
func parseBoardQuery(args *fasthttp.Args, s strictness) (boardQuery, error) {
	q := boardQuery{limit: fieldmark.DefaultBoardLimit}
	var bad []fieldmark.FieldError
	for key, value := range args.All() {
		switch string(key) {
		case "limit":
			n, err := strconv.Atoi(string(value))
			if err != nil || n < 1 || n > fieldmark.MaxBoardLimit {
				bad = append(bad, fieldmark.FieldError{Pointer: "?limit", Code: "range", Detail: "must be 1 to " + strconv.Itoa(fieldmark.MaxBoardLimit)})
				continue
			}
			q.limit = n
		case "cursor":
			q.cursor = string(value)
		default:
			if s == strict {
				bad = append(bad, unknownParameter(string(key), "limit and cursor"))
			}
		}
	}
	if bad != nil {
		return q, &fieldmark.Error{Code: fieldmark.CodeInvalidParameter, Detail: "the query is not acceptable", Fields: bad}
	}
	return q, nil
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
	id, offset, ok := e.cursor.decode(q.cursor)
	if !ok {
		return nil, 0, fieldmark.Errorf(fieldmark.CodeInvalidCursor, "start again without a cursor")
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
	rc, cancel := requestContext()
	defer cancel()
	key := "board/" + s.id + "/" + strconv.Itoa(offset) + "/" + strconv.Itoa(q.limit)
	entry, from, err := e.cache.Fetch(rc, key, func(context.Context) (*cache.Entry, error) {
		body, err := json.Marshal(s.page(offset, q.limit, e.cursor))
		if err != nil {
			return nil, err
		}
		etag := `"` + s.id + "-" + strconv.Itoa(offset) + "-" + strconv.Itoa(q.limit) + `"`
		return &cache.Entry{
			Body: append(body, '\n'), Status: http.StatusOK, Fresh: boardFresh, AsOf: s.event, Tags: boardTags,
			Value: newHead(etag,
				"Content-Type", "application/json",
				"Cache-Control", boardCacheControl,
				"X-Content-Type-Options", "nosniff",
				"Access-Control-Allow-Origin", "*"),
		}, nil
	})
	if err != nil {
		e.fail(ctx, err)
		return
	}
	e.send(ctx, entry, from)
}

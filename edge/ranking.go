package edge

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"hash/maphash"
	"maps"
	"strconv"
	"strings"
	"sync"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/wasm"
)

// line is what a ranking keeps of a public brand. It never changes; another
// score makes another line.
type line struct {
	slug     fieldmark.Slug
	to       fieldmark.Slug // where an old slug leads; such a line has nothing else
	name     string
	niche    string
	language string
	status   fieldmark.ScoreStatus
	asOf     int64 // microseconds
	ranked   bool
	full     bool // whether it also stands in the list of full scores
	geoReady bool
	failed   bool // the active module cannot score the brand

	certainty fieldmark.Milli
	scores    [bases]standing
	ago       [2]int32  // readiness 30 and 90 days ago, in thousandths; -1: none
	sum       [2]uint64 // names all it says
}

// standing is a brand's score in one list.
type standing struct {
	score, low, high int32 // thousandths
	then             int32 // a week ago; -1: none
}

// The lists there are, by basis.
const (
	readiness = iota
	fullScore
	bases
)

// newLine keeps of a score what rankings need.
func newLine(s *fieldmark.Score) *line {
	l := &line{slug: s.Slug, status: s.Status, ranked: s.Ranked()}
	if !l.ranked {
		return l
	}
	e := fieldmark.NewBoardEntry(s)
	l.name, l.niche, l.language, l.geoReady = e.Name, e.Niche, e.Language, e.GeoReady
	l.certainty, l.asOf = e.Certainty, e.AsOf.Micros()
	l.scores[readiness] = standingOf(&e)
	if s.Trend.D7 != nil {
		l.scores[readiness].then = int32(e.Score - *s.Trend.D7)
	}
	l.ago = [2]int32{-1, -1}
	for i, moved := range [2]*fieldmark.Milli{s.Trend.D30, s.Trend.D90} {
		if moved != nil {
			l.ago[i] = int32(*s.Score - *moved)
		}
	}
	if s.Full != nil {
		l.full = true
		e = fieldmark.NewFullBoardEntry(s)
		l.scores[fullScore] = standingOf(&e)
	}
	text, err := json.Marshal(struct {
		E    fieldmark.BoardEntry
		C    fieldmark.Milli
		S    [bases]standing
		Then [bases]int32
		Ago  [2]int32
	}{e, e.Certainty, l.scores, [bases]int32{l.scores[readiness].then, l.scores[fullScore].then}, l.ago})
	if err != nil {
		panic("BUG: a line of the ranking that cannot be encoded: " + err.Error())
	}
	sum := sha256.Sum256(text)
	l.sum = [2]uint64{binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16])}
	return l
}

func standingOf(e *fieldmark.BoardEntry) standing {
	return standing{score: int32(e.Score), low: int32(e.Range.Low), high: int32(e.Range.High), then: -1}
}

// entry is the line as one list shows it, without ranks.
func (l *line) entry(basis int) fieldmark.BoardEntry {
	s := l.scores[basis]
	score := fieldmark.Milli(s.score)
	return fieldmark.BoardEntry{
		Slug: l.slug, Name: l.name, Niche: l.niche, Language: l.language,
		Score: score, Grade: fieldmark.GradeOf(score),
		Range:      fieldmark.Range{Low: fieldmark.Milli(s.low), High: fieldmark.Milli(s.high)},
		Confidence: fieldmark.LevelOf(l.certainty), GeoReady: l.geoReady, AsOf: fieldmark.AtMicros(l.asOf),
		Links:     fieldmark.BoardLinks{Score: fieldmark.PathScore + string(l.slug), Badge: fieldmark.PathBadge + string(l.slug)},
		Certainty: l.certainty,
	}
}

// bySlug and byScore are the orders of a ranking; the latter is that of
// fieldmark.CompareBoard.
func bySlug(a, b *line) int { return strings.Compare(string(a.slug), string(b.slug)) }

var byScore = [bases]func(a, b *line) int{
	readiness: func(a, b *line) int { return compareScores(a, b, readiness) },
	fullScore: func(a, b *line) int { return compareScores(a, b, fullScore) },
}

func compareScores(a, b *line, basis int) int {
	return cmp.Or(
		cmp.Compare(b.scores[basis].score, a.scores[basis].score),
		cmp.Compare(b.certainty, a.certainty),
		cmp.Compare(b.asOf, a.asOf),
		bySlug(a, b),
	)
}

// tally counts scores. They have one decimal, so a place is a sum over at most a
// thousand numbers however many brands there are.
type tally [1001]int32

func place(score int32) int { return int(score) / 100 }

// rank is the place of a score: one more than there are better ones.
func (t *tally) rank(score int32) int {
	above := 1
	for _, n := range t[place(score)+1:] {
		above += int(n)
	}
	return above
}

// list is a sorted list with what ranks are counted from.
type list struct {
	order     *order
	now, then tally
}

func newList(basis int, lines []*line) *list {
	l := &list{}
	for _, line := range lines {
		l.count(line, basis, 1)
	}
	l.order = newOrder(byScore[basis], lines)
	return l
}

func (l *list) count(line *line, basis int, by int32) {
	s := line.scores[basis]
	l.now[place(s.score)] += by
	if s.then >= 0 {
		l.then[place(s.then)] += by
	}
}

func (l *list) with(basis int, out, in []*line) *list {
	next := &list{order: l.order.with(out, in), now: l.now, then: l.then}
	for _, line := range out {
		next.count(line, basis, -1)
	}
	for _, line := range in {
		next.count(line, basis, 1)
	}
	return next
}

// field is all lists of one basis.
type field struct {
	all    *list
	niches map[string]*list
}

func newField(basis int, lines []*line) field {
	f := field{all: newList(basis, lines), niches: map[string]*list{}}
	byNiche := map[string][]*line{}
	for _, l := range lines {
		byNiche[l.niche] = append(byNiche[l.niche], l)
	}
	for niche, lines := range byNiche {
		f.niches[niche] = newList(basis, lines)
	}
	return f
}

func (f field) with(basis int, out, in []*line) field {
	if len(out) == 0 && len(in) == 0 {
		return f
	}
	next := field{all: f.all.with(basis, out, in), niches: maps.Clone(f.niches)}
	type change struct{ out, in []*line }
	changes := map[string]change{}
	for _, l := range out {
		c := changes[l.niche]
		c.out = append(c.out, l)
		changes[l.niche] = c
	}
	for _, l := range in {
		c := changes[l.niche]
		c.in = append(c.in, l)
		changes[l.niche] = c
	}
	for niche, c := range changes {
		old := next.niches[niche]
		if old == nil {
			old = newList(basis, nil)
		}
		if l := old.with(basis, c.out, c.in); l.order.size > 0 {
			next.niches[niche] = l
		} else {
			delete(next.niches, niche)
		}
	}
	return next
}

// snapshot is one immutable ranking of every public brand by one module.
type snapshot struct {
	id          string       // of its content: two nodes with the same facts agree on it
	module      *wasm.Module // to rank changed brands by; an old ranking's may be closed
	methodology fieldmark.Methodology
	slugs       *order // every public brand and every alias
	fields      [bases]field
	languages   map[string]int // of ranked brands
	pending     int
	unreachable int
	failed      int             // brands that the module cannot score
	asOf        *fieldmark.Time // of the newest audit in it
	since       fieldmark.Time  // what changes are counted from
	newest      int64           // asOf in microseconds; 0: none
	sum         [2]uint64       // of its ranked lines
	unranked    uint64          // sum of the hashes of all other slugs, which id does not cover

	views *views
}

// newSnapshot sorts lines, which are of brands and of aliases, and numbers them.
func newSnapshot(m *wasm.Module, lines []*line, since fieldmark.Time) *snapshot {
	s := &snapshot{module: m, methodology: m.Methodology(), since: since, languages: map[string]int{}, views: &views{}}
	var ranked [bases][]*line
	for _, l := range lines {
		s.count(l, 1)
		if l.ranked {
			ranked[readiness] = append(ranked[readiness], l)
		}
		if l.full {
			ranked[fullScore] = append(ranked[fullScore], l)
		}
	}
	s.slugs = newOrder(bySlug, lines)
	for basis := range ranked {
		s.fields[basis] = newField(basis, ranked[basis])
	}
	s.seekNewest()
	s.finish()
	return s
}

// with returns the ranking with brands changed: a line replaces the one of its
// slug, nil takes it out. Aliases are lines like any other.
func (s *snapshot) with(changed map[fieldmark.Slug]*line) *snapshot {
	next := &snapshot{
		module: s.module, methodology: s.methodology, since: s.since, languages: maps.Clone(s.languages), views: &views{},
		pending: s.pending, unreachable: s.unreachable, failed: s.failed, sum: s.sum, unranked: s.unranked,
	}
	var out, in, outRanked, inRanked, outFull, inFull []*line
	sort := func(l *line, all, ranked, full *[]*line) {
		*all = append(*all, l)
		if l.ranked {
			*ranked = append(*ranked, l)
		}
		if l.full {
			*full = append(*full, l)
		}
	}
	for slug, l := range changed {
		if old := s.line(slug); old != nil {
			next.count(old, -1)
			sort(old, &out, &outRanked, &outFull)
		}
		if l != nil {
			next.count(l, 1)
			sort(l, &in, &inRanked, &inFull)
		}
	}
	next.slugs = s.slugs.with(out, in)
	next.fields = [bases]field{
		readiness: s.fields[readiness].with(readiness, outRanked, inRanked),
		fullScore: s.fields[fullScore].with(fullScore, outFull, inFull),
	}
	next.newest = s.newest
	for _, l := range outRanked {
		if l.asOf == s.newest {
			next.newest = 0
		}
	}
	for _, l := range inRanked {
		if l.asOf >= s.newest {
			next.newest = max(next.newest, l.asOf)
		}
	}
	if next.newest == 0 {
		next.seekNewest()
	}
	next.finish()
	return next
}

// seekNewest looks through all lines for the newest audit.
func (s *snapshot) seekNewest() {
	for l := range s.fields[readiness].all.order.from(0) {
		s.newest = max(s.newest, l.asOf)
	}
}

// slugSeed is of the hashes in snapshot.unranked.
var slugSeed = maphash.MakeSeed()

// count adds a line to what is said of all, or takes it away.
func (s *snapshot) count(l *line, by int) {
	if !l.ranked {
		s.unranked += uint64(by) * maphash.String(slugSeed, string(l.slug))
	}
	if l.failed {
		s.failed += by
	}
	switch {
	case l.ranked:
		if s.languages[l.language] += by; s.languages[l.language] == 0 {
			delete(s.languages, l.language)
		}
		// A sum does not depend on the order, and lines can be taken out again.
		s.sum[0] += uint64(by) * l.sum[0]
		s.sum[1] += uint64(by) * l.sum[1]
	case l.to != "":
	case l.status == fieldmark.StatusPending:
		s.pending += by
	case l.status == fieldmark.StatusUnreachable:
		s.unreachable += by
	}
}

// finish works out what follows from the lists.
func (s *snapshot) finish() {
	if s.newest > 0 {
		at := fieldmark.AtMicros(s.newest)
		s.asOf = &at
	}
	text := []byte(string(s.module.Ref().Digest) + "\x00" + s.since.String() + "\x00")
	text = binary.BigEndian.AppendUint64(text, s.sum[0])
	text = binary.BigEndian.AppendUint64(text, s.sum[1])
	sum := sha256.Sum256(text)
	s.id = hex.EncodeToString(sum[:8])
}

// key names all that pages made of this ranking show, of brands without a rank too.
func (s *snapshot) key() string {
	return s.id + "/" + strconv.FormatUint(s.unranked, 36) + "/" + strconv.Itoa(s.pending) + "/" + strconv.Itoa(s.unreachable)
}

// line returns the line of a slug, or nil.
func (s *snapshot) line(slug fieldmark.Slug) *line {
	return s.slugs.find(func(l *line) int { return strings.Compare(string(l.slug), string(slug)) })
}

// views are lists that some filter left, kept while the ranking is the present one.
type views struct {
	mu    sync.Mutex
	lists map[fieldmark.BoardFilter]*list
	lines int
}

// maxViewLines bounds what filtered lists of one ranking keep, in lines; a
// pointer each.
const maxViewLines = 1 << 21

// view is the list of the brands that pass a filter.
func (s *snapshot) view(f fieldmark.BoardFilter) *list {
	basis := basisOf(f.Basis)
	from := s.fields[basis].all
	if f.Niche != "" {
		if from = s.fields[basis].niches[f.Niche]; from == nil {
			return newList(basis, nil)
		}
	}
	if f.Language == "" && f.MinConfidence == 0 {
		return from
	}
	f.Language = strings.ToLower(f.Language)
	s.views.mu.Lock()
	l := s.views.lists[f]
	s.views.mu.Unlock()
	if l != nil {
		return l
	}
	spoken := f.Language == ""
	for tag := range s.languages {
		spoken = spoken || fieldmark.MatchesLanguage(tag, f.Language)
	}
	if !spoken {
		return newList(basis, nil)
	}
	var lines []*line
	for l := range from.order.from(0) {
		if l.certainty >= f.MinConfidence && (f.Language == "" || fieldmark.MatchesLanguage(l.language, f.Language)) {
			lines = append(lines, l)
		}
	}
	l = newList(basis, lines)
	s.views.keep(f, l)
	return l
}

func (v *views) keep(f fieldmark.BoardFilter, l *list) {
	v.mu.Lock()
	defer v.mu.Unlock()
	const overhead = len(tally{}) // two tallies of half a pointer each
	if v.lines += l.order.size + overhead; v.lines > maxViewLines {
		v.lists, v.lines = nil, l.order.size+overhead
	}
	if v.lists == nil {
		v.lists = map[fieldmark.BoardFilter]*list{}
	}
	v.lists[f] = l
}

func basisOf(name string) int {
	if name == fieldmark.BasisFull {
		return fullScore
	}
	return readiness
}

package ranking

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/rankingfile"
	"github.com/fieldmark/fieldmark/wasm/scoring"
)

// Row is the data of a slug in a ranking: a public brand, one that its owner unlisted, or an
// alias of one. It is immutable; another score makes another row.
type Row struct {
	// What a batch reads comes first, in the order it reads it: two lines of the processor's cache in place of four.
	slug      fieldmark.Slug
	ratings   [bases]rating
	asOf      int64 // of the facts, in microseconds; 0: none
	certainty fieldmark.Milli
	ranked    bool
	scored    bool // whether it has a score: one that is too old is not ranked
	full      bool // whether it is also in the list of full scores
	geoReady  bool
	failed    bool   // the active module cannot score the brand
	alias     bool   // it has only a slug and a name
	name      string // of an alias the slug that it leads to: another field would add 16 bytes to each brand
	status    fieldmark.ScoreStatus
	niche     string
	language  string

	host string    // of its site, without www.
	ago  [2]int32  // readiness 30 and 90 days ago, in thousandths; -1: none
	sum  [2]uint64 // a digest of all of the above
}

// rating is a brand's score in one list, in thousandths.
type rating struct {
	score int32
	span
	weekAgo int32 // score a week ago; -1: none
}

// span is the range of a score, in thousandths.
type span struct{ low, high int32 }

// then returns the range of a week ago: that of now, moved to the score of then. Past
// facts are scored for their score alone, and ranges hardly change within a week.
func (r *rating) then() (span, bool) {
	if r.weekAgo < 0 {
		return span{}, false
	}
	const most = int32(100 * fieldmark.MilliOne)
	moved := r.weekAgo - r.score
	return span{min(max(r.low+moved, 0), most), min(max(r.high+moved, 0), most)}, true
}

// The lists of a ranking, by basis.
const (
	readiness = iota
	fullScore
	bases
)

func basisOf(name string) int {
	if name == fieldmark.BasisFull {
		return fullScore
	}
	return readiness
}

// NewRow returns the row of a score.
func NewRow(s *fieldmark.Score) *Row {
	l := rankingfile.NewLine(s)
	l.Host = strings.Clone(l.Host) // it may be a part of a longer text
	r := RowOf(&l)
	return &r
}

// RowOf returns the row of a line of a ranking file. It keeps the texts of the line. The rows of a file are
// allocated together, so it returns no pointer.
func RowOf(l *rankingfile.Line) Row {
	r := Row{slug: l.Slug, name: cmp.Or(string(l.Target), l.Name), alias: l.Target != "", host: l.Host,
		niche: l.Niche, language: l.Language, status: l.Status, asOf: l.AsOf, ranked: l.Ranked, scored: l.Scored,
		full: l.HasFull, geoReady: l.GeoReady, failed: l.Failed, certainty: fieldmark.Milli(l.Certainty)}
	r.ratings = [bases]rating{readiness: ratingOf(l.Score), fullScore: ratingOf(l.Full)}
	if r.ranked {
		r.ratings[readiness].weekAgo, r.ago = l.Past[0], [2]int32{l.Past[1], l.Past[2]}
		r.setSum(l)
	}
	return r
}

// setSum sets the digest of a ranked row. Nodes compare rankings by it, so its form must not change within a
// release.
func (r *Row) setSum(l *rankingfile.Line) {
	text := make([]byte, 0, 256)
	for _, s := range [...]string{string(l.Slug), l.Name, l.Host, l.Niche, l.Language} {
		text = append(binary.AppendUvarint(text, uint64(len(s))), s...)
	}
	sum := sha256.Sum256(l.Values.Append(text))
	r.sum = [2]uint64{binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16])}
}

// Line returns the line of a row, as rankingfile.NewLine returns it for the same score.
func (r *Row) Line() rankingfile.Line {
	l := rankingfile.Line{Slug: r.slug, Target: r.Target(), Name: r.name, Host: r.host, Niche: r.niche,
		Language: r.language, Values: rankingfile.Values{Status: r.status, Ranked: r.ranked, Scored: r.scored,
			GeoReady: r.geoReady, HasFull: r.full, Failed: r.failed, AsOf: r.asOf, Certainty: int32(r.certainty)}}
	if r.alias {
		l.Name = ""
	}
	rating := func(of *rating) rankingfile.Rating {
		return rankingfile.Rating{Score: of.score, Low: of.low, High: of.high}
	}
	l.Score, l.Full = rating(&r.ratings[readiness]), rating(&r.ratings[fullScore])
	if r.ranked {
		l.Past = [3]int32{r.ratings[readiness].weekAgo, r.ago[0], r.ago[1]}
	}
	return l
}

// NewAlias returns the row of a slug that a brand had before.
func NewAlias(slug, target fieldmark.Slug) *Row {
	return &Row{slug: slug, name: string(target), alias: true}
}

// NewFailed returns the row of a brand that the active module cannot score: old, its
// row so far, or one without a rank if old is nil.
func NewFailed(slug fieldmark.Slug, old *Row) *Row {
	if old == nil {
		return &Row{slug: slug, status: fieldmark.StatusInsufficientData, failed: true}
	}
	r := *old
	r.failed = true
	return &r
}

// Slug returns the slug of the row.
func (r *Row) Slug() fieldmark.Slug { return r.slug }

// Host returns the host of the brand's site, without www.
func (r *Row) Host() string { return r.host }

// IsAlias reports whether the row is of an old slug that leads to a brand.
func (r *Row) IsAlias() bool { return r.alias }

// Listed reports whether lists and search may show the row: it is of a brand, and its owner
// has not unlisted it.
func (r *Row) Listed() bool { return !r.alias && r.status != fieldmark.StatusUnlisted }

// Target returns the slug that an old slug leads to; empty for a brand.
func (r *Row) Target() fieldmark.Slug {
	if !r.alias {
		return ""
	}
	return fieldmark.Slug(r.name)
}

// AsOf returns when the brand was audited, in microseconds since 1970; 0: it is not
// ranked.
func (r *Row) AsOf() int64 {
	if !r.ranked {
		return 0
	}
	return r.asOf
}

// Past returns the readiness 90, 30 and 7 days ago; nil where it is unknown.
func (r *Row) Past() (past [3]*fieldmark.Milli) {
	for i, then := range [3]int32{r.ago[1], r.ago[0], r.ratings[readiness].weekAgo} {
		if then >= 0 {
			score := fieldmark.Milli(then)
			past[i] = &score
		}
	}
	return past
}

func ratingOf(r rankingfile.Rating) rating {
	return rating{score: r.Score, span: span{r.Low, r.High}, weekAgo: -1}
}

// entry is the row as one list shows it, without ranks.
func (r *Row) entry(basis int) fieldmark.BoardEntry {
	s := r.ratings[basis]
	score := fieldmark.Milli(s.score)
	return fieldmark.BoardEntry{
		Slug: r.slug, Name: r.name, Niche: r.niche, Language: r.language,
		Score: score, Grade: scoring.GradeOf(fieldmark.Milli(s.low)),
		Range:      fieldmark.Range{Low: fieldmark.Milli(s.low), High: fieldmark.Milli(s.high)},
		Confidence: scoring.LevelOf(r.certainty), GeoReady: r.geoReady, AsOf: fieldmark.AtMicros(r.asOf),
		Links: fieldmark.BoardLinks{Score: fieldmark.PathScore + string(r.slug),
			Badge: fieldmark.PathBadge + string(r.slug)},
		Certainty: r.certainty,
	}
}

// compareSlugs and compareScores are the orders of a ranking; the latter is that of
// the published rules: score, certainty, age, slug.
func compareSlugs(a, b *Row) int { return strings.Compare(string(a.slug), string(b.slug)) }

var compareScores = [bases]func(a, b *Row) int{
	readiness: func(a, b *Row) int { return compareRatings(a, b, readiness) },
	fullScore: func(a, b *Row) int { return compareRatings(a, b, fullScore) },
}

func compareRatings(a, b *Row, basis int) int {
	return cmp.Or(
		cmp.Compare(b.ratings[basis].score, a.ratings[basis].score),
		cmp.Compare(b.certainty, a.certainty),
		cmp.Compare(b.asOf, a.asOf),
		compareSlugs(a, b),
	)
}

package fieldmark

import (
	"strings"
)

// BoardLinks are the URLs of the badge, score and page of a brand.
type BoardLinks struct {
	Score string `json:"score"`
	Badge string `json:"badge"`
}

// BoardChange is the change of a brand within a week (D7 of its trend), negative if it
// lost. The ranks of then follow from the scores of then with the ranges of now.
type BoardChange struct {
	Rank  int   `json:"rank"`  // ranks certainly gained: 0 while the ranks of then and now overlap
	Score Milli `json:"score"` // points gained
	Since Time  `json:"since"`
}

// BoardEntry is an entry of the leaderboard.
type BoardEntry struct {
	Rank        int             `json:"rank"`                      // best rank within the filter: see Rank
	RankLast    int             `json:"rankLast"`                  // last rank within the filter
	Overall     int             `json:"overallRank,omitempty"`     // among all brands; only with a filter
	OverallLast int             `json:"overallRankLast,omitempty"` // among all brands; only with a filter
	Slug        Slug            `json:"slug"`
	Name        string          `json:"name"`
	Niche       string          `json:"niche"`
	Language    string          `json:"language"`
	Score       Milli           `json:"score"`
	Grade       Grade           `json:"grade"` // of the lower end of Range
	Range       Range           `json:"range"`
	Confidence  ConfidenceLevel `json:"confidence"`
	GeoReady    bool            `json:"geoReady"`
	Change      *BoardChange    `json:"change"` // null if it was not ranked then
	AsOf        Time            `json:"asOf"`
	Links       BoardLinks      `json:"links"`

	// Certainty is the confidence as a number, which orders equal scores.
	Certainty Milli `json:"-"`
}

// Board is a page of the leaderboard: GET /api/v1/leaderboard. It is ordered by score;
// the method cannot distinguish neighbors whose ranges overlap, so they share ranks.
type Board struct {
	Items       []BoardEntry `json:"items"`
	NextCursor  string       `json:"nextCursor,omitempty"`
	Snapshot    string       `json:"snapshot"`
	AsOf        *Time        `json:"asOf"` // newest audit in the ranking; null if it is empty
	Methodology Methodology  `json:"methodology"`
	Filters     BoardFilter  `json:"filters"`
	Total       int          `json:"total"` // number of matching brands
	Note        string       `json:"note"`
}

// BoardNote is the note on every leaderboard.
const BoardNote = "Brands whose ranges overlap cannot be told apart: rank and rankLast are the best and the last " +
	"rank that a brand may have. The list is ordered by score."

// BoardFilter selects the brands of a leaderboard.
type BoardFilter struct {
	Basis         string `json:"basis"` // BasisReadiness or BasisFull
	Niche         string `json:"niche,omitempty"`
	Language      string `json:"language,omitempty"` // a basic language range (RFC 4647, section 3.3.1)
	MinConfidence Milli  `json:"minConfidence,omitempty"`
}

// MatchesLanguage reports whether a tag matches a basic language range: de matches de and
// de-AT (RFC 4647, section 3.3.1).
func MatchesLanguage(tag, inRange string) bool {
	if len(tag) < len(inRange) || !strings.EqualFold(tag[:len(inRange)], inRange) {
		return false
	}
	return len(tag) == len(inRange) || tag[len(inRange)] == '-'
}

// Limits of a leaderboard page, in entries.
const (
	DefaultBoardLimit = 20
	MaxBoardLimit     = 100
)

// NewBoardEntry returns the entry of a ranked score, without its rank.
func NewBoardEntry(s *Score) BoardEntry {
	return BoardEntry{
		Slug: s.Slug, Name: s.Name, Niche: s.Niche, Language: s.Language,
		Score: *s.Score, Grade: s.Grade, Range: *s.Range,
		Confidence: s.Confidence.Level, GeoReady: s.GeoReady, AsOf: *s.AsOf,
		Links:     BoardLinks{Score: PathScore + string(s.Slug), Badge: PathBadge + string(s.Slug)},
		Certainty: s.Confidence.Value,
	}
}

// Limits of POST /api/v1/scores/batch, in slugs.
const (
	MaxBatchScores     = 1000 // with an API key
	MaxAnonymousScores = 100
	// ScoresPerRead is how many slugs count as one request of the client's rate.
	ScoresPerRead = 100
)

// ScoreItem is a brand in bulk reads: what its score document says, without evidence.
type ScoreItem struct {
	Slug       Slug            `json:"slug"`
	To         Slug            `json:"to,omitempty"` // the present slug, if Slug is an earlier one
	Name       string          `json:"name,omitempty"`
	Niche      string          `json:"niche,omitempty"`
	Language   string          `json:"language,omitempty"`
	Status     ScoreStatus     `json:"status"`
	Score      *Milli          `json:"score"` // null unless scored or stale
	Grade      Grade           `json:"grade,omitempty"`
	Range      *Range          `json:"range"`
	Confidence ConfidenceLevel `json:"confidence,omitempty"`
	GeoReady   bool            `json:"geoReady"`
	Full       *Milli          `json:"full"`            // combined with visibility; null unless both can be ranked
	AsOf       *Time           `json:"asOf"`            // null before the first audit
	Rank       *Rank           `json:"rank,omitempty"`  // only in batches; null unless ranked
	Event      int64           `json:"event,omitempty"` // only in changes: the number of the last event that changed it
}

// ScoreBatchRequest is the body of POST /api/v1/scores/batch.
type ScoreBatchRequest struct {
	Brands []Slug `json:"brands"`
}

// ScoreBatch is the response to it.
type ScoreBatch struct {
	Items   []ScoreItem `json:"items"`   // in the order of the request
	Unknown []Slug      `json:"unknown"` // no public brand has these slugs
	Event   int64       `json:"event"`   // the newest event whose changes are all in the items
	Module  ModuleRef   `json:"module"`  // that computed the scores
}

// Limits of GET /api/v1/scores.
const (
	MaxScoreChanges = 1000 // items and removed brands of a page
	MaxScoreWait    = 20   // seconds of a long poll
	// ScoreTombstones is how many days a removed brand is named in changes.
	ScoreTombstones = 30
)

// ScoreChanges is a page of GET /api/v1/scores: the brands whose score, name, niche or language
// changed after an event, each once at its newest, in the order of their last event.
type ScoreChanges struct {
	Items []ScoreItem `json:"items"`
	Gone  []GoneScore `json:"gone"` // removed, renamed or unlisted brands
	Next  string      `json:"next"` // since of the next page: opaque
	Head  int64       `json:"head"` // number of the newest event
	Log   string      `json:"log"`  // id of the event log
	More  bool        `json:"more"` // whether the next page has changes already
}

// MaxDumps is how many dumps are kept.
const MaxDumps = 30

// Dump is a pair of files with the scores of all listed brands, as they were at an event: lines of
// JSON (ScoreItem), and CSV, both compressed by Zstandard. The other members describe the first.
type Dump struct {
	Day    string    `json:"day"`   // in UTC, as 2026-11-23
	Event  int64     `json:"event"` // the newest event whose changes are all in the files
	Log    string    `json:"log"`   // id of the event log
	Module ModuleRef `json:"module"`
	Brands int       `json:"brands"`
	Bytes  int64     `json:"bytes"`
	SHA256 string    `json:"sha256"` // of the compressed file, in hexadecimal
	Path   string    `json:"path"`
	CSV    DumpFile  `json:"csv"`
	DumpTerms
}

// DumpTerms are the terms under which an operator publishes dumps.
type DumpTerms struct {
	// SPDX expression, such as CC-BY-4.0, or an https URL; empty: the operator names none
	Licence     string `json:"licence,omitempty"`
	Attribution string `json:"attribution,omitempty"` // how to name the source; empty: the operator asks for none
}

// DumpFile is one file of a Dump.
type DumpFile struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	Path   string `json:"path"`
}

// RankingFile is a file with the ranking data of all brands, from which edges start:
// GET /internal/v1/snapshots lists them.
type RankingFile struct {
	SHA256 string    `json:"sha256"` // of the file, in hexadecimal; its name
	Epoch  string    `json:"epoch"`  // id of the event log
	Event  int64     `json:"event"`  // the newest event whose changes are all in the file
	Module ModuleRef `json:"module"` // that computed all of it
	Day    string    `json:"day"`    // in UTC, from whose start past scores look back
	Lines  int       `json:"lines"`
	Bytes  int64     `json:"bytes"`
	// The head is the end of the file; it has the digests of all other parts.
	HeadBytes  int64  `json:"headBytes"`
	HeadSHA256 string `json:"headSha256"`
	CreatedAt  Time   `json:"createdAt"`
	// URL is where the file can be read without credentials for a while; empty: below the address of the list.
	URL string `json:"url,omitempty"`
}

// RankingFiles is the list of ranking files, the newest first.
type RankingFiles struct {
	Items []RankingFile `json:"items"`
}

// MinRankingFile is the number of brands above which origins make ranking files. Edges score fewer brands in a
// second or two, and have made as many score documents ready then.
const MinRankingFile = 10_000

// GoneScore is a brand that is no longer public under a slug.
type GoneScore struct {
	Slug  Slug  `json:"slug"`
	Event int64 `json:"event"`
}

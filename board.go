package fieldmark

import (
	"strings"
)

// BoardLinks are the addresses of a ranked brand's other forms.
type BoardLinks struct {
	Score string `json:"score"`
	Badge string `json:"badge"`
}

// BoardChange says how a brand moved since the day a week ago that D7 of its
// trend looks at. Both numbers are positive where it did
// better: places it climbed, points it gained.
type BoardChange struct {
	Rank  int   `json:"rank"`
	Score Milli `json:"score"`
	Since Time  `json:"since"`
}

// BoardEntry is one line of the leaderboard.
type BoardEntry struct {
	Rank       int             `json:"rank"`                  // within the filter
	Overall    int             `json:"overallRank,omitempty"` // among all brands; only where a filter is set
	Slug       Slug            `json:"slug"`
	Name       string          `json:"name"`
	Niche      string          `json:"niche"`
	Language   string          `json:"language"`
	Score      Milli           `json:"score"`
	Grade      Grade           `json:"grade"`
	Range      Range           `json:"range"`
	Confidence ConfidenceLevel `json:"confidence"`
	GeoReady   bool            `json:"geoReady"`
	Change     *BoardChange    `json:"change"` // null for a brand that had no place then
	AsOf       Time            `json:"asOf"`
	Links      BoardLinks      `json:"links"`

	// Certainty is the confidence as a number, which decides the order of ties.
	Certainty Milli `json:"-"`
}

// Board is one page of the leaderboard: GET /api/v1/leaderboard. Neighbours
// whose ranges overlap cannot be told apart by this method.
type Board struct {
	Items       []BoardEntry `json:"items"`
	NextCursor  string       `json:"nextCursor,omitempty"`
	Snapshot    string       `json:"snapshot"`
	AsOf        *Time        `json:"asOf"` // of the newest audit in the ranking; null while it is empty
	Methodology Methodology  `json:"methodology"`
	Filters     BoardFilter  `json:"filters"`
	Total       int          `json:"total"` // of brands that pass the filters
	Note        string       `json:"note"`
}

// BoardNote is what every leaderboard says about itself.
const BoardNote = "Brands whose ranges overlap cannot be told apart by this method."

// BoardFilter says which brands a leaderboard is of.
type BoardFilter struct {
	Basis         string `json:"basis"` // BasisReadiness or BasisFull
	Niche         string `json:"niche,omitempty"`
	Language      string `json:"language,omitempty"` // a basic language range (RFC 4647, section 3.3.1)
	MinConfidence Milli  `json:"minConfidence,omitempty"`
}

// MatchesLanguage reports whether a tag is in a basic language range: the range
// itself or anything below it, so that de takes in de-AT (RFC 4647, 3.3.1).
func MatchesLanguage(tag, inRange string) bool {
	if len(tag) < len(inRange) || !strings.EqualFold(tag[:len(inRange)], inRange) {
		return false
	}
	return len(tag) == len(inRange) || tag[len(inRange)] == '-'
}

// The bounds of a leaderboard page, in entries.
const (
	DefaultBoardLimit = 20
	MaxBoardLimit     = 100
)

// NewFullBoardEntry is NewBoardEntry for the list of full scores.
func NewFullBoardEntry(s *Score) BoardEntry {
	e := NewBoardEntry(s)
	e.Score, e.Grade = *s.Full, GradeOf(*s.Full)
	e.Range = Range{Low: full(s.Range.Low, s.Visibility.Range.Low), High: full(s.Range.High, s.Visibility.Range.High)}
	return e
}

// NewBoardEntry turns a ranked score into a line that has no rank yet.
func NewBoardEntry(s *Score) BoardEntry {
	return BoardEntry{
		Slug: s.Slug, Name: s.Name, Niche: s.Niche, Language: s.Language,
		Score: *s.Score, Grade: s.Grade, Range: *s.Range,
		Confidence: s.Confidence.Level, GeoReady: s.GeoReady, AsOf: *s.AsOf,
		Links:     BoardLinks{Score: PathScore + string(s.Slug), Badge: PathBadge + string(s.Slug)},
		Certainty: s.Confidence.Value,
	}
}

package fieldmark

import "cmp"

// BoardLinks are the addresses of a ranked brand's other forms.
type BoardLinks struct {
	Score string `json:"score"`
	Badge string `json:"badge"`
}

// BoardEntry is one line of the leaderboard.
type BoardEntry struct {
	Rank       int             `json:"rank"`
	Slug       Slug            `json:"slug"`
	Name       string          `json:"name"`
	Niche      string          `json:"niche"`
	Language   string          `json:"language"`
	Score      Milli           `json:"score"`
	Grade      Grade           `json:"grade"`
	Range      Range           `json:"range"`
	Confidence ConfidenceLevel `json:"confidence"`
	GeoReady   bool            `json:"geoReady"`
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
	Total       int          `json:"total"`
}

// The bounds of a leaderboard page, in entries.
const (
	DefaultBoardLimit = 20
	MaxBoardLimit     = 100
)

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

// CompareBoard orders two lines as they stand on the board: the higher score
// first; inside a tie the surer, then the newer, then by slug.
func CompareBoard(a, b BoardEntry) int {
	return cmp.Or(
		cmp.Compare(b.Score, a.Score),
		cmp.Compare(b.Certainty, a.Certainty),
		b.AsOf.Std().Compare(a.AsOf.Std()),
		compareText(a.Slug, b.Slug),
	)
}

// SetRanks numbers sorted lines 1, 2, 2, 4: equal scores share a rank.
func SetRanks(sorted []BoardEntry) {
	for i := range sorted {
		sorted[i].Rank = i + 1
		if i > 0 && sorted[i].Score == sorted[i-1].Score {
			sorted[i].Rank = sorted[i-1].Rank
		}
	}
}

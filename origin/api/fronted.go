package api

import (
	"net/http"

	"github.com/fieldmark/fieldmark"
)

// fronted is what edges answer by themselves, for the OpenAPI document alone: who
// makes a client from it wants to read scores too. The origin has no such address.
func fronted() []*route {
	const (
		score = fieldmark.PathScore + "{slug}"
		badge = fieldmark.PathBadge + "{slug}"
	)
	read := []int{http.StatusOK, http.StatusNotModified}
	return []*route{
		{"GET", score, anyone, nil, op{id: "getScore", does: "Read a brand's score with components, evidence and digests", query: []param{
			{name: "advice", does: "1 adds what would raise the score, the most first", enum: []string{"0", "1"}},
			{name: "asOf", does: "The score at a time, or at the end of a day: the facts of then by the module of now"},
		}, out: of[fieldmark.Score](), status: read}},
		{"GET", score + "/history", anyone, nil, op{id: "getScoreHistory", does: "Read a brand's score over time, with what changed it", query: []param{
			{name: "from", does: "A time or a day; 90 days before to if it is not given"},
			{name: "to", does: "A time or a day; now if it is not given"},
			{name: "step", does: "From one point to the next", enum: []string{fieldmark.StepDay, fieldmark.StepWeek}},
		}, out: of[fieldmark.ScoreHistory](), status: read}},
		{"GET", fieldmark.PathLeaderboard, anyone, nil, op{id: "getLeaderboard", does: "Read the ranking, a page at a time", query: []param{
			{name: "niche", does: "Only this niche, by its slug"},
			{name: "language", does: "Only this language: a range such as de or de-AT"},
			{name: "basis", does: "What is ranked by", enum: []string{fieldmark.BasisReadiness, fieldmark.BasisFull}},
			{name: "minConfidence", does: "0 to 1, or low, medium or high"},
			{name: "limit", does: "Brands on a page", lowest: 1, highest: fieldmark.MaxBoardLimit, preset: fieldmark.DefaultBoardLimit},
			{name: "cursor", does: "nextCursor of the page before; it is pinned to one ranking, and 410 when that is gone"},
		}, out: of[fieldmark.Board](), status: read}},
		{"GET", fieldmark.PathMethodology, anyone, nil, op{id: "getMethodology", does: "Read every weight, input and limit of the module in force", out: of[fieldmark.Method](), status: read}},
		{"GET", badge, anyone, nil, op{id: "getBadge", does: "Show a brand's badge; ending in .svg, .png or .json (for shields.io) says which form", query: []param{
			{name: "style", does: "How it is drawn; see /badges"}, {name: "theme", does: "What it stands on; see /badges"},
			{name: "lang", does: "Language of its words (BCP 47)"}, {name: "label", does: "Words of your own in place of GEO"},
		}, out: of[map[string]any](), also: []string{"image/svg+xml", "image/png"}, status: read}},
	}
}

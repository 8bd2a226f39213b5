package api

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/fieldmark/fieldmark"
)

// edgeOperations returns the operations that edges serve without the origin. They are only
// in the OpenAPI document, so that a generated client can read scores.
func edgeOperations() []*route {
	const (
		score = fieldmark.PathScore + "{slug}"
		badge = fieldmark.PathBadge + "{slug}"
	)
	read := []int{http.StatusOK, http.StatusNotModified}
	return []*route{
		{"GET", score, anyone, handleRaw[none, fieldmark.Score](nil), operation{
			id: "getScore", summary: "Get a brand's score with its range, eligibility, components, evidence and digests",
			status: read,
			query: []param{
				{name: "advice", description: "1 adds suggestions that raise the score, ordered by evidence grade x " +
					"gain / effort",
					enum: []string{"0", "1"}},
				{name: "asOf", description: "The score at a time or at the end of a day: " +
					"the facts at that time, scored by the active module"},
			}}},
		{"GET", score + "/history", anyone, handleRaw[none, fieldmark.ScoreHistory](nil), operation{
			id: "getScoreHistory", summary: "Get a brand's score over time and the changes that caused it",
			status: read,
			query: []param{
				{name: "from", description: "A time or a day; the default is 90 days before to"},
				{name: "to", description: "A time or a day; the default is now"},
				{name: "step", description: "The interval between two points",
					enum: []string{fieldmark.StepDay, fieldmark.StepWeek}},
			}}},
		{"GET", fieldmark.PathLeaderboard, anyone, handleRaw[none, fieldmark.Board](nil), operation{
			id:      "getLeaderboard",
			summary: "Get the ranking by score, one page at a time; brands whose ranges overlap share ranks",
			status:  read,
			query: []param{
				{name: "niche", description: "Only brands of this niche, by its slug"},
				{name: "language", description: "Only brands in this language: a language range such as de or de-AT"},
				{name: "basis", description: "The score to rank by",
					enum: []string{fieldmark.BasisReadiness, fieldmark.BasisFull}},
				{name: "minConfidence", description: "The least confidence: 0 to 1, or low, medium or high"},
				{name: "limit", description: "Brands per page", lowest: 1, highest: fieldmark.MaxBoardLimit,
					preset: fieldmark.DefaultBoardLimit},
				{name: "cursor", description: "nextCursor of the previous page. It belongs to one version of the " +
					"ranking; " +
					"the response is 410 when that version is gone"},
			}}},
		{"GET", fieldmark.PathMethodology, anyone, handleRaw[none, fieldmark.Method](nil), operation{
			id: "getMethodology", summary: "Get every weight, input and limit of the active module", status: read}},
		{"GET", badge, anyone, handleRaw[none, map[string]any](nil), operation{
			id:      "getBadge",
			summary: "Get a brand's badge; the suffix .svg, .png or .json (for shields.io) selects the format",
			query: []param{
				{name: "style", description: "The style; see /badges"},
				{name: "theme", description: "The background the badge is designed for; see /badges"},
				{name: "lang", description: "The language of the text (BCP 47)"},
				{name: "label", description: "Text that replaces GEO"},
			},
			produces: []string{"image/svg+xml", "image/png"}, status: read}},
	}
}

// challengeKinds are the kinds of challenges that edges ask for.
var challengeKinds = []string{"http-01", "tls-alpn-01"}

// edgeCertificates sends all certificates, their keys encrypted under the token of the request.
func (s *server) edgeCertificates(c *call) error {
	token, _ := bearer(c.r.Header.Get("Authorization"))
	all, err := s.origin.Certificates.ForEdges(c.r.Context(), token)
	if err != nil {
		return fmt.Errorf("certificates for an edge: %w", err)
	}
	return c.send(http.StatusOK, all)
}

// challenge sends the answer to an open challenge of a CA.
func (s *server) challenge(c *call) error {
	kind := c.r.PathValue("kind")
	if !slices.Contains(challengeKinds, kind) {
		return fieldmark.Errorf(fieldmark.CodeNotFound, "no such kind of challenge")
	}
	answer, err := s.origin.Certificates.Challenge(c.r.Context(), kind, c.r.PathValue("answer"))
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, answer)
}

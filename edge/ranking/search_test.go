package ranking_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/ranking"
)

// TestSearch: brands are found by name, slug and host, with and without a rank, and old
// slugs are no brands.
func TestSearch(t *testing.T) {
	brand := func(slug fieldmark.Slug, name, url string, status fieldmark.ScoreStatus) *ranking.Row {
		s := fieldmark.NewScore(fieldmark.Brand{Slug: slug, Name: name, URL: url, Niche: "tools"},
			fieldmark.PendingAssessment())
		if s.Status = status; status == fieldmark.StatusScored {
			score := fieldmark.Milli(50_000)
			s.Score, s.AsOf, s.Range = &score, new(fieldmark.AtMicros(1)), &fieldmark.Range{Low: score, High: score}
			s.Confidence.Value = fieldmark.MilliOne
		}
		return ranking.NewRow(&s)
	}
	rows := []*ranking.Row{
		brand("lindenau", "Lindenau Werke", "https://www.Werke-Lindenau.example/de/", fieldmark.StatusScored),
		brand("fern-gully", "Fern Gully", "https://gardens.example", fieldmark.StatusPending),
		brand("shut", "Lindgren", "http://shut.example:8080/", fieldmark.StatusUnreachable),
		ranking.NewAlias("lind-old", "lindenau"),
	}
	for i := range 25 {
		rows = append(rows, brand(fieldmark.Slug(fmt.Sprint("many-", i)), "Many", "https://many.example",
			fieldmark.StatusPending))
	}
	s := ranking.New(ranking.Method{}, rows, fieldmark.Time{})
	for text, want := range map[string]string{
		"LIND": "lindenau | shut/unreachable", "fern gully": "| fern-gully/pending", "fern-g": "| fern-gully/pending",
		"gardens.example": "| fern-gully/pending", "https://WWW.gardens.example/path?q=1": "| fern-gully/pending",
		"werke-lind": "lindenau |", "werke-lindenau.example/de": "lindenau |",
		"shut.example:8080": "| shut/unreachable",
		"example":           "|", "lindenau werke": "lindenau |", "http://": "|", "%zz": "|", "nothing": "|",
	} {
		f := s.Search(&ranking.Query{Limit: 10}, text)
		var got []string
		for _, e := range f.Board.Items {
			got = append(got, string(e.Slug))
		}
		got = append(got, "|")
		for _, u := range f.Unranked {
			got = append(got, string(u.Slug)+"/"+string(u.Status))
		}
		if strings.Join(got, " ") != want || f.Board.Total != len(f.Board.Items) {
			t.Errorf("%q finds %q, want %q", text, strings.Join(got, " "), want)
		}
	}
	if f := s.Search(&ranking.Query{Limit: 10}, "many"); len(f.Unranked) != 20 || f.UnrankedTotal != 25 {
		t.Errorf("%d of %d brands without a rank, want 20 of 25", len(f.Unranked), f.UnrankedTotal)
	}
	renamed := s.Apply(map[fieldmark.Slug]*ranking.Row{"fern-gully": brand("fern-gully", "Fern", "https://f.example",
		fieldmark.StatusPending)})
	if renamed.Key() == s.Key() {
		t.Error("pages of the ranking stay as they are although a brand without a rank has another name")
	}
}

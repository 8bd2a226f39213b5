package edge_test

import (
	stdcmp "cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark"
)

// ranked registers a public brand whose facts were found out at several times,
// oldest first, each time with so many words.
func (h *fixture) ranked(slug fieldmark.Slug, niche, language string, found ...found) {
	h.t.Helper()
	_, _, err := h.service.Brands.Put(h.t.Context(), fieldmark.Brand{
		Slug: slug, Name: strings.ToUpper(string(slug)), URL: "https://" + string(slug) + ".example/", Niche: niche,
		Language: language, Public: true})
	must(h.t, err)
	for _, f := range found {
		facts := factsWith(f.words)
		facts.AsOf = fieldmark.At(time.Now().Add(-f.ago))
		if f.pages != 0 {
			facts.Pages = f.pages
		}
		_, err := h.service.Brands.PutFacts(h.t.Context(), slug, facts)
		must(h.t, err)
	}
}

type found struct {
	ago   time.Duration
	words int64
	pages int // 0: ten
}

const day = 24 * time.Hour

func (h *fixture) listed(query string) fieldmark.Board {
	h.t.Helper()
	a := h.get("/api/v1/leaderboard" + query)
	if a.status != http.StatusOK {
		h.t.Fatalf("leaderboard%s: %d %s", query, a.status, a.body)
	}
	var b fieldmark.Board
	must(h.t, json.Unmarshal([]byte(a.body), &b))
	return b
}

// says writes the lines of a board as ranks, slug, and what is set of overall ranks
// and change.
func says(b fieldmark.Board) string {
	var lines []string
	for _, it := range b.Items {
		line := ranks(it.Rank, it.RankLast) + " " + string(it.Slug)
		if it.Overall != 0 {
			line += " of all " + ranks(it.Overall, it.OverallLast)
		}
		if it.Change != nil {
			line += fmt.Sprintf(" %+d %s", it.Change.Rank, it.Change.Score)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}

func ranks(best, last int) string {
	if best == last {
		return fmt.Sprint(best)
	}
	return fmt.Sprintf("%d-%d", best, last)
}

// manyRanked are brands of two niches and four languages; b and c share a score.
func manyRanked(h *fixture) {
	h.ranked("a", "tools", "de", found{ago: 20 * day, words: 100}, found{words: 300}) // from last to first
	h.ranked("b", "tools", "de-AT", found{ago: 20 * day, words: 250}, found{words: 250, pages: 9})
	h.ranked("c", "gardens", "en", found{ago: 20 * day, words: 251}, found{words: 250})
	h.ranked("d", "gardens", "den", found{words: 200}) // not there a week ago; den is not de
	h.ranked("e", "tools", "en", found{words: 150, pages: 2})
	h.ranked("old", "tools", "en", found{ago: 100 * day, words: 300}) // stale
	h.until("six are known", func() bool { return h.listed("").Total == 5 && h.get("/api/v1/score/old").status == 200 })
}

func TestBoardFilters(t *testing.T) {
	h := newFixture(t)
	manyRanked(h)
	for _, tt := range []struct{ query, want string }{
		// overlapping ranges share ranks and the next one skips.
		{"", "1 a +2 8; 2-4 c +0 0; 2-4 b +0 0; 2-5 d; 4-5 e"},
		{"?basis=readiness", "1 a +2 8; 2-4 c +0 0; 2-4 b +0 0; 2-5 d; 4-5 e"},
		{"?niche=tools", "1 a of all 1 +1 8; 2 b of all 2-4 -1 0; 3 e of all 4-5"},
		{"?niche=gardens", "1-2 c of all 2-4 +0 0; 1-2 d of all 2-5"},
		{"?niche=nobody", ""},
		{"?language=de", "1 a of all 1 +1 8; 2 b of all 2-4 -1 0"},
		{"?language=DE-at", "1 b of all 2-4 +0 0"},
		{"?language=d", ""},
		{"?language=fr", ""},
		{"?minConfidence=0.8", "1 a of all 1 +2 8; 2-4 c of all 2-4 +0 0; 2-4 b of all 2-4 +0 0; 2-4 d of all 2-5"},
		{"?minConfidence=high&niche=tools", "1 a of all 1 +1 8; 2 b of all 2-4 -1 0"},
		{"?minConfidence=1", "1 a of all 1 +1 8; 2-3 c of all 2-4 -1 0; 2-3 d of all 2-5"},
		{"?minConfidence=0&language=en&niche=tools", "1 e of all 4-5"},
		{"?basis=full", ""},
	} {
		b := h.listed(tt.query)
		if got := says(b); got != tt.want || b.Total != len(b.Items) {
			t.Errorf("leaderboard%s:\n got %s (of %d)\nwant %s", tt.query, got, b.Total, tt.want)
		}
		if b.Note != fieldmark.BoardNote || b.Methodology.ID != "geo-readiness" {
			t.Errorf("leaderboard%s: note %q, methodology %+v", tt.query, b.Note, b.Methodology)
		}
		a := h.get("/api/v1/leaderboard" + tt.query)
		if again := h.get("/api/v1/leaderboard"+tt.query, "If-None-Match",
			a.header.Get("Etag")); again.status != http.StatusNotModified {
			t.Errorf("leaderboard%s again: %d", tt.query, again.status)
		}
	}
	want := fieldmark.BoardFilter{Basis: "readiness", Niche: "tools", Language: "de-at", MinConfidence: 850}
	if got := h.listed("?niche=tools&language=de-AT&minConfidence=high").Filters; got != want {
		t.Errorf("filters = %+v, want %+v", got, want)
	}
	since := fieldmark.At(fieldmark.TrendTimes(time.Now())[0])
	if c := h.listed("").Items[0].Change; !c.Since.Std().Equal(since.Std()) {
		t.Errorf("since = %s, want %s", c.Since, since)
	}
	if s := h.score("a"); s.Trend.D7 == nil || *s.Trend.D7 != 8_000 || s.Trend.D30 != nil || s.Previous == nil ||
		*s.Previous != (fieldmark.PastScore{Score: 92_000, AsOf: s.Previous.AsOf}) {
		t.Errorf("trend %v, previous %+v; want 8 in 7 days, 92 before", s.Trend.D7, s.Previous)
	}
	if s := h.score("b"); s.Rank == nil ||
		*s.Rank != (fieldmark.Rank{Overall: 2, OverallLast: 4, Of: 5, Niche: 2, NicheLast: 2, OfNiche: 3}) {
		t.Errorf("rank of b = %+v", s.Rank)
	}
	for _, path := range []string{"/?niche=gardens", "/?language=de&utm_source=x"} {
		if a := h.get(path); a.status != 200 || strings.Contains(a.body, "/brands/e\"") {
			t.Errorf("%s: %d, shows what is filtered out", path, a.status)
		}
	}
}

func TestBoardRefusals(t *testing.T) {
	h := newFixture(t)
	manyRanked(h)
	for _, tt := range []struct {
		query string
		at    []string
	}{
		{"?nich=tools", []string{"?nich"}},
		{"?niche=Tools", []string{"?niche"}},
		{"?niche=", []string{"?niche"}},
		{"?niche=a&niche=b", []string{"?niche"}},
		{"?language=*", []string{"?language"}},
		{"?language=de_AT", []string{"?language"}},
		{"?basis=both", []string{"?basis"}},
		{"?minConfidence=1.01", []string{"?minConfidence"}},
		{"?minConfidence=0.123", []string{"?minConfidence"}},
		{"?minConfidence=-1", []string{"?minConfidence"}},
		{"?minConfidence=.", []string{"?minConfidence"}},
		{"?limit=0", []string{"?limit"}},
		{"?limit=101&basis=x&z=1", []string{"?limit", "?basis", "?z"}},
	} {
		a := h.get("/api/v1/leaderboard" + tt.query)
		h.wantProblem(a, 400, fieldmark.CodeInvalidParameter)
		var p fieldmark.Problem
		must(t, json.Unmarshal([]byte(a.body), &p))
		if want := h.base + "/problems/invalid_parameter"; p.Type != want {
			t.Errorf("leaderboard%s: the type of the problem is %q, want %q", tt.query, p.Type, want)
		}
		var at []string
		for _, f := range p.Errors {
			at = append(at, f.Pointer)
		}
		if diff := cmp.Diff(tt.at, at); diff != "" {
			t.Errorf("leaderboard%s complains (-want +got):\n%s", tt.query, diff)
		}
	}
	cursor := h.listed("?limit=2&niche=tools").NextCursor
	if got := says(h.listed("?limit=2&niche=tools&cursor=" + cursor)); got != "3 e of all 4-5" {
		t.Errorf("second page = %s", got)
	}
	h.wantProblem(h.get("/api/v1/leaderboard?cursor="+cursor), 400, fieldmark.CodeInvalidCursor)
	h.wantProblem(h.get("/api/v1/leaderboard?niche=gardens&cursor="+cursor), 400, fieldmark.CodeInvalidCursor)
	h.wantProblem(h.get("/api/v1/leaderboard?niche=tools&cursor=AAAA"), 400, fieldmark.CodeInvalidCursor)
}

// A cursor outlives changes, but not as many as there are rankings kept.
func TestCursorExpires(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	manyRanked(h)
	query := "?limit=2&cursor=" + h.listed("?limit=2").NextCursor
	want := says(h.listed(query))
	for i := range 40 {
		before := h.listed("").Snapshot
		h.ranked("e", "tools", "en", found{words: int64(151 + i)})
		h.until("the ranking is another", func() bool { return h.listed("").Snapshot != before })
		if i == 10 && says(h.listed(query)) != want {
			t.Errorf("page after ten changes = %s, want %s", says(h.listed(query)), want)
		}
	}
	h.wantProblem(h.get("/api/v1/leaderboard"+query), 410, fieldmark.CodeCursorExpired)
}

// Two nodes that came to know the same in different ways name it alike.
func TestSnapshotIsNamedByContent(t *testing.T) {
	h := newFixture(t)
	manyRanked(h)
	h.ranked("a", "gardens", "fr", found{words: 120})
	h.brand("last", "Last", -1) // its event is after all others
	h.until("all of it is in the ranking",
		func() bool { return strings.Contains(h.get("/?q=last").body, "/brands/last") })
	first := h.listed("?limit=2")
	h.startEdge()
	second := h.listed("?limit=2")
	if first.Snapshot != second.Snapshot || says(first) != says(second) {
		t.Errorf("one node says %s %s, the other %s %s", first.Snapshot, says(first), second.Snapshot, says(second))
	}
	if got := says(h.listed("?limit=2&cursor=" + first.NextCursor)); got == "" {
		t.Error("a cursor of the first node is not good at the second")
	}
}

// TestManyChanges compares the incrementally updated ranking with one built from scratch.
func TestManyChanges(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	var put []fieldmark.Brand
	for i := range 60 {
		put = append(put, fieldmark.Brand{Slug: fieldmark.Slug(fmt.Sprintf("b%02d", i)), Name: "B",
			URL:   "https://b.example/",
			Niche: fmt.Sprintf("n%d", i%3), Language: "en", Public: true})
	}
	_, err := h.service.Brands.Import(t.Context(), put)
	must(t, err)
	for round := range 3 {
		for i, b := range put {
			if (i+round)%4 != 0 {
				_, err := h.service.Brands.PutFacts(t.Context(), b.Slug, factsWith(int64(60+(i*37+round*11)%240)))
				must(t, err)
			}
		}
	}
	put[7].Public, put[8].Niche = false, "n0"
	_, err = h.service.Brands.Import(t.Context(), put)
	must(t, err)
	h.brand("last", "Last", -1) // its event is after all others
	h.until("all of it is in the ranking",
		func() bool { return strings.Contains(h.get("/?q=last").body, "/brands/last") })
	if all, n0 := h.listed("").Total, h.listed("?niche=n0").Total; all != 59 || n0 != 21 {
		t.Errorf("%d ranked, %d of them in n0; want 59 and 21", all, n0)
	}
	kept := h.listed("?limit=100")
	h.startEdge()
	fresh := h.listed("?limit=100")
	if diff := cmp.Diff(says(fresh), says(kept)); diff != "" || fresh.Snapshot != kept.Snapshot {
		t.Errorf("kept current %s differs from made fresh %s:\n%s", kept.Snapshot, fresh.Snapshot, diff)
	}
	byRank := func(a, b fieldmark.BoardEntry) int {
		return stdcmp.Or(stdcmp.Compare(b.Score, a.Score), stdcmp.Compare(b.Certainty, a.Certainty),
			b.AsOf.Std().Compare(a.AsOf.Std()), stdcmp.Compare(a.Slug, b.Slug))
	}
	if !slices.IsSortedFunc(kept.Items, byRank) {
		t.Error("the ranking is not in order")
	}
}

// A score from before its facts reached a limit of age may still be cached when the ranking looks for it.
func TestRankOfAgedFacts(t *testing.T) {
	h := newFixture(t)
	limit := fieldmark.ReadyWithin + time.Hour // reached an hour ago
	h.ranked("acme", "tools", "en", found{ago: limit, words: 300})
	h.catchUp()
	var score fieldmark.Score
	must(t, json.Unmarshal([]byte(h.get("/api/v1/score/acme").body), &score))
	if score.GeoReady {
		t.Fatalf("facts of %s: GEO-ready", score.AsOf)
	}
	score.GeoReady = true
	for _, tt := range []struct {
		made  time.Duration // before now
		ready bool
	}{{0, true}, {time.Minute, true}, {2 * time.Hour, false}} {
		row, err := h.edge.RescoreKept(t.Context(), score, 1<<40, time.Now().Add(-tt.made))
		if err != nil || row.Line().GeoReady != tt.ready {
			t.Errorf("a score made %s ago: %+v, %v; want GEO-ready %t", tt.made, row.Line(), err, tt.ready)
		}
	}
}

package edge_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/studytest"
	"github.com/fieldmark/fieldmark/origin/brand"
	"github.com/fieldmark/fieldmark/origin/visibility/study"
	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/geo"
)

func newAgedFixture(t *testing.T) *fixture {
	h := newFixture(t)
	h.ranked("acme", "tools", "en", found{ago: 100 * day, words: 100}, found{ago: 40 * day, words: 200},
		found{ago: 10 * day, words: 250}, found{words: 300})
	h.catchUp()
	return h
}

func TestScoreAsOf(t *testing.T) {
	h := newAgedFixture(t)
	at := func(ago time.Duration) string { return time.Now().UTC().Add(-ago).Format(time.RFC3339) }
	for _, tt := range []struct {
		asOf string
		want string
	}{
		{at(5 * day), "scored 98"},
		{at(10*day - time.Hour), "scored 98"},
		{at(10*day + time.Hour), "scored 96"},
		{time.Now().UTC().Add(-20 * day).Format(time.DateOnly), "scored 96"},
		{time.Now().UTC().Format(time.DateOnly), "scored 100"},
		{at(50 * day), "scored 92"},
		{at(200 * day), "pending null"},
	} {
		var s fieldmark.Score
		a := h.get("/api/v1/score/acme?asOf=" + tt.asOf)
		must(t, json.Unmarshal([]byte(a.body), &s))
		score := "null"
		if s.Score != nil {
			score = s.Score.String()
		}
		if got := string(s.Status) + " " + score; a.status != 200 || got != tt.want || s.Rank != nil {
			t.Errorf("as of %s: %d %s rank %v, want %s", tt.asOf, a.status, got, s.Rank, tt.want)
		}
		if again := h.get("/api/v1/score/acme?asOf="+tt.asOf, "If-None-Match",
			a.header.Get("Etag")); again.status != http.StatusNotModified {
			t.Errorf("as of %s again: %d", tt.asOf, again.status)
		}
	}
	for _, query := range []string{"asOf=tomorrow", "asOf=" + time.Now().AddDate(0, 0, 3).Format(time.DateOnly),
		"asof=2026-01-01", "asOf=2026-01-01&asOf=2026-01-02", "asOf="} {
		h.wantProblem(h.get("/api/v1/score/acme?"+query), 400, fieldmark.CodeInvalidParameter)
	}
	h.wantProblem(h.get("/api/v1/score/nobody?asOf=2026-01-01"), 404, fieldmark.CodeNotFound)
}

func TestHistory(t *testing.T) {
	t.Parallel()
	h := newAgedFixture(t)
	read := func(query string) fieldmark.ScoreHistory {
		t.Helper()
		a := h.get("/api/v1/score/acme/history" + query)
		var got fieldmark.ScoreHistory
		if err := json.Unmarshal([]byte(a.body), &got); err != nil || a.status != 200 {
			t.Fatalf("history%s: %d %s", query, a.status, a.body)
		}
		return got
	}
	all := read("")
	if n := len(all.Points); n != 91 || all.Step != "day" || all.Module.Name != "geo-readiness" {
		t.Errorf("%d points by %s, module %+v; want 91 by day", n, all.Step, all.Module)
	}
	if first, last := all.Points[0], all.Points[90]; *first.Score != 92_000 || *last.Score != 100_000 ||
		last.Grade != "A" || last.FactsDigest == "" {
		t.Errorf("from %+v to %+v; want 92 to 100", first, last)
	}
	var changes []string
	for _, c := range all.Changes {
		line := c.Kind
		if c.Moved != nil {
			line += fmt.Sprintf(" %s to %s", c.Moved, c.Score)
		}
		for _, s := range c.Signals {
			line += fmt.Sprintf(" %s %s-%s", s.ID, s.From, s.To)
		}
		changes = append(changes, line)
	}
	want := "facts 4 to 96 read.server_text 3.996-8.004; facts 2 to 98 read.server_text 8.004-9.996; facts 2 to 100 " +
		"read.server_text 9.996-12; module"
	got := strings.Join(changes, "; ")
	// The module was activated when the test began, the last facts a moment later.
	if other := "facts 4 to 96 read.server_text 3.996-8.004; facts 2 to 98 read.server_text 8.004-9.996; module; " +
		"facts 2 to 100 read.server_text 9.996-12"; got != want && got != other {
		t.Errorf("changes = %s\nwant %s", got, want)
	}
	weeks := read("?step=week&from=2020-01-01")
	if n := len(weeks.Points); n != 15 && n != 16 {
		t.Errorf("%d weekly points of 100 days", n)
	}
	for _, query := range []string{"step=month", "from=x", "from=2026-02-01&to=2026-01-01", "from=2001-01-01", "x=1",
		"step=day&step=day"} {
		h.wantProblem(h.get("/api/v1/score/acme/history?"+query), 400, fieldmark.CodeInvalidParameter)
	}
	h.wantProblem(h.get("/api/v1/score/nobody/history"), 404, fieldmark.CodeNotFound)
	h.wantProblem(h.get("/api/v1/score/acme/future"), 404, fieldmark.CodeNotFound)

	const feed = "/brands/acme/feed.atom"
	first := h.get(feed)
	if first.status != 200 || first.header.Get("Content-Type") != "application/atom+xml" ||
		first.header.Get("Surrogate-Key") != "brand-acme module all" || strings.Count(first.body, "<entry>") != 5 ||
		!strings.Contains(first.body, "<title>GEO score 98.0 (+2.0)</title>") {
		t.Errorf("the feed is %d %v\n%s", first.status, first.header, first.body)
	}
	if tag := first.header.Get("Etag"); !strings.HasPrefix(tag, `"`) ||
		h.get(feed, "If-None-Match", tag).status != http.StatusNotModified {
		t.Errorf("the feed is not revalidated by %s", tag)
	}
	if page := h.get("/brands/acme"); !strings.Contains(page.body, feed) {
		t.Error("the page does not lead to its feed")
	}
	h.wantProblem(h.get(feed+"?x=1"), 400, fieldmark.CodeInvalidParameter)
	h.wantProblem(h.get("/brands/nobody/feed.atom"), 404, fieldmark.CodeNotFound)
	h.wantProblem(h.get("/brands/no/body/feed.atom"), 404, fieldmark.CodeNotFound)

	h.ranked("acme", "tools", "en", found{words: 60})
	h.until("the feed goes on", func() bool { return strings.Count(h.get(feed).body, "<entry>") == 6 })
	h.until("the history goes on", func() bool {
		now := read("")
		return *now.Points[len(now.Points)-1].Score < 92_000
	})
}

// TestByDigest fetches what a score was made of and comes to the same bytes.
func TestByDigest(t *testing.T) {
	h := newAgedFixture(t)
	s := h.score("acme")
	path := "/api/v1/score/acme/facts/" + string(s.FactsDigest)
	facts := h.get(path)
	if got := fieldmark.DigestOf(sha256.Sum256([]byte(facts.body))); facts.status != 200 || got != s.FactsDigest {
		t.Errorf("facts: %d, digest %s, want %s", facts.status, got, s.FactsDigest)
	}
	module := h.get("/api/v1/modules/" + string(s.Module.Digest))
	if module.status != 200 || !bytes.Equal([]byte(module.body), geo.Module()) ||
		module.header.Get("Content-Type") != "application/wasm" ||
		!strings.Contains(module.header.Get("Cache-Control"), "immutable") {
		t.Errorf("module: %d, %d bytes, %v", module.status, len(module.body), module.header)
	}
	asked := h.asked.Load()
	if a := h.get(path); a.header.Get("Cache-Status") != "fieldmark; hit" || h.asked.Load() != asked {
		t.Errorf("facts again: %s", a.header.Get("Cache-Status"))
	}
	for _, path := range []string{
		"/api/v1/score/acme/facts/sha256:" + strings.Repeat("0", 64), "/api/v1/score/acme/facts/x",
		"/api/v1/score/acme/facts/",
		"/api/v1/modules/sha256:" + strings.Repeat("0", 64), "/api/v1/modules/",
		"/api/v1/score/nobody/facts/" + string(s.FactsDigest),
	} {
		h.wantProblem(h.get(path), 404, fieldmark.CodeNotFound)
	}
}

func (h *fixture) sample(lines ...string) fieldmark.VisibilityImport {
	h.t.Helper()
	header := "brand,engine,surface,locale,promptSetId,promptSetHash," +
		"prompts,runs,answers,mentions,cited,citations,voices,from,to,provider\n"
	read, err := brand.ParseSamplesCSV([]byte(header + strings.Join(lines, "\n")))
	must(h.t, err)
	report, err := h.service.Brands.Samples.Import(h.t.Context(), "key_1", "", read)
	must(h.t, err)
	return report
}

// study imports a study of brands of which the first is named most, one document for each engine.
func (h *fixture) study(name string, change func(d *study.Document), engines []string, brands ...string) {
	h.t.Helper()
	for _, engine := range engines {
		d := studytest.New(name, engine, time.Now().UTC(), brands...)
		change(d)
		body, err := json.Marshal(d)
		must(h.t, err)
		_, err = h.service.Visibility.ImportFile(h.t.Context(), "key_1", body, false)
		must(h.t, err)
	}
}

func TestVisibility(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	manyRanked(h)
	if s := h.score("a"); s.Visibility != nil || s.Full != nil {
		t.Errorf("visibility without samples: %+v, full %v", s.Visibility, s.Full)
	}
	now := func(days int) string { return time.Now().UTC().AddDate(0, 0, days).Format(time.DateOnly) }
	today := now(0)
	report := h.sample(fmt.Sprintf("d,chatgpt,api,en,set-1,sha256:%s,40,7,280,100,280,50,280,%s,%s,in-house",
		strings.Repeat("ab", 32), today, today))
	if report.Added != 1 || report.Rejected != nil {
		t.Fatalf("import: %+v", report)
	}
	h.study("ropes", func(d *study.Document) {
		if d.Engine == "claude" {
			d.Planned = 400 // of which 280 were answered
		}
	}, []string{"chatgpt", "claude"}, "c", "a", "b", "other", "old", "e", "g")
	h.until("three have a visibility, one of two engines", func() bool {
		v := h.score("a").Visibility
		return v != nil && len(v.Engines) == 2 && h.score("c").Visibility != nil && h.score("d").Visibility != nil
	})
	a := h.score("a")
	if v := a.Visibility; v.Quality != fieldmark.VisibilityRanked || len(v.Engines) != 2 || !v.Engines[0].Counted ||
		v.Engines[1].Counted || v.Engines[1].Reason == "" || v.Form != 2 || v.Rank == nil || v.Rank.Of != 5 ||
		v.Interval != fieldmark.IntervalQuestionsDays || v.All.MentionRate.Questions != 40 {
		t.Errorf("visibility of a: %+v", v)
	}
	if want := (60**a.Score + 40*a.Visibility.Score) / 100; a.Full == nil || *a.Full-want > 100 || want-*a.Full > 100 {
		t.Errorf("a: visibility %s, full %v, score %s; want %s", a.Visibility.Score, a.Full, a.Score, want)
	}
	if d := h.score("d"); d.Visibility.Quality != fieldmark.VisibilityIndicative || d.Full != nil ||
		d.Visibility.Interval != fieldmark.IntervalAnswers || d.Visibility.Reason == "" {
		t.Errorf("d: %s, full %v; want an indication and nothing more", d.Visibility.Quality, d.Full)
	}
	h.until("four are in the full list", func() bool { return h.listed("?basis=full").Total == 4 })
	if got := says(h.listed("?limit=2")); got != "1 a +2 8; 2-4 c +0 0" {
		t.Errorf("readiness is mixed with visibility: %s", got)
	}
	var board fieldmark.VisibilityBoard
	h.until("the study is listed", func() bool {
		got := h.get("/api/v1/leaderboard?basis=visibility&niche=ropes&locale=de-AT")
		return got.status == 200 && json.Unmarshal([]byte(got.body), &board) == nil && len(board.Items) == 5
	})
	if first, last := board.Items[0], board.Items[4]; first.Slug != "c" || first.RankLow != 1 || last.Slug != "e" ||
		last.RankLow <= 2 || last.RankHigh != 5 || board.Study.ID != "ropes" || board.Groups[0].From != 1 ||
		strings.Join(board.Engines, " ") != "chatgpt claude" || strings.Join(board.Counted, " ") != "chatgpt" {
		t.Errorf("by visibility: %+v", board)
	}
	for query, want := range map[string]int{"&niche=ropes&metric=citation&engine=chatgpt": 200, "": 400,
		"&niche=ropes&metric=x": 400, "&niche=ropes&limit=0": 400, "&niche=ropes&minConfidence=x": 400,
		"&niche=ropes&cursor=x":     400,
		"&niche=nobody":             404,
		"&niche=ropes&engine=other": 404,
	} {
		if got := h.get("/api/v1/leaderboard?basis=visibility" + query); got.status != want {
			t.Errorf("%s: %d %.200s, want %d", query, got.status, got.body, want)
		}
	}
	result, failed := h.callTool("leaderboard", `{"basis":"visibility","niche":"ropes","metric":"citation","limit":2}`)
	if items, _ := result["items"].([]any); failed || len(items) != 2 || result["nextCursor"] == nil ||
		result["metric"] != "citation" {
		t.Errorf("the tool lists %v", result)
	}
	if result, failed = h.callTool("leaderboard", `{"basis":"visibility"}`); !failed ||
		result["code"] != "invalid_parameter" {
		t.Errorf("the tool without a niche: %v, want invalid_parameter", result)
	}
	var page fieldmark.VisibilityBoard
	var slugs []string
	for next := "&limit=2"; next != ""; next = "&limit=2&cursor=" + page.NextCursor {
		page = fieldmark.VisibilityBoard{}
		got := h.get("/api/v1/leaderboard?basis=visibility&niche=ropes&minConfidence=0.1" + next)
		must(t, json.Unmarshal([]byte(got.body), &page))
		for _, it := range page.Items {
			slugs = append(slugs, string(it.Slug))
		}
		if page.NextCursor == "" {
			break
		}
	}
	if got := strings.Join(slugs, " "); got != "c a b old e" || page.Total != 5 ||
		*page.PanelMean < 300 || *page.PanelMean > 700 {
		t.Errorf("in pages of two: %s, %+v", got, page)
	}
	for path, want := range map[string]string{
		"/?basis=visibility&niche=ropes&utm_source=x": `<span class="sr">Share of answers and its 95% interval`,
		"/?basis=visibility&niche=ropes&metric=":      "written by two buyers",
		"/?basis=visibility&niche=ropes":              "by the mean of chatgpt. Not part of the mean: claude.",
		"/?basis=visibility":                          "Choose a field of work",
		"/?basis=visibility&niche=nobody":             "No study of this field of work",
		"/brands/a":                                   "Named in answers</caption>",
		"/brands/d":                                   "Indicative, not ranked:",
		"/methodology":                                "No measured answers here yet",
		fieldmark.PathValidity:                        `"minBrands":30`,
	} {
		if got := h.get(path); got.status != 200 || !strings.Contains(got.body, want) {
			t.Errorf("%s: %d, want %q in %.2000s", path, got.status, want, got.body)
		}
	}
	// The history is that of the study on the page: the first one of that study alone is no history.
	if page := h.get("/brands/a").body; strings.Contains(page, "Studies over time") {
		t.Error("one study is shown as a history")
	}
	h.study("ropes-earlier", func(d *study.Document) {
		d.From, d.To, d.Model = now(-97), now(-91), "m-0"
		for i := range d.Days {
			d.Days[i] = now(i - 97)
		}
	}, []string{"chatgpt"}, "c", "a", "b", "other", "old", "e", "g")
	h.until("the page has a history with a break", func() bool {
		page := h.get("/brands/a").body
		return strings.Contains(page, "the model is <b>m-1</b> in place of m-0") &&
			strings.Count(page, `class="chart series"`) == 2 // of the engine with two studies: named, cited
	})
	for query, want := range map[string]string{"": "ropes [model]",
		"?from=" + now(-99):                     "ropes-earlier [] ropes [model]",
		"?from=" + now(-99) + "&to=" + now(-50): "ropes-earlier []"} {
		var past fieldmark.ScoreHistory
		must(t, json.Unmarshal([]byte(h.get("/api/v1/score/a/history"+query).body), &past))
		var got []string
		for _, p := range past.Studies {
			got = append(got, fmt.Sprint(p.ID, " ", p.Engines[0].Changed))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("studies of history%s: %v, want %s", query, got, want)
		}
	}
	digest := a.Visibility.Study.Digest
	rows := h.get(fieldmark.PathStudies + string(digest))
	if rows.status != 200 || !strings.Contains(string(rows.body), `"engine":"claude"`) ||
		strings.Contains(string(rows.body), "other") {
		t.Errorf("rows of the study: %d %.300s", rows.status, rows.body)
	}
	h.wantProblem(h.get(fieldmark.PathStudies+"sha256:"+strings.Repeat("0", 64)), 404, fieldmark.CodeNotFound)
	// A brand without a rank is in the list too, and leaves it at once.
	const list = "/api/v1/leaderboard?basis=visibility&niche=ropes"
	if !strings.Contains(h.get(list).body, `"slug":"old"`) {
		t.Error("the stale brand is not in the list")
	}
	must(t, h.service.Brands.Delete(t.Context(), "old"))
	h.until("a removed brand is not listed", func() bool { return !strings.Contains(h.get(list).body, `"slug":"old"`) })
}

// TestEvidenceScoresNothing guards what history and ranking rest on: facts without
// evidence come to the same score.
func TestEvidenceScoresNothing(t *testing.T) {
	engine, err := wasm.New(wasm.Config{Instances: 1})
	must(t, err)
	defer func() { must(t, engine.Close(t.Context())) }()
	m, err := engine.Load(t.Context(), geo.Module())
	must(t, err)
	full := factsWith(123)
	bare := factsWith(123)
	for i := range bare.Facts {
		bare.Facts[i].Evidence = nil
	}
	a, err := m.Assess(t.Context(), &full, time.Now())
	must(t, err)
	b, err := m.Assess(t.Context(), &bare, time.Now())
	must(t, err)
	if *a.Score != *b.Score || a.Confidence != b.Confidence {
		t.Errorf("with evidence %s, without %s", a.Score, b.Score)
	}
}

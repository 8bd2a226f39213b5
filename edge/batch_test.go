package edge_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge"
)

// batch asks for the scores of slugs.
func (h *fixture) batch(bearer string, slugs ...string) (answer, fieldmark.ScoreBatch) {
	h.t.Helper()
	body, err := json.Marshal(map[string]any{"brands": slugs})
	must(h.t, err)
	header := []string{"Content-Type", "application/json"}
	if bearer != "" {
		header = append(header, "Authorization", bearer)
	}
	a := h.do("POST", fieldmark.PathScoreBatch, string(body), header...)
	var b fieldmark.ScoreBatch
	if a.status == http.StatusOK {
		d := json.NewDecoder(strings.NewReader(a.body))
		d.DisallowUnknownFields()
		must(h.t, d.Decode(&b))
	}
	return a, b
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	must(t, err)
	return string(b)
}

// many returns n slugs that no brand has.
func many(n int) (slugs []string) {
	for i := range n {
		slugs = append(slugs, fmt.Sprint("none-", i))
	}
	return slugs
}

// A batch says of every brand what its score document says, also while the origin is unreachable.
func TestScoreBatch(t *testing.T) {
	h := newFixture(t)
	h.ranked("acme", "tools", "en", found{words: 300})
	h.ranked("beta", "gardens", "de", found{words: 200, pages: 3})
	h.ranked("old", "tools", "en", found{ago: 100 * day, words: 250})
	h.brand("quoted", `A "b" <c> & ü`, 250)
	h.brand("young", "Young", -1)
	_, err := h.service.Brands.Rename(t.Context(), "acme", "acme-tools")
	must(t, err)
	slugs := []string{"beta", "acme", "acme-tools", "nobody", "old", "quoted", "young", "beta"}
	h.until("all are known", func() bool {
		_, b := h.batch("", slugs...)
		return len(b.Unknown) == 1 && len(b.Items) == 7 && b.Items[1].To != "" && b.Items[0].Rank != nil &&
			b.Items[0].Rank.Of == 3 && b.Items[4].Score != nil
	})
	h.down.Store(true)
	h.origin.CloseClientConnections()
	a, b := h.batch("", slugs...)
	if a.header.Get("Cache-Control") != "no-store" || a.header.Get("Access-Control-Allow-Origin") != "*" ||
		a.header.Get("Content-Type") != "application/json" {
		t.Errorf("header %v", a.header)
	}
	h.down.Store(false)
	if !slices.Equal(b.Unknown, []fieldmark.Slug{"nobody"}) || b.Event == 0 {
		t.Errorf("unknown %v, event %d", b.Unknown, b.Event)
	}
	for i, slug := range []string{"beta", "acme", "acme-tools", "old", "quoted", "young", "beta"} {
		got := b.Items[i]
		if string(got.Slug) != slug {
			t.Fatalf("item %d is %s, want %s", i, got.Slug, slug)
		}
		document := slug
		if slug == "acme" {
			if document = "acme-tools"; got.To != "acme-tools" {
				t.Errorf("acme leads to %q", got.To)
			}
		}
		s := h.score(document)
		want := fieldmark.ScoreItem{Slug: fieldmark.Slug(slug), To: got.To, Name: s.Name, Niche: s.Niche,
			Language: s.Language, Status: s.Status, Score: s.Score, Grade: s.Grade, Range: s.Range,
			GeoReady: s.GeoReady, Full: s.Full, AsOf: s.AsOf, Rank: s.Rank}
		if s.Score != nil {
			want.Confidence = s.Confidence.Level
		}
		if wantText, gotText := marshal(t, want), marshal(t, got); wantText != gotText {
			t.Errorf("%s: the item is\n%s, and by the document\n%s", slug, gotText, wantText)
		}
		if b.Module != s.Module {
			t.Errorf("module %+v, want %+v", b.Module, s.Module)
		}
	}
}

// What a batch costs depends on its length and the key; a key that the node has not seen is
// verified once.
func TestScoreBatchLimits(t *testing.T) {
	h := newLimitedFixture(t)
	h.brand("acme", "Acme", 300)
	slow, began := h.key(20, 3), time.Now()
	if a, _ := h.batch(slow, many(1000)...); a.status != 200 || !strings.HasPrefix(a.header.Get("RateLimit"),
		`"reads";r=10;`) {
		t.Errorf("1,000 slugs with a new key: %d, rate %s, want 10 of 20 left", a.status, a.header.Get("RateLimit"))
	}
	a, _ := h.batch(slow, many(101)...)
	if got, most := remaining(a, "reads"), 8+earned(began, 20); got < 8 || got > most {
		t.Errorf("101 slugs: rate %s, want 8 to %d left", a.header.Get("RateLimit"), most)
	}
	// Of 8 that are left: a batch is not refused in part.
	if a, _ = h.batch(slow, many(1000)...); a.status != http.StatusOK {
		t.Errorf("1,000 slugs with 8 left: %d, rate %s", a.status, a.header.Get("RateLimit"))
	}
	h.until("a batch is refused", func() bool { // a slow machine earns some more meanwhile
		a, _ = h.batch(slow, "acme")
		if a.status == http.StatusOK {
			h.batch(slow, many(1000)...)
		}
		return a.status != http.StatusOK
	})
	h.wantProblem(a, http.StatusTooManyRequests, fieldmark.CodeRateLimited)

	usual, unknown := h.key(0, 0), "Bearer "+strings.Repeat("x", 5)
	a, _ = h.batch("", many(100)...)
	if a.status != 200 || !strings.HasPrefix(a.header.Get("RateLimit"), `"anonymous";r=29;`) {
		t.Errorf("100 slugs without a key: %d, rate %s", a.status, a.header.Get("RateLimit"))
	}
	a, _ = h.batch("", many(101)...)
	h.wantProblem(a, 422, fieldmark.CodeValidationFailed)
	a, _ = h.batch(usual, many(1001)...)
	h.wantProblem(a, 422, fieldmark.CodeValidationFailed)
	a, _ = h.batch(unknown, "acme")
	h.wantProblem(a, 401, fieldmark.CodeInvalidAPIKey)

	// A key that cannot be verified counts as none.
	fresh := h.key(0, 0)
	h.down.Store(true)
	h.origin.CloseClientConnections()
	if a, _ = h.batch(usual, many(1000)...); a.status != 200 {
		t.Errorf("a known key while the origin is unreachable: %d %s", a.status, a.body)
	}
	if a, _ = h.batch(fresh, many(100)...); a.status != 200 ||
		!strings.Contains(a.header.Get("RateLimit"), `"anonymous"`) {
		t.Errorf("a new key while the origin is unreachable: %d, rate %s", a.status, a.header.Get("RateLimit"))
	}
	a, _ = h.batch(fresh, many(101)...)
	h.wantProblem(a, 503, fieldmark.CodeOriginUnavailable)
}

// A bad request is answered with what is wrong with it.
func TestScoreBatchProblems(t *testing.T) {
	h := newFixture(t, func(c *edge.Config) { c.RateLimit = edge.RateLimitOff })
	const good = `{"brands":["acme"]}`
	json := []string{"Content-Type", "application/json"}
	for _, tt := range []struct {
		name, method, path, body string
		header                   []string
		status                   int
		code                     fieldmark.Code
	}{
		{"GET", "GET", "", "", nil, 405, fieldmark.CodeMethodNotAllowed},
		{"a form", "POST", "", "brands=acme", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415,
			fieldmark.CodeUnsupportedMediaType},
		{"no media type", "POST", "", good, nil, 415, fieldmark.CodeUnsupportedMediaType},
		{"compressed", "POST", "", good, append(json, "Content-Encoding", "gzip"), 415,
			fieldmark.CodeUnsupportedMediaType},
		{"a query", "POST", "?fresh=1", good, json, 400, fieldmark.CodeInvalidParameter},
		{"no list", "POST", "", `{}`, json, 422, fieldmark.CodeValidationFailed},
		{"an empty list", "POST", "", `{"brands":[]}`, json, 422, fieldmark.CodeValidationFailed},
		{"no JSON", "POST", "", `{"brands"`, json, 400, fieldmark.CodeMalformedJSON},
		{"too large", "POST", "", `{"brands":["` + strings.Repeat("x", 130<<10) + `"]}`, json, 413,
			fieldmark.CodeBodyTooLarge},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h.t = t
			a := h.do(tt.method, fieldmark.PathScoreBatch+tt.path, tt.body, tt.header...)
			h.wantProblem(a, tt.status, tt.code)
			if a.header.Get("Access-Control-Allow-Origin") != "*" {
				t.Error("a script of another site cannot read the problem")
			}
		})
	}
	h.t = t
	a := h.do("OPTIONS", fieldmark.PathScoreBatch, "", "Origin", "https://a.example", "Access-Control-Request-Method",
		"POST")
	if a.status != http.StatusNoContent || !strings.Contains(a.header.Get("Access-Control-Allow-Methods"), "POST") {
		t.Errorf("preflight: %d %v", a.status, a.header)
	}
}

// A follower of all scores has what the origin has, over restarts of the edge, and an edge asks
// the origin once for clients at one place.
func TestFollowScoresThroughEdges(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	state, next := map[fieldmark.Slug]string{}, "0"
	follow := func() {
		t.Helper()
		for more := true; more; {
			a := h.get(fieldmark.PathScores + "?limit=2&since=" + next)
			if a.status != http.StatusOK || a.header.Get("Access-Control-Allow-Origin") != "*" {
				t.Fatalf("since %s: %d %s", next, a.status, a.body)
			}
			var page fieldmark.ScoreChanges
			must(t, json.Unmarshal([]byte(a.body), &page))
			for _, item := range page.Items {
				state[item.Slug] = item.Name
			}
			for _, g := range page.Gone {
				delete(state, g.Slug)
			}
			next, more = page.Next, page.More
		}
	}
	want := map[fieldmark.Slug]string{}
	for round := range 3 {
		for i := range 3 {
			slug := fieldmark.Slug(fmt.Sprint("b", round+i))
			want[slug] = fmt.Sprint("Name ", round, i)
			h.brand(slug, want[slug], -1)
		}
		follow()
		gone := fieldmark.Slug(fmt.Sprint("b", round+1))
		must(t, h.service.Brands.Delete(t.Context(), gone))
		delete(want, gone)
		h.startEdge()
		follow()
		if !maps.Equal(state, want) {
			t.Errorf("round %d: the follower has %v, the record %v", round, state, want)
		}
	}
	var asked atomic.Int64 // without what the edges ask for by themselves
	count := interceptor(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == fieldmark.PathScores {
			asked.Add(1)
		}
		return false
	})
	h.intercept.Store(&count)
	began := time.Now()
	for range 5 {
		follow()
	}
	// An edge may use a response for a second.
	if got, most := asked.Load(), 2+int64(time.Since(began)/time.Second); got > most {
		t.Errorf("five questions in %v cost the origin %d, at most %d", time.Since(began), got, most)
	}
	a := h.get(fieldmark.PathScores + "?since=99999")
	h.wantProblem(a, http.StatusGone, fieldmark.CodeSinceTooOld)
	a = h.get(fieldmark.PathScores + "?limit=1001")
	h.wantProblem(a, http.StatusBadRequest, fieldmark.CodeInvalidParameter)
}

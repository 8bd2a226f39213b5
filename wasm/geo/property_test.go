package geo_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/abi"
	"github.com/fieldmark/fieldmark/wasm/card"
	"github.com/fieldmark/fieldmark/wasm/geo"
)

var auditedAt = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// facts returns an audit with the given values.
func facts(c *card.Card, values []int64, states []byte) *fieldmark.Facts {
	f := &fieldmark.Facts{Version: fieldmark.FactsVersion, URL: "https://example.com/", Pages: 10,
		AsOf: fieldmark.At(auditedAt)}
	for i, in := range c.Manifest().Inputs {
		fact := fieldmark.Fact{ID: in.Name, Unit: in.Unit, State: fieldmark.Unknown}
		switch states[i] {
		case abi.StateMeasured:
			fact.State, fact.Value = fieldmark.Measured, values[i]
		case abi.StateNotApplicable:
			fact.State = fieldmark.NotApplicable
		}
		f.Facts = append(f.Facts, fact)
	}
	slices.SortFunc(f.Facts, func(a, b fieldmark.Fact) int { return strings.Compare(a.ID, b.ID) })
	return f
}

func assess(t *testing.T, c *card.Card, m *wasm.Module, values []int64, states []byte) fieldmark.Assessment {
	t.Helper()
	a, err := m.Assess(t.Context(), facts(c, values, states), auditedAt)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// shown returns the score of an assessment, or a value below all scores if it has none.
func shown(a fieldmark.Assessment) fieldmark.Milli {
	if a.Score == nil {
		return -1
	}
	return *a.Score
}

// perfect returns the inputs of a site with full marks.
func perfect(c *card.Card) (values []int64, states []byte) {
	for _, in := range c.Manifest().Inputs {
		value := int64(1000)
		switch in.Unit {
		case "words":
			value = 400_000
		case "count", "level", "per_1000_words":
			value = 6000
		}
		if in.Direction == abi.Down {
			value = 0
		}
		values, states = append(values, value), append(states, abi.StateMeasured)
	}
	return values, states
}

// TestWeights compares the cards with the published tables.
func TestWeights(t *testing.T) {
	published := [...]map[string]int{{
		"access": 30, "access.answer_crawlers": 14, "access.user_fetchers": 2, "access.snippet_eligible": 6,
		"access.sitemap": 3, "access.response": 3, "access.https": 2,
		"extract": 25, "extract.server_text": 10, "extract.title_description": 3, "extract.headings": 3,
		"extract.canonical": 3, "extract.language": 3, "extract.answer_blocks": 2, "extract.weight": 1,
		"entity": 20, "entity.organization": 6, "entity.same_as": 5, "entity.name_coherence": 4,
		"entity.about_contact": 2, "entity.typed_content": 2, "entity.open_graph": 1,
		"evidence": 20, "evidence.citations": 5, "evidence.statistics": 5, "evidence.quotations": 3,
		"evidence.freshness": 5, "evidence.authorship": 2,
		"agents": 5, "agents.llms_txt": 2, "agents.markdown": 2, "agents.feed": 1,
	}, {
		"discover": 20, "discover.sitemap": 8, "discover.canonical": 6, "discover.translations": 4,
		"discover.language": 2,
		"read":              30, "read.server_text": 12, "read.title_description": 8, "read.headings": 5,
		"read.answer_blocks": 5,
		"identify":           22, "identify.organization": 8, "identify.same_as": 8, "identify.name_coherence": 3,
		"identify.about_contact": 3,
		"support":                28, "support.freshness": 10, "support.statistics": 6, "support.citations": 6,
		"support.quotations": 3, "support.authorship": 3,
	}}
	for i, c := range geo.Cards() {
		got := map[string]int{}
		for _, c := range c.Manifest().Components {
			got[c.ID] = c.Weight
			for _, s := range c.Signals {
				got[s.ID] = s.Points
			}
		}
		if diff := cmp.Diff(published[i], got); diff != "" {
			t.Errorf("points of %s (-published +card)\n%s", c.Manifest().Version, diff)
		}
	}
}

// TestWeightsFollowEvidence holds the published rule: a signal has at most the points that
// its evidence grade allows, and states its effort.
func TestWeightsFollowEvidence(t *testing.T) {
	limits := map[fieldmark.EvidenceGrade]int{fieldmark.EvidenceReproduced: 12, fieldmark.EvidenceDocumented: 8,
		fieldmark.EvidenceOneStudy: 6, fieldmark.EvidenceJudgement: 3}
	for _, c := range geo.Card().Manifest().Components {
		for _, s := range c.Signals {
			if s.Points > limits[s.EvidenceGrade] {
				t.Errorf("%s has %d points, evidence grade %q allows %d", s.ID, s.Points, s.EvidenceGrade,
					limits[s.EvidenceGrade])
			}
			if s.Effort < 1 || s.Effort > abi.MaxEffort {
				t.Errorf("%s has effort %d", s.ID, s.Effort)
			}
		}
	}
}

// TestBasicsScoreNothing scores what every site has: a home page that responds, quickly and over
// HTTPS, and that crawlers may fetch. None of this earns points.
func TestBasicsScoreNothing(t *testing.T) {
	c, m := geo.Card(), load(t, geo.Module())
	bare := func(measured map[string]int64, unknown ...string) fieldmark.Assessment {
		var values []int64
		var states []byte
		for _, in := range c.Manifest().Inputs {
			value, known := measured[in.Name]
			state := byte(abi.StateMeasured)
			switch {
			case known:
			case in.Name == "lang.hreflang", in.Name == "author.share":
				state = abi.StateNotApplicable
			case slices.Contains(unknown, in.Name), len(unknown) == 1 && unknown[0] == "*":
				state = abi.StateUnknown
			case strings.HasPrefix(in.Name, "crawler."), strings.HasPrefix(in.Name, "home."):
				value = 1000
			}
			values, states = append(values, value), append(states, state)
		}
		return assess(t, c, m, values, states)
	}
	page := map[string]int64{"home.words": 400_000, "text.words": 400_000, "title.good": 1000, "titles.distinct": 1000}
	if got := bare(page, "fresh.recent"); got.Score == nil || *got.Score > 25*fieldmark.MilliOne || got.Grade != "E" {
		t.Errorf("400 words under a title: score %s, grade %s; want at most 25", shown(got), got.Grade)
	}
	empty := map[string]int64{"home.reachable": 1000, "crawler.googlebot": 1000}
	if got := bare(empty, "*"); got.Score != nil || got.Status != fieldmark.StatusInsufficientData {
		t.Errorf("an empty response: score %s, status %s; want none", shown(got), got.Status)
	}
}

// TestMarks checks curves and weights of parts: it changes one input of a perfect site,
// and compares the mark of one signal.
func TestMarks(t *testing.T) {
	type change struct {
		input  string
		value  int64
		signal string
		want   int32
	}
	for i, changes := range [...][]change{{
		{"crawler.googlebot", 0, "access.answer_crawlers", 714}, // 10/14
		{"crawler.oai-searchbot", 0, "access.answer_crawlers", 786},
		{"crawler.bingbot", 0, "access.answer_crawlers", 857},
		{"crawler.perplexitybot", 0, "access.answer_crawlers", 857},
		{"crawler.claude-searchbot", 0, "access.answer_crawlers", 857},
		{"crawler.others", 0, "access.answer_crawlers", 929},
		{"fetcher.share", 400, "access.user_fetchers", 400},
		{"page.snippet_eligible", 900, "access.snippet_eligible", 900},
		{"sitemap.valid", 0, "access.sitemap", 667},
		{"response.ok", 0, "access.response", 667},
		{"response.ttfb", 800_000, "access.response", 1000},
		{"response.ttfb", 1_900_000, "access.response", 667},
		{"response.ttfb", 3_000_000, "access.response", 333},
		{"https.tls", 0, "access.https", 500},
		{"https.redirect", 0, "access.https", 750},
		{"https.hsts", 0, "access.https", 750},
		{"text.words", 50_000, "extract.server_text", 0},
		{"text.words", 175_000, "extract.server_text", 500},
		{"titles.distinct", 500, "extract.title_description", 833},
		{"headings.good", 100, "extract.headings", 100},
		{"canonical.good", 100, "extract.canonical", 100},
		{"lang.html", 0, "extract.language", 500},
		{"answer.kinds", 1000, "extract.answer_blocks", 500},
		{"page.light", 300, "extract.weight", 300},
		{"page.early_text", 0, "extract.weight", 0},
		{"org.name", 0, "entity.organization", 667},
		{"org.logo", 0, "entity.organization", 833},
		{"sameas.reference", 0, "entity.same_as", 400},
		{"sameas.profiles", 1000, "entity.same_as", 800},
		{"name.coherence", 750, "entity.name_coherence", 750},
		{"link.about", 0, "entity.about_contact", 500},
		{"schema.typed", 0, "entity.typed_content", 0},
		{"og.fields", 750, "entity.open_graph", 750},
		{"cite.domains", 2500, "evidence.citations", 500},
		{"stat.numbers", 3000, "evidence.statistics", 500},
		{"quote.spans", 1000, "evidence.quotations", 500},
		{"fresh.age", 90_000, "evidence.freshness", 1000},
		{"fresh.age", 91_000, "evidence.freshness", 800},
		{"fresh.age", 365_000, "evidence.freshness", 500},
		{"fresh.age", 730_000, "evidence.freshness", 200},
		{"fresh.age", 731_000, "evidence.freshness", 0},
		{"author.share", 600, "evidence.authorship", 600},
		{"llms.level", 3000, "agents.llms_txt", 750},
		{"llms.errors", 1000, "agents.llms_txt", 0},
		{"agent.markdown", 0, "agents.markdown", 500},
		{"agent.feed", 0, "agents.feed", 0},
	}, {
		{"sitemap.found", 0, "discover.sitemap", 0},
		{"sitemap.valid", 0, "discover.sitemap", 0},
		{"sitemap.live", 750, "discover.sitemap", 750},
		{"canonical.good", 100, "discover.canonical", 100},
		{"lang.hreflang", 400, "discover.translations", 400},
		{"lang.html", 300, "discover.language", 300},
		{"text.words", 100_000, "read.server_text", 0},
		{"text.words", 250_000, "read.server_text", 500},
		{"text.words", 400_000, "read.server_text", 1000},
		{"title.good", 600, "read.title_description", 600},
		{"description.good", 0, "read.title_description", 0},
		{"titles.distinct", 500, "read.title_description", 500},
		{"headings.good", 100, "read.headings", 100},
		{"answer.kinds", 1000, "read.answer_blocks", 500},
		{"org.name", 0, "identify.organization", 667},
		{"org.logo", 0, "identify.organization", 833},
		{"sameas.reference", 0, "identify.same_as", 667},
		{"sameas.profiles", 1000, "identify.same_as", 667},
		{"name.coherence", 750, "identify.name_coherence", 750},
		{"link.about", 0, "identify.about_contact", 500},
		{"fresh.recent", 333, "support.freshness", 499},
		{"fresh.recent", 667, "support.freshness", 1000}, // two pages of three
		{"fresh.recent", 750, "support.freshness", 1000},
		{"stat.numbers", 3000, "support.statistics", 500},
		{"cite.domains", 2500, "support.citations", 500},
		{"quote.spans", 1000, "support.quotations", 500},
		{"author.share", 600, "support.authorship", 600},
	}} {
		for _, tt := range changes {
			c := geo.Cards()[i]
			values, states := perfect(c)
			for i, in := range c.Manifest().Inputs {
				if in.Name == tt.input {
					values[i] = tt.value
				}
			}
			marks, j := c.Eval(values, states).Marks, 0
			for _, component := range c.Manifest().Components {
				for _, s := range component.Signals {
					want := int32(1000)
					if s.ID == tt.signal {
						want = tt.want
					}
					if marks[j] != want {
						t.Errorf("%s at %d: %s has mark %d, want %d", tt.input, tt.value, s.ID, marks[j], want)
					}
					j++
				}
			}
		}
	}
}

// TestUnknownIsNeverZero makes one input after another unknown: its signals become
// unknown instead of bad, no other signal changes, and no additional gate applies.
func TestUnknownIsNeverZero(t *testing.T) {
	eachVersion(t, func(t *testing.T, c *card.Card, _ *wasm.Module) {
		inputs := c.Manifest().Inputs
		values, states := make([]int64, len(inputs)), make([]byte, len(inputs))
		r := rand.New(rand.NewPCG(3, 4))
		for range 200 {
			fillAny(r, values, states)
			before := c.Eval(values, states)
			for i := range inputs {
				if states[i] != abi.StateMeasured {
					continue
				}
				states[i] = abi.StateUnknown
				after := c.Eval(values, states)
				states[i] = abi.StateMeasured
				if added := after.Gates &^ before.Gates; added != 0 {
					t.Errorf("%s unknown: gates %05b catch that did not before", inputs[i].Name, added)
				}
				for j, mark := range after.Marks {
					if mark != before.Marks[j] && mark != abi.MarkUnknown {
						t.Errorf("%s unknown: mark %d of signal %d became %d", inputs[i].Name, before.Marks[j], j, mark)
					}
				}
			}
		}
		for i := range states {
			states[i] = abi.StateUnknown
		}
		if got := c.Eval(values, states); got.Score != abi.NoScore || got.Gates != 0 {
			t.Errorf("nothing known: score %d, gates %05b; want no score and no gate", got.Score, got.Gates)
		}
	})
}

// TestGatesAreCaps makes each gate apply to a perfect site, whose score must equal the
// gate's limit. On any site, no score exceeds its lowest limit.
func TestGatesAreCaps(t *testing.T) {
	eachVersion(t, func(t *testing.T, c *card.Card, m *wasm.Module) {
		values, states := perfect(c)
		if got := assess(t, c, m, values, states); shown(got) != 100*fieldmark.MilliOne || len(got.Gates) != 0 ||
			!got.GeoReady {
			t.Errorf("a perfect site: score %s, gates %v, ready %v", shown(got), got.Gates, got.GeoReady)
		}
		for id, change := range map[string]map[string]int64{
			"unreachable":   {"home.reachable": 0},
			"not_indexable": {"home.indexable": 0},
			"answer_crawlers_blocked": {"crawler.oai-searchbot": 0, "crawler.perplexitybot": 0,
				"crawler.claude-searchbot": 0, "crawler.bingbot": 0},
			"app_shell":    {"home.words": 49_000},
			"manipulation": {"manipulation.found": 1000},
		} {
			values, states := perfect(c)
			for i, in := range c.Manifest().Inputs {
				if v, ok := change[in.Name]; ok {
					values[i] = v
				}
			}
			got := assess(t, c, m, values, states)
			if len(got.Gates) != 1 || got.Gates[0].ID != id || got.GeoReady != (id == "manipulation") {
				t.Errorf("%s: gates %v, ready %v", id, got.Gates, got.GeoReady)
				continue
			}
			want := fieldmark.Milli(got.Gates[0].Limit) * fieldmark.MilliOne
			if id == fieldmark.GateUnreachable {
				want = -1
			}
			if shown(got) != want {
				t.Errorf("%s: score %s, want %s", id, shown(got), want)
			}
		}
		r := rand.New(rand.NewPCG(5, 6))
		for range 2000 {
			fillAny(r, values, states)
			got := assess(t, c, m, values, states)
			for _, g := range got.Gates {
				if shown(got) > fieldmark.Milli(g.Limit)*fieldmark.MilliOne {
					t.Errorf("values %v: score %s above the limit %d of %s", values, shown(got), g.Limit, g.ID)
				}
			}
		}
	})
}

// TestDirections raises and lowers every input on many sites. The shown score, gates
// included, never moves against the declared direction. In particular, more access for
// a crawler never lowers a score.
func TestDirections(t *testing.T) {
	eachVersion(t, func(t *testing.T, c *card.Card, m *wasm.Module) {
		inputs := c.Manifest().Inputs
		values, states := make([]int64, len(inputs)), make([]byte, len(inputs))
		r := rand.New(rand.NewPCG(7, 8))
		for range 300 {
			fillAny(r, values, states)
			before := shown(assess(t, c, m, values, states))
			for i, in := range inputs {
				old := values[i]
				values[i] = anyValue(r)
				after := shown(assess(t, c, m, values, states))
				grew := after - before
				if values[i] < old {
					grew = -grew
				}
				if in.Direction == abi.Up && grew < 0 || in.Direction == abi.Down && grew > 0 {
					t.Errorf("%s from %d to %d: score %s to %s, declared %s", in.Name, old, values[i], before, after,
						in.Direction)
				}
				values[i] = old
			}
		}
	})
}

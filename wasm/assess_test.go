package wasm_test

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/geo"
)

var update = flag.Bool("update", false, "write golden files instead of comparing them")

var auditedAt = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// bakery is the audit of a small site with every kind of fact: measured, unknown and
// missing, and with a gate.
func bakery() *fieldmark.Facts {
	at := func(path, text string) []fieldmark.Evidence {
		return []fieldmark.Evidence{{URL: "https://bakery.example" + path, Fact: text}}
	}
	f := &fieldmark.Facts{Version: fieldmark.FactsVersion, URL: "https://bakery.example/", Pages: 4,
		AsOf: fieldmark.At(auditedAt)}
	measured := func(id, unit string, value int64, evidence []fieldmark.Evidence) {
		f.Facts = append(f.Facts, fieldmark.Fact{ID: id, State: fieldmark.Measured, Value: value, Unit: unit,
			Evidence: evidence})
	}
	for id, value := range map[string]int64{
		"home.reachable": 1000, "home.indexable": 1000, "sitemap.found": 1000, "sitemap.valid": 0,
		"https.tls": 1000, "https.redirect": 1000, "https.hsts": 0,
		"org.name": 1000, "org.url": 1000, "org.logo": 0, "org.description": 0, "org.contact": 1000,
		"sameas.reference": 0, "link.about": 1000, "link.contact": 1000, "schema.typed": 1000,
		"agent.describedby": 0, "agent.markdown": 0, "agent.feed": 1000, "manipulation.found": 1000,
	} {
		measured(id, "bool", value, at("/", id))
	}
	for id, value := range map[string]int64{
		"crawler.googlebot": 1000, "crawler.bingbot": 1000, "crawler.oai-searchbot": 0, "crawler.perplexitybot": 1000,
		"crawler.claude-searchbot": 500, "crawler.others": 1000, "fetcher.share": 1000, "page.snippet_eligible": 1000,
		"response.ok": 1000, "title.good": 750, "description.good": 500, "titles.distinct": 1000,
		"headings.good": 1000, "canonical.good": 1000, "lang.html": 1000, "page.light": 1000, "page.early_text": 1000,
		"name.coherence": 667, "og.fields": 500, "sitemap.live": 0,
	} {
		measured(id, "share", value, nil)
	}
	measured("home.words", "words", 180_000, at("/", "180 words"))
	measured("text.words", "words", 220_000, at("/bread", "240 words"))
	measured("answer.kinds", "count", 1250, nil)
	measured("sameas.profiles", "count", 1000, nil)
	measured("cite.domains", "per_1000_words", 1100, nil)
	measured("stat.numbers", "per_1000_words", 7300, nil)
	measured("quote.spans", "per_1000_words", 0, nil)
	measured("llms.level", "level", 3000, nil)
	measured("llms.errors", "count", 0, nil)
	f.Facts = append(f.Facts,
		fieldmark.Fact{ID: "lang.hreflang", State: fieldmark.NotApplicable, Unit: "share"},
		fieldmark.Fact{ID: "author.share", State: fieldmark.NotApplicable, Unit: "share"},
		fieldmark.Fact{ID: "response.ttfb", State: fieldmark.Unknown, Unit: "ms"},
		// fresh.age is missing altogether.
	)
	slices.SortFunc(f.Facts, func(a, b fieldmark.Fact) int { return strings.Compare(a.ID, b.ID) })
	return f
}

// TestAssess compares whole assessments by every version of the built-in module with golden
// files. It omits the digest of the module, so that a changed advice text changes one line
// only. Version 1.0 is published: its golden file is never updated.
func TestAssess(t *testing.T) {
	for i, module := range geo.Modules() {
		m := load(t, newEngine(t, wasm.Config{}), module)
		a, err := m.Assess(t.Context(), bakery(), auditedAt.Add(24*time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		if a.Module != m.Ref() || a.Methodology != m.Methodology() {
			t.Errorf("module %v, methodology %v", a.Module, a.Methodology)
		}
		a.Module.Digest = ""
		got, err := json.MarshalIndent(a, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, '\n')
		golden := [...]string{"testdata/bakery.json", "testdata/bakery-2.json"}[i]
		if *update && i > 0 {
			if err := os.WriteFile(golden, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-golden +got)\n%s", golden, diff)
		}
	}
}

// TestAssessIsRepeatable checks that every instance returns the same bytes for the same
// facts.
func TestAssessIsRepeatable(t *testing.T) {
	var first []byte
	for range 3 {
		m := load(t, newEngine(t, wasm.Config{}), geo.Module())
		a, err := m.Assess(t.Context(), bakery(), auditedAt)
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = b
		}
		if string(first) != string(b) {
			t.Errorf("got\n%s\nbefore\n%s", b, first)
		}
	}
}

func TestAssessOfAnUnreachableSite(t *testing.T) {
	m := load(t, newEngine(t, wasm.Config{}), geo.Module())
	f := &fieldmark.Facts{Version: fieldmark.FactsVersion, URL: "https://gone.example/", AsOf: fieldmark.At(auditedAt)}
	f.Facts = []fieldmark.Fact{{ID: "home.reachable", State: fieldmark.Measured, Unit: "bool"}}
	a, err := m.Assess(t.Context(), f, auditedAt)
	if err != nil {
		t.Fatal(err)
	}
	if a.Status != fieldmark.StatusUnreachable || a.Score != nil || len(a.Gates) != 1 || len(a.Components) != 4 {
		t.Errorf("status %s, score %v, gates %v, %d components", a.Status, a.Score, a.Gates, len(a.Components))
	}
}

func TestAssessRejectsOtherUnit(t *testing.T) {
	m := load(t, newEngine(t, wasm.Config{}), geo.Module())
	f := bakery()
	for i := range f.Facts {
		if f.Facts[i].ID == "text.words" {
			f.Facts[i].Unit = "bytes"
		}
	}
	_, err := m.Assess(t.Context(), f, auditedAt)
	if err == nil || !strings.Contains(err.Error(), `fact text.words is in "bytes"`) {
		t.Errorf("got error %v", err)
	}
}

// TestEvidenceIsBounded gives every fact the maximum amount of evidence.
func TestEvidenceIsBounded(t *testing.T) {
	m := load(t, newEngine(t, wasm.Config{}), geo.Module())
	f := bakery()
	for i := range f.Facts {
		f.Facts[i].Evidence = nil
		for j := range fieldmark.MaxEvidence {
			f.Facts[i].Evidence = append(f.Facts[i].Evidence, fieldmark.Evidence{URL: f.Facts[i].ID,
				Fact: strings.Repeat("x", j)})
		}
	}
	a, err := m.Assess(t.Context(), f, auditedAt)
	if err != nil {
		t.Fatal(err)
	}
	organization := a.Components[2].Signals[0].Evidence
	if len(organization) != 12 {
		t.Errorf("%d entries for five facts, want 12", len(organization))
	}
	seen := map[string]int{}
	for _, e := range organization {
		seen[e.URL]++
	}
	for url, n := range seen {
		if n < 2 || n > 3 {
			t.Errorf("%d entries from %s, want 2 or 3 of each: %v", n, url, seen)
		}
	}
}

// replicated adds to facts the values of n bootstrap samples, which move every share by
// up to 100 thousandths, and a sample of which not every page was read.
func replicated(f *fieldmark.Facts, n int) *fieldmark.Facts {
	r := &fieldmark.Replicates{Drawn: 3, Values: make([][]*fieldmark.Milli, n)}
	for _, fact := range f.Facts {
		if fact.Unit != "share" || fact.State != fieldmark.Measured {
			continue
		}
		r.Facts = append(r.Facts, fact.ID)
		for i := range r.Values {
			value := max(0, fieldmark.Milli(fact.Value)-fieldmark.Milli(i*37%101))
			r.Values[i] = append(r.Values[i], &value)
		}
	}
	f.Sample = &fieldmark.Sample{Seed: strings.Repeat("0", 32), Population: 400}
	f.Replicates = r
	return f
}

func indented(t *testing.T, v any) string {
	t.Helper()
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestAssessReplicates: the spread of the replicates, and nothing else of them, is in the
// assessment.
func TestAssessReplicates(t *testing.T) {
	m := load(t, newEngine(t, wasm.Config{}), geo.Module())
	assess := func(f *fieldmark.Facts) fieldmark.Assessment {
		t.Helper()
		a, err := m.Assess(t.Context(), f, auditedAt)
		if err != nil {
			t.Fatal(err)
		}
		a.FactsDigest = ""
		return a
	}
	without, with := assess(bakery()), assess(replicated(bakery(), fieldmark.MaxReplicates))
	if without.Uncertainty.Sampling != nil {
		t.Errorf("without replicates: sampling error %v, want none", *without.Uncertainty.Sampling)
	}
	if s := with.Uncertainty.Sampling; s == nil || *s <= 0 || *s > 10*fieldmark.MilliOne {
		t.Errorf("with replicates: sampling error %v, want 0 to 10 points", s)
	}
	more := assess(replicated(bakery(), 3*fieldmark.MaxReplicates))
	if diff := cmp.Diff(indented(t, with), indented(t, more)); diff != "" {
		t.Errorf("more replicates than allowed change the assessment (-want +got):\n%s", diff)
	}
	with.Uncertainty, with.Range, with.Practice, with.Grade = without.Uncertainty, without.Range, without.Practice,
		without.Grade
	if diff := cmp.Diff(indented(t, without), indented(t, with)); diff != "" {
		t.Errorf("replicates change more than the range (-without +with):\n%s", diff)
	}
}

// TestAssessBareFacts: facts without evidence, which nodes rank by, give the same numbers.
func TestAssessBareFacts(t *testing.T) {
	m := load(t, newEngine(t, wasm.Config{}), geo.Module())
	full, bare := replicated(bakery(), fieldmark.MaxReplicates), replicated(bakery(), fieldmark.MaxReplicates)
	bare.Sample = &fieldmark.Sample{Seed: full.Sample.Seed, Population: full.Sample.Population}
	for i := range bare.Facts {
		bare.Facts[i].Evidence = nil
	}
	var got [2]fieldmark.Score
	for i, f := range []*fieldmark.Facts{full, bare} {
		a, err := m.Assess(t.Context(), f, auditedAt)
		if err != nil {
			t.Fatal(err)
		}
		a.FactsDigest = ""
		for i := range a.Components {
			for j := range a.Components[i].Signals {
				a.Components[i].Signals[j].Evidence = nil
			}
		}
		for i := range a.Eligibility.Checks {
			a.Eligibility.Checks[i].Evidence = nil
		}
		got[i].Assessment = a
	}
	if diff := cmp.Diff(indented(t, got[0]), indented(t, got[1])); diff != "" {
		t.Errorf("(-full +bare)\n%s", diff)
	}
}

func BenchmarkAssess(b *testing.B) {
	m := load(b, newEngine(b, wasm.Config{}), geo.Module())
	plain, full := bakery(), replicated(bakery(), fieldmark.MaxReplicates)
	for _, bb := range []struct {
		name   string
		facts  *fieldmark.Facts
		assess func(context.Context, *fieldmark.Facts, time.Time) (fieldmark.Assessment, error)
	}{
		{"plain", plain, m.Assess}, {"plain-without-digest", plain, m.Evaluate},
		{"replicates", full, m.Assess}, {"replicates-without-digest", full, m.Evaluate},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := bb.assess(b.Context(), bb.facts, auditedAt); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	engine := newEngine(b, wasm.Config{})
	for b.Loop() {
		m, err := engine.Load(b.Context(), geo.Module())
		if err != nil {
			b.Fatal(err)
		}
		if err := m.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

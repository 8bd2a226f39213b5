package plan_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark/origin/visibility/plan"
)

const goodPlan = `form: 1
study: ropes-de-2026w48
prompts: q.yaml
panel: p.yaml
locale: de-AT
schedule: {from: 2026-11-24, days: 7, runs: 2, window: "07:00-22:00", zone: Europe/Vienna}
budget: {usd: "25.00", reserve: worst}
keep: 400d
engines:
  - {id: openai-search, adapter: openai-responses, model: m, keyEnv: OPENAI_API_KEY, concurrency: 4, rpm: 60,
	terms: read,
     prices: {asOf: 2026-11-20, inputPerM: "1.00", outputPerM: "6.00", search: "0.01", contextTokens: 128000}}
  - {id: local, adapter: openai-chat, baseURL: "http://127.0.0.1:8081/v1", model: n, search: off, prices: {free: true}}
`

const goodPrompts = `id: ropes-de
version: "1"
niche: ropes
language: de
locale: de-AT
provenance: Two buyers wrote them.
prompts:
  - {id: b, text: "Welches Kletterseil ist gut?", intent: buy}
  - {id: a, text: "Welches Seil von Acme ist gut?", intent: compare, group: good}
`

const goodPanel = `brands:
  - {slug: acme, name: Acme, aliases: [{text: Acme, kind: word, near: [Seil]}], domains: [acme.example]}
  - {slug: huber, name: Huber, aliases: [Seilerei Huber]}
`

// parse parses a plan whose texts are edited by pairs of old and new.
func parse(t *testing.T, edits ...string) (*plan.Plan, error) {
	t.Helper()
	texts := []string{goodPlan, goodPrompts, goodPanel}
	for i := 0; i < len(edits); i += 2 {
		found := false
		for k := range texts {
			found = found || strings.Contains(texts[k], edits[i])
			texts[k] = strings.Replace(texts[k], edits[i], edits[i+1], 1)
		}
		if !found {
			t.Fatalf("no text has %q", edits[i])
		}
	}
	return plan.Parse(plan.Files{Plan: "plan", Prompts: "prompts", Panel: "panel"},
		plan.Texts{Plan: []byte(texts[0]), Prompts: []byte(texts[1]), Panel: []byte(texts[2])})
}

// TestFormsOfTrue: YAML has three forms of true.
func TestFormsOfTrue(t *testing.T) {
	for _, form := range []string{"True", "TRUE"} {
		if p, err := parse(t, "{free: true}", "{free: "+form+"}"); err != nil || !p.Engines[1].Prices.Free {
			t.Errorf("%s: %v", form, err)
		}
	}
}

func TestGoodPlan(t *testing.T) {
	p, err := parse(t)
	if err != nil {
		t.Fatal(err)
	}
	if p.Budget != 25e9 || p.Keep != 400 || p.Country != "AT" || p.Language != "de" || len(p.Engines) != 2 ||
		p.Engines[0].Prices.Search != 10_000_000 || p.Engines[1].Search != "off" || p.Engines[0].Search != "auto" ||
		p.Schedule.Day(1).UTC().Format(time.RFC3339) != "2026-11-24T23:00:00Z" {
		t.Errorf("%+v", p)
	}
	if q := p.Prompts.Prompts; q[0].ID != "a" || !q[0].Branded || q[1].Branded {
		t.Errorf("prompts %+v; want them sorted, and a question with an alias branded", q)
	}
	if err := p.Begin(time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)); err != nil {
		t.Error(err)
	}
	for _, now := range []time.Time{time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC), time.Date(2027, 3, 1, 0, 0, 0, 0,
		time.UTC)} {
		if err := p.Begin(now); !plan.IsFault(err) {
			t.Errorf("begin at %v: %v", now, err)
		}
	}
}

// TestMissingMidnight: where clocks change at midnight, the day of the change begins at 01:00 and is a separate day.
func TestMissingMidnight(t *testing.T) {
	for _, one := range []struct {
		zone, from string
		day        int
		want       string
	}{
		{"America/Santiago", "2026-09-01", 4, "2026-09-05T00:00:00-04:00"},
		{"America/Santiago", "2026-09-01", 5, "2026-09-06T01:00:00-03:00"},
		{"America/Santiago", "2026-09-01", 6, "2026-09-07T00:00:00-03:00"},
		{"America/Santiago", "2026-09-06", 0, "2026-09-06T01:00:00-03:00"},
		{"America/Santiago", "2026-04-03", 2, "2026-04-05T00:00:00-04:00"},
		{"America/Havana", "2026-03-08", 0, "2026-03-08T01:00:00-04:00"},
		{"America/Havana", "2026-11-01", 0, "2026-11-01T00:00:00-04:00"}, // shown twice: the first one
		{"Africa/Cairo", "2026-04-23", 1, "2026-04-24T01:00:00+03:00"},
		{"Europe/Vienna", "2026-03-29", 1, "2026-03-30T00:00:00+02:00"},
	} {
		p, err := parse(t, "Europe/Vienna", one.zone, "2026-11-24", one.from)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Schedule.Day(one.day).Format(time.RFC3339); got != one.want {
			t.Errorf("day %d from %s in %s begins at %s, want %s", one.day, one.from, one.zone, got, one.want)
		}
	}
}

// TestHashes: what is asked changes the hash of the plan; money, keys and the order of questions do not.
func TestHashes(t *testing.T) {
	hash := func(edits ...string) string {
		p, err := parse(t, edits...)
		if err != nil {
			t.Fatal(err)
		}
		return string(p.Hash)
	}
	same := hash()
	for _, edit := range [][]string{{`"25.00"`, `"50"`}, {"OPENAI_API_KEY", "OTHER_KEY"}, {"rpm: 60", "rpm: 30"},
		{"keep: 400d", "keep: 30d"}, {`"6.00"`, `"7.00"`}, {"  - {id: b,", "  - {intent: buy, id: b,",
			", intent: buy}", "}"}} {
		if hash(edit...) != same {
			t.Errorf("%q changes the hash", edit)
		}
	}
	for _, edit := range [][]string{{"model: m", "model: m2"}, {"runs: 2", "runs: 3"}, {"Kletterseil", "Hanfseil"},
		{"near: [Seil]", "near: [Seile]"}, {"search: off", "search: auto"}, {"07:00", "08:00"}} {
		if hash(edit...) == same {
			t.Errorf("%q does not change the hash", edit)
		}
	}
	p, err := parse(t)
	if err != nil {
		t.Fatal(err)
	}
	pinned := func(digest string) error {
		_, err := parse(t, "panel: p.yaml\n", "panel: p.yaml\npromptsHash: "+digest+"\n")
		return err
	}
	if err := pinned(string(p.PromptsHash)); err != nil {
		t.Error(err)
	}
	if err := pinned(string(p.PanelHash)); !plan.IsFault(err) {
		t.Errorf("another hash than that of the prompts: %v", err)
	}
}

// TestFaults: every fault is named with its place.
func TestFaults(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"form: 1", "form: 2", "plan:1:7: must be a whole number from 1 to 1"},
		{"study: ropes-de-2026w48", "study: Ropes", "plan:2:8: must be 1 to 63"},
		{"study: ropes-de-2026w48\n", "", "plan:1:1: study is missing"},
		{"keep: 400d", "kept: 400d", `plan:8:1: "kept" is not known here`},
		{"keep: 400d", "form: 1", `plan:8:1: "form" is repeated`},
		{"locale: de-AT", "locale: xx-yy-zz", "plan:5:9: must be a BCP 47"},
		{"panel: p.yaml\nlocale: de-AT", "panel: p.yaml\nlocale: de-DE", "plan:5:9: the prompt set is for de-AT"},
		{"from: 2026-11-24", "from: 24.11.2026", "plan:6:18: must be a date"},
		{"days: 7", "days: 32", "plan:6:36: must be a whole number from 1 to 31"},
		{`"07:00-22:00"`, `"22:00-07:00"`, "must end after it begins"},
		{"Europe/Vienna", "Vienna", "must be a time zone"},
		{`"25.00"`, `"1e9"`, "plan:7:15: must be an amount"},
		{`"25.00"`, `"-1"`, "plan:7:15: must be an amount"},
		{`"1.00"`, `"1.0000000001"`, "must be an amount"},
		{`search: "0.01", `, "", "plan:12:14: search is missing"},
		{"model: m, ", "", "plan:10:5: model is missing"},
		{"keyEnv: OPENAI_API_KEY, ", "", "plan:10:5: keyEnv or keyFile is missing"},
		{"OPENAI_API_KEY", "sk-pasted-key", "a key itself never belongs into a plan"},
		{"terms: read,", "", "plan:10:34: add terms: read"},
		{"adapter: openai-responses", "adapter: openai", "plan:10:34: must be one of"},
		{"adapter: openai-responses", "adapter: gemini", "only asked with search: off"},
		{"http://127.0.0.1:8081/v1", "http://gateway.example/v1", "plan:13:48: baseURL must be an https address"},
		{"id: local", "id: openai-search", "plan:13:5: another engine has this id"},
		{"{free: true}", "{free: false}", "asOf is missing"},
		{"form: 1", "form: [", "is not YAML"},
		{"form: 1", "form: &a 1", "plan:1:7: aliases and anchors are not supported"},
		{"provenance: Two buyers wrote them.\n", "", "prompts:1:1: provenance is missing"},
		{"id: b,", "id: a,", "prompts:9:5: another prompt has this id"},
		{`"Welches Kletterseil ist gut?"`, `"Seil?"`, "prompts:8:19: must have 10 to 500 characters"},
		{`"Welches Kletterseil ist gut?"`, `"Was weiss ada@example.org?"`, "prompts:8:19: has an e-mail address"},
		{`"Welches Kletterseil ist gut?"`, `"Wem gehört +43 664 5550199?"`, "prompts:8:19: has an e-mail address"},
		{`"Welches Kletterseil ist gut?"`, `"Welches Seil von Acme ist gut?"`, "another prompt has this text"},
		{"intent: buy", "intent: sell", "prompts:8:59: must be one of"},
		{"language: de", "language: en", "locale and language differ"},
		{"slug: huber", "slug: acme", "panel:3:12: slug must be a slug that no other brand has"},
		{"[Seilerei Huber]", "[Huber]", "panel:3:42: aliases is short or a single word"},
		{"domains: [acme.example]", "domains: [www.acme.example]", "panel:2:91: domains must be a registrable domain"},
	} {
		_, err := parse(t, c.old, c.new)
		if faults, ok := errors.AsType[plan.Faults](err); !ok || !strings.Contains(faults.Error(), c.want) {
			t.Errorf("%q for %q: %v\nwant %s", c.new, c.old, err, c.want)
		} else if strings.Contains(faults.Error(), "sk-pasted-key") {
			t.Error("a value that may be a key is repeated")
		}
	}
	_, err := parse(t, "form: 1", "form: 2", "keep: 400d", "kept: 1", "intent: buy", "intent: sell", "slug: huber",
		"slug: H")
	if faults, ok := errors.AsType[plan.Faults](err); !ok || len(faults) != 4 {
		t.Errorf("four faults in three files: %v", err)
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := plan.Load(filepath.Join(dir, "plan.yaml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	for name, text := range map[string]string{"plan.yaml": goodPlan, "q.yaml": goodPrompts, "p.yaml": goodPanel} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if p, _, err := plan.Load(filepath.Join(dir, "plan.yaml")); err != nil || p.Study != "ropes-de-2026w48" {
		t.Errorf("%v", err)
	}
}

// FuzzParse: no plan makes the parser fail without naming a place.
func FuzzParse(f *testing.F) {
	f.Add(goodPlan, goodPrompts, goodPanel)
	f.Add("form: 1", "[]", "brands: [{}]")
	f.Add("{", "prompts: [1]", "brands: {a: 1}")
	f.Fuzz(func(t *testing.T, text, prompts, panel string) {
		_, err := plan.Parse(plan.Files{Plan: "a", Prompts: "b", Panel: "c"},
			plan.Texts{Plan: []byte(text), Prompts: []byte(prompts), Panel: []byte(panel)})
		faults, _ := errors.AsType[plan.Faults](err)
		for _, one := range faults {
			if one.Line < 1 || one.Column < 1 || one.Text == "" {
				t.Errorf("%q: fault %+v", fmt.Sprint(text, prompts, panel), one)
			}
		}
	})
}

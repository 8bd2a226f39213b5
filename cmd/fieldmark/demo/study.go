package demo

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark/origin/visibility/engine"
	"github.com/fieldmark/fieldmark/origin/visibility/engine/fake"
	"github.com/fieldmark/fieldmark/origin/visibility/plan"
	"github.com/fieldmark/fieldmark/origin/visibility/sampler"
	"github.com/fieldmark/fieldmark/origin/visibility/study"
)

// The demo's studies of answers: the fake engine invents them, and provider, provenance, engines and model say so.
const (
	studyProvider = "demo (invented answers)"
	studyDays     = 7
)

// studyPrompts is the set of questions of the demo.
//
//go:embed study/prompts.yaml
var studyPrompts []byte

// studyEngine is an engine of the demo's plan. The last one answers without a search: how often it names a brand is
// how well known the brand is.
type studyEngine struct{ id, search string }

var studyEngines = []studyEngine{{"fake-engine-one", engine.SearchAuto}, {"fake-engine-two", engine.SearchAuto},
	{"fake-engine-memory", engine.SearchOff}}

// studyAges are how many days ago the studies of the demo ended, the oldest first: a history of four months.
var studyAges = []int{84, 56, 28, 0}

// modelAge is the age in days of the last study whose first engine has the earlier model: its history is broken there.
const modelAge = 56

// importStudies imports the studies on the first start.
func (s *Seeder) importStudies(ctx context.Context) error {
	state, _, err := s.Service.Brands.State(ctx, sites[0].Slug)
	if err != nil || len(state.Studies) > 0 {
		return err
	}
	end := time.Now().UTC().AddDate(0, 0, -1)
	for _, ago := range studyAges {
		first := fake.Model
		if ago >= modelAge {
			first = fake.EarlierModel
		}
		documents, err := sampleStudy(ctx, end.AddDate(0, 0, -ago), first)
		if err != nil {
			return fmt.Errorf("sample the fake engine: %w", err)
		}
		for _, d := range documents {
			if _, err := s.Service.Visibility.ImportFile(ctx, "", d.Bytes(), false); err != nil {
				return fmt.Errorf("import a study: %w", err)
			}
		}
	}
	return nil
}

// sampleStudy asks the fake engine every question on the days until end, and counts its answers as the sampler does.
// It asks at once: a demo cannot wait for days. The same day gives the same counts. The first engine answers with the
// model first.
func sampleStudy(ctx context.Context, end time.Time, first string) (documents []*study.Document, err error) {
	p, err := plan.Parse(plan.Files{Plan: "plan.yaml", Prompts: "prompts.yaml", Panel: "panel.yaml"},
		plan.Texts{Plan: studyPlan(end), Prompts: studyPrompts, Panel: studyPanel()})
	if err != nil {
		return nil, err
	}
	var brands []fake.Brand
	for i := range sites {
		brands = append(brands, fake.Brand{Name: sites[i].Name, Domain: sites[i].Host})
	}
	for i := range p.Engines {
		e := &p.Engines[i]
		invented := fake.New(uint64(end.Unix()/86400)<<8+uint64(i), brands...)
		invented.NoSearch = e.Search == engine.SearchOff
		if i == 0 {
			invented.Model = first
		}
		asked, err := engine.New(engine.Config{Adapter: e.Adapter, Model: e.Model, BaseURL: e.BaseURL,
			Search: e.Search, MaxOutputTokens: e.MaxOutputTokens, HTTP: invented})
		if err != nil {
			return nil, err
		}
		counter := sampler.NewCounter(p, e)
		for day := range p.Schedule.Days {
			for q := range p.Prompts.Prompts {
				x, err := asked.Ask(ctx, p.Prompts.Prompts[q].Text, nil)
				if err != nil {
					return nil, err
				}
				a, err := asked.Read([]engine.Exchange{x})
				if err != nil {
					return nil, err
				}
				counter.Add(q, day, &a)
			}
		}
		documents = append(documents, counter.Document())
	}
	return documents, nil
}

// studyPlan returns the plan of the days until end. JSON is YAML, so the encoder quotes what must be quoted.
func studyPlan(end time.Time) []byte {
	var engines []map[string]any
	for _, e := range studyEngines {
		// The address is never connected to: the engine is in this process.
		engines = append(engines, map[string]any{"id": e.id, "adapter": "openai-chat", "model": fake.Model,
			"baseURL": "http://127.0.0.1/v1", "search": e.search, "prices": map[string]any{"free": true}})
	}
	return encode(map[string]any{"form": 1, "study": "demo-" + end.Format(time.DateOnly), "provider": studyProvider,
		"prompts": "prompts.yaml", "panel": "panel.yaml", "locale": "en", "budget": map[string]any{"usd": "0"},
		"schedule": map[string]any{"from": end.AddDate(0, 0, 1-studyDays).Format(time.DateOnly), "days": studyDays},
		"engines":  engines})
}

// studyPanel returns the panel: all sites.
func studyPanel() []byte {
	var brands []map[string]any
	for i := range sites {
		// Plain, because no name of a site is a word that the fake engine uses otherwise.
		brands = append(brands, map[string]any{"slug": sites[i].Slug, "name": sites[i].Name,
			"aliases": []map[string]any{{"text": sites[i].Name, "kind": "plain"}}, "domains": []string{sites[i].Host}})
	}
	return encode(map[string]any{"brands": brands})
}

func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic("BUG: a file of the demo's study cannot be encoded: " + err.Error())
	}
	return text
}

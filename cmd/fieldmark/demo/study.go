package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/visibility/study"
)

// The demo's studies of answers. No answer engine was asked: the counts are invented, and every name says so.
const (
	studyNiche      = "independent-shops"
	studyProvider   = "demo (invented answers)"
	studyProvenance = "Written for this demo. A fake engine that is part of Fieldmark invented the answers; they " +
		"say nothing about any real engine or brand."
	studyQuestions = 48
	studyDays      = 7
	// studyHash is the hash of question set and panel, which the demo does not store.
	studyHash = "sha256:" + "d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3"
)

// studyEngines are the fake engines of the demo.
var studyEngines = [...]string{"fake-engine-one", "fake-engine-two"}

// importStudies imports two studies, four weeks apart, on the first start.
func (s *Seeder) importStudies(ctx context.Context) error {
	state, _, err := s.Service.Brands.State(ctx, sites[0].Slug)
	if err != nil || len(state.Studies) > 0 {
		return err
	}
	end := time.Now().UTC().AddDate(0, 0, -1)
	for _, ago := range []int{28, 0} {
		for i := range studyEngines {
			body, err := json.Marshal(inventStudy(i, end.AddDate(0, 0, -ago)))
			if err != nil {
				return err
			}
			if _, err := s.Service.Visibility.ImportFile(ctx, "", body, false); err != nil {
				return fmt.Errorf("import a study: %w", err)
			}
		}
	}
	return nil
}

// inventStudy returns the counts of an engine on the days until end. The same day gives the same counts.
func inventStudy(engine int, end time.Time) *study.Document {
	d := &study.Document{Form: fieldmark.FormStudy, Study: "demo-" + end.Format(time.DateOnly),
		Engine: studyEngines[engine], Model: "fieldmark-fake-1", Surface: fieldmark.SurfaceAPI, Search: "auto",
		Locale: "en", Niche: studyNiche, PromptSet: "independent-shops-en", PromptSetHash: studyHash,
		PanelHash: studyHash, Provider: studyProvider, Provenance: studyProvenance,
		From: end.AddDate(0, 0, 1-studyDays).Format(time.DateOnly), To: end.Format(time.DateOnly),
		Planned: studyQuestions * studyDays}
	for i := range sites {
		d.Brands = append(d.Brands, string(sites[i].Slug))
	}
	for day := range studyDays {
		d.Days = append(d.Days, end.AddDate(0, 0, day+1-studyDays).Format(time.DateOnly))
	}
	r := rand.New(rand.NewPCG(uint64(engine), uint64(end.Unix()/86400)))
	for p := range studyQuestions {
		d.Prompts = append(d.Prompts, study.Prompt{ID: fmt.Sprintf("q%02d", p+1), Intent: "recommend"})
		ease := (r.Float64() - 0.5) / 2 // how readily answers to this question name brands
		for day := range studyDays {
			inventCell(d, r, p, day, ease)
		}
	}
	return d
}

// inventCell adds one answer. Brands are named from 64 % of answers for the first to 10 % for the last.
func inventCell(d *study.Document, r *rand.Rand, prompt, day int, ease float64) {
	cell := study.Cell{Prompt: prompt, Day: day, Answers: 1, Searched: 1}
	if r.Float64() < 0.8 {
		cell.Cited = 1
	}
	d.Cells = append(d.Cells, cell)
	named := 0
	for i, brand := range d.Brands {
		if r.Float64() > 0.64-0.06*float64(i)+ease {
			continue
		}
		named++
		c := study.Count{Brand: brand, Prompt: prompt, Day: day, Mentions: 1}
		if named == 1 {
			c.First = 1
		}
		if named <= 3 {
			c.Top3 = 1
		}
		if r.Float64() < 0.5 {
			c.Citations = cell.Cited
		}
		d.Counts = append(d.Counts, c)
	}
}

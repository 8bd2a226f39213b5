package studytest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/visibility/study"
)

// Hash is the hash of prompts and panel.
const Hash = "sha256:" + "0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"

// New returns a study of 40 questions on the 7 days that end with a day. Of n brands, the first is named in
// about n of n+1 answers, the last in one. The same name gives the same answers.
func New(name, engine string, end time.Time, brands ...string) *study.Document {
	// Large enough to be ranked, and small enough to be computed in every test.
	const questions, days = 40, 7
	n := len(brands)
	d := &study.Document{Form: fieldmark.FormStudy, Study: name, Engine: engine, Model: "m-1",
		Surface: fieldmark.SurfaceAPI, Search: "auto", Locale: "de-AT", Niche: "ropes", PromptSet: "ropes-de",
		PromptSetHash: Hash, PanelHash: Hash, Provider: "in-house", Provenance: "written by two buyers",
		From: end.AddDate(0, 0, 1-days).Format(time.DateOnly), To: end.Format(time.DateOnly), Planned: questions * days,
		Brands: brands}
	// A fixed seed: the rankings of a test are the same in every run.
	r := rand.New(rand.NewPCG(1, uint64(len(name)+len(engine))))
	for day := range days {
		d.Days = append(d.Days, end.AddDate(0, 0, day+1-days).Format(time.DateOnly))
	}
	for p := range questions {
		d.Prompts = append(d.Prompts, study.Prompt{ID: fmt.Sprintf("p%02d", p), Intent: "buy"})
		// Questions differ in how many brands an answer names, as real ones do; intervals depend on that.
		ease := r.Float64() - 0.5
		for day := range days {
			d.Cells = append(d.Cells, study.Cell{Prompt: p, Day: day, Answers: 1, Cited: (p + day) % 2, Searched: 1})
			named := 0
			for i, b := range brands {
				// The chance falls with the position of a brand, so the true order is that of the arguments.
				if r.Float64() > float64(n-i)/float64(n+1)+ease/2 {
					continue
				}
				c := study.Count{Brand: b, Prompt: p, Day: day, Mentions: 1, Citations: (p + day) % 2}
				// Brands are named in the order of the arguments.
				if named++; named == 1 {
					c.First = 1
				}
				if named <= 3 {
					c.Top3 = 1
				}
				d.Counts = append(d.Counts, c)
			}
		}
	}
	return d
}

// CSV returns documents as a file of rows.
// The rows are in the columns of an import, in the order of the header.
func CSV(documents ...*study.Document) string {
	var b strings.Builder
	b.WriteString("study,engine,model,surface,search,locale,niche,promptSetId,promptSetHash,panelHash,prompt,group," +
		"day,brand,answers,cited,mentions,first,top3,citations,retrieved,from,to,provider,provenance\n")
	for _, d := range documents {
		// A brand without a count is a row of zeros, not a missing row.
		counts := map[string]study.Count{}
		for _, c := range d.Counts {
			counts[fmt.Sprint(c.Brand, " ", c.Prompt, " ", c.Day)] = c
		}
		for _, c := range d.Cells {
			for _, brand := range d.Brands {
				n := counts[fmt.Sprint(brand, " ", c.Prompt, " ", c.Day)]
				fmt.Fprintf(&b, "%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,,%s,%s,%d,%d,%d,%d,%d,%d,%d,%s,%s,%s,%s\n", d.Study,
					d.Engine, d.Model, d.Surface, d.Search, d.Locale, d.Niche, d.PromptSet, d.PromptSetHash,
					d.PanelHash, d.Prompts[c.Prompt].ID, d.Days[c.Day], brand, c.Answers, c.Cited, n.Mentions,
					n.First, n.Top3, n.Citations, n.Retrieved, d.From, d.To, d.Provider, d.Provenance)
			}
		}
	}
	return b.String()
}

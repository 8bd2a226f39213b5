package api

import (
	"crypto/sha256"
	"fmt"
	"net/http"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
)

const csvType = "text/csv"

// sampleRecord is an answer sample as it comes in. Its tags say types only:
// bounds are the service's, which judges line by line.
type sampleRecord struct {
	Brand          string `json:"brand,omitempty" doc:"Slug of the brand"`
	Engine         string `json:"engine,omitempty" doc:"Written like a slug: chatgpt, google-ai-mode"`
	Model          string `json:"model,omitempty"`
	Surface        string `json:"surface,omitempty" doc:"api or app"`
	Locale         string `json:"locale,omitempty" doc:"BCP 47"`
	PromptSet      string `json:"promptSetId,omitempty"`
	PromptSetHash  string `json:"promptSetHash,omitempty" doc:"sha256: and 64 hexadecimal digits"`
	Prompts        int    `json:"prompts,omitempty"`
	BrandedPrompts int    `json:"brandedPrompts,omitempty" doc:"Prompts that name the brand"`
	Runs           int    `json:"runs,omitempty" doc:"Of each prompt"`
	Answers        int    `json:"answers,omitempty"`
	Mentions       int    `json:"mentions,omitempty" doc:"Answers that name the brand"`
	Cited          int    `json:"cited,omitempty" doc:"Answers with a citation at all"`
	Citations      int    `json:"citations,omitempty" doc:"Answers that cite the brand's domain"`
	Voices         int    `json:"voices,omitempty" doc:"Answers that name the brand or a listed rival"`
	Graded         int    `json:"graded,omitempty" doc:"Statements about the brand that somebody checked"`
	Right          int    `json:"right,omitempty" doc:"Of these, are true"`
	From           string `json:"from,omitempty" doc:"RFC 3339, or a date"`
	To             string `json:"to,omitempty" doc:"RFC 3339, or a date"`
	Provider       string `json:"provider,omitempty" doc:"Who took the sample"`
	AliasRule      string `json:"aliasRule,omitempty" doc:"How an ambiguous name was told from the word"`
}

func (r *sampleRecord) line(i int) origin.SampleLine {
	return origin.SampleLine{At: fmt.Sprintf("/%d", i), From: r.From, To: r.To, Sample: fieldmark.VisibilitySample{
		Brand: fieldmark.Slug(r.Brand), Engine: r.Engine, Model: r.Model, Surface: r.Surface, Locale: r.Locale,
		PromptSet: r.PromptSet, PromptSetHash: fieldmark.Digest(r.PromptSetHash),
		Prompts: r.Prompts, BrandedPrompts: r.BrandedPrompts, Runs: r.Runs, Answers: r.Answers, Mentions: r.Mentions,
		Cited: r.Cited, Citations: r.Citations, Voices: r.Voices, Graded: r.Graded, Right: r.Right,
		Provider: r.Provider, AliasRule: r.AliasRule,
	}}
}

// importVisibility takes answer samples; lines that are refused are in the report.
func (s *server) importVisibility(c *call) error {
	kind, err := c.mediaType(jsonType, csvType)
	if err != nil {
		return err
	}
	body, err := c.readBody()
	if err != nil {
		return err
	}
	var lines []origin.SampleLine
	if kind == csvType {
		if lines, err = origin.ReadSamplesCSV(body); err != nil {
			return err
		}
	} else {
		var records []sampleRecord
		if err := c.decodeBytes(body, &records, nil); err != nil {
			return err
		}
		for i := range records {
			lines = append(lines, records[i].line(i))
		}
	}
	report, err := s.origin.ImportVisibility(c.r.Context(), c.key.ID, fieldmark.DigestOf(sha256.Sum256(body)), lines)
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, report)
}

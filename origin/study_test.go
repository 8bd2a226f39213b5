package origin_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/studytest"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/visibility"
	"github.com/fieldmark/fieldmark/origin/visibility/study"
)

func importStudy(t testing.TB, w *fixture, d *study.Document) (fieldmark.VisibilityImport, error) {
	t.Helper()
	body, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return w.Visibility.ImportFile(t.Context(), "key_1", body, false)
}

func mustImportStudy(t testing.TB, w *fixture, d *study.Document) fieldmark.VisibilityImport {
	t.Helper()
	report, err := importStudy(t, w, d)
	if err != nil {
		t.Fatalf("%v %v", err, fieldmark.AsError(err).Fields)
	}
	return report
}

// TestImportStudy: a study is stored once, corrected by its digest, and its results belong to brands.
func TestImportStudy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		putBrand(t, w, acme)
		ropes := acme
		ropes.Slug, ropes.URL = "ropes", "https://ropes.example/"
		putBrand(t, w, ropes)
		end := time.Now().UTC()
		before := w.head(t)
		d := studytest.New("november", "one", end, "acme", "ropes", "nobody")
		report := mustImportStudy(t, w, d)
		if report.Added != 1 || len(report.Warnings) != 1 || !strings.Contains(report.Warnings[0].Detail, "nobody") ||
			w.types(t, before) != "brand.sampled brand.sampled visibility.study" {
			t.Fatalf("report %+v, events %s", report, w.types(t, before))
		}
		if report = mustImportStudy(t, w, d); report.Unchanged != 1 || report.Added != 0 || w.head(t) != before+3 {
			t.Errorf("the same again: %+v", report)
		}
		state, _, err := w.Brands.State(t.Context(), "acme")
		if err != nil || len(state.Studies) != 1 || len(state.Studies[0].All.Brands) != 1 ||
			state.Studies[0].All.Brands[0].MentionRate.Of != 280 || len(state.Studies[0].Engines) != 1 {
			t.Fatalf("state %+v, %v", state.Studies, err)
		}
		first := state.Studies[0]

		d.Cells[0].Cited = 1
		if _, err = importStudy(t, w, d); fieldmark.AsError(err).Fields[0].Code != "conflict" {
			t.Errorf("other counts: %v, want a conflict", err)
		}
		d.Replaces = first.Documents[0]
		mustImportStudy(t, w, d)
		mustImportStudy(t, w, studytest.New("november", "two", end, "acme", "ropes", "nobody"))
		other := studytest.New("november", "three", end, "acme", "ropes")
		other.PanelHash = "sha256:" + fieldmark.Digest(strings.Repeat("0b", 32))
		if _, err := importStudy(t, w, other); fieldmark.AsError(err).Fields[0].Code != "mismatch" {
			t.Errorf("an engine with another panel: %v, want a mismatch", err)
		}
		state, _, err = w.Brands.State(t.Context(), "acme")
		if err != nil || len(state.Studies[0].Engines) != 2 || state.Studies[0].All.Answers != 560 {
			t.Errorf("of two engines: %+v, %v", state.Studies, err)
		}
		for digest, engines := range map[fieldmark.Digest]int{first.Digest: 1, state.Studies[0].Digest: 2,
			first.Documents[0]: 1} {
			if rows, err := w.Visibility.Documents(t.Context(), digest); err != nil || len(rows.Documents) != engines {
				t.Errorf("rows of %s: %d documents, %v; want %d", digest, len(rows.Documents), err, engines)
			}
		}
		if err := w.Brands.Delete(t.Context(), "ropes"); err != nil {
			t.Fatal(err)
		}
		later := end.AddDate(0, 0, 7)
		time.Sleep(later.Sub(end))
		mustImportStudy(t, w, studytest.New("december", "one", later, "acme", "ropes"))
		if state, _, _ = w.Brands.State(t.Context(), "acme"); state.Studies[0].ID != "december" {
			t.Errorf("newest study %s, want december", state.Studies[0].ID)
		}
	})
}

// TestVisibilityChanged: a brand that every answer names a week later receives one event.
func TestVisibilityChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		putBrand(t, w, acme)
		_, err := w.Webhooks.CreateEndpoint(t.Context(), access.DefaultAccount, fieldmark.EndpointRequest{
			URL: "https://127.0.0.1/", Events: []string{string(fieldmark.EventVisibilityChanged)},
			EndpointSettings: fieldmark.EndpointSettings{Brands: []fieldmark.Slug{"acme"}}})
		if err != nil {
			t.Fatal(err)
		}
		end := time.Now().UTC()
		mustImportStudy(t, w, studytest.New("november", "one", end, "other", "third", "acme"))
		later := end.AddDate(0, 0, 7)
		time.Sleep(later.Sub(end))
		d := studytest.New("december", "one", later, "other", "third", "acme")
		var counts []study.Count
		for _, c := range d.Counts {
			if c.Brand != "acme" {
				counts = append(counts, c)
			}
		}
		for _, c := range d.Cells {
			counts = append(counts, study.Count{Brand: "acme", Prompt: c.Prompt, Day: c.Day, Mentions: 1})
		}
		d.Counts = counts
		mustImportStudy(t, w, d)
		sent := w.sentTo(t, access.DefaultAccount, fieldmark.EventVisibilityChanged)
		var c fieldmark.VisibilityChange
		if len(sent) != 1 || json.Unmarshal(sent[0], &c) != nil || c.Cause != "brand" || c.To != 1000 ||
			c.Change.Low <= 0 {
			t.Errorf("events %s, want one with the cause brand", sent)
		}
	})
}

func TestUnpack(t *testing.T) {
	for name, file := range map[string]string{"no gzip": "\x1f\x8bx",
		"cut": "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\x4b"} {
		if _, err := visibility.Unpack([]byte(file)); !fieldmark.IsCode(err, fieldmark.CodeValidationFailed) {
			t.Errorf("%s: %v, want a validation error", name, err)
		}
	}
}

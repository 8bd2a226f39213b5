package operate

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark"
)

// TestBrandsOf imports brands in the formats of other directories.
func TestBrandsOf(t *testing.T) {
	var records []importEntry
	if err := json.Unmarshal([]byte(`[
		{"name": ".agent", "domain": "https://www.agent.example", "category": "ai-ml",
			"description": "Two\nlines\u0007 here"},
		{"name": ".Agent!", "domain": "agent2.example"},
		{"name": "山の音", "url": "https://www.yama.example/ja", "language": "ja", "public": false},
		{"slug": "own", "name": "Own", "url": "https://own.example", "niche": "Tools & More"},
		{"name": "Müller & Söhne, Łódź", "domain": "mueller.example"}
	]`), &records); err != nil {
		t.Fatal(err)
	}
	want := []fieldmark.Brand{
		{Slug: "agent", Name: ".agent", URL: "https://www.agent.example", Niche: "ai-ml", Language: "und",
			Description: "Two lines here", Public: true},
		{Slug: "agent-2", Name: ".Agent!", URL: "https://agent2.example", Niche: "general", Language: "und",
			Public: true},
		{Slug: "yama-example", Name: "山の音", URL: "https://www.yama.example/ja", Niche: "general", Language: "ja"},
		{Slug: "own", Name: "Own", URL: "https://own.example", Niche: "tools-and-more", Language: "und", Public: true},
		{Slug: "muller-and-sohne-lodz", Name: "Müller & Söhne, Łódź", URL: "https://mueller.example", Niche: "general",
			Language: "und", Public: true},
	}
	taken := map[string]string{}
	if diff := cmp.Diff(want, brandsOf(records, true, taken), cmp.AllowUnexported(fieldmark.Time{})); diff != "" {
		t.Errorf("brandsOf differs (-want +got):\n%s", diff)
	}
	// A second import in reverse order gives every brand the same slug.
	slices.Reverse(records)
	slices.Reverse(want)
	if diff := cmp.Diff(want, brandsOf(records, true, taken), cmp.AllowUnexported(fieldmark.Time{})); diff != "" {
		t.Errorf("the same records in another order differ (-want +got):\n%s", diff)
	}
}

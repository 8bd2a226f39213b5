package badge_test

import (
	"encoding/json"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/badge"
)

const (
	imageURL = "https://fieldmark.example/api/badge/acme"
	pageURL  = "https://fieldmark.example/brands/acme"
)

func TestSnippets(t *testing.T) {
	e := badge.EmbedOf(badge.Badge{Name: `A "b" [c] <d> *e* |`, State: badge.Ready, Score: 92_000, Grade: "A"},
		opts(t, "style=card&lang=de"), imageURL, pageURL)
	if e.Image != imageURL+"?style=card&lang=de" || e.Width < 200 || e.Height != 56 {
		t.Errorf("embed of %q, %d by %d", e.Image, e.Width, e.Height)
	}
	want := map[string]string{
		"html": `<a href="https://fieldmark.example/brands/acme"><img ` +
			`src="https://fieldmark.example/api/badge/acme?style=card&amp;lang=de" width="201" height="56" alt="A ` +
			`&#34;b&#34; [c] &lt;d&gt; *e* |: GEO-Bewertung" loading="lazy" decoding="async"></a>`,
		"picture": `<a href="https://fieldmark.example/brands/acme"><picture><source media="(prefers-color-scheme: ` +
			`dark)" srcset="https://fieldmark.example/api/badge/acme?style=card&amp;theme=dark&amp;lang=de"><img ` +
			`src="https://fieldmark.example/api/badge/acme?style=card&amp;theme=light&amp;lang=de" width="201" ` +
			`height="56" alt="A &#34;b&#34; [c] &lt;d&gt; *e* |: GEO-Bewertung" loading="lazy" decoding="async">` +
			`</picture></a>`,
		"markdown": `[![A \"b\" \[c\] \<d\> \*e\* \|: ` +
			`GEO-Bewertung](https://fieldmark.example/api/badge/acme?style=card&lang=de)]` +
			`(https://fieldmark.example/brands/acme)`,
		"rst": ".. image:: https://fieldmark.example/api/badge/acme?style=card&lang=de\n   :width: 201px\n   " +
			":height: 56px\n   :alt: A \"b\" [c] <d> \\*e\\* \\|: GEO-Bewertung\n   :target: " +
			"https://fieldmark.example/brands/acme",
		"asciidoc": `image:https://fieldmark.example/api/badge/acme?style=card&lang=de["A &quot;b&quot; &#91;c&#93; ` +
			`&lt;d&gt; &#42;e&#42; |: GEO-Bewertung",201,56,link="https://fieldmark.example/brands/acme"]`,
		"bbcode": `[url=https://fieldmark.example/brands/acme][img width=201 height=56 alt="A 'b' (c) <d> *e* |: ` +
			`GEO-Bewertung"]https://fieldmark.example/api/badge/acme?style=card&lang=de[/img][/url]`,
		"react": `<a href={"https://fieldmark.example/brands/acme"}><img ` +
			`src={"https://fieldmark.example/api/badge/acme?style=card\u0026lang=de"} width={201} height={56} ` +
			`alt={"A \"b\" [c] \u003cd\u003e *e* |: GEO-Bewertung"} loading="lazy" decoding="async" /></a>`,
	}
	if len(e.Snippets) != len(want) {
		t.Errorf("%d snippets, want %d", len(e.Snippets), len(want))
	}
	for format, text := range want {
		if s, ok := e.Snippet(format); !ok || s.Text != text {
			t.Errorf("%s:\n got %s\nwant %s", format, s.Text, text)
		}
	}
}

// The alternative text is in the language of the badge.
func TestAlt(t *testing.T) {
	for query, want := range map[string]string{
		"": "GEO readiness of Acme", "lang=en": "GEO readiness of Acme", "lang=de": "Acme: GEO-Bewertung",
		"lang=fr": "Acme\u00a0: évaluation GEO",
		"lang=ja": "Acme：GEO評価", "lang=ar": "Acme: تقييم GEO", "lang=pt-BR": "Acme: avaliação GEO",
	} {
		if e := badge.EmbedOf(badge.Badge{Name: "Acme"}, opts(t, query), imageURL, pageURL); e.Alt != want {
			t.Errorf("%s: %q, want %q", query, e.Alt, want)
		}
	}
}

// Whatever a brand is called, its snippet of HTML is one link with one picture.
func FuzzSnippets(f *testing.F) {
	for _, s := range []string{"Acme", `"><script>`, "a\nb", "]( javascript:", "\xff", "[/img]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		e := badge.EmbedOf(badge.Badge{Name: name}, badge.Options{}, imageURL, pageURL)
		for _, s := range e.Snippets {
			lines := 1
			if s.Format == "rst" {
				lines = 5
			}
			if strings.Count(s.Text, "\n") != lines-1 {
				t.Errorf("%s has %d lines: %q", s.Format, strings.Count(s.Text, "\n")+1, s.Text)
			}
			if s.Type == "text/html" {
				elements := ""
				for z := html.NewTokenizer(strings.NewReader(s.Text)); z.Next() != html.ErrorToken; {
					elements += z.Token().Data + " "
				}
				if elements != "a img a " && elements != "a picture source img picture a " {
					t.Errorf("%s of %q has the elements %s", s.Format, name, elements)
				}
			}
		}
	})
}

func TestEndpoint(t *testing.T) {
	at, score := fieldmark.At(seen), fieldmark.Milli(92_400)
	s := fieldmark.Score{Slug: "acme", Name: "Acme", Assessment: fieldmark.Assessment{Status: fieldmark.StatusScored,
		Score: &score, Grade: "A", GeoReady: true, AsOf: &at}}
	for query, want := range map[string]string{
		"": `{"schemaVersion":1,"label":"GEO-ready","message":"Grade A · 92","color":"1a7f37",` +
			`"cacheSeconds":300,"slug":"acme","name":"Acme","status":"scored","score":92.4,"range":null,"grade":"A",` +
			`"geoReady":true,"updated":"2026-11-21T08:00:00.000Z","page":"p"}`,
		"lang=de&label=Wertung": `{"schemaVersion":1,"label":"Wertung","message":"Note A · 92","color":"1a7f37",` +
			`"cacheSeconds":300,"slug":"acme","name":"Acme","status":"scored","score":92.4,"range":null,"grade":"A",` +
			`"geoReady":true,"updated":"2026-11-21T08:00:00.000Z","page":"p"}`,
	} {
		raw, err := badge.EndpointOf(&s, opts(t, query), 300, "p")
		if err != nil || strings.TrimSpace(string(raw)) != want {
			t.Errorf("%q:\n got %s, %v\nwant %s", query, raw, err, want)
		}
	}
	s = fieldmark.Score{Slug: "acme", Name: "Acme", Assessment: fieldmark.PendingAssessment()}
	raw, err := badge.EndpointOf(&s, opts(t, "lang=fr"), 300, "p")
	var e badge.Endpoint
	if err := json.Unmarshal(raw, &e); err != nil {
		t.Fatal(err)
	}
	if err != nil || e.Label != "prêt pour le GEO" || e.Message != "en attente" || e.Score != nil {
		t.Errorf("pending: %s, %v", raw, err)
	}
}

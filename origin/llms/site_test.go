package llms_test

import (
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark/origin/llms"
)

func address(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestLintVisit(t *testing.T) {
	at := address(t, "https://www.alp.example/llms.txt")
	describes := []llms.PageLink{{Rel: "describedby", URL: address(t, "https://alp.example/llms.txt")},
		{Rel: "alternate", URL: address(t, "https://alp.example/index.md"), Type: "text/markdown; charset=utf-8"}}
	home := func(language string, links ...llms.PageLink) *llms.Page {
		return &llms.Page{URL: address(t, "https://www.alp.example/"), Language: language, Links: links}
	}
	const markdown = "text/markdown; charset=utf-8"
	russian := "# Альпы\n\n> Сыр из одной долины, который зреет девять месяцев.\n\n## Сайт\n\n- " +
		"[Сыр](https://alp.example/): что мы варим\n"
	tests := []struct {
		name  string
		visit llms.Visit
		level int
		codes []string
	}{
		{"all is well", llms.Visit{Status: 200, ContentType: markdown, Body: []byte(good), Home: home("en",
			describes...)}, 4, nil},
		{"plain text is as good", llms.Visit{Status: 200, ContentType: "text/plain", Body: []byte(good)}, 4, nil},
		{"no answer", llms.Visit{Refused: "the site did not answer in time"}, 0, []string{"no-answer"}},
		{"not there", llms.Visit{Status: 404, ContentType: "text/html", Body: []byte("<html>")}, 0,
			[]string{"not-200"}},
		{"empty on purpose", llms.Visit{Status: 204}, 0, []string{"not-200"}},
		{"a page", llms.Visit{Status: 200, ContentType: "text/html", Body: []byte("<!doctype html><p>Alp"),
			Home: home("en")}, 0, []string{"media-type", "html-body"}},
		{"the same for any path", llms.Visit{Status: 200, ContentType: "text/plain", Body: []byte("Welcome!\n"),
			Missing: &llms.Page{Body: []byte("Welcome!")}}, 0, []string{"soft-404"}},
		{"a page for any path", llms.Visit{Status: 200, ContentType: "text/html", Body: []byte("<html>/llms.txt"),
			Missing: &llms.Page{Body: []byte("<html>/x.txt")}}, 0, []string{"soft-404"}},
		{"no type", llms.Visit{Status: 200, Body: []byte(good)}, 4, []string{"media-type"}},
		{"another charset", llms.Visit{Status: 200, ContentType: "text/plain; charset=iso-8859-1", Body: []byte(good)},
			4, []string{"media-type"}},
		{"a download", llms.Visit{Status: 200, ContentType: "application/octet-stream", Body: []byte(good)}, 4,
			[]string{"media-type"}},
		{"nobody points to it", llms.Visit{Status: 200, ContentType: markdown, Body: []byte(good), Home: home("en",
			llms.PageLink{Rel: "stylesheet"})}, 4, []string{"not-discoverable", "no-alternate-markdown"}},
		{"they point to another", llms.Visit{Status: 200, ContentType: markdown, Body: []byte(good), Home: home("en",
			llms.PageLink{Rel: "describedby", URL: address(t, "https://alp.example/en/llms.txt")}, describes[1])}, 4,
			[]string{"not-discoverable"}},
		{"most links lead away", llms.Visit{Status: 200, ContentType: markdown,
			Body: []byte(good + "- [A](https://a.example/): a\n- [B](https://b.example/): b\n")}, 4,
			[]string{"off-site-links"}},
		{"a shop of the site's own", llms.Visit{Status: 200, ContentType: markdown,
			Body: []byte(good + "- [A](https://shop.alp.example/): a\n- [B](/b): b\n")}, 4, []string{"relative-url"}},
		{"another script", llms.Visit{Status: 200, ContentType: markdown, Body: []byte(russian), Home: home("en-GB",
			describes...)}, 4, []string{"language-mismatch"}},
		{"the same script", llms.Visit{Status: 200, ContentType: markdown, Body: []byte(russian), Home: home("uk",
			describes...)}, 4, nil},
		{"an unknown language", llms.Visit{Status: 200, ContentType: markdown, Body: []byte(russian),
			Home: home("x-klingon!", describes...)}, 4, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.visit.URL = at
			got := llms.LintVisit(tt.visit)
			if got.Level != tt.level || got.URL != at.String() {
				t.Errorf("level %d at %s, want %d at %s", got.Level, got.URL, tt.level, at)
			}
			if diff := cmp.Diff(tt.codes, codes(got)); diff != "" {
				t.Errorf("codes (-want +got):\n%s", diff)
			}
		})
	}
}

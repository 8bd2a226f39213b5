package site_test

import (
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/edge/site"
)

// TestInternationalHosts: a host in another alphabet is readable beside its ASCII form. One
// that mixes alphabets, and so may pass for another name, is shown in ASCII alone.
func TestInternationalHosts(t *testing.T) {
	s := newSite(t)
	for address, want := range map[string]string{
		"https://xn--bcher-kva.example/":       "xn--bcher-kva.example (bücher.example)",
		"https://bücher.example/":              "xn--bcher-kva.example (bücher.example)",
		"https://xn--e1afmkfd.example/":        "xn--e1afmkfd.example (пример.example)",
		"https://xn--pple-43d.example/":        "xn--pple-43d.example (mixes alphabets)", // Cyrillic а
		"https://www.alpenglow.example/":       "",
		"https://xn--eckwd4c7c.xn--zckzah.jp/": "(ドメイン.テスト.jp)",
	} {
		score := sampleScore("Alpenglow")
		score.URL = address
		page, err := s.AppendBrand(nil, site.BrandPage{BaseURL: base, Score: score})
		if err != nil {
			t.Fatal(err)
		}
		where := textOf(string(page), `<p class="where">`)
		if want == "" && strings.Contains(where, "(") || !strings.Contains(where, want) {
			t.Errorf("%s: the page says %q, want %q", address, where, want)
		}
	}
}

// textOf returns the text of the paragraph that begins with start.
func textOf(page, start string) string {
	_, rest, _ := strings.Cut(page, start)
	rest, _, _ = strings.Cut(rest, "</p>")
	var b strings.Builder
	in := false
	for _, r := range rest {
		switch {
		case r == '<':
			in = true
		case r == '>':
			in = false
		case !in:
			b.WriteRune(r)
		}
	}
	return b.String()
}

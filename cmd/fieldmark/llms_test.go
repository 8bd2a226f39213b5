package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// TestLintAddress lints a file where a site serves it.
func TestLintAddress(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/llms.txt" || r.Host != "acme.example" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "# Acme\n\n> Hammers that last.\n")
	}))
	t.Cleanup(site.Close)
	u, err := url.Parse(site.URL)
	must(t, err)
	var out, said bytes.Buffer
	status := run(t.Context(), []string{"llms", "lint", "http://acme.example", "--connect-to",
		"acme.example:80:" + u.Host}, strings.NewReader(""), &out, &said)
	const want = `http://acme.example/llms.txt: warning: served as "text/html"; text/markdown or text/plain is expected (media-type)
http://acme.example/llms.txt: warning: the file has no links (no-link)
http://acme.example/llms.txt: level 3 of 4, a title and a summary; 0 errors, 2 warnings, 0 notes
`
	if status != 0 || out.String() != want {
		t.Errorf("status %d, %q, and\n%s\nwant 0 and\n%s", status, said.String(), out.String(), want)
	}
}

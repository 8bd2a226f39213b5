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
	const want = `http://acme.example/llms.txt: warning: served as "text/html"; text/markdown or text/plain is ` +
		`expected (media-type)
http://acme.example/llms.txt: warning: the file has no links (no-link)
http://acme.example/llms.txt: level 3 of 4, a title and a summary; 0 errors, 2 warnings, 0 notes
`
	if status != 0 || out.String() != want {
		t.Errorf("status %d, %q, and\n%s\nwant 0 and\n%s", status, said.String(), out.String(), want)
	}
}

// TestLLMsOfSite: fieldmark llms URL writes the file after an audit of the site.
func TestLLMsOfSite(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		titles := map[string]string{"/": "Welcome | Acme", "/about": "About Acme", "/login": "Log in"}
		if titles[r.URL.Path] == "" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, "<!doctype html><html lang=en><title>"+titles[r.URL.Path]+"</title>"+
			`<meta name=description content="Acme makes anvils for everyone."><main><h1>Acme</h1>`+
			`<a href=/about>About us</a> <a href=/login>Log in</a>`+strings.Repeat("<p>Anvils for everyone.", 20)+
			"</html>")
	}))
	defer site.Close()
	args := []string{"llms", site.URL, "--allow-networks", "127.0.0.0/8", "--delay", "0", "-q", "--name", "Acme"}
	status, file, why := runInProcess(t, args...)
	if status != 0 || !strings.HasPrefix(file, "# Acme\n\n> Acme makes anvils for everyone.\n") ||
		!strings.Contains(file, "- [About Acme]("+site.URL+"/about): ") || strings.Contains(file, "login") {
		t.Errorf("status %d, %s, file:\n%s", status, why, file)
	}
	if status, _, why := runInProcess(t, "llms", "http://127.0.0.1:1/", "--allow-networks", "127.0.0.0/8",
		"-q"); status != 1 ||
		!strings.Contains(why, "cannot be audited") {
		t.Errorf("a site that does not answer: status %d, %s", status, why)
	}
}

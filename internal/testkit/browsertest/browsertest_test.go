package browsertest_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/internal/testkit/browsertest"
)

const good = `<!doctype html><html lang="en"><head><title>Good</title><meta name="viewport" ` +
	`content="width=device-width"><link rel="icon" href="data:,">
<style>body{margin:0}@media(prefers-color-scheme:dark){body{background:#000;color:#fff}}@media print{body{margin:0 ` +
	`7px}}</style></head>
<body><main><h1>Good</h1><p>Nothing is wrong here.</p></main></body></html>`

const bad = `<!doctype html><html><head><title></title><meta name="viewport" content="width=device-width"><link ` +
	`rel="icon" href="data:,"></head>
<body><div style="width:900px;color:#ccc;background:#fff">wide and pale</div><img src="/missing.png"><input>
<script nonce="n">console.error("said so"); setTimeout(() => { throw new Error("thrown") });</script><script ` +
	`src="/other.js"></script></body></html>`

func serve(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "script-src 'nonce-n'; img-src 'self' data:")
		switch r.URL.Path {
		case "/good":
			_, _ = io.WriteString(w, good)
		case "/bad":
			_, _ = io.WriteString(w, bad)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestFindings checks that sound pages have no findings and that each fault is
// reported.
func TestFindings(t *testing.T) {
	b, site := browsertest.Start(t), serve(t)
	for _, v := range []browsertest.View{{}, browsertest.Phone, {Dark: true}, {NoScript: true}, {Print: true}} {
		b.Open(t, site+"/good", v).Check(t)
	}
	p := b.Open(t, site+"/bad", browsertest.Phone)
	p.Until(t, "the page has loaded", `document.readyState == "complete"`)
	said := strings.Join(append(append(p.Trouble(), p.Overflow(t)...), p.Axe(t)...), "\n")
	for _, want := range []string{"said so", "thrown", "Content Security Policy", "missing.png", "scrolls sideways",
		"ends at 908 of 360", "(color-contrast)", "(image-alt)", "(label)", "(html-has-lang)", "(document-title)"} {
		if !strings.Contains(said, want) {
			t.Errorf("nothing is said of %q; said is:\n%s", want, said)
		}
	}
	if got := p.Bytes(); got < len(bad) || got > len(bad)+2000 {
		t.Errorf("%d bytes over the wire, want a little more than %d", got, len(bad))
	}
}

// TestViews checks that media queries in the page match the view.
func TestViews(t *testing.T) {
	b, site := browsertest.Start(t), serve(t)
	for _, c := range []struct {
		view browsertest.View
		ask  string
	}{
		{browsertest.View{}, "innerWidth == 1280 && !matchMedia('(prefers-color-scheme: dark)').matches"},
		{browsertest.Phone, "innerWidth == 360"},
		{browsertest.View{Dark: true}, "matchMedia('(prefers-color-scheme: dark)').matches"},
		{browsertest.View{Print: true}, "matchMedia('print').matches"},
	} {
		var is bool
		if b.Open(t, site+"/good", c.view).Eval(t, c.ask, &is); !is {
			t.Errorf("%+v: %s is not so", c.view, c.ask)
		}
	}
	looked := b.Open(t, site+"/good", browsertest.Phone)
	looked.Look(t, browsertest.View{Width: 1000, Dark: true})
	looked.Until(t, "the page is reloaded", "innerWidth == 1000 && matchMedia('(prefers-color-scheme: dark)').matches")
	p := b.Open(t, site+"/bad", browsertest.View{NoScript: true})
	if said := strings.Join(p.Trouble(), "\n"); strings.Contains(said, "said so") {
		t.Errorf("without scripts one has run: %s", said)
	}
}

package edge_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/api"
)

const (
	aBrand = `{"name":"Acme","niche":"Tools","description":"Acme makes hammers that last a lifetime.",` +
		`"url":"https://acme.example/"}`
	asJSON = "application/json"
)

// follows waits until the node has the origin's version, before which
// it keeps nothing.
func (h *fixture) follows() {
	h.t.Helper()
	h.until("the edition is known", func() bool {
		return h.write(`{"name":"B","niche":"b","description":"Something for the first request."}`).header.Get(
			"Cache-Status") == "fieldmark; hit"
	})
}

// write posts to the generator.
func (h *fixture) write(body string, header ...string) answer {
	h.t.Helper()
	return h.do("POST", fieldmark.PathLLMs, body, append([]string{"Content-Type", asJSON}, header...)...)
}

func TestLLMsRepeatsNeedNoOrigin(t *testing.T) {
	h := newFixture(t)
	h.follows()
	forms := [][]string{{}, {"Accept", "text/markdown"}, {"Accept", "text/plain"},
		{"Accept", "text/plain;q=0.5, text/markdown"}}
	var first []answer
	for _, accept := range forms {
		a := h.write(aBrand, accept...)
		sum := sha256.Sum256([]byte(a.body))
		if a.status != http.StatusOK || a.header.Get("Etag") != `"`+hex.EncodeToString(sum[:])+`"` ||
			a.header.Get("Cache-Status") != "fieldmark; fwd=miss; stored" {
			t.Fatalf("%v: %d, ETag %s, %s: %s", accept, a.status, a.header.Get("Etag"), a.header.Get("Cache-Status"),
				a.body)
		}
		first = append(first, a)
	}
	h.down.Store(true)
	before := h.asked.Load()
	for i, accept := range forms {
		spaced := strings.ReplaceAll(aBrand, `,"`, ",\n\t \"")
		for _, body := range []string{aBrand, spaced} {
			a := h.write(body, accept...)
			if a.status != http.StatusOK || a.body != first[i].body ||
				a.header.Get("Cache-Status") != "fieldmark; hit" {
				t.Errorf("repeat %v of %q: %d %s: %s", accept, body, a.status, a.header.Get("Cache-Status"), a.body)
			}
			for _, name := range []string{"Content-Type", "Content-Language", "Content-Disposition", "Vary",
				"Cache-Control", "Llms-Txt-Warnings", "X-Content-Type-Options", "Etag"} {
				if got, want := a.header.Get(name), first[i].header.Get(name); got != want {
					t.Errorf("repeat %v: %s = %q, want %q", accept, name, got, want)
				}
			}
			again := h.write(body, append([]string{"If-None-Match", a.header.Get("Etag")}, accept...)...)
			if again.status != http.StatusNotModified || again.body != "" ||
				again.header.Get("Etag") != a.header.Get("Etag") {
				t.Errorf("repeat %v with If-None-Match: %d %q, want 304 with the tag and no body", accept, again.status,
					again.body)
			}
		}
	}
	if got := h.asked.Load(); got != before {
		t.Errorf("the origin was asked %d times for repeats", got-before)
	}
	// Other requests have other responses, which are not available now.
	for name, a := range map[string]answer{
		"another text":   h.write(strings.Replace(aBrand, "Acme", "Bcme", 1)),
		"twice the name": h.write(strings.Replace(aBrand, "{", `{"name":"Acme",`, 1)),
		"another form":   h.write(aBrand, "Accept", "text/html"),
		"another type":   h.do("POST", fieldmark.PathLLMs, aBrand, "Content-Type", "text/plain"),
		"a query":        h.do("POST", fieldmark.PathLLMs+"?a=b", aBrand, "Content-Type", asJSON),
		"a coding":       h.write(aBrand, "Content-Encoding", "gzip"),
	} {
		if a.status != http.StatusServiceUnavailable {
			t.Errorf("%s: %d %s, want 503", name, a.status, a.body)
		}
	}
}

func TestLLMsKeepsOnlyAnswers(t *testing.T) {
	h := newFixture(t)
	short := strings.Replace(aBrand, " makes hammers that last a lifetime.", "", 1)
	a := h.write(short)
	h.wantProblem(a, 422, fieldmark.CodeValidationFailed)
	other := h.write(short, "X-Request-Id", "req-mine-0001")
	h.wantProblem(other, 422, fieldmark.CodeValidationFailed)
	if got := other.header.Get("X-Request-Id"); got != "req-mine-0001" || other.header.Get("Vary") != "Accept" {
		t.Errorf("shared problem: request id %q, Vary %q", got, other.header.Get("Vary"))
	}
	h.wantProblem(h.write(aBrand, "Accept", "text/html"), 406, fieldmark.CodeNotAcceptable)
	h.wantProblem(h.do("GET", fieldmark.PathLLMs, ""), 405, fieldmark.CodeMethodNotAllowed)
	h.wantProblem(h.write(`{"name":"`+strings.Repeat("x", fieldmark.MaxBody)+`"}`), 413, fieldmark.CodeBodyTooLarge)
	for _, a := range []answer{a, h.write(aBrand), h.write(aBrand),
		h.do("POST", fieldmark.PathLLMsLint, `{"content":"# A"}`, "Content-Type", asJSON)} {
		if got := a.header.Get(fieldmark.HeaderEdition); got != "" {
			t.Errorf("the client sees the edition %q", got)
		}
	}
}

// TestLLMsPoison: nothing outside the key reaches the origin, so that a client cannot
// change the responses of others.
func TestLLMsPoison(t *testing.T) {
	h := newFixture(t)
	a := h.write(aBrand, "If-None-Match", "*", "Cookie", "a=b", "X-Forwarded-Host", "evil.example", "Range",
		"bytes=0-3", "Accept-Language", "xx", "Host", "evil.example")
	if a.status != http.StatusNotModified {
		t.Errorf("If-None-Match: * = %d, want 304", a.status)
	}
	b := h.write(aBrand)
	if b.status != http.StatusOK || !strings.Contains(b.body, "# Acme") {
		t.Errorf("after it: %d %s", b.status, b.body)
	}
}

func TestLLMsConcurrent(t *testing.T) {
	h := newFixture(t)
	h.follows()
	before := h.asked.Load()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if a := h.write(strings.Replace(aBrand, "Acme", "Many", 1)); a.status != http.StatusOK ||
				!strings.Contains(a.body, "# Many") {
				t.Errorf("%d %s", a.status, a.body)
			}
		})
	}
	wg.Wait()
	if n := h.asked.Load() - before; n != 1 {
		t.Errorf("20 equal requests asked the origin %d times, want once", n)
	}
}

// TestLLMsEdition: after the origin is replaced by another version, the edge no longer
// serves the old responses, even before a request to the origin.
func TestLLMsEdition(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	var programs []http.Handler
	for _, version := range []string{"old", "new"} {
		p, err := api.New(api.Config{Service: h.service, NodeToken: nodeToken, Version: version})
		must(t, err)
		programs = append(programs, p)
	}
	var running atomic.Int32
	h.origin = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := running.Load(); n >= 0 {
			programs[n].ServeHTTP(w, r)
			return
		}
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(h.origin.Close)
	h.startEdge()
	status := func() string { return h.write(aBrand).header.Get("Cache-Status") }
	h.until("the answer is kept", func() bool { return status() == "fieldmark; hit" })
	running.Store(-1)
	h.origin.CloseClientConnections()
	if got := status(); got != "fieldmark; hit" {
		t.Errorf("while the origin restarts: %s, want a hit", got)
	}
	running.Store(1)
	h.until("the new program is asked", func() bool { return strings.HasPrefix(status(), "fieldmark; fwd=miss") })
	h.until("its answer is kept", func() bool { return status() == "fieldmark; hit" })
}

// TestLLMsLargeAnswer: an answer that is too large to be kept is not held in memory
// after it was sent either.
func TestLLMsLargeAnswer(t *testing.T) {
	h := newFixture(t)
	h.follows()
	var asked atomic.Int64
	padded := interceptor(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != fieldmark.PathLLMs {
			return false
		}
		asked.Add(1)
		rec := httptest.NewRecorder()
		h.handler.ServeHTTP(rec, r)
		maps.Copy(w.Header(), rec.Header())
		w.Header().Del("Content-Length")
		fmt.Fprint(w, rec.Body, strings.Repeat(" ", 400<<10))
		return true
	})
	h.intercept.Store(&padded)
	for range 2 {
		if a := h.write(strings.Replace(aBrand, "Acme", "Large", 1)); a.status != http.StatusOK ||
			len(a.body) < 400<<10 {
			t.Errorf("%d with %d bytes, want the whole answer", a.status, len(a.body))
		}
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("the origin was asked %d times by 2 requests, want each", n)
	}
}

func TestLintKeepsWhatWasSent(t *testing.T) {
	h := newFixture(t)
	h.follows()
	lint := func() answer {
		return h.do("POST", fieldmark.PathLLMsLint, "# Acme\n", "Content-Type", "text/markdown")
	}
	first := lint()
	h.down.Store(true)
	if a := lint(); a.status != http.StatusOK || a.body != first.body || !strings.Contains(a.body, `"no-summary"`) {
		t.Errorf("repeat: %d %s, want %s", a.status, a.body, first.body)
	}
}

// TestLLMsOfAuditedSite: the form needs the address alone, the user keeps or drops
// pages, and no file outlives an audit.
func TestLLMsOfAuditedSite(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.follows()
	h.brand("acme", "Acme", -1)
	audited := func(titles ...string) {
		t.Helper()
		facts := factsWith(300)
		facts.URL, facts.Sample = "https://acme.example/", &fieldmark.Sample{Population: 3,
			Pages: []fieldmark.SampledPage{
				{URL: "https://acme.example/", Role: fieldmark.PageHome, Status: 200, Title: "Acme",
					Description: "Acme makes hammers that last a lifetime."}}}
		for i, title := range titles {
			facts.Sample.Pages = append(facts.Sample.Pages, fieldmark.SampledPage{
				URL: fmt.Sprintf("https://acme.example/%d", i), Role: fieldmark.PageDrawn, Status: 200,
				Title: title, Description: "All about it."})
		}
		_, err := h.service.Brands.PutFacts(t.Context(), "acme", facts)
		must(t, err)
	}
	const onlyURL = `{"url":"https://acme.example/"}`
	for _, title := range []string{"Hammers", "Anvils"} {
		audited(title, "Tongs")
		for range 2 {
			if a := h.write(onlyURL); a.status != 200 || !strings.Contains(a.body, title) {
				t.Errorf("after the audit with %s: %d %s", title, a.status, a.body)
			}
		}
	}
	post := func(form string) answer {
		t.Helper()
		return h.do("POST", "/llms-txt", form, "Content-Type", "application/x-www-form-urlencoded")
	}
	const form, home, first, second = "do=write&url=https%3A%2F%2Facme.example", "&page=https%3A%2F%2Facme.example%2F",
		"&page=https%3A%2F%2Facme.example%2F0", "&page=https%3A%2F%2Facme.example%2F1"
	for _, tt := range []struct {
		form         string
		anvils, tong bool
	}{
		{form, true, true}, {form + "&chosen=1" + home + second, false, true}, {form + "&chosen=1", false, false},
		{form + "&chosen=1&page=https%3A%2F%2Fevil.example%2F" + first, true, false},
	} {
		a := post(tt.form)
		file := a.body[max(0, strings.LastIndex(a.body, `data-copy="llms.txt"`)):]
		file, _, _ = strings.Cut(file, "</pre>")
		if a.status != 200 || strings.Contains(file, "Anvils") != tt.anvils ||
			strings.Contains(file, "Tongs") != tt.tong ||
			strings.Contains(a.body, "evil") || strings.Count(a.body, `type="checkbox"`) != 3 {
			t.Errorf("%s: %d, file %s", tt.form, a.status, file)
		}
	}
	if a := post("do=write&url=https%3A%2F%2Fother.example"); a.status != 422 ||
		!strings.Contains(a.body, `id="url-fault"`) {
		t.Errorf("a site without an audit: %d", a.status)
	}
}

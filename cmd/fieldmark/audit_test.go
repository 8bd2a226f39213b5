package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/author"
	"github.com/fieldmark/fieldmark/cmd/fieldmark/demo"
	"github.com/fieldmark/fieldmark/internal/testkit/porttest"
)

// runInProcess runs a command in this process.
func runInProcess(t *testing.T, args ...string) (status int, out, errOut string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status = run(t.Context(), args, strings.NewReader(""), &stdout, &stderr)
	return status, stdout.String(), stderr.String()
}

// TestAuditStatus checks the exit statuses of fieldmark audit, which pipelines rely on.
func TestAuditStatus(t *testing.T) {
	t.Parallel()
	asked := 0
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, "<!doctype html><html lang=en><title>Acme | *anvils* @all</title><main><h1>Acme</h1>"+
			strings.Repeat("<p>Anvils for everyone.", 20)+"</html>")
	}))
	defer site.Close()
	audit := func(args ...string) (int, string, string) {
		return runInProcess(t,
			append([]string{"audit", site.URL + "/", "--allow-networks", "127.0.0.0/8", "--delay", "0", "-q"},
				args...)...)
	}
	status, report, _ := audit("--fail-under", "5")
	if status != 0 || !strings.Contains(report, "What to improve first") || !strings.Contains(report, "\n 10. ") ||
		strings.Contains(report, "\n 11. ") {
		t.Errorf("a good enough score: status %d, report:\n%s", status, report)
	}
	if status, _, why := audit("--fail-under", "99.5"); status != 3 || !strings.Contains(why, "is below 99.5") {
		t.Errorf("a score that is too low: status %d, %q", status, why)
	}
	status, doc, _ := audit("--json", "--fail-under", "99")
	var got author.AuditDocument
	if err := json.Unmarshal([]byte(doc), &got); status != 3 || err != nil || got.Assessment.Score == nil {
		t.Errorf("--json: status %d, %v", status, err)
	}
	status, md, _ := audit("--md", "--name", "Acme")
	if status != 0 || !strings.HasPrefix(md, "# http") || !strings.Contains(md,
		`Acme \| \*anvils\* @`+"\u200b"+"all") || !strings.Contains(md, "| worth | signal | advice |") {
		t.Errorf("--md: status %d:\n%s", status, md)
	}
	if !strings.Contains(report, "sample: all 1 known pages were requested, 1 were read") {
		t.Errorf("the report does not say which pages were read:\n%s", report)
	}
	asked = 0
	if status, _, why := audit("--requests", "5"); status != 0 || asked > 5 {
		t.Errorf("--requests 5: status %d, %d requests: %s", status, asked, why)
	}
	for _, tt := range []struct {
		args   []string
		status int
	}{
		{[]string{"--fail-under", "101"}, 2}, {[]string{"--fail-under", "many"}, 2}, {[]string{"--json", "--md"}, 2},
		{[]string{"--requests", "1"}, 2}, {[]string{"--connect-to", "x"}, 2}, {[]string{"--seed", "x"}, 2},
	} {
		if status, _, why := audit(tt.args...); status != tt.status {
			t.Errorf("%v: status %d, want %d: %s", tt.args, status, tt.status, why)
		}
	}
	if status, _, why := runInProcess(t, "audit", "http://"+porttest.Address(t), "--allow-networks", "127.0.0.0/8",
		"-q", "--fail-under", "1"); status != 1 || !strings.Contains(why, "cannot be audited") {
		t.Errorf("a site that is down: status %d, %q", status, why)
	}
}

// The report of an audit quotes what it suspects, and says how it is hidden.
func TestAuditSuspicion(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, "<!doctype html><html lang=en><title>Acme</title><style>.k{color:#fff}</style><main>"+
			"<h1>Acme</h1><p>Anvils for everyone.<p class=k>"+strings.Repeat("best anvils in town, ", 8)+"</html>")
	}))
	defer site.Close()
	const want = `suspected manipulation: "best anvils in town`
	const how = `"in white text on a white background (.k)", rule keyword_stuffing; this score is not affected`
	status, report, _ := runInProcess(t, "audit", site.URL+"/", "--allow-networks", "127.0.0.0/8", "--delay", "0", "-q")
	if status != 0 || !strings.Contains(report, want) || !strings.Contains(report, how) {
		t.Errorf("status %d, want %s … %s in the report:\n%s", status, want, how, report)
	}
}

// Every report of a site with a drawn sample shows the seed, and the seed repeats the audit.
func TestAuditSeed(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if r.URL.Path == "/robots.txt" || r.URL.Path == "/llms.txt" || r.URL.Path == "/sitemap.xml" {
			http.NotFound(w, r)
			return
		}
		io.WriteString(w, "<!doctype html><html lang=en><title>Acme"+r.URL.Path+"</title><main><h1>Acme</h1>")
		for i := range 60 {
			fmt.Fprintf(w, "<a href=/p%d>%d</a> ", i, i)
		}
	}))
	defer site.Close()
	audit := func(args ...string) string {
		status, out, why := runInProcess(t, append([]string{"audit", site.URL + "/", "--allow-networks", "127.0.0.0/8",
			"--delay", "0", "-q"}, args...)...)
		if status != 0 {
			t.Fatalf("%v: status %d, %s", args, status, why)
		}
		return out
	}
	// facts returns the facts of an audit and their digest, as if its pages had responded at once.
	facts := func(args ...string) (fieldmark.Facts, fieldmark.Digest) {
		var doc author.AuditDocument
		must(t, json.Unmarshal([]byte(audit(append(args, "--json")...)), &doc))
		digest, err := doc.Facts.Digest()
		if err != nil || digest != doc.Assessment.FactsDigest {
			t.Errorf("the digest of the facts is %s (%v), the assessment has %s", digest, err,
				doc.Assessment.FactsDigest)
		}
		for i := range doc.Facts.Facts {
			if f := &doc.Facts.Facts[i]; f.ID == "response.ttfb" {
				f.Value, f.Evidence = 0, nil
			}
		}
		digest, err = doc.Facts.Digest()
		must(t, err)
		return doc.Facts, digest
	}
	first, digest := facts()
	seed := first.Sample.Seed
	if _, second := facts("--seed", seed); seed == "" || digest != second {
		t.Errorf("seed %q: digests %s and %s, want the same", seed, digest, second)
	}
	want := "18 of 61 known pages were read; --seed " + seed + " reads the same pages"
	for _, form := range []string{"-q", "--md"} {
		if out := audit("--seed", seed, form); !strings.Contains(strings.ReplaceAll(out, "\\", ""), want) {
			t.Errorf("%s: no %q in:\n%s", form, want, out)
		}
	}
}

// A report without a score states the reason: robots.txt forbids this crawler, or the
// site does not respond.
func TestAuditUnread(t *testing.T) {
	t.Parallel()
	const page = "<!doctype html><title>Acme</title><main>Anvils</main>"
	for _, tt := range []struct {
		robots string
		status int
		page   string
		want   []string
	}{
		{"User-agent: FieldmarkBot\nDisallow: /", 200, page,
			[]string{"No score: insufficient_data", "robots.txt does not allow this crawler",
				"/ disallowed for FieldmarkBot: line 2: Disallow: /"}},
		{"", 500, page, []string{"No score: insufficient_data",
			"robots.txt returned 500, so crawlers may not fetch anything: make it return 200 with rules, or 404 if " +
				"there are none", "or it does not respond."}},
		{"", 429, page, []string{"robots.txt returned 429, so crawlers may not fetch anything: make it return"}},
		{"", 404, "", []string{"No score: insufficient_data", "the page could not be read: the body is empty"}},
	} {
		site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			if r.URL.Path == "/robots.txt" {
				w.Header().Set("Content-Type", "text/plain")
				w.WriteHeader(tt.status)
				io.WriteString(w, tt.robots)
				return
			}
			io.WriteString(w, tt.page)
		}))
		for _, form := range []string{"--md", "-q"} {
			status, out, why := runInProcess(t, "audit", site.URL+"/", "--allow-networks", "127.0.0.0/8", "--delay",
				"0", "-q", form)
			for _, want := range tt.want {
				if plain := strings.ReplaceAll(out, "\\", ""); status != 0 || !strings.Contains(plain, want) {
					t.Errorf("robots.txt %d %q, %s: status %d %s, want %q in:\n%s", tt.status, tt.robots, form, status,
						why, want, out)
				}
			}
		}
		site.Close()
	}
}

// --connect-to permits the address it names and nothing else on this machine.
func TestAuditConnectTo(t *testing.T) {
	t.Parallel()
	asked := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer other.Close()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.Redirect(w, r, other.URL, http.StatusFound)
			return
		}
		http.NotFound(w, r)
	}))
	defer site.Close()
	to := "brand.example:80:" + strings.TrimPrefix(site.URL, "http://")
	status, _, why := runInProcess(t, "audit", "http://brand.example/", "--connect-to", to, "--delay", "0", "-q")
	if status != 1 || !strings.Contains(why, "address not allowed") || asked != 0 {
		t.Errorf("a redirect to another service here: status %d, %q, %d requests to it; want 1, address not allowed, 0",
			status, why, asked)
	}
	if status, out, why := runInProcess(t, "llms", "lint", "http://brand.example/llms.txt", "--connect-to",
		to); status != 1 || !strings.Contains(out+why, "404") {
		t.Errorf("lint through --connect-to: status %d, %q %q", status, out, why)
	}
}

// demoVerify recomputes the scores of a running demo, and checks that an edge with
// altered scores is detected.
func demoVerify(t *testing.T, facts demo.Access, board fieldmark.Board) {
	t.Helper()
	for _, it := range board.Items[:2] {
		status, out, why := runInProcess(t, "score", "verify", string(it.Slug), "--url", facts.BaseURL)
		if status != 0 || !strings.Contains(out, "recomputed, the same") || strings.Count(out, "verified") != 4 ||
			!strings.Contains(out, "visibility recomputed") {
			t.Errorf("verify %s: status %d, %s%s", it.Slug, status, out, why)
		}
	}
	slug := string(board.Items[0].Slug)
	status, out, _ := runInProcess(t, "score", "show", slug, "--url", facts.BaseURL)
	for _, want := range []string{"grade " + string(board.Items[0].Grade) + " by the lower end", "eligible: ",
		"- fetch: ", "range: draw of pages ", "sample: "} {
		if status != 0 || !strings.Contains(out, want) {
			t.Errorf("show %s: status %d, no %q in %s", slug, status, want, out)
		}
	}
	for _, bent := range []struct{ path, old, new string }{
		{fieldmark.PathScore + slug, `"points":2`, `"points":3`},
		{fieldmark.PathScore + slug + "/facts/", `"value":`, `"value":1`},
		{fieldmark.PathModules, "\x00asm", "\x00bsm"},
		{fieldmark.PathStudies, `"provider":"demo`, `"provider":"memo`},
		{fieldmark.PathScore + slug, `"mentionRate":{"value":`, `"mentionRate":{"value":1`},
		{fieldmark.PathScore + slug, `"group":`, `"group":1`},
	} {
		edge := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			status, head, body := ask(t, r.Method, facts.BaseURL+r.URL.Path, "")
			w.Header().Set("Age", head.Get("Age"))
			if r.URL.Path == bent.path || strings.HasSuffix(bent.path, "/") &&
				strings.HasPrefix(r.URL.Path, bent.path) {
				body = strings.Replace(body, bent.old, bent.new, 1)
			}
			w.WriteHeader(status)
			io.WriteString(w, body)
		}))
		status, out, why := runInProcess(t, "score", "verify", slug, "--url", edge.URL)
		edge.Close()
		if status != 3 {
			t.Errorf("an edge that bends %s: status %d, want 3: %s%s", bent.path, status, out, why)
		}
	}
	if status, _, why := runInProcess(t, "score", "verify", "nobody", "--url", facts.BaseURL); status != 1 {
		t.Errorf("nobody: status %d %s", status, why)
	}
}

// TestAuditPrevious: --previous limits the date of a page whose text has not changed.
func TestAuditPrevious(t *testing.T) {
	t.Parallel()
	const oneDay = 24 * time.Hour
	day := time.Now().UTC().Truncate(oneDay)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, `<!doctype html><html lang=en><title>Acme</title><main><h1>Acme</h1><time datetime=%s>`+
			`today</time></main>`, day.Format(time.DateOnly))
	}))
	defer site.Close()
	audit := func(args ...string) (int, string, string) {
		return runInProcess(t,
			append([]string{"audit", site.URL + "/", "--allow-networks", "127.0.0.0/8", "--delay", "0",
				"-q", "--json"}, args...)...)
	}
	// ageOf returns the age on that day, also if the audit was after midnight.
	ageOf := func(doc author.AuditDocument) string {
		f, _ := doc.Facts.Find("fresh.age")
		days := int64(doc.Facts.AsOf.Std().UTC().Truncate(oneDay).Sub(day) / oneDay)
		return fieldmark.Milli(f.Value - 1000*days).String()
	}
	var doc author.AuditDocument
	if status, out, why := audit(); status != 0 || json.Unmarshal([]byte(out), &doc) != nil || ageOf(doc) != "0" {
		t.Fatalf("status %d, %s, age %s; want an audit of a page of today", status, why, ageOf(doc))
	}
	doc.Facts.Sample.Pages[0].Since = day.AddDate(0, 0, -30).Format(time.DateOnly)
	body, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "last.json")
	if err := os.WriteFile(file, body, 0o600); err != nil {
		t.Fatal(err)
	}
	if status, out, why := audit("--previous", file); status != 0 || json.Unmarshal([]byte(out), &doc) != nil ||
		ageOf(doc) != "30" {
		t.Errorf("with the facts of 30 days ago: status %d, %s, age %s; want 30", status, why, ageOf(doc))
	}
	for name, content := range map[string]string{"not JSON": "x", "another document": `{"facts":{"version":"x"}}`} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if status, _, why := audit("--previous", file); status != 2 || !strings.Contains(why, "--previous") {
			t.Errorf("%s: status %d, %q; want 2 and the flag named", name, status, why)
		}
	}
}

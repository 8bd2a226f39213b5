package probe_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/porttest"
	"github.com/fieldmark/fieldmark/origin/llms"
	"github.com/fieldmark/fieldmark/origin/llms/probe"
	"github.com/fieldmark/fieldmark/origin/safehttp"
)

const good = "# Alp\n\n> Cheese from one valley.\n\n## Pages\n\n- [Shop](/shop): what we sell\n"

// answer is the response of a site for one path.
type answer struct {
	status int // 0: 200
	header string
	body   string
}

// site serves responses from a table and stores the path and time of each request.
type site struct {
	*httptest.Server

	mu    sync.Mutex
	asked []string
	when  []time.Time
}

func newSite(t *testing.T, answers map[string]answer) *site {
	t.Helper()
	s := &site{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked, s.when = append(s.asked, r.URL.Path), append(s.when, time.Now())
		s.mu.Unlock()
		if !strings.HasPrefix(r.UserAgent(), probe.Token+"/") {
			t.Errorf("%s asked for by %q", r.URL.Path, r.UserAgent())
		}
		a, ok := answers[r.URL.Path]
		if a2, any := answers["*"]; !ok && any {
			a, ok = a2, true
		}
		if !ok {
			a = answer{status: 404, header: "Content-Type: text/html", body: "<html>gone"}
		}
		for line := range strings.SplitSeq(a.header, "\n") {
			if name, value, ok := strings.Cut(line, ": "); ok {
				w.Header().Add(name, value)
			}
		}
		w.WriteHeader(max(a.status, 200))
		_, _ = io.WriteString(w, a.body)
	}))
	t.Cleanup(s.Close)
	return s
}

func newProber(t *testing.T, delay time.Duration) *probe.Prober {
	t.Helper()
	client := safehttp.New(safehttp.Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	t.Cleanup(client.CloseIdle)
	p, err := probe.New(probe.Config{HTTP: client, Delay: delay})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func codes(r llms.Report) string {
	var all []string
	for _, i := range r.Issues {
		all = append(all, i.Code)
	}
	return strings.Join(all, " ")
}

func packed(s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, s)
	_ = z.Close()
	return b.String()
}

func TestProbe(t *testing.T) {
	markdown := answer{header: "Content-Type: text/markdown", body: good}
	const linked = `<!doctype html><html lang="en"><head><link rel="describedby" href="llms.txt"><link ` +
		`rel=alternate type=text/markdown href=/index.md></head><body>`
	tests := []struct {
		name    string
		path    string
		answers map[string]answer
		level   int
		codes   string
		asked   []string
	}{
		{"a site", "", map[string]answer{"/llms.txt": markdown, "/": {body: linked}}, 4, "relative-url",
			[]string{"/robots.txt", "/llms.txt", "/"}},
		{"the file", "/llms.txt", map[string]answer{"/llms.txt": markdown, "/": {body: linked}}, 4, "relative-url",
			[]string{"/robots.txt", "/llms.txt", "/"}},
		{"a page", "/en/about.html", map[string]answer{"/en/llms.txt": markdown, "/en/": {body: linked}}, 4,
			"relative-url", []string{"/robots.txt", "/en/llms.txt", "/en/"}},
		{"a folder", "/en", map[string]answer{"/en/llms.txt": markdown}, 4, "relative-url", []string{"/robots.txt",
			"/en/llms.txt", "/en/"}},
		{"links in the head of the answer", "", map[string]answer{"/llms.txt": markdown,
			"/": {header: "Link: </style.css>; rel=preload; as=style, </llms.txt>; rel=\"describedby\"\nLink: " +
				"</i.md>; type=\"text/markdown\"; rel=\"alternate\"", body: "<html>"}}, 4, "relative-url", nil},
		{"nothing points there", "", map[string]answer{"/llms.txt": markdown,
			"/": {body: "<html><body><link rel=describedby href=/llms.txt>"}}, 4,
			"not-discoverable no-alternate-markdown relative-url", nil},
		{"another base", "", map[string]answer{"/llms.txt": markdown, "/": {body: `<base href="/en/">` + linked}}, 4,
			"not-discoverable relative-url", nil},
		{"no file", "", nil, 0, "not-200", []string{"/robots.txt", "/llms.txt"}},
		{"one page for all", "", map[string]answer{"*": {header: "Content-Type: text/html", body: "<html>Welcome"}}, 0,
			"soft-404", nil},
		{"packed", "", map[string]answer{"/llms.txt": {header: "Content-Type: text/plain\nContent-Encoding: gzip",
			body: packed(good)}}, 4, "relative-url", nil},
		{"packed otherwise", "",
			map[string]answer{"/llms.txt": {header: "Content-Type: text/plain\nContent-Encoding: br", body: good}}, 0,
			"no-answer", nil},
		{"a bomb", "", map[string]answer{"/llms.txt": {header: "Content-Type: text/plain\nContent-Encoding: gzip",
			body: packed(good + strings.Repeat("cheese ", 4<<20))}}, 4, "truncated too-large relative-url", nil},
		{"moved", "", map[string]answer{"/llms.txt": {status: 301, header: "Location: /docs/llms.txt"},
			"/docs/llms.txt": markdown}, 4, "relative-url", []string{"/robots.txt", "/llms.txt", "/docs/llms.txt",
			"/docs/"}},
		{"moved in a circle", "", map[string]answer{"/llms.txt": {status: 302, header: "Location: /llms.txt"}}, 0,
			"no-answer", nil},
		{"kept away", "", map[string]answer{"/robots.txt": {body: "User-agent: " + probe.Token + "\nDisallow: /\n"},
			"/llms.txt": markdown}, 0, "no-answer", []string{"/robots.txt"}},
		{"truncated", "", map[string]answer{"/llms.txt": {header: "Content-Type: text/markdown\nContent-Length: 4000",
			body: good}}, 0, "no-answer", []string{"/robots.txt", "/llms.txt"}},
		{"damaged gzip", "", map[string]answer{"/llms.txt": {header: "Content-Type: text/plain\nContent-Encoding: gzip",
			body: packed(good)[:len(packed(good))-6]}}, 0, "no-answer", nil},
		{"truncated page", "", map[string]answer{"/llms.txt": markdown, "/": {header: "Content-Length: 4000",
			body: linked}}, 4, "relative-url", nil},
		{"truncated robots.txt", "", map[string]answer{"/robots.txt": {header: "Content-Length: 4000",
			body: "User-agent: *\nDisallow: /\n"}, "/llms.txt": markdown}, 0, "no-answer", []string{"/robots.txt"}},
		{"truncated error page", "", map[string]answer{"/llms.txt": {status: 500, header: "Content-Length: 4000",
			body: "<html>"}}, 0, "not-200", nil},
		{"others are kept away", "", map[string]answer{"/robots.txt": {body: "User-agent: GPTBot\nDisallow: /\n"},
			"/llms.txt": markdown}, 4, "relative-url", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, tt.answers)
			got, err := newProber(t, -1).Lint(t.Context(), s.URL+tt.path)
			if err != nil {
				t.Fatalf("Lint: %v", err)
			}
			if got.Level != tt.level || codes(got) != tt.codes {
				t.Errorf("level %d with %q, want %d with %q: %+v", got.Level, codes(got), tt.level, tt.codes, got)
			}
			if tt.asked != nil {
				if diff := cmp.Diff(tt.asked, s.asked); diff != "" {
					t.Errorf("asked (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestProbeUnreachable(t *testing.T) {
	site := "http://" + porttest.Address(t)
	got, err := newProber(t, -1).Lint(t.Context(), site)
	if err != nil || codes(got) != "no-answer" || strings.Contains(fmt.Sprint(got), "127.0.0.1:") &&
		!strings.HasPrefix(got.URL, site) {
		t.Errorf("Lint of a closed site: %+v, %v; want no-answer without our network in it", got, err)
	}
}

func TestProbeRejects(t *testing.T) {
	inward := newSite(t, nil)
	outward := newSite(t, map[string]answer{"/llms.txt": {status: 302, header: "Location: " +
		strings.Replace(inward.URL, "127.0.0.1", "localhost", 1) + "/llms.txt"}})
	p := newProber(t, -1)
	guarded, err := probe.New(probe.Config{HTTP: safehttp.New(safehttp.Config{})})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		prober *probe.Prober
		url    string
	}{
		{"no scheme", p, "alp.example"},
		{"another scheme", p, "ftp://alp.example/"},
		{"no host", p, "https:///x"},
		{"a user name", p, "https://a:b@alp.example/"},
		{"too long", p, "https://alp.example/" + strings.Repeat("a", 3000)},
		{"inward", guarded, inward.URL},
		{"inward by another spelling", guarded, "http://2130706433/"},
		{"the cloud's own", guarded, "http://169.254.169.254/latest"},
	} {
		if _, err := tt.prober.Lint(t.Context(), tt.url); !fieldmark.IsCode(err, fieldmark.CodeInvalidParameter) {
			t.Errorf("%s: %v, want %s", tt.name, err, fieldmark.CodeInvalidParameter)
		}
	}
	// The target of a redirect is checked like the first address: here both are allowed.
	if got, err := p.Lint(t.Context(), outward.URL); err != nil || codes(got) != "not-200" {
		t.Errorf("redirect within an open network: %q, %v", codes(got), err)
	}
	if len(inward.asked) == 0 {
		t.Error("the redirect was not followed")
	}
}

// TestProbeRateLimit: all callers share the rate limit of a host. A caller that would wait
// too long gets an error.
func TestProbeRateLimit(t *testing.T) {
	const delay = 40 * time.Millisecond
	s := newSite(t, map[string]answer{"/llms.txt": {header: "Content-Type: text/plain", body: good}})
	p := newProber(t, delay)
	began := time.Now() // not the arrival of the first request, which may be late
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if _, err := p.Lint(t.Context(), s.URL); err != nil {
				t.Errorf("Lint: %v", err)
			}
		})
	}
	wg.Wait()
	if len(s.when) != 9 {
		t.Fatalf("%d requests for three probes, want 9", len(s.when))
	}
	if took := s.when[8].Sub(began); took < 8*delay {
		t.Errorf("9 requests within %s, want a pause of %s between them", took, delay)
	}
	slow := newProber(t, time.Hour)
	_, err := slow.Lint(t.Context(), s.URL)
	if fe, ok := errors.AsType[*fieldmark.Error](err); !ok || fe.Code != fieldmark.CodeRateLimited ||
		fe.RetryAfter == 0 {
		t.Errorf("a turn in an hour: %v, want %s with a time to come back", err, fieldmark.CodeRateLimited)
	}
}

func TestProbeIsBounded(t *testing.T) {
	release := make(chan struct{})
	hang := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(hang.Close)
	p := newProber(t, -1)
	var wg sync.WaitGroup
	results := make(chan error, 40)
	for range 40 {
		wg.Go(func() {
			_, err := p.Lint(t.Context(), hang.URL)
			results <- err
		})
	}
	if err := <-results; !fieldmark.IsCode(err, fieldmark.CodeOverloaded) {
		t.Errorf("the first of 40 probes to come back: %v, want %s", err, fieldmark.CodeOverloaded)
	}
	close(release)
	wg.Wait()
}

package audit_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	crand "crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"math/big"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/audit"
	"github.com/fieldmark/fieldmark/origin/safehttp"
)

// home is the address of every test site: the certificate of httptest servers is valid for
// this name.
const home = "https://example.com/"

// answer is the response of a test site for one path.
type answer struct {
	status   int // 0 means 200
	kind     string
	header   map[string]string
	body     string
	location string
	handler  http.HandlerFunc // replaces all other fields
}

// web maps the paths of a site to responses; other paths return 404. The key "http:" has
// the response over plain HTTP, which otherwise is a redirect to HTTPS. A key with a host,
// github.com/x, is a profile elsewhere; the default is one that links to the site.
type web map[string]answer

// server is a running test site with the requests that it received.
type server struct {
	client    *safehttp.Client
	allow     []netip.Prefix
	connectTo map[string]string
	roots     *x509.CertPool

	mu    sync.Mutex
	asked []string
}

func (s *server) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.asked...)
}

// serve starts a site under example.com, on loopback.
func (w web) serve(t *testing.T, timeout time.Duration) *server {
	t.Helper()
	s := &server{}
	secure := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		uri := r.URL.RequestURI()
		if r.Host != "example.com" {
			uri = r.Host + uri
		}
		s.mu.Lock()
		s.asked = append(s.asked, uri)
		s.mu.Unlock()
		if r.UserAgent() != audit.UserAgent {
			t.Errorf("GET %s came as %q, want %q", r.URL, r.UserAgent(), audit.UserAgent)
		}
		w.answer(rw, r, uri)
	}))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // some tests close connections early
	cert, roots := certificate()
	secure.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	secure.StartTLS()
	plain := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if _, ok := w["http:"]; ok {
			w.answer(rw, r, "http:")
			return
		}
		http.Redirect(rw, r, "https://example.com"+r.URL.RequestURI(), http.StatusMovedPermanently)
	}))
	t.Cleanup(secure.Close)
	t.Cleanup(plain.Close)
	s.roots = roots
	s.allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	s.connectTo = map[string]string{
		"example.com:443": secure.Listener.Addr().String(),
		"example.com:80":  plain.Listener.Addr().String(),
		"down.example:80": "127.0.0.1:1", "down.example:443": "127.0.0.1:1",
	}
	for _, host := range profileHosts {
		s.connectTo[host+":443"] = secure.Listener.Addr().String()
	}
	s.client = safehttp.New(safehttp.Config{
		Allow: s.allow, ConnectTo: s.connectTo, Timeout: timeout,
		Roots: roots,
	})
	t.Cleanup(s.client.CloseIdle)
	return s
}

// profileHosts are the other hosts that a test site serves.
var profileHosts = []string{"www.wikidata.org", "en.wikipedia.org", "github.com", "gitlab.com", "www.linkedin.com",
	"linkedin.com", "x.com", "medium.com", "mastodon.social", "www.crunchbase.com", "codeberg.org"}

// certificate returns a certificate for the test site and the profile hosts, and its root.
var certificate = sync.OnceValues(func() (tls.Certificate, *x509.CertPool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), crand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1),
		DNSNames: append([]string{"example.com"}, profileHosts...),
		NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(crand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	root, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(root)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
})

// wikidata returns an item with an official website.
func wikidata(website string) answer {
	return answer{kind: "application/json", body: `{"entities":{"Q1":{"claims":{"P31":[],"P856":[{"rank":"normal",` +
		`"mainsnak":{"datavalue":{"value":"` + website + `","type":"string"}}}]}}}}`}
}

func (w web) answer(rw http.ResponseWriter, r *http.Request, path string) {
	a, ok := w[path]
	switch {
	case ok:
	case r.Host == "www.wikidata.org" && strings.HasSuffix(path, ".json"):
		a = wikidata("https://example.com/")
	case r.Host != "example.com" && !strings.HasSuffix(path, "/robots.txt"):
		a = answer{body: `<!doctype html><body class="ns-0"><a rel=me href="https://example.com/">Website</a>`}
	default:
		a = answer{status: http.StatusNotFound, body: "<!doctype html><title>Not found</title>"}
	}
	if a.handler != nil {
		a.handler(rw, r)
		return
	}
	if a.kind == "" {
		a.kind = "text/html; charset=utf-8"
	}
	rw.Header().Set("Content-Type", a.kind)
	for k, v := range a.header {
		rw.Header().Set(k, v)
	}
	if a.location != "" {
		rw.Header().Set("Location", a.location)
	}
	if a.status == 0 {
		a.status = http.StatusOK
	}
	rw.WriteHeader(a.status)
	io.WriteString(rw, a.body)
}

// audit serves the site and audits it once, without pauses.
func (w web) audit(t *testing.T) fieldmark.Facts {
	t.Helper()
	return auditOf(t, w.serve(t, 0), audit.Subject{URL: home, Name: "Example", Language: "en"})
}

func auditOf(t *testing.T, s *server, subject audit.Subject) fieldmark.Facts {
	t.Helper()
	return reportOf(t, s, subject).Facts
}

// today is the day of the test pages and of their audits, also after midnight.
var today = time.Now().UTC()

// reportOf audits a site as of today, if the subject has no other day, and as if its pages had responded at once.
func reportOf(t *testing.T, s *server, subject audit.Subject) audit.Report {
	t.Helper()
	if subject.AsOf.IsZero() {
		subject.AsOf = today
	}
	a, err := audit.New(audit.Config{HTTP: s.client, Delay: -1})
	if err != nil {
		t.Fatal(err)
	}
	report, err := a.Audit(t.Context(), subject, nil)
	if err != nil {
		t.Fatalf("audit of %s: %v", subject.URL, err)
	}
	for i := range report.Facts.Facts {
		if f := &report.Facts.Facts[i]; f.ID == "response.ttfb" && f.State == fieldmark.Measured {
			e := &f.Evidence[0]
			pages, _, ok := strings.Cut(e.Fact, ": at most ")
			if !ok || f.Value%200_000 != 0 {
				t.Errorf("response.ttfb %d, seen %q", f.Value, e.Fact)
			}
			f.Value, e.Fact = 200_000, pages+": at most 200 ms to the first byte"
		}
	}
	return report
}

// html returns a page with a head and a body.
func html(head, body string) answer {
	return answer{body: "<!doctype html><html lang=en><head>" + head + "</head><body>" + body + "</body></html>"}
}

// text returns a plain text file.
func text(body string) answer { return answer{kind: "text/plain; charset=utf-8", body: body} }

// words returns a text of n words, another for every n. It is made of English words, half
// of them common ones, with a rare one after an article, so that it reads like a language.
func words(n int) string { return wordsOf(uint64(n), n) }

// wordsOf is words with a choice of text.
func wordsOf(text uint64, n int) string {
	articles, others := strings.Fields(
		"the a this an our"), strings.Fields("of and to in that for it with on are by or "+
		"from you we not have will all is")
	rare := strings.Fields("workshop baker river lamp garden carpet engine paper winter market bridge copper " +
		"letter window ladder forest station mirror basket candle harbour pocket kettle velvet meadow saddle " +
		"signal hammer orchard pepper curtain anchor bottle feather gravel lantern mill needle oven quarry")
	random := rand.New(rand.NewPCG(text, 2))
	list := make([]string, 0, n+3)
	for len(list) < n {
		if random.IntN(2) == 0 {
			list = append(list, others[random.IntN(len(others))])
		}
		list = append(list, articles[random.IntN(len(articles))], rare[random.IntN(len(rare))])
	}
	return strings.Join(list[:n], " ")
}

// say formats a fact as in the tables below: its value, or its state.
func say(f fieldmark.Facts, id string) string {
	fact, ok := f.Find(id)
	switch {
	case !ok:
		return "absent"
	case fact.State != fieldmark.Measured:
		return string(fact.State)
	}
	return fieldmark.Milli(fact.Value).String()
}

// seen returns a fact's evidence as one text.
func seen(f fieldmark.Facts, id string) string {
	fact, _ := f.Find(id)
	var b strings.Builder
	for _, e := range fact.Evidence {
		fmt.Fprintf(&b, "%s %s\n", e.URL, e.Fact)
	}
	return b.String()
}

// factTest audits a site and compares its facts, each in the form "id value".
type factTest struct {
	name string
	site web
	want []string
}

func runFacts(t *testing.T, tests []factTest) {
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			facts := tt.site.audit(t)
			for _, w := range tt.want {
				id, want, _ := strings.Cut(w, " ")
				if got := say(facts, id); got != want {
					t.Errorf("%s = %s, want %s; seen:\n%s", id, got, want, seen(facts, id))
				}
			}
			checkShape(t, facts)
		})
	}
}

// checkShape checks the invariants of facts that all consumers rely on.
func checkShape(t *testing.T, f fieldmark.Facts) {
	t.Helper()
	last := ""
	for _, fact := range f.Facts {
		if fact.ID <= last {
			t.Errorf("fact %s comes after %s: not sorted, or twice", fact.ID, last)
		}
		last = fact.ID
		if fact.State == fieldmark.Measured && len(fact.Evidence) == 0 {
			t.Errorf("fact %s is measured without evidence", fact.ID)
		}
		if fact.State != fieldmark.Measured && fact.Value != 0 {
			t.Errorf("fact %s is %s with value %d", fact.ID, fact.State, fact.Value)
		}
		if len(fact.Evidence) > fieldmark.MaxEvidence {
			t.Errorf("fact %s has %d entries of evidence, at most %d", fact.ID, len(fact.Evidence),
				fieldmark.MaxEvidence)
		}
		for _, e := range fact.Evidence {
			if n := len([]rune(e.Fact)); n > fieldmark.MaxEvidenceText || n == 0 || e.URL == "" {
				t.Errorf("fact %s has evidence of %d characters at %q: %s", fact.ID, n, e.URL, e.Fact)
			}
		}
		if bound := int64(1000); (fact.Unit == "bool" || fact.Unit == "share") && (fact.Value < 0 ||
			fact.Value > bound) {
			t.Errorf("fact %s = %d, want 0 to %d", fact.ID, fact.Value, bound)
		}
	}
	if len(f.Facts) != len(audit.Vocabulary()) || f.Version != fieldmark.FactsVersion || f.AsOf.IsZero() {
		t.Errorf("%d facts of version %q as of %v, want all %d of %s", len(f.Facts), f.Version, f.AsOf,
			len(audit.Vocabulary()), fieldmark.FactsVersion)
	}
}

// cancelled returns a canceled context.
func cancelled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

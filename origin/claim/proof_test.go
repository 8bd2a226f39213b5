package claim_test

import (
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/claim"
	"github.com/fieldmark/fieldmark/origin/safehttp"
)

// lineOf and metaOf are the proofs of a claim, ready to paste.
func lineOf(c fieldmark.NewClaim) string { return c.Proofs[0].Value }

func metaOf(c fieldmark.NewClaim) string { return c.Proofs[len(c.Proofs)-1].Value }

// attempt looks for the proofs of a claim and returns what it found by one method.
func (f *fixture) attempt(t testing.TB, c fieldmark.NewClaim, m fieldmark.ClaimMethod) fieldmark.ClaimAttempt {
	t.Helper()
	for _, a := range f.Claims.Look(t.Context(), c.Claim) {
		if a.Method == m {
			return a
		}
	}
	return fieldmark.ClaimAttempt{Method: m, Detail: "not tried"}
}

// TestProofs: what the world shows, and whether it proves a claim of the site. $line and
// $meta are replaced by the proofs of the claim, $other for the line of another claim, and $fill
// makes a file with $line 4 KiB large. A redirect leads to a page with the meta element.
func TestProofs(t *testing.T) {
	const (
		site   = "https://www.acme.example/"
		shared = "https://pages.example/~acme/"
		hosted = "https://acme.github.io/"

		neighbor = "https://pages.example/~evil/"

		file  = ".well-known/fieldmark-verify.txt"
		label = "_fieldmark-challenge."
	)
	head := func(inner string) string {
		return "<!doctype html><html><head>" + inner + "</head><body></body></html>"
	}
	f := newFixture(t)
	slugs := map[string]fieldmark.Slug{site: "acme", shared: "shared", hosted: "hosted"}
	for address, slug := range slugs {
		f.brand(t, slug, address)
	}
	for i, tt := range []struct {
		name, site, at, shows string // at is a name of the DNS or an address
		by                    fieldmark.ClaimMethod
		want                  bool
	}{
		{"file", site, site + file, "$line", "file", true},
		{"file with CRLF and a BOM", site, site + file, "\uFEFF$line\r\n", "file", true},
		{"file of 4 KiB", site, site + file, "$line\n$fill", "file", true},
		{"larger file", site, site + file, "$line\n$fill.", "file", false},
		{"file of another claim", site, site + file, "$other", "file", false},
		{"file of the domain, not of the host", site, "https://acme.example/" + file, "$line", "file", false},
		{"line within a line", site, site + file, "not $line", "file", false},

		{"meta", site, site, head("$meta"), "meta", true},
		{"meta in a comment", site, site, head("<!-- $meta -->"), "meta", false},
		{"meta in a script", site, site, head("<script>var s = '$meta'</script>"), "meta", false},
		{"meta in a title", site, site, head("<title>$meta</title>"), "meta", false},
		{"meta in a template", site, site, head("<template>$meta</template>"), "meta", false},
		{"meta in noscript", site, site, head("<noscript>$meta</noscript>"), "meta", false},
		{"meta in the body", site, site, "<html><head></head><body><p>$meta</p></body></html>", "meta", false},
		{"meta after a paragraph", site, site, "<html><p>A comment of a reader: $meta", "meta", false},
		{"meta in an attribute", site, site, head(`<link title='$meta'>`), "meta", false},

		{"meta of a path", shared, shared, head("$meta"), "meta", true},
		{"meta of the host of a path", shared, "https://pages.example/", head("$meta"), "meta", false},
		{"meta of a neighbor", shared, neighbor, head("$meta"), "meta", false},
		{"redirect to a neighbor", shared, shared, ">" + neighbor, "meta", false},
		{"redirect to the host of a path", shared, shared, ">https://pages.example/", "meta", false},
		{"redirect to www", site, site, ">https://acme.example/", "meta", true},
		{"file of the host of a path", shared, "https://pages.example/" + file, "$line", "file", false},
		{"file below a path", shared, shared + file, "$line", "file", false},

		{"record of the host", site, label + "www.acme.example", "$line", "dns", true},
		{"record of the domain", site, label + "acme.example", "$line", "dns", true},
		{"wildcard without the label", site, "www.acme.example", "$line", "dns", false},
		{"wildcard at another label", site, "_acme-challenge.www.acme.example", "$line", "dns", false},
		{"wildcard with another claim", site, label + "www.acme.example", "$other", "dns", false},
		{"record above the domain", site, label + "example", "$line", "dns", false},
		{"record of a customer", hosted, label + "acme.github.io", "$line", "dns", true},
		{"record of the provider", hosted, label + "github.io", "$line", "dns", false},
		{"token alone", site, label + "acme.example", "token=$token", "dns", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			network := fmt.Sprintf("192.0.%d.1", i) // each may open five claims a day
			c := f.openClaim(t, fieldmark.ClaimRequest{Brand: slugs[tt.site]}, network)
			other := f.openClaim(t, fieldmark.ClaimRequest{Brand: slugs[tt.site]}, network)
			_, token, _ := strings.Cut(lineOf(c), "token=")
			shown := strings.NewReplacer("$line", lineOf(c), "$meta", metaOf(c), "$other", lineOf(other),
				"$token", token, "$fill", strings.Repeat("x", 4096-len(lineOf(c)+"\n"))).Replace(tt.shows)
			f.out.pages, f.out.texts = map[string]string{tt.at: shown}, map[string][]string{tt.at: {shown}}
			if strings.HasPrefix(shown, ">") {
				f.out.pages[shown[1:]] = head(metaOf(c))
			}
			if got := f.attempt(t, c, tt.by); got.Found != tt.want {
				t.Errorf("%+v, want found: %v", got, tt.want)
			}
			if got := f.attempt(t, other, tt.by); got.Found != strings.Contains(tt.shows, "$other") {
				t.Errorf("another claim: %+v", got)
			}
		})
	}
}

// TestRedirectsOfProofs: a redirect leads a check neither to a party without authority over
// the site nor into the network of the origin. The client is the real one.
func TestRedirectsOfProofs(t *testing.T) {
	const file = "/.well-known/fieldmark-verify.txt"
	var line atomic.Pointer[string]
	var to atomic.Pointer[string]
	var secrets atomic.Int32
	inside, err := net.Listen("tcp", "127.0.0.2:0") // not in the networks that the client may reach
	if err != nil {
		t.Fatal(err)
	}
	private := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { secrets.Add(1) })}
	go func() { _ = private.Serve(inside) }()
	t.Cleanup(func() { _ = private.Close() })
	public := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host == "example.com" && r.URL.Path == file {
			http.Redirect(w, r, *to.Load(), http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, *line.Load())
	}))
	t.Cleanup(public.Close)
	roots := x509.NewCertPool()
	roots.AddCert(public.Certificate()) // of example.com and *.example.com
	address := public.Listener.Addr().String()
	client := safehttp.New(safehttp.Config{Roots: roots, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")},
		ConnectTo: map[string]string{"example.com:443": address, "www.example.com:443": address,
			"inside.example.com:443": inside.Addr().String(), "inside.example.com:80": inside.Addr().String()}})
	t.Cleanup(client.CloseIdle)
	f := newFixture(t)
	g := open(t, f.at, f.out, func(c *origin.Config) {
		c.Prover = claim.NewProver([]claim.Lookup{f.out}, client)
	})
	g.brand(t, "acme", "https://example.com/")
	c := g.openClaim(t, fieldmark.ClaimRequest{Brand: "acme"}, "192.0.2.1")
	text := lineOf(c)
	line.Store(&text)
	for _, tt := range []struct {
		to     string
		found  bool
		detail string
	}{
		{"https://www.example.com/proof", true, "found in"},
		{"/moved", true, "found in"},
		{file, false, "too many redirects"},
		{"https://www.example.org/proof", false, "does not speak for the site"},
		{"https://example.com.evil.example/proof", false, "does not speak for the site"},
		{"http://www.example.com/proof", false, "does not speak for the site"},
		{"https://" + inside.Addr().String() + "/", false, "does not speak for the site"},
		{"https://169.254.169.254/latest/meta-data/", false, "does not speak for the site"},
		{"https://inside.example.com/", false, "not allowed"},
	} {
		to.Store(&tt.to)
		got := g.attempt(t, c, fieldmark.ClaimFile)
		if got.Found != tt.found || !strings.Contains(got.Detail, tt.detail) {
			t.Errorf("redirect to %s: %+v, want found: %v, %q", tt.to, got, tt.found, tt.detail)
		}
		if strings.Contains(got.Detail, "127.0.0.2") {
			t.Errorf("redirect to %s tells the address inside: %s", tt.to, got.Detail)
		}
	}
	if n := secrets.Load(); n != 0 {
		t.Errorf("the server inside got %d requests", n)
	}
}

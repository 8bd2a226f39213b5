package edge_test

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark/edge"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

// variesBy are what the origin of FuzzStoredFields may say in Vary.
var variesBy = []string{"", "Accept", "Accept-Language", "Accept-Encoding, User-Agent", "X-Foo", "Origin",
	"X-Forwarded-Proto"}

// victims are the requests that must not get what another request chose.
var victims = []string{
	"",
	"Accept: text/html,*/*;q=0.8\r\nAccept-Language: en\r\nAccept-Encoding: gzip\r\nUser-Agent: browser\r\n",
	"Origin: https://app.example\r\n",
}

// FuzzStoredFields: of a request's fields, an origin that shows all it is sent sees
// nothing that the next request for the same address gets to see.
func FuzzStoredFields(f *testing.F) {
	for _, fields := range []string{
		"X-Forwarded-User: evil", "X-Forwarded-Email: evil", "X-Forwarded-Protocol: ssl", "X-Forwarded-Foo: evil",
		"X_Forwarded_Host: evil",
		"Fieldmark-Foo: evil", "Fieldmark-Quota: evil", "Fieldmark-Client: 9.9.9.9", "Fieldmark_Node: evil",
		"Forwarded: for=9.9.9.9", "Via: 1.1 evil", "X-Real-IP: 9.9.9.9", "X-Request-Id: evil-request-id-0001",
		"Traceparent: evil",
		"Accept: x", "Accept: text/html,,*/*;q=0.8", "Accept-Language: tlh", "Accept-Language: EN",
		"Accept-Language: en\r\nAccept-Language: tlh", "Accept-Charset: x",
		"Accept-Encoding: evil", "User-Agent: evil", "Referer: evil", "Sec-Evil: evil", "X-Foo: evil", "Origin: evil",
		"Origin: https://app.example,",
		"Cookie: evil", "Authorization: evil", "X-Api-Key: evil", "Range: bytes=0-1", "If-None-Match: evil",
		"Cache-Control: no-cache",
		"Connection: Accept, X-Forwarded-For, Host", "Connection: Upgrade\r\nUpgrade: websocket", "Te: trailers",
		"Trailer: evil", "Expect: evil",
		"X-Http-Method-Override: DELETE", "X Y: z", "X-Evil:", "\x80: evil", "Content-Length: 0",
		"Transfer-Encoding: chunked",
	} {
		for i := range variesBy {
			f.Add(fields, uint8(i))
		}
	}
	w := newRecordingOrigin(f, func(c *edge.Config) { c.NodeToken = "" })
	w.answer = func(rw http.ResponseWriter, r *http.Request) {
		var lines []string
		for name, values := range r.Header {
			if name != "X-Request-Id" { // a new one for each request that has none
				lines = append(lines, fmt.Sprintf("%s: %q", name, values))
			}
		}
		slices.Sort(lines)
		rw.Header().Set("Cache-Control", "max-age=60")
		rw.Header().Set("Vary", r.URL.Query().Get("vary"))
		io.WriteString(rw, strings.Join(append(lines, "Host: "+r.Host, "Method: "+r.Method), "\n"))
	}
	ask := func(t testing.TB, path, fields string) (body, status string) {
		t.Helper()
		c, err := net.Dial("tcp", strings.TrimPrefix(w.base, "http://"))
		must(t, err)
		defer c.Close()
		must(t, c.SetDeadline(time.Now().Add(waittest.Limit)))
		if _, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: site.example\r\n"+fields+"\r\n"); err == nil {
			_ = c.(*net.TCPConn).CloseWrite() // it may be refused already
		}
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			return "", ""
		}
		raw, _ := io.ReadAll(resp.Body)
		return string(raw), resp.Header.Get("Cache-Status")
	}
	f.Fuzz(func(t *testing.T, fields string, vary uint8) {
		if strings.Contains(fields, "\r\n\r\n") {
			return // ends the head
		}
		said := "?vary=" + strings.ReplaceAll(variesBy[int(vary)%len(variesBy)], ", ", ",")
		for _, victim := range victims {
			path := "/" + rand.Text() + said
			ask(t, path, fields+"\r\n")
			got, _ := ask(t, path, victim)
			alone, _ := ask(t, "/"+rand.Text()+said, victim)
			want := strings.Split(alone, "\n")
			for line := range strings.SplitSeq(got, "\n") {
				if !slices.Contains(want, line) {
					t.Errorf("after a request with %q, one with %q gets an answer made for %s; alone it gets one "+
						"for\n%s", fields, victim, line, alone)
				}
			}
			if again, status := ask(t, path, victim); again != got || !strings.Contains(status, "; hit") {
				t.Errorf("after a request with %q, the second with %q is not a hit: %s", fields, victim, status)
			}
		}
	})
}

// TestSchemeInKey: the answer for one scheme and host is never that for another
// scheme and a host whose name begins or ends otherwise.
func TestSchemeInKey(t *testing.T) {
	w := newRecordingOrigin(t, func(c *edge.Config) {
		c.TrustedNetworks = []netip.Prefix{netip.MustParsePrefix(
			"127.0.0.0/8")}
	})
	w.answer = func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Cache-Control", "max-age=60")
		fmt.Fprintf(rw, "%s://%s", r.Header.Get("X-Forwarded-Proto"), r.Host)
	}
	path := "/" + rand.Text()
	for _, at := range []string{"http://smarks.example", "https://marks.example", "http://marks.example",
		"https://smarks.example", "http://httpsmarks.example"} {
		scheme, host, _ := strings.Cut(at, "://")
		answers := w.say("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\nX-Forwarded-Proto: " + scheme + "\r\n\r\n")
		if len(answers) != 1 || answers[0].body != at {
			t.Errorf("%s: got %v", at, answers)
		}
	}
}

// TestIdentityFields: only a trusted proxy may set the identity of a user, and a request
// with an identity bypasses the cache.
func TestIdentityFields(t *testing.T) {
	for _, trusted := range []bool{false, true} {
		w := newRecordingOrigin(t, func(c *edge.Config) {
			if trusted {
				c.TrustedNetworks = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
			}
		})
		w.answer = func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Cache-Control", "max-age=60")
			fmt.Fprintf(rw, "%q", r.Header.Get("X-Forwarded-User"))
		}
		path, want := "/"+rand.Text(), `""`
		if trusted {
			want = `"ann"`
		}
		if a := w.get(path, "X-Forwarded-User", "ann"); a.body != want ||
			!strings.Contains(a.header.Get("Cache-Status"), "fwd=bypass") {
			t.Errorf("trusted %v: the origin saw the user %s, want %s; %s", trusted, a.body, want,
				a.header.Get("Cache-Status"))
		}
		if a := w.get(path); a.body != `""` {
			t.Errorf("trusted %v: another client gets the page of %s", trusted, a.body)
		}
	}
}

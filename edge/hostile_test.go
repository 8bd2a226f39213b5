package edge_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge"
	"github.com/fieldmark/fieldmark/edge/site"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/origin/client"
)

// recordingOrigin is an edge in front of an origin that is not Fieldmark's and records the requests
// it receives.
type recordingOrigin struct {
	*fixture
	mu   sync.Mutex
	seen []*http.Request
	said []string // the bodies it was sent

	answer http.HandlerFunc // nil: 200 and what was asked
	takes  http.HandlerFunc // instead of all that; reads the body itself

	onInternal   func()      // called when the internal interface is asked; nil: nothing
	isFieldmarks atomic.Bool // it answers for an event log, which has no events
}

func newRecordingOrigin(t testing.TB, change ...func(*edge.Config)) *recordingOrigin {
	t.Helper()
	w := &recordingOrigin{fixture: &fixture{t: t}}
	w.origin = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, fieldmark.PathInternal) && w.onInternal != nil {
			w.onInternal()
		}
		if r.URL.Path == fieldmark.PathInternalEvents && w.isFieldmarks.Load() {
			io.WriteString(rw, `{"log":"log_of_the_tests","events":[]}`)
			return
		}
		if strings.HasPrefix(r.URL.Path, fieldmark.PathInternal) {
			rw.WriteHeader(http.StatusNotFound)
			return
		}
		if w.takes != nil {
			w.takes(rw, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		w.mu.Lock()
		w.seen, w.said = append(w.seen, r), append(w.said, string(body))
		w.mu.Unlock()
		if w.answer != nil {
			w.answer(rw, r)
			return
		}
		rw.Header().Set("Cache-Control", "no-store")
		fmt.Fprintf(rw, "%s %s", r.Method, r.RequestURI)
	}))
	t.Cleanup(w.origin.Close)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	w.base = "http://" + ln.Addr().String()
	w.edge = newWitnessEdge(t, w, change...)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- w.edge.Run(ctx, ln) }()
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		w.origin.CloseClientConnections()
		stop()
		must(t, <-done)
	})
	return w
}

// newWitnessEdge makes another node in front of the same origin.
func newWitnessEdge(t testing.TB, w *recordingOrigin, change ...func(*edge.Config)) *edge.Edge {
	t.Helper()
	target, err := url.Parse(w.origin.URL)
	must(t, err)
	asks, err := client.New(client.Config{BaseURL: w.origin.URL, NodeToken: nodeToken})
	must(t, err)
	cfg := edge.Config{Origin: asks, OriginURL: target, NodeToken: nodeToken, BaseURL: w.base, CacheBytes: 1 << 20}
	for _, f := range change {
		f(&cfg)
	}
	e, err := edge.New(cfg)
	must(t, err)
	return e
}

// take returns what the origin was asked since the last time.
func (w *recordingOrigin) take() (asked []string, requests []*http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, r := range w.seen {
		line := r.Method + " " + r.RequestURI
		if w.said[i] != "" {
			line += " " + w.said[i]
		}
		asked = append(asked, line)
	}
	requests, w.seen, w.said = w.seen, nil, nil
	return asked, requests
}

// say sends bytes over a connection of their own and returns the answers.
func (w *recordingOrigin) say(sent string) (answers []answer) {
	w.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(w.base, "http://"))
	must(w.t, err)
	defer c.Close()
	must(w.t, c.SetDeadline(time.Now().Add(waittest.Limit)))
	if _, err := io.WriteString(c, sent); err == nil {
		_ = c.(*net.TCPConn).CloseWrite() // it may be closed by the other side already
	}
	br := bufio.NewReader(c)
	for {
		resp, err := http.ReadResponse(br, nil)
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				w.t.Errorf("%.60q: after %d answers: %v", sent, len(answers), err)
			}
			return answers
		}
		body, err := io.ReadAll(resp.Body)
		must(w.t, err)
		if resp.Close {
			resp.Header.Set("Connection", "close") // net/http takes it out
		}
		answers = append(answers, answer{resp.StatusCode, resp.Header, string(body)})
	}
}

func statuses(answers []answer) (all []int) {
	for _, a := range answers {
		all = append(all, a.status)
	}
	return all
}

// smuggled is the request that must never be found inside another.
const smuggled = "GET /smuggled HTTP/1.1\r\nHost: edge.example\r\n\r\n"

const post = "POST /target HTTP/1.1\r\nHost: edge.example\r\n"

// TestSmuggling sends by name every form by which one parser can be made to see
// other requests than the next. What the origin was asked is compared exactly.
func TestSmuggling(t *testing.T) {
	w := newRecordingOrigin(t)
	refused := []int{400}
	for _, tt := range []struct {
		name, sent string
		statuses   []int
		asked      []string
	}{
		{"two requests, one after another", "GET /a HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n",
			[]int{200, 200}, []string{"GET /a", "GET /b"}},
		{"a body and a request behind it", post + "Content-Length: 3\r\n\r\nabcGET /b HTTP/1.1\r\nHost: a\r\n\r\n",
			[]int{200, 200}, []string{"POST /target abc", "GET /b"}},
		{"chunks and a request behind them",
			post + "Transfer-Encoding: chunked\r\n\r\n3;x=\"y\"\r\nabc\r\n2\r\nde\r\n0\r\nX-T: 1\r\n\r\nGET /b " +
				"HTTP/1.1\r\nHost: a\r\n\r\n", []int{200, 200}, []string{"POST /target abcde", "GET /b"}},
		{"CL.TE", post + "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled, refused, nil},
		{"TE.CL", post + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n2e\r\n" + smuggled + "\r\n0\r\n\r\n",
			refused, nil},
		{"CL.CL", post + "Content-Length: 0\r\nContent-Length: 48\r\n\r\n" + smuggled, refused, nil},
		{"CL.CL, equal", post + "Content-Length: 0\r\nContent-Length: 0\r\n\r\n" + smuggled, refused, nil},
		{"CL list", post + "Content-Length: 0, 48\r\n\r\n" + smuggled, refused, nil},
		{"CL with plus", post + "Content-Length: +0\r\n\r\n" + smuggled, refused, nil},
		{"CL with leading zeros", post + "Content-Length: 00\r\n\r\n" + smuggled, refused, nil},
		{"CL with blanks within", post + "Content-Length: 4 8\r\n\r\n" + smuggled, refused, nil},
		{"CL with an underscore", post + "Content-Length: 1_0\r\n\r\n" + smuggled, refused, nil},
		{"CL negative", post + "Content-Length: -1\r\n\r\n" + smuggled, refused, nil},
		{"CL too long", post + "Content-Length: 18446744073709551616\r\n\r\n" + smuggled, refused, nil},
		{"TE.TE", post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n" + smuggled,
			refused, nil},
		{"TE identity", post + "Transfer-Encoding: identity\r\nContent-Length: 0\r\n\r\n" + smuggled, refused, nil},
		{"TE gzip, chunked", post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" + smuggled, refused, nil},
		{"TE xchunked", post + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + smuggled, refused, nil},
		{"TE with a blank before the colon", post + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + smuggled, refused,
			nil},
		{"TE with a vertical tab", post + "Transfer-Encoding:\vchunked\r\n\r\n0\r\n\r\n" + smuggled, refused, nil},
		{"TE behind a bare CR", post + "X: 1\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled, refused, nil},
		{"TE behind a bare LF", post + "X: 1\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled, refused, nil},
		{"TE on a folded line", post + "X: 1\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled, refused, nil},
		{"TE in HTTP/1.0", "POST /target HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled, refused,
			nil},
		{"TE as a trailer", post + "Transfer-Encoding: chunked\r\n\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n" +
			smuggled, refused, nil},
		{"CL as a trailer", post + "Transfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 48\r\n\r\n" + smuggled,
			refused, nil},
		{"NUL in a name", post + "Content-\x00Length: 48\r\n\r\n" + smuggled, refused, nil},
		{"NUL in a value", post + "X: \x00\r\n\r\n" + smuggled, refused, nil},
		{"obs-fold", post + "X: a\r\n b\r\n\r\n" + smuggled, refused, nil},
		{"obs-fold of the first field", "POST /target HTTP/1.1\r\n Host: a\r\nHost: b\r\n\r\n" + smuggled, refused,
			nil},
		{"no colon", post + "Content-Length 48\r\n\r\n" + smuggled, refused, nil},
		{"no name", post + ": x\r\n\r\n" + smuggled, refused, nil},
		{"bare LF everywhere", "POST /target HTTP/1.1\nHost: a\n\n" + smuggled, refused, nil},
		{"bare LF at the end of the head", post + "\n" + smuggled, refused, nil},
		{"chunk size in LF", post + "Transfer-Encoding: chunked\r\n\r\n0\n\n" + smuggled, refused, nil},
		{"chunk size with 0x", post + "Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n" + smuggled, refused, nil},
		{"chunk size with a blank", post + "Transfer-Encoding: chunked\r\n\r\n0 \r\n\r\n" + smuggled, refused, nil},
		{"chunk size that overflows", post + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n\r\n" + smuggled,
			refused, nil},
		{"chunk extension with LF", post + "Transfer-Encoding: chunked\r\n\r\n0;a\nb\r\n\r\n" + smuggled, refused, nil},
		{"chunk extension with CR", post + "Transfer-Encoding: chunked\r\n\r\n0;a\rb\r\n\r\n" + smuggled, refused, nil},
		{"chunk extensions without end", post + "Transfer-Encoding: chunked\r\n\r\n0;" + strings.Repeat("a", 1000) +
			"\r\n\r\n" + smuggled, refused, nil},
		{"chunk that is longer than it says", post + "Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n" +
			smuggled, refused, nil},
		{"a request in the body of a GET", "GET /target HTTP/1.1\r\nHost: a\r\nContent-Length: 46\r\n\r\n" + smuggled,
			[]int{200}, []string{"GET /target " + smuggled}},
		{"a request in the body of an OPTIONS", "OPTIONS /target HTTP/1.1\r\nHost: a\r\nContent-Length: 46\r\n\r\n" +
			smuggled, []int{200}, []string{"OPTIONS /target " + smuggled}},
		{"half a body", post + "Content-Length: 100\r\n\r\n" + smuggled, refused, nil},
		{"half a chunk", post + "Transfer-Encoding: chunked\r\n\r\nff\r\n" + smuggled, refused, nil},
		{"a good request, then a bad one", "GET /a HTTP/1.1\r\nHost: a\r\n\r\n" + post +
			"Content-Length: 0\r\nContent-Length: 48\r\n\r\n" + smuggled, []int{200, 400}, []string{"GET /a"}},
		{"h2c", "GET /target HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: " +
			"h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n", []int{200}, []string{"GET /target"}},
		{"HTTP/2 without TLS", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", refused, nil},
		{"HTTP/0.9", "GET /target\r\n\r\n", refused, nil},
		{"HTTP/1.2", "GET /target HTTP/1.2\r\nHost: a\r\n\r\n", refused, nil},
		{"not HTTP", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", refused, nil},
		{"an Upgrade that is not taken, then a strict parser still",
			"GET /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nGET /b HTTP/1.1\nHost: " +
				"a\r\n\r\n", []int{200, 400}, []string{"GET /a"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := w.say(tt.sent)
			asked, requests := w.take()
			if !slices.Equal(statuses(got), tt.statuses) || !slices.Equal(asked, tt.asked) {
				t.Errorf("%.200q\nanswered %v, want %v\nthe origin was asked %q, want %q", tt.sent, statuses(got),
					tt.statuses, asked, tt.asked)
			}
			for _, r := range requests {
				if len(r.TransferEncoding) > 0 && r.ContentLength > 0 || r.Header.Get("Upgrade") == "h2c" ||
					len(r.Trailer) > 0 {
					t.Errorf("the origin saw %v %d %v", r.TransferEncoding, r.ContentLength, r.Header)
				}
			}
			if last := got[len(got)-1]; last.status >= 400 && last.header.Get("Connection") != "close" {
				t.Errorf("a refusal keeps the connection open: %v", last.header)
			}
		})
	}
}

// TestHostAndPath: what a request is for must read the same for everybody.
func TestHostAndPath(t *testing.T) {
	w := newRecordingOrigin(t)
	get := func(target string, host ...string) string {
		s := "GET " + target + " HTTP/1.1\r\n"
		for _, h := range host {
			s += "Host: " + h + "\r\n"
		}
		return s + "\r\n"
	}
	for _, tt := range []struct {
		name, sent string
		status     int
		asked      string // of the origin, with the host; empty: nothing
	}{
		{"plain", get("/a?b=c", "a.example"), 200, "a.example /a?b=c"},
		{"a port", get("/a", "a.example:8080"), 200, "a.example:8080 /a"},
		{"no Host", get("/a"), 400, ""},
		{"an empty Host", get("/a", ""), 400, ""},
		{"two Hosts", get("/a", "a", "b"), 400, ""},
		{"a list as Host", get("/a", "a,b"), 400, ""},
		{"a user in Host", get("/a", "user@a"), 400, ""},
		{"a path in Host", get("/a", "a/b"), 400, ""},
		{"a line break in Host", get("/a", "a%0d%0a"), 400, ""},
		{"an absolute address", get("http://a.example/b?c", "a.example"), 200, "a.example /b?c"},
		// the edge's error page, from a node that has no data
		{"an absolute address without a path", get("http://a.example", "a.example"), 503, ""},
		{"an absolute address of another host", get("http://evil.example/b", "a.example"), 400, ""},
		{"an absolute address with a user", get("http://u@a.example/b", "a.example"), 400, ""},
		{"an absolute address of another scheme", get("file://a.example/b", "a.example"), 400, ""},
		{"two slashes first", get("//evil.example/b", "a.example"), 400, ""},
		{"two slashes within", get("/a//b", "a.example"), 200, "a.example /a//b"},
		{"an address in the query", get("/go?to=http://evil.example/x", "a.example"), 200,
			"a.example /go?to=http://evil.example/x"},
		{"dots", get("/a/../internal/v1/facts", "a"), 400, ""},
		{"dots, escaped", get("/a/%2e%2e/internal/v1/facts", "a"), 400, ""},
		{"dots, half escaped", get("/a/.%2E/b", "a"), 400, ""},
		{"dots behind an escaped slash", get("/a%2f..%2finternal", "a"), 400, ""},
		{"dots before a semicolon", get("/a/..;/b", "a"), 400, ""},
		{"one dot", get("/./a", "a"), 400, ""},
		{"NUL", get("/a%00b", "a"), 400, ""},
		{"an escaped line break", get("/a%0d%0aX:%20y", "a"), 400, ""},
		{"a backslash", get("/a\\..\\b", "a"), 400, ""},
		{"an escaped backslash", get("/a%5c..%5cb", "a"), 400, ""},
		{"an escape cut off", get("/a%4", "a"), 400, ""},
		{"a fragment", get("/a#b", "a"), 400, ""},
		{"the inner interface", get("/internal/v1/facts", "a"), 404, ""},
		{"the inner interface, escaped", get("/%69nternal/v1/facts", "a"), 404, ""},
		{"the inner interface, an escaped slash", get("/internal%2fv1/facts", "a"), 404, ""},
		{"the inner interface, two slashes", get("/internal//v1/facts", "a"), 404, ""},
		{"an escaped letter", get("/%61?x", "a"), 200, "a /%61?x"},
		{"a long address", get("/"+strings.Repeat("a", 9<<10), "a"), 414, ""},
		{"a large field", "GET /a HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("a", 20<<10) + "\r\n\r\n", 431, ""},
		{"many fields", "GET /a HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("X: 1\r\n", 1000) + "\r\n", 431, ""},
		{"many large fields", "GET /a HTTP/1.1\r\nHost: a\r\n" +
			strings.Repeat("X: "+strings.Repeat("b", 200)+"\r\n", 200) + "\r\n", 431, ""},
		{"a large cookie", "GET /a HTTP/1.1\r\nHost: a\r\nCookie: " + strings.Repeat("a", 12<<10) + "\r\n\r\n", 200,
			"a /a"},
		{"OPTIONS of the server", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 204, ""},
		{"CONNECT", "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n", 405, ""},
		{"TRACE", "TRACE /a HTTP/1.1\r\nHost: a\r\nCookie: secret\r\n\r\n", 405, ""},
		{"a method nobody knows", "FROB /a HTTP/1.1\r\nHost: a\r\n\r\n", 200, "a /a"},
		{"HEAD", "HEAD /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 200, "a /a"},
		{"a body too large", "POST /api/public/v1/missions HTTP/1.1\r\nHost: a\r\nContent-Length: 9000000\r\n\r\n", 413,
			""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sent := tt.sent
			var got []answer
			if strings.HasPrefix(sent, "HEAD") {
				got = []answer{w.do("HEAD", "/a", "", "Host", "a")}
				tt.asked = strings.TrimPrefix(w.base, "http://") + " /a"
			} else {
				got = w.say(sent)
			}
			_, requests := w.take()
			asked := ""
			for _, r := range requests {
				asked += r.Host + " " + r.RequestURI
			}
			if len(got) != 1 || got[0].status != tt.status || asked != tt.asked {
				t.Errorf("%.120q: answered %v, want %d; the origin was asked %q, want %q", sent, statuses(got),
					tt.status, asked, tt.asked)
			}
			if len(got) == 1 && tt.status >= 400 && (got[0].header.Get("X-Content-Type-Options") != "nosniff" ||
				got[0].header.Get("X-Request-Id") == "" && tt.status != 503) {
				t.Errorf("a refusal with %v", got[0].header)
			}
		})
	}
}

// TestClaims: fields in which a client claims an identity or another URL are ignored,
// except from the operator's own proxies.
func TestClaims(t *testing.T) {
	names := []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Port",
		"X-Forwarded-Prefix", "X-Forwarded-Scheme",
		"X-Forwarded-Server", "X-Real-Ip", "X-Client-Ip", "True-Client-Ip", "X-Host", "X-Original-Url", "X-Rewrite-Url",
		"X-Http-Method-Override",
		"X-Http-Method", "X-Method-Override", "Front-End-Https", "Proxy", fieldmark.HeaderClient, fieldmark.HeaderNode}
	var header []string
	for _, name := range names {
		header = append(header, name, "evil.example")
	}
	t.Run("from outside", func(t *testing.T) {
		w := newRecordingOrigin(t)
		w.do("POST", "/a", "x", header...)
		_, requests := w.take()
		host := strings.TrimPrefix(w.base, "http://")
		want := map[string]string{"Forwarded": fmt.Sprintf("for=127.0.0.1;host=%q;proto=http", host),
			"X-Forwarded-For":   "127.0.0.1",
			"X-Forwarded-Proto": "http"}
		for _, name := range names {
			if got := strings.Join(requests[0].Header.Values(name), "|"); got != want[name] {
				t.Errorf("the origin saw %s: %q, want %q", name, got, want[name])
			}
		}
		if via := requests[0].Header.Get("Via"); via != "1.1 fieldmark" {
			t.Errorf("Via: %q", via)
		}
	})
	t.Run("behind a proxy of connections", func(t *testing.T) {
		w := newRecordingOrigin(t, func(c *edge.Config) {
			c.ProxyProtocol = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
			c.TrustedNetworks = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
		})
		for client, want := range map[string]string{"\xc6\x33\x64\x07": "198.51.100.7", "\xc0\x00\x02\x01": "6.6.6.6"} {
			c, err := net.Dial("tcp", strings.TrimPrefix(w.base, "http://"))
			must(t, err)
			_, err = io.WriteString(c, "\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c"+client+
				"\x7f\x00\x00\x01\x10\x00\x00\x50")
			must(t, err)
			rawRequest(t, c, "POST /a HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 6.6.6.6\r\nContent-Length: 0\r\n\r\n")
			c.Close()
			_, requests := w.take()
			if got := requests[0].Header.Get("X-Forwarded-For"); got != want {
				t.Errorf("the origin saw the client %s, want %s", got, want)
			}
		}
	})
	t.Run("from trusted networks", func(t *testing.T) {
		w := newRecordingOrigin(t, func(c *edge.Config) {
			c.TrustedNetworks = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"),
				netip.MustParsePrefix("10.0.0.0/8")}
		})
		w.isFieldmarks.Store(true)
		w.answer = func(http.ResponseWriter, *http.Request) {}
		w.until("the origin has shown that it is Fieldmark's", func() bool {
			w.get("/" + rand.Text())
			_, requests := w.take()
			return len(requests) > 0 && requests[0].Header.Get(fieldmark.HeaderNode) == nodeToken
		})
		for _, tt := range []struct{ said, proto, want, wantProto string }{
			{"198.51.100.7", "https", "198.51.100.7", "https"},
			{"6.6.6.6, 198.51.100.7, 10.1.2.3", "https", "198.51.100.7", "https"},
			{"198.51.100.7:4711", "http", "198.51.100.7", "http"},
			{"2001:db8::1", "https", "2001:db8::1", "https"},
			{"[2001:db8::1]:99", "ftp", "2001:db8::1", "http"},
			{"unknown", "", "127.0.0.1", "http"},
			{"6.6.6.6, nonsense", "", "127.0.0.1", "http"},
			{"", "", "127.0.0.1", "http"},
		} {
			w.do("POST", "/a", "x", "X-Forwarded-For", tt.said, "X-Forwarded-Proto", tt.proto, "X-Forwarded-Host",
				"evil.example")
			_, requests := w.take()
			h := requests[0].Header
			got := []string{h.Get("X-Forwarded-For"), h.Get("X-Forwarded-Proto"), h.Get(fieldmark.HeaderClient),
				h.Get("X-Forwarded-Host")}
			if want := []string{tt.want, tt.wantProto, tt.want, ""}; !slices.Equal(got, want) {
				t.Errorf("said %q %q: the origin saw %q, want %q", tt.said, tt.proto, got, want)
			}
		}
		w.do("POST", site.PathLLMs, "name=Acme", "X-Forwarded-For", "198.51.100.7", "Content-Type",
			"application/x-www-form-urlencoded")
		asked, requests := w.take()
		if len(requests) != 1 || requests[0].Header.Get(fieldmark.HeaderClient) != "198.51.100.7" {
			t.Errorf("the form of the page for llms.txt: the origin saw %q from %v", asked, requests)
		}
	})
}

// TestNodeToken: the token and the client it vouches for are sent to an origin of
// Fieldmark's and to no other site, whatever a client says of itself.
func TestNodeToken(t *testing.T) {
	claim := []string{fieldmark.HeaderClient, "9.9.9.9", fieldmark.HeaderNode, "guess"}
	seen := make(chan http.Header, 1)
	note := func(_ http.ResponseWriter, r *http.Request) { seen <- r.Header }
	for _, tt := range []struct {
		name          string
		ask           func() *fixture
		client, token string
	}{
		{"Fieldmark's origin", func() *fixture { h := newFixture(t); h.docs = note; return h }, "127.0.0.1", nodeToken},
		{"another site", func() *fixture { w := newRecordingOrigin(t); w.answer = note; return w.fixture }, "", ""},
	} {
		h := tt.ask()
		for _, method := range []string{"GET", "POST"} {
			h.do(method, "/docs/"+rand.Text(), "", claim...)
			got := <-seen
			if got.Get(fieldmark.HeaderClient) != tt.client || got.Get(fieldmark.HeaderNode) != tt.token {
				t.Errorf("%s to %s: it saw the client %q and the token %q, want %q and %q",
					method, tt.name, got.Get(fieldmark.HeaderClient), got.Get(fieldmark.HeaderNode), tt.client,
					tt.token)
			}
		}
	}
}

// TestStrictTransport: the edge sends Strict-Transport-Security with its own pages over
// https; a site behind the edge sets its own.
func TestStrictTransport(t *testing.T) {
	w := newRecordingOrigin(t, func(c *edge.Config) {
		c.TrustedNetworks = []netip.Prefix{netip.MustParsePrefix(
			"127.0.0.0/8")}
	})
	for _, tt := range []struct{ path, scheme, want string }{
		{"/badges", "https", "max-age=31536000"}, {"/badges", "http", ""}, {"/theirs", "https", ""},
	} {
		if got := w.get(tt.path, "X-Forwarded-Proto",
			tt.scheme).header.Get("Strict-Transport-Security"); got != tt.want {
			t.Errorf("%s over %s: Strict-Transport-Security %q, want %q", tt.path, tt.scheme, got, tt.want)
		}
	}
}

// TestSchemeIsKeptApart: a response to a request over http, such as a redirect to https, is
// not served to requests over https.
func TestSchemeIsKeptApart(t *testing.T) {
	w := newRecordingOrigin(t, func(c *edge.Config) {
		c.TrustedNetworks = []netip.Prefix{netip.MustParsePrefix(
			"127.0.0.0/8")}
	})
	w.answer = func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Cache-Control", "public, max-age=60")
		io.WriteString(rw, r.Header.Get("X-Forwarded-Proto"))
	}
	for _, scheme := range []string{"http", "https", "http", "https"} {
		if a := w.get("/scheme", "X-Forwarded-Proto", scheme); a.body != scheme {
			t.Errorf("by %s: %q", scheme, a.body)
		}
	}
}

// TestIDs: a request's id and trace are carried if they are what they should be.
func TestIDs(t *testing.T) {
	w := newRecordingOrigin(t)
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for _, tt := range []struct {
		id   string
		kept bool
	}{{"my-own-id.0", true}, {"short", false}, {"has blank in it", false}, {strings.Repeat("x", 200), false},
		{"<script>alert(1)</script>", false}} {
		w.do("POST", "/ids?"+url.QueryEscape(tt.id), "x", "X-Request-Id", tt.id, "Traceparent", trace)
		_, requests := w.take()
		got := requests[0].Header.Get("X-Request-Id")
		if (got == tt.id) != tt.kept || !fieldmark.ValidRequestID(got) ||
			requests[0].Header.Get("Traceparent") != trace {
			t.Errorf("id %q: the origin saw %q and trace %q", tt.id, got, requests[0].Header.Get("Traceparent"))
		}
	}
}

// TestCORS: any site's scripts may use the public API with a key they were given,
// and nothing else.
func TestCORS(t *testing.T) {
	w := newRecordingOrigin(t)
	for _, tt := range []struct {
		method, path string
		shared       bool
		status       int
	}{
		{"OPTIONS", "/api/public/v1/missions", true, 204},
		{"OPTIONS", "/api/v1/llms-txt", true, 204},
		{"OPTIONS", "/api/v1/score/acme", true, 204},
		{"OPTIONS", "/api/admin/v1/keys", false, 200},
		{"GET", "/api/public/v1/missions", true, 200},
		{"GET", "/api/admin/v1/keys", false, 200},
		{"GET", "/admin", false, 200},
	} {
		a := w.do(tt.method, tt.path, "", "Origin", "https://shop.example", "Access-Control-Request-Method", "POST")
		got := a.header.Get("Access-Control-Allow-Origin")
		if a.status != tt.status || (got == "*") != tt.shared ||
			a.header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s %s: %d, shared with %q; want %d, %v", tt.method, tt.path, a.status, got, tt.status, tt.shared)
		}
	}
	if a := w.do("OPTIONS", "/api/public/v1/missions", "", "Access-Control-Request-Method",
		"POST"); !strings.Contains(a.header.Get("Access-Control-Allow-Headers"), "Idempotency-Key") {
		t.Errorf("preflight: %v", a.header)
	}
}

// TestPieces: the same bytes in other pieces are the same requests.
func TestPieces(t *testing.T) {
	w := newRecordingOrigin(t)
	sent := post + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n" + "GET /b HTTP/1.1\r\nHost: a\r\n\r\n" +
		post + "Content-Length: 2\r\n\r\nde" + "GET /c HTTP/1.1\nHost: a\r\n\r\n"
	for _, piece := range []int{1, 3, 50, 1000} {
		c, err := net.Dial("tcp", strings.TrimPrefix(w.base, "http://"))
		must(t, err)
		must(t, c.(*net.TCPConn).SetNoDelay(true))
		// The edge may close the connection within the last line, which it refuses, so that what is read decides.
		for b := []byte(sent); len(b) > 0 && err == nil; {
			n := min(piece, len(b))
			_, err = c.Write(b[:n])
			b = b[n:]
		}
		_ = c.(*net.TCPConn).CloseWrite()
		raw, _ := io.ReadAll(c)
		c.Close()
		asked, _ := w.take()
		if want := []string{"POST /target abc", "GET /b", "POST /target de"}; !cmp.Equal(asked, want) ||
			bytes.Count(raw, []byte("HTTP/1.1 200")) != 3 || bytes.Count(raw, []byte("HTTP/1.1 400")) != 1 {
			t.Errorf("in pieces of %d: the origin was asked %q, want %q\n%s", piece, asked, want, raw)
		}
	}
}

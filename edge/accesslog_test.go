package edge_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark/edge"
	"github.com/fieldmark/fieldmark/edge/accesslog"
	"github.com/fieldmark/fieldmark/edge/conn"
	"github.com/fieldmark/fieldmark/origin/client"
)

// logLine is a line of the access log.
type logLine struct {
	Address, Method, Host, Path, Protocol, Cache, RequestID string
	Status                                                  int
	Bytes                                                   int64
	MS                                                      float64
}

// String is what every test of a line checks.
func (l logLine) String() string {
	return fmt.Sprintf("%s %s %s%s %d %s", l.Protocol, l.Method, l.Host, l.Path, l.Status, cmp.Or(l.Cache, "-"))
}

// newAccessLog starts a log of everything into a file that the returned function reads.
func newAccessLog(t testing.TB) (l *accesslog.Log, lines func() (text string, all []logLine)) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "access.log")
	l, err := accesslog.Open(accesslog.Config{Path: path, Format: accesslog.JSON, Address: accesslog.Full, Sample: 1,
		Log: slog.New(slog.DiscardHandler)})
	must(t, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		must(t, <-done)
	})
	return l, func() (string, []logLine) {
		text, err := os.ReadFile(path)
		must(t, err)
		var all []logLine
		for line := range bytes.Lines(text) {
			var l logLine
			if !bytes.HasSuffix(line, []byte("\n")) {
				break // it is being written
			}
			must(t, json.Unmarshal(line, &l))
			all = append(all, l)
		}
		return string(text), all
	}
}

// TestAccessLog sends requests of all kinds over each protocol. Each has one line, with its
// result and without secrets.
func TestAccessLog(t *testing.T) {
	t.Parallel()
	accessLog, lines := newAccessLog(t)
	h := newProtocolFixture(t, func(cfg *edge.Config) { cfg.AccessLog = accessLog })
	large := strings.Repeat("x", 300_000)
	echo := echoes(t)
	h.docs = func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/docs/large":
			w.Header().Set("Content-Length", strconv.Itoa(len(large)))
			fmt.Fprint(w, large)
		case "/docs/cached":
			w.Header().Set("Cache-Control", "max-age=60")
			fmt.Fprint(w, "cached")
		case "/docs/broken":
			panic(http.ErrAbortHandler)
		default:
			echo(w, r)
		}
	}
	h.brand("acme", "Acme", 300)
	before := 0 // requests so far
	get := func(path string) answer { before++; return h.get(path) }
	h.catchUp()
	// Each protocol has another address, so its response is stored separately, some time after it was sent.
	h.until("what is requested twice is a hit", func() bool {
		hits := true
		for proto, base := range h.bases {
			before++
			req, err := http.NewRequest(http.MethodGet, base+"/docs/cached", nil)
			must(t, err)
			resp, err := h.clients[proto].RoundTrip(req)
			must(t, err)
			_, err = io.Copy(io.Discard, resp.Body)
			must(t, err)
			hits = hits && strings.HasPrefix(resp.Header.Get("Cache-Status"), "fieldmark; hit")
		}
		get("/api/badge/acme?theme=dark")
		get("/api/v1/score/acme")
		return get("/api/badge/acme").header.Get("Cache-Status") == "fieldmark; hit" && hits
	})
	tag := get("/api/badge/acme").header.Get("Etag")
	h.until("all that is logged", func() bool {
		_, all := lines()
		return len(all) == before
	})
	type wanted struct {
		line string // without the end of Cache
		size int    // of the body; -1: not checked
	}
	var want []wanted
	ids := map[string]bool{}
	for _, proto := range slices.Sorted(maps.Keys(h.clients)) {
		name := strings.TrimSuffix(proto, "c")
		for _, r := range []struct {
			method, target, want string
			header               []string
		}{
			{"GET", "/api/badge/acme", "/api/badge/acme 200 hit", nil},
			{"GET", "/api/badge/acme?theme=dark", "/api/badge/acme 200 hit", []string{"Authorization", "secret"}},
			{"GET", "/api/badge/acme?theme=dark", "/api/badge/acme 200 hit", []string{"Cookie", "a=secret"}},
			{"GET", "/api/badge/acme", "/api/badge/acme 304 hit", []string{"If-None-Match", tag}},
			{"HEAD", "/api/badge/acme", "/api/badge/acme 200 hit", nil},
			{"GET", "/api/v1/score/acme?x=secret", "/api/v1/score/acme 400 -", nil},
			{"GET", "/nowhere?key=secret", "/nowhere 404 ", nil},
			{"GET", "/calendar/secret.ics", "/calendar/\u2026 404 fwd=", nil},
			{"GET", "/t/secret/missions/x", "/t/\u2026 404 fwd=", nil},
			{"GET", "/portal/secret", "/portal/\u2026 404 fwd=", nil},
			{"POST", "/portal/secret", "/portal/\u2026 404 fwd=", nil},
			{"GET", "/portal/endpoints/x", "/portal/endpoints/x 404 fwd=", nil},
			{"GET", "/docs/large", "/docs/large 200 fwd=", nil},
			{"GET", "/docs/cached", "/docs/cached 200 hit; ttl=", nil},
			{"GET", "/docs/broken", "/docs/broken 503 -", nil},
			{"POST", "/api/badge/acme", "/api/badge/acme 405 -", []string{"X-Request-Id", "mine-" + proto}},
			{"GET", "/docs/cached", "/docs/cached 200 hit; ttl=", nil},
		} {
			req, err := http.NewRequest(r.method, h.bases[proto]+r.target, nil)
			must(t, err)
			for i := 0; i < len(r.header); i += 2 {
				req.Header.Set(r.header[i], r.header[i+1])
			}
			resp, err := h.clients[proto].RoundTrip(req)
			must(t, err)
			body, err := io.ReadAll(resp.Body)
			must(t, err)
			want = append(want, wanted{fmt.Sprintf("%s %s %s%s", name, r.method, req.URL.Host, r.want), len(body)})
			if id := resp.Header.Get("X-Request-Id"); id != "" {
				ids[id] = true
			}
		}
	}
	for _, raw := range []struct{ in, want string }{
		{"GET /docs/%zz?secret HTTP/1.1\r\nHost: x\r\n\r\n", "h1 GET /docs/%zz 400 -"},
		{"GET http://user:secret@x/%61 HTTP/1.1\r\nHost: x\r\n\r\n", "h1 GET /a 400 -"},
		{"GET /%63alendar/secret.ics HTTP/1.1\r\nHost: x\r\nBad Name: secret\r\n\r\n", "h1 GET /calendar/\u2026 400 -"},
		{"GET /a HTTP/1.1\r\nHost: x\r\nA: secret" + strings.Repeat("x", 17_000) + "\r\n\r\n", "h1 GET /a 431 -"},
		{"GET /" + strings.Repeat("x", 9000) + " HTTP/1.1\r\nHost: x\r\n\r\n",
			"h1 GET /" + strings.Repeat("x", 2048-len("GET /")) + " 414 -"},
		{"CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n", "h1 CONNECT  405 -"},
		{"POST /api/public/v1/missions HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n",
			"h1 POST x/api/public/v1/missions 413 -"},
		{"secret\x00\x01 garbage\r\n\r\n", ""},
	} {
		c, err := net.Dial("tcp", strings.TrimPrefix(h.base, "http://"))
		must(t, err)
		_, _ = rawRequest(t, c, raw.in)
		c.Close()
		if raw.want != "" {
			want = append(want, wanted{raw.want, -1})
		}
	}
	socket, in, _ := h.socket(socketGet + "\r\n")
	_, err := io.WriteString(socket, "one\nbye\n")
	must(t, err)
	rest, err := io.ReadAll(in)
	must(t, err)
	want = append(want, wanted{"h1 GET site.example/docs/socket 101 -", len(rest)})
	var got []logLine
	var text string
	h.until("every request is logged", func() bool {
		text, got = lines()
		got = got[before:]
		return len(got) >= len(want)
	})
	if strings.Contains(text, "secret") {
		t.Errorf("the log holds a secret:\n%s", text)
	}
	for _, w := range want {
		i := slices.IndexFunc(got, func(l logLine) bool {
			return strings.HasPrefix(l.String(), w.line) && (w.size < 0 || l.Bytes == int64(w.size))
		})
		if i < 0 {
			t.Errorf("no line %q with %d bytes", w.line, w.size)
			continue
		}
		if l := got[i]; l.Address != "127.0.0.1" || l.MS < 0 {
			t.Errorf("%s: client %s, %v ms", l, l.Address, l.MS)
		}
		delete(ids, got[i].RequestID)
		got = slices.Delete(got, i, i+1)
	}
	for _, l := range got {
		t.Errorf("an unexpected line: %s, %d bytes", l, l.Bytes)
	}
	if len(ids) > 0 {
		t.Errorf("no lines have the request ids %v", ids)
	}
}

// TestAccessLogOfHits checks that logging hits allocates nothing, also behind a trusted proxy,
// whose client is logged.
func TestAccessLogOfHits(t *testing.T) {
	accessLog, lines := newAccessLog(t)
	// The edge is not run: what others allocate in the meantime would count.
	target, err := url.Parse("http://127.0.0.1:1")
	must(t, err)
	asks, err := client.New(client.Config{BaseURL: target.String(), NodeToken: nodeToken})
	must(t, err)
	cfg := edge.Config{Origin: asks, OriginURL: target, NodeToken: nodeToken, BaseURL: "https://marks.example",
		AccessLog: accessLog}
	trustLoopback(&cfg)
	e, err := edge.New(cfg)
	must(t, err)
	defer e.Close()
	e.KeepBadge("/api/badge/acme", []byte("<svg/>"))
	head := []byte(plainGet + "X-Forwarded-For: 203.0.113.9, 198.51.100.7, 127.0.0.1\r\n\r\n")
	out, peer := make([]byte, 0, 8<<10), &conn.Peer{Addr: netip.MustParseAddr("127.0.0.1"), Protocol: "h1"}
	hit := func() bool {
		_, ok := e.AppendFastPathFrom(out, head, peer)
		return ok
	}
	for !hit() { // the cache has not stored it yet
		time.Sleep(time.Millisecond)
	}
	if n := leastAllocs(1000, func() { hit() }); n != 0 {
		t.Errorf("a hit that is logged allocates %v times", n)
	}
	for {
		if _, all := lines(); len(all) > 1000 {
			if got := all[1000]; got.String() != "h1 GET fieldmark.example/api/badge/acme 200 hit" ||
				got.Address != "198.51.100.7" || got.Bytes != int64(len("<svg/>")) {
				t.Errorf("the line is %s for %s, %d bytes", got, got.Address, got.Bytes)
			}
			return
		}
		time.Sleep(time.Millisecond)
	}
}

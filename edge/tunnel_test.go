package edge_test

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

const socketGet = "GET /docs/socket HTTP/1.1\r\nHost: site.example\r\nUpgrade: WebSocket\r\nConnection: keep-alive, " +
	"Upgrade\r\n" +
	"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nOrigin: https://site.example\r\n"

// echoes handles a WebSocket's handshake (RFC 6455, 4.2.2) and then echoes every line until
// it reads "bye".
func echoes(t testing.TB) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") == "" {
			fmt.Fprint(w, "no socket")
			return
		}
		if r.Header.Get("Upgrade") != "websocket" || r.Header.Get("Connection") != "Upgrade" ||
			r.Header.Get("X-Forwarded-For") == "" || r.Header.Get("Origin") != "https://site.example" {
			t.Errorf("the origin was asked with %v", r.Header)
		}
		sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
		conn, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprintf(rw, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: "+
			"Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
			base64.StdEncoding.EncodeToString(sum[:]))
		if rw.Flush() != nil {
			return
		}
		for {
			line, err := rw.ReadString('\n')
			if err != nil {
				return
			}
			fmt.Fprintf(rw, "echo %s", line)
			if rw.Flush() != nil || line == "bye\n" {
				return
			}
		}
	}
}

// socket opens a connection, sends what begins, and reads the head of the answer.
func (h *fixture) socket(begins string) (net.Conn, *bufio.Reader, *http.Response) {
	h.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.base, "http://"))
	must(h.t, err)
	h.t.Cleanup(func() { conn.Close() })
	must(h.t, conn.SetDeadline(time.Now().Add(waittest.Limit)))
	_, err = io.WriteString(conn, begins)
	must(h.t, err)
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, &http.Request{Method: "GET"})
	must(h.t, err)
	return conn, in, resp
}

// TestWebSocket: WebSocket, the only protocol that may be switched to, passes in both
// directions, whichever side closes it, and its bytes are not parsed as HTTP.
func TestWebSocket(t *testing.T) {
	h := newFixture(t)
	h.docs = echoes(t)
	says := func(conn net.Conn, in *bufio.Reader, lines ...string) {
		t.Helper()
		for _, line := range lines {
			_, err := io.WriteString(conn, line)
			must(t, err)
			if got, err := in.ReadString('\n'); got != "echo "+line {
				t.Fatalf("said %q: got %q, %v", line, got, err)
			}
		}
	}
	t.Run("the origin ends it", func(t *testing.T) {
		conn, in, resp := h.socket(socketGet + "\r\n")
		if resp.StatusCode != 101 || resp.Header.Get("Upgrade") != "websocket" ||
			resp.Header.Get("Connection") != "Upgrade" ||
			resp.Header.Get("Sec-WebSocket-Accept") != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" {
			t.Fatalf("handshake: %d %v", resp.StatusCode, resp.Header)
		}
		// The edge does not parse bytes that look like a request and accepts a bare line
		// feed.
		says(conn, in, "one\n", "GET /api/badge/acme HTTP/1.1\r\n", strings.Repeat("x", 100<<10)+"\n", "bye\n")
		if rest, err := io.ReadAll(in); len(rest) != 0 || err != nil {
			t.Errorf("after the end: %q, %v", rest, err)
		}
	})
	t.Run("the client ends it", func(t *testing.T) {
		conn, in, _ := h.socket(socketGet + "\r\n")
		says(conn, in, "one\n")
		must(t, conn.(*net.TCPConn).CloseWrite())
		if rest, err := io.ReadAll(in); len(rest) != 0 || err != nil {
			t.Errorf("after the end: %q, %v", rest, err)
		}
	})
	t.Run("the client speaks before it is answered", func(t *testing.T) {
		conn, in, _ := h.socket(socketGet + "\r\nearly\n")
		if got, _ := in.ReadString('\n'); got != "echo early\n" {
			t.Errorf("said early: got %q", got)
		}
		says(conn, in, "late\n")
	})
	t.Run("after other requests on the same connection", func(t *testing.T) {
		conn, in, resp := h.socket("GET /docs/plain HTTP/1.1\r\nHost: site.example\r\n\r\n")
		if body, _ := io.ReadAll(resp.Body); string(body) != "no socket" {
			t.Fatalf("first: %q", body)
		}
		_, err := io.WriteString(conn, socketGet+"\r\n")
		must(t, err)
		if resp, err = http.ReadResponse(in, nil); err != nil || resp.StatusCode != 101 {
			t.Fatalf("handshake: %v %v", resp, err)
		}
		says(conn, in, "one\n", "bye\n")
	})
	t.Run("no handshake, no tunnel", func(t *testing.T) {
		for name, head := range map[string]string{
			"Connection does not name it": strings.Replace(socketGet, "keep-alive, Upgrade", "keep-alive", 1),
			"another protocol":            strings.Replace(socketGet, "WebSocket\r", "h2c\r", 1),
		} {
			_, _, resp := h.socket(head + "Connection: close\r\n\r\n")
			if body, _ := io.ReadAll(resp.Body); resp.StatusCode != 200 || string(body) != "no socket" {
				t.Errorf("%s: %d %q, want an ordinary answer", name, resp.StatusCode, body)
			}
		}
	})
}

package conn_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

// TestDrainAborts drains a server whose handler waits for something else than its client: the
// limit ends that wait, over each protocol, and so does a client that resets its stream.
func TestDrainAborts(t *testing.T) {
	for _, proto := range []string{"h1", "h1s", "h2", "h2 reset"} {
		t.Run(proto, func(t *testing.T) {
			cfg := testConfig()
			cfg.Handler = func(ctx *fasthttp.RequestCtx) {
				origin, body := io.Pipe()
				ctx.Conn().(interface{ OnAbort(func()) }).OnAbort(func() { _ = origin.CloseWithError(io.EOF) })
				ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
					_, _ = w.WriteString("first")
					_ = w.Flush()
					_, _ = body.Write([]byte("nobody reads this"))
				})
			}
			s := startServer(t, cfg, proto != "h1")
			c := s.client()
			if !strings.HasPrefix(proto, "h2") {
				c = &http.Client{Timeout: 2 * time.Minute, Transport: &http.Transport{TLSClientConfig: s.tls,
					DialContext: func(context.Context, string, string) (net.Conn,
						error) {
						return net.Dial("tcp", s.addr)
					}}}
				defer c.CloseIdleConnections()
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, "GET", s.url("/x"), nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if _, err := io.ReadFull(resp.Body, make([]byte, 5)); err != nil {
				t.Fatal(err)
			}
			if proto == "h2 reset" {
				cancel()
				waittest.Until(t, "the stream ends", func() bool { return s.streams() == 0 })
				return
			}
			if closed := s.Drain(0); closed != 1 {
				t.Errorf("%d connections were closed, want 1", closed)
			}
		})
	}
}

// streams returns the number of open streams.
func (s *testServer) streams() (n int) {
	var metrics bytes.Buffer
	s.WriteMetrics(&metrics)
	_, after, _ := strings.Cut(metrics.String(), "fieldmark_edge_streams ")
	_, _ = fmt.Sscan(after, &n)
	return n
}

package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/porttest"
	"github.com/fieldmark/fieldmark/internal/timeout"
	"github.com/fieldmark/fieldmark/origin/client"
)

func TestOriginAway(t *testing.T) {
	c := dial(t, client.Config{BaseURL: "http://" + porttest.Address(t)})
	_, err := c.ModulePlan(t.Context())
	if !fieldmark.IsCode(err, fieldmark.CodeOriginUnavailable) || !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("no listener: %v, want origin_unavailable because the connection was refused", err)
	}
	if _, err := c.CompleteMission(t.Context(), "msn_x"); !fieldmark.IsCode(err, fieldmark.CodeOriginUnavailable) {
		t.Errorf("no listener for a POST: %v, want origin_unavailable", err)
	}
}

// TestTokenWithControlCharacter: a token that no header field can contain is a wrong token, not a failure of the
// origin.
func TestTokenWithControlCharacter(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	_, err := dial(t, client.Config{BaseURL: server.URL}).Claim(t.Context(), "clm_x", "a\x01b")
	if !fieldmark.IsCode(err, fieldmark.CodeInvalidAPIKey) {
		t.Errorf("a secret with a control character: %v, want %s", err, fieldmark.CodeInvalidAPIKey)
	}
}

// TestRetry counts attempts: only a GET whose connection broke before a response is sent
// a second time.
func TestRetry(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	get := func(ctx context.Context, c *client.Client) error { _, err := c.ModulePlan(ctx); return err }
	post := func(ctx context.Context, c *client.Client) error { return c.RequestAudit(ctx, "a") }
	tests := []struct {
		name     string
		call     func(context.Context, *client.Client) error
		failures []error
		attempts int
		want     fieldmark.Code // empty: success
	}{
		{"refused once", get, []error{refused}, 2, ""},
		{"dropped once", get, []error{io.EOF}, 2, ""},
		{"reset once", get, []error{fmt.Errorf("read: %w", syscall.ECONNRESET)}, 2, ""},
		{"refused twice", get, []error{refused, refused}, 2, fieldmark.CodeOriginUnavailable},
		{"unknown trouble", get, []error{errors.New("no route in the bubble")}, 1, fieldmark.CodeOriginUnavailable},
		{"a write", post, []error{refused}, 1, fieldmark.CodeOriginUnavailable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			attempts := 0
			c := dial(t, client.Config{BaseURL: "http://origin.test",
				Transport: roundTrip(func(*http.Request) (*http.Response,
					error) {
					attempts++
					if attempts <= len(tt.failures) {
						return nil, tt.failures[attempts-1]
					}
					return answer(200, "application/json", `{"name":"m"}`), nil
				})})
			err := tt.call(t.Context(), c)
			if attempts != tt.attempts || (err == nil) != (tt.want == "") ||
				err != nil && !fieldmark.IsCode(err, tt.want) {
				t.Errorf("%d attempts and %v, want %d and %q", attempts, err, tt.attempts, tt.want)
			}
		})
	}
}

func answer(status int, mediaType, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {mediaType}, fieldmark.HeaderAsOf: {"1"}},
		Body: io.NopCloser(strings.NewReader(body)),
	}
}

// TestSilence: the origin reads the request and never sends a response.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, client.Config{BaseURL: "http://origin.test",
			Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				<-r.Context().Done()
				return nil, r.Context().Err()
			})})
		for _, tt := range []struct {
			name string
			call func(context.Context) error
			want time.Duration
		}{
			{"an ordinary call", func(ctx context.Context) error { _, err := c.ModulePlan(ctx); return err },
				15 * time.Second * timeout.Scale},
			{"a poll", func(ctx context.Context) error {
				_, err := c.Events(ctx, fieldmark.EventCursor{}, 25*time.Second)
				return err
			}, 35 * time.Second},
			{"a poll that asks for too much", func(ctx context.Context) error {
				_, err := c.Events(ctx, fieldmark.EventCursor{}, time.Hour)
				return err
			}, 35 * time.Second},
			{"an impatient caller", func(ctx context.Context) error {
				ctx, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				_, _, err := c.BrandState(ctx, "a")
				return err
			}, time.Second},
		} {
			began := time.Now()
			err := tt.call(t.Context())
			if took := time.Since(began); took != tt.want || !fieldmark.IsCode(err, fieldmark.CodeTimeout) ||
				!errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v after %v, want timeout after %v", tt.name, err, took, tt.want)
			}
		}
	})
}

// stalling is a body whose bytes stop after the first, until the request is canceled.
type stalling struct {
	ctx  context.Context
	sent bool
}

func (b *stalling) Read(p []byte) (int, error) {
	if !b.sent {
		b.sent = true
		return copy(p, "x"), nil
	}
	<-b.ctx.Done()
	return 0, b.ctx.Err()
}

func (b *stalling) Close() error { return nil }

// TestStalledRange: a part of a ranking file is given up when its bytes stop, long before its timeout.
func TestStalledRange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := true
		c := dial(t, client.Config{BaseURL: "http://origin.test", NodeToken: "node",
			Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				if r.Header.Get("Range") == "" {
					a := answer(401, fieldmark.ProblemType, `{"code":"invalid_api_key","status":401}`)
					a.Header.Set("WWW-Authenticate", `Bearer realm="node"`)
					return a, nil
				}
				a := answer(http.StatusPartialContent, "application/octet-stream", "four")
				a.ContentLength = 4
				if hangs {
					a.Body = &stalling{ctx: r.Context()}
				}
				return a, nil
			})})
		f := &fieldmark.RankingFile{SHA256: "a"}
		ask := func(stalls time.Duration) (string, error) {
			t.Helper()
			began := time.Now()
			b, err := c.RankingFileRange(t.Context(), f, 0, 4)
			if took := time.Since(began); took != stalls {
				t.Errorf("%+v: after %v, want %v", f, took, stalls)
			}
			return string(b), err
		}
		if _, err := ask(5 * time.Second * timeout.Scale); !fieldmark.IsCode(err, fieldmark.CodeTimeout) {
			t.Errorf("an origin that hangs: %v", err)
		}
		hangs = false
		if b, err := ask(0); err != nil || b != "four" {
			t.Errorf("asked again: %q %v", b, err)
		}
	})
}

// TestBadAnswers covers responses that a correct origin never sends.
func TestBadAnswers(t *testing.T) {
	each := func(c *client.Client) error {
		_, _, err := c.BrandStates(context.Background(), "", 100, false,
			func(fieldmark.BrandState) error { return nil })
		return err
	}
	one := func(c *client.Client) error { _, err := c.ModulePlan(context.Background()); return err }
	module := func(c *client.Client) error { _, err := c.Module(context.Background(), "sha256:0"); return err }
	line := `{"brand":{"slug":"a"}}` + "\n"
	tests := []struct {
		name   string
		call   func(*client.Client) error
		answer *http.Response
		want   fieldmark.Code // empty: success
	}{
		{"lines", each, answer(200, "application/x-ndjson", line+"\n"+line), ""},
		{"long line", each, answer(200, "application/x-ndjson", `{"factsDigest":"`+strings.Repeat("x",
			200<<10)+"\"}\n"+line), ""},
		{"cut off in a line", each, answer(200, "application/x-ndjson", line+`{"brand":`),
			fieldmark.CodeOriginUnavailable},
		{"endless line", each, answer(200, "application/x-ndjson", strings.Repeat("x", 2<<20)), fieldmark.CodeInternal},
		{"not JSON in a line", each, answer(200, "application/x-ndjson", "x\n"), fieldmark.CodeInternal},
		{"endless answer", one, answer(200, "application/json", strings.Repeat(" ", 9<<20)), fieldmark.CodeInternal},
		{"not JSON", one, answer(200, "application/json", "<html>"), fieldmark.CodeInternal},
		{"too large a module", module, answer(200, "application/wasm", strings.Repeat("x", fieldmark.MaxAnyModule+1)),
			fieldmark.CodeInternal},
		{"a proxy without origin", one, answer(502, "text/html", "<html>"), fieldmark.CodeOriginUnavailable},
		{"a proxy out of patience", one, answer(504, "text/html", "<html>"), fieldmark.CodeTimeout},
		{"a problem of another product", one, answer(400, fieldmark.ProblemType, `{"title":"x"}`),
			fieldmark.CodeInternal},
		{"a redirect", one, answer(302, "text/html", ""), fieldmark.CodeInternal},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := dial(t, client.Config{BaseURL: "http://origin.test",
				Transport: roundTrip(func(*http.Request) (*http.Response,
					error) {
					return tt.answer, nil
				})})
			err := tt.call(c)
			if (err == nil) != (tt.want == "") || err != nil && !fieldmark.IsCode(err, tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}

	busy := answer(503, fieldmark.ProblemType, `{"code":"overloaded","status":503}`)
	busy.Header.Set("Retry-After", "3")
	c := dial(t, client.Config{BaseURL: "http://origin.test", Transport: roundTrip(func(*http.Request) (*http.Response,
		error) {
		return busy, nil
	})})
	if e := fieldmark.AsError(one(c)); e.Code != fieldmark.CodeOverloaded || e.RetryAfter != 3*time.Second {
		t.Errorf("a busy origin: %v after %v, want overloaded after 3s", e, e.RetryAfter)
	}
}

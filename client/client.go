package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
)

// The environment variables that New reads.
const (
	EnvURL = "FIELDMARK_URL"
	EnvKey = "FIELDMARK_API_KEY"
)

// The limits of a call.
const (
	// DefaultTimeout is that of one attempt. It is longer than those of the server, so that callers get the
	// error of the server and not only a timeout.
	DefaultTimeout = 15 * time.Second

	maxRetries    = 3                // of one call, with at most maxRetryAfter between two attempts
	maxRetryAfter = 30 * time.Second // a longer Retry-After is returned to the caller with the error
	firstPause    = 100 * time.Millisecond

	maxResponse = 8 << 20  // bytes of a response: far above the largest page of missions
	maxProblem  = 64 << 10 // bytes of a problem document: fifty errors with long pointers fit
	maxDrain    = 4 << 10  // bytes read from an unused body so that its connection can be reused
)

// Config is the address of the API and the credentials. The zero value takes both from the environment.
type Config struct {
	BaseURL string            // scheme and host; empty: $FIELDMARK_URL
	Key     string            // an API key; empty: $FIELDMARK_API_KEY. Scores need none
	Timeout time.Duration     // of one attempt; 0: DefaultTimeout
	HTTP    http.RoundTripper // nil: http.DefaultTransport
}

// Client calls the API. It is safe for concurrent use.
type Client struct {
	base    string
	key     string
	timeout time.Duration
	http    *http.Client
}

// New returns a client. It does not connect.
func New(cfg Config) (*Client, error) {
	base := cmp.Or(cfg.BaseURL, os.Getenv(EnvURL))
	u, err := url.Parse(base)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.User != nil {
		return nil, fieldmark.Errorf(fieldmark.CodeInvalidParameter,
			"the base URL (Config.BaseURL or $%s) must be http or https, a host and at most a path", EnvURL)
	}
	return &Client{
		base: strings.TrimSuffix(base, "/"), key: cmp.Or(cfg.Key, os.Getenv(EnvKey)),
		timeout: cmp.Or(cfg.Timeout, DefaultTimeout),
		http: &http.Client{
			Transport: cmp.Or[http.RoundTripper](cfg.HTTP, http.DefaultTransport),
			// The API never redirects; following one would carry the key elsewhere.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// Write is how a call changes data. A nil *Write is the zero value.
type Write struct {
	DryRun         bool   // validate and run the change, return its result, and undo it
	Version        int64  // change only this version of the mission; 0: any
	IdempotencyKey string // identifies the change across calls; empty: one for this call and its repetitions
}

// Do calls any operation of the API: it sends in as JSON, which may be nil, and decodes the response into
// out, which may be nil. Path begins with /api/.
func (c *Client) Do(ctx context.Context, method, path string, in, out any, w *Write) error {
	r := request{method: method, path: path}
	if w == nil {
		w = &Write{}
	}
	if method != http.MethodGet {
		r.idempotencyKey = cmp.Or(w.IdempotencyKey, rand.Text())
		r.setWrite(w)
	}
	return c.do(ctx, r, in, out)
}

// request is one call.
type request struct {
	method, path   string // path with its query
	idempotencyKey string // empty: the call has a natural key, or reads
	ifMatch        string
	body           []byte
}

func (r *request) setWrite(w *Write) {
	if w.DryRun {
		separator := "?"
		if strings.Contains(r.path, "?") {
			separator = "&"
		}
		r.path += separator + "dryRun=true"
	}
	if w.Version > 0 {
		r.ifMatch = strconv.Quote(strconv.FormatInt(w.Version, 10))
	}
}

// do sends a request, again where that is useful, and decodes the response into out. Every request that
// reaches it can be repeated: it reads, or has a natural key or an Idempotency-Key.
func (c *Client) do(ctx context.Context, r request, in, out any) error {
	if in != nil {
		var err error
		if r.body, err = json.Marshal(in); err != nil {
			return &fieldmark.Error{Code: fieldmark.CodeMalformedJSON, Detail: "the request cannot be encoded",
				Err: err}
		}
	}
	for attempt := 0; ; attempt++ {
		body, err := c.attempt(ctx, r)
		if err == nil {
			if out == nil {
				return nil
			}
			if err := json.Unmarshal(body, out); err != nil {
				return &fieldmark.Error{Code: fieldmark.CodeInternal, Detail: "the response is not valid JSON",
					Err: err}
			}
			return nil
		}
		pause, ok := pauseAfter(err, attempt)
		if !ok || attempt == maxRetries {
			return err.err
		}
		select {
		case <-ctx.Done():
			return err.err
		case <-time.After(pause):
		}
	}
}

// attemptError is the error of one attempt.
type attemptError struct {
	err        *fieldmark.Error
	temporary  bool // another attempt may succeed
	retryAfter bool // the response has Retry-After, which is in err
}

// pauseAfter returns how long to wait before the next attempt, and whether one is worth it.
func pauseAfter(e *attemptError, attempt int) (time.Duration, bool) {
	if !e.temporary || e.err.RetryAfter > maxRetryAfter {
		return 0, false
	}
	if e.retryAfter {
		return e.err.RetryAfter, true
	}
	// A random half, so that clients that failed together do not return together.
	half := firstPause << attempt / 2
	n, err := rand.Int(rand.Reader, big.NewInt(int64(half)))
	if err != nil {
		return 2 * half, true
	}
	return half + time.Duration(n.Int64()), true
}

// attempt sends a request once and returns the body of the response.
func (c *Client) attempt(ctx context.Context, r request) ([]byte, *attemptError) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.method, c.base+r.path, bytes.NewReader(r.body))
	if err != nil {
		return nil, &attemptError{err: &fieldmark.Error{Code: fieldmark.CodeInvalidParameter,
			Detail: "the address is not valid", Err: err}}
	}
	req.Header.Set("Accept", "application/json, "+fieldmark.ProblemType)
	for name, value := range map[string]string{"Authorization": c.authorization(), "If-Match": r.ifMatch,
		fieldmark.HeaderIdempotencyKey: r.idempotencyKey} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, connectionError(ctx, err)
	}
	defer func() {
		_, _ = io.CopyN(io.Discard, resp.Body, maxDrain)
		_ = resp.Body.Close()
	}()
	if resp.StatusCode >= 300 {
		return nil, responseError(resp)
	}
	body, err := readAll(resp.Body, maxResponse)
	if errors.Is(err, errTooLarge) {
		return nil, &attemptError{err: &fieldmark.Error{Code: fieldmark.CodeInternal, Detail: err.Error()}}
	} else if err != nil {
		return nil, connectionError(ctx, err)
	}
	return body, nil
}

func (c *Client) authorization() string {
	if c.key == "" {
		return ""
	}
	return "Bearer " + c.key
}

// connectionError returns the error of a request without a complete response. A timeout is not repeated: the
// caller has waited long enough.
func connectionError(ctx context.Context, err error) *attemptError {
	if timeout, ok := errors.AsType[net.Error](err); ctx.Err() != nil || ok && timeout.Timeout() {
		return &attemptError{err: &fieldmark.Error{Code: fieldmark.CodeTimeout,
			Detail: "the server did not answer in time", Err: err}}
	}
	return &attemptError{temporary: true, err: &fieldmark.Error{Code: fieldmark.CodeOriginUnavailable,
		Detail: "the connection failed", Err: err}}
}

// responseError returns the error of a response that is not successful.
func responseError(resp *http.Response) *attemptError {
	e := &attemptError{err: &fieldmark.Error{Code: fieldmark.CodeInternal,
		Detail: fmt.Sprintf("status %d without a problem document", resp.StatusCode)}}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind == fieldmark.ProblemType {
		var p fieldmark.Problem
		if body, err := readAll(resp.Body, maxProblem); err == nil && json.Unmarshal(body, &p) == nil && p.Code != "" {
			e.err = p.Err()
		}
	} else if resp.StatusCode == http.StatusServiceUnavailable {
		e.err.Code = fieldmark.CodeOriginUnavailable // from a proxy
	} else if resp.StatusCode == http.StatusTooManyRequests {
		e.err.Code = fieldmark.CodeRateLimited
	}
	if s, err := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 31); err == nil {
		e.err.RetryAfter, e.retryAfter = time.Duration(s)*time.Second, true
	}
	e.temporary = resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable ||
		e.err.Code == fieldmark.CodeIdempotencyInFlight // an attempt whose connection was lost is still running
	return e
}

var errTooLarge = fmt.Errorf("the response exceeds %d bytes", maxResponse)

// readAll reads at most limit bytes.
func readAll(r io.Reader, limit int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(b)) > limit {
		return nil, errTooLarge
	}
	return b, err
}

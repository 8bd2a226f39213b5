package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fieldmark/fieldmark"
)

// Bounds on one call. Each is longer than the origin's own limit for the same
// route, so that its clear answer wins over our silence.
const (
	callTimeout = 15 * time.Second // an ordinary request and its whole answer
	bulkTimeout = 90 * time.Second // an import, or the state of every brand
	pageTimeout = 30 * time.Second // a page of brands with their facts: 12 MB at 4 Mbit/s
	pollMargin  = 10 * time.Second // beyond the time an event poll may hang

	maxAnswer = 8 << 20 // bytes of one JSON answer: far above the largest page of missions
	maxLine   = 1 << 20 // bytes of one brand's state: every fact with full evidence fits
	maxDrain  = 4 << 10 // bytes read from an unwanted body to keep its connection

	// retryPause lets a restarting origin open its listener again.
	retryPause = 50 * time.Millisecond
)

// Config says where the origin is and who asks.
type Config struct {
	BaseURL   string            // of the origin or, for admin calls, of an edge in front of it
	Transport http.RoundTripper // nil: a pooled transport of the client's own
	NodeToken string            // for the internal calls
	Key       string            // an API key, for all other calls
}

// Client asks one origin. It is safe for concurrent use.
type Client struct {
	base      string
	http      *http.Client
	nodeToken string
	key       string

	isOrigin atomic.Bool // the server has shown that it is an origin of Fieldmark's

	edition atomic.Pointer[string] // of the origin, as its last page of events told
}

// New checks cfg; it connects to nothing.
func New(cfg Config) (*Client, error) {
	u, err := url.Parse(cfg.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("origin client: base URL: %w", err)
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.User != nil {
		return nil, errors.New("origin client: base URL must be http or https, a host and at most a path")
	}
	transport := cfg.Transport
	if transport == nil {
		transport = newTransport()
	}
	return &Client{
		base: strings.TrimSuffix(u.String(), "/"),
		http: &http.Client{
			Transport: transport,
			// The origin never redirects; following one would carry a token elsewhere.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		nodeToken: cfg.NodeToken,
		key:       cfg.Key,
	}, nil
}

// newTransport pools connections to one host and asks for no compression, which
// only costs time inside a data centre.
func newTransport() http.RoundTripper {
	dialer := &net.Dialer{Timeout: 3 * time.Second, KeepAlive: 15 * time.Second}
	return &http.Transport{
		DialContext:           dialer.DialContext,
		DisableCompression:    true,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   64, // one host gets them all
		IdleConnTimeout:       60 * time.Second,
		TLSHandshakeTimeout:   5 * time.Second,
		ExpectContinueTimeout: time.Second,
		Proxy:                 http.ProxyFromEnvironment,
	}
}

// CloseIdle closes the connections that nothing is using.
func (c *Client) CloseIdle() { c.http.CloseIdleConnections() }

// call is one request before it is sent.
type call struct {
	method string
	path   string // with its query
	token  string
	body   any           // sent as JSON; nil: no body
	raw    []byte        // sent as it is, in place of body
	kind   string        // media type of raw; empty: JSON
	within time.Duration // zero: callTimeout

	lastEvent string // HeaderLastEvent; empty: none
}

// do sends r and decodes a JSON answer into out, which may be nil.
func (c *Client) do(ctx context.Context, r call, out any) (http.Header, error) {
	var header http.Header
	err := c.read(ctx, r, func(resp *http.Response) error {
		header = resp.Header
		if out == nil {
			return nil
		}
		body, err := readAll(resp.Body, maxAnswer)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(body, out); err != nil {
			return &fieldmark.Error{Code: fieldmark.CodeInternal, Err: fmt.Errorf("decode the origin's answer: %w", err)}
		}
		return nil
	})
	return header, err
}

// read sends r and hands a good answer to fn; everything it gave fn ends with it.
func (c *Client) read(ctx context.Context, r call, fn func(*http.Response) error) error {
	if r.within == 0 {
		r.within = callTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, r.within)
	defer cancel()

	resp, err := c.send(ctx, r)
	if err == nil {
		defer drain(resp.Body)
		if resp.StatusCode >= 300 {
			err = refusal(resp)
		} else {
			err = fn(resp)
		}
	}
	if err != nil {
		path, _, _ := strings.Cut(r.path, "?")
		return fmt.Errorf("%s %s: %w", r.method, path, transportError(ctx, err))
	}
	return nil
}

// send makes one request, and a second one if it is a GET whose connection
// broke before a byte of an answer came.
func (c *Client) send(ctx context.Context, r call) (*http.Response, error) {
	body := r.raw
	if r.body != nil {
		var err error
		if body, err = json.Marshal(r.body); err != nil {
			return nil, fmt.Errorf("encode request: %w", err)
		}
	}
	if r.token != "" && r.token == c.nodeToken {
		if err := c.checkOrigin(ctx); err != nil {
			return nil, err
		}
	}
	resp, err := c.sendOnce(ctx, r, body)
	if err == nil || r.method != http.MethodGet || !brokeOff(err) {
		return resp, err
	}
	select {
	case <-ctx.Done():
		return nil, err
	case <-time.After(retryPause):
	}
	return c.sendOnce(ctx, r, body)
}

// checkOrigin asks for the event log without a token, once. Only an origin of
// Fieldmark's refuses that by naming the token it wants, or answers with a log. The
// node token must not be sent to any other server: an edge may be set up before the
// wrong address, and a server can show its clients every field it gets.
func (c *Client) checkOrigin(ctx context.Context) error {
	if c.isOrigin.Load() {
		return nil
	}
	resp, err := c.sendOnce(ctx, call{method: http.MethodGet, path: fieldmark.PathInternalEvents}, nil)
	if err != nil {
		return err
	}
	defer drain(resp.Body)
	var page fieldmark.EventPage
	switch {
	case resp.StatusCode == http.StatusUnauthorized && strings.Contains(resp.Header.Get("WWW-Authenticate"), `realm="node"`):
	case resp.StatusCode == http.StatusOK && json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&page) == nil && page.Log != "":
	case resp.StatusCode >= http.StatusInternalServerError:
		return refusal(resp) // it may be an origin that cannot answer now
	default:
		return fmt.Errorf("%s is no Fieldmark origin: asked for events without the node token it answered %s; the token is not sent", c.base, resp.Status)
	}
	c.isOrigin.Store(true)
	return nil
}

func (c *Client) sendOnce(ctx context.Context, r call, body []byte) (*http.Response, error) {
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, c.base+r.path, reader)
	if err != nil {
		return nil, fmt.Errorf("build request: %w", err)
	}
	if body != nil {
		req.Header.Set("Content-Type", cmp.Or(r.kind, "application/json"))
	}
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	if r.lastEvent != "" {
		req.Header.Set(fieldmark.HeaderLastEvent, r.lastEvent)
	}
	req.Header.Set("Accept", "application/json, "+fieldmark.ProblemType)
	return c.http.Do(req)
}

// brokeOff reports whether a connection failed to come about or was dropped, as
// opposed to being slow or being given up by the caller.
func brokeOff(err error) bool {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return !op.Timeout()
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EPIPE)
}

// drain reads a little of what is left, so that the connection can be used again,
// and closes.
func drain(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, maxDrain)
	_ = body.Close()
}

// readAll reads an answer that must not exceed limit bytes.
func readAll(r io.Reader, limit int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > limit {
		return nil, &fieldmark.Error{Code: fieldmark.CodeInternal, Err: fmt.Errorf("the origin's answer exceeds %d bytes", limit)}
	}
	return b, nil
}

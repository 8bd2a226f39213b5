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
	"unicode"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/client"
	"github.com/fieldmark/fieldmark/internal/timeout"
)

// The limits of one call. Timeouts are longer than those of the origin, so that callers get the origin's error
// and not only a timeout.
const (
	callTimeout = 15 * time.Second * timeout.Scale // an ordinary request and its response
	bulkTimeout = 90 * time.Second                 // an import, or the state of every brand
	pageTimeout = 30 * time.Second                 // a page of brands with their facts: 12 MB at 4 Mbit/s
	// rangeTimeout is that of a part of a ranking file: 4 MB at 1 Mbit/s.
	rangeTimeout = 30 * time.Second * timeout.Scale
	// stallTimeout is how long such a part may send no byte: an edge that starts should not wait for a connection
	// that hangs, as another one or another origin has the same bytes.
	stallTimeout = 5 * time.Second * timeout.Scale
	pollMargin   = 10 * time.Second // on top of the wait of an event poll

	maxResponse = 8 << 20 // bytes of a JSON response: far above the largest page of missions
	maxLine     = 1 << 20 // bytes of one brand's state: every fact with full evidence fits
	maxDrain    = 4 << 10 // bytes read from an unused body so that its connection can be reused

	// retryPause gives a restarting origin time to open its listener.
	retryPause = 50 * time.Millisecond
)

// Config holds the address of the origin and the credentials.
type Config struct {
	BaseURL   string            // of the origin or, for admin calls, of an edge in front of it
	Transport http.RoundTripper // nil: a pooled transport
	NodeToken string            // for the internal calls
	Key       string            // an API key, for all other calls
}

// Client calls one origin. Its calls are grouped by who makes them. It is safe for
// concurrent use.
type Client struct {
	*caller
	integratorAPI

	AccessRequestAPI
	AdminAPI
	CDNAPI
	CertificateAPI
	ClaimAPI
	InternalAPI
	LinkAPI
	MissionAPI
	ModerationAPI
	MonitorAPI
	OwnerAPI
	PaymentAPI
	PublicAPI
	SLAAPI
	SigningKeyAPI
	WebhookAPI
}

// integratorAPI is the client for integrators, with the calls that commands make as one. Where a group below
// has a call of the same name, it is that of administrators on all accounts.
type integratorAPI struct{ *client.Client }

// caller sends requests and decodes responses.
type caller struct {
	base      string
	http      *http.Client
	direct    *http.Client // for addresses that the origin names
	nodeToken string
	key       string

	verified atomic.Bool // the server has shown that it is a Fieldmark origin

	originVersion atomic.Pointer[string] // by its last page of events
	wholeLogUntil atomic.Int64           // until when all events are requested, in nanoseconds since 1970
	minEvent      atomic.Pointer[string] // HeaderMinEvent of requests for facts; nil: none
}

// New returns a client. It does not connect.
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
	// The origin never redirects; following one would carry a token elsewhere.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c := &caller{
		base:      strings.TrimSuffix(u.String(), "/"),
		http:      &http.Client{Transport: transport, CheckRedirect: stay},
		direct:    &http.Client{Transport: newTransport(), CheckRedirect: stay},
		nodeToken: cfg.NodeToken,
		key:       cfg.Key,
	}
	public, err := client.New(client.Config{BaseURL: cfg.BaseURL, Key: cfg.Key, Timeout: callTimeout,
		HTTP: transport})
	if err != nil {
		return nil, fmt.Errorf("origin client: %w", err)
	}
	return &Client{c, integratorAPI{public}, AccessRequestAPI{c, ""},
		AdminAPI{c}, CDNAPI{c}, CertificateAPI{c}, ClaimAPI{c, ""}, InternalAPI{c},
		LinkAPI{c}, MissionAPI{c},
		ModerationAPI{c}, MonitorAPI{c}, OwnerAPI{c}, PaymentAPI{c}, PublicAPI{c}, SLAAPI{c}, SigningKeyAPI{c},
		WebhookAPI{c}}, nil
}

// newTransport pools connections to one host. Compression is off, because it costs time within a data center.
func newTransport() http.RoundTripper {
	dialer := &net.Dialer{Timeout: 3 * time.Second, KeepAlive: 15 * time.Second}
	return &http.Transport{
		DialContext:           dialer.DialContext,
		DisableCompression:    true,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   64, // all connections are to one host
		IdleConnTimeout:       60 * time.Second,
		TLSHandshakeTimeout:   5 * time.Second,
		ExpectContinueTimeout: time.Second,
		Proxy:                 http.ProxyFromEnvironment,
	}
}

// CloseIdle closes idle connections.
func (c *caller) CloseIdle() {
	c.http.CloseIdleConnections()
	c.direct.CloseIdleConnections()
}

// call is one request before it is sent.
type call struct {
	method      string
	path        string // with its query
	token       string
	body        any           // sent as JSON; nil: no body
	raw         []byte        // sent instead of body
	contentType string        // of raw; empty: JSON
	timeout     time.Duration // 0: callTimeout
	header      map[string]string

	lastEvent string // HeaderLastEvent; empty: none
	minEvent  string // HeaderMinEvent; empty: none
	ifMatch   string // If-Match; empty: none
	client    string // HeaderClient, for edges; empty: none
}

// do sends r and decodes the JSON response into out, which may be nil.
func (c *caller) do(ctx context.Context, r call, out any) (http.Header, error) {
	var header http.Header
	err := c.read(ctx, r, func(resp *http.Response) error {
		header = resp.Header
		if out == nil {
			return nil
		}
		body, err := readAll(resp.Body, maxResponse)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(body, out); err != nil {
			return &fieldmark.Error{Code: fieldmark.CodeInternal,
				Err: fmt.Errorf("decode the origin's response: %w", err)}
		}
		return nil
	})
	return header, err
}

// read sends r and calls fn with a successful response, whose body is closed when read returns.
func (c *caller) read(ctx context.Context, r call, fn func(*http.Response) error) error {
	if r.timeout == 0 {
		r.timeout = callTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()

	if strings.ContainsFunc(r.token, unicode.IsControl) { // net/http reports it as a failed connection
		return fieldmark.Errorf(fieldmark.CodeInvalidAPIKey, "the key or secret contains control characters")
	}
	resp, err := c.send(ctx, r)
	if err == nil {
		defer drain(resp.Body)
		if resp.StatusCode >= 300 {
			err = responseError(resp)
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

// send sends a request, and repeats a GET once if its connection failed before the response.
func (c *caller) send(ctx context.Context, r call) (*http.Response, error) {
	body := r.raw
	if r.body != nil {
		var err error
		if body, err = json.Marshal(r.body); err != nil {
			return nil, fmt.Errorf("encode request: %w", err)
		}
	}
	if r.token != "" && r.token == c.nodeToken || r.client != "" {
		if err := c.checkOrigin(ctx); err != nil {
			return nil, err
		}
	}
	resp, err := c.sendOnce(ctx, r, body)
	if err == nil || r.method != http.MethodGet || !connectionFailed(err) {
		return resp, err
	}
	select {
	case <-ctx.Done():
		return nil, err
	case <-time.After(retryPause):
	}
	return c.sendOnce(ctx, r, body)
}

// checkOrigin verifies once that the server is a Fieldmark origin: it requests the event log without a token,
// and a Fieldmark origin returns the challenge for a node token, or a log. No other server may get the node
// token: an edge may be configured with a wrong address, and a server can expose the headers it receives.
func (c *caller) checkOrigin(ctx context.Context) error {
	if c.verified.Load() {
		return nil
	}
	resp, err := c.sendOnce(ctx, call{method: http.MethodGet, path: fieldmark.PathInternalEvents}, nil)
	if err != nil {
		return err
	}
	defer drain(resp.Body)
	var page fieldmark.EventPage
	switch {
	case resp.StatusCode == http.StatusUnauthorized && strings.Contains(resp.Header.Get("WWW-Authenticate"),
		`realm="node"`):
	case resp.StatusCode == http.StatusOK && json.NewDecoder(io.LimitReader(resp.Body,
		maxResponse)).Decode(&page) == nil && page.Log != "":
	case resp.StatusCode >= http.StatusInternalServerError:
		return responseError(resp) // it may be an origin that is unavailable
	default:
		return fmt.Errorf("%s is not a Fieldmark origin: it answered %s to a request for events; the node token was "+
			"not sent",
			c.base, resp.Status)
	}
	c.verified.Store(true)
	return nil
}

func (c *caller) sendOnce(ctx context.Context, r call, body []byte) (*http.Response, error) {
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, c.base+r.path, reader)
	if err != nil {
		return nil, fmt.Errorf("build request: %w", err)
	}
	if body != nil {
		req.Header.Set("Content-Type", cmp.Or(r.contentType, "application/json"))
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	if r.lastEvent != "" {
		req.Header.Set(fieldmark.HeaderLastEvent, r.lastEvent)
	}
	if r.minEvent != "" {
		req.Header.Set(fieldmark.HeaderMinEvent, r.minEvent)
	}
	if r.ifMatch != "" {
		req.Header.Set("If-Match", r.ifMatch)
	}
	if r.client != "" && c.verified.Load() {
		req.Header.Set(fieldmark.HeaderNode, c.nodeToken)
		req.Header.Set(fieldmark.HeaderClient, r.client)
	}
	req.Header.Set("Accept", "application/json, "+fieldmark.ProblemType)
	return c.http.Do(req)
}

// connectionFailed reports whether a connection was refused or lost, and not only slow or canceled.
func connectionFailed(err error) bool {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return !op.Timeout()
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EPIPE)
}

// drain reads a short rest of a body, so that the connection can be reused, and closes it.
func drain(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, maxDrain)
	_ = body.Close()
}

// readAll reads a response of at most limit bytes.
func readAll(r io.Reader, limit int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > limit {
		return nil, &fieldmark.Error{Code: fieldmark.CodeInternal,
			Err: fmt.Errorf("the origin's response exceeds %d bytes",
				limit)}
	}
	return b, nil
}

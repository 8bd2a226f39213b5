package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fieldmark/fieldmark/origin/safehttp"
)

// Limits of a call. An engine that searches several times answers after minutes; long answers with the texts of
// their sources stay below 1 MiB.
const (
	Timeout = 300 * time.Second
	maxBody = 4 << 20
	// MaxContinuations is how often a paused answer is continued.
	MaxContinuations = 5
)

// Search modes.
const (
	SearchAuto     = "auto"     // the engine decides
	SearchRequired = "required" // an answer without a search is a failure
	SearchOff      = "off"
)

// Config describes an engine.
type Config struct {
	Adapter         string // one of Adapters
	Model           string
	BaseURL         string // empty: the vendor's; openai-chat needs one
	Key             string // empty for local engines
	Search          string
	Country         string // ISO 3166-1 alpha-2, as the location of the person who asks; may be empty
	MaxOutputTokens int
	MaxSearches     int
	HTTP            Doer // nil: a guarded client
}

// Doer sends requests. A *safehttp.Client sends them over the network; the handler of a fake engine can be called
// without one.
type Doer interface {
	Do(req *http.Request) (*http.Response, error)
}

// Answer is what an engine answered.
type Answer struct {
	Text      string
	Model     string   // as the engine names it
	Cited     []string // addresses that the text refers to
	Retrieved []string // addresses that the engine read, cited or not
	Searches  int      // that are billed
	Searched  bool
	Usage     Usage
	Cost      *int64 // reported by the engine, in nano-dollars
	Stop      string // why the answer ended, in the word of the engine
}

// Usage are tokens.
type Usage struct{ Input, Output int64 }

// Exchange is a call as it is stored. It has no key.
type Exchange struct {
	URL     string            `json:"url"`
	Request json.RawMessage   `json:"request"`
	Status  int               `json:"status"`
	Header  map[string]string `json:"header,omitempty"`
	Body    string            `json:"body"` // as received
	Stream  bool              `json:"stream,omitempty"`
	// Pause is how long to wait before the next call, by the header fields of its limits.
	Pause time.Duration `json:"-"`
}

// adapter builds the requests and reads the responses of one API.
// An adapter has no state and does no I/O, so stored exchanges can be read again by a later release.
type adapter interface {
	// request returns what to send: the path, the header fields besides those of every call, and the body.
	// before has the bodies of the answers that the engine paused.
	request(c *Config, question string, before [][]byte) (path string, header map[string]string, body any)
	// read reads the bodies of an answer and of its continuations.
	read(bodies [][]byte) (Answer, error)
	// join returns the body that a stream of events adds up to, or false without its terminal event.
	join(events []streamEvent) ([]byte, bool)
}

// vendors have the adapter and address of each API.
// A path of requests starts at the address, so a gateway of an operator can take its place.
var vendors = map[string]struct {
	adapter adapter
	baseURL string
}{
	"openai-responses":      {openAI{}, "https://api.openai.com"},
	"anthropic-messages":    {anthropic{}, "https://api.anthropic.com"},
	"perplexity-agent":      {perplexity{}, "https://api.perplexity.ai"},
	"xai-responses":         {xAI{}, "https://api.x.ai"},
	"mistral-conversations": {mistral{}, "https://api.mistral.ai"},
	"gemini":                {gemini{}, "https://generativelanguage.googleapis.com"},
	"openai-chat":           {chat{}, ""},
}

// Adapters returns the names of the adapters, sorted.
func Adapters() []string {
	var names []string
	for name := range vendors {
		names = append(names, name)
	}
	// Maps have no order, and the list is shown in faults.
	slices.Sort(names)
	return names
}

// Engine is a client of one answer engine. It is safe for concurrent use.
type Engine struct {
	config  Config
	adapter adapter
	base    string
	http    Doer
}

// loopback are the networks of this machine: the one exception of the guarded client, for local engines.
var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// maxConns is the limit of concurrent calls of an engine, which is also that of a plan.
const maxConns = 16

// Check returns what is wrong with the address of an engine, or an empty string. The keys of operators are only
// sent by TLS, or to this machine.
func Check(adapterName, baseURL string) string {
	v, ok := vendors[adapterName]
	if !ok {
		return "adapter must be one of " + strings.Join(Adapters(), ", ")
	}
	if baseURL == "" {
		if v.baseURL == "" {
			return "the adapter " + adapterName + " needs a baseURL"
		}
		return ""
	}
	u, err := url.Parse(baseURL)
	// A user or query in the address could be a secret, and addresses are stored with each exchange.
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" ||
		u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())) {
		return "baseURL must be an https address, or an http address of this machine, without user and query"
	}
	return ""
}

// isLoopback reports whether a host is this machine.
// It accepts the name localhost, too, which the guarded client resolves and checks.
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// New returns an Engine. It opens no connection.
func New(c Config) (*Engine, error) {
	if fault := Check(c.Adapter, c.BaseURL); fault != "" {
		return nil, errors.New(fault)
	}
	v := vendors[c.Adapter]
	e := &Engine{config: c, adapter: v.adapter, base: strings.TrimSuffix(c.BaseURL, "/"), http: c.HTTP}
	if e.base == "" {
		e.base = v.baseURL
	}
	if e.http == nil {
		// The header may take as long as the answer: engines that do not stream send nothing before they are done.
		guard := safehttp.Config{Timeout: Timeout, HeaderTimeout: Timeout, ConnsPerHost: maxConns}
		if u, err := url.Parse(e.base); err == nil {
			// Without this, the guarded client refuses private and local networks, against requests to services of the
			// operator by a plan from elsewhere.
			if isLoopback(u.Hostname()) {
				guard.Allow = loopback
			} else if port, err := netip.ParseAddrPort("0.0.0.0:" + u.Port()); err == nil {
				guard.Ports = []uint16{port.Port()} // of a gateway on the public internet
			}
		}
		e.http = safehttp.New(guard)
	}
	return e, nil
}

// chosenHeader are the header fields of an answer that are stored: what a person needs to ask the vendor.
var chosenHeader = []string{"Content-Type", "Date", "Request-Id", "X-Request-Id", "Retry-After"}

// Ask sends a question, or continues the paused answer of the exchanges before. The error is a *Failure, or that
// of ctx. An exchange with a failure has the status and body of the answer, if there was one.
func (e *Engine) Ask(ctx context.Context, question string, before []Exchange) (Exchange, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	bodies, err := e.bodies(before)
	if err != nil {
		return Exchange{}, err
	}
	path, header, content := e.adapter.request(&e.config, question, bodies)
	body, err := json.Marshal(content)
	if err != nil {
		return Exchange{}, fmt.Errorf("encode a question: %w", err)
	}
	x := Exchange{URL: e.base + path, Request: body}
	// Until a connection exists nothing was sent, so a retry cannot be billed twice.
	var connected atomic.Bool
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }}
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), http.MethodPost, x.URL,
		bytes.NewReader(body))
	if err != nil {
		return x, fmt.Errorf("ask %s: %w", e.base, err)
	}
	req.Header.Set("Content-Type", "application/json")
	// A stream is read as well, from gateways that send nothing else.
	req.Header.Set("Accept", "application/json")
	for name, value := range header {
		req.Header.Set(name, value)
	}
	resp, err := e.http.Do(req)
	if err != nil {
		return x, e.unanswered(err, connected.Load())
	}
	defer resp.Body.Close()
	return e.receive(x, resp)
}

// receive reads an answer.
func (e *Engine) receive(x Exchange, resp *http.Response) (Exchange, error) {
	// One byte more than allowed distinguishes an answer of exactly the limit from a longer one.
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	x.Status, x.Header = resp.StatusCode, map[string]string{}
	for _, name := range chosenHeader {
		if v := resp.Header.Get(name); v != "" {
			x.Header[name] = e.redact(v)
		}
	}
	// Errors of vendors may repeat the key, and exchanges are stored and shown.
	x.Body = e.redact(string(raw))
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	x.Stream = media == "text/event-stream"
	switch {
	case len(raw) > maxBody:
		// A part of an answer would be read as an answer that names fewer brands.
		x.Body = ""
		return x, &Failure{Action: FailCell, Status: x.Status, Charged: true, Reason: "the answer has more than 4 MiB"}
	case err != nil:
		// Not retried: the vendor has computed the answer and bills it.
		return x, &Failure{Action: FailCell, Status: x.Status, Charged: true, Reason: "the answer was cut"}
	case x.Status != http.StatusOK:
		return x, refusal(resp.StatusCode, resp.Header, raw, time.Now())
	}
	// Known before the limit is reached, so the next call waits instead of failing.
	x.Pause = exhausted(resp.Header, time.Now())
	return x, nil
}

// unanswered classifies a call without an answer. The message has no address, as it may be long, and no key.
func (e *Engine) unanswered(err error, connected bool) error {
	switch {
	case errors.Is(err, safehttp.ErrNotAllowed):
		return &Failure{Action: StopEngine, Reason: "the address of the engine is not allowed"}
	case !connected:
		return &Failure{Action: Retry, Reason: "no connection: " + e.redact(shorten(cause(err)))}
	}
	// The request may have arrived, so it counts as billed and is not sent again.
	return &Failure{Action: FailCell, Charged: true, Reason: "no answer: " + e.redact(shorten(cause(err)))}
}

// cause removes method and address, which url.Error adds.
func cause(err error) string {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return err.Error()
}

// redact removes the key from a text. It comes before any shortening, which could leave a part of the key.
func (e *Engine) redact(text string) string {
	if e.config.Key == "" {
		return text
	}
	return strings.ReplaceAll(text, e.config.Key, "[key removed]")
}

// Read reads the exchanges of one answer. ErrPaused asks for a continuation. Any other error is a *Failure: the
// answer stopped short, is empty or cannot be read, and is not an answer that names no brand. The Answer then has
// its usage, if that could be read.
func (e *Engine) Read(exchanges []Exchange) (Answer, error) {
	bodies, err := e.bodies(exchanges)
	if err != nil {
		return Answer{}, err
	}
	a, err := e.adapter.read(bodies)
	a.limit()
	switch {
	case errors.Is(err, ErrPaused) && len(exchanges) > MaxContinuations:
		return a, &Failure{Action: FailCell, Reason: "the answer was paused too often"}
	case err != nil:
		return a, err
	case strings.TrimSpace(a.Text) == "":
		return a, &Failure{Action: FailCell, Reason: "the answer is empty"}
	case e.config.Search == SearchRequired && !a.Searched:
		return a, &Failure{Action: FailCell, Reason: "the engine did not search"}
	}
	// Some gateways do not name it; the requested one is the best that is known.
	if a.Model == "" {
		a.Model = e.config.Model
	}
	return a, nil
}

// Limits of what an engine can report of one answer: far above any real one, and no sum of them overflows.
const (
	maxTokens   = 1_000_000_000
	maxSearches = 10_000
	maxCost     = 1e15 // nano-dollars: a million dollars
)

// limit keeps what an engine reports of itself within limits: a negative number would add to the budget.
// It also holds for answers that are read from disk again.
func (a *Answer) limit() {
	a.Usage.Input = min(max(a.Usage.Input, 0), maxTokens)
	a.Usage.Output = min(max(a.Usage.Output, 0), maxTokens)
	a.Searches = min(max(a.Searches, 0), maxSearches)
	if a.Cost != nil {
		cost := min(max(*a.Cost, 0), maxCost)
		a.Cost = &cost
	}
}

// bodies returns the bodies of exchanges; streams are joined.
// Streams are joined when they are read, not when they arrive, so that the stored bytes are those of the vendor.
func (e *Engine) bodies(exchanges []Exchange) (all [][]byte, err error) {
	for _, x := range exchanges {
		body := []byte(x.Body)
		if x.Stream {
			joined, ok := e.adapter.join(parseStream(body))
			if !ok {
				return nil, &Failure{Action: FailCell, Status: x.Status, Charged: true, Reason: "the stream has no end"}
			}
			body = joined
		}
		all = append(all, body)
	}
	return all, nil
}

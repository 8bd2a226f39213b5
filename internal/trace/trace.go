package trace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"
)

// Bounds of telling.
const (
	maxQueue    = 4096             // spans that wait: two seconds of a busy node, 2 MB
	maxBatch    = 512              // spans in one message: some 100 KB
	every       = time.Second      // how long a span waits for company
	sendTimeout = 5 * time.Second  // of one message
	lastTimeout = 2 * time.Second  // of what is left when the process stops
	maxTries    = 4                // of one message, before it is dropped
	firstPause  = time.Second      // before the second try; doubled each time
	maxPause    = 10 * time.Second // also of what a collector asks for
	maxDrain    = 4 << 10          // bytes read of an answer, to keep its connection
	maxAttrs    = 16               // attributes of a span
)

// Config says where spans go.
type Config struct {
	Endpoint string            // of the collector: http://127.0.0.1:4318; /v1/traces is added where it has no path
	Ratio    float64           // of traces that begin here; what came with a parent goes by the parent
	Resource map[string]string // attributes of this process, such as service.name
	Log      *slog.Logger      // nil: nothing is logged
}

// Tracer makes spans and sends them. A nil Tracer makes none.
type Tracer struct {
	endpoint string
	ratio    float64
	resource []byte // encoded
	log      *slog.Logger
	http     *http.Client
	queue    chan *Span

	sent, dropped atomic.Int64
}

// New checks cfg; it sends nothing before Run.
func New(cfg Config) (*Tracer, error) {
	u, err := url.Parse(cfg.Endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "" {
		return nil, fmt.Errorf("traces: %q is no address of a collector, such as http://127.0.0.1:4318", cfg.Endpoint)
	}
	if cfg.Ratio < 0 || cfg.Ratio > 1 {
		return nil, fmt.Errorf("traces: the ratio %g is not between 0 and 1", cfg.Ratio)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/traces"
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Tracer{
		endpoint: u.String(), ratio: cfg.Ratio, resource: appendResource(nil, cfg.Resource), log: cfg.Log, queue: make(chan *Span, maxQueue),
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}, Timeout: sendTimeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}, nil
}

// Kind is the part a span plays, numbered as OTLP does.
type Kind int

// The kinds of spans.
const (
	Internal Kind = 1 // work within the process
	Server   Kind = 2 // the answer to a request
	Client   Kind = 3 // a request of ours
)

// Span is a piece of work. A nil Span takes everything and tells nothing. It
// belongs to one goroutine at a time, and to nobody after End.
type Span struct {
	tracer *Tracer
	self   Parent
	parent [8]byte
	name   string
	kind   Kind
	began  time.Time
	took   time.Duration
	failed string // why; empty: it did not fail
	attrs  []attr
}

type attr struct {
	key, text string
	number    int64
	isNumber  bool
}

// Start begins a span under a parent, or a trace where there is none, and returns
// what its children are part of. The span is nil where nobody wants it told.
func (t *Tracer) Start(parent Parent, name string, kind Kind) (Parent, *Span) {
	if t == nil {
		return parent, nil
	}
	self := parent
	if !parent.Valid() {
		self = Parent{Trace: newTrace(), Span: newSpan()}
		self.Sampled = share(self.Trace) < t.ratio
	}
	if !self.Sampled {
		return self, nil
	}
	self.Span = newSpan()
	return self, &Span{tracer: t, self: self, parent: parent.Span, name: name, kind: kind, began: time.Now()}
}

// Child begins a span only where there is a parent that wants it told.
func (t *Tracer) Child(parent Parent, name string, kind Kind) (Parent, *Span) {
	if t == nil || !parent.Valid() || !parent.Sampled {
		return parent, nil
	}
	return t.Start(parent, name, kind)
}

// Text notes something of a span: never what is secret.
func (s *Span) Text(key, value string) {
	if s != nil && value != "" && len(s.attrs) < maxAttrs {
		s.attrs = append(s.attrs, attr{key: key, text: value})
	}
}

// Number notes a number of a span.
func (s *Span) Number(key string, value int64) {
	if s != nil && len(s.attrs) < maxAttrs {
		s.attrs = append(s.attrs, attr{key: key, number: value, isNumber: true})
	}
}

// Fail notes that the work came to nothing, and why.
func (s *Span) Fail(why string) {
	if s != nil {
		s.failed = why
	}
}

// End ends the work and has it told. It never waits.
func (s *Span) End() {
	if s == nil {
		return
	}
	s.took = time.Since(s.began)
	select {
	case s.tracer.queue <- s:
	default:
		s.tracer.dropped.Add(1)
	}
}

// Run sends spans until ctx ends, and then what is left.
func (t *Tracer) Run(ctx context.Context) error {
	defer t.http.CloseIdleConnections()
	tick := time.NewTicker(every)
	defer tick.Stop()
	var batch []*Span
	for {
		select {
		case s := <-t.queue:
			if batch = append(batch, s); len(batch) < maxBatch {
				continue
			}
		case <-tick.C:
		case <-ctx.Done():
			t.last(ctx, batch)
			return nil
		}
		if len(batch) > 0 {
			t.tell(ctx, batch)
			batch = batch[:0]
		}
	}
}

// last sends what is left when the process stops.
func (t *Tracer) last(ctx context.Context, batch []*Span) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTimeout)
	defer cancel()
	for len(t.queue) > 0 {
		batch = append(batch, <-t.queue)
	}
	for len(batch) > 0 {
		n := min(len(batch), maxBatch)
		t.tell(ctx, batch[:n])
		batch = batch[n:]
	}
}

// tell sends one message, again where that may help. The queue fills meanwhile and
// then overflows; that is its purpose.
func (t *Tracer) tell(ctx context.Context, batch []*Span) {
	body := appendMessage(nil, t.resource, batch)
	pause := firstPause
	for try := 1; ; try++ {
		wait, err := t.post(ctx, body)
		if err == nil {
			t.sent.Add(int64(len(batch)))
			return
		}
		if wait < 0 || try == maxTries || ctx.Err() != nil {
			t.dropped.Add(int64(len(batch)))
			t.log.Warn("traces", slog.Int("dropped", len(batch)), slog.Any("error", err))
			return
		}
		wait = min(max(wait, pause/2+rand.N(pause/2)), maxPause)
		pause *= 2
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// post sends a body once. Where it may be sent again it returns how long the
// collector wants to be left alone first; below zero, never.
func (t *Tracer) post(ctx context.Context, body []byte) (again time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.endpoint, bytes.NewReader(body))
	if err != nil {
		return -1, err
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	req.Header.Set("User-Agent", "Fieldmark/1.0")
	resp, err := t.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, maxDrain) // what it says beside its status is no news
	switch resp.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		return 0, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout: // OTLP 1.x, "retryable"
		seconds, _ := time.ParseDuration(resp.Header.Get("Retry-After") + "s") // nonsense is none
		return max(seconds, 0), errors.New("the collector answered " + resp.Status)
	}
	return -1, errors.New("the collector answered " + resp.Status)
}

// WriteMetrics writes how many spans were sent and dropped, in the text format of
// Prometheus. A nil Tracer writes nothing.
func (t *Tracer) WriteMetrics(w io.Writer) {
	if t == nil {
		return
	}
	fmt.Fprintf(w, "fieldmark_trace_spans_total{result=\"sent\"} %d\nfieldmark_trace_spans_total{result=\"dropped\"} %d\n", t.sent.Load(), t.dropped.Load())
}

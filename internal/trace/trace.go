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
	"slices"
	"sync/atomic"
	"time"

	"github.com/fieldmark/fieldmark/internal/timeout"
)

// Limits of the export.
const (
	maxQueue     = 4096                            // queued spans: two seconds of a busy node, 2 MB
	maxBatch     = 512                             // spans in one request: some 100 KB
	batchTimeout = time.Second                     // the longest wait for a full batch
	sendTimeout  = 5 * time.Second * timeout.Scale // of one request
	stopTimeout  = 2 * time.Second * timeout.Scale // of the export after Run's context has ended
	maxAttempts  = 4                               // to send a batch before it is dropped
	firstBackoff = time.Second                     // before the second attempt; doubled each time
	maxBackoff   = 10 * time.Second                // also limits a Retry-After of the collector
	maxDrain     = 4 << 10                         // bytes read of a response, to keep its connection alive
	maxAttrs     = 16                              // attributes of a span
)

// Config configures a Tracer.
type Config struct {
	Endpoint string            // of the collector, such as http://127.0.0.1:4318; /v1/traces is added if it has no path
	Ratio    float64           // sampling ratio of traces that start here; other spans follow their parent
	Resource map[string]string // attributes of this process, such as service.name
	Log      *slog.Logger      // nil: nothing is logged
}

// Tracer records spans and exports them. A nil Tracer records none.
type Tracer struct {
	endpoint string
	ratio    float64
	resource []byte // encoded
	log      *slog.Logger
	http     *http.Client
	queue    chan *Span

	sent, dropped atomic.Int64
}

// New returns a Tracer, which exports nothing before Run.
func New(cfg Config) (*Tracer, error) {
	u, err := url.Parse(cfg.Endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "" {
		return nil, fmt.Errorf("traces: %q is not the URL of a collector, such as http://127.0.0.1:4318", cfg.Endpoint)
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
		endpoint: u.String(), ratio: cfg.Ratio, resource: appendResource(nil, cfg.Resource), log: cfg.Log,
		queue: make(chan *Span, maxQueue),
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}, Timeout: sendTimeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}, nil
}

// Kind is the kind of a span, numbered as in OTLP.
type Kind int

// The kinds of spans.
const (
	Internal Kind = 1 // work inside the process
	Server   Kind = 2 // handling of a request
	Client   Kind = 3 // an outgoing request
)

// Span is one operation. All methods do nothing on a nil Span. A Span must not be used by
// two goroutines at once, nor after End.
type Span struct {
	tracer *Tracer
	self   SpanContext
	parent [8]byte
	name   string
	kind   Kind
	start  time.Time
	took   time.Duration
	err    string // "" if the operation succeeded
	attrs  []attr
}

type attr struct {
	key, text string
	number    int64
	isNumber  bool
}

// Start starts a span below a parent, or a new trace without one, and returns the parent
// of its children. The span is nil if the trace is not sampled.
func (t *Tracer) Start(parent SpanContext, name string, kind Kind) (SpanContext, *Span) {
	if t == nil {
		return parent, nil
	}
	self := parent
	if !parent.Valid() {
		self = SpanContext{Trace: newTrace(), Span: newSpan()}
		self.Sampled = sampleRatio(self.Trace) < t.ratio
	}
	if !self.Sampled {
		return self, nil
	}
	self.Span = newSpan()
	return self, &Span{tracer: t, self: self, parent: parent.Span, name: name, kind: kind, start: time.Now()}
}

// Child starts a span only if it has a sampled parent.
func (t *Tracer) Child(parent SpanContext, name string, kind Kind) (SpanContext, *Span) {
	if t == nil || !parent.Valid() || !parent.Sampled {
		return parent, nil
	}
	return t.Start(parent, name, kind)
}

// SetString sets an attribute, which must not be secret.
func (s *Span) SetString(key, value string) {
	if s != nil && value != "" && len(s.attrs) < maxAttrs {
		s.attrs = append(s.attrs, attr{key: key, text: value})
	}
}

// SetInt sets a numeric attribute.
func (s *Span) SetInt(key string, value int64) {
	if s != nil && len(s.attrs) < maxAttrs {
		s.attrs = append(s.attrs, attr{key: key, number: value, isNumber: true})
	}
}

// SetError marks the operation as failed.
func (s *Span) SetError(message string) {
	if s != nil {
		s.err = message
	}
}

// End ends the span and queues it for export. It never blocks: if the queue is full, the
// span is dropped and counted.
func (s *Span) End() {
	if s == nil {
		return
	}
	s.took = time.Since(s.start)
	select {
	case s.tracer.queue <- s:
	default:
		s.tracer.dropped.Add(1)
	}
}

// Run exports spans until ctx ends, and then the remaining ones for at most stopTimeout.
func (t *Tracer) Run(ctx context.Context) error {
	defer t.http.CloseIdleConnections()
	// A request in flight when ctx ends is part of the remaining export.
	export, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(stopTimeout, cancel) })()
	tick := time.NewTicker(batchTimeout)
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
			for len(t.queue) > 0 {
				batch = append(batch, <-t.queue)
			}
			for chunk := range slices.Chunk(batch, maxBatch) {
				t.send(export, chunk)
			}
			return nil
		}
		if len(batch) > 0 {
			t.send(export, batch)
			batch = batch[:0]
		}
	}
}

// send sends one batch, and retries if that may help. Meanwhile the queue may overflow.
func (t *Tracer) send(ctx context.Context, batch []*Span) {
	body := appendMessage(nil, t.resource, batch)
	backoff := firstBackoff
	for attempt := 1; ; attempt++ {
		wait, err := t.post(ctx, body)
		if err == nil {
			t.sent.Add(int64(len(batch)))
			return
		}
		if wait < 0 || attempt == maxAttempts || ctx.Err() != nil {
			t.dropped.Add(int64(len(batch)))
			t.log.Warn("trace export failed", slog.Int("dropped", len(batch)), slog.Any("error", err))
			return
		}
		wait = min(max(wait, backoff/2+rand.N(backoff/2)), maxBackoff)
		backoff *= 2
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// post sends a body once. On an error it returns the time that the collector requests to wait
// before a retry, or a negative time if the request must not be retried.
func (t *Tracer) post(ctx context.Context, body []byte) (retryAfter time.Duration, err error) {
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
	_, _ = io.CopyN(io.Discard, resp.Body, maxDrain) // only the status matters
	switch resp.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		return 0, nil
	// OTLP 1.x, "retryable"
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := time.ParseDuration(resp.Header.Get("Retry-After") + "s") // 0 if malformed
		return max(seconds, 0), errors.New("the collector answered " + resp.Status)
	}
	return -1, errors.New("the collector answered " + resp.Status)
}

// WriteMetrics writes the numbers of sent and dropped spans in the Prometheus text format. A nil Tracer writes nothing.
func (t *Tracer) WriteMetrics(w io.Writer) {
	if t == nil {
		return
	}
	fmt.Fprintf(w, "fieldmark_trace_spans_total{result=\"sent\"} "+
		"%d\nfieldmark_trace_spans_total{result=\"dropped\"} %d\n", t.sent.Load(), t.dropped.Load())
}

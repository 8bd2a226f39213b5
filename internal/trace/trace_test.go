package trace_test

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	collector "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/fieldmark/fieldmark/internal/trace"
)

const known = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// TestParse checks that Parse accepts exactly what the specification allows.
func TestParse(t *testing.T) {
	for _, tt := range []struct{ field, want string }{
		{known, known},
		{strings.TrimSuffix(known, "01") + "00", strings.TrimSuffix(known, "01") + "00"},
		{strings.TrimSuffix(known, "01") + "ff", known}, // unknown flags are dropped
		{"cc" + known[2:] + "-more", known},             // of a later version
		{"cc" + known[2:], known},
		{"cc" + known[2:] + "more", ""},
		{"ff" + known[2:], ""},
		{known + "-more", ""},
		{strings.ToUpper(known), ""},
		{"00-00000000000000000000000000000000-b7ad6b7169203331-01", ""},
		{"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", ""},
		{strings.Replace(known, "a", "g", 1), ""},
		{strings.Replace(known, "-", "_", 1), ""},
		{"", ""},
	} {
		if got := trace.Parse(tt.field); got.String() != tt.want || got.Valid() != (tt.want != "") {
			t.Errorf("Parse(%q) = %q, want %q", tt.field, got, tt.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(known)
	f.Add("cc" + known[2:] + "-x")
	f.Fuzz(func(t *testing.T, field string) {
		if p := trace.Parse(field); p.Valid() && trace.Parse(p.String()) != p {
			t.Errorf("Parse(%q) is %v, which does not read as itself", field, p)
		}
	})
}

// receiver is a collector: it stores the spans it receives, and fails as often as
// configured.
type receiver struct {
	*httptest.Server

	mu    sync.Mutex
	fails []int // statuses of the next responses
	got   collector.TracesData
	tries int
}

func newReceiver(t *testing.T, fails ...int) *receiver {
	r := &receiver{fails: fails}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.tries++
		if len(r.fails) > 0 {
			w.WriteHeader(r.fails[0])
			r.fails = r.fails[1:]
			return
		}
		body, err := io.ReadAll(req.Body)
		if err == nil && (req.URL.Path != "/v1/traces" || req.Header.Get("Content-Type") != "application/x-protobuf") {
			err = errors.New("not an OTLP request: " + req.URL.Path)
		}
		var one collector.TracesData // as ExportTraceServiceRequest on the wire
		if err == nil {
			err = proto.Unmarshal(body, &one)
		}
		if err != nil {
			t.Errorf("the collector cannot read %d bytes: %v", len(body), err)
		}
		proto.Merge(&r.got, &one)
	}))
	t.Cleanup(r.Close)
	return r
}

// told runs work and returns the spans that the collector has received afterwards.
func (r *receiver) told(t *testing.T, cfg trace.Config, work func(*trace.Tracer)) (spans []*collector.Span,
	metrics string) {
	t.Helper()
	cfg.Endpoint = r.URL
	tracer, err := trace.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	work(tracer)
	ctx, stop := context.WithCancel(t.Context())
	stop() // the remaining spans are still sent
	if err := tracer.Run(ctx); err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rs := range r.got.ResourceSpans {
		for _, s := range rs.ScopeSpans {
			spans = append(spans, s.Spans...)
		}
	}
	var b strings.Builder
	tracer.WriteMetrics(&b)
	return spans, b.String()
}

// TestSpans decodes the spans with the types generated from the OTLP schema.
func TestSpans(t *testing.T) {
	r := newReceiver(t)
	parent := trace.Parse(known)
	spans, metrics := r.told(t,
		trace.Config{Ratio: 1, Resource: map[string]string{"service.name": "fieldmark",
			"b": "\xff"}}, func(tr *trace.Tracer) {
			self, span := tr.Start(parent, "outer", trace.Server)
			_, child := tr.Child(self, "inner", trace.Internal)
			child.SetString("k", "v")
			child.SetInt("n", -7)
			child.SetError("it broke")
			child.End()
			span.End()
			_, root := tr.Start(trace.SpanContext{}, "root", trace.Client)
			root.End()
			if _, none := tr.Child(trace.SpanContext{}, "none", trace.Internal); none != nil {
				t.Errorf("a child without a parent is told of")
			}
			quiet := parent
			quiet.Sampled = false
			if self, none := tr.Start(quiet, "quiet", trace.Server); none != nil || self != quiet {
				t.Errorf("a trace nobody wants told is told of")
			}
		})
	if len(spans) != 3 {
		t.Fatalf("%d spans, want 3: %v", len(spans), spans)
	}
	inner, outer, root := spans[0], spans[1], spans[2]
	if hex.EncodeToString(outer.TraceId) != "0af7651916cd43dd8448eb211c80319c" ||
		hex.EncodeToString(outer.ParentSpanId) != "b7ad6b7169203331" ||
		outer.Name != "outer" || outer.Kind != collector.Span_SPAN_KIND_SERVER || outer.Flags != 1 {
		t.Errorf("the outer span is %v, want a server's under %s", outer, known)
	}
	if !cmp.Equal(inner.ParentSpanId, outer.SpanId) || !cmp.Equal(inner.TraceId, outer.TraceId) ||
		inner.StartTimeUnixNano < outer.StartTimeUnixNano ||
		inner.EndTimeUnixNano < inner.StartTimeUnixNano || inner.EndTimeUnixNano > outer.EndTimeUnixNano {
		t.Errorf("the inner span is %v, want one within %v", inner, outer)
	}
	if inner.Status.GetCode() != collector.Status_STATUS_CODE_ERROR || inner.Status.GetMessage() != "it broke" ||
		len(inner.Attributes) != 2 ||
		inner.Attributes[0].Value.GetStringValue() != "v" || inner.Attributes[1].Value.GetIntValue() != -7 {
		t.Errorf("the inner span says %v, %v", inner.Status, inner.Attributes)
	}
	if len(root.ParentSpanId) != 0 || cmp.Equal(root.TraceId, outer.TraceId) || len(root.TraceId) != 16 {
		t.Errorf("the root is %v, want a trace of its own", root)
	}
	attrs := r.got.ResourceSpans[0].Resource.Attributes
	if len(attrs) != 2 || attrs[1].Key != "service.name" || attrs[1].Value.GetStringValue() != "fieldmark" ||
		attrs[0].Value.GetStringValue() != "\uFFFD" {
		t.Errorf("the resource is %v", attrs)
	}
	if !strings.Contains(metrics, `{result="sent"} 3`) || !strings.Contains(metrics, `{result="dropped"} 0`) {
		t.Errorf("metrics %s", metrics)
	}
}

// TestRatio checks that about a quarter of the new traces is sampled, and that the
// context of every trace is valid and states whether it is sampled.
func TestRatio(t *testing.T) {
	const traces = 2000
	spans, _ := newReceiver(t).told(t, trace.Config{Ratio: .25}, func(tr *trace.Tracer) {
		for range traces {
			self, span := tr.Start(trace.SpanContext{}, "root", trace.Server)
			if self.Sampled != (span != nil) || !self.Valid() {
				t.Fatalf("parent %v, span %v: they disagree", self, span)
			}
			span.End()
		}
	})
	if n := len(spans); n < traces/5 || n > traces/3 {
		t.Errorf("%d of %d traces, want about a quarter", n, traces)
	}
}

// TestLoad checks that spans beyond the queue and spans that the collector rejects are
// dropped and counted, and that a rejected batch is not retried.
func TestLoad(t *testing.T) {
	const many = 10_000
	r := newReceiver(t)
	spans, metrics := r.told(t, trace.Config{Ratio: 1}, func(tr *trace.Tracer) {
		for range many {
			_, span := tr.Start(trace.SpanContext{}, "s", trace.Internal)
			span.End()
		}
	})
	if len(spans) != 4096 || !strings.Contains(metrics, `{result="dropped"} 5904`) {
		t.Errorf("%d spans of %d told, want as many as the queue holds: %s", len(spans), many, metrics)
	}
	refusing := newReceiver(t, http.StatusBadRequest)
	if spans, metrics = refusing.told(t, trace.Config{Ratio: 1}, func(tr *trace.Tracer) {
		_, span := tr.Start(trace.SpanContext{}, "s", trace.Internal)
		span.End()
	}); len(spans) != 0 || refusing.tries != 1 || !strings.Contains(metrics, `{result="dropped"} 1`) {
		t.Errorf("a collector that refuses was asked %d times: %s", refusing.tries, metrics)
	}
}

// TestNilTracer checks that a nil Tracer allocates nothing.
func TestNilTracer(t *testing.T) {
	var tracer *trace.Tracer
	parent := trace.Parse(known)
	if n := testing.AllocsPerRun(100, func() {
		self, span := tracer.Start(parent, "s", trace.Server)
		_, child := tracer.Child(self, "c", trace.Internal)
		child.SetString("k", "v")
		child.SetInt("n", 1)
		child.SetError("x")
		child.End()
		span.End()
	}); n != 0 {
		t.Errorf("%v allocations where nobody is told, want none", n)
	}
	tracer.WriteMetrics(nil)
}

// TestTransport checks that a request names its parent span and is otherwise unchanged.
func TestTransport(t *testing.T) {
	var field string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter,
		r *http.Request) {
		field = r.Header.Get(trace.Header)
	}))
	defer server.Close()
	ask := func(tr *trace.Transport, ctx context.Context, header string) {
		t.Helper()
		tr.Next, tr.Name = http.DefaultTransport, "ask"
		r, err := http.NewRequestWithContext(ctx, "GET", server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		if header != "" {
			r.Header.Set(trace.Header, header)
		}
		resp, err := tr.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if r.Header.Get(trace.Header) != header {
			t.Errorf("the request was changed: %v", r.Header)
		}
	}
	with := trace.With(t.Context(), trace.Parse(known))
	if ask(&trace.Transport{}, t.Context(), ""); field != "" {
		t.Errorf("without anything: %q", field)
	}
	if ask(&trace.Transport{}, t.Context(), "odd"); field != "odd" {
		t.Errorf("a field nobody reads: %q, want it as it is", field)
	}
	if ask(&trace.Transport{}, with, ""); field != known {
		t.Errorf("with a parent and no tracer: %q, want %q", field, known)
	}
	var fields []string
	spans, _ := newReceiver(t).told(t, trace.Config{Ratio: 1}, func(tr *trace.Tracer) {
		ask(&trace.Transport{Tracer: tr}, t.Context(), "") // no root
		fields = append(fields, field)
		ask(&trace.Transport{Tracer: tr}, with, "")
		fields = append(fields, field)
		ask(&trace.Transport{Tracer: tr, Roots: true}, t.Context(), known)
		fields = append(fields, field)
		ask(&trace.Transport{Tracer: tr, Roots: true}, t.Context(), "")
		fields = append(fields, field)
	})
	if len(spans) != 3 || fields[0] != "" {
		t.Fatalf("%d spans for %q, want 3", len(spans), fields)
	}
	for i, s := range spans {
		if p := trace.Parse(fields[i+1]); !cmp.Equal(p.Span[:], s.SpanId) || !cmp.Equal(p.Trace[:], s.TraceId) ||
			!p.Sampled {
			t.Errorf("the origin heard of %q, want the span %x of %x", fields[i+1], s.SpanId, s.TraceId)
		}
	}
}

// TestNew checks that New rejects an invalid configuration.
func TestNew(t *testing.T) {
	for _, cfg := range []trace.Config{{Endpoint: "127.0.0.1:4318"}, {Endpoint: "http://u:p@host"},
		{Endpoint: "ftp://host"}, {Endpoint: "http://host", Ratio: 2}} {
		if _, err := trace.New(cfg); err == nil {
			t.Errorf("%+v is taken", cfg)
		}
	}
}

// TestBusyCollectorIsRetried checks that a batch is sent again after the collector was busy.
func TestBusyCollectorIsRetried(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, http.StatusServiceUnavailable)
	tracer, err := trace.New(trace.Config{Endpoint: r.URL + "/", Ratio: 1})
	if err != nil {
		t.Fatal(err)
	}
	_, span := tracer.Start(trace.SpanContext{}, "s", trace.Internal)
	span.End()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var ran sync.WaitGroup
	ran.Go(func() {
		if err := tracer.Run(ctx); err != nil {
			t.Errorf("run: %v", err)
		}
	})
	for sent := false; !sent; {
		var b strings.Builder
		tracer.WriteMetrics(&b)
		sent = strings.Contains(b.String(), `{result="sent"} 1`)
		if strings.Contains(b.String(), `{result="dropped"} 1`) {
			t.Fatal("dropped, want it sent again")
		}
		select {
		case <-t.Context().Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
	stop()
	ran.Wait()
	if r.tries != 2 {
		t.Errorf("asked %d times, want twice", r.tries)
	}
}

// A batch that is in flight when the process stops is delivered, and so are the spans
// after it.
func TestStopDuringExport(t *testing.T) {
	arrived, release := make(chan struct{}, 2), make(chan struct{})
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		arrived <- struct{}{}
		<-release
	}))
	defer collector.Close()
	tracer, err := trace.New(trace.Config{Endpoint: collector.URL, Ratio: 1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error)
	go func() { stopped <- tracer.Run(ctx) }()
	_, span := tracer.Start(trace.SpanContext{}, "in flight", trace.Internal)
	span.End()
	<-arrived
	_, span = tracer.Start(trace.SpanContext{}, "queued", trace.Internal)
	span.End()
	stop()
	close(release)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	var got strings.Builder
	tracer.WriteMetrics(&got)
	if want := `result="sent"} 2`; !strings.Contains(got.String(), want) {
		t.Errorf("got %s, want %s", got.String(), want)
	}
}

package webhook

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"
)

// deliveryMetrics counts the attempts of this process.
type deliveryMetrics struct {
	mu         sync.Mutex
	byClass    map[string]int64
	latencies  [len(latencyBuckets) + 1]int64 // first attempts by latency; the last bucket has no upper bound
	latencySum time.Duration

	unreadable map[string]int64 // claims that skipped an endpoint because its row cannot be decoded, by endpoint
}

// countDecodeError counts an endpoint that was skipped because its row cannot be
// decoded, and logs it the first time.
func (s *deliveryMetrics) countDecodeError(endpoint string, err error, log *slog.Logger) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unreadable == nil {
		s.unreadable = map[string]int64{}
	}
	if s.unreadable[endpoint]++; s.unreadable[endpoint] == 1 {
		log.Error("webhook endpoint skipped: its row cannot be decoded", slog.String("endpoint", endpoint),
			slog.Any("error", err))
	}
}

// latencyBuckets are the upper bounds of the buckets of the latency, in seconds. Latency is the
// time from when a message was due to the response to its first attempt: from milliseconds at an idle origin to
// an endpoint that was paused for a day.
var latencyBuckets = [...]float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 3600, 86400}

// observeLatency records the latency of a first attempt.
func (s *deliveryMetrics) observeLatency(latency time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, _ := slices.BinarySearch(latencyBuckets[:], latency.Seconds())
	s.latencies[i]++
	s.latencySum += latency
}

// classOK counts attempts that succeeded, beside the classes of failures.
const classOK = "ok"

// count counts an attempt by its result.
func (s *deliveryMetrics) count(a Attempt) {
	class := a.Detail.Class
	if a.OK() {
		class = classOK
	} else if class == "" {
		class = ClassOther
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byClass == nil {
		s.byClass = map[string]int64{}
	}
	s.byClass[class]++
}

// WriteMetrics writes counters of webhook attempts by result, and how long first
// attempts took, in the Prometheus text format.
func (s *Service) WriteMetrics(w io.Writer) {
	s.metrics.mu.Lock()
	counts, latencies, sum := maps.Clone(s.metrics.byClass), s.metrics.latencies, s.metrics.latencySum
	skips := int64(0)
	for _, n := range s.metrics.unreadable {
		skips += n
	}
	s.metrics.mu.Unlock()
	for _, class := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(w, "fieldmark_webhook_attempts_total{class=%q} %d\n", class, counts[class])
	}
	fmt.Fprintf(w, "fieldmark_webhook_endpoint_decode_errors_total %d\n", skips)
	total := int64(0)
	for i, bound := range latencyBuckets {
		total += latencies[i]
		fmt.Fprintf(w, "fieldmark_webhook_wait_seconds_bucket{le=%q} %d\n", strconv.FormatFloat(bound, 'g', -1, 64),
			total)
	}
	total += latencies[len(latencyBuckets)]
	fmt.Fprintf(w, "fieldmark_webhook_wait_seconds_bucket{le=\"+Inf\"} %d\nfieldmark_webhook_wait_seconds_sum "+
		"%g\nfieldmark_webhook_wait_seconds_count %d\n",
		total, sum.Seconds(), total)
}

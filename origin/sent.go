package origin

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/fieldmark/fieldmark/origin/webhook"
)

// sent counts what was tried in this process.
type sent struct {
	mu      sync.Mutex
	byClass map[string]int64
}

// note counts an attempt by what became of it.
func (s *sent) note(a webhook.Attempt) {
	class := a.Detail.Class
	if a.OK() {
		class = "ok"
	} else if class == "" {
		class = webhook.ClassOther
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byClass == nil {
		s.byClass = map[string]int64{}
	}
	s.byClass[class]++
}

// WriteMetrics writes counters of webhook attempts in the text format of
// Prometheus, by what became of them.
func (s *Service) WriteMetrics(w io.Writer) {
	s.sent.mu.Lock()
	counts := maps.Clone(s.sent.byClass)
	s.sent.mu.Unlock()
	for _, class := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(w, "fieldmark_webhook_attempts_total{class=%q} %d\n", class, counts[class])
	}
}

package origin_test

import (
	"flag"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

// chaos enables TestManyEndpoints: make chaos.
var chaos = flag.Bool("chaos", false, "deliver 100,000 messages")

// TestManyEndpoints sends the same messages to many endpoints twice: first all are healthy,
// then one is dead and one fails. The others must not be delayed. It takes long and
// runs only with make chaos.
func TestManyEndpoints(t *testing.T) {
	if !*chaos {
		return // TestDeadEndpointDelaysNoOther is the short form
	}
	const endpoints, missions = 50, 2000 // 100,000 messages, to as many endpoints as an account may have
	deliver := func(sick bool) (p50, p99 float64) {
		w := newFixture(t)
		waits := &latencies{}
		sink := newWireSink(t, func(path string, body []byte) {
			if path == "/0" { // one healthy endpoint is measured: each gets every message
				waits.arrive(path, body)
			}
		})
		failing := receive(t, status(http.StatusServiceUnavailable))
		for i := range endpoints {
			url := sink.url(i)
			if sick && i == endpoints-1 {
				url = "http://127.0.0.1:9/"
			} else if sick && i == endpoints-2 {
				url = failing.URL
			}
			createEndpoint(t, w, url, "mission.created")
		}
		stop := w.run(t)
		defer stop()
		every := time.NewTicker(10 * time.Millisecond) // within what the machine can do: 5,000 messages a second
		defer every.Stop()
		for range missions {
			<-every.C
			waits.open(t, w)
		}
		well := int64(endpoints)
		if sick {
			well -= 2
		}
		waittest.Until(t, "the healthy ones have everything", func() bool { return sink.got.Load() == well*missions })
		return waits.percentile(50), waits.percentile(99)
	}
	quietHalf, quiet := deliver(false)
	half, most := deliver(true)
	report := fmt.Sprintf(
		"%d messages: p50 %.1f and p99 %.1f ms with all well; p50 %.1f and p99 %.1f ms with one dead and one failing",
		endpoints*missions, quietHalf, quiet, half, most)
	t.Log(report)
	if most > 2*quiet+10 {
		t.Errorf("%s; want at most twice the quiet figure", report)
	}
}

package origin_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
)

// A successful test shows that the receiver has recovered: held messages are sent.
func TestPingClosesTheCircuit(t *testing.T) {
	r := receive(t, status(503))
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		p := createEndpoint(t, w, r.URL, "mission.created")
		stop := w.run(t)
		defer stop()
		for _, id := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
			openMission(t, w, id)
		}
		time.Sleep(4 * time.Minute) // virtual
		if _, err := w.Webhooks.Ping(t.Context(), "", p.ID, fieldmark.PingRequest{}); err != nil {
			t.Fatal(err)
		}
		if e := w.endpoint(t, p.ID); e.Circuit != fieldmark.CircuitOpen {
			t.Fatalf("after a test that failed: circuit %s, want open", e.Circuit)
		}
		fine := status(204)
		r.answer.Store(&fine)
		result, err := w.Webhooks.Ping(t.Context(), "", p.ID, fieldmark.PingRequest{})
		if err != nil || !result.OK {
			t.Fatalf("test: %+v, %v", result, err)
		}
		time.Sleep(2 * time.Second)
		if n := states(w.deliveries(t)); n[fieldmark.DeliveryHeld] != 0 || n[fieldmark.DeliveryDone] < 2 {
			t.Errorf("two seconds after a test that succeeded: %v, want none held and more than the test done", n)
		}
	})
}

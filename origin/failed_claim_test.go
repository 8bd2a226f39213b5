package origin_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

// A message that was claimed by a transaction that failed is not leased, so it is not sent: here the transaction also
// records the message before it, which a second transaction then records.
func TestFailedClaimSendsNothing(t *testing.T) {
	w := newFixture(t)
	arrived, proceed := make(chan struct{}, 1), make(chan struct{})
	r := receive(t, func(rw http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-proceed
		rw.WriteHeader(http.StatusNoContent)
	})
	defer r.Close() // otherwise the receiver of a failed test never returns
	e := createEndpoint(t, w, r.URL, "mission.created")
	w.patch(t, e.ID, fieldmark.EndpointPatch{MaxInFlight: to(1)})
	stop := w.run(t)
	defer stop()
	openMission(t, w, "first")
	<-arrived
	openMission(t, w, "second")
	allow := storetest.RefuseClaims(t, w.At, "delivery")
	fine := status(http.StatusNoContent)
	r.answer.Store(&fine)
	close(proceed)
	refused := func() int { return strings.Count(w.logged(), "deliver webhooks") }
	waittest.Until(t, "the claim has failed twice", func() bool { return refused() >= 2 || r.got.Load() > 1 })
	if n := r.got.Load(); n != 1 {
		t.Errorf("%d messages, one of them by a transaction that failed", n)
	}
	if n := states(w.deliveries(t)); n[fieldmark.DeliveryDone] != 1 || n[fieldmark.DeliveryDue] != 1 {
		t.Errorf("deliveries %v, want the first one done and the second one due", n)
	}
	allow()
	waittest.Until(t, "both messages are sent", allDone(w, t))
	if n := r.got.Load(); n != 2 {
		t.Errorf("%d messages, want two", n)
	}
}

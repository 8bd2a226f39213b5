package origin_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/store"
)

// undecodable are statements that damage the row of an endpoint.
var undecodable = []string{
	`UPDATE endpoint SET settings = '{' WHERE id = '%s'`,
	`UPDATE endpoint SET health = '{' WHERE id = '%s'`,
}

// An endpoint whose row cannot be decoded is skipped, counted and logged once. The
// other endpoints get their messages.
func TestUndecodableEndpointIsSkipped(t *testing.T) {
	w := newFixture(t)
	r := receive(t, status(204))
	for _, damage := range undecodable {
		bad := createEndpoint(t, w, r.URL+"/bad", "mission.created")
		tamper(t, w.At, fmt.Sprintf(damage, bad.ID))
	}
	good := createEndpoint(t, w, r.URL+"/good", "mission.created")
	stop := w.run(t)
	defer stop()
	for _, id := range []string{"a", "b", "c"} {
		openMission(t, w, id)
	}
	waittest.Until(t, "the good endpoint has its messages", func() bool {
		done := 0
		for _, d := range w.deliveries(t) {
			if d.EndpointID == good.ID && d.State == fieldmark.DeliveryDone {
				done++
			}
		}
		return done == 3
	})
	const metric = "fieldmark_webhook_endpoint_decode_errors_total "
	var metrics bytes.Buffer
	w.Webhooks.WriteMetrics(&metrics)
	if _, n, found := strings.Cut(metrics.String(), metric); !found || n[0] < '2' {
		t.Errorf("metrics after two endpoints were skipped:\n%s", metrics.String())
	}
	if n := strings.Count(w.logged(), "cannot be decoded"); n != 2 {
		t.Errorf("%d log lines about 2 endpoints, want one for each", n)
	}
}

// A replay that fails does not stop later replays.
func TestFailingReplayStopsNoOther(t *testing.T) {
	w := newFixture(t)
	r := receive(t, status(204))
	openMission(t, w, "a")
	bad := createEndpoint(t, w, r.URL+"/bad", "mission.created")
	good := createEndpoint(t, w, r.URL+"/good", "mission.created")
	for _, id := range []string{bad.ID, good.ID} { // the oldest runs first
		if _, err := w.Webhooks.StartReplay(t.Context(), "", id,
			fieldmark.ReplayRequest{AfterEvent: new(int64)}); err != nil {
			t.Fatal(err)
		}
	}
	tamper(t, w.At, fmt.Sprintf(undecodable[0], bad.ID))
	stop := w.run(t)
	defer stop()
	waittest.Until(t, "the second replay is done", func() bool {
		list, err := w.Webhooks.Replays(t.Context(), "", good.ID)
		return err == nil && list[0].State == fieldmark.ReplayDone && list[0].Queued == 1
	})
}

// The replays of an account that started many do not keep those of another from running.
func TestReplaysOfAccountsTakeTurns(t *testing.T) {
	w := newFixture(t)
	ctx := t.Context()
	r := receive(t, status(204))
	if _, _, err := w.Access.Accounts.Put(ctx, "other", fieldmark.AccountRequest{Name: "Other"}); err != nil {
		t.Fatal(err)
	}
	busy := createEndpoint(t, w, r.URL, "mission.created")
	other, err := w.Webhooks.CreateEndpoint(ctx, "other", fieldmark.EndpointRequest{URL: r.URL})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{busy.ID, busy.ID, busy.ID, other.ID} {
		if _, err := w.Webhooks.StartReplay(ctx, "", id, fieldmark.ReplayRequest{AfterEvent: new(int64)}); err != nil {
			t.Fatal(err)
		}
	}
	list, err := w.Store.RunningReplays(ctx, 2)
	if err != nil || len(list) != 2 || list[0].EndpointID != busy.ID || list[1].EndpointID != other.ID {
		t.Errorf("running %+v, %v; want the oldest of each account", list, err)
	}
}

// A replay without an end contains every event in the log, also those of an origin
// whose clock is ahead.
func TestReplayContainsEventsOfAClockAhead(t *testing.T) {
	w := newFixture(t)
	r := receive(t, status(204))
	ahead := store.Event{Account: access.DefaultAccount, Subject: "msn_1", Event: fieldmark.Event{
		ID: "evt_ahead", Type: fieldmark.EventMissionCreated, Time: fieldmark.At(time.Now().Add(5 * time.Second)),
		Data: []byte(`{}`)}}
	if err := w.Store.Write(t.Context(), func(ctx context.Context,
		tx *store.Tx) error {
		return tx.AppendEvent(ctx, &ahead)
	}); err != nil {
		t.Fatal(err)
	}
	openMission(t, w, "behind")
	p := createEndpoint(t, w, r.URL, "mission.created")
	stop := w.run(t)
	defer stop()
	if got := w.replayed(t, p.ID, fieldmark.ReplayRequest{AfterEvent: new(int64)}); got.Queued != 2 {
		t.Errorf("replay of everything: %+v, want 2 queued", got)
	}
}

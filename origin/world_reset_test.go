package origin_test

import (
	"context"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/safehttp"
	"github.com/fieldmark/fieldmark/origin/store"
)

// newWorldFixture returns an origin for which a public host, hooks.example, refuses connections.
func newWorldFixture(t *testing.T) *fixture {
	t.Helper()
	client := safehttp.New(safehttp.Config{ConnectTo: map[string]string{"hooks.example:443": "127.0.0.1:9"},
		Targets: true})
	t.Cleanup(client.CloseIdle)
	return openFixture(t, storetest.New(t), func(c *origin.Config) { c.HTTP = client })
}

// pingedWorld creates the test world of an account with an endpoint that has received a test message, and returns its
// account and the endpoint.
func (w *fixture) pingedWorld(t *testing.T, account string) (world, endpoint string) {
	t.Helper()
	ctx, world := t.Context(), fieldmark.TestAccount(account)
	_, err := w.Access.Keys.CreateTest(ctx, account, fieldmark.TestKeyRequest{Name: "t"})
	if err != nil {
		t.Fatal(err)
	}
	e, err := w.Webhooks.CreateEndpoint(ctx, world, fieldmark.EndpointRequest{URL: "https://hooks.example/",
		Events: []string{"mission.*"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Webhooks.Ping(ctx, world, e.ID, fieldmark.PingRequest{}); err != nil {
		t.Fatal(err)
	}
	return world, e.ID
}

// resetAll deletes the rows of a world that is being reset.
func (w *fixture) resetAll(t *testing.T, world string) {
	t.Helper()
	for n := int64(1); n > 0; {
		err := w.Store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) (err error) {
			n, err = tx.ResetWorld(ctx, world, 100)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Test messages are rows of the world of their endpoint, so that a reset deletes them. Those that an earlier version
// stored as live ones are deleted too.
func TestResetDeletesTestMessages(t *testing.T) {
	w := newWorldFixture(t)
	world, _ := w.pingedWorld(t, access.DefaultAccount)
	if err := w.Store.Check(t.Context()); err != nil {
		t.Errorf("after a test message: %v", err)
	}
	for _, earlier := range []bool{false, true} {
		if earlier {
			w.pingedWorld(t, access.DefaultAccount)
			storetest.Exec(t, w.At, `UPDATE delivery SET world = ''`)
		}
		if _, err := w.TestWorlds.Reset(t.Context(), access.DefaultAccount); err != nil {
			t.Fatal(err)
		}
		w.resetAll(t, world)
		s, err := w.TestWorlds.Get(t.Context(), access.DefaultAccount)
		if err != nil || s.State != fieldmark.TestWorldReady {
			t.Errorf("a world after its reset, with rows of an earlier version %v: %+v, %v", earlier, s, err)
		}
	}
}

// A world whose rows cannot be deleted does not keep others from being reset.
func TestResetGoesOnWithTheNextWorld(t *testing.T) {
	w := newWorldFixture(t)
	broken, endpoint := w.pingedWorld(t, access.DefaultAccount)
	const other = "other" // after the default account
	err := w.Store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		return tx.PutAccount(ctx, other, fieldmark.At(time.Now()))
	})
	if err != nil {
		t.Fatal(err)
	}
	w.pingedWorld(t, other)
	// A row that this version does not know of. The table stays in a database that is used again.
	storetest.Exec(t, w.At, `CREATE TABLE IF NOT EXISTS later (endpoint TEXT NOT NULL REFERENCES endpoint (id))`,
		`INSERT INTO later (endpoint) VALUES ('`+endpoint+`')`)
	for _, account := range []string{access.DefaultAccount, other} {
		if _, err := w.TestWorlds.Reset(t.Context(), account); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.TestWorlds.Run(ctx) }()
	state := func(account string) fieldmark.TestWorldState {
		t.Helper()
		s, err := w.TestWorlds.Get(t.Context(), account)
		if err != nil {
			t.Fatal(err)
		}
		return s.State
	}
	waittest.Until(t, "the other world is ready", func() bool { return state(other) == fieldmark.TestWorldReady })
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got := state(access.DefaultAccount); got != fieldmark.TestWorldResetting {
		t.Errorf("%s is %s, want one that is being reset: a row of it cannot be deleted", broken, got)
	}
}

package origin_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/idempotency"
	"github.com/fieldmark/fieldmark/origin/mission"
	"github.com/fieldmark/fieldmark/origin/store"
)

// An origin that starts deletes all responses that are older than the retention,
// and no others.
func TestKeptAnswersAreSwept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		ctx := t.Context()
		keep := func(prefix string, n int) {
			t.Helper()
			err := w.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
				for i := range n {
					if err := tx.SaveResponse(ctx, store.SavedResponse{Account: access.DefaultAccount,
						Key: fmt.Sprint(prefix, i), Status: 200, At: time.Now()}); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		keep("old", 1001) // more than one transaction deletes
		time.Sleep(time.Hour)
		keep("new", 2)
		time.Sleep(idempotency.Retention - 30*time.Minute)
		stop := w.run(t)
		time.Sleep(2 * time.Second)
		stop()
		for key, there := range map[string]bool{"old0": false, "old1000": false, "new0": true, "new1": true} {
			_, err := w.Store.SavedResponse(ctx, access.DefaultAccount, key, time.Time{})
			if gone := errors.Is(err, store.ErrNotFound); gone == there || !gone && err != nil {
				t.Errorf("answer %s: %v, want kept %v", key, err, there)
			}
		}
	})
}

// Two origins execute a request with one key once: the second one finds the
// response of the first in the database.
func TestTwoOriginsExecuteOnce(t *testing.T) {
	a, b := pair(t)
	once := idempotency.Key{Account: access.DefaultAccount, Name: "k", Request: fieldmark.DigestOf([32]byte{1})}
	answers := make(chan idempotency.Response, 40)
	for i := range 40 {
		go func() {
			w := []*fixture{a, b}[i%2]
			// Begin is not called: it would find the response first.
			in, err := mission.NewRequest(access.DefaultAccount, request("same"))
			if err != nil {
				t.Error(err)
			}
			answer, err := w.Missions.Execute(context.WithoutCancel(t.Context()), once, mission.Create(in),
				func(r []mission.Result) (idempotency.Response, error) {
					return idempotency.Response{Status: 201, Body: []byte(fmt.Sprint(r[0].Mission.ID, r[0].Created)),
						Mission: r[0].Mission.ID}, nil
				})
			if err != nil {
				t.Errorf("do: %v", err)
			}
			answers <- answer
		}()
	}
	fresh, bodies := 0, map[string]bool{}
	for range 40 {
		answer := <-answers
		bodies[string(answer.Body)] = true
		if !answer.Replayed {
			fresh++
		}
	}
	if fresh != 1 || len(bodies) != 1 {
		t.Errorf("%d answers that were not replayed, %d bodies; want 1 and 1", fresh, len(bodies))
	}
	other := once
	other.Request = fieldmark.DigestOf([32]byte{2})
	_, _, err := b.Responses.Begin(t.Context(), other)
	wantCode(t, "another request under the key", err, fieldmark.CodeIdempotencyReused)
}

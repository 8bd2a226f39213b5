package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/store/pooler"
)

// Two stores write and read through pgbouncer in transaction mode, beside one that is connected to the
// server. No session keeps what one of their transactions set.
func TestPooler(t *testing.T) {
	direct, through := storetest.StartPooler(t)
	if _, err := store.Migrate(t.Context(), through); !errors.Is(err, pooler.ErrSession) {
		t.Errorf("migrate through the pooler: %v, want %v", err, pooler.ErrSession)
	}
	stores := []*store.Store{withAccount(t, open(t, through)), open(t, through), open(t, direct)}
	const each = 100
	var all sync.WaitGroup
	for n, s := range stores {
		for i := range each {
			all.Go(func() {
				title := fmt.Sprint(n, "-", i)
				name := store.MissionKey{Account: "a", Source: "s", ExternalID: title}
				write := func(ctx context.Context, tx *store.Tx) error {
					_, err := openOne(ctx, tx, name, title)
					return err
				}
				err := s.WriteWithPrefetch(t.Context(), prefetch(name), write)
				if i%3 == 0 {
					err = errors.Join(err, s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
						return appendEvent(ctx, tx, "after-"+title)
					}))
				}
				if err != nil {
					t.Errorf("write %s: %v", title, err)
				}
			})
		}
	}
	all.Wait()
	want := int64(len(stores) * (each + (each+2)/3))
	for _, s := range stores {
		if head, err := s.Head(t.Context()); head != want || err != nil {
			t.Errorf("head = %d, %v; want %d", head, err, want)
		}
	}
	check(t, stores[0])
	db := raw(t, store.Config{URL: strings.Replace(through.URL, "&pooler=transaction", "", 1)})
	for range 20 { // more than there are sessions
		for name, want := range map[string]string{"lock_timeout": "0", "idle_in_transaction_session_timeout": "0"} {
			var got string
			if err := db.QueryRowContext(t.Context(), `SELECT current_setting($1)`, name).Scan(&got); err != nil ||
				got != want {
				t.Errorf("%s = %s, %v in a session of the pooler; want %s", name, got, err, want)
			}
		}
	}
}

func TestPoolerBegin(t *testing.T) {
	got := pooler.Begin([]string{"BEGIN", "LOCK"}, map[string]string{"b": "on", "a": "it's"})
	want := []string{"BEGIN", "SET LOCAL a = 'it''s'", "SET LOCAL b = 'on'", "LOCK"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q, want %q", got, want)
	}
	cfg := store.Config{URL: "postgres://u@127.0.0.1:1/x?pooler=session"}
	if _, err := store.Open(t.Context(), cfg); err == nil || fieldmark.IsCode(err, fieldmark.CodeOriginUnavailable) {
		t.Error("a pooler of sessions was accepted")
	}
}

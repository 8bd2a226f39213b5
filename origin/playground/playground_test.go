package playground_test

import (
	"context"
	"encoding/json"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin/playground"
	"github.com/fieldmark/fieldmark/origin/store"
)

var card = playground.Input{Kind: playground.KindCardJSON, Body: []byte("{}")}

// TestLimits: a network has a number of runs a minute, whichever of its addresses asks; another network has its
// own. A server without a runner says so.
func TestLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // uses come back with time
		s := open(t)
		runs := 0
		p := playground.New(s, func(context.Context, playground.Input) (json.RawMessage, error) {
			runs++
			return json.RawMessage("{}"), nil
		})
		a, b := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.99")
		other := netip.MustParseAddr("198.51.100.1")
		refused := false
		for range 25 { // more than the limit of a minute
			_, err := p.Run(t.Context(), a, card)
			if e := fieldmark.AsError(err); err != nil {
				refused = true
				if e.Code != fieldmark.CodeRateLimited || e.RetryAfter <= 0 || e.RetryAfter > time.Minute {
					t.Fatalf("refused with %+v", e)
				}
				break
			}
		}
		if !refused || runs == 0 {
			t.Errorf("%d runs, refused: %v", runs, refused)
		}
		if _, err := p.Run(t.Context(), b, card); !fieldmark.IsCode(err, fieldmark.CodeRateLimited) {
			t.Errorf("another address of the network: %v", err)
		}
		if _, err := p.Run(t.Context(), other, card); err != nil {
			t.Errorf("another network: %v", err)
		}
		for _, in := range []playground.Input{
			{Kind: playground.KindCall, Values: []int64{1}},
			{Kind: playground.KindCall, Values: []int64{1}, States: "7"},
			{Kind: playground.KindCall, Values: make([]int64, 257)},
		} {
			if _, err := p.Run(t.Context(), other, in); !fieldmark.IsCode(err, fieldmark.CodeValidationFailed) {
				t.Errorf("%d values, states %q: %v", len(in.Values), in.States, err)
			}
		}
		if _, err := playground.New(s, nil).Run(t.Context(), other, card); !fieldmark.IsCode(err,
			fieldmark.CodeModuleDisabled) {
			t.Errorf("without a runner: %v", err)
		}
	})
}

// TestBusy: one input runs at a time, some wait, and the next is refused at once.
func TestBusy(t *testing.T) {
	began, release := make(chan struct{}, 16), make(chan struct{})
	p := playground.New(open(t), func(context.Context, playground.Input) (json.RawMessage, error) {
		began <- struct{}{}
		<-release
		return nil, nil
	})
	done := make(chan error, 16)
	from := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{198, 51, byte(i), 1}) }
	run := func(ctx context.Context, i int) {
		_, err := p.Run(ctx, from(i), card)
		done <- err
	}
	go run(t.Context(), 0)
	<-began
	ctx, cancel := context.WithCancel(t.Context())
	for i := range 8 {
		go run(ctx, 1+i)
	}
	// When the queue is full, the next is refused. Before, it would wait: it has a context that ended.
	ended, end := context.WithCancel(t.Context())
	end()
	for {
		if _, err := p.Run(ended, from(9), card); fieldmark.IsCode(err, fieldmark.CodeOverloaded) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	for range 8 {
		if err := <-done; err == nil {
			t.Error("a waiting run succeeded")
		}
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func open(t *testing.T) *store.Store {
	t.Helper()
	return storetest.Open(t, storetest.New(t))
}

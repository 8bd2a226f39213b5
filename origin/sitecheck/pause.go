package sitecheck

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark/origin/safehttp"
	"github.com/fieldmark/fieldmark/origin/store"
)

// Pauses keep the pause between two requests to one host, over all audits of all origins.
// A host is free again after maxRequest even if the process that reserved it ended.
type Pauses struct {
	Store *store.Store
	Log   *slog.Logger
}

const (
	// maxRequest is how long a reservation of a host lasts: more than a request takes,
	// with its body, so that only a process that died loses one.
	maxRequest = safehttp.DefaultTimeout + 5*time.Second
	// maxPoll is the longest delay until a wait notices that a request ended.
	maxPoll = time.Second
	// minPoll limits how often a wait queries the database.
	minPoll = 20 * time.Millisecond
	// releaseTimeout limits the write after a request, which does not end with its context.
	releaseTimeout = 5 * time.Second
)

// Acquire waits until no other request to a host is being made and the pause after the last
// one is over. The caller calls release after the request, with the pause until the next, which
// is longer if the owner of a brand there wishes it.
func (p *Pauses) Acquire(ctx context.Context, host string) (release func(pause time.Duration), err error) {
	for {
		var next, until time.Time
		var ok bool
		// The reservation is a row, so it holds for all processes.
		err := p.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
			now := time.Now()
			until = now.Add(maxRequest).Truncate(time.Microsecond)
			next, ok, err = tx.AcquireHost(ctx, host, now, until)
			return err
		})
		if err != nil {
			return nil, err
		}
		if ok {
			return func(pause time.Duration) { p.release(ctx, host, until, pause) }, nil
		}
		// The wait is bounded on both sides: a request may end before its reservation does.
		t := time.NewTimer(min(max(time.Until(next), minPoll), maxPoll))
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return nil, ctx.Err()
		}
	}
}

// release ends a reservation. If that fails, the host is free when the reservation expires.
func (p *Pauses) release(ctx context.Context, host string, until time.Time, pause time.Duration) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	ended, name := time.Now(), strings.ToLower(host)
	if bare, _, err := net.SplitHostPort(name); err == nil {
		name = bare
	}
	err := p.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		// The owner's setting is read at the end of a request, so a change applies to the next one.
		wished, err := tx.CrawlPause(ctx, name)
		if err != nil {
			return err
		}
		return tx.ReleaseHost(ctx, host, until, ended.Add(max(pause, wished)))
	})
	if err != nil {
		p.Log.Error("end the reservation of a host", slog.String("host", host), slog.Any("error", err))
	}
}

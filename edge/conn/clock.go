package conn

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/fieldmark/fieldmark/edge/conn/h2"
	"github.com/fieldmark/fieldmark/edge/conn/h3"
)

// Time is a point in time, to the second, and its Date header field.
type Time struct {
	At    time.Time
	Date  [len(http.TimeFormat)]byte
	HPACK []byte // the field, for HTTP/2
	QPACK []byte // the field, for HTTP/3
}

// NewTime returns at with its Date header field.
func NewTime(at time.Time) *Time {
	t := &Time{At: at}
	at.UTC().AppendFormat(t.Date[:0], http.TimeFormat)
	t.HPACK = h2.AppendField(nil, "date", string(t.Date[:]))
	t.QPACK = h3.AppendField(nil, "date", string(t.Date[:]))
	return t
}

// clock caches the time: reading the clock twice costs as much as parsing a simple
// request.
type clock struct{ now atomic.Pointer[Time] }

func (c *clock) set(at time.Time) { c.now.Store(NewTime(at)) }

// run updates the cached time every second until ctx ends.
func (c *clock) run(ctx context.Context) error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		c.set(time.Now())
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

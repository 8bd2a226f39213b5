package cdn

import (
	"context"
	"time"

	"github.com/fieldmark/fieldmark"
)

const (
	// confirmEvery is how often the reports of edges are read while a purge waits for them.
	confirmEvery = time.Second
	// silentAfter is the age of a report from which an edge counts as behind: two intervals, and the time
	// that a busy machine needs.
	silentAfter = 2*fieldmark.ReportInterval + 2*time.Second
	// goneAfter is how long a silent edge is waited for. One that is offline for longer has restarted, and
	// begins at the head of the log.
	goneAfter = 2 * time.Minute
	// maxNodes limits the edges that are waited for, as many as the origin lists.
	maxNodes = 1000
)

// unconfirmed is a purge, sent twice, that edges may have undone: an edge that had not applied an event when
// the CDN requested from gave it an outdated response.
type unconfirmed struct {
	batch
	from fieldmark.EventCursor // the position before it
	sent time.Time             // the second time
	// late has, by id, the edges that have not reported an event as new as the purge, and whether they were
	// seen to be behind after it. It is nil until the reports were read once.
	late map[string]bool
}

// review updates late with the reports of edges. It reports whether the purge must be sent again: when an
// edge turns out to be behind, and when one that was behind no longer is, because meanwhile the CDN may have
// requested it again.
func (u *unconfirmed) review(nodes []fieldmark.NodeReport, now time.Time) (again bool) {
	// Edges that start later are at the head of the log, so only those of the first review count.
	first := u.late == nil
	if first {
		u.late = map[string]bool{}
	}
	known := map[string]bool{}
	for i := range nodes {
		n := &nodes[i]
		known[n.Node] = true
		behind, waiting := u.late[n.Node]
		if !first && !waiting {
			continue
		}
		switch reported := n.SeenAt.Std().After(u.sent); {
		case n.Cursor >= u.upTo.Number:
			// A report from before the second purge is enough: the edge was not behind when that was sent.
			again = again || behind
			delete(u.late, n.Node)
		case reported:
			again = again || !behind
			u.late[n.Node] = true
		default:
			u.late[n.Node] = behind || now.Sub(u.sent) > silentAfter
		}
	}
	// Edges that have stopped serve nothing any more.
	for id := range u.late {
		if !known[id] {
			delete(u.late, id)
		}
	}
	return again
}

// confirm sends purges a third time that an edge was too late for, and drops those that every edge has
// applied.
func (f *follower) confirm(ctx context.Context) error {
	isNew := len(f.open) > 0 && f.open[len(f.open)-1].late == nil
	if len(f.open) == 0 || !isNew && time.Since(f.confirmedAt) < confirmEvery {
		return nil
	}
	now := time.Now()
	f.confirmedAt = now
	nodes, err := f.s.cfg.Store.Nodes(ctx, fieldmark.At(now.Add(-goneAfter)), maxNodes)
	if err != nil {
		return err
	}
	var keys keySet
	rest := f.open[:0]
	for _, u := range f.open {
		if u.review(nodes, now) {
			for _, key := range u.keys {
				keys.put(key)
			}
		}
		if len(u.late) > 0 {
			rest = append(rest, u)
		}
	}
	clear(f.open[len(rest):])
	f.open = rest
	// Hard, as the second purge: a soft one would let the CDN serve once more what the late edge gave it.
	if again := keys.all(); len(again) > 0 {
		return f.sendHard(ctx, again)
	}
	return nil
}

// confirmedTo returns the position up to which every edge is past what was purged; nil: that is the position
// up to which everything was purged twice. It is stored, so that another worker sends later purges again.
func (f *follower) confirmedTo() *fieldmark.EventCursor {
	if len(f.open) == 0 {
		return nil
	}
	return &f.open[0].from
}

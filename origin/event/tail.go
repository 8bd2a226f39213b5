package event

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/timeout"
	"github.com/fieldmark/fieldmark/origin/store"
)

// Intervals of the reader of the log, and limits of the events in memory.
const (
	// pollInterval is the delay until another process's event is seen; edges promise a second.
	pollInterval = 500 * time.Millisecond
	// readGap is the least time between two reads: at most ten a second, however many edges wait
	// and events come.
	readGap = 100 * time.Millisecond
	// staleAfter is the age at which what is in memory is read again before it is used. The reader
	// is younger while it runs.
	staleAfter = 2 * pollInterval
	// advanceEvery is how long the cursors of edges may stay behind events that they do not act on.
	// They must move within the events in memory; at 1,740 missions a second those last 5.7 s.
	advanceEvery = 5 * time.Second
	// heldEvents is how many events are in memory, as many as an edge reads back at its start.
	heldEvents = 10_000
	// heldBytes bounds their size: a purge may have 200 kB of tags, and its data again.
	heldBytes = 16 << 20
	// readRows is the limit of one read. The reader repeats it until it has caught up.
	readRows = 2000
	// eventOverhead is the approximate size of an event in memory without its texts.
	eventOverhead = 200
)

// tail is the newest part of the log in memory, and its reader. The reader runs while at
// least one goroutine waits, and reads the database for all of them.
type tail struct {
	store *store.Store
	types []fieldmark.EventType // whose data is read
	kick  chan struct{}         // holds a signal while a read is requested

	mu      sync.Mutex
	held    held
	waiting int // goroutines between join and leave
	cancel  context.CancelFunc
	ended   chan struct{} // closed when the last reader has ended; nil: before the first

	started, done int64         // reads
	at            time.Time     // when the last read ended
	err           error         // of the last read
	read          chan struct{} // closed when the next read ends
	grown         chan struct{} // closed when the log has grown or was replaced, or a read has failed
	// changed is closed like grown, but only if edges act on one of the events, or announced
	// has moved.
	changed     chan struct{}
	announced   int64 // the head when changed was closed last
	announcedAt time.Time
}

func newTail(s *store.Store) *tail {
	return &tail{store: s, types: edgeDataTypes(), kick: make(chan struct{}, 1), read: make(chan struct{}),
		grown: make(chan struct{}), changed: make(chan struct{})}
}

// join starts the reader for the first goroutine that waits.
func (t *tail) join() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting++
	if t.waiting > 1 {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	previous, ended := t.ended, make(chan struct{})
	t.cancel, t.ended = cancel, ended
	go func() {
		defer close(ended)
		if previous != nil {
			<-previous // one reader at a time
		}
		t.run(ctx)
	}()
}

// release ends the reader with the last goroutine that waits, so that it does not outlive them.
func (t *tail) release() {
	t.mu.Lock()
	t.waiting--
	last, ended := t.waiting == 0, t.ended
	if last {
		t.cancel()
	}
	t.mu.Unlock()
	if last {
		<-ended
	}
}

// run reads the log at once and whenever it may have grown, until ctx ends.
func (t *tail) run(ctx context.Context) {
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	for {
		t.mu.Lock()
		since := time.Since(t.at)
		t.mu.Unlock()
		if since < readGap && timeout.Sleep(ctx, readGap-since) != nil {
			return
		}
		grown := t.store.Watch(store.TopicEdgeEvents) // before the read: an event between them causes another
		t.refresh(ctx)
		select {
		case <-grown:
		case <-t.kick:
		case <-poll.C:
		case <-ctx.Done():
			return
		}
	}
}

// refresh reads what is new in the log.
func (t *tail) refresh(ctx context.Context) {
	t.mu.Lock()
	t.started++
	number := t.started
	next := t.held // a copy of its fields; the slices only grow
	t.mu.Unlock()
	var act, replaced bool
	err := next.readNew(ctx, t.store, t.types, &act, &replaced)
	t.mu.Lock()
	defer t.mu.Unlock()
	if ctx.Err() != nil {
		return // no goroutine waits any more
	}
	now := time.Now()
	grew := replaced || next.head != t.held.head
	if err == nil {
		t.held = next
	}
	t.err, t.at, t.done = err, now, number
	close(t.read)
	t.read = make(chan struct{})
	if grew || err != nil {
		close(t.grown)
		t.grown = make(chan struct{})
	}
	far := next.head-t.announced > heldEvents/2 || now.Sub(t.announcedAt) >= advanceEvery
	if err != nil || replaced || act || next.head > t.announced && far {
		if err == nil {
			t.announced, t.announcedAt = next.head, now
		}
		close(t.changed)
		t.changed = make(chan struct{})
	}
}

// needed returns the number of the read that must be over before what is in memory may be used.
func (t *tail) needed() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done == 0 || t.err != nil || time.Since(t.at) > staleAfter {
		return t.started + 1
	}
	return 0
}

// request returns the number of a read that begins after the call.
func (t *tail) request() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case t.kick <- struct{}{}:
	default: // is requested
	}
	return t.started + 1
}

// lastDone returns the number of the last read.
func (t *tail) lastDone() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.done
}

// growth returns a channel that is closed when the log has grown, or is not readable.
func (t *tail) growth() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.grown
}

// view is what a reader at a position sees.
type view struct {
	page      fieldmark.EventPage
	held      bool // the page is in memory
	announced int64
	changed   <-chan struct{} // closed when the reader should read again
}

// view returns the page after a number, once the read of the given number is over.
func (t *tail) view(ctx context.Context, need, after int64, limit int) (v view, err error) {
	t.mu.Lock()
	for t.done < need {
		read := t.read
		t.mu.Unlock()
		select {
		case <-read:
		case <-ctx.Done():
			return v, ctx.Err()
		}
		t.mu.Lock()
	}
	defer t.mu.Unlock()
	if t.err != nil && need > 0 {
		return v, t.err
	}
	v.announced, v.changed = t.announced, t.changed
	v.page, v.held = t.held.page(after, limit)
	return v, nil
}

// held is a stretch of the log in memory, up to its head. The elements of its slices do
// not change: pages share them.
type held struct {
	name         string            // id of the log; empty: nothing was read
	head, oldest int64             // of the log
	first        int64             // number of the event that ids begins with; head+1 if it is empty
	ids          []string          // of all events from first to head
	events       []fieldmark.Event // those that edges act on
	bytes        int               // size of all, approximately
}

// readNew reads the log up to its head. It reports whether edges act on one of the events, and
// whether the log is another one, or was read for the first time.
func (h *held) readNew(ctx context.Context, s *store.Store, types []fieldmark.EventType, act, replaced *bool) error {
	for {
		at, events, err := s.LogTail(ctx, h.head, readRows, maxPageBytes, types)
		if err != nil {
			return err
		}
		if h.differs(&at) || at.Head-h.head > heldEvents {
			*replaced = *replaced || h.differs(&at)
			from, before := h.head, max(at.Head-heldEvents, at.Oldest-1, 0)
			*h = held{name: at.Name, head: before, first: before + 1, oldest: at.Oldest}
			if from != before {
				continue
			}
		}
		h.oldest = at.Oldest
		for i := range events {
			*act = h.add(&events[i]) || *act
		}
		h.trim()
		if len(events) == 0 && h.head < at.Head { // the newest rows are missing
			*h = held{name: at.Name, head: at.Head, first: at.Head + 1, oldest: at.Oldest}
		}
		if h.head >= at.Head {
			return nil
		}
	}
}

// differs reports whether the log is not the one whose events are in memory.
func (h *held) differs(at *store.LogStatus) bool {
	return at.Name != h.name || at.Head < h.head || len(h.ids) > 0 && at.AfterID != h.ids[len(h.ids)-1]
}

// add appends an event and reports whether edges act on it.
func (h *held) add(e *fieldmark.Event) bool {
	if e.Number != h.head+1 { // rows are missing: what is older cannot be compared
		h.ids, h.events, h.first, h.bytes = nil, nil, e.Number, 0
	}
	h.head = e.Number
	h.ids = append(h.ids, e.ID)
	h.bytes += len(e.ID) + 16
	if !ForEdges(e) {
		return false
	}
	h.events = append(h.events, *e)
	h.bytes += sizeOf(e)
	return true
}

// sizeOf returns the approximate size of an event in memory.
func sizeOf(e *fieldmark.Event) int {
	n := eventOverhead + len(e.ID) + len(e.Brand) + len(e.Data)
	for _, tag := range e.Tags {
		n += len(tag) + 16
	}
	return n
}

// trim removes the oldest events beyond the limits.
func (h *held) trim() {
	for len(h.ids) > heldEvents || h.bytes > heldBytes && len(h.ids) > 1 {
		h.bytes -= len(h.ids[0]) + 16
		if len(h.events) > 0 && h.events[0].Number == h.first {
			h.bytes -= sizeOf(&h.events[0])
			h.events = h.events[1:]
		}
		h.ids = h.ids[1:]
		h.first++
	}
}

// page returns the events after a number, if none of them is too old to be in memory.
func (h *held) page(after int64, limit int) (page fieldmark.EventPage, ok bool) {
	page = fieldmark.EventPage{Log: h.name, Head: h.head, Oldest: h.oldest}
	if after > h.head {
		return page, true
	}
	if after < h.first {
		// Unless the log begins with the events in memory.
		if h.first > max(h.oldest, 1) {
			return page, false
		}
	} else {
		page.AfterID = h.id(after)
	}
	i, _ := slices.BinarySearchFunc(h.events, after, func(e fieldmark.Event, n int64) int {
		return cmp.Compare(e.Number, n+1)
	})
	rest, size := h.events[i:], 0
	page.Through = h.head
	for n := range rest {
		if size += sizeOf(&rest[n]); n > 0 && (n == limit || size > maxPageBytes) {
			rest = rest[:n:n]
			page.Through = rest[n-1].Number
			break
		}
	}
	page.Events, page.ThroughID = rest, h.id(page.Through)
	return page, true
}

// id returns the id of an event, or "".
func (h *held) id(number int64) string {
	if number < h.first || number-h.first >= int64(len(h.ids)) {
		return ""
	}
	return h.ids[number-h.first]
}

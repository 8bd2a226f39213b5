package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/brand"
	"github.com/fieldmark/fieldmark/origin/cdn"
	"github.com/fieldmark/fieldmark/origin/event"
)

// maxEvents bounds a page of events; an edge that is further behind requests the next page.
const maxEvents = 1000

// eventAPI sends the event log to edges.
type eventAPI struct {
	events  *event.Log
	cdns    *cdn.Service
	version string // the value of HeaderEdition
	polls   eventPolls
}

func newEventAPI(events *event.Log, cdns *cdn.Service, version string) *eventAPI {
	a := &eventAPI{events: events, cdns: cdns, version: version}
	a.polls = eventPolls{read: a.read, polls: map[eventPosition]*eventPoll{}}
	return a
}

// eventParams are the query parameters of the event log. Event numbers stay below what JSON represents
// exactly.
var eventParams = []param{
	{name: "after", description: "The number of the last event the edge has", highest: 1 << 53},
	{name: "wait", description: "How long to wait for new events, such as 25s"},
	{name: "edition", description: "The version of the origin the edge last saw; another version waits 1 s at most"},
	{name: "for", enum: []string{"edge"}, description: "edge: only events that edges act on; through says how far " +
		"the page goes. Unset: all events"},
	{name: "limit", description: "Events per page", lowest: 1, highest: maxEvents, preset: maxEvents},
}

// keepAlive is the interval of the blank lines that a waiting poll sends. An edge treats an origin that sends
// nothing for a second as hung, which is three missing lines, and polls another one.
const keepAlive = 300 * time.Millisecond

// lifetimeAge is how old the lifetime for CDNs in a page may be: pages must cost no read each. Changes of it
// are events; its age delays only the end of a lifetime that no process renews any more, after minutes.
const lifetimeAge = 5 * time.Second

// send sends the events after a number, and waits for the next event if the log has no
// later one yet. The response is one JSON document. While the origin waits, it sends blank
// lines before the document, so that an edge can detect an origin that hangs.
func (a *eventAPI) send(c *call) error {
	wait, err := c.params.duration("wait", fieldmark.MaxWait*time.Second)
	if err != nil {
		return err
	}
	if known := c.params.text("edition"); known != "" && known != a.version {
		// The edge must drop responses of the other version soon, but not with every poll while a rolling
		// update replaces the origins.
		wait = min(wait, time.Second)
	}
	at := eventPosition{
		after: fieldmark.EventCursor{Number: int64(c.params.number("after")),
			ID: c.r.Header.Get(fieldmark.HeaderLastEvent)},
		limit: c.params.number("limit"),
		edges: c.params.text("for") != "",
	}
	stop := c.sendKeepAlive()
	body, err := a.polls.get(c.r.Context(), at, wait)
	stop()
	if err != nil {
		return err
	}
	if c.w.status == 0 {
		return c.sendBytes(http.StatusOK, jsonType, body)
	}
	_, _ = c.w.Write(body) // fails only if the edge has left
	return nil
}

// read returns an encoded page of the log. If late, the wait is over, and a page in memory is new enough.
func (a *eventAPI) read(ctx context.Context, at eventPosition, wait time.Duration, late bool) ([]byte, error) {
	page, err := a.events.Read(ctx, event.Query{After: at.after, Limit: at.limit, Edges: at.edges, Wait: wait,
		Late: late})
	if err != nil {
		return nil, err
	}
	if page.Events == nil {
		page.Events = []fieldmark.Event{}
	}
	page.Edition, page.KeepAlive = a.version, int(keepAlive/time.Millisecond)
	maxAge := lifetimeAge
	if wait <= 0 && !late { // an edge that attaches has seen no event about it
		maxAge = 0
	}
	lifetime, err := a.cdns.Lifetime(ctx, maxAge)
	if err != nil {
		return nil, err
	}
	page.CDN = &lifetime
	body, err := encode(page)
	if err != nil {
		return nil, fmt.Errorf("encode events: %w", err)
	}
	return body, nil
}

// sendKeepAlive sends blank lines until stop is called; stop returns when nothing more is written. After the
// first line an error can only abort the connection.
func (c *call) sendKeepAlive() (stop func()) {
	// Edges end a poll that sent nothing for a second, so a byte shows that the origin still runs. JSON ignores it.
	done := make(chan struct{})
	var sender sync.WaitGroup
	sender.Go(func() {
		tick := time.NewTicker(keepAlive)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			c.w.Header().Set("Content-Type", jsonType)
			_, err := c.w.Write([]byte{'\n'})
			if err != nil || http.NewResponseController(c.w).Flush() != nil {
				return // the edge closed the connection, which also cancels the request
			}
		}
	})
	return func() { close(done); sender.Wait() }
}

// eventPolls serves all edges that wait at the same event from one poll of the
// log. Every commit wakes every edge of a fleet: without sharing, the origin would
// read and encode the same page, up to 4 MB, once for each of them.
type eventPolls struct {
	// read returns an encoded page of the log, after waiting up to wait for events.
	read func(ctx context.Context, at eventPosition, wait time.Duration, late bool) ([]byte, error)

	mu    sync.Mutex
	polls map[eventPosition]*eventPoll
}

// eventPosition is what an edge requests. Edges with the same position get the
// same page.
type eventPosition struct {
	after fieldmark.EventCursor
	limit int
	edges bool // only what edges act on
}

// eventPoll is one poll of the log and the requests that wait for it.
type eventPoll struct {
	waiting int // requests; guarded by eventPolls.mu
	cancel  context.CancelFunc
	done    chan struct{} // closed when the fields below are set

	page     []byte
	err      error
	panicked string
}

// get returns the page at a position as soon as there are events, and at the
// latest after wait. It reads what is in memory when the wait of the request is over
// before the shared poll ends.
func (p *eventPolls) get(ctx context.Context, at eventPosition, wait time.Duration) ([]byte, error) {
	if wait <= 0 {
		return p.read(ctx, at, 0, false)
	}
	poll := p.join(ctx, at)
	defer p.release(at, poll)
	// Each request has its own limit, which may end before that of the shared poll.
	timeout := time.NewTimer(wait)
	defer timeout.Stop()
	select {
	case <-poll.done:
		if poll.panicked != "" {
			// In the goroutine of each request, whose handler recovers and counts it.
			panic(poll.panicked)
		}
		return poll.page, poll.err
	case <-timeout.C:
		return p.read(ctx, at, 0, true)
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for events after %d: %w", at.after.Number, ctx.Err())
	}
}

// join adds a request to the poll at a position and starts the poll for the first.
// The poll does not end with the request that started it.
func (p *eventPolls) join(ctx context.Context, at eventPosition) *eventPoll {
	p.mu.Lock()
	defer p.mu.Unlock()
	if poll, ok := p.polls[at]; ok {
		poll.waiting++
		return poll
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	poll := &eventPoll{waiting: 1, cancel: cancel, done: make(chan struct{})}
	p.polls[at] = poll
	go func() {
		defer close(poll.done)
		defer func() {
			if v := recover(); v != nil {
				poll.panicked = fmt.Sprintf("%v\n%s", v, debug.Stack())
			}
			p.remove(at, poll)
		}()
		poll.page, poll.err = p.read(ctx, at, fieldmark.MaxWait*time.Second, false)
	}()
	return poll
}

// release removes a request from its poll. The last one cancels the poll and waits
// until it has ended, so that no poll outlives the requests it serves.
func (p *eventPolls) release(at eventPosition, poll *eventPoll) {
	p.mu.Lock()
	poll.waiting--
	last := poll.waiting == 0
	if last && p.polls[at] == poll {
		delete(p.polls, at)
	}
	p.mu.Unlock()
	if last {
		poll.cancel()
		<-poll.done
	}
}

// remove makes later requests start a new poll.
func (p *eventPolls) remove(at eventPosition, poll *eventPoll) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.polls[at] == poll {
		delete(p.polls, at)
	}
}

// streamBuffer is the size in bytes of the write buffer of a stream of lines.
const streamBuffer = 64 << 10

// ndjson is the media type of one JSON document per line.
const ndjson = "application/x-ndjson"

// factsAPI sends brands and their facts to edges.
type factsAPI struct {
	brands *brand.Service
	events *event.Log // for the number of the latest event, and for reads from a replica
}

// recent makes a handler read from a replica, if there is one, that shows every change that the edge has applied.
// Edges of earlier versions do not state which these are. The handler may run twice until it has sent something.
func (a *factsAPI) recent(read func(*call) error) func(*call) error {
	return func(c *call) error {
		number, log, _ := strings.Cut(c.r.Header.Get(fieldmark.HeaderMinEvent), ";log=")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return read(c)
		}
		outer := c.r
		return a.events.ReadAt(outer.Context(), log, n, func(ctx context.Context) error {
			c.r = outer.WithContext(ctx)
			return read(c)
		})
	}
}

// maxNamed is how many brands a request may name: their slugs are 4 kB of its address.
const maxNamed = 64

// factsParams are the query parameters of brands with their facts. Without limit and slug the response has all
// brands, as edges of earlier versions expect.
var factsParams = []param{
	{name: "slug", description: "A brand, whose facts are sent without evidence; repeat it for more", many: true},
	{name: "limit", description: "Brands per page; the last page has fewer", lowest: 1, highest: fieldmark.MaxStates},
	{name: "after", description: "The last slug of the previous page"},
	{name: "bare", description: "Whether to leave out the evidence of facts", enum: []string{"TRUE", "FALSE"}},
}

// sendAll sends the public brands with their latest facts by slug, one JSON document per line. The event
// number is read first, so it is never newer than the rows.
func (a *factsAPI) sendAll(c *call) error {
	if len(c.params.values["slug"]) > 0 {
		return a.recent(a.sendNamed)(c)
	}
	if limit := c.params.number("limit"); limit > 0 {
		return a.recent(func(c *call) error { return a.sendPage(c, limit) })(c)
	}
	asOf, err := a.events.Head(c.r.Context())
	if err != nil {
		return err
	}
	h := c.w.Header()
	h.Set(fieldmark.HeaderAsOf, strconv.FormatInt(asOf, 10))
	h.Set("Content-Type", ndjson)
	out := bufio.NewWriterSize(c.w, streamBuffer)
	lines := json.NewEncoder(out)
	write := func(b fieldmark.BrandState) error { return lines.Encode(b) }
	if _, err := a.brands.EachState(c.r.Context(), write); err != nil {
		return fmt.Errorf("stream facts: %w", err)
	}
	return out.Flush()
}

// sendPage sends one page of brands with their facts.
func (a *factsAPI) sendPage(c *call, limit int) error {
	after, bare := c.params.text("after"), strings.EqualFold(c.params.text("bare"), "true")
	if after != "" && !fieldmark.ValidSlug(after) {
		return paramError("after", "pattern", "must be the slug of a brand")
	}
	states, asOf, err := a.brands.States(c.r.Context(), fieldmark.Slug(after), limit, bare)
	return c.sendStates(states, asOf, err)
}

// sendNamed sends the brands that a request names, those that exist.
func (a *factsAPI) sendNamed(c *call) error {
	names := c.params.values["slug"]
	if len(names) > maxNamed {
		return paramError("slug", "too_many", fmt.Sprintf("must be sent %d times at most", maxNamed))
	}
	slugs := make([]fieldmark.Slug, len(names))
	for i, name := range names {
		if !fieldmark.ValidSlug(name) {
			return paramError("slug", "pattern", "must be the slug of a brand")
		}
		slugs[i] = fieldmark.Slug(name)
	}
	states, asOf, err := a.brands.StatesOf(c.r.Context(), slugs)
	return c.sendStates(states, asOf, err)
}

// sendStates sends brands with their facts, one JSON document per line.
func (c *call) sendStates(states []fieldmark.BrandState, asOf int64, err error) error {
	if err != nil {
		return err
	}
	var body bytes.Buffer
	lines := json.NewEncoder(&body)
	for i := range states {
		if err := lines.Encode(&states[i]); err != nil {
			return fmt.Errorf("encode the facts of %s: %w", states[i].Brand.Slug, err)
		}
	}
	c.w.Header().Set(fieldmark.HeaderAsOf, strconv.FormatInt(asOf, 10))
	return c.sendBytes(http.StatusOK, ndjson, body.Bytes())
}

// stateParams are the query parameters of a brand's state, and historyParams those of its history. Times are
// RFC 3339.
var (
	stateParams   = []param{{name: "asOf", description: "A time in the past"}}
	historyParams = []param{{name: "from", description: "The earliest time"},
		{name: "to", description: "The latest time"}}
)

// send sends the facts of a brand, now or at a time in the past.
func (a *factsAPI) send(c *call) error {
	slug, err := slugParam(c)
	if err != nil {
		return err
	}
	at, err := c.params.timeOrZero("asOf")
	if err != nil {
		return err
	}
	var state fieldmark.BrandState
	var asOf int64
	if at.IsZero() {
		state, asOf, err = a.brands.State(c.r.Context(), slug)
	} else {
		state, asOf, err = a.brands.StateAt(c.r.Context(), slug, at)
	}
	return c.sendAsOf(state, asOf, err)
}

// sendHistory sends the history of a brand's facts.
func (a *factsAPI) sendHistory(c *call) error {
	slug, err := slugParam(c)
	if err != nil {
		return err
	}
	from, err := c.params.timeOrZero("from")
	if err != nil {
		return err
	}
	to, err := c.params.timeOrZero("to")
	if err != nil {
		return err
	}
	if to.IsZero() {
		to = time.Now()
	}
	h, asOf, err := a.brands.History(c.r.Context(), slug, from, to)
	return c.sendAsOf(h, asOf, err)
}

// sendAsOf sends v with the event number at which it was current.
func (c *call) sendAsOf(v any, asOf int64, err error) error {
	if err != nil {
		return err
	}
	c.w.Header().Set(fieldmark.HeaderAsOf, strconv.FormatInt(asOf, 10))
	return c.send(http.StatusOK, v)
}

// sendBody sends the bytes of facts with a digest.
func (a *factsAPI) sendBody(c *call) error {
	slug, err := slugParam(c)
	if err != nil {
		return err
	}
	digest, err := fieldmark.ParseDigest(c.r.PathValue("digest"))
	if err != nil {
		return fieldmark.Errorf(fieldmark.CodeNotFound, "no such facts")
	}
	body, asOf, err := a.brands.FactsBody(c.r.Context(), slug, digest)
	if err != nil {
		return err
	}
	c.w.Header().Set(fieldmark.HeaderAsOf, strconv.FormatInt(asOf, 10))
	return c.sendBytes(http.StatusOK, jsonType, body)
}

// routes are the facts that edges read with the node token.
func (a *factsAPI) routes() []*route {
	const facts = fieldmark.PathInternalFacts
	return []*route{
		{"GET", facts, node, handleRaw[none, none](a.sendAll), operation{
			hidden: true, query: factsParams, timeout: bulkTimeout}},
		{"GET", facts + "/{slug}", node, handleRaw[none, none](a.recent(a.send)), operation{
			hidden: true, query: stateParams}},
		{"GET", facts + "/{slug}/history", node, handleRaw[none, none](a.recent(a.sendHistory)), operation{
			hidden: true, query: historyParams}},
		{"GET", facts + "/{slug}/{digest}", node, handleRaw[none, none](a.recent(a.sendBody)), operation{hidden: true}},
	}
}

func (a *eventAPI) routes() []*route {
	return []*route{
		{"GET", fieldmark.PathInternalEvents, node, handleRaw[none, none](a.send), operation{
			hidden: true, query: eventParams, timeout: fieldmark.MaxWait*time.Second + handlerTimeout}},
	}
}

package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark"
)

// maxEvents bounds a page of the log; an edge that is further behind asks again.
const maxEvents = 1000

// streamBuffer gathers lines before they go out, in bytes.
const streamBuffer = 64 << 10

// eventPage is the parameters of the event log. Numbers past what JSON holds
// exactly never come up.
var eventPage = []param{
	{name: "after", does: "The last number the edge knows", highest: 1 << 53},
	{name: "wait", does: "How long to wait for something new, such as 25s"},
	{name: "edition", does: "The edition the edge knows; an origin of another waits a second at most"},
	{name: "limit", does: "Events on a page", lowest: 1, highest: maxEvents, preset: maxEvents},
}

// ndjson is the media type of one JSON document a line.
const ndjson = "application/x-ndjson"

// factsQuery is the parameters of brands with their facts. Without limit all are
// sent in one answer, as edges of earlier versions expect.
var factsQuery = []param{
	{name: "limit", does: "Brands on a page; fewer are sent on the last one", lowest: 1, highest: fieldmark.MaxStates},
	{name: "after", does: "The slug after which the page begins"},
	{name: "bare", does: "Whether the evidence of facts is left out", enum: []string{"TRUE", "FALSE"}},
}

// allFacts sends public brands with their newest facts in the order of their
// slugs, one JSON document a line. The event number is read first and so never
// newer than the rows.
func (s *server) allFacts(c *call) error {
	if limit := c.asked.number("limit"); limit > 0 {
		return s.factsPage(c, limit)
	}
	asOf, err := s.origin.Events.Head(c.r.Context())
	if err != nil {
		return err
	}
	h := c.w.Header()
	h.Set(fieldmark.HeaderAsOf, strconv.FormatInt(asOf, 10))
	h.Set("Content-Type", ndjson)
	out := bufio.NewWriterSize(c.w, streamBuffer)
	lines := json.NewEncoder(out)
	if _, err := s.origin.EachBrandState(c.r.Context(), func(b fieldmark.BrandState) error { return lines.Encode(b) }); err != nil {
		return fmt.Errorf("stream facts: %w", err)
	}
	return out.Flush()
}

// factsPage sends one page of brands with their facts.
func (s *server) factsPage(c *call, limit int) error {
	after, bare := c.asked.text("after"), strings.EqualFold(c.asked.text("bare"), "true")
	if after != "" && !fieldmark.ValidSlug(after) {
		return &fieldmark.Error{Code: fieldmark.CodeInvalidParameter, Detail: "the query is not acceptable",
			Fields: []fieldmark.FieldError{{Pointer: "?after", Code: "pattern", Detail: "must be the slug of a brand"}}}
	}
	states, asOf, err := s.origin.BrandStates(c.r.Context(), fieldmark.Slug(after), limit, bare)
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

// statePage is the parameters of one brand's state, and historyPage those of its
// past. Times are RFC 3339.
var (
	statePage   = []param{{name: "asOf", does: "A time in the past"}}
	historyPage = []param{{name: "from", does: "The earliest time"}, {name: "to", does: "The latest time"}}
)

// facts tells of one brand, as it is or as it was.
func (s *server) facts(c *call) error {
	slug, err := c.slug()
	if err != nil {
		return err
	}
	at, err := c.asked.instant("asOf")
	if err != nil {
		return err
	}
	var state fieldmark.BrandState
	var asOf int64
	if at.IsZero() {
		state, asOf, err = s.origin.BrandState(c.r.Context(), slug)
	} else {
		state, asOf, err = s.origin.BrandStateAt(c.r.Context(), slug, at)
	}
	return c.sendAsOf(state, asOf, err)
}

// history tells of a brand's past.
func (s *server) history(c *call) error {
	slug, err := c.slug()
	if err != nil {
		return err
	}
	from, err := c.asked.instant("from")
	if err != nil {
		return err
	}
	to, err := c.asked.instant("to")
	if err != nil {
		return err
	}
	if to.IsZero() {
		to = time.Now()
	}
	h, asOf, err := s.origin.BrandHistory(c.r.Context(), slug, from, to)
	return c.sendAsOf(h, asOf, err)
}

func (c *call) sendAsOf(v any, asOf int64, err error) error {
	if err != nil {
		return err
	}
	c.w.Header().Set(fieldmark.HeaderAsOf, strconv.FormatInt(asOf, 10))
	return c.send(http.StatusOK, v)
}

// factsBody sends the very bytes that a digest of facts is of.
func (s *server) factsBody(c *call) error {
	slug, err := c.slug()
	if err != nil {
		return err
	}
	digest, err := fieldmark.ParseDigest(c.r.PathValue("digest"))
	if err != nil {
		return fieldmark.Errorf(fieldmark.CodeNotFound, "no such facts")
	}
	body, asOf, err := s.origin.FactsBody(c.r.Context(), slug, digest)
	if err != nil {
		return err
	}
	c.w.Header().Set(fieldmark.HeaderAsOf, strconv.FormatInt(asOf, 10))
	return c.sendBytes(http.StatusOK, jsonType, body)
}

// keepAlive is the pause between two blank lines of a poll that has nothing to
// answer yet. An edge takes a second of silence for an origin that hangs: three
// lines must be missing before it asks another.
const keepAlive = 300 * time.Millisecond

// events sends the events after a number, and waits a while if there are none.
// The answer is one JSON document. While it is waited for, blank lines go out
// before it, so that an origin that hangs can be told from a quiet one.
func (s *server) events(c *call) error {
	wait, err := c.asked.wait("wait", fieldmark.MaxWait*time.Second)
	if err != nil {
		return err
	}
	if known := c.asked.text("edition"); known != "" && known != s.edition {
		// It must hear soon that what it keeps is another program's, but not be
		// chased to and fro while half the origins are of the new one.
		wait = min(wait, time.Second)
	}
	at := eventPosition{limit: c.asked.number("limit")}
	at.after = fieldmark.EventCursor{Number: int64(c.asked.number("after")), ID: c.r.Header.Get(fieldmark.HeaderLastEvent)}
	stop := c.sendKeepAlive()
	body, err := s.polls.get(c.r.Context(), at, wait)
	stop()
	if err != nil {
		return err
	}
	if c.w.status == 0 {
		return c.sendBytes(http.StatusOK, jsonType, body)
	}
	_, _ = c.w.Write(body) // the client may be gone
	return nil
}

// readEvents returns an encoded page of the log.
func (s *server) readEvents(ctx context.Context, at eventPosition, wait time.Duration) ([]byte, error) {
	page, err := s.origin.Events.After(ctx, at.after, wait, at.limit)
	if err != nil {
		return nil, err
	}
	if page.Events == nil {
		page.Events = []fieldmark.Event{}
	}
	page.Edition, page.KeepAlive = s.edition, int(keepAlive/time.Millisecond)
	body, err := encode(page)
	if err != nil {
		return nil, fmt.Errorf("encode events: %w", err)
	}
	return body, nil
}

// sendKeepAlive sends a blank line at intervals until stop is called, which waits
// until no more is written. Once the first is sent, a failure can only close the
// connection.
func (c *call) sendKeepAlive() (stop func()) {
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
				return // the edge is gone, and the request's context ends with it
			}
		}
	})
	return func() { close(done); sender.Wait() }
}

// modulePlan says which modules scores are made with.
func (s *server) modulePlan(c *call) error {
	plan, err := s.origin.ModulePlan(c.r.Context())
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, plan)
}

// noteNode keeps what an edge says of itself.
func (s *server) noteNode(c *call) error {
	var report fieldmark.NodeReport
	if err := c.decode(&report, nil); err != nil {
		return err
	}
	if err := s.origin.NoteNode(c.r.Context(), report); err != nil {
		return err
	}
	return c.sendEmpty(http.StatusNoContent)
}

// module sends a module's bytes, which its digest names for ever.
func (s *server) module(c *call) error {
	digest, err := fieldmark.ParseDigest(c.r.PathValue("digest"))
	if err != nil {
		return fieldmark.Errorf(fieldmark.CodeNotFound, "no such module")
	}
	b, err := s.origin.Module(c.r.Context(), digest)
	if err != nil {
		return err
	}
	c.w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
	if c.unchanged(strconv.Quote(string(digest))) {
		return nil
	}
	return c.sendBytes(http.StatusOK, "application/wasm", b)
}

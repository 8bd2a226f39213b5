package api

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
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

// allFacts streams every public brand with its newest facts, one JSON document a
// line. The event number is read first and so never newer than the rows.
func (s *server) allFacts(c *call) error {
	asOf, err := s.origin.Head(c.r.Context())
	if err != nil {
		return err
	}
	h := c.w.Header()
	h.Set(fieldmark.HeaderAsOf, strconv.FormatInt(asOf, 10))
	h.Set("Content-Type", "application/x-ndjson")
	out := bufio.NewWriterSize(c.w, streamBuffer)
	lines := json.NewEncoder(out)
	if _, err := s.origin.EachBrandState(c.r.Context(), func(b fieldmark.BrandState) error { return lines.Encode(b) }); err != nil {
		return fmt.Errorf("stream facts: %w", err)
	}
	return out.Flush()
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

// events tells what came after a number, and waits a while if nothing did.
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
	page, err := s.origin.Events(c.r.Context(), int64(c.asked.number("after")), wait, c.asked.number("limit"))
	if err != nil {
		return err
	}
	if page.Events == nil {
		page.Events = []fieldmark.Event{}
	}
	page.Edition = s.edition
	return c.send(http.StatusOK, page)
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

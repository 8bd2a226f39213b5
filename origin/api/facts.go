package api

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/brand"
	"github.com/fieldmark/fieldmark/origin/event"
)

// streamBuffer is the size in bytes of the write buffer of a stream of lines.
const streamBuffer = 64 << 10

// ndjson is the media type of one JSON document per line.
const ndjson = "application/x-ndjson"

// factsAPI sends brands and their facts to edges.
type factsAPI struct {
	brands *brand.Service
	events *event.Log // for the number of the latest event
}

// factsParams are the query parameters of brands with their facts. Without limit the response has all
// brands, as edges of earlier versions expect.
var factsParams = []param{
	{name: "limit", description: "Brands per page; the last page has fewer", lowest: 1, highest: fieldmark.MaxStates},
	{name: "after", description: "The last slug of the previous page"},
	{name: "bare", description: "Whether to leave out the evidence of facts", enum: []string{"TRUE", "FALSE"}},
}

// sendAll sends the public brands with their latest facts by slug, one JSON document per line. The event
// number is read first, so it is never newer than the rows.
func (a *factsAPI) sendAll(c *call) error {
	if limit := c.params.number("limit"); limit > 0 {
		return a.sendPage(c, limit)
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

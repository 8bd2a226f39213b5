package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache/rfc9111"
)

const jsonType = "application/json"

// writeProblem sends an error. Every error response is sent here or saved for a repeated request.
func writeProblem(w *responseWriter, r *http.Request, e *fieldmark.Error) {
	body := problemBody(w, e)
	h := w.Header()
	h.Set("Content-Type", fieldmark.ProblemType)
	h.Set("Cache-Control", "no-store")
	for _, field := range []string{"ETag", "Content-Language", "Content-Disposition"} {
		h.Del(field) // set by the handler for the response that failed
	}
	// Rounded up, because a client that comes back too early is refused again.
	if e.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64((e.RetryAfter+time.Second-1)/time.Second), 10))
	}
	// The mission that exists already: a client that lost the first response continues with it.
	if e.MissionID != "" {
		h.Set("Location", missionPath(e.MissionID))
	}
	w.WriteHeader(e.Code.Status())
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // fails only if the client has left
	}
}

// send sends v as JSON.
// An error here is a bug or a value that JSON cannot express, never the client's.
func (c *call) send(status int, v any) error {
	b, err := encode(v)
	if err != nil {
		return fmt.Errorf("encode response: %w", err)
	}
	return c.sendBytes(status, jsonType, b)
}

// encode returns v as a line of JSON. < and > are not escaped: responses are declared as JSON with nosniff,
// so no browser reads them as HTML.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// sendBytes sends b.
// A response to HEAD has the fields of GET and no body (RFC 9110, 9.3.2).
func (c *call) sendBytes(status int, mediaType string, b []byte) error {
	if c.buffer(status, b) {
		return nil
	}
	h := c.w.Header()
	h.Set("Content-Type", mediaType)
	h.Set("Content-Length", strconv.Itoa(len(b)))
	c.w.WriteHeader(status)
	if c.r.Method != http.MethodHead {
		_, _ = c.w.Write(b)
	}
	return nil
}

// sendEmpty sends a response without a body.
// 204 and 304 have neither a body nor its fields.
func (c *call) sendEmpty(status int) error {
	if c.buffer(status, nil) {
		return nil
	}
	c.w.WriteHeader(status)
	return nil
}

// sendDocument sends a document that is the same for every caller, or 304. It is generated at
// the first request.
func (c *call) sendDocument(generate lazyDocument) error {
	d, err := generate()
	if err != nil {
		return fmt.Errorf("BUG: generate a document: %w", err)
	}
	if c.notModified(d.etag) {
		return nil
	}
	return c.sendBytes(http.StatusOK, jsonType, d.bytes)
}

// notModified sets the ETag, and sends 304 and reports true if the caller already has that version.
func (c *call) notModified(etag string) bool {
	c.w.Header().Set("ETag", etag)
	if !rfc9111.MatchETag(c.r.Header.Get("If-None-Match"), etag) {
		return false
	}
	c.w.WriteHeader(http.StatusNotModified)
	return true
}

// etagOf is a strong ETag: a hash of the content.
// Every process of a fleet returns the same ETag for the same content.
func etagOf(b []byte) string {
	sum := sha256.Sum256(b)
	return `"` + hex.EncodeToString(sum[:]) + `"`
}

// linkNext adds a Link header to the next page (RFC 8288), for clients that do not read the body.
// The other parameters are repeated, so that following the link needs no knowledge of them.
func (c *call) linkNext(cursor string) {
	if cursor == "" {
		return
	}
	next := url.Values{}
	for name, values := range c.params.values {
		next[name] = values
	}
	next.Set("cursor", cursor)
	c.w.Header().Add("Link", fmt.Sprintf(`<%s?%s>; rel="next"`, c.r.URL.EscapedPath(), next.Encode()))
}

// maxRanges bounds the media ranges of Accept that are read; browsers send about eight.
const maxRanges = 32

// negotiate returns the offer that Accept prefers (RFC 9110, section 12.5.1), or "" if none is acceptable.
// Of offers with the same quality the one with the more specific range wins, then the earlier one. Without
// Accept the first offer is returned.
func negotiate(accept []string, offers []string) string {
	field := strings.TrimSpace(strings.Join(accept, ","))
	if field == "" {
		return offers[0]
	}
	// A field of any length would cost a pass for each offer.
	ranges := strings.SplitN(field, ",", maxRanges+1)
	if len(ranges) > maxRanges {
		ranges = ranges[:maxRanges]
	}
	best, bestQ, bestSpecificity := "", 0.0, 0
	for _, offer := range offers {
		q, specificity := quality(ranges, offer)
		if q > bestQ || q == bestQ && q > 0 && specificity > bestSpecificity {
			best, bestQ, bestSpecificity = offer, q, specificity
		}
	}
	return best
}

// quality returns the q of the most specific range that matches offer. Malformed ranges are ignored.
// A weight outside of 0 to 1 makes the range malformed.
func quality(ranges []string, offer string) (q float64, specificity int) {
	kind, _, _ := strings.Cut(offer, "/")
	for _, one := range ranges {
		mediaRange, params, err := mime.ParseMediaType(one)
		if err != nil {
			continue
		}
		level := 0
		switch mediaRange {
		case "*/*":
			level = 1
		case kind + "/*":
			level = 2
		case offer:
			level = 3
		default:
			continue
		}
		// The default of q (RFC 9110, section 12.4.2).
		weight := 1.0
		if text, ok := params["q"]; ok {
			if weight, err = strconv.ParseFloat(text, 64); err != nil || weight < 0 || weight > 1 {
				continue
			}
		}
		if level > specificity {
			q, specificity = weight, level
		}
	}
	return q, specificity
}

// limitWrites bounds the time in which the client must have read the response, until the returned
// function is called. Connections without deadlines, such as those of tests, have no limit.
func (c *call) limitWrites(d time.Duration) (end func()) {
	ctl := http.NewResponseController(c.w)
	_ = ctl.SetWriteDeadline(time.Now().Add(d))
	return func() { _ = ctl.SetWriteDeadline(time.Time{}) }
}

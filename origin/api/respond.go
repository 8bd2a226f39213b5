package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
)

const jsonType = "application/json"

// writeProblem is the only way a failure leaves.
func writeProblem(w *writer, r *http.Request, e *fieldmark.Error) {
	body := problemBody(w, e)
	h := w.Header()
	h.Set("Content-Type", fieldmark.ProblemType)
	h.Set("Cache-Control", "no-store")
	for _, field := range []string{"ETag", "Content-Language", "Content-Disposition"} {
		h.Del(field) // a handler may have begun to describe the answer it did not give
	}
	if e.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64((e.RetryAfter+time.Second-1)/time.Second), 10))
	}
	if e.MissionID != "" {
		h.Set("Location", missionPath(e.MissionID))
	}
	w.WriteHeader(e.Code.Status())
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // a client that left cannot be told
	}
}

// send answers v as JSON.
func (c *call) send(status int, v any) error {
	b, err := encode(v)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	return c.sendBytes(status, jsonType, b)
}

// encode writes v as a line of JSON in which < and > stay readable: the answer
// is declared as JSON and not to be sniffed, so nothing reads it as a page.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// sendBytes answers b.
func (c *call) sendBytes(status int, mediaType string, b []byte) error {
	if c.hold(status, b) {
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

// sendEmpty answers without a body.
func (c *call) sendEmpty(status int) error {
	if c.hold(status, nil) {
		return nil
	}
	c.w.WriteHeader(status)
	return nil
}

// unchanged sets the ETag and answers 304 if the caller has that version already.
func (c *call) unchanged(etag string) bool {
	c.w.Header().Set("ETag", etag)
	if !matchesETag(c.r.Header.Get("If-None-Match"), etag) {
		return false
	}
	c.w.WriteHeader(http.StatusNotModified)
	return true
}

// matchesETag compares weakly, as If-None-Match asks for (RFC 9110, section 13.1.2).
func matchesETag(list, etag string) bool {
	if strings.TrimSpace(list) == "*" {
		return true
	}
	for one := range strings.SplitSeq(list, ",") {
		if strings.TrimPrefix(strings.TrimSpace(one), "W/") == etag {
			return true
		}
	}
	return false
}

// etagOf names bytes by their content.
func etagOf(b []byte) string {
	sum := sha256.Sum256(b)
	return `"` + hex.EncodeToString(sum[:]) + `"`
}

// list wraps what is told whole, so that a page can be made of it one day.
func list[T any](all []T) fieldmark.List[T] {
	if all == nil {
		all = []T{}
	}
	return fieldmark.List[T]{Data: all}
}

package edge

import (
	"net/http"
	"strconv"
	"time"

	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/edge/conn"
)

// The constant parts of a response, in the order in which fasthttp writes them.
const (
	packedOK          = "HTTP/1.1 200 OK\r\nServer: " + serverName + "\r\nDate: "
	packedNotModified = "HTTP/1.1 304 Not Modified\r\nServer: " + serverName + "\r\nDate: "
	packedType        = "\r\nContent-Type: "
	packedLength      = "\r\nContent-Length: "
	packedControl     = "\r\nCache-Control: "
	packedLine        = "\r\n"
	packedColon       = ": "
	packedHSTS        = "\r\nStrict-Transport-Security: "
	packedEnd         = "\r\n\r\n"
)

// appendCached is the fast path of badges: it appends the response to r if it is cached
// and fresh, and reports whether it did. The bytes are those that the handler sends
// (TestFastPathMatchesHandler).
func (e *Edge) appendCached(dst []byte, r conn.SimpleRequest, now *conn.Time) ([]byte, bool) {
	if namesImageProxy(r.UserAgent) {
		return dst, false
	}
	entry, state := e.cache.Get(text(r.Target))
	if state != cache.Fresh || len(entry.Head) == 0 {
		return dst, false
	}
	status := http.StatusOK
	if h := entry.Value.(*head); len(r.IfNoneMatch) > 0 && matches(r.IfNoneMatch, h.etag) {
		status = http.StatusNotModified
		dst = append(append(dst, packedNotModified...), now.Date[:]...)
		dst = h.appendRest(append(append(dst, packedType...), h.contentType...))
	} else {
		dst = append(append(dst, packedOK...), now.Date[:]...)
		dst = append(dst, entry.Head...)
	}
	dst = strconv.AppendInt(dst, max(0, int64(now.At.Sub(entry.Born).Seconds())), 10)
	dst = append(dst, e.packedEnd...)
	if status == http.StatusOK {
		dst = append(dst, entry.Body...)
	}
	e.meters.count(routeBadge, status)
	return dst, true
}

// packEnd returns what ends the header of each response.
func packEnd(hsts time.Duration) []byte {
	if hsts == 0 {
		return []byte(packedEnd)
	}
	return []byte(packedHSTS + hstsValue(hsts) + packedEnd)
}

// packEntry copies everything that a response has after its date into one block, in the
// order in which it is sent: for an entry that is not in the processor's caches, each
// separate piece of memory costs a wait. The fields of the head become slices of the
// block.
func packEntry(entry *cache.Entry) *cache.Entry {
	h := entry.Value.(*head)
	length := strconv.AppendInt(nil, int64(len(entry.Body)), 10)
	size := len(packedType) + len(h.contentType) + len(packedLength) + len(length) + len(h.appendRest(nil)) +
		len(entry.Body)
	block := make([]byte, 0, size)
	put := func(b []byte) []byte {
		n := len(block)
		block = append(block, b...)
		return block[n:len(block):len(block)]
	}
	put([]byte(packedType))
	h.contentType = put(h.contentType)
	put([]byte(packedLength))
	put(length)
	put([]byte(packedControl))
	h.control = put(h.control)
	put([]byte(packedLine))
	h.block = put(h.block)
	put([]byte(packedColon))
	h.tail = put(h.tail)
	put([]byte(packedLine))
	put(statusAndAge[cache.SourceHit])
	put([]byte(packedColon))
	n := len(block)
	entry.Body = put(entry.Body)
	entry.Head = block[:n:n]
	return entry
}

// appendRest appends everything between the Content-Length field and the value of Age.
func (h *head) appendRest(dst []byte) []byte {
	dst = append(append(dst, packedControl...), h.control...)
	dst = append(append(dst, packedLine...), h.block...)
	dst = append(append(dst, packedColon...), h.tail...)
	dst = append(append(dst, packedLine...), statusAndAge[cache.SourceHit]...)
	return append(dst, packedColon...)
}

package edge

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/edge/conn"
	"github.com/fieldmark/fieldmark/edge/conn/h2"
	"github.com/fieldmark/fieldmark/edge/conn/h3"
	"github.com/fieldmark/fieldmark/edge/conn/mux"
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
	packedAltSvc      = "\r\nAlt-Svc: "
	packedEnd         = "\r\n\r\n"
)

// appendCached is the fast path of badges: it appends the response to r if it is cached
// and fresh, and reports whether it did. The bytes are those that the handler sends
// (TestFastPathMatchesHandler).
func (e *Edge) appendCached(dst []byte, r conn.SimpleRequest, now *conn.Time) ([]byte, bool) {
	// Image proxies get another Cache-Control, which only the handler writes.
	if namesImageProxy(r.UserAgent) {
		return dst, false
	}
	entry, state := e.cache.Get(text(r.Target))
	if state != cache.Fresh || len(entry.Head) == 0 {
		return dst, false
	}
	status := http.StatusOK
	// The tail of a 304 lacks Content-Length and has no body (RFC 9110, section 15.4.5).
	if h := entry.Value.(*head); len(r.IfNoneMatch) > 0 && matches(r.IfNoneMatch, h.etag) {
		status = http.StatusNotModified
		dst = append(append(dst, packedNotModified...), now.Date[:]...)
		dst = h.appendRest(append(append(dst, packedType...), h.contentType...))
	} else {
		dst = append(append(dst, packedOK...), now.Date[:]...)
		dst = append(dst, entry.Head...)
	}
	// Age is never negative, also if the clock was set back.
	dst = strconv.AppendInt(dst, max(0, int64(now.At.Sub(entry.Born).Seconds())), 10)
	if fields := e.lifetime.Current(); fields != nil && entry.Fresh >= derivedFresh {
		dst = append(dst, fields.Packed...)
	}
	if r.AltSvc {
		dst = append(dst, e.packedAltSvc...)
	}
	dst = append(dst, e.packedEnd...)
	size := 0
	if status == http.StatusOK {
		dst = append(dst, entry.Body...)
		size = len(entry.Body)
	}
	e.meters.count(routeBadge, status)
	if e.requestLog.log != nil {
		e.requestLog.hit(&r, status, size)
	}
	return dst, true
}

// packEnd returns what ends the header of each response.
func packEnd(hsts time.Duration) []byte {
	if hsts == 0 {
		return []byte(packedEnd)
	}
	return []byte(packedHSTS + hstsValue(hsts) + packedEnd)
}

// respondCached is appendCached for HTTP/2 and HTTP/3.
func (e *Edge) respondCached(r conn.SimpleRequest, now *conn.Time) (resp mux.Response, ok bool) {
	if namesImageProxy(r.UserAgent) {
		return resp, false
	}
	entry, state := e.cache.Get(text(r.Target))
	if state != cache.Fresh || len(entry.Head) == 0 {
		return resp, false
	}
	h := entry.Value.(*head)
	// An entry without HPACK has fields that differ from the constant ones; the handler writes
	// it.
	if h.hpack == nil {
		return resp, false
	}
	resp = mux.Response{HPACK: h.hpack, QPACK: h.qpack, Age: int64(now.At.Sub(entry.Born).Seconds()), Body: entry.Body}
	if fields := e.lifetime.Current(); fields != nil && entry.Fresh >= derivedFresh {
		resp.MoreHPACK, resp.MoreQPACK = fields.HPACK, fields.QPACK
	}
	status := http.StatusOK
	if len(r.IfNoneMatch) > 0 && matches(r.IfNoneMatch, h.etag) {
		status = http.StatusNotModified
		resp.NotModified, resp.Body = true, nil
		resp.HPACK, resp.QPACK = h.hpack[h.hpackLength:], h.qpack[h.qpackLength:]
	}
	e.meters.count(routeBadge, status)
	if e.requestLog.log != nil {
		e.requestLog.hit(&r, status, len(resp.Body))
	}
	return resp, true
}

// constantFields are the header fields of every badge, for HTTP/2 and HTTP/3.
func constantFields(hsts time.Duration) []string {
	fields := []string{"server", serverName, "cache-status", cacheStatus[cache.SourceHit]}
	for i := 0; i < len(badgeFields); i += 2 {
		fields = append(fields, strings.ToLower(badgeFields[i]), badgeFields[i+1])
	}
	fields = append(fields, "cache-control", badgeCacheControl)
	if hsts > 0 {
		fields = append(fields, "strict-transport-security", hstsValue(hsts))
	}
	return fields
}

// appendFields appends the header fields of a badge for HTTP/2 or HTTP/3, without
// constantFields. The first is Content-Length, which a response with status 304 has not. It
// returns nil if the badge does not have the constant fields.
func (h *head) appendFields(dst []byte, length int,
	appendField func(dst []byte, name, value string) []byte) (fields []byte, lengthSize int) {
	dst = appendField(dst, "content-length", strconv.Itoa(length))
	lengthSize = len(dst)
	dst = appendField(dst, "content-type", string(h.contentType))
	constant := 0
	all := constantFields(0)
	lines := "Cache-Control: " + string(h.control) + "\r\n" + string(h.block) + ": " + string(h.tail)
	for line := range strings.SplitSeq(lines, "\r\n") {
		name, value, _ := strings.Cut(line, ": ")
		name = strings.ToLower(name)
		if i := slices.Index(all, name); i >= 0 {
			if all[i+1] != value {
				return nil, 0
			}
			constant++
			continue
		}
		dst = appendField(dst, name, value)
	}
	if constant != len(all)/2-len("sc") { // server and cache-status are not in the head
		return nil, 0
	}
	return dst, lengthSize
}

// packEntry copies everything that a response has after its date into one block, in the
// order in which it is sent: for an entry that is not in the processor's caches, each
// separate piece of memory costs a wait. The fields of the head become slices of the
// block.
func packEntry(entry *cache.Entry) *cache.Entry {
	addKeys(entry)
	h := entry.Value.(*head)
	hpack, hpackLength := h.appendFields(nil, len(entry.Body), h2.AppendField)
	qpack, qpackLength := h.appendFields(nil, len(entry.Body), h3.AppendField)
	length := strconv.AppendInt(nil, int64(len(entry.Body)), 10)
	size := len(packedType) + len(h.contentType) + len(packedLength) + len(length) + len(h.appendRest(nil)) +
		len(entry.Body) + len(hpack) + len(qpack)
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
	if hpack != nil {
		h.hpack, h.hpackLength = put(hpack), hpackLength
		h.qpack, h.qpackLength = put(qpack), qpackLength
	}
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

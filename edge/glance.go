package edge

import (
	"bytes"
	"encoding/binary"
	"net/http"
	"strconv"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache"
)

// Most requests of a node are plain GETs of a badge, as browsers and crawlers
// send them. A glance at their head is enough; parsing them in full takes longer
// than all the rest. What a glance accepts, the full parser reads as the same
// request (FuzzGlance), and what is answered on it are the bytes the handler
// would have sent (TestGlanceAnswersAsTheHandler). It accepts nothing it is not
// sure of: that costs a microsecond, a wrong guess would cost trust.

// glimpse is what a glance makes out.
type glimpse struct {
	target []byte // path with query, which is the badge's cache key
	match  []byte // If-None-Match, empty if absent
	size   int    // of the head in bytes, to the end of the empty line
}

const (
	glanceStart = "GET " + fieldmark.PathBadge
	glanceProto = " HTTP/1.1\r\n"
)

// glance reads the request that b begins with, if it is a plain one.
func glance(b []byte) (g glimpse, ok bool) {
	if len(b) < len(glanceStart) || string(b[:len(glanceStart)]) != glanceStart {
		return g, false
	}
	i := len(glanceStart)
	for i < len(b) && inTarget[b[i]] && (b[i] != '.' || inName[b[i-1]]) {
		i++
	}
	if i == len(glanceStart) || len(b)-i < len(glanceProto) || string(b[i:i+len(glanceProto)]) != glanceProto {
		return g, false
	}
	g.target = b[len("GET "):i]
	i += len(glanceProto)
	var seen glanced
	for {
		end := bytes.IndexByte(b[i:], '\r')
		if end < 0 || i+end+1 >= len(b) || b[i+end+1] != '\n' {
			return g, false
		}
		if end == 0 {
			g.match, g.size = seen.match, i+len("\r\n")
			return g, seen.host && (len(seen.match) > 0 || !seen.since)
		}
		if !seen.field(b[i : i+end]) {
			return g, false
		}
		i += end + len("\r\n")
	}
}

const (
	digits = "0123456789"
	lower  = "abcdefghijklmnopqrstuvwxyz"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// Sets of bytes.
var (
	inName   = bytesOf(lower + upper + digits + "-")   // of fields and slugs
	inHost   = bytesOf(lower + upper + digits + "-.:") // a name or an IPv4 address, and a port
	inTarget = bytesOf(lower + digits + "-" + ".?=&")  // of plain addresses: nothing a decoder would change
)

func bytesOf(set string) (in [256]bool) {
	for _, c := range []byte(set) {
		in[c] = true
	}
	return in
}

// glanced is what the fields so far said.
type glanced struct {
	match []byte
	host  bool
	since bool // If-Modified-Since, which counts where there is no If-None-Match
}

// field takes in one line and reports whether it is one that cannot change the
// answer, or one whose meaning is known here.
func (s *glanced) field(line []byte) bool {
	colon := bytes.IndexByte(line, ':')
	if colon < 1 || !visible(line[colon:]) {
		return false
	}
	name, value := line[:colon], bytes.Trim(line[colon+1:], " ")
	switch {
	case foldEqual(name, "host"):
		if s.host || len(value) == 0 {
			return false
		}
		for _, c := range value {
			if !inHost[c] {
				return false
			}
		}
		s.host = true
		return true
	case foldEqual(name, "user-agent"):
		return !namesImageProxy(value)
	case foldEqual(name, "if-none-match"):
		if s.match != nil || len(value) == 0 {
			return false
		}
		s.match = value
		return true
	case foldEqual(name, "if-modified-since"):
		s.since = true
		return true
	case foldEqual(name, "connection"):
		return foldEqual(value, "keep-alive")
	}
	return idle(name)
}

// idle reports whether a field of this name changes nothing about a badge that
// is at hand: what browsers say of themselves, and what proxies add.
func idle(name []byte) bool {
	for _, known := range idleFields[min(len(name), len(idleFields)-1)] {
		if foldEqual(name, known) {
			return true
		}
	}
	if !foldPrefix(name, "sec-") && !foldPrefix(name, "x-forwarded-") {
		return false
	}
	for _, c := range name {
		if !inName[c] {
			return false
		}
	}
	return true
}

// idleFields are those names by their length.
var idleFields = func() (by [len("upgrade-insecure-requests") + 1][]string) {
	for _, name := range []string{"accept", "accept-language", "accept-encoding", "referer", "cookie", "dnt", "origin", "priority",
		"save-data", "upgrade-insecure-requests", "cache-control", "pragma", "x-real-ip", "forwarded", "x-requested-with"} {
		by[len(name)] = append(by[len(name)], name)
	}
	return by
}()

// foldEqual compares a field's name with one in lower case. A byte that is no
// letter can only become the same letter's neighbour in ASCII's table, never a
// letter, and CR, which would become a hyphen, does not stand in a line.
func foldEqual(name []byte, lower string) bool {
	return len(name) == len(lower) && foldPrefix(name, lower)
}

func foldPrefix(name []byte, lower string) bool {
	if len(name) < len(lower) {
		return false
	}
	for i := range len(lower) {
		if name[i]|0x20 != lower[i] {
			return false
		}
	}
	return true
}

// visible reports whether b is printable ASCII and spaces alone, eight bytes at
// a time: the high bit of a byte shows if it was set, if one more sets it (DEL),
// or if taking a space away borrows (a control).
func visible(b []byte) bool {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	for len(b) >= 8 {
		x := binary.LittleEndian.Uint64(b)
		if (x|(x+ones)|(x-0x20*ones))&high != 0 {
			return false
		}
		b = b[8:]
	}
	for _, c := range b {
		if c < 0x20 || c > 0x7e {
			return false
		}
	}
	return true
}

// The parts of an answer that are always the same. They are in the order in
// which fasthttp writes them.
const (
	glanceOK      = "HTTP/1.1 200 OK\r\nServer: " + serverName + "\r\nDate: "
	glanceSame    = "HTTP/1.1 304 Not Modified\r\nServer: " + serverName + "\r\nDate: "
	glanceType    = "\r\nContent-Type: "
	glanceLength  = "\r\nContent-Length: "
	glanceControl = "\r\nCache-Control: "
	glanceLine    = "\r\n"
	glanceColon   = ": "
	glanceEnd     = "\r\n\r\n"
)

// appendGlance appends the answer to g, if it is at hand and fresh, and reports
// whether it did.
func (e *Edge) appendGlance(dst []byte, g *glimpse, now *tick) ([]byte, bool) {
	entry, state := e.cache.Get(text(g.target))
	if state != cache.Fresh || len(entry.Head) == 0 {
		return dst, false
	}
	status := http.StatusOK
	if len(g.match) > 0 && matches(g.match, entry.Value.(*head).etag) {
		h := entry.Value.(*head)
		status = http.StatusNotModified
		dst = append(append(dst, glanceSame...), now.date[:]...)
		dst = h.appendRest(append(append(dst, glanceType...), h.contentType...))
	} else {
		dst = append(append(dst, glanceOK...), now.date[:]...)
		dst = append(dst, entry.Head...)
	}
	dst = strconv.AppendInt(dst, max(0, int64(now.at.Sub(entry.Born).Seconds())), 10)
	dst = append(dst, glanceEnd...)
	if status == http.StatusOK {
		dst = append(dst, entry.Body...)
	}
	e.meters.count(routeBadge, status)
	return dst, true
}

// atOnce lays what goes out after the date side by side, in the order in which it
// goes out: of a badge that the processor's caches do not hold, each piece in a
// place of its own costs a wait for memory. The pieces stay those of the head.
func atOnce(entry *cache.Entry) *cache.Entry {
	h := entry.Value.(*head)
	length := strconv.AppendInt(nil, int64(len(entry.Body)), 10)
	all := make([]byte, 0, len(glanceType)+len(h.contentType)+len(glanceLength)+len(length)+len(h.appendRest(nil))+len(entry.Body))
	put := func(b []byte) []byte {
		n := len(all)
		all = append(all, b...)
		return all[n:len(all):len(all)]
	}
	put([]byte(glanceType))
	h.contentType = put(h.contentType)
	put([]byte(glanceLength))
	put(length)
	put([]byte(glanceControl))
	h.control = put(h.control)
	put([]byte(glanceLine))
	h.block = put(h.block)
	put([]byte(glanceColon))
	h.tail = put(h.tail)
	put([]byte(glanceLine))
	put(statusAndAge[cache.SourceHit])
	put([]byte(glanceColon))
	n := len(all)
	entry.Body = put(entry.Body)
	entry.Head = all[:n:n]
	return entry
}

// appendRest appends all that follows the length, up to the value of Age.
func (h *head) appendRest(dst []byte) []byte {
	dst = append(append(dst, glanceControl...), h.control...)
	dst = append(append(dst, glanceLine...), h.block...)
	dst = append(append(dst, glanceColon...), h.tail...)
	dst = append(append(dst, glanceLine...), statusAndAge[cache.SourceHit]...)
	return append(dst, glanceColon...)
}

package accesslog

import (
	"net/netip"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark"
)

// second is the text of a second: formatting a time takes longer than the rest of a line.
type second struct {
	unix int64
	text string
}

// appendLine appends the line of e. The only unescaped bytes of the request in it are
// printable ASCII without quotation marks and backslashes.
func (l *Log) appendLine(b []byte, e *Entry) []byte {
	if l.cfg.Format == Combined {
		return l.appendCombined(b, e)
	}
	return l.appendJSON(b, e)
}

// appendJSON appends a JSON object. Unknown values are left out.
func (l *Log) appendJSON(b []byte, e *Entry) []byte {
	b = append(append(b, `{"time":"`...), l.secondOf(e.Time, "2006-01-02T15:04:05.")...)
	b = append(appendPadded(b, e.Time.Nanosecond()/int(time.Millisecond)), "Z\""...)
	if e.Client.IsValid() && l.cfg.Address != None {
		if l.cfg.Address == Full {
			b = append(b, `,"address":"`...)
		} else {
			b = append(b, `,"network":"`...)
		}
		b = append(l.appendAddress(b, e.Client, true), '"')
	}
	b = appendText(b, `,"method":"`, e.Method)
	b = appendText(b, `,"host":"`, e.Host)
	b = appendText(b, `,"path":"`, e.Path)
	b = appendText(b, `,"protocol":"`, e.Protocol)
	b = strconv.AppendInt(append(b, `,"status":`...), int64(e.Status), 10)
	b = strconv.AppendInt(append(b, `,"bytes":`...), e.Bytes, 10)
	us := max(e.Duration.Microseconds(), 0)
	b = strconv.AppendInt(append(b, `,"ms":`...), us/1000, 10)
	if us%1000 > 0 {
		b = appendPadded(append(b, '.'), int(us%1000))
	}
	b = appendText(b, `,"cache":"`, e.Cache)
	b = appendText(b, `,"requestId":"`, e.RequestID)
	return append(b, "}\n"...)
}

// appendText appends a member of a JSON object, unless its value is empty.
func appendText(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	return append(appendEscaped(append(b, name...), value, true), '"')
}

// appendCombined appends a line of the Combined Log Format of Apache. Referer and User-Agent
// are header fields, which are not logged.
func (l *Log) appendCombined(b []byte, e *Entry) []byte {
	if e.Client.IsValid() && l.cfg.Address != None {
		b = l.appendAddress(b, e.Client, false)
	} else {
		b = append(b, '-')
	}
	b = append(append(b, " - - ["...), l.secondOf(e.Time, "02/Jan/2006:15:04:05 +0000")...)
	b = append(b, `] "`...)
	b = append(appendEscaped(b, e.Method, false), ' ')
	b = append(append(appendEscaped(b, e.Path, false), ' '), protocols[e.Protocol]...)
	b = strconv.AppendInt(append(b, `" `...), int64(e.Status), 10)
	b = strconv.AppendInt(append(b, ' '), e.Bytes, 10)
	return append(b, " \"-\" \"-\"\n"...)
}

// protocols are the names of protocols in request lines.
var protocols = map[string]string{"h1": "HTTP/1.1", "h1s": "HTTP/1.1", "h2": "HTTP/2.0", "h3": "HTTP/3.0"}

// secondOf returns the second of at in a layout, which must always be the same.
func (l *Log) secondOf(at time.Time, layout string) string {
	unix := at.Unix()
	if s := l.second.Load(); s != nil && s.unix == unix {
		return s.text
	}
	s := &second{unix, at.UTC().Format(layout)}
	l.second.Store(s)
	return s.text
}

// appendPadded appends a number with three digits.
func appendPadded(b []byte, n int) []byte {
	return append(b, byte('0'+n/100), byte('0'+n/10%10), byte('0'+n%10))
}

// appendAddress appends an address or its network, whose size may be left out.
func (l *Log) appendAddress(b []byte, addr netip.Addr, sized bool) []byte {
	addr = addr.Unmap().WithZone("")
	if l.cfg.Address == Full {
		return addr.AppendTo(b)
	}
	network := fieldmark.NetworkOf(addr)
	if sized {
		return network.AppendTo(b)
	}
	return network.Addr().AppendTo(b)
}

const hexDigits = "0123456789abcdef"

// appendEscaped appends a text. Everything but printable ASCII without quotation marks and
// backslashes is escaped, as \u00e9 or as \xc3\xa9: no text can end a line or a value, or
// hold commands for a terminal.
func appendEscaped(b []byte, text string, json bool) []byte {
	if len(text) > maxText {
		text = text[:maxText]
	}
	for {
		n := 0
		for n < len(text) && isPlain[text[n]] {
			n++
		}
		b = append(b, text[:n]...)
		if n == len(text) {
			return b
		}
		r, size := utf8.DecodeRuneInString(text[n:])
		if json {
			b = appendRune(b, r)
		} else {
			for _, c := range []byte(text[n : n+size]) {
				b = append(b, '\\', 'x', hexDigits[c>>4], hexDigits[c&15])
			}
		}
		text = text[n+size:]
	}
}

// isPlain has true for the bytes that are not escaped.
var isPlain = func() (set [256]bool) {
	for c := ' '; c <= '~'; c++ {
		set[c] = c != '"' && c != '\\'
	}
	return set
}()

// appendRune appends a character as JSON escapes it (RFC 8259, 7). A byte that is not UTF-8
// is U+FFFD.
func appendRune(b []byte, r rune) []byte {
	if r > 0xffff {
		r -= 0x10000
		b = appendUnit(b, 0xd800+r>>10)
		r = 0xdc00 + r&0x3ff
	}
	return appendUnit(b, r)
}

func appendUnit(b []byte, r rune) []byte {
	return append(b, '\\', 'u', hexDigits[r>>12], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}

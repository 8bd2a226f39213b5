package rfc9111

import (
	"strings"
	"time"
)

// maxSeconds is the value at which delta-seconds saturate (RFC 9111, 1.2.2): 2^31,
// longer than any response is kept.
const maxSeconds = 1 << 31

// Directives are the members of a Cache-Control field (RFC 9111, 5.2).
type Directives struct {
	list []directive
}

type directive struct {
	name     string // in lower case: names are case-insensitive (5.2)
	value    string // without its quotes
	hasValue bool
}

// ParseDirectives parses the lines of a Cache-Control field. It never fails: a
// malformed member becomes an unknown directive, which is ignored.
func ParseDirectives(lines []string) Directives {
	var d Directives
	for _, line := range lines {
		for rest := line; rest != ""; {
			var item string
			item, rest = cutMember(rest)
			if item = trimOWS(item); item == "" {
				continue
			}
			name, value, hasValue := strings.Cut(item, "=")
			d.list = append(d.list, directive{strings.ToLower(name), unquote(value), hasValue})
		}
	}
	return d
}

// cutMember returns the part of s before the first comma outside of quotes, and the
// part after it (RFC 9110, 5.6.1 and 5.6.4).
func cutMember(s string) (member, rest string) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == ',' && !quoted:
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

// trimOWS removes optional white space (RFC 9110, 5.6.3).
func trimOWS(s string) string { return strings.Trim(s, " \t") }

// unquote decodes a quoted string. Both forms of an argument are accepted (RFC
// 9111, 5.2).
func unquote(s string) string {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return s
	}
	s = s[1 : len(s)-1]
	if !strings.Contains(s, `\`) {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b = append(b, s[i])
	}
	return string(b)
}

// Has reports whether a directive is present, with or without an argument.
func (d Directives) Has(name string) bool {
	for _, x := range d.list {
		if x.name == name {
			return true
		}
	}
	return false
}

// seconds parses a directive whose argument is delta-seconds. Two different values,
// or one that is not a number, are invalid, and the response counts as stale (RFC
// 9111, 4.2.1).
func (d Directives) seconds(name string) (value time.Duration, there, valid bool) {
	for _, x := range d.list {
		if x.name != name {
			continue
		}
		v, ok := deltaSeconds(x.value)
		if !ok || there && v != value {
			return 0, true, false
		}
		value, there, valid = v, true, true
	}
	return value, there, valid
}

// deltaSeconds parses a number of seconds (RFC 9111, 1.2.2), digits only.
func deltaSeconds(s string) (time.Duration, bool) {
	if s == "" {
		return 0, false
	}
	n := int64(0)
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		if n = n*10 + int64(s[i]-'0'); n > maxSeconds {
			n = maxSeconds
		}
	}
	return time.Duration(n) * time.Second, true
}

// qualified parses private and no-cache, which apply to the whole response or to
// the fields they name (RFC 9111, 5.2.2.4 and 5.2.2.7). A directive without names
// takes precedence.
func (d Directives) qualified(name string) (whole bool, fields []string) {
	for _, x := range d.list {
		if x.name != name {
			continue
		}
		if trimOWS(x.value) == "" {
			return true, nil
		}
		for f := range strings.SplitSeq(x.value, ",") {
			if f = trimOWS(f); f != "" {
				fields = append(fields, f)
			}
		}
	}
	return false, fields
}

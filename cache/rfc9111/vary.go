package rfc9111

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// maxVaryNames bounds the names an answer may vary by; more is no use to a cache.
const maxVaryNames = 16

// VaryNames returns the fields an answer was chosen by (RFC 9110, 12.5.5), as
// canonical names, sorted, each once. any means that nobody knows: a * anywhere,
// or too many names.
func VaryNames(h http.Header) (names []string, any bool) {
	for _, line := range h["Vary"] {
		for name := range strings.SplitSeq(line, ",") {
			if name = trimOWS(name); name == "*" {
				return nil, true
			} else if name != "" {
				names = append(names, http.CanonicalHeaderKey(name))
			}
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return names, len(names) > maxVaryNames
}

// VaryKey tells apart the requests that an answer varying by names tells apart:
// two with the same key match (RFC 9111, 4.1). The key of no names is empty.
func VaryKey(names []string, h http.Header) string {
	if len(names) == 0 {
		return ""
	}
	var b strings.Builder
	for _, name := range names {
		b.WriteString(name)
		if lines, there := h[name]; there {
			b.WriteByte('=')
			b.WriteString(Normalise(name, lines))
		}
		b.WriteByte(0) // no field can hold one
	}
	return b.String()
}

// ExactKey is VaryKey without Normalise: two requests have the same key only if the
// fields have the same lines, byte by byte.
func ExactKey(names []string, h http.Header) string {
	var b strings.Builder
	for _, name := range names {
		b.WriteString(name)
		for i, line := range h[name] {
			if i > 0 {
				b.WriteByte(0)
			}
			b.WriteByte('=') // no name begins with one
			b.WriteString(line)
		}
		b.WriteByte(0)
	}
	return b.String()
}

// Normalise puts the lines of a request field into one form: joined, members
// without white space around them, and where order and case mean nothing, sorted
// and in lower case (RFC 9111, 4.1 allows what does not change the meaning).
func Normalise(name string, lines []string) string {
	var members []string
	for _, line := range lines {
		for rest := line; rest != ""; {
			var m string
			m, rest = cutMember(rest)
			if m = trimOWS(m); m != "" {
				members = append(members, m)
			}
		}
	}
	if name == "Accept-Encoding" || name == "Accept-Language" {
		for i, m := range members {
			members[i] = normalisePreference(m)
		}
		slices.Sort(members)
		members = slices.Compact(members)
	}
	return strings.Join(members, ",")
}

// normalisePreference writes one weighted choice in lower case, without white space, and
// without a weight of one, which is what no weight means (RFC 9110, 12.4.2).
func normalisePreference(m string) string {
	m = strings.ToLower(m)
	m = strings.Map(func(r rune) rune {
		if r == ' ' || r == '\t' {
			return -1
		}
		return r
	}, m)
	choice, weight, ok := strings.Cut(m, ";q=")
	if ok && choice != "" && (weight == "1" || strings.Trim(weight, "0") == "1.") {
		return choice
	}
	return m
}

// PrefersOnly reports whether a request likes one language best and it is this one: an
// answer in it is what the origin would choose (RFC 9110, 12.5.4).
func PrefersOnly(h http.Header, language string) bool {
	best, most, alone := "", 0.0, false
	for m := range strings.SplitSeq(Normalise("Accept-Language", h["Accept-Language"]), ",") {
		name, q, weighted := strings.Cut(m, ";q=")
		weight := 1.0
		if weighted {
			var err error
			if weight, err = strconv.ParseFloat(q, 64); err != nil {
				return false
			}
		}
		switch {
		case weight > most:
			best, most, alone = name, weight, true
		case weight == most:
			alone = false
		}
	}
	return alone && best != "" && best != "*" && strings.EqualFold(best, trimOWS(language))
}

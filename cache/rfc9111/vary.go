package rfc9111

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// maxVaryNames limits the names in Vary; a response with more would hardly ever be
// reused.
const maxVaryNames = 16

// VaryNames returns the request fields that selected a response (RFC 9110, 12.5.5)
// as canonical names, sorted and without duplicates. any means that they are
// unknown: there is a *, or there are too many names.
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

// VaryKey returns the secondary cache key for a response that varies by names:
// requests with the same key match the same response (RFC 9111, 4.1). It is empty
// without names.
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
		b.WriteByte(0) // no field value contains it
	}
	return b.String()
}

// ExactKey is VaryKey without Normalise: two requests have the same key only if the
// lines of these fields are equal byte by byte.
func ExactKey(names []string, h http.Header) string {
	var b strings.Builder
	for _, name := range names {
		b.WriteString(name)
		for i, line := range h[name] {
			if i > 0 {
				b.WriteByte(0)
			}
			b.WriteByte('=') // no field name starts with it
			b.WriteString(line)
		}
		b.WriteByte(0)
	}
	return b.String()
}

// Normalise returns the lines of a request field in a canonical form: joined,
// without white space around members and, where order and case have no meaning,
// sorted and in lower case. RFC 9111, 4.1 allows changes that keep the meaning.
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

// normalisePreference returns one weighted choice in lower case, without white
// space and without a weight of one, which is the default (RFC 9110, 12.4.2).
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

// PrefersOnly reports whether language is the single most preferred one of a
// request: the origin would select a response in it (RFC 9110, 12.5.4).
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

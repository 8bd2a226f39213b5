package api

import (
	"mime"
	"strconv"
	"strings"
)

// maxRanges bounds how much of an Accept field is read; browsers send about eight.
const maxRanges = 32

// negotiate picks among offers, of which the first is the default (RFC 9110,
// section 12.5.1). Of equally wanted offers the one that was named more exactly
// wins, then the earlier one. Empty means that none is acceptable.
func negotiate(accept []string, offers []string) string {
	field := strings.TrimSpace(strings.Join(accept, ","))
	if field == "" {
		return offers[0]
	}
	ranges := strings.SplitN(field, ",", maxRanges+1)
	if len(ranges) > maxRanges {
		ranges = ranges[:maxRanges]
	}
	best, bestQ, bestExact := "", 0.0, 0
	for _, offer := range offers {
		q, exact := quality(ranges, offer)
		if q > bestQ || q == bestQ && q > 0 && exact > bestExact {
			best, bestQ, bestExact = offer, q, exact
		}
	}
	return best
}

// quality says how much an offer is wanted: the most exact range that covers it
// decides. A range that cannot be read is not there.
func quality(ranges []string, offer string) (q float64, exact int) {
	kind, _, _ := strings.Cut(offer, "/")
	for _, one := range ranges {
		mediaRange, params, err := mime.ParseMediaType(one)
		if err != nil {
			continue
		}
		e := 0
		switch mediaRange {
		case "*/*":
			e = 1
		case kind + "/*":
			e = 2
		case offer:
			e = 3
		default:
			continue
		}
		weight := 1.0
		if text, ok := params["q"]; ok {
			if weight, err = strconv.ParseFloat(text, 64); err != nil || weight < 0 || weight > 1 {
				continue
			}
		}
		if e > exact {
			q, exact = weight, e
		}
	}
	return q, exact
}

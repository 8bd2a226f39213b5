package compress

import "strings"

// maxWeight is the weight 1. Weights are in thousandths, the precision that HTTP has.
const maxWeight = 1000

// AcceptEncoding is a parsed Accept-Encoding field (RFC 9110, 12.5.3). The zero value
// is that of a request without the field.
type AcceptEncoding struct {
	weights [Count + 1]int16
	named   [Count + 1]bool
	others  int16 // weight of "*"
}

// Add parses one line of the field. It does not retain line and does not allocate.
func (a *AcceptEncoding) Add(line string) {
	for more := true; more; {
		var item string
		item, line, more = strings.Cut(line, ",")
		name, params, weighted := strings.Cut(item, ";")
		name = strings.TrimSpace(name)
		if len(name) > 2 && (name[:2] == "x-" || name[:2] == "X-") { // x-gzip is gzip
			name = name[2:]
		}
		weight := int16(maxWeight)
		if weighted {
			weight = parseWeight(params)
		}
		if name == "*" {
			a.others = weight
			continue
		}
		for e, known := range names {
			if strings.EqualFold(name, known) {
				a.weights[e], a.named[e] = weight, true
			}
		}
	}
}

// parseWeight parses a weight, 0 to 1 with decimals, of which three count. A malformed
// weight is 0: what the client means is unknown, so it does not get the encoding.
func parseWeight(params string) int16 {
	params, _, _ = strings.Cut(params, ";")
	params = strings.TrimSpace(params)
	if len(params) < 2 || params[0]|0x20 != 'q' || params[1] != '=' {
		return maxWeight
	}
	whole, decimals, _ := strings.Cut(strings.TrimSpace(params[2:]), ".")
	if whole != "0" && whole != "1" {
		return 0
	}
	weight, unit := int16(whole[0]-'0')*maxWeight, int16(maxWeight/10)
	for _, d := range []byte(decimals) {
		if d < '0' || d > '9' {
			return 0
		}
		weight += int16(d-'0') * unit
		unit /= 10
	}
	if weight > maxWeight {
		return 0
	}
	return weight
}

// Weight returns the client's preference for e in thousandths, 0 for not acceptable.
func (a *AcceptEncoding) Weight(e Encoding) int {
	if a.named[e] || e == Identity {
		return int(a.weights[e])
	}
	return int(a.others)
}

// Negotiate returns the encoding that the client prefers among the available ones, or
// Identity if it accepts none of them or prefers Identity.
func (a *AcceptEncoding) Negotiate(available func(Encoding) bool) Encoding {
	best, highest := Identity, 0
	for e := range Identity {
		if weight := a.Weight(e); weight > highest && available(e) {
			best, highest = e, weight
		}
	}
	if a.Weight(Identity) > highest {
		return Identity
	}
	return best
}

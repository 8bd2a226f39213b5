package coding

import "strings"

// full is the weight 1, in thousandths as all weights.
const full = 1000

// Wishes are what a reader's Accept-Encoding says of each coding (RFC 9110,
// 12.5.3). The zero value is that of a request without the field.
type Wishes struct {
	weights [Count + 1]int16
	named   [Count + 1]bool
	others  int16 // of "*"
}

// Add takes in one line of the field. It keeps nothing of line, and allocates
// nothing.
func (w *Wishes) Add(line string) {
	for more := true; more; {
		var item string
		item, line, more = strings.Cut(line, ",")
		name, params, weighted := strings.Cut(item, ";")
		name = strings.TrimSpace(name)
		if len(name) > 2 && (name[:2] == "x-" || name[:2] == "X-") { // x-gzip is gzip
			name = name[2:]
		}
		weight := int16(full)
		if weighted {
			weight = weightOf(params)
		}
		if name == "*" {
			w.others = weight
			continue
		}
		for c, known := range names {
			if strings.EqualFold(name, known) {
				w.weights[c], w.named[c] = weight, true
			}
		}
	}
}

// weightOf reads a weight, 0 to 1 with decimals, of which three count. What is
// none is 0: the reader means something we do not know.
func weightOf(params string) int16 {
	params, _, _ = strings.Cut(params, ";")
	params = strings.TrimSpace(params)
	if len(params) < 2 || params[0]|0x20 != 'q' || params[1] != '=' {
		return full
	}
	whole, decimals, _ := strings.Cut(strings.TrimSpace(params[2:]), ".")
	if whole != "0" && whole != "1" {
		return 0
	}
	weight, unit := int16(whole[0]-'0')*full, int16(full/10)
	for _, d := range []byte(decimals) {
		if d < '0' || d > '9' {
			return 0
		}
		weight += int16(d-'0') * unit
		unit /= 10
	}
	if weight > full {
		return 0
	}
	return weight
}

// Weight is how much the reader wants a coding, 0 for not at all.
func (w *Wishes) Weight(c Coding) int {
	if w.named[c] || c == Identity {
		return int(w.weights[c])
	}
	return int(w.others)
}

// Best is the coding the reader wants most of those that are there, Identity if
// that is none or it wants the content as it is more.
func (w *Wishes) Best(there func(Coding) bool) Coding {
	best, most := Identity, 0
	for c := range Identity {
		if weight := w.Weight(c); weight > most && there(c) {
			best, most = c, weight
		}
	}
	if w.Weight(Identity) > most {
		return Identity
	}
	return best
}

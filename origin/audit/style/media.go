package style

import "strings"

// envs is a set of environments in which a document is shown.
// Five are enough to find a rule that shows text somewhere. More would multiply the work.
type envs uint8

// The environments. In the last, every condition that is not about the window or its colors
// holds, and every state of an element: a reader points at it, or a script changed it.
const (
	onPhone envs = 1 << iota
	onTablet
	onDesktop
	inDark
	onlyState

	everywhere = onlyState<<1 - 1
	atRest     = everywhere &^ onlyState
)

// numEnvs is the number of environments.
const numEnvs = 5

// environment is what media queries match on.
type environment struct {
	width, height float64 // of the window in pixels
	dark, state   bool
}

var environments = [numEnvs]environment{
	{360, 740, false, false}, {820, 1180, false, false}, {1366, 768, false, false}, {1920, 1080, true, false},
	{1366, 768, false, true},
}

// mediaEnvs returns the environments in which a list of media queries holds (Media Queries
// Level 4). An empty list always does.
func mediaEnvs(list string) envs {
	queries := splitList(strings.ToLower(list))
	if len(queries) == 0 {
		return everywhere
	}
	var set envs
	for i, env := range environments {
		for _, q := range queries {
			if env.holds(q) {
				set |= 1 << i
			}
		}
	}
	return set
}

// holds reports whether a media query holds.
// An unknown feature holds in the environment of all states only, so that a rule under it is
// never taken as certain.
func (e environment) holds(query string) bool {
	query, negated := strings.CutPrefix(strings.TrimPrefix(query, "only "), "not ")
	result := true
	for part := range strings.SplitSeq(query, " and ") {
		switch part = strings.TrimSpace(part); {
		case part == "all" || part == "screen":
		case strings.HasPrefix(part, "("):
			ok, known := e.feature(strings.TrimSpace(strings.Trim(part, "()")))
			if !known {
				return e.state
			}
			result = result && ok
		default: // print, speech, tv
			result = false
		}
	}
	return result != negated
}

// feature reports whether a media feature has a value. known is false for features that
// depend on the reader.
func (e environment) feature(s string) (ok, known bool) {
	if name, op, value := cutComparison(s); op != "" {
		have, _ := e.dimension(name)
		want, okValue := resolveLength(value, lengths{em: defaultFont, rem: defaultFont})
		if have == 0 || !okValue || strings.ContainsAny(value, "<>") {
			return false, false
		}
		return compare(have, op, want), true
	}
	name, value, _ := strings.Cut(s, ":")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if name == "prefers-color-scheme" {
		return (value == "dark") == e.dark, true
	}
	op := "="
	if rest, cut := strings.CutPrefix(name, "min-"); cut {
		name, op = rest, ">="
	} else if rest, cut := strings.CutPrefix(name, "max-"); cut {
		name, op = rest, "<="
	}
	have, known := e.dimension(name)
	want, okValue := resolveLength(value, lengths{em: defaultFont, rem: defaultFont})
	if !known || !okValue {
		return false, false
	}
	return compare(have, op, want), true
}

// dimension returns the size of the window by the name of its feature.
func (e environment) dimension(name string) (px float64, known bool) {
	switch name {
	case "width", "device-width":
		return e.width, true
	case "height", "device-height":
		return e.height, true
	}
	return 0, false
}

// cutComparison splits a range such as "width >= 600px".
// A range with two comparisons is not parsed and counts as unknown.
func cutComparison(s string) (name, op, value string) {
	at := strings.IndexAny(s, "<>=")
	if at < 0 {
		return "", "", ""
	}
	name, op, value = strings.TrimSpace(s[:at]), s[at:at+1], s[at+1:]
	if strings.HasPrefix(value, "=") {
		op, value = op+"=", value[1:]
	}
	return name, op, strings.TrimSpace(value)
}

// compare compares two sizes.
func compare(a float64, op string, b float64) bool {
	switch op {
	case "<":
		return a < b
	case "<=":
		return a <= b
	case ">":
		return a > b
	case ">=":
		return a >= b
	}
	return a == b
}

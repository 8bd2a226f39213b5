package plan

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// maxFile is the size of a file: 1,000 questions of 500 code points in any script fit.
const maxFile = 4 << 20

// maxFaults limits the report of a file that is not a plan at all.
const maxFaults = 200

// Fault is what is wrong at a place of a file.
type Fault struct {
	File         string
	Line, Column int
	Text         string
}

// Faults are all faults of a plan, in order of their places. It is an error.
type Faults []Fault

// Error returns one line for each fault.
func (f Faults) Error() string {
	lines := []string{fmt.Sprintf("the plan makes no sense in %d places; nothing was sent", len(f))}
	for _, one := range f {
		lines = append(lines, fmt.Sprintf("%s:%d:%d: %s", one.File, one.Line, one.Column, one.Text))
	}
	return strings.Join(lines, "\n")
}

// reader reads one file and collects its faults.
// It goes on after a fault, so that one run reports everything.
type reader struct {
	file   string
	faults Faults
}

// fault adds a fault. Values are not repeated: a key may have been pasted into a wrong place.
func (r *reader) fault(n *yaml.Node, format string, args ...any) {
	if len(r.faults) < maxFaults {
		r.faults = append(r.faults, Fault{r.file, n.Line, n.Column, fmt.Sprintf(format, args...)})
	}
}

// want adds a fault unless ok.
func (r *reader) want(ok bool, n *yaml.Node, format string, args ...any) bool {
	if !ok {
		r.fault(n, format, args...)
	}
	return ok
}

var syntaxLine = regexp.MustCompile(`line (\d+)`)

// parse returns the top of a file, which must be a mapping. Aliases and anchors are refused: they multiply what
// a small file contains.
func (r *reader) parse(text []byte) *yaml.Node {
	if len(text) > maxFile {
		r.fault(&yaml.Node{Line: 1, Column: 1}, "is larger than %d bytes", maxFile)
		return nil
	}
	var file yaml.Node
	if err := yaml.Unmarshal(text, &file); err != nil {
		at := &yaml.Node{Line: 1, Column: 1}
		// The parser has the line only in the text of its error.
		if m := syntaxLine.FindStringSubmatch(err.Error()); m != nil {
			at.Line, _ = strconv.Atoi(m[1])
		}
		// The message names the line, not its content.
		r.fault(at, "is not YAML: %s", strings.TrimPrefix(firstLine(err.Error()), "yaml: "))
		return nil
	}
	if len(file.Content) != 1 || file.Content[0].Kind != yaml.MappingNode {
		r.fault(&yaml.Node{Line: 1, Column: 1}, "must be a mapping of names to values")
		return nil
	}
	if !r.noAliases(file.Content[0]) {
		return nil
	}
	return file.Content[0]
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// noAliases refuses what would let some bytes expand to gigabytes ("billion laughs").
func (r *reader) noAliases(n *yaml.Node) bool {
	if n.Kind == yaml.AliasNode || n.Anchor != "" || n.Tag == "!!merge" {
		r.fault(n, "aliases and anchors are not supported")
		return false
	}
	for _, c := range n.Content {
		if !r.noAliases(c) {
			return false
		}
	}
	return true
}

// fields has the reader of each member of a mapping. A name with ! at its end is required.
type fields map[string]func(*yaml.Node)

// object reads a mapping: unknown, repeated and missing members are faults.
func (r *reader) object(n *yaml.Node, known fields) {
	if !r.want(n.Kind == yaml.MappingNode, n, "must be a mapping of names to values") {
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		read := known[key.Value]
		if read == nil {
			read = known[key.Value+"!"]
		}
		switch {
		// YAML parsers differ in which of two members counts.
		case seen[key.Value]:
			r.fault(key, "%s is repeated", strconv.Quote(shorten(key.Value)))
		// An unknown member is mostly a misspelled one, and an ignored limit costs money.
		case read == nil || strings.HasSuffix(key.Value, "!"):
			r.fault(key, "%s is not known here; known are %s", strconv.Quote(shorten(key.Value)), names(known))
		default:
			read(value)
		}
		seen[key.Value] = true
	}
	// In a fixed order, so that the same file gives the same report.
	for _, name := range slices.Sorted(mapKeys(known)) {
		if bare, required := strings.CutSuffix(name, "!"); required && !seen[bare] {
			r.fault(n, "%s is missing", bare)
		}
	}
}

func mapKeys(f fields) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for name := range f {
			if !yield(name) {
				return
			}
		}
	}
}

// names lists what is known, for the fault of a name that is not.
func names(f fields) string {
	return strings.ReplaceAll(strings.Join(slices.Sorted(mapKeys(f)), ", "), "!", "")
}

// shorten keeps names of a file that is something else out of the report.
func shorten(s string) string {
	if utf8.RuneCountInString(s) > 30 {
		return string([]rune(s)[:30]) + "…"
	}
	return s
}

// list reads a sequence of least to most items.
func (r *reader) list(n *yaml.Node, least, most int, item func(*yaml.Node)) {
	if !r.want(n.Kind == yaml.SequenceNode, n, "must be a list") {
		return
	}
	r.want(least <= len(n.Content) && len(n.Content) <= most, n, "must have %d to %d items", least, most)
	// Items above the limit are not read: a fault for each would bury the one that matters.
	for _, c := range n.Content[:min(len(n.Content), most)] {
		item(c)
	}
}

// text reads a single line of least to most code points.
// text refuses control and bidirectional characters, which would hide what an engine is asked.
func (r *reader) text(to *string, least, most int) func(*yaml.Node) {
	return func(n *yaml.Node) {
		count := utf8.RuneCountInString(n.Value)
		if r.want(n.Kind == yaml.ScalarNode && n.Tag != "!!null", n, "must be a text") &&
			r.want(least <= count && count <= most, n, "must have %d to %d characters", least, most) &&
			r.want(validation.IsText(n.Value, false), n, "must be one line of visible characters") {
			*to = n.Value
		}
	}
}

// texts reads a list of texts.
func (r *reader) texts(to *[]string, most int) func(*yaml.Node) {
	return func(n *yaml.Node) {
		r.list(n, 1, most, func(c *yaml.Node) {
			var s string
			r.text(&s, 1, 500)(c)
			*to = append(*to, s)
		})
	}
}

// slug reads a name that can be a part of an address and of a file name.
func (r *reader) slug(to *string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if r.want(n.Kind == yaml.ScalarNode && fieldmark.ValidSlug(n.Value), n,
			"must be 1 to 63 of a-z, 0-9 and single hyphens") {
			*to = n.Value
		}
	}
}

// oneOf names the values in the fault, because they are few.
func (r *reader) oneOf(to *string, values ...string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if r.want(slices.Contains(values, n.Value), n, "must be one of %s", strings.Join(values, ", ")) {
			*to = n.Value
		}
	}
}

// boolean reads true or false as YAML 1.2 has them; yes and no are texts.
func (r *reader) boolean(to *bool) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if r.want(n.Tag == "!!bool", n, "must be true or false") {
			*to = isTrue(n)
		}
	}
}

// isTrue reports whether a node is true, which YAML 1.2 (10.3.2) has in three forms.
func isTrue(n *yaml.Node) bool { return n.Tag == "!!bool" && strings.EqualFold(n.Value, "true") }

// integer refuses what YAML reads as a number in another notation, such as 0x10 or 1e3.
func (r *reader) integer(to *int, least, most int) func(*yaml.Node) {
	return func(n *yaml.Node) {
		v, err := strconv.Atoi(n.Value)
		if r.want(n.Kind == yaml.ScalarNode && err == nil && least <= v && v <= most, n,
			"must be a whole number from %d to %d", least, most) {
			*to = v
		}
	}
}

// digest reads a pinned hash in the form in which reports print it.
func (r *reader) digest(to *fieldmark.Digest) func(*yaml.Node) {
	return func(n *yaml.Node) {
		d, err := fieldmark.ParseDigest(n.Value)
		if r.want(err == nil, n, "must be sha256: and 64 lower-case hexadecimal digits") {
			*to = d
		}
	}
}

// maxDollars is the most that an amount can be: with the most tokens a reserve stays within int64.
const maxDollars = 100_000

var amount = regexp.MustCompile(`^(\d{1,6})(?:\.(\d{1,9}))?$`)

// dollars reads an amount as nano-dollars. Floats would round it.
func (r *reader) dollars(to *int64) func(*yaml.Node) {
	return func(n *yaml.Node) {
		m := amount.FindStringSubmatch(n.Value)
		if !r.want(n.Kind == yaml.ScalarNode && m != nil, n,
			`must be an amount in dollars such as "1.25", with at most 9 decimals`) {
			return
		}
		whole, _ := strconv.ParseInt(m[1], 10, 64)
		part, _ := strconv.ParseInt((m[2] + "000000000")[:9], 10, 64)
		if r.want(whole < maxDollars, n, "must be below %d dollars", maxDollars) {
			*to = whole*1e9 + part
		}
	}
}

// faultsOf returns the faults of several readers in order, or nil.
func faultsOf(readers ...*reader) error {
	var all Faults
	for _, r := range readers {
		slices.SortStableFunc(r.faults, func(a, b Fault) int {
			return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
		})
		all = append(all, r.faults...)
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// IsFault reports whether an error is that of a plan that makes no sense.
func IsFault(err error) bool {
	_, ok := errors.AsType[Faults](err)
	return ok
}

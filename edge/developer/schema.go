package developer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The limits of what a page shows of one schema. A schema can refer to itself.
const (
	maxDepth = 4   // levels of members: the example shows deeper ones
	maxRows  = 150 // members: a page weighs at most 60 KiB with all it loads
)

// refPrefix begins the references to schemas of the document.
const refPrefix = "#/components/schemas/"

// schema is the keywords of JSON Schema 2020-12 that the document uses.
type schema struct {
	Type        types
	Ref         string `json:"$ref"`
	Description string
	Format      string
	Enum        []any
	Const       any
	Default     any
	Examples    []json.RawMessage
	Items       *schema
	Properties  map[string]*schema
	Additional  *additional `json:"additionalProperties"`
	AnyOf       []*schema
	Required    []string
	Minimum     *float64
	Maximum     *float64
	MinLength   *int
	MaxLength   *int
	MinItems    *int
	MaxItems    *int
	Pattern     string
}

// types is one type or several.
type types []string

// UnmarshalJSON implements json.Unmarshaler.
func (t *types) UnmarshalJSON(b []byte) error {
	if b[0] == '[' {
		return json.Unmarshal(b, (*[]string)(t))
	}
	var one string
	err := json.Unmarshal(b, &one)
	*t = types{one}
	return err
}

// additional is the schema of members without a name; nil schema for a boolean.
type additional struct{ schema *schema }

// UnmarshalJSON implements json.Unmarshaler.
func (a *additional) UnmarshalJSON(b []byte) error {
	if b[0] != '{' {
		return nil
	}
	return json.Unmarshal(b, &a.schema)
}

// is reports whether a value of type t is valid.
func (s *schema) is(t string) bool { return slices.Contains(s.Type, t) }

// typeName describes the type for readers.
func (s *schema) typeName() string {
	var name string
	switch {
	case s.Ref != "":
		return strings.TrimPrefix(s.Ref, refPrefix)
	case s.Items != nil:
		return "list of " + s.Items.typeName()
	case len(s.AnyOf) > 0:
		name = s.AnyOf[0].typeName()
	case s.Format == "date-time":
		name = "time"
	case s.Format == "uri":
		name = "URL"
	case s.Additional != nil && s.Additional.schema != nil:
		name = "map of " + strings.TrimSuffix(s.Additional.schema.typeName(), " or null")
	case len(s.Type) > 0:
		name = map[string]string{"string": "text", "number": "number", "integer": "integer", "boolean": "true or false",
			"object": "object", "array": "list"}[s.Type[0]]
	default:
		return "any"
	}
	if s.is("null") || slices.ContainsFunc(s.AnyOf, func(a *schema) bool { return a.is("null") }) {
		name += " or null"
	}
	return name
}

// values are the values of an enumeration.
func (s *schema) values() []string {
	if s.Items != nil {
		return s.Items.values()
	}
	var out []string
	for _, v := range s.Enum {
		out = append(out, fmt.Sprint(v))
	}
	if s.Const != nil {
		out = append(out, fmt.Sprint(s.Const))
	}
	return out
}

// sample is the example of a parameter; empty without one.
func (s *schema) sample() string {
	switch {
	case len(s.Examples) > 0:
		var v any
		if json.Unmarshal(s.Examples[0], &v) == nil {
			return fmt.Sprint(v)
		}
	case s.Default != nil:
		return fmt.Sprint(s.Default)
	}
	return ""
}

// bounds describes the limits of a value.
func (s *schema) bounds() string {
	var out []string
	add := func(low, high any, hasLow, hasHigh bool, unit string) {
		switch {
		case hasLow && hasHigh:
			out = append(out, fmt.Sprintf("%v to %v%s", low, high, unit))
		case hasLow:
			out = append(out, fmt.Sprintf("at least %v%s", low, unit))
		case hasHigh:
			out = append(out, fmt.Sprintf("at most %v%s", high, unit))
		}
	}
	add(deref(s.Minimum), deref(s.Maximum), s.Minimum != nil, s.Maximum != nil, "")
	add(deref(s.MinLength), deref(s.MaxLength), s.MinLength != nil, s.MaxLength != nil, " characters")
	add(deref(s.MinItems), deref(s.MaxItems), s.MinItems != nil, s.MaxItems != nil, " entries")
	if s.Default != nil {
		out = append(out, fmt.Sprintf("default %v", s.Default))
	}
	return strings.Join(out, ", ")
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// Row is a member of an object.
type Row struct {
	Name, Type, Text, Bounds, Pattern string
	Mark                              string // "required" in a request, "optional" in a response
	Values                            []string
	Rows                              []*Row
}

// rows returns the members of a schema and, down to maxDepth and maxRows, those of its members.
// All members of one level come before those below them, so that the limit cuts off details.
func (d *document) rows(s *schema, response bool) []*Row {
	type task struct {
		s     *schema
		into  *[]*Row
		depth int
		seen  []*schema
	}
	var root []*Row
	left, queue := maxRows, []task{{s, &root, 0, nil}}
	for len(queue) > 0 {
		t := queue[0]
		queue = queue[1:]
		o := d.object(t.s)
		if o == nil || t.depth == maxDepth || slices.Contains(t.seen, o) || len(o.Properties) > left {
			continue
		}
		left -= len(o.Properties)
		for _, name := range memberNames(o, true) {
			p := o.Properties[name]
			leaf := p
			if p.Items != nil {
				leaf = p.Items
			}
			row := &Row{Name: name, Type: p.typeName(), Text: sentence(p.Description), Bounds: p.bounds(),
				Pattern: leaf.Pattern, Values: p.values()}
			switch required := slices.Contains(o.Required, name); {
			case required && !response:
				row.Mark = "required"
			case !required && response:
				row.Mark = "optional"
			}
			*t.into = append(*t.into, row)
			queue = append(queue, task{p, &row.Rows, t.depth + 1, append(slices.Clone(t.seen), o)})
		}
	}
	return root
}

// object returns the object that a schema is, or is a list of; nil for anything else.
func (d *document) object(s *schema) *schema {
	for range maxReferences {
		switch s = d.resolve(s); {
		case s == nil:
			return nil
		case s.Items != nil:
			s = s.Items
		case len(s.Properties) > 0:
			return s
		case s.Additional != nil && s.Additional.schema != nil:
			s = s.Additional.schema
		default:
			return nil
		}
	}
	return nil
}

// firstMembers are the members that readers look for first.
var firstMembers = []string{"data", "id", "slug", "source", "externalId", "type", "code", "name", "title", "status",
	"state", "url", "text"}

// memberNames returns the names of the members in the order of the pages, on request the required
// ones first.
func memberNames(s *schema, requiredFirst bool) []string {
	names := make([]string, 0, len(s.Properties))
	for name := range s.Properties {
		names = append(names, name)
	}
	rank := func(name string) int {
		n := len(firstMembers)
		if i := slices.Index(firstMembers, name); i >= 0 {
			n = i
		}
		if requiredFirst && !slices.Contains(s.Required, name) {
			n += 100
		}
		return n
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return names
}

// indent formats JSON for readers; empty stays empty.
func indent(raw []byte) string {
	if len(raw) == 0 {
		return ""
	}
	var out bytes.Buffer
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		return ""
	}
	return out.String()
}

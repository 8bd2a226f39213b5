package developer

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
)

// The limits of an example. A schema can refer to itself, and each of its members to many others.
// They bound the work for a document of any origin, which may be another version.
const (
	maxExampleDepth = 7        // levels of objects: deeper ones are empty
	maxExampleBytes = 32 << 10 // more is not composed: a page weighs at most 60 KiB
	maxReferences   = 8        // references in a row
)

// maxExampleItems is the number of entries in the example of a list that needs several.
const maxExampleItems = 4

// failureMembers are optional members of responses that report a failure. An example shows the
// usual case.
var failureMembers = []string{"error", "failure", "lastError", "stateReason", "revokedReason", "revokedAt",
	"replacedBy", "errors", "redactedAt", "canceledAt", "disabledAt", "failingSince"}

// patchMembers is the number of members in an example of a request that requires none.
const patchMembers = 2

// example composes an example of a schema from the examples of its members, as indented JSON. A
// response has all members, a request those that are required.
func (d *document) example(s *schema, response bool) string {
	var out bytes.Buffer
	d.appendExample(&out, s, response, nil)
	return indent(out.Bytes())
}

// appendExample appends the example of a schema; seen are the objects around it.
func (d *document) appendExample(out *bytes.Buffer, s *schema, response bool, seen []*schema) {
	switch s = d.resolve(s); {
	// Without a schema, or beyond the limit, an empty object keeps the JSON valid.
	case s == nil, out.Len() > maxExampleBytes:
		out.WriteString("{}")
	// An example of the document comes first: it was written for its member.
	case len(s.Examples) > 0:
		out.Write(s.Examples[0])
	case s.Const != nil:
		appendJSON(out, s.Const)
	case len(s.Enum) > 0:
		appendJSON(out, s.Enum[0])
	case s.is("object"):
		d.appendObject(out, s, response, seen)
	case s.is("array"):
		out.WriteByte('[')
		// An array of the object that is being composed is left empty, or it would not end.
		empty := s.Items == nil || slices.Contains(seen, d.object(s.Items)) || deref(s.MinItems) == 0 &&
			len(seen) >= maxExampleDepth
		for i := range min(max(deref(s.MinItems), 1), maxExampleItems) {
			if empty {
				break
			}
			if i > 0 {
				out.WriteByte(',')
			}
			d.appendExample(out, s.Items, response, seen)
		}
		out.WriteByte(']')
	case s.is("boolean"):
		out.WriteString("true")
	case s.is("integer"), s.is("number"):
		// The smallest allowed number, or 1.
		appendJSON(out, max(math.Ceil(deref(s.Minimum)), min(1, orInf(s.Maximum))))
	case s.is("string"):
		appendJSON(out, textExample(s))
	default:
		out.WriteString("{}") // any value
	}
}

// resolve follows references and takes the first of several alternatives; nil if that does not end.
// An alternative is an example as good as any other.
func (d *document) resolve(s *schema) *schema {
	for range maxReferences {
		switch {
		case s == nil:
			return nil
		case s.Ref != "":
			s = d.Components.Schemas[strings.TrimPrefix(s.Ref, refPrefix)]
		case len(s.AnyOf) > 0:
			s = s.AnyOf[0]
		default:
			return s
		}
	}
	return nil
}

// orInf returns a bound, or infinity without one.
func orInf(p *float64) float64 {
	if p == nil {
		return math.Inf(1)
	}
	return *p
}

// textExample returns the example of a text by its format.
// The texts have the form that the API demands, so the example can be sent.
func textExample(s *schema) string {
	switch s.Format {
	case "date-time":
		return "2026-11-22T09:30:00.000Z"
	case "uri":
		return "https://acme.example/"
	}
	return "text"
}

// appendObject appends the example of an object.
// Members that may be left out are shown in responses only; a request has what is required.
func (d *document) appendObject(out *bytes.Buffer, s *schema, response bool, seen []*schema) {
	out.WriteByte('{')
	defer out.WriteByte('}')
	if slices.Contains(seen, s) || len(seen) > maxExampleDepth {
		return
	}
	// A map: one entry under an example of a name.
	if a := s.Additional; len(s.Properties) == 0 && a != nil && a.schema != nil && len(seen) < maxExampleDepth {
		out.WriteString(`"name":`)
		d.appendExample(out, a.schema, response, append(slices.Clone(seen), s))
		return
	}
	// A request without required members is a change: two members show its form.
	patch, n := len(s.Required) == 0 && len(seen) == 0, 0
	for _, name := range memberNames(s, false) {
		p := s.Properties[name]
		required := slices.Contains(s.Required, name)
		inner := d.object(p)
		nested := inner != nil && (slices.Contains(seen, inner) || inner == s || len(seen) >= maxExampleDepth)
		switch {
		case required:
		case nested, !response && (!patch || inner != nil), response && slices.Contains(failureMembers, name):
			continue
		}
		if n++; n > 1 {
			out.WriteByte(',')
		}
		appendJSON(out, name)
		out.WriteByte(':')
		d.appendExample(out, p, response, append(slices.Clone(seen), s))
		if patch && !response && n == patchMembers {
			return
		}
	}
}

// appendJSON appends a value that came from JSON.
// Go adds HTML escapes and a line break, which the example does not need.
func appendJSON(out *bytes.Buffer, v any) {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // a Buffer takes everything, and what was decoded can be encoded
}

package developer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/fieldmark/fieldmark"
)

// Reference is the content of the OpenAPI document, in the order of the pages. It is immutable.
type Reference struct {
	Version  string // of the API
	Groups   []Group
	Events   []*Event // messages to webhook endpoints
	Problems []Problem
	Limits   []Limit

	operations map[string]*Operation // by id
	events     map[string]*Event     // by type
}

// Group is the operations of one tag.
// The tags are in the order of the document.
type Group struct {
	Name, Text string
	Parts      []Part
}

// Part is the operations on one kind of object. The only part of a small group has no name.
type Part struct {
	Name       string
	Operations []*Operation
}

// Operation is one method of one path.
// It has what the page shows; the document itself is not kept.
type Operation struct {
	ID, Method, Path string
	Title            string // what it does, in a few words
	Text             string // the rest of the summary; may be empty
	Tag              string
	Scope            string // of the key; empty: no key is needed
	KeyOptional      bool
	Access           string // in words
	Parameters       []Parameter
	Body             *Body
	Responses        []Response
	Problems         []Problem
	Curl             string // a command that makes the request; {base} is the address of the site
}

// Writes reports whether the operation can change data.
func (o *Operation) Writes() bool { return o.Method != http.MethodGet }

// Parameter is a part of the address, or a header field, of a request.
type Parameter struct {
	Name, In, Text, Type string
	Required             bool
	Values               []string
	Example              string
}

// Body is the content of a request or response.
type Body struct {
	Types    []string // media types
	Required bool
	Rows     []*Row
	Example  string // indented JSON; empty for other media types
}

// Response is the response to a successful request.
type Response struct {
	Status, Text string
	Body         *Body
}

// Event is a message that endpoints can subscribe to.
type Event struct {
	Type, Text string
	Headers    []Parameter
	Body       *Body
}

// Problem is a row of x-problems.
type Problem struct {
	Code   fieldmark.Code `json:"code"`
	Status int            `json:"status"`
	Title  string         `json:"title"`
	Remedy string         `json:"remedy"`
}

// Limit is a row of x-limits.
type Limit struct {
	Group string         `json:"group"`
	Name  string         `json:"name"`
	Value int64          `json:"value"` // below 0: unlimited
	Unit  string         `json:"unit"`
	Code  fieldmark.Code `json:"code"`
	Note  string         `json:"note"`
}

// document is the parts of an OpenAPI 3.1 document that the pages show.
// Unknown members are ignored: a newer origin may have more.
type document struct {
	Info     struct{ Version string }
	Tags     []struct{ Name, Description string }
	Paths    map[string]map[string]operation
	Webhooks map[string]map[string]operation

	Components struct{ Schemas map[string]*schema }
	Problems   []Problem `json:"x-problems"`
	Limits     []Limit   `json:"x-limits"`
}

type operation struct {
	OperationID string
	Summary     string
	Tags        []string
	Security    []map[string][]string
	Parameters  []parameter
	RequestBody *content
	Responses   map[string]content
}

type parameter struct {
	Name, In, Description string
	Required              bool
	Schema                schema
}

// content is a request body or a response.
type content struct {
	Required    bool
	Description string
	Content     map[string]struct {
		Schema  *schema
		Example json.RawMessage
	}
}

const jsonType = "application/json"

// methods are the methods of operations in the order of the pages.
var methods = []string{"get", "post", "put", "patch", "delete"}

// Parse reads an OpenAPI document.
// An operation without an id or a tag has no page and is left out. Maps have no order, so
// everything is sorted afterwards.
func Parse(raw []byte) (*Reference, error) {
	var doc document
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	if len(doc.Paths) == 0 {
		return nil, errors.New("read the OpenAPI document: it has no paths")
	}
	r := &Reference{Version: doc.Info.Version, Problems: doc.Problems, Limits: doc.Limits,
		operations: map[string]*Operation{}, events: map[string]*Event{}}
	byTag := map[string][]*Operation{}
	for path, item := range doc.Paths {
		for _, method := range methods {
			o, ok := item[method]
			if !ok || o.OperationID == "" || len(o.Tags) == 0 {
				continue
			}
			op := doc.operation(strings.ToUpper(method), path, &o)
			r.operations[op.ID] = op
			byTag[op.Tag] = append(byTag[op.Tag], op)
		}
	}
	for _, t := range doc.Tags {
		if all := byTag[t.Name]; all != nil {
			r.Groups = append(r.Groups, Group{t.Name, t.Description, partsOf(all)})
		}
	}
	for name, item := range doc.Webhooks {
		if o, ok := item["post"]; ok {
			e := &Event{Type: name, Text: o.Summary, Headers: parametersOf(o.Parameters),
				Body: doc.body(o.RequestBody, true)}
			r.events[name] = e
			r.Events = append(r.Events, e)
		}
	}
	// Webhooks are an object, whose order JSON does not keep.
	slices.SortFunc(r.Events, func(a, b *Event) int { return strings.Compare(a.Type, b.Type) })
	return r, nil
}

// partsOf sorts the operations of a tag. Those of administrators are many, so they have a part for
// each kind of object, which their path names.
// The operations of a part follow each other: their paths begin alike.
func partsOf(all []*Operation) []Part {
	slices.SortFunc(all, func(a, b *Operation) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(slices.Index(methods, strings.ToLower(a.Method)),
			slices.Index(methods, strings.ToLower(b.Method))))
	})
	var parts []Part
	for _, o := range all {
		name := ""
		if rest, ok := strings.CutPrefix(o.Path, fieldmark.PathAdminAPI); ok {
			name, _, _ = strings.Cut(rest, "/")
		}
		// A new part begins where the name changes, which the order of paths makes right.
		if len(parts) == 0 || parts[len(parts)-1].Name != name {
			parts = append(parts, Part{Name: name})
		}
		last := &parts[len(parts)-1]
		last.Operations = append(last.Operations, o)
	}
	return parts
}

// operation returns the page of an operation.
func (d *document) operation(method, path string, o *operation) *Operation {
	op := &Operation{ID: o.OperationID, Method: method, Path: path, Tag: o.Tags[0],
		Parameters: parametersOf(o.Parameters)}
	// The summary has the form "title; the rest", see package origin/api.
	title, text, _ := strings.Cut(o.Summary, "; ")
	op.Title, op.Text = title, sentence(text)
	// A security requirement that is empty means that a key is optional (OpenAPI 3.1, 4.8.30).
	for _, s := range o.Security {
		for _, scopes := range s {
			op.Scope = strings.Join(scopes, " ")
		}
	}
	op.KeyOptional = op.Scope != "" && slices.ContainsFunc(o.Security, func(s map[string][]string) bool {
		return len(s) == 0
	})
	if o.RequestBody != nil {
		op.Body = d.body(o.RequestBody, false)
	}
	for status, c := range o.Responses {
		if !strings.HasPrefix(status, "2") && !strings.HasPrefix(status, "3") {
			continue // errors have a section of their own
		}
		op.Responses = append(op.Responses, Response{status, c.Description, d.body(&c, true)})
	}
	op.Responses = mergeResponses(op.Responses)
	op.Problems = d.problemsOf(op)
	op.Curl = curl(op)
	return op
}

// mergeResponses sorts responses by status and makes one of those that have the same body, such as 200
// and 201.
// Two responses with equal examples are shown once.
func mergeResponses(all []Response) (merged []Response) {
	slices.SortFunc(all, func(a, b Response) int { return strings.Compare(a.Status, b.Status) })
	for _, r := range all {
		if n := len(merged); n > 0 && r.Body != nil && merged[n-1].Body != nil && r.Body.Example != "" &&
			merged[n-1].Body.Example == r.Body.Example {
			merged[n-1].Status += " or " + r.Status
			merged[n-1].Text = ""
			continue
		}
		merged = append(merged, r)
	}
	return merged
}

// body returns what a request or a response holds; nil if it is empty.
// The rows and the example are those of JSON; other media types are named only.
func (d *document) body(c *content, response bool) *Body {
	if c == nil || len(c.Content) == 0 {
		return nil
	}
	b := &Body{Required: c.Required}
	for mediaType := range c.Content {
		b.Types = append(b.Types, mediaType)
	}
	slices.SortFunc(b.Types, func(a, z string) int { // JSON first
		return cmp.Or(-cmp.Compare(btoi(a == jsonType), btoi(z == jsonType)), strings.Compare(a, z))
	})
	if m := c.Content[jsonType]; m.Schema != nil {
		b.Rows = d.rows(m.Schema, response)
		// An example of the document itself is preferred to a composed one.
		if b.Example = indent(m.Example); b.Example == "" {
			b.Example = d.example(m.Schema, response)
		}
	}
	return b
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// parametersOf returns parameters as the pages show them, in the order of the document.
func parametersOf(all []parameter) []Parameter {
	var out []Parameter
	for _, p := range all {
		out = append(out, Parameter{Name: p.Name, In: p.In, Text: sentence(p.Description), Type: p.Schema.typeName(),
			Required: p.Required, Values: p.Schema.values(), Example: p.Schema.sample()})
	}
	return out
}

// sentence gives a description its capital letter and full stop.
// Descriptions in the document are fragments, as in struct tags.
func sentence(s string) string {
	if s == "" {
		return ""
	}
	s = strings.ToUpper(s[:1]) + s[1:]
	if !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}

// problemsOf returns the problems that can answer an operation, by what it takes. Those of the
// object itself, such as mission_exists, follow from the example of the origin.
// The document does not list them for each operation, because they follow from what it takes: a
// key, a body, parameters.
func (d *document) problemsOf(o *Operation) []Problem {
	codes := []fieldmark.Code{fieldmark.CodeRateLimited, fieldmark.CodeInternal, fieldmark.CodeTimeout,
		fieldmark.CodeOriginUnavailable, fieldmark.CodeOverloaded}
	if o.Scope != "" {
		codes = append(codes, fieldmark.CodeInvalidAPIKey, fieldmark.CodeExpiredAPIKey,
			fieldmark.CodeInsufficientScope, fieldmark.CodeIPNotAllowed)
		if !o.KeyOptional {
			codes = append(codes, fieldmark.CodeMissingCredentials)
		}
	}
	if o.Body != nil {
		codes = append(codes, fieldmark.CodeMalformedJSON, fieldmark.CodeDuplicateMember, fieldmark.CodeInvalidUTF8,
			fieldmark.CodeBodyTooLarge, fieldmark.CodeUnsupportedMediaType, fieldmark.CodeValidationFailed)
	}
	for _, p := range o.Parameters {
		switch {
		case p.In == "path":
			codes = append(codes, fieldmark.CodeNotFound)
		case p.In == "query":
			codes = append(codes, fieldmark.CodeInvalidParameter)
			if p.Name == "cursor" {
				codes = append(codes, fieldmark.CodeInvalidCursor)
			}
		case p.Name == fieldmark.HeaderIdempotencyKey:
			codes = append(codes, fieldmark.CodeInvalidIdempotency, fieldmark.CodeIdempotencyInFlight,
				fieldmark.CodeIdempotencyReused)
		case p.Name == "If-Match":
			codes = append(codes, fieldmark.CodeVersionMismatch)
		}
	}
	// The order is that of the document, and a code of another version is left out.
	var out []Problem
	for _, p := range d.Problems {
		if slices.Contains(codes, p.Code) {
			out = append(out, p)
		}
	}
	return out
}

package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/llms"
)

// document is the OpenAPI document, made once.
type document struct {
	bytes []byte
	etag  string
}

// securityScheme names the one way to prove who asks.
const securityScheme = "apiKey"

// describe writes the OpenAPI 3.1 document from the types that serve, and hands
// each route the shape its requests are held to.
func describe(routes []*route, version string) (document, error) {
	reg := huma.NewMapRegistry("#/components/schemas/", nameSchema)
	reg.RegisterTypeAlias(reflect.TypeFor[fieldmark.Time](), reflect.TypeFor[time.Time]())
	reg.RegisterTypeAlias(reflect.TypeFor[fieldmark.Milli](), reflect.TypeFor[float64]())

	for _, r := range routes {
		if r.op.in.goType == nil {
			continue
		}
		r.op.in.schema = requestSchema(reg, r.op.in)
		var err error
		if r.op.in.shape, err = compile(reg, r.op.in.schema); err != nil {
			return document{}, fmt.Errorf("%s %s: %w", r.method, r.path, err)
		}
	}
	closed := slices.Collect(maps.Keys(reg.Map()))

	api := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title: "Fieldmark", Version: version,
			Description: "What Fieldmark answers; what is tagged `scores`, every edge by itself. Every failure is a problem document (RFC 9457) whose `code` is stable and whose `type` leads to a page about it.",
			License:     &huma.License{Name: "Apache 2.0", Identifier: "Apache-2.0"},
		},
		Servers: []*huma.Server{{URL: "/"}},
		Components: &huma.Components{
			Schemas: reg,
			SecuritySchemes: map[string]*huma.SecurityScheme{
				securityScheme: {Type: "http", Scheme: "bearer", Description: "An API key, fm_live_…"},
			},
		},
	}
	api.Components.Responses = map[string]*huma.Response{"Problem": {
		Description: "A problem",
		Content:     map[string]*huma.MediaType{fieldmark.ProblemType: {Schema: schemaOf(reg, of[fieldmark.Problem]())}},
	}}
	for _, r := range slices.Concat(routes, fronted()) {
		if !r.op.hidden {
			api.AddOperation(operation(reg, r))
		}
	}
	open(reg, closed)
	for name, s := range reg.Map() {
		explainPatterns(s)
		allowNull(s, reg.TypeFromRef("#/components/schemas/"+name))
	}
	return encodeDocument(api)
}

// nameSchema tells the generator's nouns from those of the product that have the
// same name.
func nameSchema(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.PkgPath() == reflect.TypeFor[llms.Request]().PkgPath() {
		return "LLMsTxt" + name
	}
	return name
}

// open lets what we answer grow: only what we are sent is closed to new members.
func open(reg huma.Registry, closed []string) {
	for name, s := range reg.Map() {
		if !slices.Contains(closed, name) && s.AdditionalProperties == false {
			s.AdditionalProperties = nil
		}
	}
}

// allowNull says which members may be null: those we answer that may be missing
// and are told all the same, and those a merge patch takes away.
func allowNull(s *huma.Schema, t reflect.Type) {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct {
		return
	}
	patch := t == reflect.TypeFor[fieldmark.MissionPatch]() || t == reflect.TypeFor[fieldmark.WindowPatch]()
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		p := s.Properties[name]
		missing := f.Type.Kind() == reflect.Pointer && !strings.Contains(options, "omitempty")
		switch {
		case p == nil || !missing && !patch:
		case p.Ref != "":
			s.Properties[name] = &huma.Schema{AnyOf: []*huma.Schema{p, {Type: "null"}}}
		case p.Type != "":
			p.Nullable = true
		}
	}
}

// explainPatterns says in words what a pattern stands for; the library's own
// member for that is none of OpenAPI.
func explainPatterns(s *huma.Schema) {
	if s.PatternDescription != "" && s.Description == "" {
		s.Description = s.PatternDescription
	}
	s.PatternDescription = ""
	for _, p := range s.Properties {
		explainPatterns(p)
	}
	if s.Items != nil {
		explainPatterns(s.Items)
	}
}

func schemaOf(reg huma.Registry, b body) *huma.Schema {
	return reg.Schema(b.goType, true, b.goType.Name())
}

// requestSchema is strict about lists: the library takes null for every list,
// because Go may send one so, and would let it stand in for a list that must not
// be empty.
func requestSchema(reg huma.Registry, b body) *huma.Schema {
	root := schemaOf(reg, b)
	schemas := append([]*huma.Schema{root}, slices.Collect(maps.Values(reg.Map()))...)
	for _, s := range schemas {
		if s.Type == huma.TypeArray {
			s.Nullable = false
		}
		for _, p := range s.Properties {
			if p.Type == huma.TypeArray {
				p.Nullable = false
			}
		}
	}
	return root
}

// operation describes one route.
func operation(reg huma.Registry, r *route) *huma.Operation {
	out := &huma.Operation{
		Method: r.method, Path: r.path, OperationID: r.op.id, Summary: r.op.does,
		Tags: []string{tagOf(r.path)}, Responses: map[string]*huma.Response{},
	}
	if r.access == anyone {
		out.Security = []map[string][]string{{}} // said, so that nobody has to guess
	} else {
		out.Security = []map[string][]string{{securityScheme: {string(r.access.scope)}}}
		out.Description = "Needs the scope `" + string(r.access.scope) + "`."
	}
	for _, name := range pathNames(r.path) {
		out.Parameters = append(out.Parameters, &huma.Param{
			Name: name, In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString},
		})
	}
	for _, p := range r.op.query {
		says := p.does
		if p.enum != nil {
			says += "; in any case"
		}
		out.Parameters = append(out.Parameters, &huma.Param{Name: p.name, In: "query", Description: says, Schema: p.schema()})
	}
	for _, f := range r.fields() {
		out.Parameters = append(out.Parameters, &huma.Param{Name: f[0], In: "header", Description: f[1], Schema: &huma.Schema{Type: huma.TypeString}})
	}
	if r.op.in.goType != nil {
		out.RequestBody = &huma.RequestBody{
			Required: !r.op.maybe,
			Content:  map[string]*huma.MediaType{jsonType: {Schema: r.op.in.schema}},
		}
		for _, mediaType := range r.op.takes {
			content := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
			if strings.HasSuffix(mediaType, "+json") {
				content.Schema = r.op.in.schema
			}
			out.RequestBody.Content[mediaType] = content
		}
	}
	status := r.op.status
	if status == nil {
		status = []int{http.StatusOK}
	}
	for _, code := range status {
		answer := &huma.Response{Description: http.StatusText(code)}
		if r.op.out.goType != nil && code < 300 {
			answer.Content = map[string]*huma.MediaType{jsonType: {Schema: schemaOf(reg, r.op.out)}}
			for _, mediaType := range r.op.also {
				answer.Content[mediaType] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
			}
		}
		out.Responses[strconv.Itoa(code)] = answer
	}
	for _, code := range []string{"4XX", "default"} {
		out.Responses[code] = &huma.Response{Ref: problemRef}
	}
	return out
}

// problemRef is where the one description of every failure stands.
const problemRef = "#/components/responses/Problem"

// fields are the names and meanings of the header fields a route looks at.
func (rt *route) fields() (all [][2]string) {
	if rt.op.once || rt.reservable() {
		all = append(all, [2]string{fieldmark.HeaderIdempotencyKey, "Names this request for a day: the same request again gets the same answer, and has no further effect."})
	}
	if rt.op.versioned {
		all = append(all, [2]string{"If-Match", "The ETag of the version this is meant for; any other is 412."})
	}
	return all
}

// tagOf groups routes by who they are for.
func tagOf(path string) string {
	switch {
	case strings.HasPrefix(path, fieldmark.PathPublic):
		return "missions"
	case strings.HasPrefix(path, fieldmark.PathAdminAPI):
		return "administration"
	case strings.HasPrefix(path, fieldmark.PathLLMs):
		return "tools"
	}
	return "scores"
}

// pathNames lists the placeholders of a path.
func pathNames(path string) []string {
	var names []string
	for _, m := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(path, -1) {
		names = append(names, m[1])
	}
	return names
}

// encodeDocument indents, so that a change of the surface reads well in review.
func encodeDocument(api *huma.OpenAPI) (document, error) {
	plain, err := json.Marshal(api)
	if err != nil {
		return document{}, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, plain, "", "  "); err != nil {
		return document{}, err
	}
	out.WriteByte('\n')
	return document{bytes: out.Bytes(), etag: etagOf(out.Bytes())}, nil
}

// sendOpenAPI answers the document.
func (s *server) sendOpenAPI(c *call) error {
	c.w.Header().Set("Cache-Control", "public, max-age=300")
	if c.unchanged(s.openAPI.etag) {
		return nil
	}
	return c.sendBytes(http.StatusOK, jsonType, s.openAPI.bytes)
}

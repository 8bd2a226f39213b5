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
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/asyncapi"
	"github.com/fieldmark/fieldmark/origin/example"
	"github.com/fieldmark/fieldmark/origin/idempotency"
	"github.com/fieldmark/fieldmark/origin/llms"
	"github.com/fieldmark/fieldmark/origin/mission"
	"github.com/fieldmark/fieldmark/origin/sitecheck"
	"github.com/fieldmark/fieldmark/origin/webhook"
)

// document is a JSON document that is encoded once.
type document struct {
	bytes []byte
	// A strong one, of the bytes (RFC 9110, section 8.8.1).
	etag string
}

// securityScheme is the name of the only security scheme.
// The secrets of claims and of access requests are bearer tokens too, so they share it.
const securityScheme = "apiKey"

// lazyDocument generates a document at the first call. Most processes never send the documents of the
// API, and generating them takes most of the time that New takes.
type lazyDocument func() (document, error)

// describe gives each route the schema that validates its requests, and returns the OpenAPI 3.1 document,
// which is generated from the types of the routes.
// A type that compile cannot check is an error at start, not at the first request.
func describe(routes []*route, version string, limits []limit) (lazyDocument, error) {
	reg := huma.NewMapRegistry("#/components/schemas/", nameSchema)
	// Both encode themselves, which reflection does not see.
	reg.RegisterTypeAlias(reflect.TypeFor[fieldmark.Time](), reflect.TypeFor[time.Time]())
	reg.RegisterTypeAlias(reflect.TypeFor[fieldmark.Milli](), reflect.TypeFor[float64]())

	for _, r := range routes {
		in := &r.handler.in
		if in.empty() {
			continue
		}
		// The published schema is the one that validates, so a client that follows it is never refused by it.
		in.published = requestSchema(reg, *in)
		var err error
		if in.schema, err = compile(reg, in.published); err != nil {
			return nil, fmt.Errorf("%s %s: %w", r.method, r.path, err)
		}
	}
	return sync.OnceValues(func() (document, error) { return generate(reg, routes, version, limits) }), nil
}

// generate generates the OpenAPI document. reg contains the schemas of the requests.
// It changes the schemas in reg, which compile has read before: what documents add or allow does not
// reach the validation of requests.
func generate(reg huma.Registry, routes []*route, version string, limits []limit) (document, error) {
	// Taken before the responses add theirs: only these are strict.
	requests := slices.Collect(maps.Keys(reg.Map()))
	api := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title: "Fieldmark", Version: version,
			Description: "The HTTP API of Fieldmark. Operations tagged `scores` are answered by every edge without " +
				"an origin. " +
				"Every error is a problem document (RFC 9457) with a stable `code` and a `type` that links to its " +
				"explanation.",
			License: &huma.License{Name: "Apache 2.0", Identifier: "Apache-2.0"},
		},
		Servers: []*huma.Server{{URL: "/"}},
		Components: &huma.Components{
			Schemas: reg,
			SecuritySchemes: map[string]*huma.SecurityScheme{
				securityScheme: {Type: "http", Scheme: "bearer", Description: "An API key, fm_live_…"},
			},
		},
		Tags:       tags,
		Extensions: map[string]any{"x-problems": problems(), "x-limits": limits},
	}
	api.Components.Responses = map[string]*huma.Response{"Problem": {
		Description: "A problem",
		Content: map[string]*huma.MediaType{
			fieldmark.ProblemType: {Schema: schemaOf(reg, body{goType: reflect.TypeFor[fieldmark.Problem]()})},
		},
	}}
	// A generated client has one base address for scores and missions, so the document has both.
	for _, r := range slices.Concat(routes, edgeOperations(), logOperations()) {
		if !r.op.hidden {
			api.AddOperation(describeRoute(reg, r))
		}
	}
	allowAdditional(reg, requests)
	if err := describeWebhooks(api, reg); err != nil {
		return document{}, err
	}
	for name, s := range reg.Map() {
		explainPatterns(s)
		allowNull(s, reg.TypeFromRef("#/components/schemas/"+name))
		example.Add(name, s)
	}
	return encodeDocument(api)
}

// limit is a row of x-limits in the document: what a client may send or have. Pages show it.
// Limits are published, because a client that knows them need not find them by errors.
type limit struct {
	Group string `json:"group"`
	Name  string `json:"name"`
	Value int64  `json:"value"` // below 0: unlimited
	Unit  string `json:"unit"`  // bytes, seconds, characters, or what is counted
	Code  string `json:"code,omitempty"`
	Note  string `json:"note,omitempty"`
}

// limitsOf returns the limits of the API. Each value is the constant or the setting that the
// code enforces, so that the list cannot differ from it.
func limitsOf(o *origin.Service) []limit {
	seconds := func(d time.Duration) int64 { return int64(d / time.Second) }
	tooLarge, invalid := string(fieldmark.CodeBodyTooLarge), string(fieldmark.CodeValidationFailed)
	tooMany, limited := string(fieldmark.CodeTooMany), string(fieldmark.CodeRateLimited)
	// Settings of the operator, so they are functions and not constants.
	deliveries, events := webhook.Retention(o.Webhooks)
	const requests, missions, webhooks, owners = "Requests", "Missions", "Webhooks", "Checks and claims"
	return []limit{
		{requests, "Body", fieldmark.MaxBody, "bytes", tooLarge, "Unless another row says otherwise."},
		{requests, "Body of a batch of missions", fieldmark.MaxBatchBody, "bytes", tooLarge, ""},
		{requests, "Body of an alert notification", fieldmark.MaxAlertBody, "bytes", tooLarge, ""},
		{requests, "Body of an import", fieldmark.MaxBulkBody, "bytes", tooLarge, ""},
		{requests, "Body of an llms.txt to check", fieldmark.MaxLintBody, "bytes", tooLarge, ""},
		{requests, "Address", maxURI, "bytes", string(fieldmark.CodeURITooLong), ""},
		{requests, "Nesting of JSON", maxDepth, "levels", string(fieldmark.CodeMalformedJSON), ""},
		{requests, "Idempotency-Key kept", seconds(idempotency.Retention), "seconds", "",
			"A repetition in this time returns the saved response."},

		{missions, "Missions in a batch", fieldmark.MaxBatch, "missions", invalid, ""},
		{missions, "Missions on a page", fieldmark.MaxMissionLimit, "missions",
			string(fieldmark.CodeInvalidParameter), ""},
		{missions, "Notes of a mission", fieldmark.MaxNotes, "notes", tooMany, ""},
		{missions, "Text of a note", fieldmark.MaxNoteText, "characters", invalid, ""},
		{missions, "Attachment", fieldmark.MaxAttachment, "bytes", string(fieldmark.CodeAttachmentTooLarge), ""},
		{missions, "Attachments of a mission", fieldmark.MaxAttachments, "files", tooMany, ""},
		{missions, "Attachments of a mission together", fieldmark.MaxAttachmentBytes, "bytes", tooMany, ""},
		{missions, "Labels of a mission", fieldmark.MaxLabels, "labels", invalid, ""},
		{missions, "Labels to filter by", fieldmark.MaxFilterLabels, "keys for each account", invalid, ""},
		{missions, "Exports at a time", mission.MaxExports, "for each key", limited, ""},
		{missions, "Calendar feeds", mission.MaxLiveCalendars, "active feeds for each account", invalid, ""},

		{webhooks, "Endpoints", webhook.MaxEndpoints, "for each account", invalid,
			"Without those of its customers."},
		{webhooks, "Endpoints of a customer", fieldmark.MaxCustomerEndpoints, "for each customer",
			string(fieldmark.CodeTooMany), ""},
		{webhooks, "Endpoints of customers", fieldmark.MaxEndpointsOfCustomers, "for each account",
			string(fieldmark.CodeTooMany), ""},
		{webhooks, "Labels in the filter of an endpoint", fieldmark.MaxEndpointFilterLabels, "labels", invalid, ""},
		{webhooks, "Endpoints of the owner of a brand", fieldmark.ClaimEndpoints, "for each account", invalid,
			"Of an account that a claim made."},
		{webhooks, "Time for a receiver to answer", seconds(webhook.Timeout), "seconds", "",
			"A later answer counts as a failure."},
		{webhooks, "Steps of a custom retry schedule", webhook.MaxSteps, "attempts", invalid, ""},
		{webhooks, "Longest Retry-After that is followed", seconds(webhook.MaxRetryAfter), "seconds", "", ""},
		{webhooks, "Failure until an endpoint is disabled", seconds(webhook.DisableAfter), "seconds", "",
			"Without one success in this time."},
		{webhooks, "Events on a page", maxPollLimit, "events", string(fieldmark.CodeInvalidParameter), ""},
		{webhooks, "Events kept", seconds(events), "seconds", "", "For polling and replays."},
		{webhooks, "Deliveries kept", seconds(deliveries), "seconds", "", ""},

		{owners, "Checks by a client network", sitecheck.ClientPerHour, "an hour", limited, ""},
		{owners, "Checks by a client network", sitecheck.ClientPerDay, "a day", limited, ""},
		{owners, "Checks of a site", sitecheck.HostPerHour, "an hour", string(fieldmark.CodeHostBudget), ""},
		{owners, "Checks of a site", sitecheck.HostPerDay, "a day", string(fieldmark.CodeHostBudget), ""},
		{owners, "Requests for an API key by a client network", fieldmark.AccessPerDay, "a day", limited, ""},
		{owners, "Claims opened by a client network", fieldmark.ClaimsPerDay, "a day", limited, ""},
		{owners, "Verifications of a claim", fieldmark.ClaimChecksPerDay, "a day", limited, ""},
		{owners, "Audits that an owner requests", fieldmark.OwnerAuditsPerHour, "an hour", limited, ""},
		{owners, "Audits that an owner requests", fieldmark.OwnerAuditsPerDay, "a day", limited, ""},
	}
}

// nameSchema names the schema of a type. The types of package llms get a prefix, because some have the name
// of a type of the product.
func nameSchema(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	// A second type of the same name would stop huma's registry with a panic.
	if t.PkgPath() == reflect.TypeFor[llms.Request]().PkgPath() {
		return "LLMsTxt" + name
	}
	return name
}

// allowAdditional lets responses have unknown members, so that new ones can be added. Requests are strict.
// A generated client that rejects unknown members would stop at the first release that adds one.
func allowAdditional(reg huma.Registry, requests []string) {
	for name, s := range reg.Map() {
		if !slices.Contains(requests, name) && s.AdditionalProperties == false {
			s.AdditionalProperties = nil
		}
	}
}

// allowNull marks the members that may be null: pointers in responses that are always present, and the
// members that a merge patch can remove.
func allowNull(s *huma.Schema, t reflect.Type) {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct {
		return
	}
	// In a merge patch, null removes the member (RFC 7396, section 1).
	patch := t == reflect.TypeFor[fieldmark.MissionPatch]() || t == reflect.TypeFor[fieldmark.WindowPatch]()
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		// A field without a property is embedded or left out of JSON.
		p := s.Properties[name]
		missing := f.Type.Kind() == reflect.Pointer && !strings.Contains(options, "omitempty")
		switch {
		case p == nil || !missing && !patch:
		// A reference beside type null needs anyOf: a schema has one $ref.
		case p.Ref != "":
			s.Properties[name] = &huma.Schema{AnyOf: []*huma.Schema{p, {Type: "null"}}}
		case p.Type != "":
			p.Nullable = true
		}
	}
}

// explainPatterns moves the description of a pattern from huma's own member to the description, which is
// part of OpenAPI.
// A regular expression alone is a poor explanation in an error of a client.
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

// schemaOf returns the schema of a body, as a reference to a component with the name of its type.
func schemaOf(reg huma.Registry, b body) *huma.Schema {
	return reg.Schema(b.goType, true, b.goType.Name())
}

// requestSchema is schemaOf without nullable lists. huma lets every list be null, because Go encodes nil
// slices so; null would pass for a list that must not be empty.
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

// describeRoute returns the OpenAPI operation of a route.
// It reads only what the server itself uses to serve the route, so the two cannot differ.
func describeRoute(reg huma.Registry, r *route) *huma.Operation {
	out := &huma.Operation{
		Method: r.method, Path: r.path, OperationID: r.op.id, Summary: r.op.summary,
		Tags: []string{tagOf(r.path)}, Responses: map[string]*huma.Response{},
	}
	describeAccess(out, r.access)
	// All path parameters are text: ids, slugs and digests, which the handlers parse.
	for _, name := range pathNames(r.path) {
		param := &huma.Param{Name: name, In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString}}
		if v := example.Path(r.path, name); v != "" {
			param.Schema.Examples = []any{v}
		}
		out.Parameters = append(out.Parameters, param)
	}
	for _, p := range r.params() {
		description := p.description
		// The server compares values of an enum without case, which JSON Schema cannot say.
		if len(p.enum) > 1 {
			description += "; case-insensitive"
		}
		out.Parameters = append(out.Parameters, &huma.Param{
			Name: p.name, In: "query", Description: description, Schema: p.schema(),
		})
	}
	for _, h := range r.headers() {
		out.Parameters = append(out.Parameters, &huma.Param{
			Name: h[0], In: "header", Description: h[1], Schema: &huma.Schema{Type: huma.TypeString},
		})
	}
	if !r.handler.in.empty() {
		out.RequestBody = &huma.RequestBody{
			Required: !r.op.optionalBody,
			Content:  map[string]*huma.MediaType{jsonType: {Schema: r.handler.in.published}},
		}
		for _, mediaType := range r.op.consumes {
			content := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
			// A structured syntax suffix (RFC 6839): the body has the same schema, as with a merge
			// patch.
			if strings.HasSuffix(mediaType, "+json") {
				content.Schema = r.handler.in.published
			}
			out.RequestBody.Content[mediaType] = content
		}
	}
	// The body is the file itself, in one of the media types of the route.
	if r.op.streamed {
		out.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{}}
		for _, mediaType := range r.op.consumes {
			out.RequestBody.Content[mediaType] = &huma.MediaType{Schema: binary}
		}
	}
	for _, code := range r.statuses() {
		response := &huma.Response{Description: http.StatusText(code)}
		if code < 300 && (!r.handler.out.empty() || r.op.produces != nil) {
			response.Content = map[string]*huma.MediaType{}
			if !r.handler.out.empty() {
				response.Content[jsonType] = &huma.MediaType{Schema: schemaOf(reg, r.handler.out)}
			}
			for _, mediaType := range r.op.produces {
				response.Content[mediaType] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
			}
			if bytes := response.Content[binaryType]; bytes != nil {
				bytes.Schema = binary
			}
		}
		out.Responses[strconv.Itoa(code)] = response
	}
	// Every error has the same form: a problem document (RFC 9457) with a stable code.
	for _, code := range []string{"4XX", "default"} {
		out.Responses[code] = &huma.Response{Ref: problemRef}
	}
	return out
}

// binary is the schema of bytes that are not JSON.
var binary = &huma.Schema{Type: huma.TypeString, Format: "binary"}

// problemRef refers to the response that describes every error.
const problemRef = "#/components/responses/Problem"

// headers are the names and descriptions of the request headers that a route reads.
func (rt *route) headers() (all [][2]string) {
	if rt.op.idempotent || rt.reservable() {
		all = append(all, [2]string{fieldmark.HeaderIdempotencyKey,
			"Identifies the request for 24 hours: a repetition returns the saved response and has no further effect."})
	}
	if rt.op.streamed {
		all = append(all, [2]string{"Content-Disposition", `Name of the file: attachment; filename="photo.jpg".`},
			[2]string{"Content-Digest", "SHA-256 digest that the body must have: sha-256=:BASE64: (RFC 9530)."})
	}
	if rt.op.versioned {
		all = append(all, [2]string{"If-Match",
			"The ETag of the version to change; if the current version differs, the response is 412."})
	}
	return all
}

// describeAccess adds what an operation requires of its caller.
// OpenAPI lists scopes for the types oauth2 and openIdConnect only; for the type http their names are
// roles (section 4.8.30 of version 3.1). So the description names the scope too.
func describeAccess(out *huma.Operation, a authorization) {
	switch a {
	case anyone:
		out.Security = []map[string][]string{{}} // explicitly none
	case anyKey:
		out.Security = []map[string][]string{{securityScheme: {}}}
		out.Description = "Needs an API key with any scope."
	case applicant:
		out.Security = []map[string][]string{{securityScheme: {}}}
		out.Description = "Needs the secret of the request as bearer token."
	default:
		out.Security = []map[string][]string{{securityScheme: {string(a.scope)}}}
		out.Description = "Needs the scope `" + string(a.scope) + "`."
		if a.secret {
			out.Description = "Needs the secret of the claim as bearer token, or the scope `" +
				string(a.scope) + "`."
		}
		if a.optional {
			// An empty requirement makes the others optional.
			out.Security = append(out.Security, map[string][]string{})
			out.Description = "A key is optional, and needs the scope `" + string(a.scope) + "`."
		}
	}
}

// tags are the groups of the operations, in the order of the documentation.
// An operation belongs to the group of its path (tagOf).
var tags = []*huma.Tag{
	{Name: "scores", Description: "Scores, badges and the ranking. Every edge answers them without a key."},
	{Name: "checks", Description: "Audits of sites that need not be registered."},
	{Name: "llms-txt", Description: "Generate and check llms.txt files."},
	{Name: "access", Description: "Request an API key, and get it once an administrator has approved the request."},
	{Name: "missions", Description: "Field work with deadlines."},
	{Name: "integrations", Description: "Alerts of monitoring tools become missions."},
	{Name: "webhooks", Description: "Endpoints, their deliveries, and events."},
	{Name: "accounts", Description: "Limits of an account, and the sub-accounts of a group."},
	{Name: "claims", Description: "The owner of a site proves control of it, and then manages its brand."},
	{Name: "brands", Description: "What the owner of a brand may change, and disputes of findings."},
	{Name: "administration", Description: "Everything under /api/admin/v1; needs a key of an administrator."},
}

// tagOf returns the tag of a route: the first prefix that its path has counts.
func tagOf(path string) string {
	for _, t := range []struct{ prefix, tag string }{
		// Longer prefixes come before those that they begin with.
		{fieldmark.PathAdminAPI, "administration"}, {fieldmark.PathAlerts, "integrations"},
		{fieldmark.PathWebhooks, "webhooks"}, {fieldmark.PathPortalLinks, "webhooks"},
		{fieldmark.PathPublicEvents, "webhooks"},
		{fieldmark.PathAccount, "accounts"},
		{fieldmark.PathPublic, "missions"}, {fieldmark.PathLLMs, "llms-txt"}, {fieldmark.PathClaims, "claims"},
		{fieldmark.PathBrands, "brands"}, {fieldmark.PathChecks, "checks"}, {fieldmark.PathAccessRequest, "access"},
	} {
		if strings.HasPrefix(path, t.prefix) {
			return t.tag
		}
	}
	return "scores"
}

// pathNames returns the names of the parameters in a path.
func pathNames(path string) []string {
	var names []string
	for _, m := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(path, -1) {
		names = append(names, m[1])
	}
	return names
}

// encodeDocument indents the document, so that the golden file shows a change of the API line by line.
// The ETag is that of the bytes, so it is the same in every process of a version.
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

// sendOpenAPI sends the OpenAPI document.
// Caches keep it for 5 minutes, so after an upgrade clients have the new one within that time.
func (s *server) sendOpenAPI(c *call) error {
	c.w.Header().Set("Cache-Control", "public, max-age=300")
	return c.sendDocument(s.openAPI)
}

// sendAsyncAPI sends the AsyncAPI document.
func (s *server) sendAsyncAPI(c *call) error {
	c.w.Header().Set("Cache-Control", "public, max-age=300")
	return c.sendDocument(s.asyncAPI)
}

// describeMessages returns the AsyncAPI document of the webhooks in the OpenAPI document.
func describeMessages(openAPI lazyDocument) (document, error) {
	source, err := openAPI()
	if err != nil {
		return document{}, err
	}
	b, err := asyncapi.FromOpenAPI(source.bytes, fieldmark.PathPublicEvents)
	if err != nil {
		return document{}, fmt.Errorf("describe messages: %w", err)
	}
	return document{bytes: b, etag: etagOf(b)}, nil
}

// scoreParams are the query parameters of a score document.
var scoreParams = []param{
	{name: "advice", description: "1 adds suggestions that raise the score, ordered by evidence grade x " +
		"gain / effort",
		enum: []string{"1"}},
	{name: "owner", description: "1 adds the verified claim of the brand, if there is one",
		enum: []string{"1"}},
	{name: "disputes", description: "1 adds the disputes of findings: those under review, and those of " +
		"the owner decided in the last 90 days",
		enum: []string{"1"}},
	{name: "proof", description: "1 adds the proof that the public log has the score; score_not_logged " +
		"in the second after a change",
		enum: []string{"1"}},
	{name: "asOf", description: "The score at a time or at the end of a day: " +
		"the facts at that time, scored by the active module"},
}

// edgeOperations returns the operations that edges serve without the origin. They are only
// in the OpenAPI document, so that a generated client can read scores.
func edgeOperations() []*route {
	const (
		score = fieldmark.PathScore + "{slug}"
		badge = fieldmark.PathBadge + "{slug}"
	)
	read := []int{http.StatusOK, http.StatusNotModified}
	return []*route{
		{"GET", score, anyone, handleRaw[none, fieldmark.Score](nil), operation{
			id:      "getScore",
			summary: "Get a brand's score; with its range, eligibility, components, evidence and digests",
			status:  read,
			query:   scoreParams}},
		{"GET", score + "/history", anyone, handleRaw[none, fieldmark.ScoreHistory](nil), operation{
			id: "getScoreHistory", summary: "Get a brand's score over time; with the changes that caused it",
			status: read,
			query: []param{
				{name: "from", description: "A time or a day; the default is 90 days before to"},
				{name: "to", description: "A time or a day; the default is now"},
				{name: "step", description: "The interval between two points",
					enum: []string{fieldmark.StepDay, fieldmark.StepWeek}},
			}}},
		{"POST", fieldmark.PathScoreBatch, anyone, handleRaw[fieldmark.ScoreBatchRequest, fieldmark.ScoreBatch](nil),
			operation{
				id: "getScores",
				summary: "Get the scores of up to 1,000 brands; 100 without a key, and each 100 count as one request " +
					"of the rate",
				status: []int{http.StatusOK}}},
		{"GET", fieldmark.PathLeaderboard, anyone, handleRaw[none, fieldmark.Board](nil), operation{
			id:      "getLeaderboard",
			summary: "Get the ranking by score; one page at a time, and brands whose ranges overlap share ranks",
			status:  read,
			query:   boardParams}},
		{"GET", fieldmark.PathMethodology, anyone, handleRaw[none, fieldmark.Method](nil), operation{
			id: "getMethodology", status: read,
			summary: "Get the scoring method; every weight, input and limit of the active module"}},
		{"GET", badge, anyone, handleRaw[none, map[string]any](nil), operation{
			id:      "getBadge",
			summary: "Get a brand's badge; the suffix .svg, .png or .json (for shields.io) selects the format",
			query: []param{
				{name: "style", description: "The style; see /badges"},
				{name: "theme", description: "The background the badge is designed for; see /badges"},
				{name: "lang", description: "The language of the text (BCP 47)"},
				{name: "label", description: "Text that replaces GEO-ready"},
				{name: "claimed", description: "1 adds a tick if the owner of the brand proved control of its site",
					enum: []string{"0", "1"}},
			},
			produces: []string{"image/svg+xml", "image/png"}, status: read}},
		{"GET", "/api/card/{slug}.png", anyone, handleRaw[none, map[string]any](nil), operation{
			id:      "getShareCard",
			summary: "Get a brand's share card; a PNG for link previews with name, score, grade, date and niche",
			query: []param{
				{name: "theme", description: "The colors of the card", enum: []string{"light", "dark"}},
				{name: "width", description: "The width in pixels; the height is 630, 315 or 158",
					enum: []string{"1200", "600", "300"}},
			},
			produces: []string{"image/png"}, status: read}},
		{"GET", "/oembed", anyone, handleRaw[none, map[string]any](nil), operation{
			id:      "getOEmbed",
			summary: "Get the oEmbed 1.0 response of a brand's page; its share card as a photo",
			query: []param{
				{name: "url", description: "The address of the brand's page on this site"},
				{name: "maxwidth", description: "The largest width in pixels", lowest: 1},
				{name: "maxheight", description: "The largest height in pixels", lowest: 1},
				{name: "format", description: "The format; any other is answered with 501", enum: []string{"json"}},
			},
			status: []int{http.StatusOK}}},
	}
}

// boardParams are the parameters of a leaderboard.
var boardParams = []param{
	{name: "niche", description: "Only brands of this niche, by its slug"},
	{name: "language", description: "Only brands in this language: a language range such as de or de-AT"},
	{name: "basis", description: "What to rank by. With visibility the response is a VisibilityBoard: the " +
		"brands of the newest study of the niche, which is then required, by groups and ranges of ranks",
		enum: []string{fieldmark.BasisReadiness, fieldmark.BasisFull, fieldmark.BasisVisibility}},
	{name: "locale", description: "With basis=visibility: only studies of this locale (BCP 47)"},
	{name: "engine", description: "With basis=visibility: only this engine, in place of the mean of all"},
	{name: "metric", description: "With basis=visibility: the rate to rank by", enum: []string{
		string(fieldmark.MetricMention), string(fieldmark.MetricCitation), string(fieldmark.MetricVoice),
		string(fieldmark.MetricFirst)}},
	{name: "minConfidence", description: "The least confidence: 0 to 1, or low, medium or high"},
	{name: "limit", description: "Brands per page", lowest: 1, highest: fieldmark.MaxBoardLimit,
		preset: fieldmark.DefaultBoardLimit},
	{name: "cursor", description: "nextCursor of the previous page. It belongs to one version of the " +
		"ranking; the response is 410 when that version is gone"},
}

package mcp

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/ranking"
)

// Tool is a tool as clients and the documentation list it.
// By the hints a client decides which calls need the consent of a person.
type Tool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"` // JSON Schema 2020-12
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  struct {
		ReadOnly    bool `json:"readOnlyHint"`
		Destructive bool `json:"destructiveHint"`
		Idempotent  bool `json:"idempotentHint"`
		OpenWorld   bool `json:"openWorldHint"`
	} `json:"annotations"`
}

// toolTable is the table of tools, in the order of the list. Clients keep the list for an
// hour, and a model reads it with every request, so it changes with a release only.
//
//go:embed tools.json
var toolTable []byte

// toolList returns the table as clients get it.
// Compact, because the list is in the context of a model with every request.
func toolList() []byte {
	var b bytes.Buffer
	if err := json.Compact(&b, toolTable); err != nil {
		panic("BUG: the table of tools is not JSON: " + err.Error())
	}
	return b.Bytes()
}

// Tools returns the table of tools.
// The documentation and the tests read it; a broken table fails them before a release.
func Tools() (list []Tool) {
	if err := json.Unmarshal(toolTable, &list); err != nil {
		panic("BUG: the table of tools cannot be decoded: " + err.Error())
	}
	return list
}

// Access is what a call needs of its client.
type Access int

// The accesses.
const (
	Anonymous Access = iota // nothing
	Reading                 // an API key
	Writing                 // an API key, and counts as a write
)

// Host does what the tools offer, with the functions behind the HTTP endpoints of the edge.
// Errors are *fieldmark.Error, or unavailable.
// The edge implements it, so a tool and the endpoint behind it cannot differ.
type Host interface {
	// Admit counts a call that needs no key against what its client may do in a minute, and
	// returns an error if that is used up.
	Admit(ctx *fasthttp.RequestCtx) error
	// LimitKey is Admit for a call with a key, which it makes by next: only the origin knows
	// which keys are valid.
	LimitKey(ctx *fasthttp.RequestCtx, writes bool, next func()) error
	// Slug returns the slug of the brand with a slug, an old slug, or the host of its site.
	Slug(brand string) (fieldmark.Slug, error)
	// Score returns the cached result of NewScore for a brand, whether it is an old one, and its rank.
	Score(ctx *fasthttp.RequestCtx, slug fieldmark.Slug) (d *Document, rank *fieldmark.Rank, err error)
	// FullScore returns a score with its signals and rank; with a time or a day, that of then.
	FullScore(ctx *fasthttp.RequestCtx, slug fieldmark.Slug, asOf string) (*fieldmark.Score, error)
	History(ctx *fasthttp.RequestCtx, slug fieldmark.Slug, days int) (*fieldmark.ScoreHistory, error)
	Board(query *fasthttp.Args) (*fieldmark.Board, error)
	// Visibility reads a page of the newest study of a niche, by the same parameters as the endpoint with
	// the basis visibility.
	Visibility(ctx *fasthttp.RequestCtx, query *fasthttp.Args) (*fieldmark.VisibilityBoard, error)
	Search(text string, limit int) (*ranking.Found, error)
	Method() (*fieldmark.Method, error)
	// LLMs returns what an address of the llms.txt tools answers to a body: the file, if it was
	// written, and what the linter reports of it.
	LLMs(ctx *fasthttp.RequestCtx, path, contentType string, body []byte) (string, *LintReport, error)
	// Call sends a request of the client to the public API at the origin. The status of the
	// answer is below 300.
	Call(ctx *fasthttp.RequestCtx, call *Call) (*Answer, error)
}

// Call is a request to the public API.
type Call struct {
	Method, Path string // with its query
	ContentType  string // of the body; empty without one
	Body         []byte
	IfMatch      string // empty: none
	Confirm      string // token of a dry run, which makes the call act; empty: none
	Agent        bool   // the origin must treat it as one of an agent (see fieldmark.HeaderAgent)
}

// Answer is the answer to a Call.
type Answer struct {
	Body    []byte
	Confirm string // token of a dry run
}

// MaxAnswer bounds the body of an answer, in bytes: that of 20 missions of the largest size.
// More is refused before it is decoded: the result would be cut to MaxResult anyway.
const MaxAnswer = 4 << 20

// handler serves a tool.
type handler struct {
	access Access
	serve  func(s *Server, ctx *fasthttp.RequestCtx, arguments []byte) (*Document, error)
}

// Returned only by newDocument, which compares results with MaxResult.
var errTooLarge error = fieldmark.Errorf(fieldmark.CodeInvalidParameter,
	"the result is larger than a model should read; ask for less")

// handlerOf returns the handler of a tool but score, whose document the edge returns as it is.
func handlerOf(name []byte) (h handler, ok bool) {
	switch string(name) {
	case "compare":
		return handler{Anonymous, (*Server).compare}, true
	case "history":
		return handler{Anonymous, (*Server).history}, true
	case "leaderboard":
		return handler{Anonymous, (*Server).leaderboard}, true
	case "find_brand":
		return handler{Anonymous, (*Server).findBrand}, true
	case "method":
		return handler{Anonymous, (*Server).method}, true
	case "llms_write":
		return handler{Anonymous, (*Server).writeLLMs}, true
	case "llms_lint":
		return handler{Anonymous, (*Server).lintLLMs}, true
	case "check_site":
		return handler{Anonymous, (*Server).checkSite}, true
	case "mission_find":
		return handler{Reading, (*Server).findMissions}, true
	case "mission_open":
		return handler{Writing, (*Server).openMission}, true
	case "mission_edit":
		return handler{Writing, (*Server).editMission}, true
	case "mission_move":
		return handler{Writing, (*Server).moveMission}, true
	case "mission_cancel":
		return handler{Writing, (*Server).cancelMission}, true
	}
	return handler{}, false
}

// call serves tools/call.
func (s *Server) call(ctx *fasthttp.RequestCtx, m *message) {
	// parse has checked the syntax; only the kind of value is checked here.
	if m.arguments != nil && m.arguments[0] != '{' {
		s.fail(ctx, m.id, &rpcError{status: 400, code: codeInvalidParams, message: "arguments must be an object"})
		return
	}
	if string(m.name) == "score" {
		s.callScore(ctx, m)
		return
	}
	h, ok := handlerOf(m.name)
	if !ok {
		e := &rpcError{status: 400, code: codeInvalidParams, message: "Unknown tool"}
		// Unknown tools are an error of the protocol and not of a tool: no argument could
		// correct the call.
		if !m.modern {
			e.status = 200
		}
		s.fail(ctx, m.id, e)
		return
	}
	var d *Document
	var err error
	// An anonymous call is counted before it is served, also if it fails; one with a key is
	// counted by LimitKey.
	if h.access == Anonymous {
		if err = s.host.Admit(ctx); err == nil {
			d, err = h.serve(s, ctx, m.arguments)
		}
	} else if err = s.requireKey(ctx); err == nil {
		refused := s.host.LimitKey(ctx, h.access == Writing, func() { d, err = h.serve(s, ctx, m.arguments) })
		// The call may have run before its refusal was known; its result is dropped then.
		if refused != nil {
			err = refused
		}
	}
	if err != nil {
		s.sendFailure(ctx, m, errorOf(err))
		return
	}
	s.sendDocument(ctx, m, d, nil)
}

// requireKey refuses the tools of missions where they are not offered, and to clients without
// a key.
func (s *Server) requireKey(ctx *fasthttp.RequestCtx) error {
	// The tools are listed in every mode: the list is cached by clients and must not depend on
	// a setting that can change.
	if s.mode != On {
		return fieldmark.Errorf(fieldmark.CodeMethodNotAllowed, "this server offers the tools of scores only; "+
			"its operator has to set FIELDMARK_MCP=on for those of missions")
	}
	if len(ctx.Request.Header.Peek("Authorization")) == 0 {
		ctx.SetStatusCode(fasthttp.StatusUnauthorized)
		ctx.Response.Header.Set("WWW-Authenticate", `Bearer realm="missions"`)
		return fieldmark.Errorf(fieldmark.CodeMissingCredentials, "send Authorization: Bearer with an API key")
	}
	return nil
}

// errorOf returns the error that a client may see. Any other error becomes CodeInternal.
func errorOf(err error) *fieldmark.Error {
	if e, ok := errors.AsType[*fieldmark.Error](err); ok {
		return e
	}
	return fieldmark.AsError(err)
}

// decode decodes the arguments of a tool. Members that the tool does not have are an error: a
// misspelt filter must not look like none.
func decode(arguments []byte, into any) error {
	if arguments == nil {
		arguments = []byte("{}")
	}
	d := json.NewDecoder(bytes.NewReader(arguments))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		return nil
	}
	field := fieldmark.FieldError{Code: "format", Detail: "the arguments do not have the form of the tool's schema"}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		field.Pointer, field.Detail = "/"+strings.ReplaceAll(wrong.Field, ".", "/"), "has the wrong type"
	} else if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok && !errors.Is(err, io.EOF) {
		field.Pointer, field.Code, field.Detail = "/"+strings.Trim(name, `"`), "unknown_field", "unknown argument"
	}
	return wrongArgument(field)
}

func wrongArgument(f fieldmark.FieldError) error {
	return &fieldmark.Error{Code: fieldmark.CodeInvalidParameter, Detail: "the arguments are not acceptable",
		Fields: []fieldmark.FieldError{f}}
}

// required returns the error of a missing argument.
func required(name string) error {
	return wrongArgument(fieldmark.FieldError{Pointer: "/" + name, Code: "required", Detail: "is required"})
}

// outOfRange returns the error of an argument outside its limits, which detail names.
func outOfRange(name, detail string) error {
	return wrongArgument(fieldmark.FieldError{Pointer: "/" + name, Code: "range", Detail: detail})
}

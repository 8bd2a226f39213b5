package edge

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/edge/developer"
	"github.com/fieldmark/fieldmark/edge/mcp"
	"github.com/fieldmark/fieldmark/edge/ranking"
	"github.com/fieldmark/fieldmark/wasm/scoring"
)

// toolHost implements mcp.Host with the functions behind the HTTP endpoints.
// A tool and the endpoint behind it thus have one implementation, one cache and one set of
// limits.
type toolHost struct {
	scores    *scoreEndpoints
	boards    *boardEndpoints
	llms      *llmsEndpoints
	limiter   *requestLimiter
	clients   clients
	auth      *originAuth
	originURL *url.URL
	transport http.RoundTripper
}

// mcpEndpoint serves the Model Context Protocol.
type mcpEndpoint struct {
	*responder
	server *mcp.Server
}

// newToolHost returns the functions of endpoints for tools.
func (e *Edge) newToolHost(scores *scoreEndpoints, boards *boardEndpoints, llms *llmsEndpoints) *toolHost {
	return &toolHost{scores: scores, boards: boards, llms: llms, limiter: e.limiter, clients: e.clients, auth: e.auth,
		originURL: e.cfg.OriginURL, transport: e.transport}
}

func (e *Edge) newMCPEndpoint(tools *toolHost) *mcpEndpoint {
	return &mcpEndpoint{e.responder, mcp.New(mcp.Config{Host: tools, BaseURL: e.cfg.BaseURL,
		Origins: e.cfg.MCPOrigins, Mode: e.cfg.MCP, Version: e.cfg.Version})}
}

// serve handles /mcp. Calls of tools are counted by the host, as what they cost depends on the
// tool.
// The body is bounded before it is parsed.
func (e *mcpEndpoint) serve(ctx *fasthttp.RequestCtx) route {
	if err := readBody(ctx, mcp.MaxBody); err != nil {
		e.fail(ctx, err)
		return routeMCP
	}
	e.server.Serve(ctx)
	return routeMCP
}

// Admit implements mcp.Host.
func (t *toolHost) Admit(ctx *fasthttp.RequestCtx) error { return t.limiter.admitRead(ctx, 1) }

// LimitKey implements mcp.Host. A key that the node has not seen is counted by what the origin
// answers: clients can make up any number of keys.
func (t *toolHost) LimitKey(ctx *fasthttp.RequestCtx, writes bool, next func()) (refusal error) {
	hash, keyed := parseKey(ctx.Request.Header.Peek("Authorization"))
	if !keyed || t.limiter.limits.limiter == nil {
		if refusal = t.Admit(ctx); refusal == nil {
			next()
		}
		return refusal
	}
	t.limiter.limits.limitKey(hash, writes, 1, func() (unauthorized bool) {
		next()
		return ctx.Response.StatusCode() == http.StatusUnauthorized
	}, func(b bucket, v cache.RateResult, refused bool) { refusal = t.limiter.count(ctx, b, v, refused) })
	return refusal
}

// Slug implements mcp.Host.
// A slug is not looked up here: the call that follows answers for one that does not exist.
func (t *toolHost) Slug(brand string) (fieldmark.Slug, error) {
	rankings := t.boards.rankings
	if fieldmark.ValidSlug(brand) {
		if to := rankings.AliasTarget(fieldmark.Slug(brand)); to != "" {
			return to, nil
		}
		return fieldmark.Slug(brand), nil
	}
	s := rankings.Current()
	if s == nil {
		return "", errNotRanked()
	}
	switch slugs := s.FindHost(brand); len(slugs) {
	case 0:
		return "", brandNotFound()
	case 1:
		return slugs[0], nil
	// The host of a shop system may be that of many brands.
	default:
		return "", fieldmark.Errorf(fieldmark.CodeInvalidParameter,
			"%d brands have a site on this host; name one by its slug", len(slugs))
	}
}

// toolScore is the result of the tool score as the cache keeps it.
type toolScore struct {
	document *mcp.Document
	ranked   fieldmark.Score // what a rank depends on
}

// Score implements mcp.Host.
// A fresh entry costs one lookup; anything else takes the path of a fill.
func (t *toolHost) Score(ctx *fasthttp.RequestCtx, slug fieldmark.Slug) (*mcp.Document, *fieldmark.Rank, error) {
	scorer := t.scores.scorer
	if err := scorer.checkExists(slug); err != nil {
		return nil, nil, err
	}
	key := "mcp/score/" + string(slug)
	entry, state := scorer.cache.Get(key)
	if state != cache.Fresh {
		var err error
		if entry, _, err = t.scores.fetcher.get(ctx, key, t.fillScore(slug)); err != nil {
			return nil, nil, err
		}
	}
	kept := entry.Value.(*toolScore)
	return kept.document, scorer.rankings.Rank(&kept.ranked), nil
}

// fillScore encodes a brand's score for the tool, from the score it shares with the other
// forms.
// It is derived from the entry of the score and ends with it.
func (t *toolHost) fillScore(slug fieldmark.Slug) cache.Fill {
	scorer := t.scores.scorer
	return func(ctx context.Context) (*cache.Entry, error) {
		entry, from, err := scorer.get(ctx, slug)
		if err != nil {
			return nil, err
		}
		score, err := decodeScore(entry.Body)
		if err != nil {
			return nil, err
		}
		v := entry.Value.(*scoreValue)
		// A score that is served although the origin is unavailable is marked as such.
		score.Stale = v.stale || from == cache.SourceOnError
		d, err := mcp.NewScore(&score)
		if err != nil {
			return nil, err
		}
		made := &cache.Entry{Value: &toolScore{d, v.score}, Weight: int64(d.Size() + scoreOverhead),
			Fresh:   derivedFresh,
			OnError: derivedOnError}
		// It is tried again soon.
		if score.Stale {
			made.Fresh = incompleteFresh
		}
		return made.From(entry), nil
	}
}

// FullScore implements mcp.Host.
// Without a time it is the score of now, with advice; with one it is the document of the score
// API.
func (t *toolHost) FullScore(ctx *fasthttp.RequestCtx, slug fieldmark.Slug, asOf string) (*fieldmark.Score, error) {
	if asOf != "" {
		at, ok := parseTime(asOf)
		if !ok {
			return nil, badParameter("asOf", "format", "must be an RFC 3339 time, or a day such as 2026-11-21")
		}
		entry, _, err := t.scores.scoreAt(ctx, slug, at, len(asOf) == len(time.DateOnly))
		if err != nil {
			return nil, err
		}
		score := new(fieldmark.Score)
		return score, json.Unmarshal(entry.Body, score)
	}
	rc, cancel := t.scores.fetcher.context(ctx)
	defer cancel()
	score, err := t.scores.scorer.full(rc, slug)
	if err != nil {
		return nil, err
	}
	score.Gains = scoring.Advise(&score.Assessment)
	return score, nil
}

// History implements mcp.Host.
// The period ends now, so the answer is cached as that of the page.
func (t *toolHost) History(ctx *fasthttp.RequestCtx, slug fieldmark.Slug, days int) (*fieldmark.ScoreHistory, error) {
	now := time.Now().UTC()
	q := historyQuery{from: now.AddDate(0, 0, -days).Truncate(24 * time.Hour), to: now, untilNow: true,
		step: mcp.StepOf(days)}
	entry, _, err := t.scores.history(ctx, slug, q)
	if err != nil {
		return nil, err
	}
	h := new(fieldmark.ScoreHistory)
	return h, json.Unmarshal(entry.Body, h)
}

// Board implements mcp.Host.
// Cursors are those of the endpoint.
func (t *toolHost) Board(query *fasthttp.Args) (*fieldmark.Board, error) {
	q, err := parseBoardQuery(query, rejectUnknown)
	if err != nil {
		return nil, err
	}
	s, offset, err := t.boards.findRanking(q)
	if err != nil {
		return nil, err
	}
	board := s.Page(&q, offset, t.boards.cursorKey)
	return &board, nil
}

// Visibility implements mcp.Host.
func (t *toolHost) Visibility(ctx *fasthttp.RequestCtx, query *fasthttp.Args) (*fieldmark.VisibilityBoard, error) {
	q, err := parseVisibility(query, rejectUnknown)
	if err != nil {
		return nil, err
	}
	s := t.boards.rankings.Current()
	if s == nil {
		return nil, errNotRanked()
	}
	key, fill := t.boards.visibilityEntry(s, &q)
	entry, _, err := t.boards.fetcher.getLimited(ctx, key, fill)
	if err != nil {
		return nil, err
	}
	board := new(fieldmark.VisibilityBoard)
	return board, json.Unmarshal(entry.Body, board)
}

// Search implements mcp.Host.
// It also finds brands that are not ranked.
func (t *toolHost) Search(text string, limit int) (*ranking.Found, error) {
	s := t.boards.rankings.Current()
	if s == nil {
		return nil, errNotRanked()
	}
	found := s.Search(&ranking.Query{Filter: fieldmark.BoardFilter{Basis: fieldmark.BasisReadiness}, Limit: limit},
		text)
	return &found, nil
}

// Method implements mcp.Host.
func (t *toolHost) Method() (*fieldmark.Method, error) {
	modules := t.scores.scorer.modules
	if err := modules.require(); err != nil {
		return nil, err
	}
	return modules.method()
}

// LLMs implements mcp.Host.
// The answers are cached by their input, as those of the endpoint.
func (t *toolHost) LLMs(ctx *fasthttp.RequestCtx, path, contentType string, body []byte) (string, *mcp.LintReport,
	error) {
	answer, err := t.llms.decodeAnswer(ctx, llmsRequest{path: path, accept: "application/json",
		contentType: contentType, body: body})
	if err != nil {
		return "", nil, err
	}
	return answer.Content, answer.report(), nil
}

// Call implements mcp.Host. The request has the client's own credentials and address, so that
// scopes, rates, networks and the audit log apply to it as to any other.
// The status of the answer below 300 is that of success; any other is an error of the tool.
func (t *toolHost) Call(ctx *fasthttp.RequestCtx, call *mcp.Call) (*mcp.Answer, error) {
	rc, cancel := context.WithTimeout(context.Background(), apiTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(rc, call.Method, t.originURL.String()+call.Path, bytes.NewReader(call.Body))
	if err != nil {
		return nil, fmt.Errorf("call the API: %w", err)
	}
	client := t.clients.addr(ctx).String()
	for name, value := range map[string]string{
		"Accept": "application/json", "Content-Type": call.ContentType, "If-Match": call.IfMatch,
		"User-Agent": string(ctx.UserAgent()), "X-Forwarded-For": client, fieldmark.HeaderRequestID: requestID(ctx),
		fieldmark.HeaderConfirm: call.Confirm, fieldmark.HeaderIdempotencyKey: call.Confirm,
	} {
		// An empty value stays empty: the origin records what the client sent.
		if value != "" || name == "User-Agent" { // keeps net/http from inventing one
			req.Header.Set(name, value)
		}
	}
	// Repeated credentials are passed on as they are, and refused by the origin.
	for _, value := range ctx.Request.Header.PeekAll("Authorization") {
		req.Header.Add("Authorization", string(value))
	}
	if call.Agent {
		req.Header.Set(fieldmark.HeaderAgent, fieldmark.AgentMCP)
	}
	// With the token of the node the origin accepts the address.
	t.auth.setNodeToken(req.Header, client)
	resp, err := t.transport.RoundTrip(req)
	if err != nil {
		return nil, passError(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, mcp.MaxAnswer+1))
	if err != nil {
		return nil, passError(err)
	}
	if len(body) > mcp.MaxAnswer {
		return nil, asUnavailable(fmt.Errorf("the origin's answer to %s is larger than %d bytes", call.Path,
			mcp.MaxAnswer))
	}
	// The field states how to authenticate (RFC 9110, 11.6.1).
	if resp.StatusCode == http.StatusUnauthorized {
		ctx.SetStatusCode(resp.StatusCode)
		ctx.Response.Header.Set("WWW-Authenticate", strings.Join(resp.Header.Values("WWW-Authenticate"), ", "))
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		return nil, problemError(resp, body)
	}
	return &mcp.Answer{Body: body, Confirm: resp.Header.Get(fieldmark.HeaderConfirm)}, nil
}

// documentedTools returns the tools for the guide about agents.
// They are the same table that clients get.
func documentedTools() (list []developer.Tool) {
	for _, t := range mcp.Tools() {
		list = append(list, developer.Tool{Name: t.Name, Description: t.Description})
	}
	return list
}

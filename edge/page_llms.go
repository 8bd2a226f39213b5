package edge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/edge/site"
)

// formFields are the fields of the page's form; any other is nobody's.
var formFields = []string{"name", "niche", "description", "uniqueValue", "url", "language", "email", "about", "content"}

// serveLLMsPage answers /llms-txt: GET shows the forms, POST what came of one.
func (e *Edge) serveLLMsPage(ctx *fasthttp.RequestCtx) route {
	if !ctx.IsPost() {
		return e.get(ctx, routePage, func(ctx *fasthttp.RequestCtx) {
			e.servePage(ctx, "page/llms", "", func(context.Context) (*cache.Entry, error) {
				return fixedEntry(e.site.AppendLLMs(nil, site.LLMsPage{BaseURL: e.cfg.BaseURL}))
			})
		})
	}
	if err := e.wholeBody(ctx, fieldmark.MaxLintBody); err != nil {
		e.failPage(ctx, err, "")
		return routePage
	}
	args, form := ctx.PostArgs(), map[string]string{}
	for _, name := range formFields {
		if v := string(args.Peek(name)); v != "" {
			form[name] = strings.ReplaceAll(v, "\r\n", "\n") // as browsers send line breaks
		}
	}
	check := string(args.Peek("do")) == "check"
	p := site.LLMsPage{BaseURL: e.cfg.BaseURL, Form: form}
	made, err := e.askLLMs(ctx, check, form)
	if err == nil && !check && args.Has("download") {
		e.sendDownload(ctx, made.Content)
		return routePage
	}
	status, after := http.StatusOK, time.Duration(0)
	if err != nil {
		fe := publicError(err)
		status, after, p.Errors = fe.Code.Status(), fe.RetryAfter, faults(fe, check)
	} else {
		p.Result = made.result(check, form["content"])
	}
	body, err := e.site.AppendLLMs(nil, p)
	e.sendPage(ctx, status, body, err)
	if err == nil {
		setRetryAfter(ctx, status, after)
	}
	return routePage
}

func (e *Edge) sendDownload(ctx *fasthttp.RequestCtx, content string) {
	h := &ctx.Response.Header
	h.SetContentType("text/markdown; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="llms.txt"`)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	sendOnce(ctx, http.StatusOK, []byte(content))
}

// faults puts a refusal at the fields it is about.
func faults(fe *fieldmark.Error, check bool) map[string]string {
	all := map[string]string{}
	for _, f := range fe.Fields {
		name := strings.TrimPrefix(f.Pointer, "/")
		switch {
		case name == "contact/email":
			name = "email"
		case strings.HasPrefix(name, "links/"):
			name = "about"
		}
		if all[name] == "" {
			all[name] = f.Detail
		}
	}
	if len(all) == 0 {
		all[""] = fe.Detail
	}
	if check {
		return map[string]string{"content": fe.Detail}
	}
	return all
}

// llmsAnswer is what the page shows of either answer of the origin.
type llmsAnswer struct {
	Content  string       `json:"content"`
	Lint     *llmsVerdict `json:"lint"`
	Warnings []struct {
		Message string `json:"message"`
	} `json:"warnings"`
	Install struct {
		LinkHeader string `json:"linkHeader"`
		HTMLLink   string `json:"htmlLink"`
	} `json:"install"`
	llmsVerdict
}

// llmsVerdict is what the linter says.
type llmsVerdict struct {
	Level  int `json:"level"`
	Issues []struct {
		Code     string `json:"code"`
		Severity string `json:"severity"`
		Line     int    `json:"line"`
		Message  string `json:"message"`
	} `json:"issues"`
}

func (a *llmsAnswer) result(check bool, sent string) *site.LLMsResult {
	verdict := &a.llmsVerdict
	r := &site.LLMsResult{Made: !check, Content: sent}
	if !check {
		r.Content, r.Header, r.Link = a.Content, a.Install.LinkHeader, a.Install.HTMLLink
		if a.Lint != nil {
			verdict = a.Lint
		}
	}
	r.Level = verdict.Level
	for _, i := range verdict.Issues {
		r.Issues = append(r.Issues, site.LLMsIssue{Line: i.Line, Severity: i.Severity, Message: i.Message, Code: i.Code})
	}
	for _, w := range a.Warnings {
		r.Notes = append(r.Notes, w.Message)
	}
	return r
}

// askLLMs asks what the API is asked, through the same cache: what the page was
// told, a program is told from here too.
func (e *Edge) askLLMs(ctx *fasthttp.RequestCtx, check bool, form map[string]string) (*llmsAnswer, error) {
	q := llmsRequest{path: fieldmark.PathLLMsLint, accept: "application/json", contentType: "text/markdown", body: []byte(form["content"])}
	if !check {
		raw, err := json.Marshal(llmsOrder(form))
		if err != nil {
			return nil, err
		}
		q = llmsRequest{path: fieldmark.PathLLMs, accept: "application/json", contentType: "application/json", body: raw}
	}
	rc, cancel := e.requestContext(ctx)
	defer cancel()
	known, id, client := e.edition.now(), requestID(ctx), e.client(ctx).String()
	entry, _, err := e.cache.Fetch(rc, q.key(known), func(fc context.Context) (*cache.Entry, error) {
		return e.fillLLMs(fc, q, known, id, client)
	})
	if u, ok := errors.AsType[*uncacheable](err); ok {
		entry, err = u.entry, nil
	}
	if err != nil {
		return nil, err
	}
	answer := &llmsAnswer{}
	if err := json.NewDecoder(bytes.NewReader(entry.Body)).Decode(answer); err != nil {
		return nil, senseless(err)
	}
	return answer, nil
}

// llmsOrder is a form as the API takes it.
func llmsOrder(form map[string]string) map[string]any {
	order := map[string]any{}
	for _, name := range []string{"name", "niche", "description", "uniqueValue", "url", "language"} {
		if v := strings.TrimSpace(form[name]); v != "" {
			order[name] = v
		}
	}
	if v := strings.TrimSpace(form["email"]); v != "" {
		order["contact"] = map[string]any{"email": v}
	}
	if v := strings.TrimSpace(form["about"]); v != "" {
		order["links"] = []any{map[string]any{"title": "About", "url": v}}
	}
	return order
}

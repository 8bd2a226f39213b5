package edge

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/edge/mcp"
	"github.com/fieldmark/fieldmark/edge/proxy"
	"github.com/fieldmark/fieldmark/edge/site"
)

// The lifetimes of responses that depend on the request alone. They stay valid until the
// origin's version changes, so the lifetime only bounds how long unused ones stay.
const (
	llmsFresh   = 24 * time.Hour
	llmsOnError = 7 * 24 * time.Hour
	// maxStoredAnswer bounds one cached response, in bytes: twice the longest llms.txt and
	// llms-full.txt together, as JSON may escape a character into six. Typical responses
	// have two thousand.
	maxStoredAnswer = 320 << 10
	// maxAnswer bounds how many bytes of one response are read before the request fails:
	// every byte of both files escaped.
	maxAnswer = 1 << 20
)

// originVersion is the version that the origin reported most recently.
type originVersion struct{ value atomic.Pointer[string] }

// set stores the version that the origin reports; an empty one is ignored.
func (e *originVersion) set(said string) {
	if said != "" && said != e.get() {
		e.value.Store(&said)
	}
}

// get returns the last reported version; it is empty before the first.
func (e *originVersion) get() string {
	if s := e.value.Load(); s != nil {
		return *s
	}
	return ""
}

// llmsEndpoints serve the llms.txt tools, as an API and as a page.
type llmsEndpoints struct {
	*pageWriter
	clients       clients
	hosts         *siteHosts
	auth          *originAuth
	proxied       *proxyEndpoints // requests that are not cached
	originURL     *url.URL
	transport     http.RoundTripper // to the origin
	originVersion *originVersion
	replica       *replicaState
}

// serve handles POST /api/v1/llms-txt and its linter. A cached response is served even
// while the origin is unavailable.
func (e *llmsEndpoints) serve(ctx *fasthttp.RequestCtx) route {
	if err := readBody(ctx, e.hosts.bodyLimit(ctx.Host(), ctx.Path())); err != nil {
		e.fail(ctx, err)
		return routeLLMs
	}
	q, ok := readLLMs(ctx)
	if !ok {
		e.proxied.serve(ctx)
		return routePassed
	}
	entry, from, err := e.document(ctx, q)
	if err != nil {
		e.fail(ctx, err)
		ctx.Response.Header.Set("Vary", "Accept")
		return routeLLMs
	}
	e.send(ctx, entry, from)
	return routeLLMs
}

// document returns the response to q, from the cache or the origin.
func (e *llmsEndpoints) document(ctx *fasthttp.RequestCtx, q llmsRequest) (*cache.Entry, cache.Source, error) {
	known, id, client := e.originVersion.get(), requestID(ctx), e.clients.addr(ctx).String()
	entry, from, err := e.fetcher.get(ctx, q.cacheKey(known), func(fc context.Context) (*cache.Entry, error) {
		return e.fetch(fc, q, known, id, client)
	})
	if u, ok := errors.AsType[*uncacheable](err); ok {
		return u.entry, cache.SourceNone, nil
	}
	return entry, from, err
}

// llmsRequest is every part of a request that its response depends on, and the only parts
// that reach the origin: what is not in the key cannot poison the response.
type llmsRequest struct {
	path, accept, contentType string
	body                      []byte
}

// readLLMs copies the request in its canonical form; ok is false if its response must not
// be cached: for another method, a query, a content coding, or a JSON request to the
// linter, which may contain a URL to fetch.
func readLLMs(ctx *fasthttp.RequestCtx) (q llmsRequest, ok bool) {
	h := &ctx.Request.Header
	path, body := ctx.Path(), ctx.Request.Body()
	if !ctx.IsPost() || !bytes.Equal(ctx.RequestURI(), path) || len(h.Peek("Content-Encoding")) > 0 {
		return q, false
	}
	q = llmsRequest{
		path:        string(path),
		accept:      acceptClass(string(bytes.Join(h.PeekAll("Accept"), []byte(",")))),
		contentType: strings.ToLower(strings.TrimSpace(string(h.ContentType()))),
	}
	asJSON := strings.HasPrefix(q.contentType, "application/json")
	if asJSON && q.path == fieldmark.PathLLMsLint {
		return q, false
	}
	q.body = canonical(body, asJSON)
	return q, true
}

// acceptClass maps Accept values that select the same format to one name. An uncommon value
// is returned unchanged and has a separate cache entry.
func acceptClass(accept string) string {
	switch a := strings.ToLower(strings.TrimSpace(accept)); a {
	case "", "*/*", "application/*":
		return "application/json"
	case "text/*":
		return "text/markdown"
	default:
		return a
	}
}

// canonical copies a body; of JSON it removes insignificant whitespace. Members are
// unchanged: a repeated member is an error that the origin must see.
func canonical(body []byte, asJSON bool) []byte {
	var b bytes.Buffer
	if asJSON && json.Compact(&b, body) == nil {
		return b.Bytes()
	}
	return bytes.Clone(body)
}

// cacheKey names the answer to q by an origin of some version.
func (q llmsRequest) cacheKey(originVersion string) string {
	h := sha256.New()
	for _, part := range []string{originVersion, http.MethodPost, q.path, q.accept, q.contentType} {
		h.Write([]byte(part))
		h.Write([]byte{0}) // occurs in no part
	}
	h.Write(q.body)
	return "llms " + string(h.Sum(nil))
}

// uncacheable is the error of a fill whose response is sent but not stored: the origin did
// not allow it, its version differs from that in the key, or the response is too large. All
// requests that wait for the fill share it.
type uncacheable struct{ entry *cache.Entry }

// Error implements error.
func (*uncacheable) Error() string { return "the answer is not stored" }

// Unwrap prevents the cache from storing the response.
func (*uncacheable) Unwrap() error { return cache.ErrUncacheable }

// fetch sends q to the origin. Only a 200 becomes an entry; a problem document
// becomes an error.
func (e *llmsEndpoints) fetch(ctx context.Context, q llmsRequest, known, requestID, client string) (*cache.Entry,
	error) {
	asOf := e.replica.purged.Load() // it follows from its request, so it is as new as we are
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.originURL.JoinPath(q.path).String(),
		bytes.NewReader(q.body))
	if err != nil {
		return nil, fmt.Errorf("request to the origin: %w", err)
	}
	for name, value := range map[string]string{
		"Accept": q.accept, "Content-Type": q.contentType, "User-Agent": "", // keeps net/http from inventing one
		fieldmark.HeaderRequestID: requestID,
	} {
		req.Header.Set(name, value)
	}
	e.auth.setNodeToken(req.Header, client)
	resp, err := e.transport.RoundTrip(req)
	if errors.Is(err, proxy.ErrRefused) {
		return nil, fmt.Errorf("%w: %w", cache.ErrRefused, passError(err))
	}
	if err != nil {
		return nil, passError(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, passError(err)
	}
	if len(body) > maxAnswer {
		return nil, asUnavailable(fmt.Errorf("the origin's answer to %s is larger than %d bytes", q.path, maxAnswer))
	}
	if resp.StatusCode != http.StatusOK {
		return nil, problemError(resp, body)
	}
	version := resp.Header.Get(fieldmark.HeaderEdition)
	entry := newLLMsEntry(resp.Header, body)
	entry.AsOf = asOf
	e.originVersion.set(version)
	if version == "" || version != known || len(body) > maxStoredAnswer {
		return nil, &uncacheable{entry}
	}
	return entry, nil
}

// problemError decodes the problem document of a response. It drops the request id, because
// each request that shares the response has a different one.
func problemError(resp *http.Response, body []byte) error {
	var p fieldmark.Problem
	if err := json.Unmarshal(body, &p); err != nil || p.Code == "" {
		return &fieldmark.Error{Code: fieldmark.CodeOriginUnavailable,
			Detail: "the origin cannot answer just now; repeat the request a little later",
			Err:    fmt.Errorf("status %d without a problem document", resp.StatusCode)}
	}
	fe := p.Err()
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s > 0 {
		fe.RetryAfter = time.Duration(s) * time.Second
	}
	return fe
}

// llmsFields are the header fields of a stored answer; all others belong to one
// exchange.
var llmsFields = []string{"Content-Type", "Content-Language", "Content-Disposition", "Cache-Control", "Vary",
	"X-Content-Type-Options", "Llms-Txt-Warnings"}

// newLLMsEntry returns the entry of a response of the origin, with the header fields of llmsFields only: the others
// belong to one exchange, such as the request id.
func newLLMsEntry(h http.Header, body []byte) *cache.Entry {
	var fields []string
	for _, name := range llmsFields {
		if v := h.Get(name); v != "" {
			fields = append(fields, name, v)
		}
	}
	entry := newEntry(body, h.Get("Etag"), fields...)
	entry.Fresh, entry.OnError = llmsFresh, llmsOnError
	return entry
}

// llmsFormFields are the fields of the page's form; others are ignored.
var llmsFormFields = []string{"name", "niche", "description", "uniqueValue", "url", "language", "email", "about",
	"content"}

// serveForm handles /llms-txt: GET shows the forms, POST the result of one.
func (e *llmsEndpoints) serveForm(ctx *fasthttp.RequestCtx) route {
	if !ctx.IsPost() {
		return e.get(ctx, routePage, func(ctx *fasthttp.RequestCtx) {
			e.servePage(ctx, "page/llms", "", func(context.Context) (*cache.Entry, error) {
				return pageEntry(e.site.AppendLLMs(nil, site.LLMsPage{BaseURL: e.baseURL}))
			})
		})
	}
	if err := readBody(ctx, fieldmark.MaxLintBody); err != nil {
		e.failPage(ctx, err, "")
		return routePage
	}
	args, form := ctx.PostArgs(), map[string]string{}
	for _, name := range llmsFormFields {
		if v := string(args.Peek(name)); v != "" {
			form[name] = strings.ReplaceAll(v, "\r\n", "\n") // as browsers send line breaks
		}
	}
	check := string(args.Peek("do")) == "check"
	p := site.LLMsPage{BaseURL: e.baseURL, Form: form}
	made, err := e.answer(ctx, check, form)
	if err == nil && made.Source != nil {
		p.Pages = made.Source.pages()
		if args.Has("chosen") {
			made, err = e.answerChosen(ctx, made.Source, p.Pages, args)
		}
	}
	if err == nil && !check && args.Has("download") {
		e.sendDownload(ctx, made.Content)
		return routePage
	}
	status, after := http.StatusOK, time.Duration(0)
	if err != nil {
		fe := publicError(err)
		status, after, p.Errors = fe.Code.Status(), fe.RetryAfter, fieldErrors(fe, check)
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

func (e *llmsEndpoints) sendDownload(ctx *fasthttp.RequestCtx, content string) {
	h := &ctx.Response.Header
	h.SetContentType("text/markdown; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="llms.txt"`)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	sendOnce(ctx, http.StatusOK, []byte(content))
}

// fieldErrors maps a validation error to the form fields it concerns.
func fieldErrors(fe *fieldmark.Error, check bool) map[string]string {
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
	if fe.Code == fieldmark.CodeNotAudited {
		all["url"] = fe.Detail
	}
	if len(all) == 0 {
		all[""] = formProblem(fe)
	}
	if check {
		return map[string]string{"content": formProblem(fe)}
	}
	return all
}

// llmsSource is a request that the origin completed from an audit. The members that the
// page does not know stay as they are.
type llmsSource map[string]any

// pages returns the pages that it lists, all of them kept.
func (s llmsSource) pages() (list []site.LLMsOffer) {
	links, _ := s["links"].([]any)
	for _, l := range links {
		link, _ := l.(map[string]any)
		address, _ := link["url"].(string)
		title, _ := link["title"].(string)
		note, _ := link["note"].(string)
		list = append(list, site.LLMsOffer{URL: address, Title: title, Note: note, Keep: true})
	}
	return list
}

// answerChosen generates the file again with the pages that the form keeps, and marks
// the others.
func (e *llmsEndpoints) answerChosen(ctx *fasthttp.RequestCtx, source llmsSource, pages []site.LLMsOffer,
	args *fasthttp.Args) (*llmsDocument, error) {
	kept := map[string]bool{}
	for _, address := range args.PeekMulti("page") {
		kept[string(address)] = true
	}
	links, _ := source["links"].([]any)
	var chosen []any
	for i := range pages {
		if pages[i].Keep = kept[pages[i].URL]; pages[i].Keep {
			chosen = append(chosen, links[i])
		}
	}
	if source["links"] = chosen; chosen == nil {
		delete(source, "links")
	}
	raw, err := json.Marshal(source)
	if err != nil {
		return nil, err
	}
	return e.decodeAnswer(ctx, llmsRequest{path: fieldmark.PathLLMs, accept: "application/json",
		contentType: "application/json", body: raw})
}

// llmsDocument is what the page shows of either answer of the origin.
type llmsDocument struct {
	Source   llmsSource      `json:"source"`
	Content  string          `json:"content"`
	Lint     *mcp.LintReport `json:"lint"`
	Warnings []struct {
		Message string `json:"message"`
	} `json:"warnings"`
	Install struct {
		LinkHeader string `json:"linkHeader"`
		HTMLLink   string `json:"htmlLink"`
	} `json:"install"`
	mcp.LintReport
}

// report returns the result of the linter, which is the answer or a part of it.
func (a *llmsDocument) report() *mcp.LintReport {
	if a.Lint != nil {
		return a.Lint
	}
	return &a.LintReport
}

// result returns the view of a document or of a report. Without check the page shows the generated file, else the
// text that was sent.
func (a *llmsDocument) result(check bool, sent string) *site.LLMsResult {
	r, verdict := &site.LLMsResult{Made: !check, Content: sent}, a.report()
	if !check {
		r.Content, r.Header, r.Link = a.Content, a.Install.LinkHeader, a.Install.HTMLLink
	}
	r.Level = verdict.Level
	for _, i := range verdict.Issues {
		issue := site.LLMsIssue{Line: i.Line, Severity: i.Severity, Message: i.Message, Code: i.Code, Count: i.Count}
		for _, p := range i.Places {
			issue.Places = append(issue.Places, site.LLMsPlace{Line: p.Line, Text: p.Text})
		}
		r.Issues = append(r.Issues, issue)
	}
	for _, w := range a.Warnings {
		r.Notes = append(r.Notes, w.Message)
	}
	return r
}

// answer returns what the API returns for the form, through the same cache.
func (e *llmsEndpoints) answer(ctx *fasthttp.RequestCtx, check bool, form map[string]string) (*llmsDocument, error) {
	q := llmsRequest{path: fieldmark.PathLLMsLint, accept: "application/json", contentType: "text/markdown",
		body: []byte(form["content"])}
	if !check {
		raw, err := json.Marshal(llmsRequestBody(form))
		if err != nil {
			return nil, err
		}
		q = llmsRequest{path: fieldmark.PathLLMs, accept: "application/json", contentType: "application/json",
			body: raw}
	}
	return e.decodeAnswer(ctx, q)
}

// decodeAnswer returns the answer to q.
func (e *llmsEndpoints) decodeAnswer(ctx *fasthttp.RequestCtx, q llmsRequest) (*llmsDocument, error) {
	entry, _, err := e.document(ctx, q)
	if err != nil {
		return nil, err
	}
	answer := &llmsDocument{}
	if err := json.NewDecoder(bytes.NewReader(entry.Body)).Decode(answer); err != nil {
		return nil, asUnavailable(err)
	}
	return answer, nil
}

// llmsRequestBody converts a form to the request body of the API.
func llmsRequestBody(form map[string]string) map[string]any {
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

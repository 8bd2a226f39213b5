package edge

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/developer"
	"github.com/fieldmark/fieldmark/edge/site"
	"github.com/fieldmark/fieldmark/origin/client"
)

// checkEndpoints serve the pages that request a check of a site and show what it found.
// Nothing of them is cached.
// They are forms of HTML without scripts, so they work in every browser.
type checkEndpoints struct {
	*pageWriter
	clients clients
	limits  *rateLimiter
	origin  *client.Client
}

// serveForm handles /check: GET shows the form, POST requests a check and leads to its page.
// A form of another site gains nothing: there is no session, and a check needs no right.
// The form can be linked to with the address filled in.
func (e *checkEndpoints) serveForm(ctx *fasthttp.RequestCtx) route {
	if !ctx.IsPost() {
		return e.get(ctx, routePage, func(ctx *fasthttp.RequestCtx) {
			e.send(ctx, http.StatusOK, site.CheckPage{URL: string(ctx.QueryArgs().Peek("url"))})
		})
	}
	if err := readBody(ctx, fieldmark.MaxBody); err != nil {
		e.failPage(ctx, err, "")
		return routePage
	}
	rc, cancel := context.WithTimeout(context.Background(), fillTimeout)
	defer cancel()
	p := site.CheckPage{URL: string(ctx.PostArgs().Peek("url"))}
	check, _, err := e.origin.RequestCheckFor(rc, e.clients.addr(ctx).String(),
		fieldmark.SiteCheckRequest{URL: site.SiteAddress(p.URL)})
	// 303 keeps a reload from requesting another check.
	if err == nil {
		ctx.Response.Header.Set("Location", fieldmark.PathCheckPage+"/"+check.ID)
		ctx.Response.Header.Set("Cache-Control", "no-store")
		ctx.SetStatusCode(http.StatusSeeOther)
		return routePage
	}
	fe := publicError(err)
	p.Problem = formProblem(fe)
	if len(fe.Fields) > 0 {
		p.Problem = fieldProblem("address", fe.Fields[0].Detail)
	}
	e.send(ctx, fe.Code.Status(), p)
	setRetryAfter(ctx, fe.Code.Status(), fe.RetryAfter)
	return routePage
}

// fieldProblem returns the error text of a field: some details are a predicate.
// Details of the API have no subject, because programs read the pointer beside them.
func fieldProblem(field, detail string) string {
	if strings.HasPrefix(detail, "must ") {
		detail = "The " + field + " " + detail
	}
	return sentence(detail)
}

// formProblem returns the text of an error that concerns none of the form's fields, and
// when to try again. The details of errors between the edge and the origin are for programs.
// A stranger cannot act on the name of a server or a port.
func formProblem(fe *fieldmark.Error) string {
	switch fe.Code {
	case fieldmark.CodeOriginUnavailable, fieldmark.CodeTimeout:
		return "The server that does this cannot be reached right now. Try again in a minute."
	case fieldmark.CodeInternal:
		return "Something went wrong on our side. Try again in a minute."
	}
	if fe.RetryAfter > 0 {
		return sentence(fe.Detail) + " " + site.RetryText(fe.RetryAfter)
	}
	return sentence(fe.Detail)
}

// sentence begins with a capital letter and ends with a full stop.
func sentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + strings.TrimSuffix(s[1:], ".") + "."
}

// serveCheck handles GET /check/{id}.
// The id is the only protection of a check, so guessing costs quota.
func (e *checkEndpoints) serveCheck(ctx *fasthttp.RequestCtx) {
	id := strings.TrimPrefix(string(ctx.Path()), fieldmark.PathCheckPage+"/")
	rc, cancel := context.WithTimeout(context.Background(), fillTimeout)
	defer cancel()
	err := e.limits.checkQuota(rc, fieldmark.PathCheckPage, e.clients.network(e.clients.addr(ctx)))
	if err == nil && !fieldmark.CheckID(fieldmark.PrefixCheck, id) {
		err = fieldmark.Errorf(fieldmark.CodeNotFound, "no such check")
	}
	if err != nil {
		e.failPage(ctx, err, "")
		return
	}
	// Without waiting: the page reloads itself.
	check, err := e.origin.Check(rc, id, 0)
	if fieldmark.IsCode(err, fieldmark.CodeCheckExpired) {
		e.send(ctx, http.StatusGone, site.CheckPage{
			Problem: "This check was deleted: checks are kept for a day. Enter the address to check the site again."})
		return
	}
	if err != nil {
		e.failPage(ctx, err, "")
		return
	}
	e.send(ctx, http.StatusOK, site.CheckPage{Check: &check})
}

// send sends the page. It is never cached, since it changes while the check runs.
func (e *checkEndpoints) send(ctx *fasthttp.RequestCtx, status int, p site.CheckPage) {
	p.BaseURL = e.baseURL
	body, err := e.site.AppendCheck(nil, p)
	e.sendPage(ctx, status, body, err)
	h := &ctx.Response.Header
	h.Set("Cache-Control", "no-store")
	if p.Check != nil {
		h.Set("X-Robots-Tag", "noindex")
	}
}

// claimTimeout bounds a request of the page that claims a brand: a check of proofs takes up
// to 18 s at the origin.
const claimTimeout = 25 * time.Second

// claimEndpoints serve the page on which the owner of a site claims its brand.
type claimEndpoints struct {
	*pageWriter
	clients clients
	origin  *client.Client
}

func newClaims(e *Edge) *claimEndpoints { return &claimEndpoints{e.pages, e.clients, e.brands.origin} }

// serve handles /claim: GET shows the form; POST opens, shows or checks a claim. The secret
// of a claim is in a hidden field and never in an address. A form of another site gains
// nothing: there is no session.
func (e *claimEndpoints) serve(ctx *fasthttp.RequestCtx) route {
	rc, cancel := context.WithTimeout(context.Background(), claimTimeout)
	defer cancel()
	if !ctx.IsPost() {
		return e.get(ctx, routePage, func(ctx *fasthttp.RequestCtx) {
			args := ctx.QueryArgs()
			value := string(args.Peek("url"))
			if value == "" {
				value = string(args.Peek("brand"))
			}
			e.send(ctx, http.StatusOK, site.ClaimPage{Form: map[string]string{"site": value}})
		})
	}
	if err := readBody(ctx, fieldmark.MaxBody); err != nil {
		e.failPage(ctx, err, "")
		return routePage
	}
	p := site.ClaimPage{Form: map[string]string{}}
	for _, name := range []string{"site", "code", "id", "secret"} {
		p.Form[name] = strings.TrimSpace(string(ctx.PostArgs().Peek(name)))
	}
	api := e.origin.ClaimAPI.For(e.clients.addr(ctx).String())
	var err error
	do := string(ctx.PostArgs().Peek("do"))
	if do == "" { // sent by a program, without a button: what was entered says which form it is
		switch {
		case p.Form["id"] == "" && p.Form["secret"] == "":
			do = "open"
		case p.Form["site"] == "":
			do = "show"
		}
	}
	switch do {
	case "open":
		err = openClaim(rc, api, &p)
	case "show":
		err = showClaim(rc, api, &p)
	default:
		err = checkClaim(rc, api, &p)
	}
	status, after := http.StatusOK, time.Duration(0)
	if err != nil {
		fe := publicError(err)
		status, after, p.Tried = fe.Code.Status(), fe.RetryAfter, fe.Tried
		p.Errors = claimErrors(fe, &p)
	}
	e.send(ctx, status, p)
	setRetryAfter(ctx, status, after)
	return routePage
}

// The address of the page has no secret, and the page gives none to the sites it links to.
func (e *claimEndpoints) send(ctx *fasthttp.RequestCtx, status int, p site.ClaimPage) {
	p.BaseURL = e.baseURL
	body, err := e.site.AppendClaim(nil, p)
	e.sendPage(ctx, status, body, err)
	ctx.Response.Header.Set("Cache-Control", "no-store")
	ctx.Response.Header.Set("Referrer-Policy", "no-referrer")
	ctx.Response.Header.Set("X-Robots-Tag", "noindex")
}

// openClaim opens a claim of a brand, if the input is a slug, or of a site.
// A slug has no dot, so it is never mistaken for a host.
func openClaim(rc context.Context, api client.ClaimAPI, p *site.ClaimPage) error {
	r := fieldmark.ClaimRequest{URL: p.Form["site"], Code: p.Form["code"]}
	if fieldmark.ValidSlug(r.URL) {
		r.Brand, r.URL = fieldmark.Slug(r.URL), ""
	}
	opened, err := api.OpenClaim(rc, r)
	if err == nil {
		p.Claim, p.Secret, p.Opened = &opened.Claim, opened.Secret, true
	}
	return err
}

// showClaim shows a claim again.
// All missing fields are reported at once.
func showClaim(rc context.Context, api client.ClaimAPI, p *site.ClaimPage) error {
	incomplete := &fieldmark.Error{Code: fieldmark.CodeValidationFailed, Detail: "the form is incomplete"}
	for _, name := range []string{"id", "secret"} {
		if p.Form[name] == "" {
			incomplete.Fields = append(incomplete.Fields, fieldmark.FieldError{Pointer: "/" + name, Code: "required",
				Detail: "must not be empty"})
		}
	}
	if len(incomplete.Fields) > 0 {
		return incomplete
	}
	c, err := api.Claim(rc, p.Form["id"], p.Form["secret"])
	if err == nil {
		p.Claim, p.Secret, p.Tried = &c, p.Form["secret"], c.Tried
	}
	return err
}

// checkClaim looks for the proofs of a claim and, when it is verified, gets the key of its
// account. Without a proof it shows the claim again.
func checkClaim(rc context.Context, api client.ClaimAPI, p *site.ClaimPage) error {
	id, secret := p.Form["id"], p.Form["secret"]
	c, err := api.VerifyClaim(rc, id, secret)
	if err == nil && c.State.Holds() {
		var access fieldmark.ClaimAccess
		// The key is on this page only.
		if access, err = api.AccessClaim(rc, id, secret); err == nil {
			p.Access = &access
			return nil
		}
	}
	if err != nil {
		shown, failed := api.Claim(rc, id, secret)
		if failed != nil {
			return err
		}
		c = shown
	}
	p.Claim, p.Secret, p.Tried = &c, secret, c.Tried
	return err
}

// claimFields are the fields of the form in words.
var claimFields = map[string]string{"site": "website", "code": "transfer code", "id": "claim ID",
	"secret": "secret"}

// claimErrors maps an error to the fields of the form it concerns.
func claimErrors(fe *fieldmark.Error, p *site.ClaimPage) map[string]string {
	all := map[string]string{}
	for _, f := range fe.Fields {
		name := strings.TrimPrefix(f.Pointer, "/")
		if name == "url" || name == "brand" {
			name = "site"
		}
		if all[name] == "" {
			all[name] = fieldProblem(claimFields[name], f.Detail)
		}
	}
	switch {
	case len(all) > 0:
	case p.Claim == nil && fe.Code == fieldmark.CodeInvalidAPIKey:
		all["secret"] = sentence(fe.Detail)
	case p.Claim == nil && fe.Code == fieldmark.CodeNotFound:
		all["id"] = sentence(fe.Detail)
	default:
		all[""] = formProblem(fe)
	}
	return all
}

// accessEndpoints serve the page on which anyone requests an API key, and the pages of requests.
// A form of another site gains nothing: there is no session, and the address of the page of a
// request is its secret.
type accessEndpoints struct {
	*pageWriter
	pages   *developer.Pages
	clients clients
	origin  *client.Client
}

// maxAccessForm bounds the form in bytes: its texts have at most 2,500 code points, each of which
// is up to 12 bytes in a form.
const maxAccessForm = 32 << 10

// serveForm handles /developers/access: GET shows the form, POST sends a request and leads to its
// page.
func (e *accessEndpoints) serveForm(ctx *fasthttp.RequestCtx) route {
	if !ctx.IsPost() {
		return e.get(ctx, routePage, func(ctx *fasthttp.RequestCtx) {
			e.send(ctx, http.StatusOK, developer.AccessPage{})
		})
	}
	if err := readBody(ctx, maxAccessForm); err != nil {
		e.failPage(ctx, err, "")
		return routePage
	}
	args := ctx.PostArgs()
	value := func(name string) string { return strings.ToValidUTF8(string(args.Peek(name)), "\ufffd") }
	p := developer.AccessPage{Form: fieldmark.AccessRequestForm{Organization: value("organization"),
		Name: value("name"), Email: value("email"), Purpose: value("purpose"),
		Offer: fieldmark.OfferKind(value("offer")), Scopes: []fieldmark.Scope{}}}
	for _, s := range args.PeekMulti("scope") {
		p.Form.Scopes = append(p.Form.Scopes, fieldmark.Scope(s))
	}
	rc, cancel := context.WithTimeout(context.Background(), fillTimeout)
	defer cancel()
	opened, err := e.origin.AccessRequestAPI.For(e.clients.addr(ctx).String()).OpenAccessRequest(rc, p.Form)
	if err == nil {
		h := &ctx.Response.Header
		h.Set("Location", fieldmark.PathAccessPage+"/"+opened.Secret)
		h.Set("Cache-Control", "no-store")
		h.Set("Referrer-Policy", "no-referrer")
		ctx.SetStatusCode(http.StatusSeeOther)
		return routePage
	}
	fe := publicError(err)
	p.Errors = accessErrors(fe)
	e.send(ctx, fe.Code.Status(), p)
	setRetryAfter(ctx, fe.Code.Status(), fe.RetryAfter)
	return routePage
}

// serveRequest handles /developers/access/{secret}: GET shows the request, POST creates and shows the
// key of an approved one. Programs that preview links send GET, so that spends nothing.
func (e *accessEndpoints) serveRequest(ctx *fasthttp.RequestCtx) route {
	if ctx.IsPost() {
		e.showRequest(ctx, true)
		return routePage
	}
	return e.get(ctx, routePage, func(ctx *fasthttp.RequestCtx) { e.showRequest(ctx, false) })
}

// showRequest shows the state of a request for a key, and with issue creates the key. The secret in the path is the
// only credential, so a malformed one is answered as an unknown one, without a request to the origin. The key is in
// this response only: a reload of the page shows the state without it.
func (e *accessEndpoints) showRequest(ctx *fasthttp.RequestCtx, issue bool) {
	if err := readBody(ctx, maxAccessForm); err != nil {
		e.failPage(ctx, err, "")
		return
	}
	p := developer.AccessPage{Secret: strings.TrimPrefix(string(ctx.Path()), fieldmark.PathAccessPage+"/")}
	if p.Secret == "" {
		e.failPage(ctx, fieldmark.Errorf(fieldmark.CodeNotFound, "there is nothing at this address"), "")
		return
	}
	rc, cancel := context.WithTimeout(context.Background(), fillTimeout)
	defer cancel()
	api := e.origin.AccessRequestAPI.For(e.clients.addr(ctx).String())
	err, status := error(fieldmark.Errorf(fieldmark.CodeNotFound, "no such request")), http.StatusOK
	if isAccessSecret(p.Secret) {
		if issue {
			var made fieldmark.NewKey
			if made, err = api.IssueKey(rc, p.Secret); err == nil {
				p.Key = &made
				e.send(ctx, http.StatusOK, p)
				return
			}
			fe := publicError(err)
			status, p.Errors = fe.Code.Status(), accessErrors(fe)
		}
		var found fieldmark.AccessStatus
		if found, err = api.AccessStatus(rc, p.Secret); err == nil {
			p.Status = &found
		}
	}
	if fieldmark.IsCode(err, fieldmark.CodeNotFound) {
		status = http.StatusNotFound
	} else if err != nil {
		e.failPage(ctx, err, "")
		return
	}
	e.send(ctx, status, p)
}

// isAccessSecret reports whether s has the form of a secret: 43 characters of base64url.
func isAccessSecret(s string) bool {
	return len(s) == fieldmark.AccessSecretChars && !strings.ContainsFunc(s, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_')
	})
}

// send sends a page. It is not stored anywhere, and its address is sent to no other site.
func (e *accessEndpoints) send(ctx *fasthttp.RequestCtx, status int, p developer.AccessPage) {
	body, err := e.pages.AppendAccess(nil, p)
	e.sendPage(ctx, status, body, err)
	h := &ctx.Response.Header
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	if p.Secret != "" {
		h.Set("X-Robots-Tag", "noindex")
	}
}

// accessFields are the fields of the form in words.
var accessFields = map[string]string{"organization": "organization", "name": "name", "email": "e-mail address",
	"purpose": "text", "scopes": "list", "offer": "offer"}

// accessErrors maps an error to the fields of the form it concerns.
func accessErrors(fe *fieldmark.Error) map[string]string {
	all := map[string]string{}
	for _, f := range fe.Fields {
		name, _, _ := strings.Cut(strings.TrimPrefix(f.Pointer, "/"), "/")
		if name == "scopes" {
			f.Detail = scopeProblem(f)
		}
		if all[name] == "" {
			all[name] = fieldProblem(accessFields[name], f.Detail)
		}
	}
	if len(all) == 0 {
		all[""] = formProblem(fe)
	}
	return all
}

// scopeProblem returns the error text of the checkboxes.
func scopeProblem(f fieldmark.FieldError) string {
	if f.Code == "conflict" {
		return "Sub-accounts need a group offer. Choose that offer, or clear the checkbox"
	}
	return "Choose at least one"
}

package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/brand"
	"github.com/fieldmark/fieldmark/origin/llms"
	"github.com/fieldmark/fieldmark/origin/llms/probe"
)

// llmsAPI serves the llms.txt tools.
type llmsAPI struct {
	brands  *brand.Service
	prober  *probe.Prober // Config.Prober; may be nil
	version string        // the value of HeaderEdition: cached responses of another version are stale
}

// HeaderWarnings is the number of warnings about a generated llms.txt. A client that requested the file itself
// can request JSON to read them.
const HeaderWarnings = "Llms-Txt-Warnings"

// llmsTypes are the media types of the file itself.
var llmsTypes = []string{"text/markdown", "text/plain"}

// generate generates an llms.txt from a description of a brand. The response is JSON with the file and
// its warnings, or the file itself if Accept prefers that.
func (a *llmsAPI) generate(c *call) error {
	h := c.w.Header()
	// Set before any return: an error depends on Accept too.
	h.Set("Vary", "Accept")
	mediaType := negotiate(c.r.Header.Values("Accept"), append([]string{jsonType}, llmsTypes...))
	if mediaType == "" {
		return fieldmark.Errorf(fieldmark.CodeNotAcceptable, "available: %s, %s, %s", jsonType, llmsTypes[0],
			llmsTypes[1])
	}
	doc, err := a.decodeRequest(c)
	if err != nil {
		return err
	}
	h.Set(HeaderWarnings, strconv.Itoa(len(doc.Warnings)))
	content := []byte(doc.Content)
	if mediaType == jsonType {
		if content, err = encode(doc); err != nil {
			return fmt.Errorf("encode response: %w", err)
		}
	} else {
		mediaType += "; charset=utf-8"
		h.Set("Content-Language", doc.Language)
		h.Set("Content-Disposition", `inline; filename="`+doc.Filename+`"`)
	}
	// The text is from an audit, and the next audit may change it.
	if doc.Source != nil {
		return sendPrivate(c, mediaType, content)
	}
	return a.sendDerived(c, mediaType, content)
}

// sendDerived sends a response that depends only on the request and on the version of the program, so edges
// cache it by both (see fieldmark.HeaderEdition). It is private to the client, and other caches revalidate
// it.
func (a *llmsAPI) sendDerived(c *call, mediaType string, content []byte) error {
	c.w.Header().Set(fieldmark.HeaderEdition, a.version)
	return sendPrivate(c, mediaType, content)
}

// sendPrivate sends a response that clients revalidate. Without an edition no edge caches it: the next audit
// of the site may change it.
func sendPrivate(c *call, mediaType string, content []byte) error {
	c.w.Header().Set("Cache-Control", "private, no-cache")
	if c.notModified(etagOf(content)) {
		return nil
	}
	return c.sendBytes(http.StatusOK, mediaType, content)
}

// decodeRequest generates the file while it decodes, because the generator validates the texts: it measures
// them after cleaning.
func (a *llmsAPI) decodeRequest(c *call) (doc llms.Document, err error) {
	var req llms.Request
	var source *llms.Request
	var otherErr error
	err = c.decodeChecked(&req, func() []fieldmark.FieldError {
		if source, otherErr = a.complete(c.r.Context(), &req); otherErr != nil {
			return nil
		}
		doc, otherErr = llms.Generate(req)
		if fieldmark.IsCode(otherErr, fieldmark.CodeValidationFailed) {
			return fieldmark.AsError(otherErr).Fields
		}
		return nil
	})
	if fieldmark.IsCode(err, fieldmark.CodeDuplicateMember) {
		// For the generator a member that is named twice is one more invalid field.
		return doc, validationErrors(fieldmark.AsError(err).Fields).err(fieldmark.CodeValidationFailed)
	}
	doc.Source = source
	if err == nil {
		err = otherErr
	}
	return doc, err
}

// complete completes a request without a name or a description from the last audit of the site. It returns
// the completed request, or nil if nothing was left out.
func (a *llmsAPI) complete(ctx context.Context, req *llms.Request) (*llms.Request, error) {
	if req.URL == "" || req.Name != "" && req.Description != "" {
		return nil, nil
	}
	// Only audits that are stored: the request causes none.
	state, err := a.brands.AtURL(ctx, req.URL)
	if err != nil {
		return nil, err
	}
	audited := llms.FromAudit(state.Brand, state.Facts)
	req.URL = audited.URL // the same site, as it spells its address
	req.Complete(audited)
	return req, nil
}

// lintRequest is the JSON request to the linter: the content of a file or its address.
type lintRequest struct {
	Content string `json:"content,omitempty" doc:"The content of the file"`
	URL     string `json:"url,omitempty" maxLength:"2048" format:"uri" doc:"The address of the file or of its folder"`
}

// lint checks an llms.txt that is in the request, or one on a website.
func (a *llmsAPI) lint(c *call) error {
	mediaType, err := c.mediaType(append([]string{jsonType}, llmsTypes...)...)
	if err != nil {
		return err
	}
	body, err := c.readBody()
	if err != nil {
		return err
	}
	if mediaType != jsonType {
		return a.sendReport(c, llms.Lint(body))
	}
	var q lintRequest
	checkRequest := func() []fieldmark.FieldError { return q.check(a.prober != nil) }
	if err := c.route.handler.in.schema.decode(body, &q, checkRequest); err != nil {
		return err
	}
	if q.URL == "" {
		return a.sendReport(c, llms.Lint([]byte(q.Content)))
	}
	report, err := a.prober.Lint(c.r.Context(), q.URL)
	if fieldmark.IsCode(err, fieldmark.CodeInvalidParameter) {
		return validationErrors{{Pointer: "/url", Code: "format", Detail: fieldmark.AsError(err).Detail}}.err(
			fieldmark.CodeValidationFailed)
	}
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, report)
}

// check requires either content or url; fetches says whether the server can read a url.
// Exactly one: with both, it would be unclear which of them the report is about.
func (q lintRequest) check(fetches bool) []fieldmark.FieldError {
	switch {
	case q.URL == "" && q.Content == "":
		return []fieldmark.FieldError{{Pointer: "", Code: "required", Detail: "send content or url"}}
	case q.URL != "" && q.Content != "":
		return []fieldmark.FieldError{{Pointer: "/url", Code: "conflict", Detail: "send content or url, not both"}}
	case q.URL != "" && !fetches:
		return []fieldmark.FieldError{{
			Pointer: "/url", Code: "conflict", Detail: "this server does not fetch files; send content",
		}}
	}
	return nil
}

// sendReport sends the report on a file that was in the request.
func (a *llmsAPI) sendReport(c *call, r llms.Report) error {
	content, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode response: %w", err)
	}
	return a.sendDerived(c, jsonType, append(content, '\n'))
}

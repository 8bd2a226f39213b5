package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/llms"
)

// HeaderWarnings counts the warnings about an llms.txt; a client that asked for
// the file itself can ask again for JSON to read them.
const HeaderWarnings = "Llms-Txt-Warnings"

// llmsTypes are the media types of the file itself.
var llmsTypes = []string{"text/markdown", "text/plain"}

// generateLLMs writes an llms.txt from what a brand says of itself: as JSON with
// everything there is to know about it, or the file itself if that was asked for.
func (s *server) generateLLMs(c *call) error {
	h := c.w.Header()
	h.Set("Vary", "Accept")
	mediaType := negotiate(c.r.Header.Values("Accept"), append([]string{jsonType}, llmsTypes...))
	if mediaType == "" {
		return fieldmark.Errorf(fieldmark.CodeNotAcceptable, "offered: %s, %s, %s", jsonType, llmsTypes[0], llmsTypes[1])
	}
	doc, err := c.decodeLLMs()
	if err != nil {
		return err
	}
	h.Set(HeaderWarnings, strconv.Itoa(len(doc.Warnings)))
	content := []byte(doc.Content)
	if mediaType == jsonType {
		if content, err = encode(doc); err != nil {
			return fmt.Errorf("encode answer: %w", err)
		}
	} else {
		mediaType += "; charset=utf-8"
		h.Set("Content-Language", doc.Language)
		h.Set("Content-Disposition", `inline; filename="`+doc.Filename+`"`)
	}
	return s.sendDerived(c, mediaType, content)
}

// sendDerived answers what follows from the request alone. The same bytes come
// again for as long as this program is of its edition, so an edge may keep them;
// for whoever else asks they are somebody's private words, to be asked for anew.
func (s *server) sendDerived(c *call, mediaType string, content []byte) error {
	h := c.w.Header()
	h.Set("Cache-Control", "private, no-cache")
	h.Set(fieldmark.HeaderEdition, s.edition)
	if c.unchanged(etagOf(content)) {
		return nil
	}
	return c.sendBytes(http.StatusOK, mediaType, content)
}

// decodeLLMs generates while it decodes, because the generator is also the judge
// of the texts: it counts them after cleaning.
func (c *call) decodeLLMs() (doc llms.Document, err error) {
	var req llms.Request
	var refusal error
	err = c.decode(&req, func() []fieldmark.FieldError {
		if doc, refusal = llms.Generate(req); fieldmark.IsCode(refusal, fieldmark.CodeValidationFailed) {
			return fieldmark.AsError(refusal).Fields
		}
		return nil
	})
	if err == nil {
		err = refusal
	}
	return doc, err
}

// lintRequest is what the linter is asked in JSON: a file, or where one is.
type lintRequest struct {
	Content string `json:"content,omitempty" doc:"The file itself"`
	URL     string `json:"url,omitempty" maxLength:"2048" format:"uri" doc:"Where the file is; a page or a folder stands for the llms.txt beside it"`
}

// lintLLMs says what is wrong with a file that was sent, or with one on a site.
func (s *server) lintLLMs(c *call) error {
	kind, err := c.mediaType(append([]string{jsonType}, llmsTypes...)...)
	if err != nil {
		return err
	}
	body, err := c.readBody()
	if err != nil {
		return err
	}
	if kind != jsonType {
		return s.sendReport(c, llms.Lint(body))
	}
	var q lintRequest
	if err := c.decodeBytes(body, &q, func() []fieldmark.FieldError { return q.complaints(s.prober != nil) }); err != nil {
		return err
	}
	if q.URL == "" {
		return s.sendReport(c, llms.Lint([]byte(q.Content)))
	}
	report, err := s.prober.Lint(c.r.Context(), q.URL)
	if fieldmark.IsCode(err, fieldmark.CodeInvalidParameter) {
		var bad complaints
		bad.add("/url", "format", fieldmark.AsError(err).Detail)
		return bad.err(fieldmark.CodeValidationFailed)
	}
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, report)
}

// complaints asks for one of the two; fetches says whether addresses are read.
func (q lintRequest) complaints(fetches bool) []fieldmark.FieldError {
	switch {
	case q.URL == "" && q.Content == "":
		return []fieldmark.FieldError{{Pointer: "", Code: "required", Detail: "give content or url"}}
	case q.URL != "" && q.Content != "":
		return []fieldmark.FieldError{{Pointer: "/url", Code: "conflict", Detail: "give content or url, not both"}}
	case q.URL != "" && !fetches:
		return []fieldmark.FieldError{{Pointer: "/url", Code: "conflict", Detail: "this server reads no addresses; send the content"}}
	}
	return nil
}

// sendReport answers the verdict on a file that came with the request.
func (s *server) sendReport(c *call, r llms.Report) error {
	content, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	return s.sendDerived(c, jsonType, append(content, '\n'))
}

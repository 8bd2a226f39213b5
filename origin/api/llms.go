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
		if content, err = json.Marshal(doc); err != nil {
			return fmt.Errorf("encode answer: %w", err)
		}
		content = append(content, '\n')
	} else {
		mediaType += "; charset=utf-8"
		h.Set("Content-Language", doc.Language)
		h.Set("Content-Disposition", `inline; filename="`+doc.Filename+`"`)
	}
	h.Set("ETag", etagOf(content))
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

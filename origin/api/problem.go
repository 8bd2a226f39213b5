package api

import (
	"bytes"
	_ "embed" // for the page
	"fmt"
	"html/template"
	"net/http"

	"github.com/fieldmark/fieldmark"
)

//go:embed problem.html
var problemTemplate string

// remedies says what to do about a problem.
var remedies = map[fieldmark.Code]string{
	fieldmark.CodeMalformedJSON:        "Send one JSON document (RFC 8259) and nothing after it. The detail says at which byte reading stopped.",
	fieldmark.CodeDuplicateMember:      "Name each member once. Readers disagree about which of two to believe, so neither is.",
	fieldmark.CodeInvalidUTF8:          "Send the body as UTF-8, without unpaired surrogates.",
	fieldmark.CodeMalformedRequest:     "Send one request as RFC 9112 has it: lines end in CRLF, one Host, one length, a path without dot segments. Ordinary HTTP clients do.",
	fieldmark.CodeRequestTimeout:       "Send the whole request without long pauses; a body at 256 bytes a second or more.",
	fieldmark.CodeInvalidParameter:     "See errors: each pointer begins with a question mark and the name of the query parameter.",
	fieldmark.CodeInvalidCursor:        "Take the cursor from nextCursor of the page before, unchanged, or begin again without one.",
	fieldmark.CodeInvalidIdempotency:   "Send 1 to 255 visible ASCII characters, bare or as a structured field in double quotes (RFC 9651), in one Idempotency-Key field.",
	fieldmark.CodeMissingCredentials:   "Send Authorization: Bearer and your API key.",
	fieldmark.CodeInvalidAPIKey:        "Compare the key with the one you were given; it may be mistyped, cut off, or revoked. An administrator can make a new one.",
	fieldmark.CodeExpiredAPIKey:        "Ask an administrator for a new key.",
	fieldmark.CodeInvalidCredentials:   "Sign in again.",
	fieldmark.CodeModuleRefused:        "See errors for every reason. fieldmark module check FILE finds the same ones before a module is sent; where only signed modules are taken, sign it with a key that is trusted there.",
	fieldmark.CodeRateLimited:          "Wait for the time in Retry-After.",
	fieldmark.CodeInsufficientScope:    "Use a key with the scope that the detail names.",
	fieldmark.CodeIPNotAllowed:         "The key is bound to networks. Send the request from one of them, or ask for a key that is bound to yours.",
	fieldmark.CodeKeyNotLive:           "Only a key that works and was not replaced can be rotated; make a new one.",
	fieldmark.CodeNotFound:             "Compare the address. What belongs to another account is not found either.",
	fieldmark.CodeModuleDisabled:       "The operator has this part switched off; repeating the request will not help until that changes.",
	fieldmark.CodeMethodNotAllowed:     "Use one of the methods in the Allow field.",
	fieldmark.CodeNotAcceptable:        "Name one of the offered media types in Accept, or leave Accept out.",
	fieldmark.CodeMissionExists:        "A mission with this source and externalId was opened with something else; errors lists what differs. Read it at Location; to open another, give it an externalId of its own.",
	fieldmark.CodeBrandExists:          "Choose another slug, or change the brand that has it.",
	fieldmark.CodeInvalidTransition:    "The member allowed lists where the mission can go from where it stands.",
	fieldmark.CodeIdempotencyInFlight:  "Repeat the same request after the time in Retry-After: it will be given the answer to the first.",
	fieldmark.CodeVersionMismatch:      "Read the mission again, look at what changed, and repeat with its new ETag in If-Match.",
	fieldmark.CodeCursorExpired:        "Begin again without a cursor: the list it belonged to is gone.",
	fieldmark.CodeBodyTooLarge:         "Send at most the number of bytes in the member limit.",
	fieldmark.CodeURITooLong:           "Shorten the address, most likely its query.",
	fieldmark.CodeUnsupportedMediaType: "Send Content-Type: application/json and an uncompressed body.",
	fieldmark.CodeValidationFailed:     "See errors: each names a part of the body by a JSON Pointer (RFC 6901) and says what it must be. All of them are listed, so one more attempt is enough.",
	fieldmark.CodeInstructionLikeText:  "The text addresses a language model and tries to overrule it. Describe the brand instead.",
	fieldmark.CodeIdempotencyReused:    "Use a new key for a new request, and repeat a request with the very same method, address and body.",
	fieldmark.CodeHeadersTooLarge:      "Send fewer or smaller header fields.",
	fieldmark.CodeInternal:             "This is our fault. Repeat the request later; if it stays, tell the operator the requestId.",
	fieldmark.CodeOriginUnavailable:    "Repeat the request after the time in Retry-After. Reading goes on in the meantime where it can.",
	fieldmark.CodeOverloaded:           "Repeat the request after the time in Retry-After.",
	fieldmark.CodeTimeout:              "Repeat the request. Opening a mission again is safe: it is the same mission.",
}

// problemPages are the HTML pages that the types of problems link to.
type problemPages struct {
	pages map[string][]byte
}

func newProblemPages() (*problemPages, error) {
	page, err := template.New("problem").Parse(problemTemplate)
	if err != nil {
		return nil, err
	}
	p := &problemPages{pages: map[string][]byte{}}
	for _, code := range fieldmark.Codes() {
		var out bytes.Buffer
		err := page.Execute(&out, struct {
			Code          fieldmark.Code
			Status        int
			StatusText    string
			Title, Remedy string
		}{code, code.Status(), http.StatusText(code.Status()), code.Title(), remedies[code]})
		if err != nil {
			return nil, fmt.Errorf("page of %s: %w", code, err)
		}
		p.pages[string(code)] = out.Bytes()
	}
	return p, nil
}

// problemPage explains a problem code.
func (s *server) problemPage(c *call) error {
	page, ok := s.problems.pages[c.r.PathValue("code")]
	if !ok {
		return fieldmark.Errorf(fieldmark.CodeNotFound, "no such problem code")
	}
	h := c.w.Header()
	h.Set("Cache-Control", "public, max-age=3600")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	if c.notModified(etagOf(page)) {
		return nil
	}
	return c.sendBytes(http.StatusOK, "text/html; charset=utf-8", page)
}

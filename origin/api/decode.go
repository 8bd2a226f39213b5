package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/timeout"
)

const (
	// maxDepth bounds nesting: no valid document is deeper, and recursion over it is harmless.
	maxDepth = 32
	// maxValues bounds the members and elements of a document, each of which takes many times its two bytes
	// in memory. The largest import, of brand.MaxImport brands or brand.MaxSamples samples, has 220,000.
	maxValues = 400_000
	// bodyTimeout bounds the time in which a body arrives, against clients that hold a connection by sending
	// a byte at a time.
	bodyTimeout = 10 * time.Second * timeout.Scale
)

// decode reads the body into dst and returns all validation errors at once: those against the schema of
// the route, and those that check finds in the members that could be decoded.
func (c *call) decode(dst any) error {
	return c.decodeChecked(dst, func() []fieldmark.FieldError { return check(dst) })
}

// decodeChecked is decode with another check than the usual one of the type.
func (c *call) decodeChecked(dst any, check func() []fieldmark.FieldError) error {
	body, err := c.readJSON()
	if err != nil {
		return err
	}
	return c.route.handler.in.schema.decode(body, dst, check)
}

// decode decodes a document into dst. check may be nil.
// Decoding happens after the schema check, on what is left of the document: so errors of both
// kinds are reported together.
func (s *schema) decode(body []byte, dst any, check func() []fieldmark.FieldError) error {
	tree, err := parseJSON(body)
	if err != nil {
		return err
	}
	var errs validationErrors
	valid := s.check(tree, "", &errs)
	if len(errs) > 0 {
		// The invalid members are gone from the tree; the others are still worth checking.
		if body, err = json.Marshal(tree); err != nil {
			return fmt.Errorf("encode valid members: %w", err)
		}
	}
	// A document that is no object has one error, and decoding it would add a second for the same fault.
	if valid || isObject(tree) {
		if err := jsonv2.Unmarshal(body, dst); err != nil {
			errs.merge([]fieldmark.FieldError{decodeError(err)})
		} else if check != nil {
			errs.merge(check())
		}
	}
	return errs.err(fieldmark.CodeValidationFailed)
}

// readJSON reads a body that must be JSON.
// A wrong media type is refused before the body is read.
func (c *call) readJSON() ([]byte, error) {
	if _, err := c.mediaType(jsonType); err != nil {
		return nil, err
	}
	return c.readBody()
}

// mediaType returns the media type of the body, which must be one of accepted.
// Compressed bodies are refused: a small one could unpack to gigabytes.
func (c *call) mediaType(accepted ...string) (string, error) {
	if enc := c.r.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return "", fieldmark.Errorf(fieldmark.CodeUnsupportedMediaType, "send the body without Content-Encoding")
	}
	mediaType, params, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	// JSON is UTF-8 (RFC 8259, section 8.1). Other charsets are refused by name: their bytes may be valid UTF-8.
	charset, named := params["charset"]
	if err != nil || !slices.Contains(accepted, mediaType) || (named && !strings.EqualFold(charset, "utf-8")) {
		return "", fieldmark.Errorf(fieldmark.CodeUnsupportedMediaType, "send Content-Type: %s",
			strings.Join(accepted, " or "))
	}
	return mediaType, nil
}

// readBody returns the body.
// It is read once; later calls get the same bytes or the same error: an idempotency key and the confirmation of an
// agent cover the bytes that the handler decodes.
func (c *call) readBody() ([]byte, error) {
	if c.body == nil && c.bodyErr == nil {
		c.body, c.bodyErr = c.receiveBody()
	}
	return c.body, c.bodyErr
}

// receiveBody reads the body, of at most the route's limit.
func (c *call) receiveBody() ([]byte, error) {
	limit := c.route.bodyLimit()
	tooLarge := fieldmark.Errorf(fieldmark.CodeBodyTooLarge, "the body must have at most %d bytes", limit)
	tooLarge.Limit = limit
	// Refused by its length before a byte of it is read.
	if c.r.ContentLength > limit {
		return nil, tooLarge
	}
	// Connections without deadlines, such as those of tests, have no limit.
	ctl := http.NewResponseController(c.w)
	_ = ctl.SetReadDeadline(time.Now().Add(bodyTimeout))
	body, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, limit))
	_ = ctl.SetReadDeadline(time.Time{})
	if err == nil {
		return body, nil
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLarge
	}
	return nil, &fieldmark.Error{Code: fieldmark.CodeMalformedJSON, Detail: "the body ended early", Err: err}
}

// parseJSON parses one strict JSON document into maps, slices, strings, booleans, nil and json.Number, which
// lose nothing that validation needs.
func parseJSON(body []byte) (any, error) {
	if !utf8.Valid(body) {
		return nil, fieldmark.Errorf(fieldmark.CodeInvalidUTF8, "the body must be UTF-8")
	}
	if bytes.HasPrefix(body, []byte("\ufeff")) {
		return nil, fieldmark.Errorf(fieldmark.CodeMalformedJSON,
			"the body starts with a byte order mark, which JSON does not allow")
	}
	// The decoder refuses duplicate names: parsers disagree which of two members counts.
	dec := jsontext.NewDecoder(bytes.NewReader(body))
	budget := maxValues
	tree, err := readValue(dec, 0, &budget)
	if err != nil {
		return nil, syntaxError(err, dec.InputOffset())
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, fieldmark.Errorf(fieldmark.CodeMalformedJSON,
			"unexpected data after the document at byte %d", dec.InputOffset())
	}
	return tree, nil
}

var (
	errTooDeep = errors.New("document nested too deeply")
	errTooMany = errors.New("document has too many values")
)

// readValue reads the next value and subtracts the number of its values from budget.
func readValue(dec *jsontext.Decoder, depth int, budget *int) (any, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	if *budget--; *budget < 0 {
		return nil, errTooMany
	}
	token, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case '{':
		object := map[string]any{}
		for dec.PeekKind() != '}' {
			name, err := dec.ReadToken()
			if err != nil {
				return nil, err
			}
			text := name.String()
			if object[text], err = readValue(dec, depth+1, budget); err != nil {
				return nil, err
			}
		}
		_, err = dec.ReadToken()
		return object, err
	case '[':
		array := []any{}
		for dec.PeekKind() != ']' {
			v, err := readValue(dec, depth+1, budget)
			if err != nil {
				return nil, err
			}
			array = append(array, v)
		}
		_, err = dec.ReadToken()
		return array, err
	case '"':
		return token.String(), nil
	case '0':
		return json.Number(token.String()), nil
	case 't', 'f':
		return token.Bool(), nil
	}
	return nil, nil
}

// syntaxError returns the error for a document that is not JSON. It gives the position and never quotes the
// document.
func syntaxError(err error, offset int64) error {
	if errors.Is(err, errTooDeep) {
		return fieldmark.Errorf(fieldmark.CodeMalformedJSON, "the document must have at most %d levels", maxDepth)
	}
	if errors.Is(err, errTooMany) {
		return fieldmark.Errorf(fieldmark.CodeBodyTooLarge,
			"the document must have at most %d members and elements", maxValues)
	}
	syntax, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok { // io.EOF before the first token
		return fieldmark.Errorf(fieldmark.CodeMalformedJSON, "the body is empty")
	}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		e := fieldmark.Errorf(fieldmark.CodeDuplicateMember, "the member %s appears twice",
			clipped(syntax.JSONPointer))
		e.Fields = []fieldmark.FieldError{{Pointer: clipped(syntax.JSONPointer), Code: "duplicate",
			Detail: "appears twice"}}
		return e
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fieldmark.Errorf(fieldmark.CodeMalformedJSON, "the document ends early")
	}
	return fieldmark.Errorf(fieldmark.CodeMalformedJSON, "invalid JSON at byte %d", max(offset, syntax.ByteOffset))
}

// decodeError is the error for a member that matches its schema and still cannot be decoded, such as a time
// on 30 February.
func decodeError(err error) fieldmark.FieldError {
	f := fieldmark.FieldError{Code: "format", Detail: "has an invalid format"}
	if semantic, ok := errors.AsType[*jsonv2.SemanticError](err); ok {
		f.Pointer = clipped(semantic.JSONPointer)
	}
	return f
}

// clipped clips every name in a pointer.
// The pointer comes from the document of the client.
func clipped(pointer jsontext.Pointer) string {
	var at string
	for token := range pointer.Tokens() {
		at = child(at, token)
	}
	return at
}

// isObject reports whether a document is an object, of which the valid members can still be
// checked.
func isObject(tree any) bool {
	_, ok := tree.(map[string]any)
	return ok
}

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
)

// maxDepth bounds nesting: deeper than any document of ours, and shallow enough
// that recursion over it is harmless.
const maxDepth = 32

// maxValues bounds the members and elements of a document: each takes many times
// its two bytes in memory. The largest import, origin.MaxImport brands or
// origin.MaxSamples samples, has some 220,000.
const maxValues = 400_000

// bodyTimeout is how long a body may take to arrive, against clients that hold a
// connection by sending a byte at a time.
const bodyTimeout = 10 * time.Second

// decode reads the body into dst and says everything that is wrong with it at
// once: what the schema of the route says, and then what more says about the
// parts that were fit to be decoded. more may be nil.
func (c *call) decode(dst any, more func() []fieldmark.FieldError) error {
	body, err := c.readJSON()
	if err != nil {
		return err
	}
	return c.decodeBytes(body, dst, more)
}

// decodeMaybe is decode of a body that may be left out.
func (c *call) decodeMaybe(dst any) error {
	body, err := c.readBody()
	if err != nil || len(body) == 0 {
		return err
	}
	if _, err := c.mediaType(jsonType); err != nil {
		return err
	}
	return c.decodeBytes(body, dst, nil)
}

// decodeBytes is decode of a body that was read already.
func (c *call) decodeBytes(body []byte, dst any, more func() []fieldmark.FieldError) error {
	return c.route.op.in.shape.decode(body, dst, more)
}

// decode is call.decode of a document of this shape.
func (s *shape) decode(body []byte, dst any, more func() []fieldmark.FieldError) error {
	tree, err := parseJSON(body)
	if err != nil {
		return err
	}
	var bad complaints
	fit := s.check(tree, "", &bad)
	if len(bad) > 0 {
		// The unfit parts are gone from the tree; what is left is still worth an opinion.
		if body, err = json.Marshal(tree); err != nil {
			return fmt.Errorf("encode what is fit: %w", err)
		}
	}
	if fit || isObject(tree) {
		if err := jsonv2.Unmarshal(body, dst); err != nil {
			bad.merge([]fieldmark.FieldError{misfit(err)})
		} else if more != nil {
			bad.merge(more())
		}
	}
	return bad.err(fieldmark.CodeValidationFailed)
}

// readJSON reads a JSON body within the route's limit.
func (c *call) readJSON() ([]byte, error) {
	if _, err := c.mediaType(jsonType); err != nil {
		return nil, err
	}
	return c.readBody()
}

// mediaType says which of the types a route takes the body is of.
func (c *call) mediaType(takes ...string) (string, error) {
	if enc := c.r.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return "", fieldmark.Errorf(fieldmark.CodeUnsupportedMediaType, "send the body without Content-Encoding")
	}
	kind, params, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	charset, named := params["charset"]
	if err != nil || !slices.Contains(takes, kind) || (named && !strings.EqualFold(charset, "utf-8")) {
		return "", fieldmark.Errorf(fieldmark.CodeUnsupportedMediaType, "send Content-Type: %s", strings.Join(takes, " or "))
	}
	return kind, nil
}

// readBody reads the body within the route's limit.
func (c *call) readBody() ([]byte, error) {
	if c.body != nil {
		return c.body, nil
	}
	limit := c.route.op.limit
	if limit == 0 {
		limit = fieldmark.MaxBody
	}
	tooLarge := fieldmark.Errorf(fieldmark.CodeBodyTooLarge, "at most %d bytes", limit)
	tooLarge.Limit = limit
	if c.r.ContentLength > limit {
		return nil, tooLarge
	}
	// Not every connection has deadlines; one without is bounded by the handler's.
	ctl := http.NewResponseController(c.w)
	_ = ctl.SetReadDeadline(time.Now().Add(bodyTimeout))
	body, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, limit))
	_ = ctl.SetReadDeadline(time.Time{})
	if err == nil {
		c.body = body
		return body, nil
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLarge
	}
	return nil, &fieldmark.Error{Code: fieldmark.CodeMalformedJSON, Detail: "the body did not arrive whole", Err: err}
}

// parseJSON reads one strict JSON document into maps, slices, strings, booleans,
// nil and json.Number, so that nothing is lost before it was judged.
func parseJSON(body []byte) (any, error) {
	if !utf8.Valid(body) {
		return nil, fieldmark.Errorf(fieldmark.CodeInvalidUTF8, "the body must be UTF-8")
	}
	if bytes.HasPrefix(body, []byte("\ufeff")) {
		return nil, fieldmark.Errorf(fieldmark.CodeMalformedJSON, "the body begins with a byte order mark (EF BB BF), which JSON does not allow: send UTF-8 without it")
	}
	dec := jsontext.NewDecoder(bytes.NewReader(body))
	left := maxValues
	tree, err := readValue(dec, 0, &left)
	if err != nil {
		return nil, syntaxError(err, dec.InputOffset())
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, fieldmark.Errorf(fieldmark.CodeMalformedJSON, "there is more after the document, at byte %d", dec.InputOffset())
	}
	return tree, nil
}

var (
	errTooDeep = errors.New("nests too deep")
	errTooMany = errors.New("has too many values")
)

// readValue reads the next value whole, if it is among the values that are left.
func readValue(dec *jsontext.Decoder, depth int, left *int) (any, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	if *left--; *left < 0 {
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
			if object[text], err = readValue(dec, depth+1, left); err != nil {
				return nil, err
			}
		}
		_, err = dec.ReadToken()
		return object, err
	case '[':
		array := []any{}
		for dec.PeekKind() != ']' {
			v, err := readValue(dec, depth+1, left)
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

// syntaxError names a fault of the text by its place, without quoting it.
func syntaxError(err error, offset int64) error {
	if errors.Is(err, errTooDeep) {
		return fieldmark.Errorf(fieldmark.CodeMalformedJSON, "nests deeper than %d levels", maxDepth)
	}
	if errors.Is(err, errTooMany) {
		return fieldmark.Errorf(fieldmark.CodeBodyTooLarge, "at most %d members and elements in one document", maxValues)
	}
	syntax, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok { // nothing but io.EOF is left, and only before the first token
		return fieldmark.Errorf(fieldmark.CodeMalformedJSON, "the body is empty")
	}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return fieldmark.Errorf(fieldmark.CodeDuplicateMember, "the member %s appears twice", clipped(syntax.JSONPointer))
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fieldmark.Errorf(fieldmark.CodeMalformedJSON, "the text ends too early")
	}
	return fieldmark.Errorf(fieldmark.CodeMalformedJSON, "invalid JSON at byte %d", max(offset, syntax.ByteOffset))
}

// misfit names the part that could not be decoded although the schema let it
// pass: a time in a year that does not exist, say.
func misfit(err error) fieldmark.FieldError {
	f := fieldmark.FieldError{Code: "format", Detail: "has the wrong form"}
	if semantic, ok := errors.AsType[*jsonv2.SemanticError](err); ok {
		f.Pointer = clipped(semantic.JSONPointer)
	}
	return f
}

// clipped cuts the names in a pointer to what is safe to say back.
func clipped(pointer jsontext.Pointer) string {
	var at string
	for token := range pointer.Tokens() {
		at = child(at, token)
	}
	return at
}

func isObject(tree any) bool {
	_, ok := tree.(map[string]any)
	return ok
}

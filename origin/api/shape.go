package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/mail"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
)

// body is the Go type of a request or an answer; a request also has the schema
// that is published of it and the shape it is held to.
type body struct {
	goType reflect.Type
	schema *huma.Schema
	shape  *shape
}

// of names the type of a body.
func of[T any]() body { return body{goType: reflect.TypeFor[T]()} }

// shape is a schema made ready to judge requests. It is compiled from the very
// schema the OpenAPI document publishes. The library's own validator is not used:
// its complaints name a place by a path that dots in a name make ambiguous, hold
// the rejected value, take no notice of the case of names unless a package
// variable is set for the whole process, and come in a random order.
type shape struct {
	kind     string // a JSON Schema type; empty: anything
	nullable bool
	members  map[string]*shape
	required []string
	rest     *shape // of members without a name of their own; nil: refused
	items    *shape
	enum     []string

	minimum, maximum     *float64
	minLength, maxLength *int
	minItems, maxItems   *int
	pattern              *regexp.Regexp
	patternSays          string
	format               string
}

// compile turns a schema into a shape.
func compile(reg huma.Registry, s *huma.Schema) (*shape, error) {
	for s.Ref != "" {
		if s = reg.SchemaFromRef(s.Ref); s == nil {
			return nil, errors.New("a reference leads nowhere")
		}
	}
	out := &shape{
		kind: s.Type, nullable: s.Nullable, required: s.Required, format: s.Format,
		minimum: s.Minimum, maximum: s.Maximum, minLength: s.MinLength, maxLength: s.MaxLength,
		minItems: s.MinItems, maxItems: s.MaxItems,
	}
	var err error
	if s.Pattern != "" {
		if out.pattern, err = regexp.Compile(s.Pattern); err != nil {
			return nil, err
		}
		out.patternSays = "must match " + s.Pattern
		if s.PatternDescription != "" {
			out.patternSays = "must be " + s.PatternDescription
		}
	}
	for _, e := range s.Enum {
		out.enum = append(out.enum, fmt.Sprint(e))
	}
	if s.Items != nil {
		if out.items, err = compile(reg, s.Items); err != nil {
			return nil, err
		}
	}
	if rest, ok := s.AdditionalProperties.(*huma.Schema); ok {
		if out.rest, err = compile(reg, rest); err != nil {
			return nil, err
		}
	}
	out.members = make(map[string]*shape, len(s.Properties))
	for name, p := range s.Properties {
		if out.members[name], err = compile(reg, p); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return out, nil
}

// check complains of everything about v that does not fit, and reports whether v
// as a whole may still be decoded. Unfit parts are taken out of their object, and
// an object without a part it must have is itself unfit.
func (s *shape) check(v any, at string, bad *complaints) bool {
	if v == nil && s.nullable {
		return true
	}
	switch s.kind {
	case huma.TypeObject:
		object, ok := v.(map[string]any)
		if !ok {
			bad.add(at, "format", "must be an object")
			return false
		}
		return s.checkObject(object, at, bad)
	case huma.TypeArray:
		array, ok := v.([]any)
		if !ok {
			bad.add(at, "format", "must be an array")
			return false
		}
		return s.checkArray(array, at, bad)
	case huma.TypeString:
		text, ok := v.(string)
		if !ok {
			bad.add(at, "format", "must be a string")
			return false
		}
		return s.checkText(text, at, bad)
	case huma.TypeInteger, huma.TypeNumber:
		number, ok := v.(json.Number)
		if !ok {
			bad.add(at, "format", "must be a number")
			return false
		}
		return s.checkNumber(number, at, bad)
	case huma.TypeBoolean:
		if _, ok := v.(bool); !ok {
			bad.add(at, "format", "must be true or false")
			return false
		}
	}
	return true
}

// checkObject takes out what is unknown or unfit.
func (s *shape) checkObject(object map[string]any, at string, bad *complaints) bool {
	fit := true
	for _, name := range s.required {
		if v, ok := object[name]; !ok || v == nil && !s.members[name].nullable {
			bad.add(child(at, name), "required", "is required")
			delete(object, name)
			fit = false
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		member := s.members[name]
		if member == nil {
			member = s.rest
		}
		if member == nil {
			bad.add(child(at, name), "unknown_field", "no such member here; names are compared exactly")
			delete(object, name)
			continue
		}
		if object[name] == nil { // as good as absent where absence is allowed
			continue
		}
		if !member.check(object[name], child(at, name), bad) {
			delete(object, name)
			fit = fit && !slices.Contains(s.required, name)
		}
	}
	return fit
}

func (s *shape) checkArray(array []any, at string, bad *complaints) bool {
	fit := true
	if s.minItems != nil && len(array) < *s.minItems {
		bad.add(at, "too_short", atLeast(*s.minItems, "items"))
		fit = false
	}
	if s.maxItems != nil && len(array) > *s.maxItems {
		bad.add(at, "too_long", fmt.Sprintf("must have at most %d items", *s.maxItems))
		fit = false
	}
	for i, v := range array {
		if !s.items.check(v, at+"/"+strconv.Itoa(i), bad) {
			fit = false
		}
	}
	return fit
}

// checkText counts in Unicode code points.
func (s *shape) checkText(text, at string, bad *complaints) bool {
	had := len(*bad)
	n := utf8.RuneCountInString(text)
	if s.minLength != nil && n < *s.minLength {
		bad.add(at, "too_short", atLeast(*s.minLength, "characters"))
		return false // an empty text would also miss every pattern
	}
	if s.maxLength != nil && n > *s.maxLength {
		bad.add(at, "too_long", fmt.Sprintf("must have at most %d characters", *s.maxLength))
	}
	if s.pattern != nil && !s.pattern.MatchString(text) {
		bad.add(at, "pattern", s.patternSays)
	}
	if s.enum != nil && !slices.Contains(s.enum, text) {
		bad.add(at, "enum", "must be one of "+strings.Join(s.enum, ", "))
	}
	if says := formatFault(s.format, text); says != "" {
		bad.add(at, "format", says)
	}
	return len(*bad) == had
}

func atLeast(n int, what string) string {
	if n == 1 {
		return "must not be empty"
	}
	return fmt.Sprintf("must have at least %d %s", n, what)
}

// formatFault judges the formats our types use.
func formatFault(format, text string) string {
	switch format {
	case "date-time":
		if _, err := time.Parse(time.RFC3339, text); err != nil {
			return "must be an RFC 3339 time"
		}
	case "email":
		if a, err := mail.ParseAddress(text); err != nil || a.Name != "" || a.Address != text {
			return "must be an e-mail address"
		}
	case "uri":
		if u, err := url.Parse(text); err != nil || u.Scheme == "" {
			return "must be an absolute address"
		}
	}
	return ""
}

func (s *shape) checkNumber(number json.Number, at string, bad *complaints) bool {
	if s.kind == huma.TypeInteger {
		if _, err := strconv.ParseInt(string(number), 10, 64); errors.Is(err, strconv.ErrSyntax) {
			bad.add(at, "format", "must be a whole number, written without exponent")
			return false
		}
	}
	f, err := number.Float64()
	switch {
	case err != nil || f > 1<<53 || f < -1<<53: // past what every client can hold exactly
		bad.add(at, "range", "is too large a number")
	case s.minimum != nil && f < *s.minimum:
		bad.add(at, "range", fmt.Sprintf("must be at least %v", *s.minimum))
	case s.maximum != nil && f > *s.maximum:
		bad.add(at, "range", fmt.Sprintf("must be at most %v", *s.maximum))
	default:
		return true
	}
	return false
}

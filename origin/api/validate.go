package api

import (
	"cmp"
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

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/accessrequest"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/mission"
	"github.com/fieldmark/fieldmark/origin/portal"
	"github.com/fieldmark/fieldmark/origin/technician"
)

// body is the Go type of a request or response body. A request body also has the schema that the OpenAPI
// document publishes, and that schema compiled for validation.
type body struct {
	goType    reflect.Type
	published *huma.Schema
	schema    *schema
}

// schema validates JSON documents. It is compiled from the schema that the OpenAPI document publishes.
// huma's own validator is not used: its errors name members by a dotted path, which is ambiguous when a
// name has a dot; they contain the rejected value; they come in random order; and names are compared
// without case unless a package variable is set for the whole process.
type schema struct {
	kind       string // a JSON Schema type; empty: anything
	nullable   bool
	members    map[string]*schema
	required   []string
	additional *schema // of members that are not in members; nil: rejected
	items      *schema
	enum       []string

	minimum, maximum     *float64
	minLength, maxLength *int
	minItems, maxItems   *int
	pattern              *regexp.Regexp
	patternDetail        string
	format               string
}

// compile makes a schema of what reg describes.
// The schemas are finite: a type of the API that contained itself would not end here, at start.
func compile(reg huma.Registry, s *huma.Schema) (*schema, error) {
	for s.Ref != "" {
		ref := s.Ref
		if s = reg.SchemaFromRef(ref); s == nil {
			return nil, fmt.Errorf("unresolved reference %s", ref)
		}
	}
	out := &schema{
		kind: s.Type, nullable: s.Nullable, required: s.Required, format: s.Format,
		minimum: s.Minimum, maximum: s.Maximum, minLength: s.MinLength, maxLength: s.MaxLength,
		minItems: s.MinItems, maxItems: s.MaxItems,
	}
	var err error
	if s.Pattern != "" {
		if out.pattern, err = regexp.Compile(s.Pattern); err != nil {
			return nil, err
		}
		out.patternDetail = "must match " + s.Pattern
		if s.PatternDescription != "" {
			out.patternDetail = "must be " + s.PatternDescription
		}
	}
	// Values are compared as text.
	for _, e := range s.Enum {
		out.enum = append(out.enum, fmt.Sprint(e))
	}
	if s.Items != nil {
		if out.items, err = compile(reg, s.Items); err != nil {
			return nil, err
		}
	}
	if additional, ok := s.AdditionalProperties.(*huma.Schema); ok {
		if out.additional, err = compile(reg, additional); err != nil {
			return nil, err
		}
	}
	// A schema of an object without members accepts none, unless additional is set.
	out.members = make(map[string]*schema, len(s.Properties))
	for name, p := range s.Properties {
		if out.members[name], err = compile(reg, p); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return out, nil
}

// check adds every error in v, the value at a JSON Pointer, to errs, and reports whether v can still be
// decoded. Invalid members are deleted from their object; an object that lacks a required member is
// itself invalid.
// v is a tree of parseJSON; null is allowed where the schema says so, and otherwise means
// absent.
func (s *schema) check(v any, at string, errs *validationErrors) bool {
	if v == nil && s.nullable {
		return true
	}
	switch s.kind {
	case huma.TypeObject:
		object, ok := v.(map[string]any)
		if !ok {
			errs.add(at, "format", "must be an object")
			return false
		}
		return s.checkObject(object, at, errs)
	case huma.TypeArray:
		array, ok := v.([]any)
		if !ok {
			errs.add(at, "format", "must be an array")
			return false
		}
		return s.checkArray(array, at, errs)
	case huma.TypeString:
		text, ok := v.(string)
		if !ok {
			errs.add(at, "format", "must be a string")
			return false
		}
		return s.checkText(text, at, errs)
	case huma.TypeInteger, huma.TypeNumber:
		number, ok := v.(json.Number)
		if !ok {
			errs.add(at, "format", "must be a number")
			return false
		}
		return s.checkNumber(number, at, errs)
	case huma.TypeBoolean:
		if _, ok := v.(bool); !ok {
			errs.add(at, "format", "must be true or false")
			return false
		}
	}
	return true
}

// checkObject deletes unknown and invalid members.
// Names are compared exactly, as JSON does. Members are visited in the order of their names, so
// that equal requests get equal errors.
func (s *schema) checkObject(object map[string]any, at string, errs *validationErrors) bool {
	valid := true
	for _, name := range s.required {
		if v, ok := object[name]; !ok || v == nil && !s.members[name].nullable {
			errs.add(child(at, name), "required", "is required")
			delete(object, name)
			valid = false
			// A required member that is null is missing.
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		member := s.members[name]
		if member == nil {
			member = s.additional
		}
		if member == nil {
			errs.add(child(at, name), "unknown_field", "unknown member; names are case-sensitive")
			delete(object, name)
			// Unknown members are errors: a misspelt optional one would be lost silently.
			continue
		}
		if object[name] == nil { // the same as absent, and required members were checked above
			continue
		}
		if !member.check(object[name], child(at, name), errs) {
			delete(object, name)
			valid = valid && !slices.Contains(s.required, name)
		}
	}
	return valid
}

// checkArray checks the number of items and each item. It deletes none, because the indices of
// the errors would be wrong.
func (s *schema) checkArray(array []any, at string, errs *validationErrors) bool {
	valid := true
	if s.minItems != nil && len(array) < *s.minItems {
		errs.add(at, "too_short", atLeast(*s.minItems, len(array), "items"))
		valid = false
	}
	if s.maxItems != nil && len(array) > *s.maxItems {
		errs.add(at, "too_long", fmt.Sprintf("must have at most %d items", *s.maxItems))
		// The number of items is bounded by the budget of parseJSON.
		valid = false
	}
	for i, v := range array {
		if !s.items.check(v, at+"/"+strconv.Itoa(i), errs) {
			valid = false
		}
	}
	return valid
}

// checkText checks a string. Lengths are in Unicode code points.
func (s *schema) checkText(text, at string, errs *validationErrors) bool {
	// Errors before this member are those of its siblings.
	had := len(*errs)
	// As JSON Schema counts (Validation, section 6.3.1), unlike bytes or UTF-16 units.
	n := utf8.RuneCountInString(text)
	if s.minLength != nil && n < *s.minLength {
		errs.add(at, "too_short", atLeast(*s.minLength, n, "characters"))
		return false // an empty string would fail every pattern too
	}
	// The pattern is checked as well: a client sees all faults at once.
	if s.maxLength != nil && n > *s.maxLength {
		errs.add(at, "too_long", fmt.Sprintf("must have at most %d characters", *s.maxLength))
	}
	if s.pattern != nil && !s.pattern.MatchString(text) {
		errs.add(at, "pattern", s.patternDetail)
	}
	if s.enum != nil && !slices.Contains(s.enum, text) {
		errs.add(at, "enum", "must be one of "+strings.Join(s.enum, ", "))
	}
	if detail := formatError(s.format, text); detail != "" {
		errs.add(at, "format", detail)
	}
	return len(*errs) == had
}

// atLeast is the detail of an error about a minimum number, of which there are had.
func atLeast(n, had int, what string) string {
	if had == 0 {
		return "must not be empty"
	}
	return fmt.Sprintf("must have at least %d %s", n, what)
}

// formatError returns why text does not match a format, or "" if it does. It supports the
// formats that the API types use.
func formatError(format, text string) string {
	switch format {
	// Fractions and offsets are allowed; the service stores UTC with milliseconds.
	case "date-time":
		if _, err := time.Parse(time.RFC3339, text); err != nil {
			return "must be an RFC 3339 time"
		}
	case "email":
		if a, err := mail.ParseAddress(text); err != nil || a.Name != "" || a.Address != text {
			return "must be an email address"
		}
	case "uri":
		if u, err := url.Parse(text); err != nil || u.Scheme == "" {
			return "must be an absolute URL"
		}
	}
	return ""
}

// checkNumber checks a number as it was written: 1.0 and 1e3 are not integers of this API.
func (s *schema) checkNumber(number json.Number, at string, errs *validationErrors) bool {
	if s.kind == huma.TypeInteger {
		if _, err := strconv.ParseInt(string(number), 10, 64); errors.Is(err, strconv.ErrSyntax) {
			errs.add(at, "format", "must be an integer without an exponent")
			return false
		}
	}
	f, err := number.Float64()
	switch {
	case err != nil || f > 1<<53 || f < -1<<53: // JavaScript cannot represent larger integers exactly
		errs.add(at, "range", "must be from -2^53 to 2^53")
	case s.minimum != nil && f < *s.minimum:
		errs.add(at, "range", fmt.Sprintf("must be at least %v", *s.minimum))
	case s.maximum != nil && f > *s.maximum:
		errs.add(at, "range", fmt.Sprintf("must be at most %v", *s.maximum))
	default:
		return true
	}
	return false
}

// check returns the errors in a decoded body that its schema cannot express. It also brings bodies into
// their normal form.
// Most types need nothing here; their services validate again, since other callers do not come
// through the API.
func check(decoded any) []fieldmark.FieldError {
	switch b := decoded.(type) {
	case *fieldmark.MissionRequest:
		return checkMission(b)
	case *fieldmark.MissionPlan:
		if b.Scheduled != nil {
			return mission.ValidateSpan(*b.Scheduled, "/scheduled")
		}
	case *transition:
		return b.check()
	case *fieldmark.NoteRequest:
		return mission.ValidateNote(b)
	case *fieldmark.PaymentRequest:
		return mission.ValidatePayment(b, "")
	case *fieldmark.AccessRequestForm:
		return accessrequest.ValidateForm(b)
	case *fieldmark.PortalLinkRequest:
		return portal.Validate(b)
	case *fieldmark.TechnicianLinkRequest:
		return technician.ValidateLink(b)
	case *fieldmark.CalendarRequest:
		return mission.ValidateCalendar(b)
	case *fieldmark.AccountRequest:
		return access.ValidateAccount(b)
	case *fieldmark.KeyRequest:
		return checkScopes(b.Scopes)
	case *fieldmark.EndpointRequest:
		return checkPatterns(b.Events)
	case *fieldmark.EndpointPatch:
		return checkPatterns(b.Events)
	case *renaming:
		if !fieldmark.ValidSlug(b.Slug) {
			return []fieldmark.FieldError{{
				Pointer: "/slug", Code: "pattern", Detail: "must be 1 to 63 of a-z, 0-9 and single hyphens",
			}}
		}
	}
	return nil
}

// checkScopes returns the errors in a list of scopes.
func checkScopes(scopes []fieldmark.Scope) (errs validationErrors) {
	for i, scope := range scopes {
		if _, err := fieldmark.ParseScope(string(scope)); err != nil {
			errs.add("/scopes/"+strconv.Itoa(i), "enum", "must be a known scope")
		}
	}
	return errs
}

// checkPatterns returns the errors in a list of event types and groups.
func checkPatterns(patterns []string) (errs validationErrors) {
	for i, pattern := range patterns {
		if !event.ValidPattern(pattern) {
			errs.add("/events/"+strconv.Itoa(i), "enum", "must be an event type, or a group such as mission.*")
		}
	}
	return errs
}

// maxPointerToken is the length, in code points, at which the name of a member is cut in a pointer: the
// name comes from the client.
const maxPointerToken = 128

// validationErrors collects everything that is wrong with a request, so that a client can correct all of
// it at once. Rejected values are never part of it, because problem documents are logged.
type validationErrors []fieldmark.FieldError

// add adds one error. code is one of the codes of fields that the API documents.
func (e *validationErrors) add(pointer, code, detail string) {
	*e = append(*e, fieldmark.FieldError{Pointer: pointer, Code: code, Detail: detail})
}

// merge adds the errors about members that have none yet; the schema and the rules of the product often
// reject the same value.
func (e *validationErrors) merge(more []fieldmark.FieldError) {
	had := len(*e)
	for _, m := range more {
		if !slices.ContainsFunc((*e)[:had], func(f fieldmark.FieldError) bool { return f.Pointer == m.Pointer }) {
			*e = append(*e, m)
		}
	}
}

// err returns an error with a code and all validation errors, or nil without any.
// The errors are sorted by pointer, so that equal requests get equal responses.
func (e validationErrors) err(code fieldmark.Code) error {
	if len(e) == 0 {
		return nil
	}
	slices.SortStableFunc(e, func(a, b fieldmark.FieldError) int {
		return cmp.Or(strings.Compare(a.Pointer, b.Pointer), strings.Compare(a.Code, b.Code))
	})
	return &fieldmark.Error{Code: code, Detail: "see errors", Fields: e}
}

// pointerEscapes is shared, because a replacer builds kilobytes of tables on first use.
var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// child extends a JSON Pointer by one name (RFC 6901, section 3).
func child(pointer, name string) string {
	return pointer + "/" + pointerEscapes.Replace(clip(name))
}

// clip cuts a name to maxPointerToken.
// The cut is between characters.
func clip(name string) string {
	n := 0
	for i := range name {
		if n++; n > maxPointerToken {
			return name[:i] + "…"
		}
	}
	return name
}

// paramError is the error about one query parameter.
func paramError(name, code, detail string) error {
	return validationErrors{{Pointer: "?" + name, Code: code, Detail: detail}}.err(fieldmark.CodeInvalidParameter)
}

// errInvalidCursor is the error of a cursor that was changed, or that belongs to other filters.
func errInvalidCursor() error {
	return fieldmark.Errorf(fieldmark.CodeInvalidCursor, "use nextCursor of the previous page")
}

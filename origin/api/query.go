package api

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/fieldmark/fieldmark"
)

// maxQueryText bounds the value of one parameter in bytes: the longest is an externalId of 255 code points.
const maxQueryText = 4 * 255

// param is one query parameter of a route.
// The same description makes the OpenAPI document and the validation, so they cannot differ.
type param struct {
	name        string
	description string
	many        bool     // may be repeated
	enum        []string // the values, compared without case; nil: any text
	lowest      int      // with highest: the parameter is an integer within these limits
	highest     int
	preset      int  // of an integer that is missing
	time        bool // an RFC 3339 time
}

// schema is the schema of the parameter in the OpenAPI document.
// The default is in the schema, so clients see what a missing parameter means.
func (p param) schema() *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString}
	for _, e := range p.enum {
		s.Enum = append(s.Enum, e)
	}
	if p.highest > 0 {
		lowest, highest := float64(p.lowest), float64(p.highest)
		s = &huma.Schema{Type: huma.TypeInteger, Minimum: &lowest, Maximum: &highest, Default: p.preset}
	}
	if p.time {
		s.Format = "date-time"
	}
	if p.many {
		s = &huma.Schema{Type: huma.TypeArray, Items: s}
	}
	return s
}

// query holds the validated query parameters of a request.
// A parameter that was not sent is empty, or its preset.
type query struct {
	values  url.Values
	numbers map[string]int
	times   map[string]fieldmark.Time
}

// parseQuery rejects unknown parameters and invalid values, all at once. Unknown ones are errors because a
// misspelled filter would return everything.
// Values are stored in the form in which handlers need them, so they are parsed once.
func parseQuery(raw string, params []param) (query, error) {
	q := query{numbers: map[string]int{}, times: map[string]fieldmark.Time{}}
	var err error
	if q.values, err = url.ParseQuery(raw); err != nil {
		return q, fieldmark.Errorf(fieldmark.CodeInvalidParameter, "the query is malformed")
	}
	var errs validationErrors
	// The name comes from the client, so it is cut.
	for name := range q.values {
		if !slices.ContainsFunc(params, func(p param) bool { return p.name == name }) {
			errs.add("?"+clip(name), "unknown_field", "unknown parameter")
		}
	}
	for _, p := range params {
		values := q.values[p.name]
		if p.highest > 0 {
			q.numbers[p.name] = p.preset
		}
		// A repeated parameter would be read differently by different programs.
		if len(values) > 1 && !p.many {
			errs.add("?"+p.name, "format", "must not be repeated")
			continue
		}
		for _, text := range values {
			p.check(text, &q, &errs)
		}
	}
	return q, errs.err(fieldmark.CodeInvalidParameter)
}

// check validates one value of the parameter and stores it in q.
func (p param) check(text string, q *query, errs *validationErrors) {
	switch {
	case p.highest > 0:
		n, err := strconv.Atoi(text)
		if err != nil || n < p.lowest || n > p.highest {
			errs.add("?"+p.name, "range", fmt.Sprintf("must be an integer from %d to %d", p.lowest, p.highest))
			return
		}
		q.numbers[p.name] = n
	// An empty filter would match nothing or everything, depending on the reader.
	case text == "":
		errs.add("?"+p.name, "too_short", "must not be empty")
	case len(text) > maxQueryText:
		errs.add("?"+p.name, "too_long", fmt.Sprintf("must have at most %d bytes", maxQueryText))
	case p.time:
		// An unescaped plus sign is decoded as a space.
		at, err := time.Parse(time.RFC3339, strings.Replace(text, " ", "+", 1))
		if err != nil {
			errs.add("?"+p.name, "format", "must be an RFC 3339 time")
			return
		}
		if at.Before(time.UnixMilli(0)) {
			at = time.UnixMilli(0) // the zero time would mean that there is no filter
		}
		q.times[p.name] = fieldmark.At(at)
	case p.enum != nil && !slices.ContainsFunc(p.enum, func(e string) bool { return strings.EqualFold(e, text) }):
		errs.add("?"+p.name, "enum", "must be one of "+strings.Join(p.enum, ", "))
	}
}

// text returns the first value of a parameter, or "".
func (q query) text(name string) string { return q.values.Get(name) }

// number returns the value of an integer, its preset if it is missing.
func (q query) number(name string) int { return q.numbers[name] }

// duration reads a duration of at most longest; a number without a unit is in seconds.
// A bare number is what most clients send.
func (q query) duration(name string, longest time.Duration) (time.Duration, error) {
	text := q.text(name)
	if text == "" {
		return 0, nil
	}
	if _, err := strconv.Atoi(text); err == nil {
		text += "s"
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > longest {
		return 0, paramError(name, "range", fmt.Sprintf("must be a duration from 0s to %s", longest))
	}
	return d, nil
}

// timeOrZero reads an RFC 3339 time; the zero time if the parameter is missing.
func (q query) timeOrZero(name string) (time.Time, error) {
	text := q.text(name)
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, paramError(name, "format", "must be an RFC 3339 time")
	}
	return at, nil
}

// worldParam selects the objects of test worlds in the lists of administrators.
var worldParam = param{name: "world", description: "test: only those of test worlds, which are left out otherwise",
	enum: []string{fieldmark.WorldTest}}

// worlds reports whether a list for an administrator is that of test worlds. One that names a test
// account must have a parameter for it too: nothing of a test world is in a list of live data by accident.
func (c *call) worlds(account string) (bool, error) {
	worlds := c.params.text("world") != ""
	if account != "" && fieldmark.IsTestAccount(account) != worlds {
		return false, paramError("account", "conflict",
			"a test account needs world=test, and another one must not have it")
	}
	return worlds, nil
}

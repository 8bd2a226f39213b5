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

// maxQueryText bounds the text of one parameter, in bytes: the longest thing to
// look for is an externalId of 255 code points.
const maxQueryText = 4 * 255

// param is one query parameter of a route.
type param struct {
	name    string
	does    string
	many    bool     // may be repeated
	enum    []string // what it may be, as documented; any case is accepted; nil: any text
	lowest  int      // a whole number within these, if highest is set
	highest int
	preset  int  // what it is when it is not given
	time    bool // it is a time
}

// schema describes the parameter to the OpenAPI document.
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

// query is what a request asked for, after every value was held to its parameter.
type query struct {
	values  url.Values
	numbers map[string]int
	times   map[string]fieldmark.Time
}

// parseQuery refuses unknown and unfit parameters, all at once: a filter with a
// typing error must not quietly list everything.
func parseQuery(raw string, params []param) (query, error) {
	q := query{numbers: map[string]int{}, times: map[string]fieldmark.Time{}}
	var err error
	if q.values, err = url.ParseQuery(raw); err != nil {
		return q, fieldmark.Errorf(fieldmark.CodeInvalidParameter, "the query cannot be read")
	}
	var bad complaints
	for name := range q.values {
		if !slices.ContainsFunc(params, func(p param) bool { return p.name == name }) {
			bad.add("?"+clip(name), "unknown_field", "no such parameter here")
		}
	}
	for _, p := range params {
		given := q.values[p.name]
		if p.highest > 0 {
			q.numbers[p.name] = p.preset
		}
		if len(given) > 1 && !p.many {
			bad.add("?"+p.name, "format", "must be given once")
			continue
		}
		for _, text := range given {
			p.check(text, &q, &bad)
		}
	}
	return q, bad.err(fieldmark.CodeInvalidParameter)
}

// check holds one value to its parameter.
func (p param) check(text string, q *query, bad *complaints) {
	switch {
	case p.highest > 0:
		n, err := strconv.Atoi(text)
		if err != nil || n < p.lowest || n > p.highest {
			bad.add("?"+p.name, "range", fmt.Sprintf("must be a whole number from %d to %d", p.lowest, p.highest))
			return
		}
		q.numbers[p.name] = n
	case text == "":
		bad.add("?"+p.name, "too_short", "must not be empty")
	case len(text) > maxQueryText:
		bad.add("?"+p.name, "too_long", fmt.Sprintf("must have at most %d bytes", maxQueryText))
	case p.time:
		// A plus sign that was not escaped has become a space.
		at, err := time.Parse(time.RFC3339, strings.Replace(text, " ", "+", 1))
		if err != nil {
			bad.add("?"+p.name, "format", "must be an RFC 3339 time")
			return
		}
		if at.Before(time.UnixMilli(0)) {
			at = time.UnixMilli(0) // since ever; a zero time would be none
		}
		q.times[p.name] = fieldmark.At(at)
	case p.enum != nil && !slices.ContainsFunc(p.enum, func(e string) bool { return strings.EqualFold(e, text) }):
		bad.add("?"+p.name, "enum", "must be one of "+strings.Join(p.enum, ", "))
	}
}

func (q query) text(name string) string { return q.values.Get(name) }

func (q query) number(name string) int { return q.numbers[name] }

// seconds reads a whole number of seconds, with or without the unit.
func (q query) wait(name string, longest time.Duration) (time.Duration, error) {
	text := q.text(name)
	if text == "" {
		return 0, nil
	}
	if _, err := strconv.Atoi(text); err == nil {
		text += "s"
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > longest {
		var bad complaints
		bad.add("?"+name, "range", fmt.Sprintf("must be a time from 0s to %s", longest))
		return 0, bad.err(fieldmark.CodeInvalidParameter)
	}
	return d, nil
}

// instant reads an RFC 3339 time; the zero time where none was given.
func (q query) instant(name string) (time.Time, error) {
	text := q.text(name)
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, &fieldmark.Error{Code: fieldmark.CodeInvalidParameter, Detail: "the query is not acceptable",
			Fields: []fieldmark.FieldError{{Pointer: "?" + name, Code: "format", Detail: "must be an RFC 3339 time"}}}
	}
	return at, nil
}

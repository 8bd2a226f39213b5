package rfc9111

import (
	"net/http"
	"strconv"

	"github.com/dunglas/httpsfv"
)

// targetedFields is the target list of RFC 9213, 2.2: the first of these fields
// with a valid value takes precedence.
var targetedFields = [...]string{"Cdn-Cache-Control"}

// secondsDirectives take a number of seconds.
var secondsDirectives = map[string]bool{"max-age": true, "s-maxage": true, "stale-while-revalidate": true,
	"stale-if-error": true}

// fieldDirectives may take a list of field names.
var fieldDirectives = map[string]bool{"private": true, "no-cache": true}

// targeted returns the directives of the targeted field that applies. It is a
// structured field (RFC 9213, 2.1): if it is malformed, or a known directive has an
// argument of the wrong type, the whole field is ignored and Cache-Control applies.
func targeted(h http.Header) (Directives, bool) {
	for _, name := range targetedFields {
		lines := h[name]
		if len(lines) == 0 {
			continue
		}
		dict, err := parseDictionary(lines)
		if err != nil || len(dict.Names()) == 0 {
			continue
		}
		if d, ok := directivesOf(dict); ok {
			return d, true
		}
	}
	return Directives{}, false
}

// directivesOf converts a structured dictionary. ok is false if an argument has the
// wrong type.
func directivesOf(dict *httpsfv.Dictionary) (d Directives, ok bool) {
	for _, name := range dict.Names() {
		member, _ := dict.Get(name)
		item, isItem := member.(httpsfv.Item)
		if !isItem {
			if isKnownDirective(name) {
				return d, false
			}
			continue
		}
		x := directive{name: name}
		switch v := item.Value.(type) {
		case int64:
			if v < 0 && secondsDirectives[name] {
				return d, false
			}
			x.value, x.hasValue = strconv.FormatInt(v, 10), true
		case bool:
			if !v {
				continue // explicitly disabled
			}
		case string:
			x.value, x.hasValue = v, true
		}
		if isKnownDirective(name) && !validArgument(name, item.Value) {
			return d, false
		}
		d.list = append(d.list, x)
	}
	return d, true
}

// isKnownDirective reports whether this package evaluates a directive.
func isKnownDirective(name string) bool {
	switch name {
	case "no-store", "must-revalidate", "proxy-revalidate", "public", "must-understand", "immutable", "no-transform":
		return true
	}
	return secondsDirectives[name] || fieldDirectives[name]
}

// validArgument reports whether an argument has the type its directive takes.
func validArgument(name string, value any) bool {
	switch value.(type) {
	case int64:
		return secondsDirectives[name]
	case bool:
		return !secondsDirectives[name]
	case string:
		return fieldDirectives[name]
	}
	return false
}

package rfc9111

import (
	"errors"

	"github.com/dunglas/httpsfv"
)

// errStructuredField replaces a panic of the parser.
var errStructuredField = errors.New("not a structured field")

// parseList and parseDictionary parse structured fields (RFC 9651, 4.2). The parser
// panics on some display strings; a malicious origin must not be able to end the
// process.
func parseList(lines []string) (l httpsfv.List, err error) {
	defer func() {
		if recover() != nil {
			l, err = nil, errStructuredField
		}
	}()
	return httpsfv.UnmarshalList(lines)
}

func parseDictionary(lines []string) (d *httpsfv.Dictionary, err error) {
	defer func() {
		if recover() != nil {
			d, err = nil, errStructuredField
		}
	}()
	return httpsfv.UnmarshalDictionary(lines)
}

package rfc9111

import (
	"errors"

	"github.com/dunglas/httpsfv"
)

// errStructuredField stands for whatever the parser of structured fields panicked on.
var errStructuredField = errors.New("not a structured field")

// parseList and dictionary parse structured fields (RFC 9651, 4.2). The parser panics
// at display strings that do not begin a field; an origin that sends one must not
// end the process.
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

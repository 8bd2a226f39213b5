package rfc9111

import (
	"errors"

	"github.com/dunglas/httpsfv"
)

// errUnreadable stands for whatever the parser of structured fields panicked on.
var errUnreadable = errors.New("not a structured field")

// list and dictionary parse structured fields (RFC 9651, 4.2). The parser panics
// at display strings that do not begin a field; an origin that sends one must not
// end the process.
func list(lines []string) (l httpsfv.List, err error) {
	defer func() {
		if recover() != nil {
			l, err = nil, errUnreadable
		}
	}()
	return httpsfv.UnmarshalList(lines)
}

func dictionary(lines []string) (d *httpsfv.Dictionary, err error) {
	defer func() {
		if recover() != nil {
			d, err = nil, errUnreadable
		}
	}()
	return httpsfv.UnmarshalDictionary(lines)
}

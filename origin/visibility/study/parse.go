package study

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// maxErrors is how many errors of a file are collected: longer lists are not read to the end.
const maxErrors = 1_000

// ParseJSON reads the document of one engine. The error is a fieldmark.Error that names every fault.
func ParseJSON(body []byte) (*Document, error) {
	if len(body) > MaxBody {
		return nil, fieldmark.Errorf(fieldmark.CodeBodyTooLarge, "a document has at most %d bytes", MaxBody)
	}
	var d Document
	in := json.NewDecoder(bytes.NewReader(body))
	// A misspelled optional member would be ignored, and its counts would be missing without notice.
	in.DisallowUnknownFields()
	if err := in.Decode(&d); err != nil {
		return nil, validation.Error("", "format", "is not a document of form 2: "+place(body, in.InputOffset(), err))
	}
	// A second object would not be counted.
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return nil, validation.Error("", "format", "must be one object"+position(body, in.InputOffset()))
	}
	if bad := d.check("", nil); bad != nil {
		addPlaces(body, bad)
		return nil, bad.Err()
	}
	d.canonical()
	return &d, nil
}

// place returns what is wrong with JSON and where. Values of the file are not repeated.
// A file may have the texts of answers, which errors must not spread.
func place(body []byte, offset int64, err error) string {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return "a syntax error" + position(body, syntax.Offset)
	}
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf("a value of %s has another type%s", kind.Field, position(body, kind.Offset))
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return "it ends early" + position(body, int64(len(body)))
	}
	return "an unknown member or a malformed row" + position(body, offset)
}

// position returns a place in a text as line and column.
// Columns count bytes from 1, as editors that open at a place expect.
func position(body []byte, offset int64) string {
	before := body[:min(max(offset, 0), int64(len(body)))]
	line := bytes.Count(before, []byte("\n")) + 1
	return fmt.Sprintf(", line %d, column %d", line, len(before)-bytes.LastIndexByte(before, '\n')-1)
}

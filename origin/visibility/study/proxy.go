package study

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// ParseProxy reads a CSV file (RFC 4180) with a proxy variable of the popularity of brands. It has two columns: slug,
// and one whose name is that of the variable. The error names every fault by its line and column.
func ParseProxy(body []byte) (name string, v fieldmark.ProxyVariable, err error) {
	c := &checker{}
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(body, []byte("\uFEFF"))))
	r.FieldsPerRecord = -1 // checked for each row, so that all are named
	header, err := r.Read()
	if err != nil || len(header) != 2 || strings.TrimSpace(header[0]) != "slug" {
		return "", v, validation.Error("/1", "format", "must be slug and the name of the variable, line 1, column 1")
	}
	name = strings.TrimSpace(header[1])
	header = []string{"slug", name}
	if !fieldmark.ValidSlug(name) {
		_, column := r.FieldPos(1)
		return "", v, validation.Error("/1", "pattern", fmt.Sprintf(
			"the name of the variable must have the form of a slug, line 1, column %d", column))
	}
	v.Values = []fieldmark.ProxyValue{}
	lines := map[fieldmark.Slug]int{}
	for {
		fields, err := r.Read()
		if errors.Is(err, io.EOF) {
			return name, v, c.bad.Err()
		}
		if broken, ok := errors.AsType[*csv.ParseError](err); ok { // where the next record begins is unknown
			c.bad.Add(fmt.Sprintf("/%d", broken.StartLine), "format", fmt.Sprintf(
				"is not a CSV record: %v, line %d, column %d", broken.Err, broken.Line, broken.Column))
			return name, v, c.bad.Err()
		}
		line, _ := r.FieldPos(0)
		pointer := fmt.Sprintf("/%d", line)
		c.row = &csvPlace{line: line, header: header}
		for i := range fields {
			_, column := r.FieldPos(i)
			c.row.at = append(c.row.at, column)
		}
		if len(v.Values) == fieldmark.MaxProxyValues || len(c.bad) >= maxErrors {
			c.bad.Add(pointer, "range", fmt.Sprintf("the file has more than %d rows, or too many errors, line %d",
				fieldmark.MaxProxyValues, line))
			return name, v, c.bad.Err()
		}
		if len(fields) != 2 {
			c.wantIn(false, "slug", pointer, "format", fmt.Sprintf("has %d fields, not 2", len(fields)))
			continue
		}
		slug := fieldmark.Slug(strings.TrimSpace(fields[0]))
		value, err := strconv.ParseInt(strings.TrimSpace(fields[1]), 10, 64)
		c.want(fieldmark.ValidSlug(string(slug)), pointer+"/slug", "pattern", "must be a slug")
		c.want(err == nil && value >= 0 && value <= fieldmark.MaxProxyValue, pointer+"/"+name, "range",
			fmt.Sprintf("must be a whole number of 0 to %d", int64(fieldmark.MaxProxyValue)))
		c.want(lines[slug] == 0, pointer+"/slug", "conflict", fmt.Sprintf("is in line %d too", lines[slug]))
		lines[slug] = line
		v.Values = append(v.Values, fieldmark.ProxyValue{Brand: slug, Value: value})
	}
}

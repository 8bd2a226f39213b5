package brand

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fieldmark/fieldmark"
)

// ParseFile reads the file of an import of brands: CSV or a list in JSON. The format follows from the content, because
// file names and media types of browsers are unreliable. unit names what the file has, lines or records; lineOf
// returns the number of a brand in this unit. Errors are for the person who chose the file.
func ParseFile(file []byte) (brands []fieldmark.Brand, unit string, lineOf func(int) int, err error) {
	read, unit := parseCSV, "lines"
	if isJSON(file) {
		read, unit = parseJSON, "records"
	}
	brands, lineOf, err = read(file)
	return brands, unit, lineOf, err
}

// isJSON reports whether a file begins like a list in JSON.
func isJSON(file []byte) bool {
	start := bytes.TrimSpace(bytes.TrimPrefix(file, []byte("\uFEFF")))
	return len(start) > 0 && start[0] == '['
}

// parseJSON reads a list of brands, with the number of each record. It reads at most one record more than an import may
// have, so the import detects that there are too many.
func parseJSON(file []byte) ([]fieldmark.Brand, func(int) int, error) {
	refuse := func(record int, err error) ([]fieldmark.Brand, func(int) int, error) {
		return nil, nil, fieldmark.Errorf(fieldmark.CodeMalformedJSON,
			"Record %d of the file %s. Nothing was imported.",
			record, describeJSONError(err))
	}
	dec := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(file, []byte("\uFEFF"))))
	// As in CSV: the values of a misspelt member would be lost silently.
	dec.DisallowUnknownFields()
	if _, err := dec.Token(); err != nil { // the opening bracket
		return refuse(1, err)
	}
	var brands []fieldmark.Brand
	for dec.More() && len(brands) <= MaxImport {
		var r struct {
			fieldmark.Brand
			Aliases   []string `json:"aliases"` // exports have them; they are not imported
			CreatedAt string   `json:"createdAt"`
			UpdatedAt string   `json:"updatedAt"`
		}
		if err := dec.Decode(&r); err != nil {
			return refuse(len(brands)+1, err)
		}
		r.Brand.CreatedAt, r.Brand.UpdatedAt = fieldmark.Time{}, fieldmark.Time{}
		brands = append(brands, r.Brand)
	}
	if len(brands) <= MaxImport {
		if _, err := dec.Token(); err != nil { // the closing bracket
			return refuse(len(brands), err)
		}
	}
	return brands, func(record int) int { return record + 1 }, nil
}

// describeJSONError describes a JSON error in the terms of the imported file.
// It names records and members, which a person finds in the file.
func describeJSONError(err error) string {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if wrong.Field == "" {
			return "is not an object"
		}
		return fmt.Sprintf("has a %s in %s", wrong.Value, wrong.Field[strings.LastIndexByte(wrong.Field, '.')+1:])
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return "has the unknown member " + name
	}
	return "is not valid JSON, or the file ends within it"
}

// ImportColumns names csvColumns in errors and in the help of the import form.
const ImportColumns = "slug, name, url, niche, language, description and public"

// csvColumns are the columns of a CSV import of brands. Their names are those of the JSON members.
// A new column is a row here and a word in ImportColumns.
var csvColumns = map[string]func(*fieldmark.Brand, string){
	"slug":        func(b *fieldmark.Brand, s string) { b.Slug = fieldmark.Slug(s) },
	"name":        func(b *fieldmark.Brand, s string) { b.Name = s },
	"url":         func(b *fieldmark.Brand, s string) { b.URL = s },
	"niche":       func(b *fieldmark.Brand, s string) { b.Niche = s },
	"language":    func(b *fieldmark.Brand, s string) { b.Language = s },
	"description": func(b *fieldmark.Brand, s string) { b.Description = s },
	"public": func(b *fieldmark.Brand, s string) {
		b.Public = slices.Contains([]string{"true", "yes", "1"}, strings.ToLower(s))
	},
}

// parseCSV reads a file whose first line names the columns (RFC 4180). Fields may also be separated by
// semicolons, as spreadsheets do in some countries. Without a column public, brands are public. lineOf
// returns the line of a record.
// The separator is the one that the first line has more often.
func parseCSV(file []byte) (brands []fieldmark.Brand, lineOf func(int) int, err error) {
	text := bytes.TrimPrefix(file, []byte("\uFEFF"))
	rows := csv.NewReader(bytes.NewReader(text))
	rows.FieldsPerRecord = -1
	first, _, _ := bytes.Cut(text, []byte("\n"))
	if bytes.Count(first, []byte(";")) > bytes.Count(first, []byte(",")) {
		rows.Comma = ';'
	}
	header, err := rows.Read()
	if err != nil {
		return nil, nil, fieldmark.Errorf(fieldmark.CodeInvalidParameter,
			"The first line of the file must name its columns: "+ImportColumns+".")
	}
	for i, name := range header {
		if header[i] = strings.ToLower(strings.TrimSpace(name)); csvColumns[header[i]] == nil ||
			slices.Contains(header[:i], header[i]) {
			return nil, nil, fieldmark.Errorf(fieldmark.CodeInvalidParameter,
				"Column %d is unknown or repeated. The columns are "+ImportColumns+".", i+1)
		}
	}
	var lines []int
	for {
		row, err := rows.Read()
		if err == io.EOF {
			return brands, func(record int) int { return lines[record] }, nil
		}
		if err != nil {
			return nil, nil, fieldmark.Errorf(fieldmark.CodeInvalidParameter,
				"The file is not valid CSV: %v. Nothing was imported.", err)
		}
		n, _ := rows.FieldPos(0)
		b := fieldmark.Brand{Public: !slices.Contains(header, "public")}
		for i, value := range row {
			if i < len(header) {
				csvColumns[header[i]](&b, strings.TrimSpace(value))
			}
		}
		brands, lines = append(brands, b), append(lines, n)
		if len(brands) > MaxImport { // the import rejects the file
			return brands, func(record int) int { return lines[record] }, nil
		}
	}
}

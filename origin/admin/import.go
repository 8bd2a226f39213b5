package admin

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/brand"
)

// uploadName is the field of a form that carries a file.
const uploadName = "file"

// upload reads a posted file of bounded size. Only the first part of that name
// counts; nothing is written to disk.
func (v *visit) upload(most int64) ([]byte, error) {
	tooLarge := fieldmark.Errorf(fieldmark.CodeBodyTooLarge, "The file may have at most %d MiB.", most>>20)
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, most+maxForm)
	parts, err := v.r.MultipartReader()
	if err != nil {
		return nil, fieldmark.Errorf(fieldmark.CodeInvalidParameter, "Choose a file.")
	}
	for {
		part, err := parts.NextPart()
		if err != nil {
			return nil, fieldmark.Errorf(fieldmark.CodeInvalidParameter, "Choose a file.")
		}
		if part.FormName() != uploadName {
			continue
		}
		b, err := io.ReadAll(io.LimitReader(part, most+1))
		if err != nil || int64(len(b)) > most {
			return nil, tooLarge
		}
		if len(b) == 0 {
			return nil, fieldmark.Errorf(fieldmark.CodeInvalidParameter, "Choose a file that is not empty.")
		}
		return b, nil
	}
}

// importData is the report on a file.
type importData struct {
	What                      string
	Added, Updated, Unchanged int
	Rejected                  []rejection
	Problems                  int // those of Rejected and the ones omitted
	Back                      string
}

// rejection is a line of a file that was refused, and why.
type rejection struct {
	Line   string
	Field  string
	Detail string
}

// rejections reads what a report says of lines: /12/url.
func rejections(list []fieldmark.FieldError, lineOf func(record int) int) (all []rejection) {
	for _, f := range list {
		record, field, _ := strings.Cut(strings.TrimPrefix(f.Pointer, "/"), "/")
		if n, err := strconv.Atoi(record); err == nil {
			record = strconv.Itoa(lineOf(n))
		}
		all = append(all, rejection{Line: record, Field: field, Detail: f.Detail})
	}
	return all
}

// importBrands takes brands from a file of CSV or JSON.
func (a *area) importBrands(v *visit) error {
	file, err := v.upload(fieldmark.MaxBulkBody - maxForm)
	if err != nil {
		return a.importRefused(v, err)
	}
	read, unit := readBrandsCSV, "lines"
	if isJSON(file) {
		read, unit = readBrandsJSON, "records"
	}
	brands, lineOf, err := read(file)
	if err != nil {
		return a.importRefused(v, err)
	}
	report, err := a.origin.Brands.ImportBrands(v.r.Context(), brands)
	if err != nil {
		return a.importRefused(v, err)
	}
	a.did(v, "brand.import", fmt.Sprintf("%d %s", len(brands), unit))
	return a.show(v, http.StatusOK, "import", page{Title: "Brands were imported", Data: importData{What: unit, Added: report.Added, Updated: report.Updated,
		Unchanged: report.Unchanged, Problems: len(report.Rejected) + report.Omitted, Rejected: rejections(report.Rejected, lineOf), Back: brandsPath}})
}

// importRefused shows the list again with what is wrong with the file.
func (a *area) importRefused(v *visit, err error) error {
	e := fieldmark.AsError(err)
	if e.Code.Status() >= 500 {
		return err
	}
	return a.showBrands(v, e.Code.Status(), fieldmark.Brand{Language: "en", Public: true}, v.complaintsOf(e))
}

func isJSON(file []byte) bool {
	start := bytes.TrimSpace(bytes.TrimPrefix(file, []byte("\uFEFF")))
	return len(start) > 0 && start[0] == '['
}

func readBrandsJSON(file []byte) ([]fieldmark.Brand, func(int) int, error) {
	refuse := func(record int, err error) ([]fieldmark.Brand, func(int) int, error) {
		return nil, nil, fieldmark.Errorf(fieldmark.CodeMalformedJSON, "Record %d of the file %s. Nothing was imported.", record, jsonFault(err))
	}
	dec := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(file, []byte("\uFEFF"))))
	dec.DisallowUnknownFields()
	if _, err := dec.Token(); err != nil { // the bracket that begins the list
		return refuse(1, err)
	}
	var brands []fieldmark.Brand
	for dec.More() && len(brands) <= brand.MaxImport {
		var r struct {
			fieldmark.Brand
			Aliases   []string `json:"aliases"` // as exports have them; they have a form of their own
			CreatedAt string   `json:"createdAt"`
			UpdatedAt string   `json:"updatedAt"`
		}
		if err := dec.Decode(&r); err != nil {
			return refuse(len(brands)+1, err)
		}
		r.Brand.CreatedAt, r.Brand.UpdatedAt = fieldmark.Time{}, fieldmark.Time{}
		brands = append(brands, r.Brand)
	}
	if len(brands) <= brand.MaxImport {
		if _, err := dec.Token(); err != nil { // the bracket that ends it
			return refuse(len(brands), err)
		}
	}
	return brands, func(record int) int { return record + 1 }, nil
}

// jsonFault says what is wrong with a record, in the words of the file.
func jsonFault(err error) string {
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

// brandColumns are the columns of a CSV file of brands, named as in JSON.
var brandColumns = map[string]func(*fieldmark.Brand, string){
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

// readBrandsCSV reads a file whose first line names the columns (RFC 4180). A
// semicolon may stand for the comma, as spreadsheets write it in some countries.
// Without a column for it, brands are public. The function returned tells the
// line of a record.
func readBrandsCSV(file []byte) (brands []fieldmark.Brand, lineOf func(int) int, err error) {
	text := bytes.TrimPrefix(file, []byte("\uFEFF"))
	rows := csv.NewReader(bytes.NewReader(text))
	rows.FieldsPerRecord = -1
	first, _, _ := bytes.Cut(text, []byte("\n"))
	if bytes.Count(first, []byte(";")) > bytes.Count(first, []byte(",")) {
		rows.Comma = ';'
	}
	header, err := rows.Read()
	if err != nil {
		return nil, nil, fieldmark.Errorf(fieldmark.CodeInvalidParameter, "The first line of the file must name its columns: slug, name, url, niche, language, description, public.")
	}
	for i, name := range header {
		if header[i] = strings.ToLower(strings.TrimSpace(name)); brandColumns[header[i]] == nil || slices.Contains(header[:i], header[i]) {
			return nil, nil, fieldmark.Errorf(fieldmark.CodeInvalidParameter, "Column %d is unknown or named twice; known are slug, name, url, niche, language, description and public.", i+1)
		}
	}
	var lines []int
	for {
		row, err := rows.Read()
		if err == io.EOF {
			return brands, func(record int) int { return lines[record] }, nil
		}
		if err != nil {
			return nil, nil, fieldmark.Errorf(fieldmark.CodeInvalidParameter, "The file is no CSV: %v. Nothing was imported.", err)
		}
		n, _ := rows.FieldPos(0)
		b := fieldmark.Brand{Public: !slices.Contains(header, "public")}
		for i, value := range row {
			if i < len(header) {
				brandColumns[header[i]](&b, strings.TrimSpace(value))
			}
		}
		brands, lines = append(brands, b), append(lines, n)
		if len(brands) > brand.MaxImport { // refused by the import
			return brands, func(record int) int { return lines[record] }, nil
		}
	}
}

// importSamples takes answer samples from a file of CSV.
func (a *area) importSamples(v *visit) error {
	file, err := v.upload(fieldmark.MaxBulkBody - maxForm)
	if err != nil {
		return a.importRefused(v, err)
	}
	lines, err := brand.ReadSamplesCSV(file)
	if err != nil {
		return a.importRefused(v, err)
	}
	report, err := a.origin.Brands.Samples.ImportVisibility(v.r.Context(), v.user, fieldmark.DigestOf(sha256.Sum256(file)), lines)
	if err != nil {
		return a.importRefused(v, err)
	}
	a.did(v, "visibility.import", string(report.FileHash))
	return a.show(v, http.StatusOK, "import", page{Title: "Answer samples were imported", Data: importData{What: "lines", Added: report.Added,
		Unchanged: report.Unchanged, Problems: len(report.Rejected) + report.Omitted, Rejected: rejections(report.Rejected, func(line int) int { return line }), Back: brandsPath}})
}

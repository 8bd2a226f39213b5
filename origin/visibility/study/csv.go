package study

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// csvRow is a row of a file: a brand in the answers of an engine to a prompt on a day.
type csvRow struct {
	head            Document // members of the document; rows of one study and engine must have the same
	prompt          Prompt
	day, brand      string
	answers, cited  int
	mentions, first int
	top3, citations int
	retrieved       int
}

// columns are the columns of a CSV import of a study. They have the names of the JSON members.
var columns = map[string]func(r *csvRow, v string) error{
	"study":         func(r *csvRow, v string) error { r.head.Study = v; return nil },
	"engine":        func(r *csvRow, v string) error { r.head.Engine = v; return nil },
	"model":         func(r *csvRow, v string) error { r.head.Model = v; return nil },
	"surface":       func(r *csvRow, v string) error { r.head.Surface = v; return nil },
	"search":        func(r *csvRow, v string) error { r.head.Search = v; return nil },
	"locale":        func(r *csvRow, v string) error { r.head.Locale = v; return nil },
	"niche":         func(r *csvRow, v string) error { r.head.Niche = v; return nil },
	"promptSetId":   func(r *csvRow, v string) error { r.head.PromptSet = v; return nil },
	"promptSetHash": func(r *csvRow, v string) error { r.head.PromptSetHash = fieldmark.Digest(v); return nil },
	"panelHash":     func(r *csvRow, v string) error { r.head.PanelHash = fieldmark.Digest(v); return nil },
	"provider":      func(r *csvRow, v string) error { r.head.Provider = v; return nil },
	"provenance":    func(r *csvRow, v string) error { r.head.Provenance = v; return nil },
	"from":          func(r *csvRow, v string) error { r.head.From = v; return nil },
	"to":            func(r *csvRow, v string) error { r.head.To = v; return nil },
	"prompt":        func(r *csvRow, v string) error { r.prompt.ID = v; return nil },
	"group":         func(r *csvRow, v string) error { r.prompt.Group = v; return nil },
	"day":           func(r *csvRow, v string) error { r.day = v; return nil },
	"brand":         func(r *csvRow, v string) error { r.brand = v; return nil },
	"answers":       func(r *csvRow, v string) error { return number(&r.answers, v) },
	"cited":         func(r *csvRow, v string) error { return number(&r.cited, v) },
	"mentions":      func(r *csvRow, v string) error { return number(&r.mentions, v) },
	"first":         func(r *csvRow, v string) error { return number(&r.first, v) },
	"top3":          func(r *csvRow, v string) error { return number(&r.top3, v) },
	"citations":     func(r *csvRow, v string) error { return number(&r.citations, v) },
	"retrieved":     func(r *csvRow, v string) error { return number(&r.retrieved, v) },
}

// number accepts an empty field, as spreadsheets write zeros of some formats.
func number(to *int, value string) (err error) {
	if value == "" {
		return nil // an empty field is 0
	}
	*to, err = strconv.Atoi(value)
	return err
}

// csvStudy is the document that rows of one study and engine make.
// It is built from rows in any order, so it finds prompts, days and cells by name.
type csvStudy struct {
	Document
	first   csvPlace // of its first row
	block   bool     // rows have no day
	prompts map[string]int
	days    map[string]int
	cells   map[[2]int]int
}

// ParseCSV reads a file of rows (RFC 4180) with a header, of at most MaxEngines engines. Rows with zeros
// must be there: they say that a brand is in the panel. The error names every fault by its line and column.
func ParseCSV(body []byte) ([]*Document, error) {
	if len(body) > MaxBody {
		return nil, fieldmark.Errorf(fieldmark.CodeBodyTooLarge, "a file has at most %d bytes", MaxBody)
	}
	c := &checker{}
	// Spreadsheets write a byte order mark, which would be a part of the first column's name.
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(body, []byte("\uFEFF"))))
	r.FieldsPerRecord = -1 // checked for each row, so that all are named
	header, err := r.Read()
	if err != nil {
		return nil, validation.Error("/1", "format", "must name the columns")
	}
	for i, name := range header {
		header[i] = strings.TrimSpace(name)
		line, column := r.FieldPos(i)
		// The name itself is not repeated: without a header, it is data.
		c.want(columns[header[i]] != nil && !slices.Contains(header[:i], header[i]), "/1", "format",
			fmt.Sprintf("the name of a column is unknown or duplicated, line %d, column %d", line, column))
	}
	if len(c.bad) > 0 {
		return nil, c.bad.Err()
	}
	all := readRows(r, header, c)
	if len(c.bad) > 0 {
		return nil, c.bad.Err()
	}
	// All documents are checked, also after one with errors.
	documents := make([]*Document, len(all))
	for i, s := range all {
		bad := s.check(fmt.Sprintf("/%d", s.first.line), &s.first)
		c.bad = append(c.bad, bad...)
		if documents[i] = &s.Document; len(bad) == 0 {
			s.canonical()
		}
	}
	return documents, c.bad.Err()
}

// readRows reads up to the first record that is not CSV, or until there are too many errors.
func readRows(r *csv.Reader, header []string, c *checker) (all []*csvStudy) {
	studies := map[[2]string]*csvStudy{}
	for rows := 0; ; rows++ {
		fields, err := r.Read()
		if errors.Is(err, io.EOF) {
			return all
		}
		if broken, ok := errors.AsType[*csv.ParseError](err); ok { // where the next record begins is unknown
			c.bad.Add(fmt.Sprintf("/%d", broken.StartLine), "format", fmt.Sprintf(
				"is not a CSV record: %v, line %d, column %d", broken.Err, broken.Line, broken.Column))
			return all
		}
		// Lines of the file, not records: a quoted field may contain line ends.
		line, _ := r.FieldPos(0)
		pointer := fmt.Sprintf("/%d", line)
		c.row = &csvPlace{line: line, header: header, at: make([]int, 0, len(header))}
		if rows == MaxRows || len(c.bad) >= maxErrors {
			c.bad.Add(pointer, "range", "the file has more than 250000 rows, or too many errors")
			return all
		}
		if len(fields) != len(header) {
			c.want(false, pointer, "format", fmt.Sprintf("has %d fields, not %d", len(fields), len(header)))
			continue
		}
		row := csvRow{head: Document{Form: fieldmark.FormStudy}}
		for i, value := range fields {
			_, column := r.FieldPos(i)
			c.row.at = append(c.row.at, column)
			err := columns[header[i]](&row, strings.TrimSpace(value))
			c.want(err == nil, pointer+"/"+header[i], "format", "must be a whole number")
		}
		// One file may have several studies and engines.
		key := [2]string{row.head.Study, row.head.Engine}
		s := studies[key]
		if s == nil {
			s = &csvStudy{Document: row.head, first: *c.row, block: row.day == "", prompts: map[string]int{},
				days: map[string]int{}, cells: map[[2]int]int{}}
			s.first.lines = map[string][]int{}
			studies[key] = s
			all = append(all, s)
			c.want(len(all) <= MaxEngines, pointer, "range", "a file has at most 12 engines")
		}
		s.add(&row, pointer, c)
	}
}

// add adds a row to its document.
func (s *csvStudy) add(r *csvRow, at string, c *checker) {
	// Repeated in each row, such values go wrong where files are put together.
	other := otherColumn(&s.Document, &r.head)
	c.wantIn(other == "", other, at, "mismatch",
		fmt.Sprintf("differs from line %d in a column of the study", s.first.line))
	prompt, ok := s.prompts[r.prompt.ID]
	if !ok {
		prompt = len(s.Prompts)
		s.prompts[r.prompt.ID], s.Prompts = prompt, append(s.Prompts, r.prompt)
		s.remember("prompts", c)
	}
	c.want(s.Prompts[prompt] == r.prompt, at+"/group", "mismatch", "the prompt has another group above")
	day := 0
	if r.day != "" {
		if day, ok = s.days[r.day]; !ok {
			day = len(s.Days)
			s.days[r.day], s.Days = day, append(s.Days, r.day)
			s.remember("days", c)
		}
	}
	// Half of the rows without a day would be counted on a day of their own.
	c.want((r.day == "") == s.block, at+"/day", "mismatch", "must be given in all rows or in none")
	cell := Cell{Prompt: prompt, Day: day, Answers: r.answers, Cited: r.cited}
	if i, ok := s.cells[[2]int{prompt, day}]; !ok {
		s.cells[[2]int{prompt, day}] = len(s.Cells)
		s.Cells = append(s.Cells, cell)
		s.remember("cells", c)
	} else {
		c.want(s.Cells[i] == cell, at+"/answers", "mismatch",
			"answers and cited must be the same for all brands of a prompt and day")
	}
	// One more than allowed is kept, so that check reports the limit.
	if !slices.Contains(s.Brands, r.brand) && len(s.Brands) <= MaxBrands {
		s.Brands = append(s.Brands, r.brand)
		s.remember("brands", c)
	}
	count := Count{Brand: r.brand, Prompt: prompt, Day: day, Mentions: r.mentions, First: r.first,
		Top3: r.top3, Citations: r.citations, Retrieved: r.retrieved}
	cell.check(c, at)
	count.check(c, at, cell)
	s.Counts = append(s.Counts, count)
	s.remember("counts", c)
}

// remember keeps the line of an item that is added to a list.
func (s *csvStudy) remember(list string, c *checker) {
	s.first.lines[list] = append(s.first.lines[list], c.row.line)
}

// otherColumn returns a column that must have one value for all rows and differs; empty if none does. Study and engine
// are the key of the document.
func otherColumn(a, b *Document) string {
	for _, column := range []struct {
		name string
		same bool
	}{
		{"model", a.Model == b.Model}, {"surface", a.Surface == b.Surface}, {"search", a.Search == b.Search},
		{"locale", a.Locale == b.Locale}, {"niche", a.Niche == b.Niche}, {"promptSetId", a.PromptSet == b.PromptSet},
		{"promptSetHash", a.PromptSetHash == b.PromptSetHash}, {"panelHash", a.PanelHash == b.PanelHash},
		{"provider", a.Provider == b.Provider}, {"provenance", a.Provenance == b.Provenance},
		{"from", a.From == b.From}, {"to", a.To == b.To},
	} {
		if !column.same {
			return column.name
		}
	}
	return ""
}

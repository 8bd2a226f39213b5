package api

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark"
)

// The formats of an export.
const (
	ndjsonType = "application/x-ndjson"

	formatNDJSON = "ndjson"
	formatCSV    = "csv"
)

// maxExports limits the exports of one key that run at the same time at this origin: each reads
// the database for seconds.
const maxExports = 2

// exportRetry is when a key that has too many exports should try again.
const exportRetry = 5 * time.Second

// exportParams are the query parameters of an export: those of the list that filter, and its own.
var exportParams = append([]param{
	{name: "format", description: "ndjson (default): one JSON object a line; or csv, with a header line",
		enum: []string{formatNDJSON, formatCSV}},
	{name: "fields", description: "Names of members, or of columns of CSV, separated by commas; all if omitted"},
}, slices.DeleteFunc(slices.Clone(missionFilters), func(p param) bool {
	return slices.Contains([]string{"externalId", "createdSince", "createdUntil", "limit", "cursor"},
		p.name)
})...)

// exportLimit counts the running exports of each key.
type exportLimit struct {
	mu      sync.Mutex
	running map[string]int
}

func (l *exportLimit) acquire(key string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running[key] >= maxExports {
		return &fieldmark.Error{Code: fieldmark.CodeRateLimited, RetryAfter: exportRetry,
			Detail: fmt.Sprintf("a key runs at most %d exports at the same time", maxExports)}
	}
	if l.running == nil {
		l.running = map[string]int{}
	}
	l.running[key]++
	return nil
}

func (l *exportLimit) release(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running[key]--; l.running[key] == 0 {
		delete(l.running, key)
	}
}

// export streams the missions of the account in the order of their changes, up to the changes
// before the request. A client resumes with the updatedAt of the last line that it has; the lines
// of that millisecond come again. After the first bytes an error can only abort the connection.
func (a *missionAPI) export(c *call) error {
	f, err := c.missionFilter()
	if err != nil {
		return err
	}
	write, mediaType, err := c.exportWriter()
	if err != nil {
		return err
	}
	if err := a.exports.acquire(c.key.ID); err != nil {
		return err
	}
	defer a.exports.release(c.key.ID)
	began := fieldmark.At(time.Now())
	if f.UpdatedSince.IsZero() {
		f.UpdatedSince = fieldmark.At(time.UnixMilli(0))
	}
	f.Limit = fieldmark.MaxMissionLimit
	for first := true; ; first = false {
		page, err := a.missions.List(c.r.Context(), c.account(), f)
		if err != nil {
			return err
		}
		if first {
			c.w.Header().Set("Content-Type", mediaType)
			c.w.Header().Set("Content-Disposition", `attachment; filename="missions.`+c.exportFormat()+`"`)
		}
		late := slices.IndexFunc(page.Data, func(m fieldmark.Mission) bool {
			return m.UpdatedAt.Std().After(began.Std())
		})
		if late >= 0 { // changed since the export began: the next export has it
			page.Data, page.HasMore = page.Data[:late], false
		}
		lines, err := write(page.Data, first)
		if err != nil {
			return err
		}
		if _, err := c.w.Write(lines); err != nil {
			return nil // the client has left
		}
		if !page.HasMore {
			return nil
		}
		_ = http.NewResponseController(c.w).Flush() // the next write fails, too
		f.Cursor = page.NextCursor
	}
}

func (c *call) exportFormat() string {
	if strings.EqualFold(c.params.text("format"), formatCSV) {
		return formatCSV
	}
	return formatNDJSON
}

// exportWriter returns a function that encodes a page of missions, and the media type.
func (c *call) exportWriter() (write func(page []fieldmark.Mission, first bool) ([]byte, error), mediaType string,
	err error) {
	var fields []string
	if text := c.params.text("fields"); text != "" {
		fields = strings.Split(text, ",")
	}
	known := jsonNames(reflect.TypeFor[fieldmark.Mission]())
	if c.exportFormat() == formatCSV {
		known = nil
		for _, column := range csvColumns {
			known = append(known, column.name)
		}
	}
	for _, name := range fields {
		if !slices.Contains(known, name) {
			return nil, "", paramError("fields", "enum", "must be names separated by commas, of "+
				strings.Join(known, ", "))
		}
	}
	if c.exportFormat() == formatCSV {
		return csvWriter(fields), csvType + "; charset=utf-8; header=present", nil
	}
	return ndjsonWriter(fields), ndjsonType, nil
}

// jsonNames returns the names of the members of a struct type, those of embedded structs included.
func jsonNames(t reflect.Type) (names []string) {
	for i := range t.NumField() {
		field := t.Field(i)
		if field.Anonymous {
			names = append(names, jsonNames(field.Type)...)
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

// ndjsonWriter encodes missions as lines of JSON, with all members or with fields in their order.
func ndjsonWriter(fields []string) func([]fieldmark.Mission, bool) ([]byte, error) {
	return func(page []fieldmark.Mission, _ bool) ([]byte, error) {
		var out bytes.Buffer
		for i := range page {
			line, err := encode(&page[i])
			if err != nil {
				return nil, err
			}
			if fields == nil {
				out.Write(line)
				continue
			}
			var members map[string]json.RawMessage
			if err := json.Unmarshal(line, &members); err != nil {
				return nil, err
			}
			separator := byte('{')
			for _, name := range fields {
				value, ok := members[name]
				if !ok { // an optional member
					continue
				}
				out.WriteByte(separator)
				out.WriteString(strconv.Quote(name) + ":")
				out.Write(value)
				separator = ','
			}
			if separator == '{' {
				out.WriteByte('{')
			}
			out.WriteString("}\n")
		}
		return out.Bytes(), nil
	}
}

// csvColumns are the columns of an export as CSV (RFC 4180). Members without a column are in the
// export as JSON.
var csvColumns = []struct {
	name string
	text func(*fieldmark.Mission) string
}{
	{"id", func(m *fieldmark.Mission) string { return m.ID }},
	{"source", func(m *fieldmark.Mission) string { return m.Source }},
	{"externalId", func(m *fieldmark.Mission) string { return m.ExternalID }},
	{"title", func(m *fieldmark.Mission) string { return m.Title }},
	{"priority", func(m *fieldmark.Mission) string { return string(m.Priority) }},
	{"status", func(m *fieldmark.Mission) string { return string(m.Status) }},
	{"reason", func(m *fieldmark.Mission) string {
		if m.StatusReason == nil {
			return ""
		}
		return m.StatusReason.Code
	}},
	{"category", func(m *fieldmark.Mission) string { return m.Category }},
	{"assigneeId", func(m *fieldmark.Mission) string { return assigneeOf(m).ID }},
	{"assigneeName", func(m *fieldmark.Mission) string { return assigneeOf(m).Name }},
	{"scheduledStart", func(m *fieldmark.Mission) string {
		if m.Scheduled == nil {
			return ""
		}
		return m.Scheduled.Start.String()
	}},
	{"scheduledEnd", func(m *fieldmark.Mission) string {
		if m.Scheduled == nil {
			return ""
		}
		return m.Scheduled.End.String()
	}},
	{"city", func(m *fieldmark.Mission) string {
		if m.Location == nil || m.Location.Address == nil {
			return ""
		}
		return m.Location.Address.City
	}},
	{"createdAt", func(m *fieldmark.Mission) string { return m.CreatedAt.String() }},
	{"updatedAt", func(m *fieldmark.Mission) string { return m.UpdatedAt.String() }},
	{"completedAt", func(m *fieldmark.Mission) string { return timeText(m.CompletedAt) }},
	{"canceledAt", func(m *fieldmark.Mission) string { return timeText(m.CanceledAt) }},
	{"version", func(m *fieldmark.Mission) string { return strconv.Itoa(m.Version) }},
}

func assigneeOf(m *fieldmark.Mission) fieldmark.Assignee {
	if m.Assignee == nil {
		return fieldmark.Assignee{}
	}
	return *m.Assignee
}

func timeText(t *fieldmark.Time) string {
	if t == nil {
		return ""
	}
	return t.String()
}

// csvWriter encodes missions as lines of CSV, with all columns or with fields in their order.
func csvWriter(fields []string) func([]fieldmark.Mission, bool) ([]byte, error) {
	columns := slices.Clone(csvColumns)
	if fields != nil {
		columns = columns[:0]
		for _, name := range fields {
			for _, column := range csvColumns {
				if column.name == name {
					columns = append(columns, column)
				}
			}
		}
	}
	return func(page []fieldmark.Mission, first bool) ([]byte, error) {
		var out bytes.Buffer
		lines := csv.NewWriter(&out)
		cells := make([]string, len(columns))
		if first {
			for i, column := range columns {
				cells[i] = column.name
			}
			_ = lines.Write(cells) // a bytes.Buffer does not fail
		}
		for i := range page {
			for j, column := range columns {
				cells[j] = inertCell(column.text(&page[i]))
			}
			_ = lines.Write(cells)
		}
		lines.Flush()
		return out.Bytes(), lines.Error()
	}
}

// inertCell puts an apostrophe before a text that a spreadsheet would run as a formula.
func inertCell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}

package mission

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/export"
	"github.com/fieldmark/fieldmark/origin/store"
)

// The formats of an export.
const (
	FormatNDJSON = "ndjson"
	FormatCSV    = "csv"
)

// MaxExports limits the exports of one key or user that run at the same time at this origin: each reads
// the database for seconds.
const MaxExports = 2

// exportRetry is when a caller that has too many exports should try again.
const exportRetry = 5 * time.Second

// Encoder encodes a page of an export; the first one has the header, if the format has any.
type Encoder func(page []fieldmark.Mission, first bool) ([]byte, error)

// NewEncoder returns the encoder of a format, with all members or with fields in their order. It returns
// CodeInvalidParameter if a field is unknown.
func NewEncoder(format string, fields []string) (Encoder, error) {
	known := jsonNames(reflect.TypeFor[fieldmark.Mission]())
	if format == FormatCSV {
		known = nil
		for _, column := range csvColumns {
			known = append(known, column.name)
		}
	}
	for _, name := range fields {
		if !slices.Contains(known, name) {
			return nil, &fieldmark.Error{Code: fieldmark.CodeInvalidParameter, Detail: "see errors",
				Fields: []fieldmark.FieldError{{Pointer: "?fields", Code: "enum",
					Detail: "must be names separated by commas, of " + strings.Join(known, ", ")}}}
		}
	}
	if format == FormatCSV {
		return csvEncoder(fields), nil
	}
	return ndjsonEncoder(fields), nil
}

// Export writes the missions of an account in the order of their changes, up to the changes before the call,
// a page at a time. who is the key or the user that exports. It returns nil if write fails: the client has
// left. After the first write an error can only abort the response.
func (s *Service) Export(ctx context.Context, who, account string, f fieldmark.MissionFilter, encode Encoder,
	write func([]byte) error) error {
	if err := s.exports.acquire(who); err != nil {
		return err
	}
	defer s.exports.release(who)
	newest, err := s.newestChange(ctx, account)
	if err != nil {
		return err
	}
	if f.UpdatedSince.IsZero() {
		f.UpdatedSince = fieldmark.At(time.UnixMilli(0))
	}
	f.Limit = fieldmark.MaxMissionLimit
	for first := true; ; first = false {
		page, err := s.List(ctx, account, f)
		if err != nil {
			return err
		}
		late := slices.IndexFunc(page.Data, func(m fieldmark.Mission) bool {
			return m.UpdatedAt.Std().After(newest.Std())
		})
		if late >= 0 { // changed since the export began: the next export has it
			page.Data, page.HasMore = page.Data[:late], false
		}
		lines, err := encode(page.Data, first)
		if err != nil {
			return err
		}
		if write(lines) != nil || !page.HasMore {
			return nil
		}
		f.Cursor = page.NextCursor
	}
}

// newestChange returns when a mission of an account was changed last, or the zero Time if it has none. It is a stamp
// and no time of the clock here: test worlds have their own time, and another origin may be ahead.
func (s *Service) newestChange(ctx context.Context, account string) (fieldmark.Time, error) {
	rows, err := s.store.Missions(ctx, store.MissionQuery{Account: account, Order: store.ByUpdate, Limit: 1})
	if err != nil || len(rows) == 0 {
		return fieldmark.Time{}, err
	}
	return rows[0].UpdatedAt, nil
}

// exportLimit counts the running exports of each key or user.
type exportLimit struct {
	mu      sync.Mutex
	running map[string]int
}

func (l *exportLimit) acquire(who string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running[who] >= MaxExports {
		return &fieldmark.Error{Code: fieldmark.CodeRateLimited, RetryAfter: exportRetry,
			Detail: fmt.Sprintf("a key or a user runs at most %d exports at the same time", MaxExports)}
	}
	if l.running == nil {
		l.running = map[string]int{}
	}
	l.running[who]++
	return nil
}

func (l *exportLimit) release(who string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running[who]--; l.running[who] == 0 {
		delete(l.running, who)
	}
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

// ndjsonEncoder encodes missions as lines of JSON, with all members or with fields in their order.
func ndjsonEncoder(fields []string) Encoder {
	return func(page []fieldmark.Mission, _ bool) ([]byte, error) {
		var out bytes.Buffer
		lines := json.NewEncoder(&out)
		lines.SetEscapeHTML(false)
		for i := range page {
			start := out.Len()
			if err := lines.Encode(&page[i]); err != nil {
				return nil, err
			}
			if fields == nil {
				continue
			}
			var members map[string]json.RawMessage
			if err := json.Unmarshal(out.Bytes()[start:], &members); err != nil {
				return nil, err
			}
			out.Truncate(start)
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

// csvEncoder encodes missions as lines of CSV, with all columns or with fields in their order.
func csvEncoder(fields []string) Encoder {
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
				cells[j] = export.Cell(column.text(&page[i]))
			}
			_ = lines.Write(cells) // as above
		}
		lines.Flush()
		return out.Bytes(), lines.Error()
	}
}

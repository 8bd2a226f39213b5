package auditlog

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/export"
	"github.com/fieldmark/fieldmark/origin/store"
)

// Limits of an export.
const (
	MaxExport   = 100_000 // entries: some 40 MB, which a spreadsheet still opens
	exportBatch = 1000    // entries in memory at once
)

// Filter selects entries of the audit log; zero members select all.
// Empty members of a form are the same as missing ones.
type Filter struct {
	From, To time.Time // half open
	Actor    string    // a user, a key or a command
	Action   string    // such as api_key.created, api_key.* for all of a noun, or an earlier name
	Target   string
}

// ParseFilter reads a filter from the parameters from, to, actor, action and target of get. A date means the day in
// UTC, and the day of to belongs to the range; other times are RFC 3339. The error has the parameters that are
// not valid as its fields.
func ParseFilter(get func(name string) string) (f Filter, err error) {
	f.Actor, f.Action, f.Target = strings.TrimSpace(get("actor")), strings.TrimSpace(get("action")),
		strings.TrimSpace(get("target"))
	var bad []fieldmark.FieldError
	read := func(name string, day time.Duration) time.Time {
		text := strings.TrimSpace(get(name))
		if text == "" {
			return time.Time{}
		}
		if at, err := time.Parse(time.DateOnly, text); err == nil {
			return at.Add(day)
		}
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			bad = append(bad, fieldmark.FieldError{Pointer: "?" + name, Code: "format",
				Detail: "must be a date such as 2026-11-22 or a time such as 2026-11-22T14:05:00Z"})
		}
		return at
	}
	f.From, f.To = read("from", 0), read("to", 24*time.Hour)
	if len(bad) == 0 && !f.From.IsZero() && !f.To.IsZero() && !f.From.Before(f.To) {
		bad = append(bad, fieldmark.FieldError{Pointer: "?to", Code: "range", Detail: "must be after from"})
	}
	if len(bad) > 0 {
		err = &fieldmark.Error{Code: fieldmark.CodeInvalidParameter, Detail: "see errors", Fields: bad}
	}
	return f, err
}

// inStore returns the filter of the database. An action is looked up under all names that it
// had.
func (f *Filter) inStore(before int64) store.AuditFilter {
	of := store.AuditFilter{Before: before, From: f.From, To: f.To, Actor: Clip(f.Actor), Target: Clip(f.Target)}
	if f.Action != "" {
		of.Acts = namesOf(ActionName(Clip(f.Action)))
	}
	return of
}

// List returns entries before a number that match a filter, the newest first; 0 starts at the newest. Entries of
// earlier versions have today's name of their action.
func (l *Log) List(ctx context.Context, before int64, f Filter, limit int) ([]fieldmark.AuditEntry, error) {
	return l.list(ctx, before, &f, min(max(limit, 1), MaxPage+1))
}

// The caller limits it: exports read larger parts than pages.
func (l *Log) list(ctx context.Context, before int64, f *Filter, limit int) ([]fieldmark.AuditEntry, error) {
	entries, err := l.store.AuditEntries(ctx, f.inStore(before), limit)
	for i := range entries {
		entries[i].Act = ActionName(entries[i].Act)
	}
	return entries, err
}

// ExportCSV writes the entries that match a filter as CSV (RFC 4180), the newest first, a part at a time. It
// returns CodeInvalidParameter before the first write if there are more than MaxExport, and nil if write fails: the
// client has left. After the first write an error can only abort the response.
func (l *Log) ExportCSV(ctx context.Context, f Filter, write func([]byte) error) error {
	n, err := l.store.CountAuditEntries(ctx, f.inStore(0), MaxExport+1)
	if err != nil {
		return err
	}
	if n > MaxExport {
		return &fieldmark.Error{Code: fieldmark.CodeInvalidParameter, Detail: "see errors",
			Fields: []fieldmark.FieldError{{Pointer: "?from", Code: "range",
				Detail: fmt.Sprintf("and to must select at most %d entries", MaxExport)}}}
	}
	var before int64
	for first := true; ; first = false {
		entries, err := l.list(ctx, before, &f, exportBatch)
		if err != nil {
			return err
		}
		lines, err := encodeCSV(entries, first)
		if err != nil {
			return err
		}
		if write(lines) != nil || len(entries) < exportBatch {
			return nil
		}
		before = entries[len(entries)-1].Number
	}
}

// encodeCSV returns the lines of entries. Every cell is guarded: names and User-Agents are text
// of clients.
func encodeCSV(entries []fieldmark.AuditEntry, header bool) ([]byte, error) {
	var out bytes.Buffer
	lines := csv.NewWriter(&out)
	lines.UseCRLF = true // as RFC 4180 requires
	if header {
		_ = lines.Write([]string{"number", "at", "kind", "actor", "action", "target", "before", "after", "address",
			"agent", "requestId"}) // a bytes.Buffer does not fail
	}
	for i := range entries {
		e := &entries[i]
		cells := []string{strconv.FormatInt(e.Number, 10), e.At.String(), string(e.Kind), e.Actor, e.Act, e.Target,
			string(e.Before), string(e.After), e.Address, e.Agent, e.Request}
		for j := range cells {
			cells[j] = export.Cell(cells[j])
		}
		_ = lines.Write(cells) // as above
	}
	lines.Flush()
	return out.Bytes(), lines.Error()
}

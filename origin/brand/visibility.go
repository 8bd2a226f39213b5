package brand

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/language"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// Limits of an import of answer samples.
const (
	MaxSamples    = 10_000 // rows: as many as fit into fieldmark.MaxBulkBody
	maxSampleText = 100    // code points of a name
	maxSampleRule = 500    // code points of the rule that recognizes the name of the brand
	maxSampleSpan = 366 * 24 * time.Hour
	maxClockSkew  = time.Hour // of the importing system
)

// SampleRow is a parsed row of an import: a sample, or the errors of parsing it.
// It keeps the place in the file through all checks, so every error names the line.
type SampleRow struct {
	At       string // how validation.Errors name it: /12
	Sample   fieldmark.VisibilitySample
	From, To string // RFC 3339 time or date; a date in To is the end of that day
	Bad      validation.Errors
}

// sampleColumns are the columns of a CSV file. They have the names of the JSON members.
// A column is added here, in fieldmark.VisibilitySample and in validate.
var sampleColumns = map[string]func(l *SampleRow, value string) error{
	"brand":          func(l *SampleRow, v string) error { l.Sample.Brand = fieldmark.Slug(v); return nil },
	"engine":         func(l *SampleRow, v string) error { l.Sample.Engine = v; return nil },
	"model":          func(l *SampleRow, v string) error { l.Sample.Model = v; return nil },
	"surface":        func(l *SampleRow, v string) error { l.Sample.Surface = v; return nil },
	"locale":         func(l *SampleRow, v string) error { l.Sample.Locale = v; return nil },
	"promptSetId":    func(l *SampleRow, v string) error { l.Sample.PromptSet = v; return nil },
	"promptSetHash":  func(l *SampleRow, v string) error { l.Sample.PromptSetHash = fieldmark.Digest(v); return nil },
	"provider":       func(l *SampleRow, v string) error { l.Sample.Provider = v; return nil },
	"aliasRule":      func(l *SampleRow, v string) error { l.Sample.AliasRule = v; return nil },
	"from":           func(l *SampleRow, v string) error { l.From = v; return nil },
	"to":             func(l *SampleRow, v string) error { l.To = v; return nil },
	"prompts":        func(l *SampleRow, v string) error { return count(&l.Sample.Prompts, v) },
	"brandedPrompts": func(l *SampleRow, v string) error { return count(&l.Sample.BrandedPrompts, v) },
	"runs":           func(l *SampleRow, v string) error { return count(&l.Sample.Runs, v) },
	"answers":        func(l *SampleRow, v string) error { return count(&l.Sample.Answers, v) },
	"mentions":       func(l *SampleRow, v string) error { return count(&l.Sample.Mentions, v) },
	"cited":          func(l *SampleRow, v string) error { return count(&l.Sample.Cited, v) },
	"citations":      func(l *SampleRow, v string) error { return count(&l.Sample.Citations, v) },
	"voices":         func(l *SampleRow, v string) error { return count(&l.Sample.Voices, v) },
	"graded":         func(l *SampleRow, v string) error { return count(&l.Sample.Graded, v) },
	"right":          func(l *SampleRow, v string) error { return count(&l.Sample.Right, v) },
}

// count parses a whole number of a field.
func count(to *int, value string) (err error) {
	if value == "" {
		return nil // an empty field is 0
	}
	*to, err = strconv.Atoi(value)
	return err
}

// ParseSamplesCSV parses answer samples from a CSV file (RFC 4180) with a header row.
// Errors name rows by the line number in an editor.
// Spaces around values and a byte order mark, which spreadsheets write, are ignored. It reads
// at most one row more than MaxSamples, so the caller detects that there are too many.
func ParseSamplesCSV(file []byte) ([]SampleRow, error) {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(file, []byte("\uFEFF"))))
	// The number of fields is checked for each row, so one bad row does not end the import.
	r.FieldsPerRecord = -1
	header, err := r.Read()
	if err != nil {
		return nil, validation.Error("/1", "format", "must name the columns")
	}
	for i, name := range header {
		header[i] = strings.TrimSpace(name)
		// An unknown column is an error: the values of a misspelt optional one would be lost
		// silently.
		if sampleColumns[header[i]] == nil || slices.Contains(header[:i], header[i]) {
			return nil, validation.Error("/1", "format", fmt.Sprintf("column %d is unknown or duplicated", i+1))
		}
	}
	var rows []SampleRow
	for len(rows) <= MaxSamples {
		fields, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		var row SampleRow
		// The rows before it are imported.
		if broken, ok := errors.AsType[*csv.ParseError](err); ok { // where the next record begins is unknown
			row.Bad.Add(fmt.Sprintf("/%d", broken.StartLine), "format", "is not a CSV record: "+broken.Err.Error())
			return append(rows, row), nil
		}
		if err != nil {
			return nil, fmt.Errorf("read samples: %w", err)
		}
		line, _ := r.FieldPos(0)
		row.At = fmt.Sprintf("/%d", line)
		if len(fields) != len(header) {
			row.Bad.Add(row.At, "format", fmt.Sprintf("has %d fields, not %d", len(fields), len(header)))
			fields = nil
		}
		for i, value := range fields {
			if err := sampleColumns[header[i]](&row, strings.TrimSpace(value)); err != nil {
				row.Bad.Add(row.At+"/"+header[i], "format", "must be a whole number")
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// validate returns everything that is wrong with a row.
// It also sets the parsed times and the canonical language tag.
func (l *SampleRow) validate(now time.Time) []fieldmark.FieldError {
	bad := validation.Errors(l.Bad)
	if bad != nil {
		return bad
	}
	s := &l.Sample
	// want adds an error under the member unless ok.
	want := func(ok bool, field, code, detail string) {
		if !ok {
			bad.Add(l.At+"/"+field, code, detail)
		}
	}
	short := func(text string, least, most int) bool {
		n := utf8.RuneCountInString(text)
		return least <= n && n <= most && validation.IsText(text, false)
	}
	// The relations between counts are checked, because a swapped column is the usual mistake:
	// mentions cannot exceed answers.
	most := func(n int, field string, limit int, than string) {
		want(0 <= n && n <= limit, field, "range", "must be 0 to "+than)
	}
	want(fieldmark.ValidSlug(string(s.Brand)), "brand", "pattern", "must be the slug of a brand")
	want(fieldmark.ValidSlug(s.Engine), "engine", "pattern", "must be 1 to 63 of a-z, 0-9 and single hyphens")
	want(s.Surface == fieldmark.SurfaceAPI || s.Surface == fieldmark.SurfaceApp, "surface", "enum",
		"must be api or app")
	tag, err := language.Parse(s.Locale)
	want(err == nil && len(s.Locale) <= fieldmark.MaxLanguageTag, "locale", "format", "must be a BCP 47 language tag")
	s.Locale = tag.String()
	want(short(s.Model, 0, maxSampleText), "model", "too_long", "must have at most 100 characters")
	want(short(s.PromptSet, 1, maxSampleText), "promptSetId", "range", "must have 1 to 100 characters")
	_, err = fieldmark.ParseDigest(string(s.PromptSetHash))
	want(err == nil, "promptSetHash", "format", "must be sha256: and 64 lower-case hexadecimal digits")
	want(short(s.Provider, 1, maxSampleText), "provider", "range", "must have 1 to 100 characters")
	want(short(s.AliasRule, 0, maxSampleRule), "aliasRule", "too_long", "must have at most 500 characters")

	const limit = fieldmark.MaxSampleCount
	want(1 <= s.Prompts && s.Prompts <= limit, "prompts", "range", "must be 1 to 1000000")
	want(1 <= s.Runs && s.Runs <= limit, "runs", "range", "must be 1 to 1000000")
	most(s.BrandedPrompts, "brandedPrompts", s.Prompts, "prompts")
	want(1 <= s.Answers && s.Answers <= min(limit, max(s.Prompts, 1)*max(s.Runs, 1)), "answers", "range",
		"must be 1 to prompts times runs")
	most(s.Mentions, "mentions", s.Answers, "answers")
	most(s.Cited, "cited", s.Answers, "answers")
	most(s.Citations, "citations", s.Cited, "cited")
	want(s.Mentions <= s.Voices && s.Voices <= s.Answers, "voices", "range",
		"must be mentions to answers: it includes the answers that mention the brand")
	most(s.Graded, "graded", limit, "1000000")
	most(s.Right, "right", s.Graded, "graded")
	l.checkTimes(now, want)
	return bad
}

// checkTimes parses and checks the period of a row. A clock of another system may be ahead a
// little.
func (l *SampleRow) checkTimes(now time.Time, want func(ok bool, field, code, detail string)) {
	s := &l.Sample
	from, fromOK := sampleTime(l.From, 0)
	to, toOK := sampleTime(l.To, 24*time.Hour-time.Millisecond)
	want(fromOK, "from", "format", "must be an RFC 3339 time or a date")
	want(toOK, "to", "format", "must be an RFC 3339 time or a date")
	if !fromOK || !toOK {
		return
	}
	ahead := maxClockSkew
	if len(l.To) == len(time.DateOnly) {
		ahead += 24 * time.Hour // a day that has not ended
	}
	want(!to.After(now.Add(ahead)), "to", "range", "must not be in the future")
	want(!from.After(to) && to.Sub(from) <= maxSampleSpan, "from", "range", "must be before to, by at most a year")
	s.From, s.To = fieldmark.At(from), fieldmark.At(to)
}

// sampleTime parses a time, or a date to which it adds later.
// A date in "to" means the whole day.
func sampleTime(text string, later time.Duration) (time.Time, bool) {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day.Add(later), true
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	return at, err == nil
}

// Samples are samples of the answers of AI search engines about brands.
// They are imported from other tools: the origin queries no engine itself.
type Samples struct{ store *store.Store }

// Import stores answer samples. An invalid row is reported and does not affect the
// others. By is the key that vouches for them, file the digest of the imported file.
func (s *Samples) Import(ctx context.Context, by string, file fieldmark.Digest,
	rows []SampleRow) (fieldmark.VisibilityImport, error) {
	report := fieldmark.VisibilityImport{FileHash: file}
	if len(rows) > MaxSamples {
		return report, fieldmark.Errorf(fieldmark.CodeBodyTooLarge, "an import has at most %d rows", MaxSamples)
	}
	now := time.Now()
	// Rows are validated before the first transaction; a transaction holds the write lock of
	// SQLite.
	var good []SampleRow
	for _, l := range rows {
		bad := l.validate(now)
		report.Rejected = appendRejected(report.Rejected, &report.Omitted, bad...)
		if len(bad) == 0 {
			l.Sample.FileHash, l.Sample.Signer = file, by
			good = append(good, l)
		}
	}
	// Several transactions: a failure leaves the groups before it stored, and a repeated import
	// counts them as unchanged.
	for group := range slices.Chunk(good, importBatch) {
		var done fieldmark.VisibilityImport
		err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
			done, err = s.putSamples(ctx, tx, group, fieldmark.At(now))
			return err
		})
		if err != nil {
			return report, fmt.Errorf("import samples: %w", err)
		}
		report.Added += done.Added
		report.Unchanged += done.Unchanged
		report.Rejected = appendRejected(report.Rejected, &report.Omitted, done.Rejected...)
	}
	return report, nil
}

// putSamples stores rows in one transaction, with an event for each brand.
func (s *Samples) putSamples(ctx context.Context, tx *store.Tx, rows []SampleRow,
	at fieldmark.Time) (done fieldmark.VisibilityImport, err error) {
	changed := map[fieldmark.Slug]int{}
	for _, l := range rows {
		v := l.Sample
		// A file may use an earlier slug.
		if to, err := tx.ResolveAlias(ctx, v.Brand); err == nil {
			v.Brand = to
		}
		there, err := tx.HasBrand(ctx, v.Brand)
		if err != nil {
			return done, err
		}
		if !there {
			done.Rejected = append(done.Rejected,
				fieldmark.FieldError{Pointer: l.At + "/brand", Code: "not_found", Detail: "no brand has this slug"})
			continue
		}
		switch isNew, err := tx.PutSample(ctx, v, at); {
		case err != nil:
			return done, err
		case isNew:
			done.Added++
			changed[v.Brand]++
		default:
			done.Unchanged++
		}
	}
	for slug, n := range changed {
		data := struct {
			Slug    fieldmark.Slug `json:"slug"`
			Samples int            `json:"samples"`
		}{slug, n}
		if _, err := event.Emit(ctx, tx, "", newEvent(fieldmark.EventBrandSampled, slug), data); err != nil {
			return done, err
		}
		// Visibility is part of the score, so the score may change.
		if err := tx.RequestStanding(ctx, slug, time.Now()); err != nil {
			return done, err
		}
	}
	return done, nil
}

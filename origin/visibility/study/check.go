package study

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/language"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/validation"
)

// Limits of texts in code points, and of times.
const (
	maxName       = 100
	maxProvenance = 500
	// A leap year.
	maxSpan = 366 * 24 * time.Hour
)

// intents are the kinds of questions.
// They are those of a plan; a document may leave them out.
var intents = []string{"", "recommend", "compare", "buy", "how", "learn", "local"}

// checker collects errors under the place of a document.
type checker struct {
	at  string
	bad validation.Errors
	row *csvPlace // of a CSV file; nil: of JSON, whose places are found afterwards
}

// csvPlace is the place of a row in a CSV file, or that of a document that begins there.
type csvPlace struct {
	line   int
	header []string         // names of columns
	at     []int            // where each column begins in the line, from 1
	lines  map[string][]int // of a document: where the items of each of its lists are
}

// lineOf returns the line of a member of a document.
func (p *csvPlace) lineOf(field string) int {
	parts := strings.Split(field, "/") // the first is empty
	if len(parts) > 2 {
		if i, err := strconv.Atoi(parts[2]); err == nil && i < len(p.lines[parts[1]]) {
			return p.lines[parts[1]][i]
		}
	}
	return p.line
}

// want adds an error unless ok.
// At most maxErrors are collected: a file of another kind has one on each line.
func (c *checker) want(ok bool, field, code, detail string) {
	c.wantIn(ok, field[strings.LastIndexByte(field, '/')+1:], field, code, detail)
}

// wantIn does the same for an error about a column of a row.
func (c *checker) wantIn(ok bool, column, field, code, detail string) {
	if ok || len(c.bad) >= maxErrors {
		return
	}
	if c.row != nil {
		detail += fmt.Sprintf(", line %d", c.row.lineOf(field))
		if i := slices.Index(c.row.header, column); i >= 0 && i < len(c.row.at) {
			detail += fmt.Sprintf(", column %d", c.row.at[i])
		}
	}
	c.bad.Add(c.at+field, code, detail)
}

// check returns everything that is wrong with a document whose pointers begin with at, and whose first row in a CSV
// file is given. It also sets the canonical language tag and times.
func (d *Document) check(at string, row *csvPlace) validation.Errors {
	c := &checker{at: at, row: row}
	d.checkHead(c)
	d.checkTimes(c)
	d.checkPanel(c)
	// Rows refer to prompts, days and brands by index; wrong lists would make each row an error.
	if len(c.bad) == 0 {
		d.checkRows(c)
	}
	return c.bad
}

// checkHead checks the members outside of rows. Details repeat no values of the file.
func (d *Document) checkHead(c *checker) {
	short := func(text string, least, most int) bool {
		n := utf8.RuneCountInString(text)
		return least <= n && n <= most && validation.IsText(text, false)
	}
	isDigest := func(digest fieldmark.Digest) bool {
		_, err := fieldmark.ParseDigest(string(digest))
		return err == nil
	}
	const slug, digest = "must be 1 to 63 of a-z, 0-9 and single hyphens",
		"must be sha256: and 64 lower-case hexadecimal digits"
	c.want(d.Form == fieldmark.FormStudy, "/form", "enum", "must be 2")
	c.want(fieldmark.ValidSlug(d.Study), "/study", "pattern", slug)
	c.want(fieldmark.ValidSlug(d.Engine), "/engine", "pattern", slug)
	c.want(fieldmark.ValidSlug(d.Niche), "/niche", "pattern", slug)
	c.want(short(d.Model, 1, maxName), "/model", "range", "must have 1 to 100 characters")
	c.want(d.Surface == fieldmark.SurfaceAPI || d.Surface == fieldmark.SurfaceApp, "/surface", "enum",
		"must be api or app")
	c.want(slices.Contains([]string{"auto", "required", fieldmark.SearchOff}, d.Search), "/search", "enum",
		"must be auto, required or off")
	tag, err := language.Parse(d.Locale)
	c.want(err == nil && len(d.Locale) <= fieldmark.MaxLanguageTag, "/locale", "format",
		"must be a BCP 47 language tag")
	// The canonical form: de-at and de-AT are one place, and must give one digest.
	d.Locale = tag.String()
	c.want(short(d.PromptSet, 1, maxName), "/promptSetId", "range", "must have 1 to 100 characters")
	c.want(isDigest(d.PromptSetHash), "/promptSetHash", "format", digest)
	c.want(isDigest(d.PanelHash), "/panelHash", "format", digest)
	c.want(d.PlanHash == "" || isDigest(d.PlanHash), "/planHash", "format", digest)
	c.want(d.AnswersDigest == "" || isDigest(d.AnswersDigest), "/answersDigest", "format", digest)
	c.want(d.Replaces == "" || isDigest(d.Replaces), "/replaces", "format", digest)
	c.want(short(d.Matcher, 0, maxName), "/matcher", "too_long", "must have at most 100 characters")
	c.want(short(d.Provider, 1, maxName), "/provider", "range", "must have 1 to 100 characters")
	c.want(short(d.Provenance, 1, maxProvenance), "/provenance", "range", "must have 1 to 500 characters")
	c.want(0 <= d.Planned && d.Planned <= MaxQuestions*MaxDays*MaxAnswers, "/planned", "range",
		"must be 0 to 31000000")
}

// checkTimes sets From and To to times. A date in To is the end of that day.
func (d *Document) checkTimes(c *checker) {
	from, fromOK := parseTime(d.From, 0)
	to, toOK := parseTime(d.To, 24*time.Hour-time.Millisecond)
	c.want(fromOK, "/from", "format", "must be an RFC 3339 time or a date")
	c.want(toOK, "/to", "format", "must be an RFC 3339 time or a date")
	if fromOK && toOK {
		c.want(!from.After(to) && to.Sub(from) <= maxSpan, "/from", "range", "must be before to, by at most a year")
		// In one form, so that a date and the time at which it begins give one digest.
		d.From, d.To = fieldmark.At(from).String(), fieldmark.At(to).String()
	}
}

// A date is a day in UTC.
func parseTime(text string, later time.Duration) (time.Time, bool) {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day.Add(later), true
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	return at, err == nil
}

// checkPanel checks brands, prompts and days, and adds the brands that only counts name.
func (d *Document) checkPanel(c *checker) {
	// A document that was exported has ? names for brands that were unknown, and can be imported again.
	const slug = "must be the slug of a brand"
	isBrand := func(b string) bool { return fieldmark.ValidSlug(b) || isUnknown(b) }
	// Before they are sorted, so that the pointers are those of the file.
	for i, b := range d.Brands {
		c.wantIn(isBrand(b), "brand", fmt.Sprintf("/brands/%d", i), "pattern", slug)
	}
	for i := range d.Counts {
		b := d.Counts[i].Brand
		c.wantIn(isBrand(b) || slices.Contains(d.Brands, b), "brand", fmt.Sprintf("/counts/%d/0", i), "pattern", slug)
	}
	for _, n := range d.Counts {
		d.Brands = append(d.Brands, n.Brand)
		if len(d.Brands) > 4*MaxBrands { // far more than once each: keep it small
			slices.Sort(d.Brands)
			d.Brands = slices.Compact(d.Brands)
		}
	}
	slices.Sort(d.Brands)
	d.Brands = slices.Compact(d.Brands)
	c.want(MinBrands <= len(d.Brands) && len(d.Brands) <= MaxBrands, "/brands", "range", "must be 2 to 100 brands")
	c.want(1 <= len(d.Prompts) && len(d.Prompts) <= MaxQuestions, "/prompts", "range", "must be 1 to 1000 prompts")
	seen := map[string]bool{}
	for i, p := range d.Prompts {
		at := fmt.Sprintf("/prompts/%d", i)
		c.wantIn(fieldmark.ValidSlug(p.ID), "prompt", at+"/id", "pattern",
			"must be 1 to 63 of a-z, 0-9 and single hyphens")
		c.want(!seen[p.ID], at+"/id", "conflict", "must be unique")
		c.want(p.Group == "" || fieldmark.ValidSlug(p.Group), at+"/group", "pattern",
			"must be 1 to 63 of a-z, 0-9 and single hyphens")
		c.want(slices.Contains(intents, p.Intent), at+"/intent", "enum",
			"must be one of "+strings.Join(intents[1:], ", "))
		seen[p.ID] = true
	}
	c.want(len(d.Days) <= MaxDays, "/days", "range", "must be at most 31 days")
	// At most 31 days, so comparing each with those before is cheap.
	for i, day := range d.Days {
		_, err := time.Parse(time.DateOnly, day)
		c.wantIn(err == nil, "day", fmt.Sprintf("/days/%d", i), "format", "must be a date")
		c.want(!slices.Contains(d.Days[:i], day), fmt.Sprintf("/days/%d", i), "conflict", "must be unique")
	}
	c.want(1 <= len(d.Cells) && len(d.Cells)+len(d.Counts) <= MaxRows, "/cells", "range",
		"must be 1 to 250000 rows with those of counts")
}

// checkRows checks cells and counts. The relations between counts are checked, because a swapped column is
// the usual mistake: mentions cannot exceed answers.
func (d *Document) checkRows(c *checker) {
	days := max(len(d.Days), 1)
	inside := func(prompt, day int) bool {
		return 0 <= prompt && prompt < len(d.Prompts) && 0 <= day && day < days
	}
	// Counts are checked against their cells, so cells are read first.
	cells := map[[2]int]Cell{}
	for i, r := range d.Cells {
		at := fmt.Sprintf("/cells/%d", i)
		c.want(inside(r.Prompt, r.Day), at, "range", "prompt and day must be indexes of their lists")
		_, doubled := cells[[2]int{r.Prompt, r.Day}]
		c.want(!doubled, at, "conflict", "there is another row of this prompt and day")
		r.check(c, at)
		cells[[2]int{r.Prompt, r.Day}] = r
	}
	seen, first := map[[2]int]map[string]bool{}, map[[2]int]int{}
	for i, n := range d.Counts {
		at, key := fmt.Sprintf("/counts/%d", i), [2]int{n.Prompt, n.Day}
		r, ok := cells[key]
		c.want(ok, at, "mismatch", "there is no cell of this prompt and day")
		if seen[key] == nil {
			seen[key] = map[string]bool{}
		}
		c.wantIn(!seen[key][n.Brand], "brand", at, "conflict", "there is another row of this brand, prompt and day")
		seen[key][n.Brand] = true
		n.check(c, at, r)
		// The sum over brands: two brands cannot both be first in one answer.
		first[key] += n.First
		c.wantIn(first[key] <= r.Answers, "first", at, "range", "an answer names one brand first")
	}
	for i, a := range d.Accuracy {
		c.want(0 <= a.Prompt && a.Prompt < len(d.Prompts) && 1 <= a.Statements && a.Statements <= MaxAnswers &&
			0 <= a.Right && a.Right <= a.Statements && slices.Contains(d.Brands, a.Brand),
			fmt.Sprintf("/accuracy/%d", i), "range",
			"must have a brand, a prompt, 1 to 1000 statements and at most as many right")
	}
	if a := d.Agreement; a != nil {
		c.want(-fieldmark.MilliOne <= a.Kappa && a.Kappa <= fieldmark.MilliOne && a.Statements >= 1 &&
			a.Statements <= MaxRows, "/agreement", "range", "must have a kappa of -1 to 1 and at least 1 statement")
	}
	for i, r := range d.Review {
		c.want(0 <= r.Right && r.Right <= r.Hits && 0 <= r.Wrong && r.Wrong <= r.Misses &&
			slices.Contains(d.Brands, r.Brand),
			fmt.Sprintf("/review/%d", i), "range", "right must be at most hits, and wrong at most misses")
	}
}

// A cell may have only failed calls: they count against the planned answers.
func (r Cell) check(c *checker, at string) {
	c.wantIn(0 <= r.Failed && r.Failed <= MaxAnswers && 0 <= r.Answers && r.Answers <= MaxAnswers &&
		r.Answers+r.Failed > 0, "answers", at, "range", "answers must be 1 to 1000, or 0 if all failed")
	c.wantIn(0 <= r.Cited && r.Cited <= r.Answers && 0 <= r.Searched && r.Searched <= r.Answers, "cited", at, "range",
		"cited and searched must be 0 to answers")
}

// Each limit is what the one before allows, so a swapped column shows in the first row where it matters.
func (n Count) check(c *checker, at string, r Cell) {
	c.wantIn(0 <= n.Mentions && n.Mentions <= r.Answers, "mentions", at, "range", "mentions must be 0 to answers")
	c.wantIn(0 <= n.First && n.First <= n.Top3 && n.Top3 <= n.Mentions, "first", at, "range",
		"first must be 0 to top3, and top3 at most mentions")
	c.wantIn(0 <= n.Citations && n.Citations <= r.Cited, "citations", at, "range", "citations must be 0 to cited")
	c.wantIn(0 <= n.Retrieved && n.Retrieved <= r.Answers, "retrieved", at, "range", "retrieved must be 0 to answers")
}

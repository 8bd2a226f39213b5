package study

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/visibility/estimate"
)

// Bounds of a document, and of a study.
const (
	// MaxBody is the size of a document after decompression: 250,000 rows of counts.
	MaxBody      = 32 << 20
	MaxRows      = 250_000
	MinBrands    = 2
	MaxBrands    = 100
	MaxQuestions = 1_000
	MaxDays      = 31
	MaxAnswers   = 1_000 // of a cell
	MaxEngines   = 12    // of a study
)

// Document has the counts of the answers of one engine in a study.
type Document struct {
	Form          int              `json:"form"` // fieldmark.FormStudy
	Study         string           `json:"study"`
	PlanHash      fieldmark.Digest `json:"planHash,omitempty"`
	Engine        string           `json:"engine"`
	Model         string           `json:"model"`
	Surface       string           `json:"surface"`
	Search        string           `json:"search"` // auto, required or off
	Locale        string           `json:"locale"`
	Niche         string           `json:"niche"`
	PromptSet     string           `json:"promptSetId"`
	PromptSetHash fieldmark.Digest `json:"promptSetHash"`
	PanelHash     fieldmark.Digest `json:"panelHash"`
	Matcher       string           `json:"matcher,omitempty"` // version of the rules that found the brands
	Provider      string           `json:"provider"`
	Provenance    string           `json:"provenance"` // who wrote the questions, and how
	From          string           `json:"from"`       // RFC 3339, or a date
	To            string           `json:"to"`
	Planned       int              `json:"planned,omitempty"` // answers; 0: those of the cells
	AnswersDigest fieldmark.Digest `json:"answersDigest,omitempty"`
	// Brands is the panel; brands that the counts name are added. A brand that the registry does not
	// have keeps its place in the denominators as ?1, ?2 and so on.
	Brands   []string   `json:"brands,omitempty"`
	Prompts  []Prompt   `json:"prompts"`
	Days     []string   `json:"days"` // dates; none: one block, which cannot be ranked
	Cells    []Cell     `json:"cells"`
	Counts   []Count    `json:"counts"`             // absent ones are zero
	Accuracy []Accuracy `json:"accuracy,omitempty"` // of statements
	Review   []Review   `json:"review,omitempty"`   // of brands whose name is a common word
	// Agreement is that of the people who graded the statements, over all engines of the study.
	Agreement *fieldmark.Agreement `json:"agreement,omitempty"`

	// Replaces is the digest of the document of the same study and engine that this one corrects.
	Replaces fieldmark.Digest `json:"replaces,omitempty"`
}

// Prompt is a question of a study.
type Prompt struct {
	ID      string `json:"id"`
	Group   string `json:"group,omitempty"` // paraphrases of one question
	Intent  string `json:"intent,omitempty"`
	Branded bool   `json:"branded,omitempty"` // names a brand of the panel: stored, and not counted
}

// Cell has the answers to a prompt on a day: [prompt, day, answers, cited, searched, failed], the first two
// by index.
type Cell struct{ Prompt, Day, Answers, Cited, Searched, Failed int }

// MarshalJSON encodes the cell as an array.
func (c Cell) MarshalJSON() ([]byte, error) {
	return appendInts(append(make([]byte, 0, 32), '['), c.Prompt, c.Day, c.Answers, c.Cited, c.Searched, c.Failed), nil
}

// UnmarshalJSON decodes the cell from an array.
func (c *Cell) UnmarshalJSON(b []byte) error {
	return unmarshalRow(b, &c.Prompt, &c.Day, &c.Answers, &c.Cited, &c.Searched, &c.Failed)
}

// Count has how many answers of a cell name and cite a brand: [brand, prompt, day, mentions, first, top3,
// citations, retrieved], with the slug of the brand.
type Count struct {
	Brand                                                    string
	Prompt, Day, Mentions, First, Top3, Citations, Retrieved int
}

// MarshalJSON encodes the counts as an array.
func (c Count) MarshalJSON() ([]byte, error) {
	b := append(make([]byte, 0, 96), '[')
	// A slug needs no escapes; the name of an unknown brand may.
	if fieldmark.ValidSlug(c.Brand) {
		b = append(append(append(b, '"'), c.Brand...), '"', ',')
	} else {
		name, err := json.Marshal(c.Brand)
		if err != nil {
			return nil, err
		}
		b = append(append(b, name...), ',')
	}
	return appendInts(b, c.Prompt, c.Day, c.Mentions, c.First, c.Top3, c.Citations, c.Retrieved), nil
}

// appendInts appends the rest of an array. Encoding the rows took most of the time of a result.
func appendInts(b []byte, values ...int) []byte {
	for _, v := range values {
		b = append(strconv.AppendInt(b, int64(v), 10), ',')
	}
	b[len(b)-1] = ']'
	return b
}

// UnmarshalJSON decodes the counts from an array.
func (c *Count) UnmarshalJSON(b []byte) error {
	return unmarshalRow(b, &c.Brand, &c.Prompt, &c.Day, &c.Mentions, &c.First, &c.Top3, &c.Citations, &c.Retrieved)
}

// unmarshalRow decodes an array with a value for each of fields.
// Another length is an error: a missing last value would be read as zero.
func unmarshalRow(b []byte, fields ...any) error {
	var row []json.RawMessage
	// Rows are arrays, because the names of members would be most of a file of 250,000 rows.
	if err := json.Unmarshal(b, &row); err != nil {
		return err
	}
	if len(row) != len(fields) {
		return fmt.Errorf("a row has %d values, not %d", len(row), len(fields))
	}
	for i, f := range fields {
		if err := json.Unmarshal(row[i], f); err != nil {
			return err
		}
	}
	return nil
}

// Accuracy has how many checked statements about a brand, in answers to a prompt, were true.
type Accuracy struct {
	Brand      string `json:"brand"`
	Prompt     int    `json:"prompt"`
	Statements int    `json:"statements"`
	Right      int    `json:"right"`
}

// Review is the result of checking the matches of a brand by hand.
type Review struct {
	Brand  string `json:"brand"`
	Hits   int    `json:"hits"`   // answers that were counted and looked at
	Right  int    `json:"right"`  // of these, name the brand
	Misses int    `json:"misses"` // near-misses that were looked at
	Wrong  int    `json:"wrong"`  // of these, name the brand after all
	Word   bool   `json:"word"`   // the name is a common word: it is ranked only after a review
}

// Precision returns the share of reviewed matches that are right, and Missed that of near-misses that name the brand
// after all, with their 95 % intervals; nil without any.
func (r *Review) Precision() *fieldmark.Rate { return shareOfMarks(r.Right, r.Hits) }

// Missed is described at Precision.
func (r *Review) Missed() *fieldmark.Rate { return shareOfMarks(r.Wrong, r.Misses) }

// shareOfMarks estimates a share of places. They were drawn at random, so each is one unit.
func shareOfMarks(k, n int) *fieldmark.Rate {
	// Without marks there is no rate, rather than one of 0 %.
	if n == 0 {
		return nil
	}
	r := estimate.Ratio{Questions: n, Days: 1, Of: n, Num: make([]int64, n), Den: make([]int64, n)}
	for i := range n {
		r.Den[i] = million
		if i < k {
			r.Num[i] = million
		}
	}
	return rateOf([]estimate.Ratio{r})
}

// canonical puts a checked document into its one form: everything sorted, nothing that is zero.
// Two files with the same counts have one digest, whatever the order of their rows and of their names.
func (d *Document) canonical() {
	slices.Sort(d.Brands)
	d.Brands = slices.Compact(d.Brands)
	order := sortedIndex(len(d.Prompts), func(a, b int) int {
		return strings.Compare(d.Prompts[a].ID, d.Prompts[b].ID)
	})
	prompts := make([]Prompt, len(d.Prompts))
	for from, to := range order {
		prompts[to] = d.Prompts[from]
	}
	days := sortedIndex(len(d.Days), func(a, b int) int { return strings.Compare(d.Days[a], d.Days[b]) })
	// Without days all rows have day 0.
	if len(d.Days) == 0 {
		days = []int{0}
	}
	d.Prompts = prompts
	slices.Sort(d.Days)
	for i := range d.Cells {
		c := &d.Cells[i]
		c.Prompt, c.Day = order[c.Prompt], days[c.Day]
	}
	for i := range d.Counts {
		c := &d.Counts[i]
		c.Prompt, c.Day = order[c.Prompt], days[c.Day]
	}
	for i := range d.Accuracy {
		d.Accuracy[i].Prompt = order[d.Accuracy[i].Prompt]
	}
	// A file of rows must state zeros, and one of JSON may leave them out; both mean the same.
	d.Counts = slices.DeleteFunc(d.Counts, func(c Count) bool {
		return c.Mentions == 0 && c.Citations == 0 && c.Retrieved == 0
	})
	slices.SortFunc(d.Cells, func(a, b Cell) int {
		return cmp.Or(cmp.Compare(a.Prompt, b.Prompt), cmp.Compare(a.Day, b.Day))
	})
	slices.SortFunc(d.Counts, func(a, b Count) int {
		return cmp.Or(strings.Compare(a.Brand, b.Brand), cmp.Compare(a.Prompt, b.Prompt), cmp.Compare(a.Day, b.Day))
	})
	slices.SortFunc(d.Accuracy, func(a, b Accuracy) int {
		return cmp.Or(strings.Compare(a.Brand, b.Brand), cmp.Compare(a.Prompt, b.Prompt))
	})
	slices.SortFunc(d.Review, func(a, b Review) int { return strings.Compare(a.Brand, b.Brand) })
}

// sortedIndex returns where each of n items is in sorted order.
// Rows refer to items by index, so their new places are needed, not only the order.
func sortedIndex(n int, compare func(a, b int) int) []int {
	items, at := make([]int, n), make([]int, n)
	for i := range items {
		items[i] = i
	}
	slices.SortFunc(items, compare)
	for to, from := range items {
		at[from] = to
	}
	return at
}

// Bytes returns the canonical encoding of a checked document, without Replaces.
// Replaces belongs to an import, not to what was counted.
func (d *Document) Bytes() []byte {
	bare := *d
	bare.Replaces = ""
	b, err := json.Marshal(&bare)
	if err != nil {
		panic("BUG: a document of a study cannot be encoded: " + err.Error())
	}
	return b
}

// Digest returns the digest of Bytes.
func (d *Document) Digest() fieldmark.Digest { return fieldmark.DigestOf(sha256.Sum256(d.Bytes())) }

// Rename replaces slugs of brands by those that a function returns; an empty one makes the brand unknown.
// Its counts stay in the denominators.
func (d *Document) Rename(to func(slug string) string) (unknown []string) {
	names, taken := map[string]string{}, map[string]bool{}
	for _, b := range d.Brands {
		name := to(b)
		if name == "" || taken[name] { // a second name of one brand would be counted twice
			unknown = append(unknown, b)
			name = fmt.Sprintf("?%d", len(unknown))
		}
		names[b], taken[name] = name, true
	}
	for i, b := range d.Brands {
		d.Brands[i] = names[b]
	}
	for i := range d.Counts {
		d.Counts[i].Brand = names[d.Counts[i].Brand]
	}
	for i := range d.Accuracy {
		d.Accuracy[i].Brand = names[d.Accuracy[i].Brand]
	}
	for i := range d.Review {
		d.Review[i].Brand = names[d.Review[i].Brand]
	}
	d.canonical()
	return unknown
}

// isUnknown reports whether a brand of a stored document has no slug.
func isUnknown(brand string) bool { return strings.HasPrefix(brand, "?") }

// IsForm2 reports whether a body of JSON or CSV has form 2.
// Form 1 is an array of JSON, or a file of rows without the column prompt.
func IsForm2(body []byte, csv bool) bool {
	body = bytes.TrimLeft(bytes.TrimPrefix(body, []byte("\uFEFF")), " \t\r\n")
	if !csv {
		return bytes.HasPrefix(body, []byte("{"))
	}
	// Only the header decides: texts in rows may have any word.
	header, _, _ := bytes.Cut(body, []byte("\n"))
	for name := range strings.SplitSeq(string(header), ",") {
		if strings.Trim(name, " \t\r\"") == "prompt" {
			return true
		}
	}
	return false
}

package study_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/studytest"
	"github.com/fieldmark/fieldmark/origin/visibility/study"
)

// newDocument returns a study of 40 questions on 7 days and of brands b00, b01 and so on, of which the first
// is named most.
func newDocument(engine string, brands int) *study.Document {
	var slugs []string
	for i := range brands {
		slugs = append(slugs, fmt.Sprintf("b%02d", i))
	}
	return studytest.New("ropes", engine, time.Date(2026, 11, 7, 0, 0, 0, 0, time.UTC), slugs...)
}

func parsed(t testing.TB, d *study.Document) *study.Document {
	t.Helper()
	body, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	got, err := study.ParseJSON(body)
	if err != nil {
		t.Fatalf("%v %v", err, fieldmark.AsError(err).Fields)
	}
	return got
}

func TestResult(t *testing.T) {
	d := parsed(t, newDocument("one", 6))
	r := study.Result([]*study.Document{d})
	if r.Interval != fieldmark.IntervalQuestionsDays || len(r.Engines) != 1 || r.All.Reason != "" ||
		r.All.Questions != 40 || r.All.Answers != 280 || len(r.All.Brands) != 6 {
		t.Fatalf("result %+v", r)
	}
	first, last := r.All.Brands[0], r.All.Brands[5]
	if rank := first.Ranks[fieldmark.MetricMention]; rank.Low != 1 || rank.Of != 6 || rank.Group != 1 {
		t.Errorf("the first: %+v", rank)
	}
	if rank := last.Ranks[fieldmark.MetricMention]; rank.High != 6 || rank.Low <= 2 {
		t.Errorf("the last: %+v", rank)
	}
	var voice fieldmark.Milli
	for _, b := range r.All.Brands {
		voice += b.ShareOfVoice.Value
		if b.MentionRate.Of != 280 || b.MentionRate.Questions != 40 || b.MentionRate.Low > b.MentionRate.Value {
			t.Errorf("%s: %+v", b.Slug, b.MentionRate)
		}
	}
	if voice < 997 || voice > 1003 {
		t.Errorf("shares of voice add up to %s, want 1", voice)
	}
	one, ok := r.Of("b03")
	if !ok || len(one.All.Brands) != 1 || len(one.Engines[0].Brands) != 1 {
		t.Errorf("of one brand: %+v, %v", one, ok)
	}
	if _, ok := r.Of("nobody"); ok {
		t.Error("a brand outside of the panel is in the result")
	}
}

// TestMemoryRate: answers without a search are the memory rate of the same model, and no part of the mean.
func TestMemoryRate(t *testing.T) {
	one, memory, other := newDocument("one", 6), newDocument("memory", 6), newDocument("other", 6)
	memory.Search, other.Model = fieldmark.SearchOff, "m-2"
	r := study.Result([]*study.Document{parsed(t, one), parsed(t, memory), parsed(t, other)})
	rate := r.Engines[0].Brands[0].MentionRate // engines are sorted
	if r.Engines[0].Engine != "memory" || r.All.Answers != 560 || rate == nil ||
		*r.All.Brands[0].MemoryRate != *rate || *r.Engines[1].Brands[0].MemoryRate != *rate ||
		r.Engines[0].Brands[0].MemoryRate != nil || r.Engines[2].Brands[0].MemoryRate != nil {
		t.Errorf("memory %+v, all %+v, engines %+v", rate, r.All.Brands[0], r.Engines)
	}
	one.Planned, other.Planned = 320, 320 // fewer than 90 % are answered
	r = study.Result([]*study.Document{parsed(t, one), parsed(t, memory), parsed(t, other)})
	if r.All.Answers != 560 || r.All.Reason == "" || r.All.RankedBrands() > 0 {
		t.Errorf("engines that search cannot be ranked: %d answers, %q", r.All.Answers, r.All.Reason)
	}
	r = study.Result([]*study.Document{parsed(t, memory)})
	if r.All.Answers != 280 || r.All.Reason != "" || r.All.Brands[0].MemoryRate != nil {
		t.Errorf("no engine searches: %+v", r.All)
	}
}

// TestResultIsOne changes what must not matter: order of rows and names of prompts.
func TestResultIsOne(t *testing.T) {
	a, b := newDocument("one", 5), newDocument("longer", 5)
	want := study.Result([]*study.Document{parsed(t, a), parsed(t, b)})
	for _, d := range []*study.Document{a, b} {
		r := rand.New(rand.NewPCG(2, 2))
		r.Shuffle(len(d.Cells), func(i, j int) { d.Cells[i], d.Cells[j] = d.Cells[j], d.Cells[i] })
		r.Shuffle(len(d.Counts), func(i, j int) { d.Counts[i], d.Counts[j] = d.Counts[j], d.Counts[i] })
		slices.Reverse(d.Brands)
	}
	got := study.Result([]*study.Document{parsed(t, b), parsed(t, a)})
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(fieldmark.Time{})); diff != "" {
		t.Errorf("in another order (-want +got):\n%s", diff)
	}
	for i := range a.Prompts {
		a.Prompts[i].ID = "other-" + a.Prompts[i].ID
		b.Prompts[i].ID = "other-" + b.Prompts[i].ID
	}
	got = study.Result([]*study.Document{parsed(t, a), parsed(t, b)})
	if diff := cmp.Diff(want.All, got.All); diff != "" {
		t.Errorf("with other names of prompts (-want +got):\n%s", diff)
	}
}

func TestReasons(t *testing.T) {
	for want, change := range map[string]func(d *study.Document){
		"fewer than 40 questions":                func(d *study.Document) { d.Prompts[3].Branded = true },
		"fewer than 90 % of the planned answers": func(d *study.Document) { d.Planned = 320 },
		"a question was asked fewer than 5 times": func(d *study.Document) {
			d.Cells, d.Counts = d.Cells[3:], d.Counts[100:]
		},
		"":                                     func(*study.Document) {},
		"a question with fewer than 3 answers": failMost,
		"its name is a common word and the matches": func(d *study.Document) {
			d.Review = []study.Review{{Brand: "b00", Hits: 50, Right: 46, Word: true}}
		},
	} {
		d := newDocument("one", 5)
		change(d)
		got := study.Result([]*study.Document{parsed(t, d)}).All.Brands[0].Reason
		if want == "" && got != "" || !strings.HasPrefix(got, want) {
			t.Errorf("reason %q, want %q", got, want)
		}
	}
}

// failMost makes all but two answers to the first prompt fail.
func failMost(d *study.Document) {
	for i := range 5 {
		d.Cells[i].Answers, d.Cells[i].Cited, d.Cells[i].Searched, d.Cells[i].Failed = 0, 0, 0, 1
	}
	d.Counts = slices.DeleteFunc(d.Counts, func(c study.Count) bool { return c.Prompt == 0 && c.Day < 5 })
}

func TestCheck(t *testing.T) {
	for want, change := range map[string]func(d *study.Document){
		"/form enum":               func(d *study.Document) { d.Form = 1 },
		"/study pattern":           func(d *study.Document) { d.Study = "Ropes!" },
		"/search enum":             func(d *study.Document) { d.Search = "maybe" },
		"/locale format":           func(d *study.Document) { d.Locale = "english!" },
		"/promptSetHash format":    func(d *study.Document) { d.PromptSetHash = "sha256:zz" },
		"/provenance range":        func(d *study.Document) { d.Provenance = "" },
		"/from range":              func(d *study.Document) { d.From = "2026-12-01" },
		"/brands range":            func(d *study.Document) { d.Brands, d.Counts = d.Brands[:1], nil },
		"/prompts/1/id conflict":   func(d *study.Document) { d.Prompts[1].ID = d.Prompts[0].ID },
		"/days/6 conflict":         func(d *study.Document) { d.Days[6] = d.Days[0] },
		"/cells/4 range":           func(d *study.Document) { d.Cells[4].Prompt = 40 },
		"/cells/5 conflict":        func(d *study.Document) { d.Cells[5] = d.Cells[4] },
		"/counts/2 range":          func(d *study.Document) { d.Counts[2].Mentions = 2 },
		"/counts/0 range":          func(d *study.Document) { d.Counts[0].First, d.Counts[0].Top3 = 1, 0 },
		"/review/0 range":          func(d *study.Document) { d.Review = []study.Review{{Brand: "b00", Right: 1}} },
		"/accuracy/0 range":        func(d *study.Document) { d.Accuracy = []study.Accuracy{{Brand: "b00"}} },
		"/counts/1 conflict":       func(d *study.Document) { d.Counts[1] = d.Counts[0] },
		"/counts/3 mismatch":       func(d *study.Document) { d.Counts[3].Day = 9 },
		"/prompts/0/intent enum":   func(d *study.Document) { d.Prompts[0].Intent = "sell" },
		"/prompts/0/group pattern": func(d *study.Document) { d.Prompts[0].Group = "A B" },
	} {
		d := newDocument("one", 5)
		change(d)
		body, _ := json.Marshal(d)
		_, err := study.ParseJSON(body)
		var got []string
		if err != nil {
			for _, f := range fieldmark.AsError(err).Fields {
				got = append(got, f.Pointer+" "+f.Code)
			}
		}
		if !slices.Contains(got, want) {
			t.Errorf("errors %v, want %s", got, want)
		}
	}
	d := newDocument("one", 5)
	d.Provenance, d.Counts[7].Mentions, d.Brands[2] = "", 2, "Not a slug"
	body, _ := json.MarshalIndent(d, "", "  ")
	_, err := study.ParseJSON(body)
	var places []string
	if err != nil {
		for _, f := range fieldmark.AsError(err).Fields {
			places = append(places, f.Detail[strings.LastIndex(f.Detail, ", line"):])
		}
	}
	line := func(text string) int {
		return strings.Count(string(body[:strings.Index(string(body), text)]), "\n") + 1
	}
	want := []string{fmt.Sprintf(", line %d, column 17", line(`"provenance"`)),
		fmt.Sprintf(", line %d, column 5", line(`"Not a slug"`))}
	if !slices.Equal(places, want) {
		t.Errorf("places %q, want %q", places, want)
	}
	for body, want := range map[string]string{
		"{\n \"form\": }":          "a syntax error, line 2, column 10",
		"{\n \"form\": \"x\"}":     "a value of form has another type, line 2, column 12",
		`{"form":2,"rocket":1}`:    "an unknown member or a malformed row",
		`{"form":2`:                "it ends early",
		`{"cells":[[1,2,3]]}`:      "an unknown member or a malformed row",
		`{"form":2,"cells":[]}1`:   "must be one object",
		`[{"brand":"a"}]`:          "another type",
		`{"counts":[["a",1,"b"]]}`: "malformed row",
	} {
		if _, err := study.ParseJSON([]byte(body)); err == nil ||
			!strings.Contains(fieldmark.AsError(err).Fields[0].Detail, want) {
			t.Errorf("%s: %v, want %q", body, fieldmark.AsError(err).Fields, want)
		}
	}
}

// TestProxy: a proxy variable is read with its name, and every fault has a line and column.
func TestProxy(t *testing.T) {
	name, v, err := study.ParseProxy([]byte("\uFEFFslug,backlinks\r\nacme, 12\r\nropes,0\r\n"))
	if want := []fieldmark.ProxyValue{{Brand: "acme", Value: 12}, {Brand: "ropes"}}; err != nil ||
		name != "backlinks" ||
		!slices.Equal(v.Values, want) {
		t.Errorf("%s %+v, %v; want backlinks %+v", name, v, err, want)
	}
	for file, want := range map[string]string{
		"":                                       "line 1, column 1",
		"slug,links,views\n":                     "line 1, column 1",
		"brand,links\n":                          "line 1, column 1",
		"slug,Back Links\n":                      "line 1, column 6",
		"slug,links\nacme,1\nropes,many\n":       "line 3, column 7",
		"slug,links\nacme,-1\n":                  "line 2, column 6",
		"slug,links\nacme,1000000000000001\n":    "line 2, column 6",
		"slug,links\nAcme,1\n":                   "line 2, column 1",
		"slug,links\nacme,1\nacme,2\n":           "is in line 2 too, line 3, column 1",
		"slug,links\nacme\n":                     "has 1 fields, not 2, line 2, column 1",
		"slug,links\nacme,\"1\n":                 "is not a CSV record",
		"slug,links\n" + manyRows(10_001) + "\n": "more than 10000 rows",
	} {
		_, _, err := study.ParseProxy([]byte(file))
		if e := fieldmark.AsError(err); e == nil || len(e.Fields) != 1 || !strings.Contains(e.Fields[0].Detail, want) {
			t.Errorf("%.40q: %v, want one fault: %s", file, err, want)
		}
	}
}

func manyRows(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "b%d,1\n", i)
	}
	return b.String()
}

func TestCSV(t *testing.T) {
	one, two := newDocument("one", 5), newDocument("longer", 5)
	file := studytest.CSV(one, two)
	got, err := study.ParseCSV([]byte(file))
	if err != nil || len(got) != 2 {
		t.Fatalf("%d documents, %v", len(got), err)
	}
	want := study.Result([]*study.Document{parsed(t, one), parsed(t, two)})
	result := study.Result(got)
	for i := range want.Engines { // a file does not contain searches
		want.Engines[i].Searched, result.Engines[i].Searched = nil, nil
	}
	if diff := cmp.Diff(want.Engines, result.Engines); diff != "" {
		t.Errorf("of CSV (-want +got):\n%s", diff)
	}
	lines := strings.SplitAfter(file, "\n")
	head, rows := lines[0], lines[1:11]
	edit := func(line int, old, to string) string {
		changed := slices.Clone(rows)
		changed[line-2] = strings.Replace(changed[line-2], old, to, 1)
		return head + strings.Join(changed, "")
	}
	for name, tt := range map[string]struct{ file, want string }{
		"number":       {edit(4, ",b02,1,", ",b02,x,"), "/4/answers format, line 4, column"},
		"fields":       {edit(4, ",b02,", ","), "/4 format, line 4"},
		"header":       {strings.Replace(head, "group", "grooup", 1), "/1 format, line 1, column"},
		"denominators": {edit(5, ",b03,1,", ",b03,2,"), "/5/answers mismatch, line 5, column"},
		"other model":  {edit(5, "m-1", "m-2"), "/5 mismatch, line 5, column"},
		"no day":       {edit(5, ",2026-11-01,b", ",,b"), "/5/day mismatch, line 5, column"},
		"mentions":     {edit(3, ",b01,1,0,", ",b01,1,0,7"), "/3 range, line 3, column"},
		"doubled":      {edit(3, ",b01,", ",b00,"), "/2/counts/1 conflict, line 3, column"},
		"of the document": {strings.ReplaceAll(head+strings.Join(rows, ""), "de-AT", "x!"),
			"/2/locale format, line 2, column"},
	} {
		_, err := study.ParseCSV([]byte(tt.file))
		var got []string
		if err != nil {
			for _, f := range fieldmark.AsError(err).Fields {
				_, place, _ := strings.Cut(f.Detail, ", line ")
				got = append(got, f.Pointer+" "+f.Code+", line "+place)
			}
		}
		if !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, tt.want) }) {
			t.Errorf("%s: %q, want %s", name, got, tt.want)
		}
	}
}

func TestUnknownBrandsStayInDenominators(t *testing.T) {
	d := parsed(t, newDocument("one", 5))
	want := study.Result([]*study.Document{d}).All.Brands[0].ShareOfVoice.Value
	unknown := d.Rename(func(slug string) string {
		if slug == "b04" || slug == "b02" {
			return ""
		}
		return slug
	})
	r := study.Result([]*study.Document{d})
	if len(unknown) != 2 || len(r.All.Brands) != 3 || r.All.Brands[0].ShareOfVoice.Value != want {
		t.Errorf("unknown %v, brands %+v, want a share of voice of %s", unknown, r.All.Brands, want)
	}
	if strings.Contains(string(d.Bytes()), "b04") {
		t.Error("the document names a brand that is not in the registry")
	}
	again, err := study.ParseJSON(d.Bytes())
	if err != nil || again.Digest() != d.Digest() {
		t.Errorf("a stored document does not parse to the same: %v", err)
	}
}

func TestChanges(t *testing.T) {
	then := newDocument("one", 6)
	now := newDocument("one", 6)
	if got := study.Changes(parsed(t, now), parsed(t, then)); got != nil {
		t.Errorf("nothing changed: %+v", got)
	}
	for i := range now.Cells { // now every answer names b05
		c := now.Cells[i]
		now.Counts = slices.DeleteFunc(now.Counts, func(n study.Count) bool {
			return n.Brand == "b05" && n.Prompt == c.Prompt && n.Day == c.Day
		})
		now.Counts = append(now.Counts, study.Count{Brand: "b05", Prompt: c.Prompt, Day: c.Day, Mentions: 1})
	}
	got := study.Changes(parsed(t, now), parsed(t, then))
	if len(got) != 1 || got[0].Slug != "b05" || got[0].Cause != "brand" || got[0].To != 1000 || got[0].Change.Low <= 0 {
		t.Errorf("changes %+v, want one of b05 by the brand", got)
	}
	now.Model = "m-2"
	if got := study.Changes(parsed(t, now), parsed(t, then)); len(got) != 1 || got[0].Cause != "engine" {
		t.Errorf("of another model: %+v, want the engine as the cause", got)
	}
	now.PromptSetHash = "sha256:" + fieldmark.Digest(strings.Repeat("0b", 32))
	if got := study.Changes(parsed(t, now), parsed(t, then)); got != nil {
		t.Errorf("of other questions: %+v", got)
	}
}

func FuzzParse(f *testing.F) {
	body, _ := json.Marshal(newDocument("one", 2))
	f.Add(body)
	f.Add([]byte(studytest.CSV(newDocument("one", 2))))
	f.Fuzz(func(t *testing.T, body []byte) {
		documents, err := study.ParseCSV(body)
		if d, failed := study.ParseJSON(body); failed == nil {
			documents, err = []*study.Document{d}, nil
		}
		if err != nil {
			return
		}
		for _, d := range documents {
			study.Result([]*study.Document{d})
			if again, err := study.ParseJSON(d.Bytes()); err != nil || again.Digest() != d.Digest() {
				t.Errorf("the canonical form is not read as the same: %v", err)
			}
		}
	})
}

// BenchmarkResult computes a study of 20 brands, 40 questions, 7 days and 3 engines.
func BenchmarkResult(b *testing.B) {
	documents := []*study.Document{parsed(b, newDocument("one", 20)), parsed(b, newDocument("second", 20)),
		parsed(b, newDocument("a-third", 20))}
	for b.Loop() {
		study.Result(documents)
	}
}

// TestResultDigest has the digest of a result: every version, machine and architecture must compute the same.
func TestResultDigest(t *testing.T) {
	documents := []*study.Document{parsed(t, newDocument("one", 20)), parsed(t, newDocument("second", 20)),
		parsed(t, newDocument("a-third", 20))}
	result := study.Result(documents)
	body, err := json.Marshal(&result)
	if err != nil {
		t.Fatal(err)
	}
	const want = "sha256:d1c2acdbc3df63ee9f3a6249071cb977bcfc3eb7aa9d796e2d643c409f9996c4"
	if got := fieldmark.DigestOf(sha256.Sum256(body)); got != want {
		t.Errorf("the result has the digest %s, want %s", got, want)
	}
}

// newLargest returns one of the largest documents: 1,000 prompts on 31 days, and 100 brands in 250,000 rows.
func newLargest(engine string) *study.Document {
	d := newDocument(engine, 100)
	d.Prompts, d.Days, d.Cells, d.Counts, d.Planned = nil, nil, nil, nil, 0
	d.To = "2026-12-01"
	for p := range study.MaxQuestions {
		d.Prompts = append(d.Prompts, study.Prompt{ID: fmt.Sprintf("p%03d", p), Intent: "buy"})
	}
	for day := range study.MaxDays {
		d.Days = append(d.Days, time.Date(2026, 11, 1+day, 0, 0, 0, 0, time.UTC).Format(time.DateOnly))
	}
	r := rand.New(rand.NewPCG(3, uint64(len(engine))))
	for p := range d.Prompts {
		for day := range d.Days {
			d.Cells = append(d.Cells, study.Cell{Prompt: p, Day: day, Answers: 5, Cited: 3, Searched: 5})
			for i := range 7 {
				c := study.Count{Brand: d.Brands[(i*14+r.IntN(14))%100], Prompt: p, Day: day, Mentions: 1 + r.IntN(5),
					Citations: r.IntN(4)}
				if len(d.Cells)+len(d.Counts) < study.MaxRows-len(d.Prompts)*len(d.Days) {
					d.Counts = append(d.Counts, c)
				}
			}
		}
	}
	return d
}

// BenchmarkLargestResult computes a study of 12 engines with 250,000 rows each.
func BenchmarkLargestResult(b *testing.B) {
	var documents []*study.Document
	for i := range study.MaxEngines {
		documents = append(documents, parsed(b, newLargest(fmt.Sprintf("engine-%c", 'a'+i))))
	}
	for b.Loop() {
		study.Result(documents)
	}
}

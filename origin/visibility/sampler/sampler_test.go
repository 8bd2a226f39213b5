package sampler_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark/origin/visibility/engine/fake"
	"github.com/fieldmark/fieldmark/origin/visibility/plan"
	"github.com/fieldmark/fieldmark/origin/visibility/sampler"
)

const secret = "sk-very-secret-key-0001"

const panelText = `brands:
  - {slug: acme, name: Acme, aliases: [{text: Acme Ropes}], domains: [acme.example]}
  - slug: orange
    name: Orange
    aliases: [{text: Orange, kind: word, near: [names]}]
    facts: [{id: invented, right: [no such pattern], wrong: [it names]}]
  - {slug: ropes, name: Ropes, aliases: [{text: Seilerei Huber}], domains: [ropes.example]}
`

// study is a plan for tests.
type study struct {
	questions, days, runs int
	budget, prices        string // of the plan
	engines               int
	zone                  string // UTC if empty
}

// load writes and reads the plan, whose first day is the present one.
func (s study) load(t testing.TB) (*plan.Plan, plan.Texts) {
	t.Helper()
	prices := s.prices
	if prices == "" {
		prices = "{free: true}"
	}
	zone, err := time.LoadLocation(s.zone)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("form: 1\nstudy: test\nbrand: acme\nprompts: q.yaml\npanel: p.yaml\nlocale: de-AT\n"+
		"search: off\n"+
		"schedule: {from: %s, days: %d, runs: %d, window: \"06:00-18:00\", zone: %s}\n"+
		"budget: {usd: %q}\nengines:\n",
		time.Now().In(zone).Format(time.DateOnly), s.days, max(s.runs, 1), zone, s.budget)
	for i := range max(s.engines, 1) {
		text += fmt.Sprintf("  - {id: e%d, adapter: openai-chat, baseURL: \"http://127.0.0.1:1/v1\", model: m, "+
			"keyEnv: TEST_KEY, concurrency: 16, rpm: 10000, maxOutputTokens: 100, prices: %s}\n", i, prices)
	}
	questions := "id: ropes-de\nversion: \"1\"\nniche: ropes\nlanguage: de\nlocale: de-AT\n" +
		"provenance: Two buyers wrote them.\n" +
		"prompts:\n  - {id: branded, text: \"What is Acme Ropes known for?\", intent: learn}\n"
	for i := range s.questions {
		questions += fmt.Sprintf("  - {id: q%d, text: \"Which rope is good for purpose %d?\", intent: buy}\n", i, i)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"plan.yaml": text, "q.yaml": questions, "p.yaml": panelText} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, texts, err := plan.Load(filepath.Join(dir, "plan.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return p, texts
}

// doer answers calls with a function.
type doer func(req *http.Request, question string) (status int, header http.Header, body string)

func (d doer) Do(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	var in struct {
		Messages []struct{ Content string } `json:"messages"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	status, header, text := d(req, in.Messages[0].Content)
	if status == 0 {
		return nil, errors.New("connection reset after " + req.Header.Get("Authorization"))
	}
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(text))}, nil
}

const names = `{"model":"m-1","choices":[{"finish_reason":"stop",` +
	`"message":{"content":"It names Acme Ropes and Orange."}}],` +
	`"usage":{"prompt_tokens":1000,"completion_tokens":50}}`

func begin(t testing.TB, dir string, p *plan.Plan, texts plan.Texts, h interface {
	Do(req *http.Request) (*http.Response, error)
}) *sampler.Study {
	t.Helper()
	st, err := sampler.Begin(dir, p, texts, sampler.Options{HTTP: h,
		Key: func(*plan.Engine) (string, error) { return secret, nil }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}

// run runs a study until its end, and returns it opened again.
func run(t testing.TB, p *plan.Plan, texts plan.Texts, h interface {
	Do(req *http.Request) (*http.Response, error)
}) (*sampler.Study, sampler.Ended) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "study")
	st := begin(t, dir, p, texts, h)
	ended, err := st.Run(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := sampler.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return again, ended
}

// TestStudy runs a study of five days and two engines: every cell is asked once within the window of its day, and the
// counts can be imported, verified and pruned.
func TestStudy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, texts := study{questions: 12, days: 5, budget: "0", engines: 2}.load(t)
		var mu sync.Mutex
		at := map[string][]time.Time{}
		f := fake.New(1, fake.Brand{Name: "Acme Ropes", Domain: "acme.example"}, fake.Brand{Name: "Orange"})
		st, ended := run(t, p, texts, doer(func(req *http.Request, question string) (int, http.Header, string) {
			mu.Lock()
			at[question] = append(at[question], time.Now())
			mu.Unlock()
			req.Body = io.NopCloser(strings.NewReader(fmt.Sprintf(`{"messages":[{"content":%q}]}`, question)))
			resp, err := f.Do(req)
			if err != nil {
				t.Error(err)
			}
			body, _ := io.ReadAll(resp.Body)
			return resp.StatusCode, resp.Header, string(body)
		}))
		if len(at) != 12 {
			t.Errorf("%d questions were asked, want 12: the branded one is not", len(at))
		}
		for question, times := range at {
			days := map[int]int{}
			for _, when := range times {
				days[when.UTC().Day()]++
				if h := when.UTC().Hour(); h < 6 || h >= 18 {
					t.Errorf("%s at %v, outside the window", question, when)
				}
			}
			if len(times) != 10 || len(days) != 5 {
				t.Errorf("%s was asked %d times on %d days", question, len(times), len(days))
			}
		}
		status := st.Status(time.Now())
		if !ended.Over || !status.Over || status.Engines[0].Done != 60 || len(status.Unranked) > 0 {
			t.Errorf("ended %+v, status %+v", ended, status)
		}
		if err := st.AddRates(&status); err != nil || status.Engines[1].MentionRate == nil {
			t.Errorf("no rate of the own brand: %v", err)
		}
		documents, warnings, err := st.Export(time.Now())
		if err != nil || len(documents) != 2 || len(warnings) > 0 {
			t.Fatalf("%d documents, %v, %v", len(documents), warnings, err)
		}
		d := documents[0]
		if d.Model != fake.Model || d.Planned != 60 || len(d.Cells) != 60 || len(d.Days) != 5 || len(d.Review) != 1 ||
			d.AnswersDigest == "" || len(d.Accuracy) == 0 {
			t.Errorf("document %+v", d)
		}
		if _, err := st.WriteExport(documents); err != nil {
			t.Fatal(err)
		}
		if back, err := st.ReadExport(); err != nil || back[1].Digest() != documents[1].Digest() {
			t.Errorf("the export reads as another: %v", err)
		}
		time.Sleep(time.Duration(p.Keep-5) * 24 * time.Hour)
		if n, err := st.Prune(time.Now()); n != 0 || err != nil {
			t.Errorf("pruned %d too early, %v", n, err)
		}
		time.Sleep(3 * 24 * time.Hour)
		if n, err := st.Prune(time.Now()); n != 2*24 || err != nil {
			t.Errorf("pruned %d, %v; want those of two days", n, err)
		}
	})
}

// TestMissingMidnight runs a study over a Sunday whose clocks change at midnight: its questions are asked on that day,
// spread over the window, and the export has each day once.
func TestMissingMidnight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		zone, err := time.LoadLocation("America/Santiago")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Until(time.Date(2000, 10, 14, 0, 0, 0, 0, zone)))
		p, texts := study{questions: 4, days: 3, budget: "0", zone: zone.String()}.load(t)
		var mu sync.Mutex
		asked := map[string][]int{} // hours of the calls, by day
		st, ended := run(t, p, texts, doer(func(*http.Request, string) (int, http.Header, string) {
			now := time.Now().In(zone)
			day := now.Format(time.DateOnly)
			mu.Lock()
			asked[day] = append(asked[day], now.Hour())
			mu.Unlock()
			return 200, nil, names
		}))
		days := []string{"2000-10-14", "2000-10-15", "2000-10-16"}
		for _, day := range days {
			if want := []int{6, 9, 12, 15}; !slices.Equal(asked[day], want) {
				t.Errorf("calls on %s at %v, want %v", day, asked[day], want)
			}
		}
		if status := st.Status(time.Now()); !ended.Over || status.Engines[0].Done != 12 || status.To != days[2] {
			t.Errorf("ended %+v, status %+v", ended, status)
		}
		documents, _, err := st.Export(time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if got := documents[0].Days; !slices.Equal(got, days) {
			t.Errorf("the export has the days %v, want %v", got, days)
		}
	})
}

// TestMissed: days without a process are missed, not caught up, and then the study cannot be ranked.
func TestMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, texts := study{questions: 4, days: 5, budget: "0"}.load(t)
		dir := filepath.Join(t.TempDir(), "study")
		calls := 0
		h := doer(func(*http.Request, string) (int, http.Header, string) { calls++; return 200, nil, names })
		time.Sleep(20 * time.Hour)
		for range 2 {
			st := begin(t, dir, p, texts, h)
			if _, err := st.Run(t.Context(), false); err != nil {
				t.Fatal(err)
			}
			if err := st.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if calls != 4 {
			t.Errorf("%d calls on the first day, want 4: the second process finds nothing due", calls)
		}
		time.Sleep(72 * time.Hour)
		st := begin(t, dir, p, texts, h)
		if _, err := st.Run(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		status := st.Status(time.Now())
		// It is 20:00 on the fourth day, and questions are due from 06:00 on.
		next := time.Now().UTC().Truncate(24 * time.Hour).Add(30 * time.Hour).Format(time.RFC3339)
		if e := status.Engines[0]; e.Done != 8 || e.Missed != 8 || len(status.Unranked) == 0 || status.Over ||
			status.Next != next {
			t.Errorf("status %+v", status)
		}
		if _, _, err := st.Export(time.Now()); !errors.Is(err, sampler.ErrNotOver) {
			t.Errorf("interim counts: %v", err)
		}
		other := *p
		other.Hash = "sha256:" + "00"
		if _, err := sampler.Begin(dir, &other, texts, sampler.Options{Key: sampler.ReadKey}); err == nil {
			t.Error("another plan continues the study")
		}
		if _, err := sampler.Begin(dir, p, texts, sampler.Options{HTTP: h, Key: func(*plan.Engine) (string, error) {
			return secret, nil
		}}); !errors.Is(err, sampler.ErrBusy) {
			t.Errorf("a second process: %v", err)
		}
	})
}

// TestRetries: what is asked again, how often, and what it costs.
func TestRetries(t *testing.T) {
	answers := func(first ...int) (doer, *int) {
		calls := 0
		return func(*http.Request, string) (int, http.Header, string) {
			calls++
			if calls <= len(first) {
				return first[calls-1], http.Header{"Retry-After": {"3"}}, "key " + secret
			}
			return 200, nil, names
		}, &calls
	}
	const paid = `{asOf: 2000-01-01, inputPerM: "1.00", outputPerM: "10.00", search: "0.01", contextTokens: 10000}`
	// The reserve is 10,000 input tokens and 100 output tokens; an answer has 1,000 and 50.
	const reserve, cost = 11_000_000, 1_500_000
	for _, c := range []struct {
		name         string
		first        []int
		calls        int
		done, failed int
		spent        int64
	}{
		{"at once", nil, 1, 1, 0, cost},
		{"429, then an answer", []int{429, 429}, 3, 1, 0, cost},
		{"503 is paid", []int{503}, 2, 1, 0, cost + reserve},
		{"429 too often", []int{429, 429, 429, 429, 429, 429, 429}, 6, 0, 1, 0},
		{"400 is not asked again", []int{400}, 1, 0, 1, 0},
		{"cut", []int{0}, 2, 1, 0, cost}, // the function never connects: nothing was sent
		{"no key", []int{401}, 1, 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, texts := study{questions: 1, days: 1, budget: "1", prices: paid}.load(t)
				h, calls := answers(c.first...)
				st, ended := run(t, p, texts, h)
				e := st.Status(time.Now()).Engines[0]
				if *calls != c.calls || e.Done != c.done || e.Failed != c.failed || e.Spent != c.spent {
					t.Errorf("%d calls, %+v, ended %+v; want %+v", *calls, e, ended, c)
				}
				noSecret(t, st.Dir)
			})
		})
	}
}

// noSecret checks that no file has the key, and that only the owner reads them.
func noSecret(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.Contains(string(text), secret) {
			t.Errorf("%s has the key", path)
		}
		if info, err := d.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, %v", path, info.Mode(), err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

var priceLists = flag.Int("prices", 20, "price lists that TestBudget draws")

// TestBudget: with random prices and usage within the reserve, the costs that the server counts never exceed the
// budget, and neither does the sum of the journal.
func TestBudget(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range *priceLists {
		input, output, budget := r.Int64N(20e9), r.Int64N(60e9), r.Int64N(2e9)
		synctest.Test(t, func(t *testing.T) {
			prices := fmt.Sprintf(`{asOf: 2000-01-01, inputPerM: "%s", `+
				` outputPerM: "%s", search: "0", contextTokens: 2000}`,
				sampler.Dollars(input), sampler.Dollars(output))
			p, texts := study{questions: 20, days: 1, runs: 2, budget: sampler.Dollars(budget), prices: prices}.load(t)
			var mu sync.Mutex
			var billed int64
			st, ended := run(t, p, texts, doer(func(_ *http.Request, question string) (int, http.Header, string) {
				mu.Lock()
				in, out := r.Int64N(2000), r.Int64N(100)
				billed += (in*input + out*output) / 1_000_000
				mu.Unlock()
				return 200, nil, fmt.Sprintf(`{"choices":[{"finish_reason":"stop","message":{"content":"x"}}],"usage":`+
					`{"prompt_tokens":%d,"completion_tokens":%d}}`, in, out)
			}))
			status := st.Status(time.Now())
			left := status.Budget - status.Spent
			if status.Spent > budget || billed > status.Spent ||
				ended.Budget != (left < sampler.Reserve(&p.Engines[0]) &&
					status.Engines[0].Done < 40) {
				t.Errorf("spent %d, billed %d of %d, reserve %d, ended %+v", status.Spent, billed, budget,
					sampler.Reserve(&p.Engines[0]), ended)
			}
		})
	}
}

// TestOverReserve: an engine that costs more than the plan says stops.
func TestOverReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, texts := study{questions: 50, days: 1, budget: "100",
			prices: `{asOf: 2000-01-01, inputPerM: "1", outputPerM: "1", search: "0", contextTokens: 1000}`}.load(t)
		calls := 0
		st, ended := run(t, p, texts, doer(func(*http.Request, string) (int, http.Header, string) {
			calls++
			return 200, nil, strings.Replace(names, "1000", "1000000", 1)
		}))
		if calls != 1 || !strings.Contains(ended.Stopped["e0"], "more than its reserve") ||
			st.Status(time.Now()).Spent != 1_000_050_000 {
			t.Errorf("%d calls, %+v, spent %d", calls, ended, st.Status(time.Now()).Spent)
		}
	})
}

// TestOverReserveAtOnce: with all questions due at once, one call shows that prices are wrong; if they become wrong
// later, only the calls under way can exceed their reserves.
func TestOverReserveAtOnce(t *testing.T) {
	const concurrency = 16 // of the plan
	for _, good := range []int{0, 5} {
		synctest.Test(t, func(t *testing.T) {
			p, texts := study{questions: 50, days: 1, budget: "0.1",
				prices: `{asOf: 2000-01-01, inputPerM: "1", outputPerM: "1", search: "0", contextTokens: 1000}`}.load(t)
			time.Sleep(20 * time.Hour)
			var mu sync.Mutex
			calls, costly := 0, 0
			st, ended := run(t, p, texts, doer(func(*http.Request, string) (int, http.Header, string) {
				mu.Lock()
				calls++
				dear := calls > good
				if dear {
					costly++
				}
				mu.Unlock()
				time.Sleep(time.Minute)
				if dear {
					return 200, nil, strings.Replace(names, "1000", "1000000", 1)
				}
				return 200, nil, names
			}))
			most := 1
			if good > 0 {
				most = concurrency
			}
			spent := st.Status(time.Now()).Spent
			const excess = 1_000_050_000 - 1_100_000 // of a costly call
			if costly == 0 || costly > most || ended.Stopped["e0"] == "" || spent > p.Budget+int64(most)*excess {
				t.Errorf("%d good calls, then %d that cost more: want at most %d; %+v, spent %d", good, costly, most,
					ended, spent)
			}
		})
	}
}

// TestRest: after five failures in a row an engine rests for 15 minutes, and others go on.
func TestRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, texts := study{questions: 30, days: 1, budget: "0"}.load(t)
		time.Sleep(20 * time.Hour)
		var at []time.Time
		run(t, p, texts, doer(func(*http.Request, string) (int, http.Header, string) {
			at = append(at, time.Now())
			return 422, nil, ""
		}))
		rests := 0
		for i := 1; i < len(at); i++ {
			if at[i].Sub(at[i-1]) >= 14*time.Minute {
				rests++
			}
		}
		if rests == 0 || len(at) != 30 {
			t.Errorf("%d rests in %d calls", rests, len(at))
		}
	})
}

// TestModelChange: answers of another model are not mixed with those before.
func TestModelChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, texts := study{questions: 5, days: 5, budget: "0"}.load(t)
		first := time.Now()
		st, _ := run(t, p, texts, doer(func(*http.Request, string) (int, http.Header, string) {
			if time.Since(first) > 72*time.Hour {
				return 200, nil, strings.Replace(names, "m-1", "m-2", 1)
			}
			return 200, nil, names
		}))
		documents, warnings, err := st.Export(time.Now())
		if err != nil || len(warnings) != 1 || documents[0].Model != "m-1" || documents[0].Cells[4].Failed != 1 {
			t.Errorf("%v, %v, %+v", err, warnings, documents)
		}
		if why := st.Status(time.Now()).Unranked; len(why) == 0 {
			t.Error("the status does not say that the model changed")
		}
	})
}

// TestDamage: an answer that was edited and a journal that was edited are errors; a torn last line is not.
func TestDamage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, texts := study{questions: 2, days: 1, budget: "0"}.load(t)
		st, _ := run(t, p, texts, doer(func(*http.Request, string) (int, http.Header, string) {
			return 200, nil,
				names
		}))
		journal := filepath.Join(st.Dir, "journal.jsonl")
		whole, err := os.ReadFile(journal)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(string(whole), "\n")
		for n := range len(whole) { // every prefix is a journal of a process that was killed
			if err := os.WriteFile(journal, whole[:n], 0o600); err != nil {
				t.Fatal(err)
			}
			cut, err := sampler.Open(st.Dir)
			if err != nil {
				t.Fatalf("%d bytes: %v", n, err)
			}
			e := cut.Status(time.Now()).Engines[0]
			if want := strings.Count(string(whole[:n]), "\"done\"") - strings.Count(string(whole[strings.LastIndex(
				string(whole[:n]), "\n")+1:n]), "\"done\""); e.Done != want {
				t.Fatalf("%d bytes: %+v, want %d done", n, e, want)
			}
		}
		for name, text := range map[string]string{"again": string(whole) + lines[0], "no JSON": "x\n" + string(whole),
			"unknown": strings.Replace(string(whole), "intend", "other", 1)} {
			if err := os.WriteFile(journal, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := sampler.Open(st.Dir); err == nil {
				t.Errorf("a journal with %s is accepted", name)
			}
		}
		if err := os.WriteFile(journal, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		files, _ := filepath.Glob(filepath.Join(st.Dir, "answers", "*", "*.gz"))
		other, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(files[1], other, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := st.Export(time.Now()); err == nil || !strings.Contains(err.Error(),
			"not the one in the journal") {
			t.Errorf("a changed answer: %v", err)
		}
	})
}

// TestReviewAndGrade: what a person marks goes into the record, once.
func TestReviewAndGrade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, texts := study{questions: 70, days: 1, budget: "0"}.load(t)
		st, _ := run(t, p, texts, doer(func(_ *http.Request, question string) (int, http.Header, string) {
			return 200, nil, strings.Replace(names, "and Orange", "and Orange and an orange", 1)
		}))
		items, err := st.ReviewItems("")
		if err != nil || len(items) != 100 {
			t.Fatalf("%d items, %v; want 50 hits and 50 near-misses of the brand with a common name", len(items), err)
		}
		for i := range items {
			if err := st.Review(&items[i], items[i].Hit); err != nil {
				t.Fatal(err)
			}
		}
		if items, _ := st.ReviewItems(""); len(items) != 0 {
			t.Errorf("%d items come again", len(items))
		}
		statements, err := st.GradeItems("acme", 20)
		if err != nil || len(statements) != 24 {
			t.Fatalf("%d statements, %v; want 20 and every fifth twice", len(statements), err)
		}
		for i := range statements {
			if err := st.Grade(&statements[i], i != 1); err != nil {
				t.Fatal(err)
			}
		}
		if a, err := st.Agreement(); err != nil || a.Statements != 4 || a.Kappa != 1000 {
			t.Errorf("agreement %+v, %v", a, err)
		}
		documents, _, err := st.Export(time.Now())
		if err != nil {
			t.Fatal(err)
		}
		r := documents[0].Review[0]
		if r.Hits != 50 || r.Right != 50 || r.Misses != 50 || r.Wrong != 0 || !r.Word {
			t.Errorf("review %+v", r)
		}
		graded, right := 0, 0
		for _, a := range documents[0].Accuracy {
			if a.Brand == "acme" {
				graded, right = graded+a.Statements, right+a.Right
			}
		}
		if a := documents[0].Agreement; graded != 20 || right != 19 || a == nil || a.Kappa != 1000 {
			t.Errorf("%d graded, %d right, agreement %+v; want 20 and 19", graded, right, a)
		}
		// Then graders contradict themselves.
		if statements, err = st.GradeItems("ropes", 20); err != nil || len(statements) != 0 {
			t.Fatalf("%d statements of a brand that no answer names, %v", len(statements), err)
		}
		if statements, err = st.GradeItems("acme", 50); err != nil {
			t.Fatal(err)
		}
		first := map[string]bool{}
		for i := range statements {
			yes, again := first[statements[i].Key]
			if yes = !yes; !again {
				yes = i%2 == 0
			}
			first[statements[i].Key] = yes
			if err := st.Grade(&statements[i], yes); err != nil {
				t.Fatal(err)
			}
		}
		documents, warnings, err := st.Export(time.Now())
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range documents[0].Accuracy {
			if a.Brand == "acme" {
				t.Errorf("graders disagree, and a grade counts: %+v", a)
			}
		}
		if a := documents[0].Agreement; a.Kappa >= 600 || len(warnings) != 1 ||
			!strings.Contains(warnings[0], "graders disagree") {
			t.Errorf("agreement %+v, warnings %v", a, warnings)
		}
	})
}

// TestForecast agrees with the half-widths of the simulation, and names what is missing.
func TestForecast(t *testing.T) {
	p, _ := study{questions: 50, days: 7, budget: "1",
		prices: fmt.Sprintf(`{asOf: %s, inputPerM: "1", outputPerM: "6", search: "0.01"}`,
			time.Now().Format(time.DateOnly))}.load(t)
	f := sampler.ForecastOf(p, false)
	if w := f.Widths[1]; w.At03 != 8.1 || w.At05 != 9.7 || w.At07 != 11 {
		t.Errorf("half-widths at 30 %%: %+v, simulated were 8.1, 9.7 and 11.0", w)
	}
	if f.Calls != 350 || f.Questions != 50 || len(f.Branded) != 1 || f.Worst != 350*(128_000*1000+100*6000) {
		t.Errorf("%+v", f)
	}
	if text := strings.Join(f.Missing, "\n"); !strings.Contains(text, "5 brands") || !strings.Contains(text,
		"review of orange") {
		t.Errorf("missing: %s", text)
	}
}

// TestReach: a study of 40 questions, of which half name the brand, says how many a half-width needs.
func TestReach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, texts := study{questions: 40, days: 1, budget: "0"}.load(t)
		var mu sync.Mutex
		calls := 0
		st, _ := run(t, p, texts, doer(func(*http.Request, string) (int, http.Header, string) {
			mu.Lock()
			defer mu.Unlock()
			if calls++; calls%2 == 0 {
				return 200, nil, strings.Replace(names, "Acme Ropes", "another", 1)
			}
			return 200, nil, names
		}))
		// t(39)² * 0.25 * 40/39 / 0.2² = 26.2; and t(39) √(0.2564/40) = 16.2 points.
		r, err := sampler.ReachOf(st, p, 20, time.Now())
		if err != nil || r.Questions != 27 || r.Best != 16.2 || r.Has != 40 || r.Brand != "acme" {
			t.Errorf("%+v, %v; want 27 questions, ±16.2 at best", r, err)
		}
		if r, err = sampler.ReachOf(st, p, 10, time.Now()); !errors.Is(err, sampler.ErrTooFew) || r.Questions != 105 {
			t.Errorf("±10 points: %+v, %v; want 105 questions, which are too many", r, err)
		}
		other := *p
		other.Brand = "ropes"
		if _, err := sampler.ReachOf(st, &other, 20, time.Now()); !errors.Is(err, sampler.ErrNoPilot) {
			t.Errorf("of another brand: %v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		p, texts := study{questions: 20, days: 1, budget: "0"}.load(t)
		st, _ := run(t, p, texts, doer(func(*http.Request, string) (int, http.Header, string) {
			return 200, nil, names
		}))
		if _, err := sampler.ReachOf(st, p, 10, time.Now()); !errors.Is(err, sampler.ErrNoPilot) {
			t.Errorf("a pilot of 20 questions: %v", err)
		}
	})
}

// stages asks a plan of 80 questions, of which every second one always names the brand, by a process a day.
// It returns the study, on which days each question was asked, and the error of a run.
func stages(t *testing.T, until int, size func() (int, error)) (*sampler.Study, map[string][]int, error) {
	t.Helper()
	p, texts := study{questions: 80, days: 2, budget: "0"}.load(t)
	first, asked := time.Now(), map[string][]int{}
	var mu sync.Mutex
	h := doer(func(_ *http.Request, question string) (int, http.Header, string) {
		mu.Lock()
		defer mu.Unlock()
		asked[question] = append(asked[question], int(time.Since(first)/(24*time.Hour)))
		var n int
		if _, err := fmt.Sscanf(question, "Which rope is good for purpose %d?", &n); err == nil && n%2 == 0 {
			return 200, nil, strings.Replace(names, "Acme Ropes", "another", 1)
		}
		return 200, nil, names
	})
	dir := filepath.Join(t.TempDir(), "study")
	o := sampler.Options{HTTP: h, Until: until, Size: size,
		Key: func(*plan.Engine) (string, error) { return secret, nil }}
	var failed error
	time.Sleep(20 * time.Hour)
	for range 5 {
		st, err := sampler.Begin(dir, p, texts, o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := st.Run(t.Context(), false); err != nil {
			failed = err
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(24 * time.Hour)
	}
	o.Until++
	if _, err := sampler.Begin(dir, p, texts, o); !errors.Is(err, sampler.ErrChanged) {
		t.Errorf("another half-width for the same study: %v", err)
	}
	st, err := sampler.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return st, asked, failed
}

// TestStages: 30 questions decide how many others are asked, on further days, and their answers count.
func TestStages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, asked, err := stages(t, 150, nil)
		if err != nil {
			t.Fatal(err)
		}
		both := [2]int{}
		for question, days := range asked {
			stage := days[0] / 2
			both[stage]++
			for i, day := range days {
				if len(days) != 2 || day != 2*stage+i {
					t.Errorf("%s was asked on the days %v", question, days)
				}
			}
		}
		// About t(29)² * 0.26 / 0.15², by how many of the 30 name the brand.
		if both[0] != 30 || both[1] < 12 || both[1] > 22 {
			t.Errorf("%d questions, then %d; want 30 and about 18", both[0], both[1])
		}
		status := st.Status(time.Now())
		documents, _, err := st.Export(time.Now())
		if err != nil || !status.Over || status.Engines[0].Of != 2*len(asked) || len(status.Unranked) > 0 {
			t.Fatalf("status %+v, %v", status, err)
		}
		d := documents[0]
		if len(d.Prompts) != len(asked) || d.Planned != 2*len(asked) || len(d.Days) != 4 || d.To[:10] != status.To {
			t.Errorf("%d prompts, %d planned, days %v to %s, status %+v", len(d.Prompts), d.Planned, d.Days, d.To,
				status)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		st, asked, err := stages(t, 20, nil)
		if !errors.Is(err, sampler.ErrTooFew) || len(asked) != 30 || !st.IsOver(time.Now()) {
			t.Errorf("±2 points of 80 questions: %v, %d were asked", err, len(asked))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		st, asked, err := stages(t, 50, func() (int, error) { return 44, nil })
		if status := st.Status(time.Now()); err != nil || len(asked) != 44 || status.Engines[0].Done != 2*44 {
			t.Errorf("after an earlier study: %v, %d were asked, %+v", err, len(asked), status)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		p, texts := study{questions: 29, days: 2, budget: "0"}.load(t)
		_, err := sampler.Begin(filepath.Join(t.TempDir(), "study"), p, texts, sampler.Options{Until: 50})
		if !errors.Is(err, sampler.ErrStages) {
			t.Errorf("a pilot of 29 questions: %v", err)
		}
	})
}

// TestInterrupted: a call under way when the process is asked to stop is finished, or given up after a time and paid.
func TestInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, texts := study{questions: 3, days: 1, budget: "0"}.load(t)
		time.Sleep(20 * time.Hour)
		ctx, cancel := context.WithCancel(t.Context())
		dir := filepath.Join(t.TempDir(), "study")
		st := begin(t, dir, p, texts, doer(func(*http.Request, string) (int, http.Header, string) {
			cancel()
			time.Sleep(time.Second)
			return 200, nil, names
		}))
		if _, err := st.Run(ctx, true); !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
		if e := st.Status(time.Now()).Engines[0]; e.Done == 0 || e.Lost > 0 || e.Failed > 0 {
			t.Errorf("%+v: the call under way should be finished", e)
		}
	})
}

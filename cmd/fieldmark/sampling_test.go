package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark/origin/visibility/sampler"
)

// samplingKills is how often TestSamplingKill kills the sampler.
const samplingKills = 50

// samplingKey is the key of the engine, which must appear nowhere.
const samplingKey = "sk-key-of-the-sampling-test"

// Prices of countingEngine, and what its every call costs, in nano-dollars: the whole reserve of the call.
const (
	samplingInput, samplingOutput = 1_000, 100 // tokens
	samplingCost                  = (samplingInput + samplingOutput) * 1_000
)

// countingEngine is an engine that counts what it is asked and bills, and kills the process that asks at chosen
// calls: before the answer, within it, and after it.
type countingEngine struct {
	mu      sync.Mutex
	asked   map[string]int // requests by body
	calls   int
	killAt  int
	process *exec.Cmd
	budget  int64 // of the plan at present, in nano-dollars
	over    int   // calls that made the bill larger than the budget
}

func (e *countingEngine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the process was killed while it sent
	}
	e.mu.Lock()
	e.asked[string(body)]++
	e.calls++
	if int64(e.calls)*samplingCost > e.budget {
		e.over++
	}
	kill, way, process := e.calls == e.killAt, e.killAt, e.process
	e.mu.Unlock()
	if kill && way%3 == 0 {
		_ = process.Process.Kill() // with SIGKILL; it may have ended
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"model":"fake","choices":[{"finish_reason":"stop","message":{"content":"Go to One Shop."}}],`+
		`"usage":{"prompt_tokens":%d,"completion_tokens":%d}}`, samplingInput, samplingOutput)
	if kill && way%3 == 1 {
		_ = process.Process.Kill()
	}
	if kill && way%3 == 2 {
		_ = http.NewResponseController(w).Flush()
		time.AfterFunc(time.Duration(way%7)*300*time.Microsecond, func() { _ = process.Process.Kill() })
	}
}

// writeStudy writes a plan whose first day is today and whose questions are all due, in a zone where it is
// about noon, so that the day does not end during the test.
func writeStudy(t *testing.T, dir, engineURL, budget, prices string, questions int) string {
	t.Helper()
	zone := time.Now().UTC().Hour() - 12 // the sign of these names is that of POSIX
	now := time.Now().UTC().Add(-time.Duration(zone) * time.Hour)
	text := fmt.Sprintf(`form: 1
study: killed
prompts: q.yaml
panel: p.yaml
locale: en
search: off
schedule: {from: %s, days: 5, window: "00:00-00:01", zone: Etc/GMT%+d}
budget: {usd: %q}
engines:
  - {id: one, adapter: openai-chat, baseURL: %q, model: fake, keyEnv: SAMPLING_KEY, concurrency: 4, rpm: 10000,
     maxOutputTokens: 100, prices: %s}
`, now.Format(time.DateOnly), zone, budget, engineURL, prices)
	prompts := "id: shops\nversion: \"1\"\nniche: shops\nlanguage: en\nlocale: en\nprovenance: a test\nprompts:\n"
	for i := range questions {
		prompts += fmt.Sprintf("  - {id: q%d, text: \"Which shop is good for purpose %d?\", intent: buy}\n", i, i)
	}
	panel := "brands:\n  - {slug: one, name: One, aliases: [One Shop]}\n" +
		"  - {slug: two, name: Two, aliases: [Two Shops]}\n"
	for name, content := range map[string]string{"plan.yaml": text, "q.yaml": prompts, "p.yaml": panel} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	return filepath.Join(dir, "plan.yaml")
}

// TestSamplingKill kills the sampler 50 times, with enough money and with a budget that every process reaches unless
// it is killed before. Every question reaches the engine at most once, no call makes its bill larger than the
// budget, and an answer in the journal is on disk.
func TestSamplingKill(t *testing.T) {
	t.Parallel()
	for name, binds := range map[string]bool{"enough money": false, "little money": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killSampling(t, binds)
		})
	}
}

// killSampling kills samplers until it has done so often enough. If the budget binds, each process may make less than
// nine further calls.
func killSampling(t *testing.T, binds bool) {
	t.Helper()
	dir := t.TempDir()
	questions := 400
	if binds { // the last process has some left
		questions = 1_000
	}
	e := &countingEngine{asked: map[string]int{}}
	srv := httptest.NewServer(e)
	defer srv.Close()
	prices := fmt.Sprintf(`{asOf: %s, inputPerM: "1", outputPerM: "1", search: "0", contextTokens: %d}`,
		time.Now().UTC().Format(time.DateOnly), samplingInput)
	plan := writeStudy(t, dir, srv.URL+"/v1", "BUDGET", prices, questions)
	template := readFile(t, dir, "plan.yaml")
	study := filepath.Join(dir, "killed")
	r := rand.New(rand.NewPCG(1, 1))
	killed, reached := 0, 0
	var output strings.Builder
	spent := func() int64 {
		st, err := sampler.Open(study)
		if errors.Is(err, fs.ErrNotExist) {
			return 0 // it was killed before it began
		}
		must(t, err)
		return st.Status(time.Now()).Spent
	}
	// sample runs a process with a new budget, to kill it at a call, and returns its status: -1 if it was killed.
	sample := func(killIn int) int {
		budget := int64(questions * 2 * samplingCost)
		if binds {
			budget = spent() + int64(r.IntN(8))*samplingCost + r.Int64N(samplingCost)
		}
		must(t, os.WriteFile(plan, []byte(strings.Replace(template, "BUDGET", sampler.Dollars(budget), 1)), 0o600))
		cmd := exec.Command(program(t), "visibility", "sample", plan)
		cmd.Env = append(os.Environ(), "SAMPLING_KEY="+samplingKey)
		cmd.Stdout, cmd.Stderr = &output, &output
		e.mu.Lock()
		e.process, e.killAt, e.budget = cmd, e.calls+killIn, budget
		must(t, cmd.Start())
		e.mu.Unlock()
		_ = cmd.Wait() // its status says how it ended
		if now := spent(); now > budget {
			t.Errorf("spent %d of %d", now, budget)
		}
		return cmd.ProcessState.ExitCode()
	}
	for killed < samplingKills {
		switch code := sample(1 + r.IntN(6)); {
		case code == -1:
			killed++
		case code == 3 && binds:
			reached++
		default:
			t.Fatalf("the sampler ended with %d after %d kills: %s", code, killed, output.String())
		}
	}
	// Lost answers may break the ranking (4).
	if code := sample(-1); binds && code != 3 || !binds && code != 0 && code != 4 {
		t.Fatalf("the last run ended with %d: %s", code, output.String())
	}
	e.mu.Lock() // a call of a killed process may still be under way
	defer e.mu.Unlock()
	if e.over > 0 || binds && reached == 0 {
		t.Errorf("%d calls over the budget, which %d processes reached", e.over, reached)
	}
	asked := 0
	for body, n := range e.asked {
		if n != 1 {
			t.Errorf("asked %d times: %s", n, body)
		}
		asked += n
	}
	journal := readFile(t, study, "journal.jsonl")
	sent, done := strings.Count(journal, `"event":"sent"`), strings.Count(journal, `"event":"done"`)
	if asked > sent || sent > questions || done > asked || sent-done > 4*samplingKills {
		t.Errorf("asked %d, sent %d, done %d of %d questions", asked, sent, done, questions)
	}
	files, err := filepath.Glob(filepath.Join(study, "answers", "*", "*.json.gz"))
	must(t, err)
	if len(files) < done {
		t.Errorf("%d answers on disk, %d in the journal", len(files), done)
	}
	if now, billed := spent(), int64(asked)*samplingCost; billed > now {
		t.Errorf("spent %d, billed %d", now, billed)
	}
	t.Logf("%d kills, %d questions asked once, %d answers, %d lost, the budget reached %d times", killed, asked, done,
		sent-done, reached)
	noKeyIn(t, dir, output.String())
}

// noKeyIn checks that neither a text nor a file below a folder has the key of the engine.
func noKeyIn(t *testing.T, dir, text string) {
	t.Helper()
	if strings.Contains(text, samplingKey) {
		t.Errorf("the output has the key: %s", text)
	}
	must(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err == nil && strings.HasSuffix(path, ".gz") {
			content, err = gunzip(content)
		}
		if strings.Contains(string(content), samplingKey) {
			t.Errorf("%s has the key", path)
		}
		return err
	}))
}

func gunzip(b []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

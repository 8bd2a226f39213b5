package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
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

	"github.com/fieldmark/fieldmark/origin/visibility/engine/fake"
	"github.com/fieldmark/fieldmark/origin/visibility/sampler"
)

// samplingKills is how often TestSamplingKill kills the sampler.
const samplingKills = 50

// samplingKey is the key of the engine, which must appear nowhere.
const samplingKey = "sk-key-of-the-sampling-test"

// countingEngine is a fake engine that counts what it is asked, and kills the process that asks at chosen calls:
// before the answer, within it, and after it.
type countingEngine struct {
	fake *fake.Engine

	mu      sync.Mutex
	asked   map[string]int // requests by body
	calls   int
	killAt  int
	process *exec.Cmd
}

func (e *countingEngine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the process was killed while it sent
	}
	e.mu.Lock()
	e.asked[string(body)]++
	e.calls++
	kill, way, process := e.calls == e.killAt, e.killAt, e.process
	e.mu.Unlock()
	if kill && way%3 == 0 {
		_ = process.Process.Kill() // with SIGKILL; it may have ended
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	e.fake.ServeHTTP(w, r)
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

// TestSamplingKill kills the sampler 50 times, and then with a budget that it reaches. Every question reaches the
// engine at most once, what the engine bills stays within the budget, and an answer in the journal is on disk.
func TestSamplingKill(t *testing.T) {
	t.Parallel()
	for name, budget := range map[string]int64{"enough money": 1_000_000_000, "little money": 30_000_000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killSampling(t, budget)
		})
	}
}

// killSampling kills samplers until it has done so often enough, or the budget, in nano-dollars, is reached.
func killSampling(t *testing.T, budget int64) {
	t.Helper()
	dir := t.TempDir()
	const questions = 400
	e := &countingEngine{fake: fake.New(1, fake.Brand{Name: "One Shop"}, fake.Brand{Name: "Two Shops"}),
		asked: map[string]int{}}
	srv := httptest.NewServer(e)
	defer srv.Close()
	// A call is billed by its tokens, of which there are at most 100 each; its reserve is higher.
	prices := fmt.Sprintf(`{asOf: %s, inputPerM: "1", outputPerM: "1", search: "0", contextTokens: 1000}`,
		time.Now().UTC().Format(time.DateOnly))
	plan := writeStudy(t, dir, srv.URL+"/v1", sampler.Dollars(budget), prices, questions)
	study := filepath.Join(dir, "killed")
	r := rand.New(rand.NewPCG(1, 1))
	killed := 0
	var output strings.Builder
	for killed < samplingKills {
		cmd := exec.Command(program(t), "visibility", "sample", plan)
		cmd.Env = append(os.Environ(), "SAMPLING_KEY="+samplingKey)
		cmd.Stdout, cmd.Stderr = &output, &output
		e.mu.Lock()
		e.process, e.killAt = cmd, e.calls+1+r.IntN(6)
		must(t, cmd.Start())
		e.mu.Unlock()
		err := cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code == 3 && budget < 1_000_000_000 {
			break
		} else if code != -1 {
			t.Fatalf("the sampler ended with %v after %d kills: %s", err, killed, output.String())
		}
		killed++
	}
	if killed == samplingKills != (budget == 1_000_000_000) || killed == 0 {
		t.Fatalf("killed %d times with $%s", killed, sampler.Dollars(budget))
	}
	e.mu.Lock()
	e.killAt = -1
	e.mu.Unlock()
	cmd := exec.Command(program(t), "visibility", "sample", plan)
	cmd.Env = append(os.Environ(), "SAMPLING_KEY="+samplingKey)
	out, err := cmd.CombinedOutput()
	output.Write(out)
	// Lost answers may break the ranking (4), and the budget is still reached (3).
	if code := cmd.ProcessState.ExitCode(); err != nil && code != 4 && (code != 3 || budget == 1_000_000_000) {
		t.Fatalf("the last run: %v %s", err, out)
	}
	asked, billed := 0, int64(0)
	for body, n := range e.asked {
		if n != 1 {
			t.Errorf("asked %d times: %s", n, body)
		}
		asked, billed = asked+n, billed+int64(n)*10_000 // the least that an answer of ten tokens costs
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
	status := exec.Command(program(t), "visibility", "status", study, "--json")
	body, err := status.Output()
	must(t, err)
	var state struct{ SpentNano int64 }
	must(t, json.Unmarshal(body, &state))
	spent := state.SpentNano
	if spent > budget || billed > spent {
		t.Errorf("spent %d of %d, billed %d", spent, budget, billed)
	}
	t.Logf("%d kills, %d questions asked once, %d answers, %d lost, %d of %d nano-dollars spent", killed, asked,
		done, sent-done, spent, budget)
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

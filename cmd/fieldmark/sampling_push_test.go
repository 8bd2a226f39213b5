package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark/cmd/fieldmark/demo"
	"github.com/fieldmark/fieldmark/internal/testkit/porttest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/origin/visibility/engine/fake"
	"github.com/fieldmark/fieldmark/origin/visibility/plan"
	"github.com/fieldmark/fieldmark/origin/visibility/sampler"
)

// pastStudy runs a study of five days in the time of a bubble, which is long ago, and returns its folder.
func pastStudy(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		writeStudy(t, dir, "http://127.0.0.1:1/v1", "0", "{free: true}", 4)
		panel := "brands:\n  - {slug: alpenglow, name: A, aliases: [Alpenglow Gear]}\n" +
			"  - {slug: nimbusly, name: N, aliases: [{text: Nimbusly, kind: plain}]}\n" +
			"  - {slug: not-registered, name: O, aliases: [{text: Seil, kind: word, near: [names]}]}\n"
		must(t, os.WriteFile(filepath.Join(dir, "p.yaml"), []byte(panel), 0o600))
		p, texts, err := plan.Load(filepath.Join(dir, "plan.yaml"))
		must(t, err)
		f := fake.New(1, fake.Brand{Name: "Alpenglow Gear"}, fake.Brand{Name: "Nimbusly"}, fake.Brand{Name: "Seil"})
		st, err := sampler.Begin(filepath.Join(dir, "killed"), p, texts, sampler.Options{HTTP: f,
			Key: func(*plan.Engine) (string, error) { return samplingKey, nil }})
		must(t, err)
		_, err = st.Run(t.Context(), true)
		must(t, err)
		must(t, st.Close())
	})
	return filepath.Join(dir, "killed")
}

// TestSamplingUntil: an earlier study says how many questions a half-width needs, and a set that is too small is a
// fault of the plan.
func TestSamplingUntil(t *testing.T) {
	t.Parallel()
	pilot, now := t.TempDir(), t.TempDir()
	write := func(dir string) string {
		name := writeStudy(t, dir, "http://127.0.0.1:1/v1", "0", "{free: true}", 40)
		text := strings.Replace(readFile(t, dir, "plan.yaml"), "form: 1\n", "form: 1\nbrand: one\n", 1)
		must(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	synctest.Test(t, func(t *testing.T) {
		p, texts, err := plan.Load(write(pilot))
		must(t, err)
		st, err := sampler.Begin(filepath.Join(pilot, "killed"), p, texts, sampler.Options{
			HTTP: fake.New(1, fake.Brand{Name: "One Shop"}, fake.Brand{Name: "Two Shops"}),
			Key:  func(*plan.Engine) (string, error) { return samplingKey, nil }})
		must(t, err)
		_, err = st.Run(t.Context(), true)
		must(t, err)
		must(t, st.Close())
	})
	name := write(now)
	for _, tt := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"--dry-run", "--until", "45", "--pilot", filepath.Join(pilot, "killed")}, 0, "mention rate of one"},
		{[]string{"--dry-run", "--until", "0.5", "--pilot", filepath.Join(pilot, "killed")}, 2, "at any price"},
		{[]string{"--dry-run", "--until", "5"}, 0, "in two stages: 30 questions on 5 days"},
		{[]string{"--dry-run", "--until", "0.1"}, 2, "--until needs"},
		{[]string{"--dry-run", "--pilot", pilot}, 2, "--until needs"},
		{[]string{"--dry-run", "--until", "5", "--pilot", filepath.Join(pilot, "none")}, 2, "open the study"},
	} {
		status, out, why := runInProcess(t, append([]string{"visibility", "sample", name}, tt.args...)...)
		if status != tt.status || !strings.Contains(out+why, tt.want) {
			t.Errorf("%v: status %d, want %d and %q: %s%s", tt.args, status, tt.status, tt.want, out, why)
		}
	}
}

// TestSamplingPush reviews, exports, verifies and pushes a study that is over, and the server has its counts.
func TestSamplingPush(t *testing.T) {
	t.Parallel()
	study, dir := pastStudy(t), t.TempDir()
	run := func(in string, want int, args ...string) string {
		t.Helper()
		cmd := exec.Command(program(t), append([]string{"visibility"}, args...)...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(in)
		out, err := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != want {
			t.Fatalf("%v: status %d, want %d; %v\n%s", args, code, want, err, out)
		}
		return string(out)
	}
	if out := run("", 0, "status", study); !strings.Contains(out, "20 of 20 answers") || !strings.Contains(out,
		", over") {
		t.Errorf("status: %s", out)
	}
	if out := run("y\nn\nx\nq\n", 0, "review", study); !strings.Contains(out, "2 of ") ||
		!strings.Contains(out, "not-registered: 50.0 % of 2 matches name the brand (") {
		t.Errorf("review: %s", out)
	}
	if out := run(strings.Repeat("y\n", 99), 0, "grade", study, "--count", "5"); !strings.Contains(out, "kappa 1.00") {
		t.Errorf("grade: %s", out)
	}
	run("", 1, "verify", study) // nothing is exported yet
	if out := run("", 0, "export", study); !strings.Contains(out, "one.json sha256:") {
		t.Errorf("export: %s", out)
	}
	if out := run("", 0, "verify", study); !strings.Contains(out, "the same counts") {
		t.Errorf("verify: %s", out)
	}

	serve := append([]string{"serve", "--demo", "--demo-listen", porttest.Address(t)}, freePorts("var")...)
	p := start(t, dir, serve...)
	p.waitFor("All audits are done.")
	var facts demo.Access
	must(t, json.Unmarshal([]byte(readFile(t, dir, "var", demo.AccessFile)), &facts))
	run("", 3, "verify", study, "--url", facts.BaseURL) // the server does not have it
	if out := run("", 0, "push", study, "--data", "var"); !strings.Contains(out, "1 added") ||
		!strings.Contains(out, `no brand has the slug "not-registered"`) {
		t.Errorf("push: %s", out)
	}
	if out := run("", 0, "push", study, "--data", "var"); !strings.Contains(out, "1 known already") {
		t.Errorf("push again: %s", out)
	}
	waittest.Until(t, "the server has the counts", func() bool {
		cmd := exec.Command(program(t), "visibility", "verify", study, "--url", facts.BaseURL)
		out, err := cmd.CombinedOutput()
		return err == nil && strings.Contains(string(out), "has these counts")
	})
	if out := run("slug,links\nalpenglow,many\n", 2, "proxy", "-", "--data", "var"); !strings.Contains(out,
		"line 2, column 11") {
		t.Errorf("a proxy variable with a fault: %s", out)
	}
	if out := run("slug,links\nalpenglow,12\nnot-registered,3\n", 0, "proxy", "-", "--data", "var"); !strings.Contains(
		out, "links of 1 brand\n") || !strings.Contains(out, `no brand has the slug "not-registered"`) {
		t.Errorf("a proxy variable: %s", out)
	}
	if out := run("", 0, "prune", study); !strings.Contains(out, "20 answers removed") {
		t.Errorf("prune: %s", out)
	}
	noKeyIn(t, filepath.Dir(study), p.printed())
}

// TestSamplingFaults: a plan with faults ends with status 2, names each with its place, and sends nothing.
func TestSamplingFaults(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := writeStudy(t, dir, "http://127.0.0.1:1/v1", "1", "{free: true}", 2)
	good := readFile(t, name)
	run := func(env string, args ...string) (int, string) {
		t.Helper()
		cmd := exec.Command(program(t), append([]string{"visibility", "sample", name}, args...)...)
		cmd.Env = append(os.Environ(), env)
		out, _ := cmd.CombinedOutput() // the status says more
		return cmd.ProcessState.ExitCode(), string(out)
	}
	today := time.Now().UTC().Format("2006-")
	for _, c := range []struct{ old, new, env, want string }{
		{"form: 1\nstudy: killed", "form: 9\nstudy: Killed", "SAMPLING_KEY=" + samplingKey,
			"plan.yaml:2:8: must be 1 to 63"},
		{"from: " + today, "from: 1999-", "SAMPLING_KEY=" + samplingKey, "plan.yaml:7:11: from is a day in the past"},
		{"form: 1", "form: 1", "SAMPLING_KEY=", "no usable key of engine one"},
		{"form: 1", "form: 1", "SAMPLING_KEY=Which shop is good", "no usable key"},
		{"q.yaml", "none.yaml", "SAMPLING_KEY=" + samplingKey, "none.yaml"},
	} {
		must(t, os.WriteFile(name, []byte(strings.Replace(good, c.old, c.new, 1)), 0o600))
		status, out := run(c.env)
		if status != 2 || !strings.Contains(out, c.want) || strings.Contains(out, samplingKey) {
			t.Errorf("%q for %q: status %d, %s; want 2 and %q", c.new, c.old, status, out, c.want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "killed")); !os.IsNotExist(err) {
		t.Errorf("a study that cannot begin has a folder: %v", err)
	}
	must(t, os.WriteFile(name, []byte(good), 0o600))
	status, out := run("SAMPLING_KEY=", "--dry-run", "--json")
	var forecast sampler.Forecast
	if err := json.Unmarshal([]byte(out), &forecast); err != nil || status != 0 || forecast.Calls != 10 {
		t.Errorf("forecast without a key: status %d, %v, %s", status, err, fmt.Sprint(out))
	}
}

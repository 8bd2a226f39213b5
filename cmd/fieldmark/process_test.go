package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

// TestMain makes the test binary the program too, under the name fieldmark.
func TestMain(m *testing.M) {
	for _, err := range []error{os.Setenv("GORACE", noSleep), flag.Set("test.parallel", strconv.Itoa(parallelTests))} {
		if err != nil {
			panic(err)
		}
	}
	testscript.Main(m, map[string]func(){"fieldmark": main, "bareserver": bareServer,
		"http3server": http3Server})
}

// parallelTests is the number of tests that run at once unless -parallel is set. They
// wait for processes most of the time, so two cores carry more than two.
const parallelTests = 4

// noSleep makes a program that is built with the race detector end when it is done. By
// default it waits a second more for races, and the tests run hundreds of programs.
const noSleep = "atexit_sleep_ms=0"

// TestScripts runs the command-line scripts in testdata.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:      "testdata",
		TestWork: false,
		Setup: func(env *testscript.Env) error {
			env.Setenv("NO_COLOR", "1")
			usePlainProgram(t, env)
			return nil
		},
	})
}

// usePlainProgram makes scripts run the program that program returns.
func usePlainProgram(t testing.TB, env *testscript.Env) {
	t.Helper()
	env.Setenv("PATH", filepath.Dir(program(t))+string(filepath.ListSeparator)+env.Getenv("PATH"))
}

// process is a running fieldmark.
type process struct {
	t    testing.TB
	cmd  *exec.Cmd
	done chan struct{}

	mu  sync.Mutex
	out bytes.Buffer // its output on both streams
	new chan struct{}
}

// program returns the path of fieldmark for tests that look at it from outside. It is built
// without the race detector, which makes a start take six times the processor: races within
// a process are searched for by the packages' own tests, and by TestChaos and TestModuleFleet here.
func program(t testing.TB) string {
	t.Helper()
	if !raceDetector {
		return detector(t)
	}
	path, err := buildPlain()
	must(t, err)
	return path
}

// buildPlain builds fieldmark once, in the folder that testscript removes.
var buildPlain = sync.OnceValues(func() (string, error) {
	beside, err := exec.LookPath("fieldmark")
	if err != nil {
		return "", err
	}
	path := filepath.Join(filepath.Dir(beside), "plain", "fieldmark")
	// The flags of make test for packages without the detector, so that each is compiled once.
	build := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-w", "-gcflags=github.com/...=-dwarf=false",
		"-gcflags=modernc.org/...=-dwarf=false", "-o", path, ".")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%v: %w\n%s", build.Args, err, out)
	}
	return path, nil
})

// detector returns the path of the test binary under the name testscript gave it: fieldmark
// with the race detector, if the tests have it.
func detector(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("fieldmark")
	must(t, err)
	return path
}

// start runs fieldmark with args in the folder dir.
func start(t testing.TB, dir string, args ...string) *process {
	t.Helper()
	return startCommand(t, dir, exec.Command(program(t), args...))
}

// startDetector is start with the race detector.
func startDetector(t testing.TB, dir string, args ...string) *process {
	t.Helper()
	return startCommand(t, dir, exec.Command(detector(t), args...))
}

// startCommand runs a command that starts fieldmark, with additional environment
// variables.
func startCommand(t testing.TB, dir string, cmd *exec.Cmd, env ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: cmd, done: make(chan struct{}), new: make(chan struct{}, 1)}
	p.cmd.Dir = dir
	p.cmd.Env = append(append(os.Environ(), "NO_COLOR=1"), env...)
	read, write, err := os.Pipe()
	must(t, err)
	p.cmd.Stdout, p.cmd.Stderr = write, write
	must(t, p.cmd.Start())
	must(t, write.Close())
	go p.collect(read)
	t.Cleanup(p.kill)
	return p
}

// collect stores the output of the process until it ends.
func (p *process) collect(r io.ReadCloser) {
	defer close(p.done)
	defer r.Close()
	for lines := bufio.NewReader(r); ; {
		line, err := lines.ReadBytes('\n')
		p.mu.Lock()
		p.out.Write(line)
		p.mu.Unlock()
		select {
		case p.new <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// printed returns everything printed so far.
func (p *process) printed() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// waitFor waits until the process has printed text.
func (p *process) waitFor(text string) {
	p.t.Helper()
	deadline := time.After(waittest.Limit)
	for !strings.Contains(p.printed(), text) {
		select {
		case <-p.new:
		case <-p.done:
			if !strings.Contains(p.printed(), text) {
				p.t.Fatalf("%v ended without printing %q:\n%s", p.cmd.Args, text, p.printed())
			}
		case <-deadline:
			p.t.Fatalf("%v did not print %q:\n%s", p.cmd.Args, text, p.printed())
		}
	}
}

// logged returns a field of the log line with the given message, once there is one.
func (p *process) logged(msg, field string) string {
	p.t.Helper()
	p.waitFor(`"msg":"` + msg + `"`)
	for line := range strings.Lines(p.printed()) {
		var entry map[string]any
		if json.Unmarshal([]byte(line), &entry) == nil && entry["msg"] == msg {
			return fmt.Sprint(entry[field])
		}
	}
	p.t.Fatalf("no log line %q:\n%s", msg, p.printed())
	return ""
}

// kill ends the process at once, as a power failure would.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended already
	<-p.done
	_ = p.cmd.Wait() // a killed process has an exit error
}

// stop ends the process as an operator would, and checks that it exits cleanly.
func (p *process) stop() {
	p.t.Helper()
	must(p.t, p.cmd.Process.Signal(os.Interrupt))
	select {
	case <-p.done:
	case <-time.After(waittest.Limit):
		must(p.t, p.cmd.Process.Signal(syscall.SIGQUIT)) // prints its goroutines
		<-p.done
		p.t.Fatalf("%v did not stop:\n%s", p.cmd.Args, p.printed())
	}
	if err := p.cmd.Wait(); err != nil {
		p.t.Fatalf("%v: %v\n%s", p.cmd.Args, err, p.printed())
	}
}

// runOnce runs a command to its end and returns its output.
func runOnce(t testing.TB, dir string, args ...string) string {
	t.Helper()
	p := start(t, dir, args...)
	<-p.done
	if err := p.cmd.Wait(); err != nil {
		t.Fatalf("fieldmark %v: %v\n%s", args, err, p.printed())
	}
	return p.printed()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ask sends a request and returns the status, header and body of the response.
func ask(t testing.TB, method, url, body string, header ...string) (int, http.Header, string) {
	t.Helper()
	status, head, got, err := try(method, url, body, header...)
	must(t, err)
	return status, head, got
}

// try is ask for servers that may be down.
func try(method, url, body string, header ...string) (int, http.Header, string, error) {
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return 0, nil, "", err
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, "", err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, string(raw), err
}

// freePorts returns the settings for several Fieldmarks on one machine.
func freePorts(data string) []string {
	return []string{"--data", data, "--listen", "127.0.0.1:0", "--origin-listen", "127.0.0.1:0", "--debug-listen",
		"127.0.0.1:0"}
}

func readFile(t testing.TB, elem ...string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(elem...))
	must(t, err)
	return string(raw)
}

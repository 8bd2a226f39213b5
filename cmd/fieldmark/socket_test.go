package main

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

// TestInheritedSocket acts as a service manager: it opens the socket, passes it on, and
// keeps it open over a restart. A request that arrives while no process runs waits and
// gets a response.
func TestInheritedSocket(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	file, err := ln.(*net.TCPListener).File()
	must(t, err)
	base := "http://" + ln.Addr().String()
	must(t, ln.Close()) // file is another handle on the same socket
	defer file.Close()
	run := func() *process {
		// LISTEN_PID is the process itself, which the shell becomes.
		cmd := exec.Command("sh",
			append([]string{"-c", `LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=edge exec "$@"`, "sh", program(t),
				"serve"},
				"--listen", "systemd:edge", "--data", "var", "--origin-listen", "127.0.0.1:0", "--debug-listen",
				"127.0.0.1:0")...)
		cmd.ExtraFiles = []*os.File{file}
		return startCommand(t, dir, cmd)
	}
	p := run()
	if got := p.logged("serve", "listen"); got != base {
		t.Errorf("it listens at %s, want the socket it was given, %s", got, base)
	}
	waittest.Until(t, "the leaderboard is there", func() bool {
		status, _, _, err := try("GET", base+"/api/v1/leaderboard", "")
		return err == nil && status == http.StatusOK
	})
	p.stop()

	answered := make(chan error, 1)
	go func() {
		_, _, _, err := try("GET", base+"/api/v1/leaderboard", "")
		answered <- err
	}()
	p = run()
	if err := <-answered; err != nil {
		t.Errorf("a request during the restart: %v", err)
	}
	p.stop()
	out, err := exec.Command(program(t), "edge", "--listen", "systemd:edge", "--node-token",
		strings.Repeat("n", minSecret)).CombinedOutput()
	if want := "passed no sockets"; err == nil || !strings.Contains(string(out), want) {
		t.Errorf("without a socket: %v, %s; want %q", err, out, want)
	}
}

// man installs the manual page below dir as the runbook and the units describe, and
// reports whether systemd-analyze can find it.
func man(t *testing.T, dir string) string {
	t.Helper()
	for _, file := range []string{"README.md", "systemd/fieldmark.service", "systemd/fieldmark-edge.service",
		"systemd/fieldmark-origin.service"} {
		if text := readFile(t, "..", "..", "deploy", file); !strings.Contains(text,
			"fieldmark man >/usr/local/share/man/man1/fieldmark.1") {
			t.Errorf("deploy/%s does not install the manual page that the units name", file)
		}
	}
	page, err := exec.Command(program(t), "man").Output()
	must(t, err)
	must(t, os.MkdirAll(filepath.Join(dir, "man", "man1"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "man", "man1", "fieldmark.1"), page, 0o644))
	if _, err := exec.LookPath("man"); err != nil {
		return "--man=no"
	}
	return "--man=yes"
}

// TestUnits validates the unit files with systemd-analyze, if it is installed.
func TestUnits(t *testing.T) {
	tool, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Logf("systemd-analyze is not installed; the units are read for what they start alone")
	}
	folder := filepath.Join("..", "..", "deploy", "systemd")
	dir := t.TempDir()
	manual := man(t, dir)
	must(t, os.WriteFile(filepath.Join(dir, "fieldmark.socket"), []byte(readFile(t, folder, "fieldmark.socket")),
		0o600))
	for unit, role := range map[string]string{"fieldmark.service": "serve", "fieldmark-edge.service": "edge",
		"fieldmark-origin.service": "origin"} {
		text := readFile(t, folder, unit)
		if !strings.Contains(text, "ExecStart=/usr/local/bin/fieldmark "+role) {
			t.Errorf("%s does not start %q", unit, role)
		}
		file := filepath.Join(dir, unit)
		must(t, os.WriteFile(file, []byte(strings.ReplaceAll(text, "/usr/local/bin/fieldmark", program(t))), 0o600))
		if tool == "" {
			continue
		}
		verify := exec.Command(tool, "verify", manual, file)
		verify.Env = append(os.Environ(), "MANPATH="+filepath.Join(dir, "man"))
		if out, err := verify.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("systemd-analyze verify %s: %v\n%s", unit, err, out)
		}
	}
}

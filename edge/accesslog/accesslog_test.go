package accesslog_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark/edge/accesslog"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// entry is a request for a badge.
func entry() accesslog.Entry {
	return accesslog.Entry{Time: time.Date(2026, 11, 22, 12, 30, 5, 7_000_000, time.UTC),
		Client: netip.MustParseAddr("192.0.2.7"), Method: "GET", Host: "marks.example", Path: "/api/badge/acme",
		Protocol: "h2", Status: 200, Bytes: 876, Cache: "hit"}
}

// config returns a configuration that logs everything to a file.
func config(path string) accesslog.Config {
	return accesslog.Config{Path: path, Format: accesslog.JSON, Address: accesslog.Network, Sample: 1,
		Log: slog.New(slog.DiscardHandler)}
}

// start runs a log until the returned function is called.
func start(t testing.TB, cfg accesslog.Config) (l *accesslog.Log, stop func()) {
	t.Helper()
	l, err := accesslog.Open(cfg)
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	return l, func() {
		t.Helper()
		cancel()
		must(t, <-done)
	}
}

// written returns what a log writes for entries.
func written(t testing.TB, cfg accesslog.Config, entries ...accesslog.Entry) string {
	t.Helper()
	cfg.Path = filepath.Join(t.TempDir(), "access.log")
	l, stop := start(t, cfg)
	for i := range entries {
		l.Add(&entries[i])
	}
	stop()
	text, err := os.ReadFile(cfg.Path)
	must(t, err)
	return string(text)
}

// dropped returns the number of dropped lines.
func dropped(l *accesslog.Log) (n int) {
	var b strings.Builder
	l.WriteMetrics(&b)
	_, _ = fmt.Sscanf(b.String(), "fieldmark_edge_log_dropped_total %d", &n)
	return n
}

// TestFormats compares lines with what is documented.
func TestFormats(t *testing.T) {
	full, v6 := entry(), entry()
	full.Duration, full.RequestID, full.Protocol = 12_034*time.Microsecond, "req_1", "h1s"
	v6.Client, v6.Duration = netip.MustParseAddr("2001:db8:1:2::7"), 2*time.Second
	least := accesslog.Entry{Time: entry().Time, Method: "BREW", Protocol: "h1", Status: 400}
	for _, tt := range []struct {
		format  accesslog.Format
		address accesslog.AddressForm
		entry   accesslog.Entry
		want    string
	}{
		{accesslog.JSON, accesslog.Network, entry(), `{"time":"2026-11-22T12:30:05.007Z","network":"192.0.2.0/24",` +
			`"method":"GET","host":"marks.example","path":"/api/badge/acme","protocol":"h2","status":200,"bytes":876,` +
			`"ms":0,"cache":"hit"}`},
		{accesslog.JSON, accesslog.Full, full, `{"time":"2026-11-22T12:30:05.007Z","address":"192.0.2.7",` +
			`"method":"GET","host":"marks.example","path":"/api/badge/acme","protocol":"h1s","status":200,` +
			`"bytes":876,` +
			`"ms":12.034,"cache":"hit","requestId":"req_1"}`},
		{accesslog.JSON, accesslog.Network, v6, `{"time":"2026-11-22T12:30:05.007Z","network":"2001:db8:1::/48",` +
			`"method":"GET","host":"marks.example","path":"/api/badge/acme","protocol":"h2","status":200,"bytes":876,` +
			`"ms":2000,"cache":"hit"}`},
		{accesslog.JSON, accesslog.None, least, `{"time":"2026-11-22T12:30:05.007Z","method":"BREW","protocol":"h1",` +
			`"status":400,"bytes":0,"ms":0}`},
		{accesslog.Combined, accesslog.Network, entry(),
			`192.0.2.0 - - [22/Nov/2026:12:30:05 +0000] "GET /api/badge/acme HTTP/2.0" 200 876 "-" "-"`},
		{accesslog.Combined, accesslog.Full, v6,
			`2001:db8:1:2::7 - - [22/Nov/2026:12:30:05 +0000] "GET /api/badge/acme HTTP/2.0" 200 876 "-" "-"`},
		{accesslog.Combined, accesslog.None, full,
			`- - - [22/Nov/2026:12:30:05 +0000] "GET /api/badge/acme HTTP/1.1" 200 876 "-" "-"`},
	} {
		cfg := config("")
		cfg.Format, cfg.Address = tt.format, tt.address
		if got := written(t, cfg, tt.entry); got != tt.want+"\n" {
			t.Errorf("%s, %s:\n%swant\n%s", tt.format, tt.address, got, tt.want)
		}
	}
}

var (
	printable    = regexp.MustCompile(`^[ -~]*\n$`)
	combinedLine = regexp.MustCompile(`^192\.0\.2\.0 - - \[[^]"]+\] "([^"\\]|\\x[0-9a-f]{2})*" \d{3} \d+ "-" "-"\n$`)
)

// FuzzLine puts any text into an entry: its line is one line of printable ASCII, which readers
// of the format read as that text.
func FuzzLine(f *testing.F) {
	for _, text := range []string{"/", "/a\nb", "/a\r\n192.0.2.1 - - [x] \"GET / HTTP/1.1\" 200 1",
		`/"}` + "\n" + `{"status":200`,
		"/\\", "/\x00\x1b[2J\x07", "/\u009b31m", "/\u202egnp.exe", "/é/☃/😀", "/\xff\xfe", "/\xed\xa0\x80", "/\u2028",
		"/\x7f",
		strings.Repeat("é", 3000)} {
		f.Add(text, text)
	}
	f.Fuzz(func(t *testing.T, path, other string) {
		e := entry()
		e.Path, e.Method, e.Host, e.Cache, e.RequestID = path, other, other, other, other
		line := written(t, config(""), e)
		if !printable.MatchString(line) {
			t.Fatalf("not a line of printable ASCII: %q", line)
		}
		var got struct{ Method, Host, Path, Cache, RequestID string }
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		for what, pair := range map[string][2]string{"path": {got.Path, path}, "method": {got.Method, other},
			"host": {got.Host, other}, "cache": {got.Cache, other}, "request id": {got.RequestID, other}} {
			// Each byte that is not UTF-8 becomes a replacement character, as in a range over runes.
			if want := string([]rune(pair[1][:min(len(pair[1]), 2048)])); pair[0] != want {
				t.Errorf("%s of %q: %q, want %q", what, line, pair[0], want)
			}
		}
		cfg := config("")
		cfg.Format = accesslog.Combined
		if line := written(t, cfg, e); !printable.MatchString(line) || !combinedLine.MatchString(line) {
			t.Errorf("not a line of the combined format: %q", line)
		}
	})
}

// TestSample counts which requests are selected: errors of the server, and a share of the others.
func TestSample(t *testing.T) {
	const n = 100_000
	for _, share := range []float64{0, 0.001, 0.1, 0.5, 0.999, 1} {
		cfg := config(filepath.Join(t.TempDir(), "access.log"))
		cfg.Sample = share
		l, stop := start(t, cfg)
		selected, errors := 0, 0
		for range n {
			if l.Selects(200) {
				selected++
			}
			if l.Selects(502) {
				errors++
			}
		}
		stop()
		if want := int(share * n); selected < want-5 || selected > want+5 || errors != n {
			t.Errorf("share %v: %d of %d are selected, and %d errors", share, selected, n, errors)
		}
	}
	for _, share := range []float64{-0.1, 1.1, nan()} {
		cfg := config(filepath.Join(t.TempDir(), "access.log"))
		cfg.Sample = share
		if _, err := accesslog.Open(cfg); err == nil {
			t.Errorf("the share %v is accepted", share)
		}
	}
	var none *accesslog.Log
	if none.Selects(500) {
		t.Error("without a log a request is selected")
	}
}

func nan() (x float64) { return x / x }

// TestReopen rotates the file: lines before the signal are in the old one, lines after it in the
// new one.
func TestReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "access.log")
	l, stop := start(t, config(path))
	before, after := entry(), entry()
	before.Path, after.Path = "/before", "/after"
	l.Add(&before)
	must(t, os.Rename(path, path+".1"))
	l.Reopen()
	for { // the goroutine that writes has not opened it yet
		if _, err := os.Stat(path); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	l.Add(&after)
	stop()
	for file, want := range map[string]string{path + ".1": "/before", path: "/after"} {
		text, err := os.ReadFile(file)
		must(t, err)
		if strings.Count(string(text), "\n") != 1 || !strings.Contains(string(text), want) {
			t.Errorf("%s holds %q, want %s", filepath.Base(file), text, want)
		}
	}
	info, err := os.Stat(path)
	must(t, err)
	if info.Mode().Perm()&0o007 != 0 {
		t.Errorf("the file is open to all: %v", info.Mode())
	}
}

// TestBlockedFile logs into a pipe that is not read: callers do not wait, and what does not fit
// into a mebibyte is dropped and counted. Every line that is written is whole.
func TestBlockedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	must(t, syscall.Mkfifo(path, 0o600))
	pipe, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	defer pipe.Close()
	l, stop := start(t, config(path))
	e := entry()
	const lines = 20_000
	for range lines {
		l.Add(&e)
	}
	lost := dropped(l)
	line := written(t, config(""), e)
	if held := (lines - lost) * len(line); lost == 0 || held > 1<<20+64<<10 {
		t.Errorf("%d lines of %d were dropped, %d bytes kept", lost, lines, held)
	}
	read := make(chan string)
	go func() {
		var b bytes.Buffer
		_, _ = io.CopyN(&b, pipe, int64((lines-lost)*len(line)))
		read <- b.String()
	}()
	text := <-read
	if text != strings.Repeat(line, lines-lost) {
		t.Error("the lines that were read are not whole")
	}
	stop()
	if dropped(l) != lost {
		t.Errorf("%d lines are counted as dropped at last, %d before", dropped(l), lost)
	}
}

// TestFullDisk logs to a full device: the lines are counted as dropped, and the error is logged
// once.
func TestFullDisk(t *testing.T) {
	var out bytes.Buffer
	cfg := config("/dev/full")
	cfg.Log = slog.New(slog.NewTextHandler(&out, nil))
	if _, err := os.Stat(cfg.Path); err != nil {
		t.Logf("this system has no /dev/full: %v", err)
		return
	}
	l, stop := start(t, cfg)
	e := entry()
	for i := range 3 {
		l.Add(&e)
		for dropped(l) != i+1 { // it is not written yet
			time.Sleep(time.Millisecond)
		}
	}
	stop()
	if n := strings.Count(out.String(), "dropped"); n != 1 {
		t.Errorf("the error was logged %d times:\n%s", n, out.String())
	}
}

// TestAllocations checks that logging a badge allocates nothing.
func TestAllocations(t *testing.T) {
	for _, format := range []accesslog.Format{accesslog.JSON, accesslog.Combined} {
		cfg := config(os.DevNull)
		cfg.Format = format
		l, stop := start(t, cfg)
		e := entry()
		if n := testing.AllocsPerRun(1000, func() {
			if l.Selects(e.Status) {
				l.Add(&e)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", format, n)
		}
		stop()
	}
}

// BenchmarkAdd logs badges into a file.
func BenchmarkAdd(b *testing.B) {
	for _, format := range []accesslog.Format{accesslog.JSON, accesslog.Combined} {
		b.Run(string(format), func(b *testing.B) {
			cfg := config(filepath.Join(b.TempDir(), "access.log"))
			cfg.Format = format
			l, stop := start(b, cfg)
			e := entry()
			b.ReportAllocs()
			for b.Loop() {
				e.Time = time.Now()
				l.Add(&e)
			}
			stop()
			b.ReportMetric(float64(dropped(l))/float64(b.N), "dropped/op")
		})
	}
}

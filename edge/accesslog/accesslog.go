package accesslog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// bufferSize bounds the lines in memory, in bytes: those of a second at 5,000 requests
	// a second. One half is filled while the other is written.
	bufferSize = 1 << 20
	// flushInterval is how long lines wait for others that are written with them.
	flushInterval = 100 * time.Millisecond
	// lineSize is the capacity for a line on the stack, in bytes: one of a badge has 250.
	lineSize = 768
	// maxText bounds a text of a request in a line, in bytes. Longer ones are cut off.
	maxText = 2048
)

// Stdout is the path that names the standard output.
const Stdout = "-"

// Format is the form of lines.
type Format string

// Formats.
const (
	JSON     Format = "json"
	Combined Format = "combined" // that of Apache and nginx, with "-" for Referer and User-Agent
)

// AddressForm is how much of the address of a client is logged.
type AddressForm string

// Forms of addresses.
const (
	Network AddressForm = "network" // a /24, or a /48 of IPv6
	Full    AddressForm = "full"
	None    AddressForm = "none"
)

// Config configures a Log. All fields but Sample are required.
type Config struct {
	Path    string // of the file, which is appended to, or Stdout
	Format  Format
	Address AddressForm
	// Sample is the share of requests that are logged, from 0 to 1. Requests that the server
	// could not answer (5xx) are always logged.
	Sample float64
	Log    *slog.Logger // for errors of the file
}

// Entry is a request and its response.
type Entry struct {
	Time      time.Time  // when the request was received
	Client    netip.Addr // invalid: unknown
	Method    string
	Host      string
	Path      string // without a query
	Protocol  string // h1, h1s, h2 or h3
	Status    int
	Bytes     int64         // of the response's body
	Duration  time.Duration // until the response was sent
	Cache     string        // what Cache-Status (RFC 9211) says of this server's cache; empty: nothing
	RequestID string        // empty: none
}

// Log is an access log. Its methods may be called concurrently; those of a nil Log do
// nothing.
type Log struct {
	cfg       Config
	threshold uint64 // of sequence, below which a request is logged
	sequence  atomic.Uint64
	dropped   atomic.Uint64
	second    atomic.Pointer[second]
	wake      chan struct{} // holds a signal when there are lines, and when half of lines is full
	reopen    chan struct{} // holds a signal when the file is to be opened again

	mu    sync.Mutex
	lines []byte // that wait for the goroutine that writes

	// Only the goroutine that writes uses these.
	file   *os.File
	spare  []byte // the other half of the buffer
	torn   bool   // the last write ended within a line
	failed bool   // the last write failed
}

// Open opens the file. Run must be called.
func Open(cfg Config) (*Log, error) {
	switch {
	case !(cfg.Sample >= 0 && cfg.Sample <= 1): // not a number is neither
		return nil, fmt.Errorf("access log: a share of %v; want one from 0 to 1", cfg.Sample)
	case cfg.Format != JSON && cfg.Format != Combined:
		return nil, fmt.Errorf("access log: unknown format %q", cfg.Format)
	case cfg.Address != Network && cfg.Address != Full && cfg.Address != None:
		return nil, fmt.Errorf("access log: unknown form of addresses %q", cfg.Address)
	}
	l := &Log{cfg: cfg, threshold: math.MaxUint64, wake: make(chan struct{}, 1), reopen: make(chan struct{}, 1),
		lines: make([]byte, 0, bufferSize/2), spare: make([]byte, 0, bufferSize/2)}
	if cfg.Sample < 1 {
		l.threshold = uint64(math.Ldexp(cfg.Sample, 64))
	}
	var err error
	l.file, err = open(cfg.Path)
	return l, err
}

func open(path string) (*os.File, error) {
	if path == Stdout {
		return os.Stdout, nil
	}
	// Other users must not read it: addresses of clients are personal data.
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640)
	if err != nil {
		return nil, fmt.Errorf("access log: %w", err)
	}
	return f, nil
}

// weyl is 2^64 divided by the golden ratio. Its multiples are spread evenly over all numbers
// of 64 bits, without a period that traffic could share: of any n requests in a row, the
// share that is logged differs from Config.Sample by a few requests.
const weyl = 0x9E3779B97F4A7C15

// Selects reports whether a request with this status is to be logged. It must be called once
// for each request, before Add.
func (l *Log) Selects(status int) bool {
	if l == nil {
		return false
	}
	return status >= 500 || l.cfg.Sample == 1 || l.sequence.Add(weyl) < l.threshold
}

// Add adds the line of an entry. It does not wait and does not keep e or its strings.
func (l *Log) Add(e *Entry) {
	var space [lineSize]byte
	line := l.appendLine(space[:0], e)
	const half = bufferSize / 2
	l.mu.Lock()
	before := len(l.lines)
	after := before + len(line)
	if after <= half {
		l.lines = append(l.lines, line...)
	}
	l.mu.Unlock()
	if after > half {
		l.dropped.Add(1)
		return
	}
	if before == 0 || before <= half/2 && after > half/2 {
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
}

// Reopen makes the Log write to a new file of the same name, as after a rotation. Lines of
// earlier requests are written to the present file.
func (l *Log) Reopen() {
	select {
	case l.reopen <- struct{}{}:
	default: // it will be reopened anyway
	}
}

// Run writes lines until ctx ends, and then those that are left.
func (l *Log) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			l.flush()
			if l.file == os.Stdout {
				return nil
			}
			return l.file.Close()
		case <-l.reopen:
			l.flush()
			l.reopenFile()
		case <-l.wake:
			timer := time.NewTimer(flushInterval)
			select {
			case <-ctx.Done():
			case <-l.wake: // half of the memory is full
			case <-timer.C:
			}
			timer.Stop()
			l.flush()
		}
	}
}

// flush writes the lines that wait.
func (l *Log) flush() {
	l.mu.Lock()
	lines := l.lines
	l.lines = l.spare[:0]
	l.mu.Unlock()
	l.spare = lines
	if len(lines) == 0 {
		return
	}
	if l.torn {
		_, err := l.file.Write([]byte("\n"))
		l.torn = err != nil
	}
	n, err := l.file.Write(lines)
	if err != nil {
		l.dropped.Add(uint64(bytes.Count(lines[n:], []byte("\n"))))
		l.torn = l.torn || n > 0 && lines[n-1] != '\n'
		if !l.failed { // once, not every time
			l.cfg.Log.Error("lines of the access log cannot be written and are dropped", "err", err)
		}
	}
	l.failed = err != nil
}

// reopenFile opens the file again. If that fails, the present one stays in use.
func (l *Log) reopenFile() {
	f, err := open(l.cfg.Path)
	if err != nil {
		l.cfg.Log.Error("the access log cannot be opened again; the present file stays in use", "err", err)
		return
	}
	if f == os.Stdout {
		return
	}
	old := l.file
	l.file, l.torn = f, false
	if err := old.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		l.cfg.Log.Error("close the access log", "err", err)
	}
}

// WriteMetrics writes the number of dropped lines in the Prometheus text format.
func (l *Log) WriteMetrics(w io.Writer) {
	dropped := uint64(0)
	if l != nil {
		dropped = l.dropped.Load()
	}
	fmt.Fprintf(w, "fieldmark_edge_log_dropped_total %d\n", dropped)
}

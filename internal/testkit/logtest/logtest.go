package logtest

import (
	"io"
	"strings"
	"sync"
	"testing"
)

// Recorder is a log that several goroutines may write to. The log of the test gets everything too.
type Recorder struct {
	out io.Writer
	mu  sync.Mutex
	b   strings.Builder
}

// New returns an empty recorder.
func New(t testing.TB) *Recorder { return &Recorder{out: t.Output()} }

// Write implements io.Writer.
func (r *Recorder) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.b.Write(b)
	return r.out.Write(b)
}

// Count returns how often a text is in the log.
func (r *Recorder) Count(text string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Count(r.b.String(), text)
}

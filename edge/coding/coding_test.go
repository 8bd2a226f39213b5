package coding_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark/edge/coding"
)

// undo reads a form back.
func undo(t testing.TB, c coding.Coding, coded []byte) []byte {
	t.Helper()
	var plain []byte
	var err error
	switch c {
	case coding.Brotli:
		plain, err = fasthttp.AppendUnbrotliBytes(nil, coded)
	case coding.Zstd:
		plain, err = fasthttp.AppendUnzstdBytes(nil, coded)
	case coding.Gzip:
		var r *gzip.Reader
		if r, err = gzip.NewReader(bytes.NewReader(coded)); err == nil {
			plain, err = io.ReadAll(r)
		}
	}
	if err != nil {
		t.Fatalf("%s: %v", c, err)
	}
	return plain
}

func TestEncode(t *testing.T) {
	body := []byte(strings.Repeat("all that is said twice can be said shorter. ", 50))
	for c := range coding.Identity {
		coded := c.Encode(body)
		if len(coded) == 0 || len(coded) > len(body)/2 || !bytes.Equal(undo(t, c, coded), body) {
			t.Errorf("%s: %d of %d bytes, want less than half and the same content", c, len(coded), len(body))
		}
		noise := make([]byte, 2000)
		for i := range noise {
			noise[i] = byte(rand.Uint32())
		}
		if coded := c.Encode(noise); coded != nil {
			t.Errorf("%s of noise: %d bytes, want none", c, len(coded))
		}
	}
}

func TestTag(t *testing.T) {
	for _, tt := range []struct {
		c         coding.Coding
		tag, want string
	}{{coding.Brotli, `"a"`, `"a-br"`}, {coding.Gzip, `W/"a"`, `W/"a-gz"`}, {coding.Zstd, `"a"`, `"a-zstd"`}, {coding.Identity, `"a"`, `"a"`}, {coding.Gzip, "a", "a"}} {
		if got := tt.c.Tag(tt.tag); got != tt.want {
			t.Errorf("%s of %s: got %s, want %s", tt.c, tt.tag, got, tt.want)
		}
	}
}

func TestPays(t *testing.T) {
	for _, tt := range []struct {
		media string
		size  int
		want  bool
	}{
		{"text/html; charset=utf-8", 900, true}, {"text/html", 899, false}, {"TEXT/CSS", 9000, true}, {"text/calendar; charset=utf-8", 9000, false},
		{"text/event-stream", 9000, false}, {"application/json", 9000, true}, {"application/problem+json", 9000, true}, {"image/svg+xml", 9000, true},
		{"image/png", 9000, false}, {"application/zip", 9000, false}, {"", 9000, false}, {"application/wasm", 9000, true},
	} {
		if got := coding.Pays(tt.media, tt.size); got != tt.want {
			t.Errorf("%s of %d bytes: got %v, want %v", tt.media, tt.size, got, tt.want)
		}
	}
}

// TestBest: which form a reader gets of all, and of gzip alone.
func TestBest(t *testing.T) {
	for _, tt := range []struct {
		field     string // lines are parted by a line break; "-" is no field
		all, gzip string
	}{
		{"-", "identity", "identity"},
		{"", "identity", "identity"},
		{"gzip, deflate, br, zstd", "br", "gzip"},
		{"gzip", "gzip", "gzip"},
		{"GZip", "gzip", "gzip"},
		{"x-gzip", "gzip", "gzip"},
		{"X-GZIP", "gzip", "gzip"},
		{"deflate", "identity", "identity"},
		{"*", "br", "gzip"},
		{"br;q=0, *", "zstd", "gzip"},
		{"*;q=0", "identity", "identity"},
		{"gzip;q=0", "identity", "identity"},
		{"gzip;q=0.5, br;q=0.4", "gzip", "gzip"},
		{"gzip;q=1.0, br;q=0.9, zstd;q=0.95", "gzip", "gzip"},
		{"gzip ; q=0.8 , br ; Q=0.9", "br", "gzip"},
		{"identity", "identity", "identity"},
		{"identity;q=0.5, gzip;q=0.4", "identity", "identity"},
		{"identity;q=0.4, gzip;q=0.4", "gzip", "gzip"},
		{"identity;q=0, zstd;q=0.001", "zstd", "identity"},
		{"gzip;q=0.0001", "identity", "identity"},
		{"gzip;q=2", "identity", "identity"},
		{"gzip;q=1.1", "identity", "identity"},
		{"gzip;q=abc", "identity", "identity"},
		{"gzip;q=", "identity", "identity"},
		{"gzip;q=-1", "identity", "identity"},
		{"gzip;q=0.5;x=y", "gzip", "gzip"},
		{"gzip;x=y", "gzip", "gzip"},
		{",,gzip,", "gzip", "gzip"},
		{"gzip\nbr", "br", "gzip"},
		{"gzip;q=0.5\nbr;q=0.4", "gzip", "gzip"},
	} {
		var w coding.Wishes
		if tt.field != "-" {
			for line := range strings.SplitSeq(tt.field, "\n") {
				w.Add(line)
			}
		}
		all := w.Best(func(coding.Coding) bool { return true })
		one := w.Best(func(c coding.Coding) bool { return c == coding.Gzip })
		if all.String() != tt.all || one.String() != tt.gzip {
			t.Errorf("%q: got %s of all and %s of gzip alone, want %s and %s", tt.field, all, one, tt.all, tt.gzip)
		}
	}
	line := "gzip, deflate, br;q=0.9, zstd;q=0.8, *;q=0.1"
	if n := testing.AllocsPerRun(100, func() {
		var w coding.Wishes
		w.Add(line)
		w.Best(func(coding.Coding) bool { return true })
	}); n != 0 {
		t.Errorf("reading and choosing allocates %v times, want 0", n)
	}
}

// FuzzWishes: whatever a reader says, a weight is none it did not give.
func FuzzWishes(f *testing.F) {
	for _, s := range []string{"gzip, br;q=0.5", "*;q=0", "identity;q=0.123, x-gzip", ";;,q=1,", "gzip;q=1.0009"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		var w coding.Wishes
		w.Add(line)
		for c := range coding.Identity {
			weight := w.Weight(c)
			if weight < 0 || weight > 1000 {
				t.Errorf("%q: %s weighs %d", line, c, weight)
			}
			if weight > 0 && !strings.Contains(strings.ToLower(line), c.String()) && !strings.Contains(line, "*") {
				t.Errorf("%q: %s weighs %d and is not named", line, c, weight)
			}
			if best := w.Best(func(d coding.Coding) bool { return d == c }); best != c && best != coding.Identity {
				t.Errorf("%q: %s of %s alone", line, best, c)
			}
		}
	})
}

// TestOpen: beginnings and ends of all lengths read back as one body.
func TestOpen(t *testing.T) {
	text := []byte(strings.Repeat(`{"signal":"answer-first","points":12.5},`, 5000))
	for _, n := range []int{300, 1000, 5000, 200_000} {
		o := coding.NewOpen(text[:n])
		if o == nil || o.Len() > n {
			t.Fatalf("%d bytes: no form", n)
		}
		for _, m := range []int{0, 1, 96, 65535, 65536, 150_000} {
			whole := append(bytes.Clone(text[:n]), text[:m]...)
			if got := undo(t, coding.Gzip, o.Append(nil, text[:m])); !bytes.Equal(got, whole) {
				t.Errorf("%d and %d bytes: %d bytes came back", n, m, len(got))
			}
		}
	}
	if coding.NewOpen([]byte("too short")) != nil {
		t.Error("a short beginning has a form")
	}
}

// FuzzOpen holds spliced forms to what gzip reads.
func FuzzOpen(f *testing.F) {
	f.Add([]byte(strings.Repeat("abc", 100)), []byte("def"))
	f.Fuzz(func(t *testing.T, beginning, end []byte) {
		o := coding.NewOpen(beginning)
		if o == nil {
			return
		}
		if got := undo(t, coding.Gzip, o.Append([]byte("kept"), end)[4:]); !bytes.Equal(got, append(bytes.Clone(beginning), end...)) {
			t.Errorf("%q and %q came back as %q", beginning, end, got)
		}
	})
}

func TestPress(t *testing.T) {
	p, end := coding.NewPress(), make(chan struct{})
	done := make(chan int, 1000)
	taken := 0
	for i := range 1000 {
		if p.Offer(func() { done <- i }) {
			taken++
		}
	}
	if taken == 0 || taken == 1000 || !p.Busy() {
		t.Errorf("%d of 1000 offers taken, busy %v; want a bound", taken, p.Busy())
	}
	ended := make(chan struct{})
	go func() { defer close(ended); p.Run(end) }()
	for i := range taken {
		if got := <-done; got != i {
			t.Fatalf("job %d was done as number %d", got, i)
		}
	}
	close(end)
	<-ended
}

package compress_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark/edge/compress"
)

// decompress decodes an encoded body.
func decompress(t testing.TB, c compress.Encoding, coded []byte) []byte {
	t.Helper()
	var plain []byte
	var err error
	switch c {
	case compress.Brotli:
		plain, err = fasthttp.AppendUnbrotliBytes(nil, coded)
	case compress.Zstd:
		plain, err = fasthttp.AppendUnzstdBytes(nil, coded)
	case compress.Gzip:
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

func TestCompress(t *testing.T) {
	body := []byte(strings.Repeat("all that is said twice can be said shorter. ", 50))
	for c := range compress.Identity {
		coded := c.Compress(body)
		if len(coded) == 0 || len(coded) > len(body)/2 || !bytes.Equal(decompress(t, c, coded), body) {
			t.Errorf("%s: %d of %d bytes, want less than half and the same content", c, len(coded), len(body))
		}
		noise := make([]byte, 2000)
		for i := range noise {
			noise[i] = byte(rand.Uint32())
		}
		if coded := c.Compress(noise); coded != nil {
			t.Errorf("%s of noise: %d bytes, want none", c, len(coded))
		}
	}
}

func TestETag(t *testing.T) {
	for _, tt := range []struct {
		c         compress.Encoding
		tag, want string
	}{{compress.Brotli, `"a"`, `"a-br"`}, {compress.Gzip, `W/"a"`, `W/"a-gz"`}, {compress.Zstd, `"a"`, `"a-zstd"`},
		{compress.Identity, `"a"`, `"a"`}, {compress.Gzip, "a", "a"}} {
		if got := tt.c.ETag(tt.tag); got != tt.want {
			t.Errorf("%s of %s: got %s, want %s", tt.c, tt.tag, got, tt.want)
		}
	}
}

func TestCompressible(t *testing.T) {
	for _, tt := range []struct {
		media string
		size  int
		want  bool
	}{
		{"text/html; charset=utf-8", 900, true}, {"text/html", 899, false}, {"TEXT/CSS", 9000, true},
		{"text/calendar; charset=utf-8", 9000, false},
		{"text/event-stream", 9000, false}, {"application/json", 9000, true}, {"application/problem+json", 9000, true},
		{"image/svg+xml", 9000, true},
		{"image/png", 9000, false}, {"application/zip", 9000, false}, {"", 9000, false},
		{"application/wasm", 9000, true},
	} {
		if got := compress.Compressible(tt.media, tt.size); got != tt.want {
			t.Errorf("%s of %d bytes: got %v, want %v", tt.media, tt.size, got, tt.want)
		}
	}
}

// TestNegotiate: the encoding a client gets when all are available, and when only
// gzip is.
func TestNegotiate(t *testing.T) {
	for _, tt := range []struct {
		field     string // lines of the field; "-": no field
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
		var w compress.AcceptEncoding
		if tt.field != "-" {
			for line := range strings.SplitSeq(tt.field, "\n") {
				w.Add(line)
			}
		}
		all := w.Negotiate(func(compress.Encoding) bool { return true })
		one := w.Negotiate(func(c compress.Encoding) bool { return c == compress.Gzip })
		if all.String() != tt.all || one.String() != tt.gzip {
			t.Errorf("%q: got %s of all and %s of gzip alone, want %s and %s", tt.field, all, one, tt.all, tt.gzip)
		}
	}
	line := "gzip, deflate, br;q=0.9, zstd;q=0.8, *;q=0.1"
	if n := testing.AllocsPerRun(100, func() {
		var w compress.AcceptEncoding
		w.Add(line)
		w.Negotiate(func(compress.Encoding) bool { return true })
	}); n != 0 {
		t.Errorf("parsing and negotiating allocates %v times, want 0", n)
	}
}

// FuzzAcceptEncoding: an encoding has a weight only if the field names it or has "*".
func FuzzAcceptEncoding(f *testing.F) {
	for _, s := range []string{"gzip, br;q=0.5", "*;q=0", "identity;q=0.123, x-gzip", ";;,q=1,", "gzip;q=1.0009"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		var w compress.AcceptEncoding
		w.Add(line)
		for c := range compress.Identity {
			weight := w.Weight(c)
			if weight < 0 || weight > 1000 {
				t.Errorf("%q: %s weighs %d", line, c, weight)
			}
			if weight > 0 && !strings.Contains(strings.ToLower(line), c.String()) && !strings.Contains(line, "*") {
				t.Errorf("%q: %s weighs %d and is not named", line, c, weight)
			}
			if best := w.Negotiate(func(d compress.Encoding) bool { return d == c }); best != c &&
				best != compress.Identity {
				t.Errorf("%q: %s of %s alone", line, best, c)
			}
		}
	})
}

// TestSuffixable: beginnings and ends of all lengths decode to one body.
func TestSuffixable(t *testing.T) {
	text := []byte(strings.Repeat(`{"signal":"answer-first","points":12.5},`, 5000))
	for _, n := range []int{300, 1000, 5000, 200_000} {
		o := compress.NewSuffixable(text[:n])
		if o == nil || o.Size() > n {
			t.Fatalf("%d bytes: not compressed", n)
		}
		for _, m := range []int{0, 1, 96, 65535, 65536, 150_000} {
			whole := append(bytes.Clone(text[:n]), text[:m]...)
			if got := decompress(t, compress.Gzip, o.Append(nil, text[:m])); !bytes.Equal(got, whole) {
				t.Errorf("%d and %d bytes: %d bytes came back", n, m, len(got))
			}
		}
	}
	if compress.NewSuffixable([]byte("too short")) != nil {
		t.Error("a short beginning is compressed")
	}
}

// FuzzSuffixable decodes appended bodies with compress/gzip.
func FuzzSuffixable(f *testing.F) {
	f.Add([]byte(strings.Repeat("abc", 100)), []byte("def"))
	f.Fuzz(func(t *testing.T, beginning, end []byte) {
		o := compress.NewSuffixable(beginning)
		if o == nil {
			return
		}
		if got := decompress(t, compress.Gzip, o.Append([]byte("kept"), end)[4:]); !bytes.Equal(got,
			append(bytes.Clone(beginning), end...)) {
			t.Errorf("%q and %q came back as %q", beginning, end, got)
		}
	})
}

// TestWorker: the queue is bounded, and jobs run in order.
func TestWorker(t *testing.T) {
	w, done := compress.NewWorker(), make(chan struct{})
	ran := make(chan int, 1000)
	queued := 0
	for i := range 1000 {
		if w.TrySubmit(func() { ran <- i }) {
			queued++
		}
	}
	if queued == 0 || queued == 1000 {
		t.Errorf("%d of 1000 jobs queued, want a bound", queued)
	}
	stopped := make(chan struct{})
	go func() { defer close(stopped); w.Run(done) }()
	for i := range queued {
		if got := <-ran; got != i {
			t.Fatalf("job %d ran as number %d", got, i)
		}
	}
	close(done)
	<-stopped
}

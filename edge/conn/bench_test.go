package conn_test

import (
	"io"
	"testing"

	"github.com/fieldmark/fieldmark/edge/conn"
)

// BenchmarkHits measures the loops that serve hits, without a network: reading, parsing and
// writing.
func BenchmarkHits(b *testing.B) {
	b.Run("h1", func(b *testing.B) {
		s := conn.New(testConfig())
		c := &scripted{in: &repeated{plainGet + browserHead + "\r\n", b.N}}
		b.ReportAllocs()
		b.ResetTimer()
		s.ServeConn(c)
	})
	b.Run("h2", func(b *testing.B) {
		s := conn.New(testConfig())
		c := script(b, b.N)
		b.ReportAllocs()
		b.ResetTimer()
		s.ServeConn(c)
	})
}

// repeated has n requests to read, one at a time.
type repeated struct {
	request string
	n       int
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.n == 0 {
		return 0, io.EOF
	}
	r.n--
	return copy(p, r.request), nil
}

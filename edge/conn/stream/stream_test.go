package stream_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark/edge/conn/framing"
	"github.com/fieldmark/fieldmark/edge/conn/stream"
)

// counter is a transport that counts what was read.
type counter struct{ consumed int }

func (t *counter) Send(framing.Part, time.Time, bool) error { return nil }
func (t *counter) Consumed(n int)                           { t.consumed += n }

// TestEndOfRequest checks that a reader that counts bytes does not see a request as complete before
// its client has ended it.
func TestEndOfRequest(t *testing.T) {
	const head = "POST / HTTP/1.1\r\n\r\n"
	for name, tt := range map[string]struct {
		length    int64
		parts     []string
		want      string // all that can be read in the end
		available int    // bytes of it that can be read before the end
	}{
		"known length": {5, []string{"he", "llo"}, head + "hello", len(head) + 4},
		"one byte":     {1, []string{"x"}, head + "x", len(head)},
		"length zero":  {0, nil, head, len(head)},
		"incomplete":   {5, []string{"hel"}, head + "hel", len(head) + 3},
		"chunks":       {-1, []string{"hello"}, head + "5\r\nhello\r\n0\r\n\r\n", len(head) + 10},
		"no chunk":     {-1, nil, head + "0\r\n\r\n", len(head)},
	} {
		for _, abort := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, aborted %t", name, abort), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var sent counter
					c := stream.New(&sent, nil, nil, []byte(head),
						framing.Request{Method: "POST", Length: tt.length}, true)
					var got bytes.Buffer
					var err error
					done := make(chan struct{})
					go func() {
						defer close(done)
						_, err = io.Copy(&got, c)
					}()
					body := 0
					for _, p := range tt.parts {
						c.Push([]byte(p))
						body += len(p)
					}
					synctest.Wait()
					if got.Len() != tt.available {
						t.Errorf("%q can be read before the end, want %d bytes", got.Bytes(), tt.available)
					}
					want, wantErr := tt.want, error(nil)
					if abort {
						want, wantErr = tt.want[:tt.available], stream.ErrAborted
						c.Abort()
					}
					c.End()
					<-done
					if got.String() != want || !errors.Is(err, wantErr) {
						t.Errorf("%q, %v; want %q, %v", got.Bytes(), err, want, wantErr)
					}
					if !abort && sent.consumed != body {
						t.Errorf("%d bytes of the body consumed, want %d", sent.consumed, body)
					}
				})
			})
		}
	}
}

// TestEndAfterAbort ends a request that was aborted before it was read: the reader gets ErrAborted.
func TestEndAfterAbort(t *testing.T) {
	for _, length := range []int64{-1, 0, 5} {
		c := stream.New(&counter{}, nil, nil, []byte("head"), framing.Request{Method: "POST", Length: length}, true)
		if length != 0 {
			c.Push([]byte("hello"))
		}
		c.Abort()
		c.End()
		if got, err := io.ReadAll(c); len(got) > 0 || !errors.Is(err, stream.ErrAborted) {
			t.Errorf("length %d: %q, %v; want %v", length, got, err, stream.ErrAborted)
		}
	}
}

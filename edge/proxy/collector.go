package proxy

import (
	"errors"
	"io"
	"sync"
)

const (
	// wholeAt is the length up to which a body is read before the first byte goes
	// out: it arrives in a moment, and everybody gets it from memory.
	wholeAt = 64 << 10
	// pumpChunk is what is read from the origin at a time.
	pumpChunk = 32 << 10
)

var errTooLarge = errors.New("proxy: the body is too large to be stored")

// collector is a body on its way into memory that one reader gets while it comes.
// It is read to its end whether or not that reader stays, as others wait for it.
// What turns out too large is the reader's alone.
type collector struct {
	src   io.ReadCloser
	limit int64
	end   func() // ends the exchange

	mu   sync.Mutex
	more *sync.Cond

	buf    []byte
	ended  bool  // src is read to its end, or has failed
	over   bool  // src is the reader's from here on
	closed bool  // the reader is gone
	err    error // how src ended; nil is its proper end

	off int // of the reader; only the reader uses it
}

func newCollector(src io.ReadCloser, limit int64, end func()) *collector {
	c := &collector{src: src, limit: limit, end: end}
	c.more = sync.NewCond(&c.mu)
	return c
}

// pump reads the body. It returns all of it, or errTooLarge once it is the
// reader's, or why it broke off.
func (c *collector) pump() ([]byte, error) {
	chunk := make([]byte, pumpChunk)
	for {
		n, err := c.src.Read(chunk)
		c.mu.Lock()
		c.buf = append(c.buf, chunk[:n]...)
		switch {
		case err != nil:
			c.ended = true
			if !errors.Is(err, io.EOF) {
				c.err = err
			}
		case int64(len(c.buf)) > c.limit:
			c.over = true
		}
		ended, over, gone, cause, all := c.ended, c.over, c.closed, c.err, c.buf
		c.more.Broadcast()
		c.mu.Unlock()
		switch {
		case ended:
			c.src.Close()
			return all, cause
		case over:
			if gone {
				c.src.Close()
				c.end()
			}
			return nil, errTooLarge
		}
	}
}

// Read implements io.Reader.
func (c *collector) Read(p []byte) (int, error) {
	c.mu.Lock()
	for c.off >= len(c.buf) && !c.ended && !c.over {
		c.more.Wait()
	}
	if c.off < len(c.buf) {
		n := copy(p, c.buf[c.off:])
		c.off += n
		if c.over && c.off == len(c.buf) {
			c.buf, c.off = nil, 0 // it was only the beginning
		}
		c.mu.Unlock()
		return n, nil
	}
	over, err := c.over && !c.ended, c.err
	c.mu.Unlock()
	switch {
	case over:
		return c.src.Read(p)
	case err != nil:
		return 0, err
	}
	return 0, io.EOF
}

// Close implements io.Closer: the reader leaves.
func (c *collector) Close() error {
	c.mu.Lock()
	over := c.over && !c.closed && !c.ended
	c.closed = true
	c.mu.Unlock()
	if over {
		defer c.end()
		return c.src.Close()
	}
	return nil
}

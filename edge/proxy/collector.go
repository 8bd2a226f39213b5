package proxy

import (
	"errors"
	"io"
	"sync"
)

const (
	// bufferBelow is the length below which a body is read completely before the first byte
	// is sent: it arrives quickly, and every client gets it from memory.
	bufferBelow = 64 << 10
	// readChunk is what is read from the origin at a time.
	readChunk = 32 << 10
)

var errTooLarge = errors.New("proxy: the body is too large to be stored")

// collector reads a body into memory while one client receives it. It reads to the end even
// if that client disconnects, because other requests wait for it. A body that turns out too
// large goes to that client only.
type collector struct {
	src    io.ReadCloser
	limit  int64
	cancel func() // ends the exchange

	mu   sync.Mutex
	more *sync.Cond

	buf        []byte
	srcDone    bool  // src is read to its end, or has failed
	handedOver bool  // src is the reader's from here on
	readerGone bool  // the reader is gone
	err        error // how src ended; nil is its proper end

	off int // of the reader; only the reader uses it
}

func newCollector(src io.ReadCloser, limit int64, end func()) *collector {
	c := &collector{src: src, limit: limit, cancel: end}
	c.more = sync.NewCond(&c.mu)
	return c
}

// readAll reads the body. It returns all of it, or errTooLarge once it is the
// reader's, or why it broke off.
func (c *collector) readAll() ([]byte, error) {
	// The chunk is read without the lock, so that the reader is never kept from the bytes that
	// are here.
	chunk := make([]byte, readChunk)
	for {
		n, err := c.src.Read(chunk)
		c.mu.Lock()
		c.buf = append(c.buf, chunk[:n]...)
		switch {
		case err != nil:
			c.srcDone = true
			if !errors.Is(err, io.EOF) {
				c.err = err
			}
		// Too large to store: from now on the client reads the source, and the memory is freed once it has
		// read what was collected.
		case int64(len(c.buf)) > c.limit:
			c.handedOver = true
		}
		ended, over, gone, cause, all := c.srcDone, c.handedOver, c.readerGone, c.err, c.buf
		c.more.Broadcast()
		c.mu.Unlock()
		switch {
		case ended:
			c.src.Close()
			return all, cause
		case over:
			// No client reads the rest.
			if gone {
				c.src.Close()
				c.cancel()
			}
			return nil, errTooLarge
		}
	}
}

// Read implements io.Reader.
func (c *collector) Read(p []byte) (int, error) {
	c.mu.Lock()
	for c.off >= len(c.buf) && !c.srcDone && !c.handedOver && !c.readerGone {
		c.more.Wait()
	}
	if c.readerGone {
		c.mu.Unlock()
		return 0, errReaderGone
	}
	if c.off < len(c.buf) {
		n := copy(p, c.buf[c.off:])
		c.off += n
		if c.handedOver && c.off == len(c.buf) {
			c.buf, c.off = nil, 0 // it was only the beginning
		}
		c.mu.Unlock()
		return n, nil
	}
	// All that was collected is read: either the source is the reader's now, or it has ended.
	over, err := c.handedOver && !c.srcDone, c.err
	c.mu.Unlock()
	switch {
	case over:
		return c.src.Read(p)
	case err != nil:
		return 0, err
	}
	return 0, io.EOF
}

// errReaderGone ends the reads of a client that has disconnected.
var errReaderGone = errors.New("the client has disconnected")

// Close implements io.Closer: the client stops reading, also a read that waits.
func (c *collector) Close() error {
	c.mu.Lock()
	over := c.handedOver && !c.readerGone && !c.srcDone
	c.readerGone = true
	c.more.Broadcast()
	c.mu.Unlock()
	if over {
		defer c.cancel()
		return c.src.Close()
	}
	return nil
}

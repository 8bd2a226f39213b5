package h2

import (
	"errors"
	"net"
	"sync"

	"golang.org/x/net/http2/hpack"

	"github.com/fieldmark/fieldmark/edge/conn/mux"
)

// readBufferSize is the size of the read buffer in bytes: every frame fits.
const readBufferSize = maxFrame + frameHeaderSize

var readBuffers = sync.Pool{New: func() any { return new([readBufferSize]byte) }}

// reader reads the bytes of a connection. It has a buffer only while there are bytes in it.
type reader struct {
	nc       net.Conn
	wait     func() error          // Handler.Wait
	buf      *[readBufferSize]byte // nil while there is nothing in it
	from, to int                   // the bytes of it that were not consumed
}

// pending returns the bytes that were not consumed.
func (r *reader) pending() []byte {
	if r.buf == nil {
		return nil
	}
	return r.buf[r.from:r.to]
}

// read reads what has arrived, or waits for bytes. What TLS has read and not returned
// does not end a wait, so each begins with a read.
func (r *reader) read() error {
	for {
		if r.buf == nil {
			r.buf = readBuffers.Get().(*[readBufferSize]byte)
		}
		n, err := r.nc.Read(r.buf[r.to:])
		if n > 0 {
			r.to += n
			return nil
		}
		if r.to == 0 {
			r.release()
		}
		if !errors.Is(err, ErrNotReady) {
			return err
		}
		if err := r.wait(); err != nil {
			return err
		}
	}
}

// compact makes room for more bytes.
func (r *reader) compact() {
	if r.from == r.to {
		r.release()
	} else if r.from > 0 {
		r.from, r.to = 0, copy(r.buf[:], r.buf[r.from:r.to])
	}
}

// release returns the buffer.
func (r *reader) release() {
	if r.buf != nil {
		readBuffers.Put(r.buf)
		r.buf, r.from, r.to = nil, 0, 0
	}
}

// fieldDecoder decodes header blocks.
type fieldDecoder struct {
	mux.FieldList // of the last block
	hpack         *hpack.Decoder
}

func newFieldDecoder() *fieldDecoder {
	d := &fieldDecoder{}
	d.hpack = hpack.NewDecoder(maxTable, d.emit)
	return d
}

// emit collects a decoded field. A list that is too large is decoded without being kept,
// so that the table stays that of the client.
func (d *fieldDecoder) emit(f hpack.HeaderField) { d.Add(f.Name, f.Value) }

// decode decodes a whole block. release must be called before the next.
func (d *fieldDecoder) decode(block []byte) error {
	if _, err := d.hpack.Write(block); err != nil {
		return connErrorf(CompressionError, "a header block is malformed")
	}
	if err := d.hpack.Close(); err != nil {
		return connErrorf(CompressionError, "a header block is cut off")
	}
	if d.Size > mux.MaxBlock {
		return connErrorf(EnhanceYourCalm, "a header block decodes to too much")
	}
	return nil
}

// release empties the list. An idle connection must not hold its last request, nor the read buffer
// that had it: the decoder keeps its input until it has another.
func (d *fieldDecoder) release() {
	d.Reset()
	d.hpack.SetEmitEnabled(false)
	_, _ = d.hpack.Write(indexedField) // a valid field, which changes no table
	_ = d.hpack.Close()                // fails only within a field
	d.hpack.SetEmitEnabled(true)
}

// indexedField is a block with one field of the static table, :method GET (RFC 7541, 6.1).
var indexedField = []byte{0x82}

package h3

import (
	"context"
	"errors"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/quicvarint"

	"github.com/fieldmark/fieldmark/edge/conn/mux"
)

const (
	// maxControlFrame bounds the frames of the control stream whose payload matters, in
	// bytes: browsers send fewer than 100.
	maxControlFrame = 4 << 10
	// controlBuffer is the size of the buffer for reading a control stream, in bytes.
	controlBuffer = 128
)

// acceptUni waits for the end of the handshake, serves unidirectional streams, and drains
// the connection when Shutdown is called.
// A client opens three such streams: control, encoder and decoder.
func (c *Conn) acceptUni() {
	c.state.waitHandshake(c.qc)
	for {
		rs, err := c.nextUni()
		switch {
		case err == nil:
			c.working.Go(func() { c.serveUni(rs) })
		case errors.Is(err, context.Canceled):
			c.drain()
			return
		default:
			return
		}
	}
}

// serveUni serves a unidirectional stream (6.2).
func (c *Conn) serveUni(rs *quic.ReceiveStream) {
	_ = rs.SetReadDeadline(time.Now().Add(headTimeout)) // never fails
	in := frameReader{r: rs, store: make([]byte, controlBuffer)}
	typ, err := in.integer()
	if err != nil { // it ends or is reset before its type arrives, which is no error
		c.dropUni(rs)
		return
	}
	// A critical stream stays open for as long as the connection does.
	_ = rs.SetReadDeadline(time.Time{}) // never fails
	switch {
	case typ == streamPush:
		c.fail(connErrorf(StreamCreationError, "a client must not push"))
	case typ > streamDecoder:
		c.dropUni(rs)
	case !c.openCritical(typ):
		c.fail(connErrorf(StreamCreationError, "a stream of this type is open already"))
	default:
		err := c.serveCritical(typ, &in)
		if e := (*connError)(nil); !errors.As(err, &e) {
			err = connErrorf(ClosedCriticalStream, "a critical stream was closed")
		}
		if c.qc.Context().Err() == nil {
			c.fail(err)
		}
	}
}

// dropUni ends a stream of an unknown type (6.2.3).
// It is charged, as a client could open such streams without end.
func (c *Conn) dropUni(rs *quic.ReceiveStream) {
	rs.CancelRead(quic.StreamErrorCode(StreamCreationError))
	rs.ReleaseStreamCredit()
	c.charge(&c.limits.Idle)
}

// openCritical reports whether a stream is the first of its type.
func (c *Conn) openCritical(typ uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := !c.opened[typ]
	c.opened[typ] = true
	return first
}

// serveCritical serves a stream that must stay open. Its error is never nil.
func (c *Conn) serveCritical(typ uint64, in *frameReader) error {
	switch typ {
	case streamEncoder:
		return c.serveEncoder(in)
	case streamDecoder:
		return c.serveDecoder(in)
	}
	first, _, err := in.next()
	switch {
	case err != nil:
		return err
	case first != frameSettings:
		return connErrorf(MissingSettings, "the first frame is not SETTINGS")
	}
	if err := c.readSettings(in); err != nil {
		return err
	}
	for {
		typ, _, err := in.next()
		if err == nil {
			err = c.handleControl(typ, in)
		}
		if err != nil {
			return err
		}
	}
}

// controlPayload returns the payload of a frame on the control stream.
func controlPayload(in *frameReader) ([]byte, error) {
	if in.left > maxControlFrame {
		return nil, connErrorf(ExcessiveLoad, "a frame is too large")
	}
	return in.payload()
}

// readSettings checks SETTINGS (7.2.4). Nothing in them matters to the server, which uses no
// dynamic table.
// The payload is bounded by maxControlFrame, so seen is bounded as well.
func (c *Conn) readSettings(in *frameReader) error {
	p, err := controlPayload(in)
	if err != nil {
		return err
	}
	seen := map[uint64]bool{}
	for len(p) > 0 {
		id, n, err := quicvarint.Parse(p)
		if err != nil {
			return connErrorf(FrameError, "SETTINGS is cut off")
		}
		value, m, err := quicvarint.Parse(p[n:])
		switch {
		case err != nil:
			return connErrorf(FrameError, "SETTINGS is cut off")
		case id <= 0x5 && id != settingTableCapacity, seen[id]:
			return connErrorf(SettingsError, "a setting is one of HTTP/2, or repeated")
		case (id == 0x8 || id == 0x33) && value > 1: // RFC 9220, 3; RFC 9297, 2.1.1
			return connErrorf(SettingsError, "a setting is not 0 or 1")
		}
		seen[id] = true
		p = p[n+m:]
	}
	return nil
}

// handleControl handles a frame on the control stream.
func (c *Conn) handleControl(typ uint64, in *frameReader) error {
	switch {
	case typ == frameData, typ == frameHeaders, typ == framePushPromise, typ == frameSettings, reservedFrame(typ):
		return connErrorf(FrameUnexpected, "a frame is on the wrong stream")
	case typ == frameCancelPush, typ == framePriorityPush:
		return connErrorf(IDError, "no push was promised")
	}
	c.charge(&c.limits.Idle)
	if typ != frameGoAway && typ != frameMaxPushID && typ != framePriorityUpdate {
		return nil // unknown frames are ignored (9)
	}
	p, err := controlPayload(in)
	if err != nil {
		return err
	}
	id, n, err := quicvarint.Parse(p)
	if err != nil || n < len(p) && typ != framePriorityUpdate {
		return connErrorf(FrameError, "a frame has a wrong length")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch typ {
	case frameGoAway: // names a push, and the server never pushes
		if id > c.goAwayID {
			return connErrorf(IDError, "GOAWAY names a higher push than before")
		}
		c.goAwayID = id
	case frameMaxPushID:
		if id < c.maxPushID {
			return connErrorf(IDError, "MAX_PUSH_ID is lower than before")
		}
		c.maxPushID = id
	case framePriorityUpdate:
		if id%4 != 0 {
			return connErrorf(IDError, "PRIORITY_UPDATE names no request")
		}
		if s := c.streams[quic.StreamID(id)]; s != nil {
			s.qs.SetPriority(int8(mux.ParseUrgency(string(p[n:]))), true)
		}
	}
	return nil
}

// serveEncoder reads the stream of a client's encoder. It has no table to insert anything
// into; only setting its capacity to zero is allowed (RFC 9204, 4.3).
// We announce no table, so a client has nothing to say there.
func (c *Conn) serveEncoder(in *frameReader) error {
	const capacityZero = 0x20
	for {
		for _, b := range in.buf {
			if b != capacityZero {
				return connErrorf(EncoderStreamError, "there is no table to insert into")
			}
			c.charge(&c.limits.Idle)
		}
		in.buf = nil
		if err := in.fill(); err != nil {
			return err
		}
	}
}

// serveDecoder reads the stream of a client's decoder. There is nothing to acknowledge; it
// may report streams that it has not read (RFC 9204, 4.4.2).
// The numbers of the streams are skipped: whatever they name, nothing depends on it.
func (c *Conn) serveDecoder(in *frameReader) error {
	const cancellation, kind, longID = 0x40, 0xc0, 0x3f
	for {
		b, err := in.byte()
		if err != nil {
			return err
		}
		if b&kind != cancellation {
			return connErrorf(DecoderStreamError, "there is no table to acknowledge")
		}
		for more := b&longID == longID; more; more = b&0x80 != 0 {
			if b, err = in.byte(); err != nil {
				return err
			}
		}
		c.charge(&c.limits.Idle)
	}
}

// byte returns the next byte of a stream that has no frames.
func (f *frameReader) byte() (byte, error) {
	for len(f.buf) == 0 {
		if err := f.fill(); err != nil {
			return 0, err
		}
	}
	b := f.buf[0]
	f.buf = f.buf[1:]
	return b, nil
}

// integer returns the next integer of a stream, before its frames.
func (f *frameReader) integer() (uint64, error) {
	for {
		// At most eight bytes (RFC 9000, 16), so the buffer always holds one.
		if n, size, err := quicvarint.Parse(f.buf); err == nil {
			f.buf = f.buf[size:]
			return n, nil
		}
		if err := f.fill(); err != nil {
			return 0, err
		}
	}
}

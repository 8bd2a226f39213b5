package h2

import (
	"encoding/binary"
	"errors"

	"github.com/fieldmark/fieldmark/edge/conn/framing"
	"github.com/fieldmark/fieldmark/edge/conn/mux"
	"github.com/fieldmark/fieldmark/edge/conn/stream"
)

// handleHeaders handles HEADERS (6.2).
// A block in one frame is decoded from the read buffer; only one that continues is copied.
func (c *Conn) handleHeaders(f *frame) error {
	if f.id == 0 || f.id%2 == 0 {
		return connErrorf(ProtocolError, "HEADERS names no stream of the client")
	}
	if err := f.unpad(); err != nil {
		return err
	}
	b := headerBlock{id: f.id, end: f.has(flagEndStream), frames: 1}
	if f.has(flagPriority) {
		if len(f.payload) < 5 {
			return connErrorf(FrameSizeError, "HEADERS is too short for its priority")
		}
		b.self = binary.BigEndian.Uint32(f.payload)&maxWindow == f.id
		f.payload = f.payload[5:]
	}
	if f.has(flagEndHeaders) {
		return c.handleBlock(&b, f.payload)
	}
	b.bytes = append(b.bytes, f.payload...)
	c.block = b
	return nil
}

// handleContinuation handles CONTINUATION (6.10).
// Size and number are checked before the bytes are kept. Exceeding either ends the connection: a
// block that was not decoded leaves HPACK in an unknown state.
func (c *Conn) handleContinuation(f *frame) error {
	b := &c.block
	switch b.frames++; {
	case b.id == 0:
		return connErrorf(ProtocolError, "CONTINUATION continues nothing")
	case len(b.bytes)+len(f.payload) > mux.MaxBlock || b.frames > maxContinuations:
		return connErrorf(EnhanceYourCalm, "a header block is too large")
	}
	b.bytes = append(b.bytes, f.payload...)
	if !f.has(flagEndHeaders) {
		return nil
	}
	whole := *b
	c.block = headerBlock{}
	return c.handleBlock(&whole, whole.bytes)
}

// handleBlock decodes a header block, and handles the request or trailer section.
// Also a block that will be refused is decoded, since it may change the table.
func (c *Conn) handleBlock(b *headerBlock, block []byte) error {
	if err := c.decoder.decode(block); err != nil {
		return err
	}
	defer c.decoder.release()
	if b.id <= c.lastID {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.handleTrailer(b)
	}
	c.beforeLast, c.lastID = c.lastID, b.id
	if b.self {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.resetStream(b.id, ProtocolError)
	}
	c.cfg.Events.Request()
	tried := false
	// The fast path: a request without a body whose answer is in memory needs no goroutine and
	// no stream. Others go to openStream, with the note that it was tried.
	if b.end && !c.decoder.TooLarge() && c.drainPhase < 2 {
		r, looked, ok := c.h.Respond(c.decoder.Fields)
		if tried = looked; ok {
			c.mu.Lock()
			err := c.makeRoom()
			sent := err == nil && c.sendResponse(b.id, &r)
			c.mu.Unlock()
			if sent || err != nil {
				return err
			}
		}
	}
	return c.openStream(b, tried)
}

// openStream begins a request that becomes an HTTP/1.1 exchange.
// Refusals that HTTP can express (431, 421, 400) become responses and not resets, so that the
// client's developer reads why; the exchange writes them.
func (c *Conn) openStream(b *headerBlock, tried bool) error {
	c.mu.Lock()
	err := c.makeRoom()
	// Refused before anything of the request is kept, so that the client may repeat it (8.7).
	begun := err == nil && len(c.streams) < mux.MaxStreams && c.drainPhase < 2 && c.h.Begin()
	if err == nil && !begun {
		err = c.resetStream(b.id, RefusedStream)
	}
	c.mu.Unlock()
	if !begun {
		return err
	}
	var refused *framing.Error
	// A field counts 32 bytes in the size of the list, and less in the head.
	head := make([]byte, 0, min(c.decoder.Size, mux.MaxHeaderList)+headOverhead)
	head, req, err := framing.AppendRequest(head, c.decoder.Fields, c.scheme, !b.end)
	malformed := framing.MalformedError("")
	switch {
	case c.decoder.TooLarge():
		refused = &framing.Error{Status: 431, Reason: "the header fields are too large"}
		head = nil
	// Malformed requests are errors of the stream (8.1.1), and are never passed on.
	case errors.As(err, &malformed):
		c.h.End()
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.resetStream(b.id, ProtocolError)
	case err != nil:
		errors.As(err, &refused)
	default:
		refused = c.h.Check(req.Authority)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &Stream{c: c, id: b.id, sendWindow: c.initialWindow, recvWindow: streamWindow, window: streamWindow,
		declared: req.Length, remoteEnded: b.end, urgency: mux.ParseUrgency(req.Priority)}
	s.taken.L = &c.mu
	s.mem = stream.New(s, c.nc.LocalAddr(), c.nc.RemoteAddr(), head, req, !b.end)
	s.mem.FastPathTried, s.mem.Refused = tried, refused
	c.streams[b.id] = s
	c.working.Add(1)
	// A goroutine per request, bounded by MaxStreams for each connection.
	c.cfg.Go(func() {
		defer c.working.Done()
		c.h.Serve(s.mem)
		s.finish()
	})
	return nil
}

// headOverhead is more than a head has beside its fields, in bytes.
const headOverhead = 64

// handleTrailer handles HEADERS of a stream that was opened before. The caller holds c.mu.
func (c *Conn) handleTrailer(b *headerBlock) error {
	s := c.streams[b.id]
	switch {
	case s == nil && b.id > c.beforeLast && b.id < c.lastID: // never used (5.1.1)
		return connErrorf(ProtocolError, "HEADERS names a lower stream than the last")
	case s == nil && !c.ended.has(b.id), s != nil && s.remoteEnded && !s.dead,
		s != nil && s.clientReset:
		return connErrorf(StreamClosed, "HEADERS names a closed stream")
	case s == nil || s.dead:
		return c.charge(&c.limits.Idle)
	// A trailer section ends the stream (8.1); its fields are checked and dropped, because
	// nothing behind this connection uses them and merging them into the head is unsafe
	// (RFC 9110, 6.5.1).
	case !b.end, b.self, c.decoder.Size > mux.MaxTrailer, framing.CheckTrailer(c.decoder.Fields) != nil, !s.wholeBody():
		return c.resetStream(b.id, ProtocolError)
	}
	s.endBody()
	return nil
}

package h2

import (
	"encoding/binary"
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fieldmark/fieldmark/edge/conn/framing"
	"github.com/fieldmark/fieldmark/edge/conn/mux"
	"github.com/fieldmark/fieldmark/edge/conn/stream"
	"github.com/fieldmark/fieldmark/internal/timeout"
)

// Limits of a connection.
const (
	// maxContinuations bounds the frames of a header block.
	// A block of mux.MaxBlock bytes needs few full ones, so more are the
	// flood of CVE-2023-45288 and its siblings: empty CONTINUATION frames cost the
	// sender nine bytes each and never end.
	maxContinuations = 16
	// maxTable is the size of the table that a client may have decoded fields kept in.
	// It is the default of RFC 7541, 4.2, so that a client that has not yet read our
	// SETTINGS encodes for the same size.
	maxTable = 4096
	// maxSettings bounds the settings of a SETTINGS frame. Nine are in use, and each change of the
	// initial window is a pass over all streams, of which one frame of 16 KiB could ask for 2,730.
	maxSettings = 32
	// connWindow is the window of a connection: what all its uploads may have buffered, in
	// bytes.
	connWindow = 1 << 20
	// headTimeout bounds the time for the preface, and for a frame or a header block from
	// its first byte.
	// A frame that arrives one byte a minute holds a read buffer, which the limit gives back.
	headTimeout = 15 * time.Second * timeout.Scale
	// idleTimeout bounds how long a connection may have no stream.
	idleTimeout = 75 * time.Second
	// writeTimeout bounds a write of at most maxQueue bytes, which is 2 kB a second.
	writeTimeout = 30 * time.Second
	// extendEvery is how often the deadlines of a busy connection are extended: setting
	// one takes longer than parsing a request.
	extendEvery = 5 * time.Second
	// drainGrace is how long a client may still begin streams after the first GOAWAY:
	// one round trip (6.8).
	// Requests that were on their way when GOAWAY was sent are served, not refused.
	drainGrace = time.Second
)

// ErrNotReady is the error of a read that would have to wait.
var ErrNotReady = errors.New("no bytes have arrived")

// Handler serves the requests of a connection.
type Handler interface {
	// Begin reserves a place for a request that Respond has not answered, and reports whether one
	// was free. End frees it. They are called in any goroutine, and must not block.
	Begin() bool
	End()
	// Respond returns the response to a request without a body, if it is in memory. tried
	// reports that it was looked up. It is called in the loop that reads.
	Respond(fields []framing.Field) (r mux.Response, tried, ok bool)
	// Check returns why requests for an authority are refused, or nil.
	Check(authority string) *framing.Error
	// Serve serves the request on a connection in memory. It is called in a goroutine.
	Serve(c *stream.Conn)
	// Wait blocks until more bytes have arrived. It is called when the connection's Read
	// has returned ErrNotReady.
	Wait() error
}

// Config holds what the connections of a server have in common.
type Config struct {
	Constants *Constants        // header fields that every response of Handler.Respond has
	Date      func() []byte     // returns the field Date in HPACK
	Window    *mux.WindowBudget // of uploads
	Go        func(func())      // runs a function in a goroutine
	Events    mux.Events        // counts what happens; required
}

// charge charges a bucket. An empty one ends the connection; the caller holds c.mu.
// The first empty bucket is counted and kept, so that the metric names the flood and not
// what followed from it.
func (c *Conn) charge(b *mux.Bucket) error {
	if b.Take(c.now) {
		return nil
	}
	if c.calmed == "" {
		c.calmed = b.Name
		c.cfg.Events.Calmed(b.Name)
	}
	return connErrorf(EnhanceYourCalm, "too many frames of a kind: "+b.Name)
}

// Conn is a connection.
type Conn struct {
	nc     net.Conn
	h      Handler
	cfg    *Config
	scheme string

	// Only the goroutine that reads uses these.
	in    reader
	begun time.Time
	last  time.Time // when bytes were read
	// partial is not extended by more bytes of the same frame: a client that sends them
	// one at a time meets headTimeout all the same.
	partial    time.Time // when the first byte of an incomplete frame or block was read; zero: none
	deadline   time.Time // for reads
	opened     int       // steps of opening: preface, SETTINGS
	upload     upload    // DATA of which not all was read
	block      headerBlock
	decoder    *fieldDecoder
	drainPhase int
	drainSince time.Time
	// A HEADERS frame of an identifier between beforeLast and lastID names a stream that
	// was skipped, which is closed by that (5.1.1).
	lastID     uint32 // highest stream of the client
	beforeLast uint32 // the one before it

	draining atomic.Bool

	mu      sync.Mutex // guards the following fields
	now     time.Time  // of the last read
	limits  mux.Limits
	calmed  string
	closed  bool // nothing is written any more
	streams map[uint32]*Stream
	ended   endedStreams
	// Serve returns when all handlers have: their buffers and the connection in memory
	// belong to it.
	working       sync.WaitGroup
	recvWindow    int // bytes that the client may send
	recvCredit    int // bytes that were read and not given back
	updateCredit  int // WINDOW_UPDATE frames that are not charged
	initialWindow int // of the client, for new streams
	sendWindow    int
	// The next header block must begin with the new size, even though we insert nothing
	// after it: RFC 7541, 4.2 has the decoder treat its absence as an error.
	tableUpdate bool // the client's table became too small
	literalOnly bool // the client's table is too small for the constants
	inserted    bool // the client's table holds the constants

	// Frames are appended to out by any goroutine and written by one of them, so that the
	// responses to all requests of one read leave in one write.
	out       []byte // frames to write
	spare     []byte
	pooled    []*[]byte // what out and spare came from; they go back to the pool in either
	writing   bool
	waiting   int // goroutines that wait for room in out
	room      sync.Cond
	ready     [mux.Urgencies][]*Stream
	writtenAt time.Time // when the deadline for writes was extended
}

// upload is a DATA frame of which not all was read.
type upload struct {
	stream *Stream // nil: the bytes are dropped
	left   int
	end    bool
}

// headerBlock is a header block of which not all was read.
type headerBlock struct {
	id     uint32 // 0: none
	end    bool   // END_STREAM
	self   bool   // the stream depends on itself
	frames int
	bytes  []byte
}

// New returns a connection whose scheme is "http" or "https".
func New(nc net.Conn, h Handler, cfg *Config, scheme string) *Conn {
	now := time.Now()
	c := &Conn{nc: nc, h: h, cfg: cfg, scheme: scheme, decoder: newFieldDecoder(), begun: now, last: now, now: now,
		limits:  mux.NewLimits(now),
		streams: map[uint32]*Stream{}, recvWindow: connWindow, initialWindow: defaultWindow,
		sendWindow: defaultWindow}
	c.room.L = &c.mu
	c.in = reader{nc: nc, wait: h.Wait}
	return c
}

// Shutdown makes the connection end when its streams have (6.8). It returns at once.
// The deadline only wakes the loop that reads: the frames of the shutdown are written by that
// loop, so that their order with the others is never in doubt.
func (c *Conn) Shutdown() {
	c.draining.Store(true)
	_ = c.nc.SetReadDeadline(longAgo) // fails only on a closed connection
}

// longAgo is a deadline that ends a read at once.
var longAgo = time.Unix(1, 0)

// Serve serves the connection until it ends and all its requests are served. It closes
// the connection.
// An error of the client and the end of a shutdown both come as errors of serveOnce; end decides
// which of them GOAWAY reports.
func (c *Conn) Serve() {
	err := c.sendPreface()
	for err == nil {
		err = c.serveOnce()
	}
	c.end(err)
	c.working.Wait()
}

// sendPreface writes the server's preface (3.4).
func (c *Conn) sendPreface() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := appendHeader(c.queue(), frameSettings, 0, 0, 6*settingSize)
	out = appendSetting(out, settingTableSize, maxTable)
	out = appendSetting(out, settingMaxStreams, mux.MaxStreams)
	out = appendSetting(out, settingInitialWindow, streamWindow)
	out = appendSetting(out, settingMaxFrame, maxFrame)
	out = appendSetting(out, settingMaxHeaderList, mux.MaxHeaderList)
	out = appendSetting(out, settingNoOldPriorities, 1)
	// SETTINGS cannot change the window of the connection, only WINDOW_UPDATE can (6.9.2).
	c.out = appendWindowUpdate(out, 0, connWindow-defaultWindow)
	return c.flush()
}

// serveOnce waits for bytes, handles the frames in them and writes what follows.
func (c *Conn) serveOnce() error {
	if err := c.setDeadline(); err != nil {
		return err
	}
	err := c.in.read()
	c.mu.Lock()
	c.now = time.Now()
	c.mu.Unlock()
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.deadline = time.Time{}
		if err := c.expired(); err != nil {
			return err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.flush()
	case err != nil:
		return err
	}
	c.last = c.now
	err = c.handleFrames()
	c.mu.Lock()
	defer c.mu.Unlock()
	// What is left is the beginning of a frame or of a header block. Its time runs from
	// here, and ends only when nothing incomplete is left.
	if c.block.id != 0 || len(c.in.pending()) > 0 {
		if c.partial.IsZero() {
			c.partial = c.now
		}
	} else {
		c.partial = time.Time{}
	}
	return errors.Join(err, c.flush())
}

// setDeadline sets the deadline of the next read.
func (c *Conn) setDeadline() error {
	var d time.Time
	switch {
	case c.opened < opened:
		d = c.begun.Add(headTimeout)
	case !c.partial.IsZero():
		d = c.partial.Add(headTimeout)
	case c.drainPhase == 1:
		d = c.drainSince.Add(drainGrace)
	default:
		d = c.last.Add(idleTimeout)
	}
	// A deadline that is up to extendEvery early costs one needless wake-up, which
	// expired recognises because it compares times, not the fact of the deadline.
	if d.Before(c.deadline) || d.Sub(c.deadline) > extendEvery {
		c.deadline = d
		if err := c.nc.SetReadDeadline(d); err != nil {
			return err
		}
	}
	if c.draining.Load() && c.drainPhase == 0 { // the deadline has replaced that of Shutdown
		return c.drain()
	}
	return nil
}

// opened is the value of Conn.opened after the preface and the first SETTINGS.
const opened = 2

var errEnded = errors.New("the connection has ended")

// expired decides what a deadline that has passed means.
func (c *Conn) expired() error {
	c.mu.Lock()
	streams := len(c.streams)
	c.mu.Unlock()
	switch {
	case c.draining.Load() && c.drainPhase == 0:
		return c.drain()
	case c.drainPhase == 1 && c.now.Sub(c.drainSince) >= drainGrace:
		return c.refuseStreams()
	case c.drainPhase == 2 && streams == 0:
		return errEnded
	case c.opened < opened && c.now.Sub(c.begun) >= headTimeout:
		return connErrorf(SettingsTimeout, "no preface has arrived")
	case !c.partial.IsZero() && c.now.Sub(c.partial) >= headTimeout:
		return connErrorf(EnhanceYourCalm, "a frame has not arrived in time")
	case streams == 0 && c.now.Sub(c.last) >= idleTimeout:
		return connErrorf(NoError, "the connection is idle")
	// A handler works or a client reads slowly: both have limits of their own.
	case streams > 0:
		c.last = c.now
	}
	return nil
}

// drain announces that the connection ends.
// The first GOAWAY names the highest identifier possible, because a client may have sent
// requests that have not arrived; the second, after drainGrace, names the last one served (6.8).
func (c *Conn) drain() error {
	c.drainPhase, c.drainSince = 1, time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calmed != "" {
		return connErrorf(EnhanceYourCalm, "the client takes too little")
	}
	c.out = appendGoAway(c.queue(), maxWindow, NoError)
	c.cfg.Events.GoAway(uint64(NoError))
	_ = c.nc.SetReadDeadline(c.drainSince.Add(drainGrace)) // fails only on a closed connection
	return c.flush()
}

// refuseStreams announces the last stream that is served.
func (c *Conn) refuseStreams() error {
	c.drainPhase = 2
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out = appendGoAway(c.queue(), c.lastID, NoError)
	if len(c.streams) == 0 {
		return errors.Join(c.flush(), errEnded)
	}
	return c.flush()
}

// end ends the connection: it sends the reason, as far as the client is ready to read it.
func (c *Conn) end(err error) {
	c.mu.Lock()
	if failed := (*connError)(nil); errors.As(err, &failed) && !c.closed {
		c.goAway(failed.code)
	}
	c.fail()
	c.mu.Unlock()
	c.in.release()
	_ = c.nc.Close() // all that can be written was
}

// goAway writes GOAWAY and reads on for a while: closing a connection with unread bytes
// resets it, and the client could not read why. The caller holds c.mu.
// The number of bytes and the time are both bounded: the client has just shown that it does not
// follow the protocol, and would otherwise keep a goroutine for as long as it sends.
func (c *Conn) goAway(code Code) {
	until := time.Now().Add(lingerTime)
	_ = c.nc.SetWriteDeadline(until) // fails only on a closed connection
	c.writtenAt = c.now
	c.cfg.Events.GoAway(uint64(code))
	c.out = appendGoAway(c.queue(), c.lastID, code)
	_ = c.flush() // the connection ends anyway
	// That goroutine takes GOAWAY along with what was queued before it; closing now would
	// cut off its write.
	for c.writing && !c.closed { // another goroutine writes
		c.waiting++
		c.room.Wait()
		c.waiting--
	}
	c.fail()
	half, ok := c.nc.(interface{ CloseWrite() error })
	if !ok || code == NoError {
		return
	}
	c.mu.Unlock()
	defer c.mu.Lock()
	if half.CloseWrite() != nil || c.nc.SetReadDeadline(until) != nil {
		return
	}
	for n := 0; n < lingerBytes; n += c.in.to {
		if c.in.from, c.in.to = 0, 0; c.in.read() != nil {
			return
		}
	}
}

const (
	// lingerTime and lingerBytes bound what is read from a client after an error.
	lingerTime  = 500 * time.Millisecond
	lingerBytes = 1 << 20
)

// fail aborts all streams; nothing is written any more. The caller holds c.mu.
func (c *Conn) fail() {
	c.closed = true
	for _, s := range c.streams {
		s.abort()
	}
	c.room.Broadcast()
}

// handleFrames handles the frames that were read.
func (c *Conn) handleFrames() error {
	if c.opened == 0 {
		n := min(len(c.in.pending()), len(preface))
		// Compared from the first byte on: a client of another protocol is refused at once and
		// not after headTimeout.
		if string(c.in.pending()[:n]) != preface[:n] {
			return connErrorf(ProtocolError, "the preface is not that of HTTP/2")
		}
		if n < len(preface) {
			return nil
		}
		c.opened, c.in.from = 1, n
	}
	for {
		c.continueUpload()
		f, ok := parseFrame(c.in.pending())
		if !ok {
			break
		}
		if f.length > maxFrame {
			return connErrorf(FrameSizeError, "a frame is larger than SETTINGS_MAX_FRAME_SIZE")
		}
		// DATA is passed on as it arrives, so that an upload needs no buffer of a frame's size.
		// Padding is at the end of a frame, so a padded one has to be complete first.
		whole := len(f.payload) == f.length
		if !whole && (f.typ != frameData || f.has(flagPadded) || len(f.payload) == 0) {
			break
		}
		c.in.from += frameHeaderSize + len(f.payload)
		if err := c.handleFrame(&f); err != nil {
			return err
		}
	}
	c.in.compact()
	return nil
}

// handleFrame handles a frame, of which only DATA may be incomplete.
func (c *Conn) handleFrame(f *frame) error {
	switch {
	case c.opened == 1 && (f.typ != frameSettings || f.has(flagAck)):
		return connErrorf(ProtocolError, "the first frame is not SETTINGS")
	// Nothing may come between the frames of a block (6.10): the state of HPACK is shared
	// by all streams, so a connection in doubt about it has to end.
	case c.block.id != 0 && (f.typ != frameContinuation || f.id != c.block.id):
		return connErrorf(ProtocolError, "a header block is interrupted")
	case c.opened == 1:
		c.opened = opened
	}
	switch f.typ {
	case frameHeaders:
		return c.handleHeaders(f)
	case frameContinuation:
		return c.handleContinuation(f)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// Frames that want an answer are not read while earlier answers wait: a client that sends
	// PING or SETTINGS and reads nothing stops itself (CVE-2019-9512, CVE-2019-9515).
	if err := c.makeRoom(); err != nil {
		return err
	}
	switch f.typ {
	case frameData:
		return c.handleData(f)
	case framePriority:
		return c.handlePriority(f)
	case framePriorityUpdate:
		return c.handlePriorityUpdate(f)
	case frameReset:
		return c.handleReset(f)
	case frameSettings:
		return c.handleSettings(f)
	case framePushPromise:
		return connErrorf(ProtocolError, "a client must not push")
	case framePing:
		return c.handlePing(f)
	case frameGoAway:
		if f.id != 0 || f.length < 8 {
			return connErrorf(ProtocolError, "GOAWAY is malformed")
		}
		return c.charge(&c.limits.Idle)
	case frameWindowUpdate:
		return c.handleWindowUpdate(f)
	}
	return c.charge(&c.limits.Idle) // unknown frames are ignored (4.1)
}

// handlePing answers PING (6.7).
func (c *Conn) handlePing(f *frame) error {
	switch {
	case f.id != 0:
		return connErrorf(ProtocolError, "PING names a stream")
	case f.length != 8:
		return connErrorf(FrameSizeError, "PING has not 8 bytes")
	case f.has(flagAck):
		return c.charge(&c.limits.Idle)
	}
	c.out = append(appendHeader(c.queue(), framePing, flagAck, 0, 8), f.payload...)
	return c.charge(&c.limits.Owed)
}

// handleSettings applies and acknowledges SETTINGS (6.5).
func (c *Conn) handleSettings(f *frame) error {
	switch {
	case f.id != 0:
		return connErrorf(ProtocolError, "SETTINGS names a stream")
	case f.length%settingSize != 0 || f.has(flagAck) && f.length > 0:
		return connErrorf(FrameSizeError, "SETTINGS has a wrong length")
	case f.has(flagAck):
		return c.charge(&c.limits.Idle)
	case f.length > maxSettings*settingSize:
		return connErrorf(EnhanceYourCalm, "SETTINGS has too many settings")
	}
	if err := c.charge(&c.limits.Owed); err != nil {
		return err
	}
	for p := f.payload; len(p) > 0; p = p[settingSize:] {
		if err := c.applySetting(binary.BigEndian.Uint16(p), binary.BigEndian.Uint32(p[2:])); err != nil {
			return err
		}
	}
	c.out = appendHeader(c.queue(), frameSettings, flagAck, 0, 0)
	return nil
}

func (c *Conn) applySetting(id uint16, value uint32) error {
	switch id {
	case settingTableSize:
		// Every reduction below minTable is announced, and an increase later is not used: a client
		// that changes its table again and again gains nothing.
		small := value < minTable
		if c.tableUpdate = c.tableUpdate || small && !c.literalOnly; small {
			c.literalOnly, c.inserted = true, false
		}
	case settingEnablePush:
		if value > 1 {
			return connErrorf(ProtocolError, "SETTINGS_ENABLE_PUSH is not 0 or 1")
		}
	case settingInitialWindow:
		if value > maxWindow {
			return connErrorf(FlowControlError, "SETTINGS_INITIAL_WINDOW_SIZE is too large")
		}
		change := int(value) - c.initialWindow
		c.initialWindow = int(value)
		for _, s := range c.streams { // 6.9.2: below zero too
			if s.sendWindow += change; s.sendWindow > maxWindow {
				return connErrorf(FlowControlError, "a window is too large")
			}
			c.schedule(s)
		}
	// The value is checked and not used: frames of 16 KiB are always allowed.
	case settingMaxFrame:
		if value < maxFrame || value > 1<<24-1 {
			return connErrorf(ProtocolError, "SETTINGS_MAX_FRAME_SIZE is out of range")
		}
	}
	return nil
}

// handlePriority checks PRIORITY, which is deprecated (5.3.2).
// A stream that depends on itself is an error of the stream still (RFC 7540, 5.3.1), which is
// all that is left of priorities: SETTINGS_NO_RFC7540_PRIORITIES was sent.
func (c *Conn) handlePriority(f *frame) error {
	switch {
	case f.id == 0:
		return connErrorf(ProtocolError, "PRIORITY names no stream")
	case f.length != 5:
		return c.resetStream(f.id, FrameSizeError)
	case binary.BigEndian.Uint32(f.payload)&maxWindow == f.id:
		return c.resetStream(f.id, ProtocolError)
	}
	return c.charge(&c.limits.Idle)
}

// handlePriorityUpdate changes the urgency of a stream (RFC 9218, 7.1).
func (c *Conn) handlePriorityUpdate(f *frame) error {
	if f.id != 0 || f.length < 4 {
		return connErrorf(ProtocolError, "PRIORITY_UPDATE is malformed")
	}
	id := binary.BigEndian.Uint32(f.payload) & maxWindow
	if id == 0 {
		return connErrorf(ProtocolError, "PRIORITY_UPDATE names no stream")
	}
	// An update for a stream that has not begun may be ignored (RFC 9218, 7.1); keeping it would
	// need another bound.
	if s := c.streams[id]; s != nil {
		s.urgency = mux.ParseUrgency(string(f.payload[4:]))
	}
	return c.charge(&c.limits.Idle)
}

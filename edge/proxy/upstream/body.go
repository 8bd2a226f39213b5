package upstream

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
)

// errBodyRead marks a failure to read the client's body: no fault of an origin.
var errBodyRead = errors.New("read the request's body")

// replayBody is a request's body over several tries. It is closed once, after the
// last of them is done with it, because a stream belongs to a connection that
// serves other requests later.
type replayBody struct {
	src  io.ReadCloser // nil: none
	make func() (io.ReadCloser, error)

	mu sync.Mutex

	started  bool // bytes were taken from src
	whole    bool // src was read to its end
	open     int  // tries that have not closed it
	released bool // there is no further attempt
	closed   bool
}

func newReplayBody(r *http.Request) *replayBody {
	b := &replayBody{src: r.Body, make: r.GetBody}
	if r.Body == http.NoBody {
		b.src = nil
	}
	return b
}

// rewind is the body of the next try, with a way for the transport to send it again.
func (b *replayBody) rewind() (io.ReadCloser, func() (io.ReadCloser, error), error) {
	switch {
	case b.src == nil:
		return nil, nil, nil
	case b.make != nil:
		body, err := b.make()
		return body, b.make, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open++
	return &attemptBody{of: b}, nil, nil
}

// canReplay reports whether another try would find the whole body.
func (b *replayBody) canReplay() bool {
	if b.src == nil || b.make != nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.started
}

// unfinished reports whether a client was still sending the body.
func (b *replayBody) unfinished() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.started && !b.whole
}

// release ends the use of the body by a request, after which no attempt begins. The source is closed as soon as no
// attempt reads it: one that got its response early may still do.
func (b *replayBody) release() {
	if b.src == nil {
		return
	}
	b.mu.Lock()
	b.released = true
	shut := b.open == 0 && !b.closed
	b.closed = b.closed || shut
	b.mu.Unlock()
	if shut {
		b.src.Close()
	}
}

// attemptBody is the body as one attempt reads it.
type attemptBody struct {
	of   *replayBody
	once sync.Once
}

// Read implements io.Reader.
func (u *attemptBody) Read(p []byte) (int, error) {
	u.of.mu.Lock()
	u.of.started = true
	u.of.mu.Unlock()
	n, err := u.of.src.Read(p)
	switch err {
	case nil:
	case io.EOF:
		u.of.mu.Lock()
		u.of.whole = true
		u.of.mu.Unlock()
	default:
		err = fmt.Errorf("%w: %w", errBodyRead, err)
	}
	return n, err
}

// Close implements io.Closer.
func (u *attemptBody) Close() error {
	u.once.Do(func() {
		b := u.of
		b.mu.Lock()
		b.open--
		shut := b.released && b.open == 0 && !b.closed
		b.closed = b.closed || shut
		b.mu.Unlock()
		if shut {
			b.src.Close()
		}
	})
	return nil
}

func cloneURL(u *url.URL) *url.URL {
	c := *u
	return &c
}

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

// sentBody is a request's body over several tries. It is closed once, after the
// last of them is done with it, because a stream belongs to a connection that
// serves other requests later.
type sentBody struct {
	src  io.ReadCloser // nil: none
	make func() (io.ReadCloser, error)

	mu sync.Mutex

	touched bool // bytes were taken from src
	whole   bool // src was read to its end
	open    int  // tries that have not closed it
	given   bool // nobody will try again
	closed  bool
}

func newSentBody(r *http.Request) *sentBody {
	b := &sentBody{src: r.Body, make: r.GetBody}
	if r.Body == http.NoBody {
		b.src = nil
	}
	return b
}

// next is the body of the next try, with a way for the transport to send it again.
func (b *sentBody) next() (io.ReadCloser, func() (io.ReadCloser, error), error) {
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
	return &bodyUse{of: b}, nil, nil
}

// again reports whether another try would find the whole body.
func (b *sentBody) again() bool {
	if b.src == nil || b.make != nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.touched
}

// unfinished reports whether a client was still sending the body.
func (b *sentBody) unfinished() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.touched && !b.whole
}

// give leaves the body to the try that got an answer.
func (b *sentBody) give() { b.end() }

// drop ends a request that got no answer.
func (b *sentBody) drop() { b.end() }

// end closes the source as soon as no try is at it.
func (b *sentBody) end() {
	if b.src == nil {
		return
	}
	b.mu.Lock()
	b.given = true
	shut := b.open == 0 && !b.closed
	b.closed = b.closed || shut
	b.mu.Unlock()
	if shut {
		b.src.Close()
	}
}

// bodyUse is the body in the hands of one try.
type bodyUse struct {
	of   *sentBody
	once sync.Once
}

// Read implements io.Reader.
func (u *bodyUse) Read(p []byte) (int, error) {
	u.of.mu.Lock()
	u.of.touched = true
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
func (u *bodyUse) Close() error {
	u.once.Do(func() {
		b := u.of
		b.mu.Lock()
		b.open--
		shut := b.given && b.open == 0 && !b.closed
		b.closed = b.closed || shut
		b.mu.Unlock()
		if shut {
			b.src.Close()
		}
	})
	return nil
}

func clone(u *url.URL) *url.URL {
	c := *u
	return &c
}

package conn

import (
	"crypto/tls"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/fieldmark/fieldmark/edge/conn/h2"
)

// waitConn is a socket below TLS or HTTP/2. It can wait for bytes without a buffer, which
// crypto/tls cannot: while nonblocking is set, Read returns h2.ErrNotReady instead of
// waiting, and wait waits.
//
// crypto/tls keeps what it has read of a record, and does not make a temporary error its
// last word.
type waitConn struct {
	net.Conn
	raw         syscall.RawConn // nil: the connection waits with a buffer
	nonblocking bool            // set by the goroutine that reads
	remote      net.Addr        // of a client that a PROXY header names; nil: that of Conn

	tryRead func(fd uintptr) bool
	buf     *buffer // holds pending; nil while there is nothing
	pending []byte
	readN   int   // result of the last read
	readErr error // result of the last read
}

// newWaitConn returns nc as a waitConn with bytes that were already read.
func newWaitConn(nc net.Conn, pending []byte) *waitConn {
	w := &waitConn{Conn: nc, pending: pending}
	w.prepare()
	return w
}

// Read implements net.Conn.
func (w *waitConn) Read(p []byte) (int, error) {
	if len(w.pending) > 0 {
		n := copy(p, w.pending)
		if w.pending = w.pending[n:]; len(w.pending) == 0 {
			w.pending = nil // even an empty slice would keep the buffer from the collector
			if w.buf != nil {
				w.buf.release()
				w.buf = nil
			}
		}
		return n, nil
	}
	if !w.nonblocking || w.raw == nil {
		return w.Conn.Read(p)
	}
	return 0, errNotReady{}
}

// wait waits until bytes have arrived.
func (w *waitConn) wait() error {
	if len(w.pending) > 0 {
		return nil
	}
	if w.raw == nil {
		return w.waitInBuffer()
	}
	if err := w.raw.Read(w.tryRead); err != nil {
		return err
	}
	switch {
	case w.readN > 0:
		w.pending = w.buf.in[:w.readN]
		return nil
	case w.readErr != nil:
		return &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", w.readErr)}
	}
	return io.EOF
}

// waitInBuffer waits with a buffer, on a connection that is no socket.
func (w *waitConn) waitInBuffer() error {
	b := bufferPool.Get().(*buffer)
	n, err := w.Conn.Read(b.in[:])
	if n == 0 {
		b.release()
		return err
	}
	w.buf, w.pending = b, b.in[:n]
	return nil
}

// RemoteAddr implements net.Conn: it is the address of the client.
func (w *waitConn) RemoteAddr() net.Addr {
	if w.remote != nil {
		return w.remote
	}
	return w.Conn.RemoteAddr()
}

// CloseWrite closes the writing half.
func (w *waitConn) CloseWrite() error {
	if half, ok := w.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// errNotReady is h2.ErrNotReady as crypto/tls must see it: temporary.
type errNotReady struct{}

func (errNotReady) Error() string        { return h2.ErrNotReady.Error() }
func (errNotReady) Is(target error) bool { return target == h2.ErrNotReady }
func (errNotReady) Timeout() bool        { return true }
func (errNotReady) Temporary() bool      { return true }

// NewTLSListener returns a listener of encrypted connections that a Server can let wait
// without a buffer. cfg should disable dynamic record sizes: a write is a whole batch.
func NewTLSListener(ln net.Listener, cfg *tls.Config) net.Listener { return &tlsListener{ln, cfg} }

type tlsListener struct {
	net.Listener
	cfg *tls.Config
}

// Accept implements net.Listener.
func (l *tlsListener) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &tlsSocket{tls.Server(newWaitConn(nc, nil), l.cfg), l.cfg}, nil
}

// tlsSocket is an encrypted connection and the configuration that it began with.
type tlsSocket struct {
	*tls.Conn
	cfg *tls.Config
}

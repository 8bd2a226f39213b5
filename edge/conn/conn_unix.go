//go:build unix

package conn

import (
	"net"
	"syscall"
)

// prepare lets a socket wait without a buffer: each time it becomes readable, tryRead
// takes a buffer from the pool and keeps it only if bytes were read.
func (c *conn) prepare() {
	sc, ok := c.Conn.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return
	}
	c.raw = raw
	c.tryRead = func(fd uintptr) bool {
		c.buf, c.readN, c.readErr = readSocket(fd)
		return c.readErr != syscall.EAGAIN
	}
}

// prepare lets a socket wait without a buffer, as conn.prepare does.
func (w *waitConn) prepare() {
	sc, ok := w.Conn.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return
	}
	w.raw = raw
	w.tryRead = func(fd uintptr) bool {
		w.buf, w.readN, w.readErr = readSocket(fd)
		return w.readErr != syscall.EAGAIN
	}
}

// readSocket reads into a buffer of the pool, which it returns only if bytes were read.
func readSocket(fd uintptr) (b *buffer, n int, err error) {
	b = bufferPool.Get().(*buffer)
	for {
		n, err = syscall.Read(int(fd), b.in[:])
		if err != syscall.EINTR {
			break
		}
	}
	if n <= 0 {
		b.release()
		return nil, n, err
	}
	return b, n, nil
}

// receiveBuffer returns the size of a socket's receive buffer in bytes, or 0 if it is unknown.
func receiveBuffer(pc net.PacketConn) (size int) {
	sc, ok := pc.(syscall.Conn)
	if !ok {
		return 0
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) { // fails only on a closed socket
		size, _ = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF)
	})
	return size
}

//go:build unix

package conn

import "syscall"

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
		b := bufferPool.Get().(*buffer)
		for {
			c.readN, c.readErr = syscall.Read(int(fd), b.in[:])
			if c.readErr != syscall.EINTR {
				break
			}
		}
		if c.readN <= 0 {
			b.release()
			return c.readErr != syscall.EAGAIN
		}
		c.buf = b
		return true
	}
}

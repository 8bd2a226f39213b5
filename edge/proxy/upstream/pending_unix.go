//go:build unix

package upstream

import (
	"net"
	"syscall"
)

// pending reports whether unread bytes wait in the kernel: on an idle connection they
// belong to no response. It does not report a closed connection; the next write fails on
// it.
func pending(c net.Conn) bool {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return false
	}
	n := 0
	if raw.Control(func(fd uintptr) {
		var b [1]byte
		n, _, err = syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	}) != nil {
		return false
	}
	return err == nil && n > 0
}

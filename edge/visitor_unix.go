//go:build unix

package edge

import "syscall"

// prepare lets a socket's visitor wait without a buffer: it takes a desk only to
// look, and keeps it only when there was something to see.
func (v *visitor) prepare() {
	sc, ok := v.Conn.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return
	}
	v.raw = raw
	v.look = func(fd uintptr) bool {
		d := desks.Get().(*desk)
		for {
			v.n, v.err = syscall.Read(int(fd), d.in[:])
			if v.err != syscall.EINTR {
				break
			}
		}
		if v.n <= 0 {
			d.release()
			return v.err != syscall.EAGAIN
		}
		v.desk = d
		return true
	}
}

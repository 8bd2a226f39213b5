//go:build unix

package listen

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// firstInherited is the first file descriptor that a service manager passes
// (sd_listen_fds(3)).
const firstInherited = 3

// inheritedPrefix marks the name of a socket that the service manager opened:
// systemd:NAME, where NAME is its FileDescriptorName. The socket stays open during a
// restart of the process, so that connections wait instead of being refused.
const inheritedPrefix = "systemd:"

// inherited returns the passed stream socket of this name.
func inherited(name string) (net.Listener, error) {
	file, err := inheritedFile(name, syscall.SOCK_STREAM)
	if err != nil {
		return nil, err
	}
	ln, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("use socket %q: %w", name, err)
	}
	return ln, file.Close() // FileListener duplicates the descriptor
}

// inheritedPacket returns the passed datagram socket of this name.
func inheritedPacket(name string) (net.PacketConn, error) {
	file, err := inheritedFile(name, syscall.SOCK_DGRAM)
	if err != nil {
		return nil, err
	}
	pc, err := net.FilePacketConn(file)
	if err != nil {
		return nil, fmt.Errorf("use socket %q: %w", name, err)
	}
	return pc, file.Close() // FilePacketConn duplicates the descriptor
}

// inheritedFile returns the passed socket of this name and type. A stream socket and a
// datagram socket of one unit have the same name.
func inheritedFile(name string, typ int) (*os.File, error) {
	names := strings.Split(os.Getenv("LISTEN_FDNAMES"), ":")
	count, err := strconv.Atoi(os.Getenv("LISTEN_FDS"))
	if err != nil || os.Getenv("LISTEN_PID") != strconv.Itoa(os.Getpid()) {
		return nil, fmt.Errorf("the service manager passed no sockets: start the process by a .socket unit")
	}
	for i := range count {
		fd := firstInherited + i
		if i >= len(names) || names[i] != name {
			continue
		}
		if got, err := syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_TYPE); err != nil || got != typ {
			continue
		}
		syscall.CloseOnExec(fd)
		return os.NewFile(uintptr(fd), name), nil
	}
	kind := "stream"
	if typ == syscall.SOCK_DGRAM {
		kind = "datagram"
	}
	return nil, fmt.Errorf("the service manager passed no %s socket %q, only %q", kind, name, names)
}

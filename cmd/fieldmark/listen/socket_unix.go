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

// inherited returns the passed socket of this name.
func inherited(name string) (net.Listener, error) {
	names := strings.Split(os.Getenv("LISTEN_FDNAMES"), ":")
	count, err := strconv.Atoi(os.Getenv("LISTEN_FDS"))
	if err != nil || os.Getenv("LISTEN_PID") != strconv.Itoa(os.Getpid()) {
		return nil, fmt.Errorf("the service manager passed no sockets: start the process by a .socket unit")
	}
	for i := range count {
		if i >= len(names) || names[i] != name {
			continue
		}
		syscall.CloseOnExec(firstInherited + i)
		file := os.NewFile(uintptr(firstInherited+i), name)
		ln, err := net.FileListener(file)
		if err != nil {
			return nil, fmt.Errorf("use socket %q: %w", name, err)
		}
		return ln, file.Close() // FileListener duplicates the descriptor
	}
	return nil, fmt.Errorf("the service manager passed no socket %q, only %q", name, names)
}

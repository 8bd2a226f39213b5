//go:build unix

package main

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// firstInherited is the number of the first descriptor a service manager hands
// over (sd_listen_fds(3)).
const firstInherited = 3

// inheritedPrefix marks an address that is no address but the name of a socket
// the service manager opened: systemd:NAME, where NAME is its FileDescriptorName.
// A socket outlives the process, so that connections wait through a restart
// instead of being refused.
const inheritedPrefix = "systemd:"

// inherited returns the listener of that name.
func inherited(name string) (net.Listener, error) {
	names := strings.Split(os.Getenv("LISTEN_FDNAMES"), ":")
	count, err := strconv.Atoi(os.Getenv("LISTEN_FDS"))
	if err != nil || os.Getenv("LISTEN_PID") != strconv.Itoa(os.Getpid()) {
		return nil, fmt.Errorf("no sockets were handed over: start by a .socket unit")
	}
	for i := range count {
		if i >= len(names) || names[i] != name {
			continue
		}
		syscall.CloseOnExec(firstInherited + i)
		file := os.NewFile(uintptr(firstInherited+i), name)
		ln, err := net.FileListener(file)
		if err != nil {
			return nil, fmt.Errorf("take over socket %q: %w", name, err)
		}
		return ln, file.Close() // FileListener works on a copy
	}
	return nil, fmt.Errorf("no socket named %q was handed over, but %q", name, names)
}

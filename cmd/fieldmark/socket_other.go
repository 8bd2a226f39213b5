//go:build !unix

package main

import (
	"errors"
	"net"
)

// inheritedPrefix marks the name of a socket a service manager opened.
const inheritedPrefix = "systemd:"

// inherited says that sockets are handed over on Unix alone.
func inherited(string) (net.Listener, error) {
	return nil, errors.New("sockets are handed over on Unix alone")
}

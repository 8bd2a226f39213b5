//go:build !unix

package listen

import (
	"errors"
	"net"
)

// inheritedPrefix marks the name of a socket that the service manager opened.
const inheritedPrefix = "systemd:"

var errNoActivation = errors.New("socket activation is only available on Unix")

// inherited returns an error.
func inherited(string) (net.Listener, error) { return nil, errNoActivation }

// inheritedPacket returns an error.
func inheritedPacket(string) (net.PacketConn, error) { return nil, errNoActivation }

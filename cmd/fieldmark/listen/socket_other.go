//go:build !unix

package listen

import (
	"errors"
	"net"
)

// inheritedPrefix marks the name of a socket that the service manager opened.
const inheritedPrefix = "systemd:"

// inherited returns an error: only Unix has socket activation.
func inherited(string) (net.Listener, error) {
	return nil, errors.New("socket activation is only available on Unix")
}

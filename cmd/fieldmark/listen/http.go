package listen

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// Timeouts of the net/http servers of the origin and the debug listener.
const (
	headerTimeout = 10 * time.Second // for the header of a request; slower clients are hostile
	keepAlive     = 2 * time.Minute  // longer than edges keep idle connections, so that edges close them first
	drainTime     = 10 * time.Second // for requests in flight when the process stops
	pollGrace     = time.Second      // before a stopping server ends requests that wait for events
)

// ServeHTTP serves on every listener until ctx ends. Then it accepts nothing more, cancels the
// contexts of the remaining requests after pollGrace, so that those that only wait for events end,
// and returns when all have ended, at the latest after drainTime. It closes the listeners.
func ServeHTTP(ctx context.Context, h http.Handler, listeners ...net.Listener) error {
	base, endPolls := context.WithCancel(context.WithoutCancel(ctx))
	defer endPolls()
	srv := &http.Server{Handler: h, ReadHeaderTimeout: headerTimeout, IdleTimeout: keepAlive,
		BaseContext: func(net.Listener) context.Context { return base }}
	g, ctx := errgroup.WithContext(ctx)
	for _, ln := range listeners {
		g.Go(func() error {
			if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("serve %s: %w", ln.Addr(), err)
			}
			return nil
		})
	}
	g.Go(func() error {
		<-ctx.Done()
		grace := time.AfterFunc(pollGrace, endPolls)
		defer grace.Stop()
		drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
		defer cancel()
		if err := srv.Shutdown(drain); err != nil {
			return fmt.Errorf("drain: %w", err)
		}
		return nil
	})
	return g.Wait()
}

// Open opens a TCP listener at HOST:PORT, or for systemd:NAME returns the socket that the service
// manager opened under that name. Errors begin with setting, the flag that address comes from.
func Open(address, setting string) (net.Listener, error) {
	if name, ok := strings.CutPrefix(address, inheritedPrefix); ok {
		ln, err := inherited(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", setting, err)
		}
		return ln, nil
	}
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w (choose another address; port 0 takes a free one)", setting, err)
	}
	return ln, nil
}

// OpenPacket opens a UDP socket at HOST:PORT, or for systemd:NAME returns the datagram socket
// that the service manager opened under that name. Errors begin with setting.
func OpenPacket(address, setting string) (net.PacketConn, error) {
	if name, ok := strings.CutPrefix(address, inheritedPrefix); ok {
		pc, err := inheritedPacket(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", setting, err)
		}
		return pc, nil
	}
	pc, err := net.ListenPacket("udp", address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w (choose another address)", setting, err)
	}
	return pc, nil
}

// IsInherited reports whether an address names a socket of the service manager.
func IsInherited(address string) bool { return strings.HasPrefix(address, inheritedPrefix) }

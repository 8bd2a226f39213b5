package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"golang.org/x/sync/errgroup"
)

// Timeouts of the net/http servers of the origin and the debug listener.
const (
	headerTimeout = 10 * time.Second // for the header of a request; slower clients are hostile
	keepAlive     = 2 * time.Minute  // longer than edges keep idle connections, so that edges close them first
	drainTime     = 10 * time.Second // for requests in flight when the process stops
	pollGrace     = time.Second      // before a stopping server ends requests that wait for events
)

// degraded is an error that /readyz mentions while the process stays ready.
type degraded string

// Error implements error.
func (d degraded) Error() string { return string(d) }

// debugHandler serves the private listener: liveness, readiness, metrics and profiles.
func debugHandler(ready func(context.Context) error, writeMetrics ...func(io.Writer)) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "alive") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		err := ready(r.Context())
		if note, ok := errors.AsType[degraded](err); ok {
			fmt.Fprintln(w, "ready, but", note)
			return
		}
		if err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintln(w, "not ready:", err)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", expositionType)
		// the client has disconnected
		_ = writeExposition(w, append(slices.Clone(writeMetrics), metrics.WriteProcessMetrics)...)
	})
	mux.HandleFunc("/debug/pprof/", loopbackOnly(pprof.Index))
	mux.HandleFunc("/debug/pprof/cmdline", loopbackOnly(pprof.Cmdline))
	mux.HandleFunc("/debug/pprof/profile", loopbackOnly(pprof.Profile))
	mux.HandleFunc("/debug/pprof/symbol", loopbackOnly(pprof.Symbol))
	mux.HandleFunc("/debug/pprof/trace", loopbackOnly(pprof.Trace))
	return mux
}

// loopbackOnly refuses clients on other machines. Heap profiles and command lines may
// contain secrets, and CPU profiles cost time: a debug listener that is open to a
// monitoring system must not offer them.
func loopbackOnly(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if peer, err := netip.ParseAddrPort(r.RemoteAddr); err != nil || !peer.Addr().Unmap().IsLoopback() {
			http.Error(w, "profiles are for this machine only; use ssh -L or kubectl port-forward",
				http.StatusForbidden)
			return
		}
		next(w, r)
	}
}

// serveHTTP serves on every listener until ctx ends, then drains: after pollGrace it ends
// the requests that only wait for events.
func serveHTTP(ctx context.Context, h http.Handler, listeners ...net.Listener) error {
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

// listen opens a TCP listener, or uses a socket that the service manager opened. Errors
// name the setting.
func listen(address, setting string) (net.Listener, error) {
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

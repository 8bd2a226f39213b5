package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"slices"

	"github.com/VictoriaMetrics/metrics"

	"github.com/fieldmark/fieldmark/cmd/fieldmark/exposition"
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
		w.Header().Set("Content-Type", exposition.ContentType)
		// the client has disconnected
		_ = exposition.Write(w, append(slices.Clone(writeMetrics), metrics.WriteProcessMetrics)...)
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

package main

import (
	"context"
	"net/http/httptest"
	"testing"
)

// TestProfilesStayOnTheMachine requests the debug listener from this machine and from
// another address, which may read metrics and health but no profile.
func TestProfilesStayOnTheMachine(t *testing.T) {
	h := debugHandler(func(context.Context) error { return nil })
	for _, tt := range []struct {
		path, peer string
		want       int
	}{
		{"/livez", "10.0.0.7:4000", 200},
		{"/readyz", "10.0.0.7:4000", 200},
		{"/metrics", "10.0.0.7:4000", 200},
		{"/debug/pprof/", "10.0.0.7:4000", 403},
		{"/debug/pprof/heap", "[2001:db8::7]:4000", 403},
		{"/debug/pprof/cmdline", "10.0.0.7:4000", 403},
		{"/debug/pprof/profile?seconds=1", "10.0.0.7:4000", 403},
		{"/debug/pprof/trace?seconds=1", "10.0.0.7:4000", 403},
		{"/debug/pprof/symbol", "10.0.0.7:4000", 403},
		{"/debug/pprof/cmdline", "127.0.0.1:4000", 200},
		{"/debug/pprof/cmdline", "[::1]:4000", 200},
		{"/debug/pprof/cmdline", "[::ffff:127.0.0.1]:4000", 200},
	} {
		r := httptest.NewRequest("GET", tt.path, nil)
		r.RemoteAddr = tt.peer
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != tt.want {
			t.Errorf("%s from %s: %d, want %d", tt.path, tt.peer, w.Code, tt.want)
		}
	}
}

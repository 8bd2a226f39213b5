package sdk_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/fieldmark/fieldmark"
)

// hostile is a server that answers as no server should: /PLAYER/KIND/api/... in the way of a kind.
type hostile struct {
	next http.Handler // of /flaky

	mu       sync.Mutex
	requests map[string]map[string]int // by player and kind: the Idempotency-Keys; "" without one
	attempts map[string]int            // by player and kind
}

func newHostile(t *testing.T, next http.Handler) *httptest.Server {
	server := httptest.NewServer(&hostile{next: next, requests: map[string]map[string]int{},
		attempts: map[string]int{}})
	t.Cleanup(server.Close)
	return server
}

func (h *hostile) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	player, rest, _ := strings.Cut(r.URL.Path[1:], "/")
	kind, rest, _ := strings.Cut(rest, "/")
	if kind == "count" {
		h.count(w, player+"/"+rest[strings.LastIndex(rest, "/")+1:])
		return
	}
	n := h.record(player+"/"+kind, r.Header.Get("Idempotency-Key"))
	problem := func(code fieldmark.Code, retryAfter string) {
		w.Header().Set("Content-Type", fieldmark.ProblemType)
		w.Header().Set("Retry-After", retryAfter)
		w.WriteHeader(code.Status())
		_ = json.NewEncoder(w).Encode(fieldmark.Errorf(code, "not now").Problem("", ""))
	}
	switch kind {
	case "busy":
		if n < 3 {
			problem(fieldmark.CodeOverloaded, "0")
			return
		}
		fmt.Fprintf(w, `{"id":"x","attempts":%d}`, n)
	case "limit":
		problem(fieldmark.CodeRateLimited, "0")
	case "later":
		problem(fieldmark.CodeOverloaded, "31")
	case "broken":
		problem(fieldmark.CodeInternal, "0")
	case "proxy":
		w.Header().Set("Retry-After", "0")
		http.Error(w, "<html>busy", http.StatusServiceUnavailable)
	case "cut":
		cut(w, `{"id":"x","ti`)
	case "huge":
		write(w, strings.Repeat(" ", 1<<20), r)
	case "problem":
		w.Header().Set("Content-Type", fieldmark.ProblemType)
		w.WriteHeader(http.StatusConflict)
		write(w, `{"code":"mission_exists","detail":"`+strings.Repeat("x", 1<<20), r)
	case "garbage":
		fmt.Fprint(w, "<!doctype html><title>Welcome</title>")
	case "redirect":
		http.Redirect(w, r, "/"+player+"/stolen/api", http.StatusFound)
	case "hang":
		<-r.Context().Done()
	case "drip":
		drip(w, r)
	case "loop":
		fmt.Fprint(w, `{"data":[{"id":"x"}],"hasMore":true,"nextCursor":"again"}`)
	case "flaky":
		h.flaky(w, r, n, strings.TrimPrefix(r.URL.Path, "/"+player+"/flaky"))
	default:
		http.NotFound(w, r)
	}
}

// record counts a request, and returns how many there were.
func (h *hostile) record(which, key string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.attempts[which]++
	if h.requests[which] == nil {
		h.requests[which] = map[string]int{}
	}
	h.requests[which][key]++
	return h.attempts[which]
}

// count returns how many attempts there were since the last count, and how many keys they had.
func (h *hostile) count(w http.ResponseWriter, which string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.requests[which], "")
	fmt.Fprintf(w, `{"attempts":%d,"keys":%d}`, h.attempts[which], len(h.requests[which]))
	delete(h.requests, which)
	delete(h.attempts, which)
}

// flaky passes every third request on. Of the others, one is passed on too, but its response is lost, and one
// is refused.
func (h *hostile) flaky(w http.ResponseWriter, r *http.Request, n int, path string) {
	r.URL.Path = path
	switch n % 3 {
	case 0:
		h.next.ServeHTTP(w, r)
	case 1:
		h.next.ServeHTTP(httptest.NewRecorder(), r)
		cut(w, "{")
	case 2:
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

// cut sends a part of a body and closes the connection.
func cut(w http.ResponseWriter, part string) {
	w.Header().Set("Content-Length", "1000")
	_, _ = io.WriteString(w, part)
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// write repeats a text until the client has gone.
func write(w http.ResponseWriter, text string, r *http.Request) {
	for r.Context().Err() == nil {
		if _, err := io.WriteString(w, text); err != nil {
			return
		}
	}
}

// drip sends spaces, each on its own, until the client has gone.
func drip(w http.ResponseWriter, r *http.Request) {
	for r.Context().Err() == nil {
		if _, err := io.WriteString(w, " "); err != nil {
			return
		}
		_ = http.NewResponseController(w).Flush()
	}
}

package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

const (
	// idleConns is the number of idle connections, limited by the files one process may
	// open; idleBytes is the maximum memory per connection in the node.
	idleConns, idleBytes = 100_000, 8 << 10
	// slowConns is the number of connections that never complete a request header. The
	// node must close them after slowEnd, which includes time to process all of them.
	slowConns, slowEnd = 10_000, 40 * time.Second
	// besides limits the p99 duration of requests sent meanwhile, in make chaos: in the
	// suite, other tests use the same processors.
	besides = time.Second
)

// TestManyConnections limits the cost of many idle and many slow connections to a node.
// Only make chaos runs it: it opens tens of thousands.
func TestManyConnections(t *testing.T) {
	idle, slow := 200, 100
	var limit syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	if *chaos {
		room := int(limit.Cur) - 1000
		idle, slow = min(idleConns, room), min(slowConns, room)
	}
	p := start(t, t.TempDir(), append([]string{"serve", "--network-conns", "1000000", "--log-level", "INFO"},
		freePorts("var")...)...)
	base, debug := p.logged("serve", "listen"), p.logged("serve", "debug")
	waittest.Until(t, "the node is ready", func() bool {
		status, _, _, err := try("GET", debug+"/readyz", "")
		return err == nil && status == http.StatusOK
	})
	address := strings.TrimPrefix(base, "http://")
	good := func(when string) {
		t.Helper()
		var took []time.Duration
		for range 100 {
			began := time.Now()
			if status, _, body, err := try("GET", base+"/robots.txt", "", "Connection", "close"); err != nil ||
				status != http.StatusOK {
				t.Fatalf("%s: a request: %d %s %v", when, status, body, err)
			}
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		t.Logf("%s: a request on a connection of its own takes p50 %s, p99 %s", when, took[50].Round(time.Microsecond),
			took[99].Round(time.Microsecond))
		if *chaos && took[99] > besides {
			t.Errorf("%s: p99 %s, want %s", when, took[99], besides)
		}
	}
	good("alone")
	before := residentKiB(t, debug, p.cmd.Process.Pid)
	conns := dialMany(t, address, idle, "GET /robots.txt HTTP/1.1\r\nHost: a\r\n\r\n", true)
	after := residentKiB(t, debug, p.cmd.Process.Pid)
	each := (after - before) * 1024 / idle
	t.Logf("%d idle connections: %d MiB, then %d MiB, so %d bytes each; 100,000 would take %d MiB more", idle,
		before>>10, after>>10, each, each*100_000>>20)
	if *chaos && each > idleBytes {
		t.Errorf("an idle connection costs %d bytes, want at most %d", each, idleBytes)
	}
	good("beside the idle ones")
	for _, c := range conns[:min(1000, idle)] { // they still work
		must(t, c.SetDeadline(time.Now().Add(waittest.Limit)))
		_, err := io.WriteString(c, "GET /robots.txt HTTP/1.1\r\nHost: a\r\n\r\n")
		must(t, err)
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("a connection that was idle: %v %v", resp, err)
		}
	}
	for _, c := range conns {
		must(t, c.Close())
	}
	if *chaos {
		slowLoris(t, address, slow, good)
	}
	p.stop()
}

// slowLoris sends request headers a byte at a time and waits until the node has closed
// the connections.
func slowLoris(t *testing.T, address string, n int, good func(string)) {
	conns := dialMany(t, address, n, "GET /robots.txt HTTP/1.1\r\nHost: a\r\nX-", false)
	began := time.Now()
	var ended sync.WaitGroup
	var mu sync.Mutex
	var last time.Duration
	for _, c := range conns {
		ended.Go(func() {
			defer c.Close()
			must(t, c.SetDeadline(began.Add(slowEnd)))
			gone := make(chan struct{})
			go func() { // single bytes must not extend the deadline
				tick := time.NewTicker(3 * time.Second)
				defer tick.Stop()
				for {
					select {
					case <-tick.C:
						if _, err := c.Write([]byte("a")); err != nil {
							return
						}
					case <-gone:
						return
					}
				}
			}()
			_, err := io.Copy(io.Discard, c)
			close(gone)
			if ne, ok := err.(net.Error); ok && ne.Timeout() {
				t.Errorf("a slow connection still stands after %s", slowEnd)
			}
			mu.Lock()
			defer mu.Unlock()
			last = max(last, time.Since(began))
		})
	}
	good(fmt.Sprintf("beside %d slow ones", n))
	ended.Wait()
	t.Logf("%d connections that sent a byte every 3 s were ended, the last after %s", n, last.Round(time.Millisecond))
	good("after them")
}

// dialMany opens connections, sends data on each, and waits for a response if one is
// expected.
func dialMany(t *testing.T, address string, n int, sent string, answered bool) []net.Conn {
	t.Helper()
	conns := make([]net.Conn, n)
	buffer := make([]byte, 8<<10)
	for i := range conns {
		c, err := net.Dial("tcp", address)
		must(t, err)
		t.Cleanup(func() { _ = c.Close() }) // it may be closed already
		_, err = io.WriteString(c, sent)
		must(t, err)
		if answered {
			_, err = c.Read(buffer)
			must(t, err)
		}
		conns[i] = c
	}
	return conns
}

// residentKiB returns the resident memory of a process after a garbage collection.
func residentKiB(t *testing.T, debug string, pid int) (kib int) {
	t.Helper()
	for range 2 {
		ask(t, "GET", debug+"/debug/pprof/heap?gc=1", "")
	}
	for line := range strings.Lines(readFile(t, fmt.Sprintf("/proc/%d/status", pid))) {
		if _, err := fmt.Sscanf(line, "VmRSS: %d", &kib); err == nil {
			return kib
		}
	}
	t.Fatal("no VmRSS")
	return 0
}

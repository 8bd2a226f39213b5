package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	loadConns  = 64     // kept alive, as in the measurements it is compared with
	loadBrands = 10_000 // keys of the Zipf rounds
)

// bareServer is a minimal server on fasthttp: one response from memory, the size of a
// badge. It prints its address and serves until it is killed.
func bareServer() {
	body := bytes.Repeat([]byte("x"), 1300)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Printf(`{"msg":"bare","listen":"http://%s"}`+"\n", ln.Addr())
	err = fasthttp.Serve(ln, func(ctx *fasthttp.RequestCtx) {
		ctx.SetContentType("image/svg+xml")
		ctx.Response.SetBodyRaw(body)
	})
	panic(err)
}

// served is a server under load and its requests.
type served struct {
	name     string
	pid      int
	addr     string
	requests [][]byte // chosen at random
	debug    string   // its debug listener, or empty
}

// BenchmarkServed measures whole servers, each in a separate process, under the same
// load: CPU time per request of the server with its children, which is reliable on a
// shared machine, and latency, which is not.
//
//	go test ./cmd/fieldmark -run '^$' -bench Served -benchtime 100000x -count 3
func BenchmarkServed(b *testing.B) {
	dir := b.TempDir()
	admin := newKey(b, dir, "admin:*")
	bare := startAs(b, dir, "bareserver")
	token := strings.Repeat("n", minSecret)
	origin := start(b, dir, append([]string{"serve", "--node-token", token}, freePorts("var")...)...)
	slugs := importBrands(b, origin.logged("serve", "listen"), admin)
	// An edge alone, as the peers are: an origin audits and collects garbage.
	ours := startEdge(b, origin.logged("serve", "origin"), token)
	base := ours.logged("edge", "listen")
	addr := strings.TrimPrefix(base, "http://")

	get := func(path string, more string) []byte {
		return []byte("GET " + path + " HTTP/1.1\r\nHost: " + addr + "\r\n" + more + "\r\n")
	}
	zipf := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.01, 1, loadBrands-1)
	var spread [][]byte
	for range 1 << 16 {
		spread = append(spread, get("/api/badge/"+slugs[zipf.Uint64()], ""))
	}
	_, head, _ := ask(b, "GET", base+"/api/badge/"+slugs[0], "")
	debug := ours.logged("edge", "debug")
	servers := []served{
		{"bare fasthttp", bare.cmd.Process.Pid, strings.TrimPrefix(bare.logged("bare", "listen"), "http://"),
			[][]byte{get("/", "")}, ""},
		{"badge hot", ours.cmd.Process.Pid, addr, [][]byte{get("/api/badge/"+slugs[0], "")}, debug},
		{"badge zipf", ours.cmd.Process.Pid, addr, spread, debug},
		{"badge 304", ours.cmd.Process.Pid, addr,
			[][]byte{get("/api/badge/"+slugs[0], "If-None-Match: "+head.Get("Etag")+"\r\n")}, debug},
	}
	for _, p := range peers {
		if started, ok := startPeer(b, p, addr); ok {
			started.requests = [][]byte{get("/api/badge/"+slugs[0], "")}
			servers = append(servers, started)
		}
	}
	for _, node := range startMissing(b, origin.logged("serve", "origin"), token) {
		for _, slug := range slugs {
			node.requests = append(node.requests, get("/api/badge/"+slug, ""))
		}
		servers = append(servers, node)
	}
	pin(b, os.Getpid(), 1)
	for _, s := range servers {
		for _, pid := range family(b, s.pid) {
			pin(b, pid, 0)
		}
	}
	for _, s := range servers { // fills the caches
		s.load(b, 2*len(s.requests)+loadConns)
	}
	for _, s := range servers {
		b.Run(s.name, func(b *testing.B) {
			before, collected := cpuOf(b, s.pid), collections(b, s.debug)
			took := s.load(b, b.N)
			if s.debug != "" {
				b.ReportMetric(collections(b, s.debug)-collected, "GCs")
			}
			b.ReportMetric((cpuOf(b, s.pid)-before).Seconds()*1e6/float64(b.N), "server-us/op")
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-us")
			b.ReportMetric(memoryOf(b, s.pid), "RSS-MiB")
		})
	}
}

// collections returns the number of garbage collections of a process, or 0 if it does
// not report them.
func collections(b *testing.B, debug string) (n float64) {
	if debug == "" {
		return 0
	}
	_, _, profile := ask(b, "GET", debug+"/debug/pprof/heap?debug=1", "")
	_, rest, _ := strings.Cut(string(profile), "# NumGC = ")
	_, err := fmt.Sscan(rest, &n)
	must(b, err)
	return n
}

// importBrands registers the brands that the rounds request.
func importBrands(b *testing.B, base, admin string) (slugs []string) {
	var brands []map[string]any
	for i := range loadBrands {
		slugs = append(slugs, fmt.Sprint("brand-", i))
		brands = append(brands, map[string]any{"slug": slugs[i], "name": fmt.Sprint("Brand ", i),
			"url":   fmt.Sprintf("https://b%d.example/", i),
			"niche": "tools", "language": "en", "public": true})
	}
	body, err := json.Marshal(brands)
	must(b, err)
	if status, _, answer := ask(b, "POST", base+"/api/admin/v1/brands/import", string(body), "Authorization",
		"Bearer "+admin); status != 200 {
		b.Fatalf("import: %d %s", status, answer)
	}
	for _, slug := range []string{slugs[0], slugs[len(slugs)-1]} {
		for deadline := time.Now().Add(2 * time.Minute); ; {
			if status, _, _ := ask(b, "GET", base+"/api/badge/"+slug, ""); status == 200 {
				break
			}
			if time.Now().After(deadline) {
				b.Fatalf("%s is not known after two minutes", slug)
			}
		}
	}
	return slugs
}

// load sends n requests over loadConns connections and returns their latencies in
// ascending order.
func (s *served) load(b *testing.B, n int) []time.Duration {
	var next atomic.Int64
	took := make([]time.Duration, n)
	var wg sync.WaitGroup
	for range min(loadConns, n) {
		wg.Go(func() {
			conn, err := net.Dial("tcp", s.addr)
			if err != nil {
				b.Error(err)
				return
			}
			defer conn.Close()
			in := bufio.NewReaderSize(conn, 16<<10)
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				began := time.Now()
				if err := s.ask(conn, in, s.requests[int(i)%len(s.requests)]); err != nil {
					b.Errorf("%s: %v", s.name, err)
					return
				}
				took[i] = time.Since(began)
			}
		})
	}
	wg.Wait()
	slices.Sort(took)
	return took
}

// ask sends one request and reads its response to the end.
func (s *served) ask(conn net.Conn, in *bufio.Reader, request []byte) error {
	if _, err := conn.Write(request); err != nil {
		return err
	}
	status, err := in.ReadSlice('\n')
	if err != nil {
		return err
	}
	code := string(status[9:12])
	if code != "200" && code != "304" {
		return fmt.Errorf("%.40s: %s", request, status)
	}
	length := 0
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) == 2 {
			break
		}
		if name, value, ok := bytes.Cut(line, []byte(": ")); ok && bytes.EqualFold(name, []byte("Content-Length")) {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return err
			}
		}
	}
	if code == "304" {
		return nil
	}
	_, err = in.Discard(length)
	return err
}

// family is a process and its children.
func family(b testing.TB, pid int) []int {
	pids := []int{pid}
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	must(b, err)
	for _, t := range tasks {
		for word := range strings.FieldsSeq(readFile(b, t)) {
			child, err := strconv.Atoi(word)
			must(b, err)
			pids = append(pids, child)
		}
	}
	return pids
}

// cpuOf returns the CPU time that a process and its children have used.
func cpuOf(b testing.TB, pid int) (sum time.Duration) {
	for _, p := range family(b, pid) {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p))
		must(b, err)
		for _, t := range threads {
			var ns int64
			_, err := fmt.Sscan(readFile(b, t), &ns)
			must(b, err)
			sum += time.Duration(ns)
		}
	}
	return sum
}

// memoryOf returns their resident memory in MiB.
func memoryOf(b testing.TB, pid int) (sum float64) {
	for _, p := range family(b, pid) {
		for line := range strings.Lines(readFile(b, fmt.Sprintf("/proc/%d/status", p))) {
			if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
				kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
				must(b, err)
				sum += kib / 1024
			}
		}
	}
	return sum
}

// startAs starts the test binary under another name.
func startAs(t testing.TB, dir, name string, args ...string) *process {
	t.Helper()
	path, err := exec.LookPath(name)
	must(t, err)
	p := &process{t: t, done: make(chan struct{}), new: make(chan struct{}, 1)}
	p.cmd = exec.Command(path, args...)
	p.cmd.Dir = dir
	read, write, err := os.Pipe()
	must(t, err)
	p.cmd.Stdout, p.cmd.Stderr = write, io.Discard
	must(t, p.cmd.Start())
	must(t, write.Close())
	go p.collect(read)
	t.Cleanup(p.kill)
	return p
}

package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/quic-go/quic-go/http3"
)

// The load of BenchmarkHTTP3Servers. Its client costs more than the servers, so it is smaller
// than that over TCP.
const (
	http3Conns    = 16
	http3Requests = 16_000
)

// http3Server is the HTTP/3 server of quic-go with a handler that sends a badge: arguments
// are the files of the certificate and of the badge.
func http3Server() {
	cert, err := tls.LoadX509KeyPair(os.Args[1], os.Args[1])
	if err != nil {
		panic(err)
	}
	badge, err := os.ReadFile(os.Args[2])
	if err != nil {
		panic(err)
	}
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Printf(`{"msg":"http3","listen":"https://%s"}`+"\n", conn.LocalAddr())
	server := &http3.Server{TLSConfig: http3.ConfigureTLSConfig(&tls.Config{Certificates: []tls.Certificate{cert}}),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "image/svg+xml")
			w.Header().Set("Cache-Control", "public, max-age=300")
			_, _ = w.Write(badge)
		})}
	panic(server.Serve(conn))
}

// BenchmarkHTTP3Servers is BenchmarkReverseProxies over HTTP/3: processor time of the server per request
// for a badge, in turns, for 16 connections with 10 streams and with 1. The handshakes are
// included.
//
//	go test ./cmd/fieldmark -run '^$' -bench HTTP3Servers -benchtime 3x
func BenchmarkHTTP3Servers(b *testing.B) {
	dir := b.TempDir()
	admin, token := newKey(b, dir, "admin:*"), strings.Repeat("n", minSecret)
	origin := start(b, dir, append([]string{"serve", "--node-token", token}, freePorts("var")...)...)
	slugs := importBrands(b, origin.logged("serve", "listen"), admin)
	edge := startEdge(b, origin.logged("serve", "origin"), token, "--tls-self-signed")
	path := "/api/badge/" + slugs[0]
	_, _, badge := ask(b, "GET", origin.logged("serve", "listen")+path, "")
	cert, body := writeCertificate(b), dir+"/badge.svg"
	must(b, os.WriteFile(body, []byte(badge), 0o600))
	reference := startAs(b, dir, "http3server", cert, body)
	servers := []testedServer{
		{name: "own h3", url: edge.logged("edge", "listen") + path, pid: edge.cmd.Process.Pid},
		{name: "quic-go http3", url: reference.logged("http3", "listen") + path, pid: reference.cmd.Process.Pid},
	}
	caddy := caddyServer
	caddy.config = strings.NewReplacer("CERT", cert, "BODY", strings.ReplaceAll(badge, "`", "")).
		Replace(caddy.config)
	if s, ok := startPeer(b, caddy, ""); ok {
		servers = append(servers, testedServer{name: s.name, url: "https://" + s.addr + path, pid: s.pid})
	}
	pin(b, os.Getpid(), 1)
	for _, s := range servers {
		for _, pid := range family(b, s.pid) {
			pin(b, pid, 0)
		}
		s.loadHTTP3(b, 10, 1000)
	}
	for _, streams := range []int{10, 1} {
		took := make([][]float64, len(servers))
		b.Run(fmt.Sprintf("16x%d", streams), func(b *testing.B) {
			for b.Loop() {
				for i, s := range servers {
					before := cpuOf(b, s.pid)
					s.loadHTTP3(b, streams, http3Requests)
					took[i] = append(took[i], (cpuOf(b, s.pid)-before).Seconds()*1e6/http3Requests)
				}
			}
			for i, s := range servers {
				slices.Sort(took[i])
				b.ReportMetric(took[i][len(took[i])/2], strings.ReplaceAll(s.name, " ", "-")+"-us/op")
			}
		})
	}
}

// loadHTTP3 sends n requests over http3Conns connections.
func (s *testedServer) loadHTTP3(b *testing.B, streams, n int) {
	b.Helper()
	var wg sync.WaitGroup
	for range http3Conns {
		transport := &http3.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, ServerName: "localhost"}}
		defer transport.Close()
		for range streams {
			wg.Go(func() {
				for range n / http3Conns / streams {
					if err := getHTTP3(transport, s.url); err != nil {
						b.Errorf("%s: %v", s.name, err)
						return
					}
				}
			})
		}
	}
	wg.Wait()
}

func getHTTP3(transport *http3.Transport, url string) error {
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if n, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK || n == 0 {
		return fmt.Errorf("%s, %d bytes: %w", resp.Status, n, err)
	}
	return nil
}

// caddyServer serves the badge from its configuration.
var caddyServer = peer{"caddy respond", "caddy", "Caddyfile", "{\n\tauto_https off\n\tadmin off\n}\n" +
	"https://LISTEN {\n\tbind 127.0.0.1\n\ttls CERT CERT\n" +
	"\theader Content-Type image/svg+xml\n\theader Cache-Control \"public, max-age=300\"\n\trespond `BODY`\n}\n",
	[]string{"run", "--config", "DIR/Caddyfile"}}

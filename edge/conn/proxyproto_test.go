package conn_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/fieldmark/fieldmark/edge/conn"
	"github.com/fieldmark/fieldmark/internal/timeout"
)

// Parts of headers.
const (
	signature = "\r\n\r\n\x00\r\nQUIT\n"
	client4   = "\xc0\x00\x02\x07\xcb\x00\x71\x01\x30\x39\x01\xbb" // 192.0.2.7:12345 to 203.0.113.1:443
	checksum  = "\x03\x00\x04\x00\x00\x00\x00"                     // to be filled in by withChecksum
)

var client6 = string(netip.MustParseAddr("2001:db8::7").AsSlice()) +
	string(netip.MustParseAddr("2001:db8::1").AsSlice()) + "\x30\x39\x01\xbb"

// header returns a header with a command, a family and what follows.
func header(command, family byte, rest string) string {
	b := append([]byte(signature), command, family)
	return string(binary.BigEndian.AppendUint16(b, uint16(len(rest)))) + rest
}

// withChecksum fills in the checksum that the header ends with.
func withChecksum(h string) string {
	sum := crc32.Checksum([]byte(h), crc32.MakeTable(crc32.Castagnoli))
	return string(binary.BigEndian.AppendUint32([]byte(h[:len(h)-4]), sum))
}

// TestProxyHeader parses headers.
func TestProxyHeader(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"IPv4", header(0x21, 0x11, client4), "192.0.2.7:12345"},
		{"IPv6", header(0x21, 0x21, client6), "[2001:db8::7]:12345"},
		{"IPv4 in IPv6", header(0x21, 0x21, strings.Repeat("\x00", 10)+"\xff\xff"+client4[:4]+client6[16:]),
			"192.0.2.7:12345"},
		{"LOCAL", header(0x20, 0x00, ""), "peer"},
		{"LOCAL with addresses", header(0x20, 0x11, client4), "peer"},
		{"LOCAL with another family", header(0x20, 0x77, "garbage"), "peer"},
		{"unspecified", header(0x21, 0x00, "garbage"), "peer"},
		{"TLVs", header(0x21, 0x11, client4+"\x01\x00\x02h2\x04\x00\x00"), "192.0.2.7:12345"},
		{"largest", header(0x21, 0x11, client4+"\x04\x01\xf9"+strings.Repeat("x", 505)), "192.0.2.7:12345"},
		{"checksum", withChecksum(header(0x21, 0x11, client4+checksum)), "192.0.2.7:12345"},
		{"checksum after a TLV", withChecksum(header(0x21, 0x21, client6+"\x05\x00\x01i"+checksum)),
			"[2001:db8::7]:12345"},

		{"too large", header(0x21, 0x11, client4+"\x04\x01\xfa"+strings.Repeat("x", 506)), "at most 536"},
		{"wrong checksum", header(0x21, 0x11, client4+checksum), "the checksum is wrong"},
		{"short checksum", header(0x21, 0x11, client4+"\x03\x00\x00"), "the checksum is not 4 bytes, once"},
		{"two checksums", withChecksum(header(0x21, 0x11, client4+checksum+checksum)), "checksum"},
		{"half a TLV", header(0x21, 0x11, client4+"\x01\x00"), "a TLV is cut off"},
		{"a long TLV", header(0x21, 0x11, client4+"\x01\x00\x03h2"), "a TLV is cut off"},
		{"short addresses", header(0x21, 0x11, client4[:11]), "the addresses are cut off"},
		{"short IPv6", header(0x21, 0x21, client4), "the addresses are cut off"},
		{"UDP", header(0x21, 0x12, client4), "family and transport 0x12"},
		{"UNIX socket", header(0x21, 0x31, strings.Repeat("/", 216)), "family and transport 0x31"},
		{"unknown command", header(0x22, 0x11, client4), "command 0x22"},
		{"version 1", "PROXY TCP4 192.0.2.7 203.0.113.1 12345 443\r\n", "does not begin"},
		{"version 3", header(0x31, 0x11, client4), "command 0x31"},
		{"HTTP", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "does not begin"},
		{"half a header", header(0x21, 0x11, client4)[:20], "unexpected EOF"},
		{"half a signature", signature[:5], "unexpected EOF"},
		{"nothing", "", "no byte has arrived"},
	} {
		r := strings.NewReader(tt.in)
		got, err := conn.ReadProxyHeader(r)
		text := got.String()
		switch {
		case err != nil:
			text = err.Error()
		case !got.IsValid():
			text = "peer"
		}
		if !strings.Contains(text, tt.want) || err == nil && r.Len() > 0 {
			t.Errorf("%s: %s, %d bytes left; want %s", tt.name, text, r.Len(), tt.want)
		}
	}
}

// FuzzProxyHeader checks that a header that is accepted is the one that would be written for
// its client, and that no byte after it is read.
func FuzzProxyHeader(f *testing.F) {
	for _, in := range []string{header(0x21, 0x11, client4), header(0x21, 0x21, client6), header(0x20, 0, ""),
		withChecksum(header(0x21, 0x11, client4+"\x05\x00\x01i"+checksum)), "PROXY TCP4 "} {
		f.Add([]byte(in))
		f.Add([]byte(in + "GET / HTTP/1.1\r\n"))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		r := bytes.NewReader(in)
		client, err := conn.ReadProxyHeader(r)
		read := len(in) - r.Len()
		if read > 536 {
			t.Fatalf("%d bytes were read", read)
		}
		if err != nil {
			return
		}
		if want := 16 + int(binary.BigEndian.Uint16(in[14:])); read != want {
			t.Fatalf("%d bytes were read, want %d", read, want)
		}
		if !client.IsValid() {
			if in[12] != 0x20 && in[13] != 0 {
				t.Fatalf("% x names no client", in[:read])
			}
			return
		}
		source := client.Addr().AsSlice()
		at := 16 + 8
		if in[13] == 0x21 {
			at, source = 16+32, netip.AddrFrom16(client.Addr().As16()).AsSlice()
		}
		if in[12] != 0x21 || !bytes.HasPrefix(in[16:], source) || binary.BigEndian.Uint16(in[at:]) != client.Port() {
			t.Fatalf("% x: %v", in[:read], client)
		}
	})
}

// proxiedConfig returns the configuration of a server behind proxies at addresses of a network,
// which tells clients their address.
func proxiedConfig(proxies string) conn.Config {
	cfg := testConfig()
	cfg.ProxyProtocol = []netip.Prefix{netip.MustParsePrefix(proxies)}
	cfg.Handler = func(ctx *fasthttp.RequestCtx) { ctx.SetBodyString(ctx.RemoteAddr().String()) }
	return cfg
}

// dialProxied opens a connection that begins with a header, over TLS if the server speaks it.
func (s *testServer) dialProxied(head, proto string) net.Conn {
	s.t.Helper()
	nc, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { nc.Close() })
	if err := nc.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		s.t.Fatal(err)
	}
	if _, err := io.WriteString(nc, head); err != nil {
		s.t.Fatal(err)
	}
	if s.tls == nil {
		return nc
	}
	cfg := s.tls.Clone()
	cfg.NextProtos = []string{proto}
	return tls.Client(nc, cfg)
}

// whoAmI asks the server for the address of the client; "" if the connection ends.
func whoAmI(nc net.Conn, proto string) string {
	t := &http.Transport{Protocols: new(http.Protocols),
		DialContext: func(context.Context, string, string) (net.Conn, error) { return nc, nil },
		DialTLSContext: func(context.Context, string, string) (net.Conn, error) {
			return nc, nc.(*tls.Conn).Handshake()
		}}
	defer t.CloseIdleConnections()
	address := "http://" + testHost
	_, secure := nc.(*tls.Conn)
	t.Protocols.SetHTTP1(proto == "h1")
	t.Protocols.SetUnencryptedHTTP2(proto == "h2" && !secure)
	t.Protocols.SetHTTP2(proto == "h2" && secure)
	if secure {
		address = "https://" + testHost
	}
	resp, err := (&http.Client{Transport: t}).Get(address + "/")
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 {
		return fmt.Sprint(resp.StatusCode)
	}
	return string(body)
}

// TestProxyProtocol connects as a proxy and as another peer, over each protocol.
func TestProxyProtocol(t *testing.T) {
	for _, secure := range []bool{false, true} {
		for _, proto := range []string{"h1", "h2"} {
			t.Run(fmt.Sprintf("%s tls=%v", proto, secure), func(t *testing.T) {
				cfg := proxiedConfig("127.0.0.0/8")
				var bad atomic.Int64
				cfg.OnBadProxyHeader = func(netip.Addr, error) { bad.Add(1) }
				s := startServer(t, cfg, secure)
				alpn := map[string]string{"h1": "http/1.1", "h2": "h2"}[proto]
				for head, want := range map[string]string{
					header(0x21, 0x11, client4):                        "192.0.2.7:12345",
					header(0x21, 0x21, client6):                        "[2001:db8::7]:12345",
					withChecksum(header(0x21, 0x11, client4+checksum)): "192.0.2.7:12345",
					header(0x20, 0x00, ""):                             "127.0.0.1:",
					header(0x21, 0x00, ""):                             "127.0.0.1:",
					"":                                                 "closed",
					"PROXY TCP4 192.0.2.7 203.0.113.1 12345 443\r\n":     "closed",
					header(0x21, 0x11, client4[:8]):                      "closed",
					header(0x21, 0x11, client4+checksum):                 "closed",
					header(0x21, 0x12, client4):                          "closed",
					header(0x21, 0x11, client4+strings.Repeat("x", 600)): "closed",
				} {
					got := whoAmI(s.dialProxied(head, alpn), proto)
					if want == "closed" && got != "" || want != "closed" && !strings.HasPrefix(got, want) {
						t.Errorf("header %q: %q, want %s", head, got, want)
					}
				}
				if n := bad.Load(); n != 6 {
					t.Errorf("%d bad headers were counted, want 6", n)
				}
				other := startServer(t, proxiedConfig("192.0.2.0/24"), secure)
				if got := whoAmI(other.dialProxied("", alpn), proto); !strings.HasPrefix(got, "127.0.0.1:") {
					t.Errorf("another peer without a header: %q", got)
				}
				got := whoAmI(other.dialProxied(header(0x21, 0x11, client4), alpn), proto)
				if got != "" && got != "400" {
					t.Errorf("another peer with a header: %q, want an error", got)
				}
			})
		}
	}
}

// TestProxyProtocolLimits checks that connections count for the network of the client, not
// for that of the proxy.
func TestProxyProtocolLimits(t *testing.T) {
	cfg := proxiedConfig("127.0.0.0/8")
	cfg.NetworkConns = 1
	s := startServer(t, cfg, false)
	ask := func(nc net.Conn) (int, string) {
		_, _ = io.WriteString(nc, "GET / HTTP/1.1\r\nHost: x\r\n\r\n") // a rejected connection may be closed
		resp, err := http.ReadResponse(bufio.NewReader(nc), nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(body)
	}
	first := s.dialProxied(header(0x21, 0x11, client4), "")
	if status, body := ask(first); status != 200 || body != "192.0.2.7:12345" {
		t.Fatalf("the first connection: %d %s", status, body)
	}
	if status, _ := ask(s.dialProxied(header(0x21, 0x11, client4), "")); status != 503 {
		t.Errorf("a second connection of the client: %d, want 503", status)
	}
	if status, _ := ask(s.dialProxied(header(0x21, 0x21, client6), "")); status != 200 {
		t.Errorf("a connection of another client: %d, want 200", status)
	}
	first.Close()
	for s.Open() > 1 { // the server has not seen the end yet
		time.Sleep(time.Millisecond)
	}
	if status, _ := ask(s.dialProxied(header(0x21, 0x11, client4), "")); status != 200 {
		t.Errorf("after the first connection has ended: %d, want 200", status)
	}
}

// TestProxyProtocolTimeout keeps half a header back: the connection ends after its time.
func TestProxyProtocolTimeout(t *testing.T) {
	for _, head := range []string{"", signature[:7], header(0x21, 0x11, client4)[:20]} {
		synctest.Test(t, func(t *testing.T) {
			s := newTLSServer(t, func(a netip.Addr) netip.Addr { return a })
			cfg := proxiedConfig("192.0.2.0/24")
			s.Server = conn.New(cfg)
			c := s.connect("192.0.2.1")
			defer c.Close()
			if _, err := io.WriteString(c, head); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5*time.Second*timeout.Scale - 100*time.Millisecond)
			if !isOpen(c) {
				t.Error("the connection ended early")
			}
			_ = c.SetReadDeadline(time.Time{})
			time.Sleep(200 * time.Millisecond)
			synctest.Wait()
			if isOpen(c) {
				t.Errorf("with %q the connection is still open after its time", head)
			}
			s.Drain(0)
		})
	}
}

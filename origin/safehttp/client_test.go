package safehttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/safehttp"
	"golang.org/x/net/dns/dnsmessage"
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// serve starts a server on loopback that sends a fixed text.
func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	if h == nil {
		h = func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello") }
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func get(t *testing.T, c *safehttp.Client, rawURL string) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, rawURL, nil)
	if err != nil {
		t.Fatalf("request for %q: %v", rawURL, err)
	}
	resp, err := c.Do(req)
	if err == nil {
		t.Cleanup(func() { resp.Body.Close() })
	}
	t.Cleanup(c.CloseIdle)
	return resp, err
}

// specialPurpose has one address of each network that is not part of the public internet
// (IANA special-purpose registries), and the metadata addresses of cloud providers.
var specialPurpose = []struct{ name, addr string }{
	{"this host", "0.0.0.0"},
	{"this network", "0.1.2.3"},
	{"private 10", "10.0.0.1"},
	{"shared, carrier NAT", "100.64.0.1"},
	{"metadata at Alibaba", "100.100.100.200"},
	{"loopback", "127.0.0.1"},
	{"loopback, far end", "127.255.255.254"},
	{"link-local", "169.254.1.1"},
	{"metadata at most clouds", "169.254.169.254"},
	{"private 172.16", "172.16.0.1"},
	{"protocol assignments", "192.0.0.1"},
	{"metadata at Oracle", "192.0.0.192"},
	{"documentation 1", "192.0.2.1"},
	{"6to4 relay", "192.88.99.1"},
	{"private 192.168", "192.168.0.1"},
	{"benchmarking", "198.18.0.1"},
	{"documentation 2", "198.51.100.1"},
	{"documentation 3", "203.0.113.1"},
	{"multicast", "224.0.0.1"},
	{"class E", "240.0.0.1"},
	{"broadcast", "255.255.255.255"},
	{"host agent at Azure", "168.63.129.16"},
	{"unspecified v6", "::"},
	{"loopback v6", "::1"},
	{"IPv4-compatible", "::127.0.0.1"},
	{"IPv4-mapped", "::ffff:127.0.0.1"},
	{"NAT64", "64:ff9b::7f00:1"},
	{"NAT64, local", "64:ff9b:1::1"},
	{"discard only", "100::1"},
	{"Teredo", "2001::1"},
	{"benchmarking v6", "2001:2::1"},
	{"documentation v6", "2001:db8::1"},
	{"6to4", "2002:7f00:1::"},
	{"documentation v6, new", "3fff::1"},
	{"segment routing", "5f00::1"},
	{"unique local", "fd00::1"},
	{"metadata at AWS, v6", "fd00:ec2::254"},
	{"link-local v6", "fe80::1"},
	{"site-local", "fec0::1"},
	{"multicast v6", "ff02::1"},
}

// TestSpecialPurposeByName resolves a name to each address, so that the check at dial time
// rejects it and not the validation of the URL.
func TestSpecialPurposeByName(t *testing.T) {
	for _, tt := range specialPurpose {
		t.Run(tt.name, func(t *testing.T) {
			ip := netip.MustParseAddr(tt.addr)
			dns := startDNS(t, func() netip.Addr { return ip })
			c := safehttp.New(safehttp.Config{Resolver: dns})
			wantRefused(t, c, "http://brand.example/")
			if err := c.CheckURL(t.Context(), "http://brand.example/"); !errors.Is(err, safehttp.ErrNotAllowed) {
				t.Errorf("CheckURL of a name at %s: %v, want %v", tt.addr, err, safehttp.ErrNotAllowed)
			}
		})
	}
}

// wantRefused requests rawURL and requires an error that reveals nothing.
func wantRefused(t *testing.T, c *safehttp.Client, rawURL string) {
	t.Helper()
	resp, err := get(t, c, rawURL)
	if !errors.Is(err, safehttp.ErrNotAllowed) {
		t.Errorf("GET %s: %v, %v; want %v", rawURL, resp, err, safehttp.ErrNotAllowed)
		return
	}
	if got := fieldmark.AsError(err); got.Code != fieldmark.CodeInvalidParameter ||
		err.Error() != "invalid_parameter: address not allowed" {
		t.Errorf("GET %s: %q with code %s; want a text without an address", rawURL, err, got.Code)
	}
}

func TestLiteralsAndSpellings(t *testing.T) {
	hosts := []string{
		"127.1", "127.0.1", "2130706433", "017700000001", "0177.0.0.1", "0x7f.0.0.1", "0x7f000001", "127.0.0.1.",
		"[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[fe80::1%25lo]", "[::]", "0", "localhost", "LOCALHOST.",
		"a.localhost",
		"8.8.8.8", // public, but a site must be named by a domain
	}
	for _, tt := range specialPurpose {
		if ip := netip.MustParseAddr(tt.addr); ip.Is4() {
			hosts = append(hosts, tt.addr)
		} else {
			hosts = append(hosts, "["+tt.addr+"]")
		}
	}
	c := safehttp.New(safehttp.Config{})
	for _, h := range hosts {
		wantRefused(t, c, "http://"+h+"/")
		if err := c.CheckURL(t.Context(), "http://"+h+"/"); !errors.Is(err, safehttp.ErrNotAllowed) {
			t.Errorf("CheckURL http://%s/: %v, want %v", h, err, safehttp.ErrNotAllowed)
		}
	}
}

func TestRefusesOddURLs(t *testing.T) {
	c := safehttp.New(safehttp.Config{Allow: loopback})
	for _, raw := range []string{
		"ftp://127.0.0.1/", "file:///etc/passwd", "gopher://127.0.0.1/", "http://user@127.0.0.1/",
		"https://user:secret@127.0.0.1/",
		"http:///path", "http:127.0.0.1", "//127.0.0.1/", "", "http://a b/", "http://127.0.0.1/" + strings.Repeat("a",
			3000),
	} {
		if err := c.CheckURL(t.Context(), raw); !fieldmark.IsCode(err, fieldmark.CodeInvalidParameter) {
			t.Errorf("CheckURL(%.40q) = %v, want code %s", raw, err, fieldmark.CodeInvalidParameter)
		}
		u, err := url.Parse(raw)
		if err != nil || len(raw) > 2048 {
			continue
		}
		if resp, err := c.Do(&http.Request{Method: http.MethodGet, URL: u,
			Header: http.Header{}}); !fieldmark.IsCode(err, fieldmark.CodeInvalidParameter) {
			t.Errorf("GET %q = %v, %v; want code %s", raw, resp, err, fieldmark.CodeInvalidParameter)
		}
	}
}

func TestAllowOpensItsNetworkOnly(t *testing.T) {
	s := serve(t, nil)
	port := strings.TrimPrefix(s.URL, "http://127.0.0.1")
	c := safehttp.New(safehttp.Config{Allow: loopback})
	for _, host := range []string{"127.0.0.1", "localhost", "brand.localhost", "Brand.LOCALHOST."} {
		resp, err := get(t, c, "http://"+host+port+"/")
		if err != nil {
			t.Errorf("GET of %s with loopback open: %v", host, err)
			continue
		}
		if body, _ := io.ReadAll(resp.Body); string(body) != "hello" {
			t.Errorf("GET of %s = %q, want hello", host, body)
		}
		if err := c.CheckURL(t.Context(), "http://"+host+port+"/"); err != nil {
			t.Errorf("CheckURL of %s with loopback open: %v", host, err)
		}
	}
	for _, host := range []string{"10.0.0.1", "169.254.169.254", "192.168.0.1", "[fd00::1]", "[::ffff:127.0.0.1]",
		"168.63.129.16"} {
		wantRefused(t, c, "http://"+host+port+"/")
	}
}

func TestPorts(t *testing.T) {
	dns := startDNS(t, func() netip.Addr { return netip.MustParseAddr("93.184.216.34") })
	c := safehttp.New(safehttp.Config{Resolver: dns, Allow: loopback})
	for _, port := range []string{"22", "25", "6379", "8080"} {
		wantRefused(t, c, "http://brand.example:"+port+"/")
	}
	for _, raw := range []string{"http://brand.example/", "https://brand.example/"} {
		if err := c.CheckURL(t.Context(), raw); err != nil {
			t.Errorf("CheckURL(%q) = %v, want nil", raw, err)
		}
	}
	c = safehttp.New(safehttp.Config{Resolver: dns, Ports: []uint16{8443}})
	if err := c.CheckURL(t.Context(), "https://brand.example:8443/"); err != nil {
		t.Errorf("CheckURL of an opened port: %v", err)
	}
	if err := c.CheckURL(t.Context(), "https://brand.example/"); !errors.Is(err, safehttp.ErrNotAllowed) {
		t.Errorf("CheckURL of port 443 with only 8443 open: %v", err)
	}
}

func TestRedirectIsAnAnswer(t *testing.T) {
	var inside atomic.Int32
	inner := serve(t, func(w http.ResponseWriter, r *http.Request) { inside.Add(1) })
	outer := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://169.254.169.254/latest/", http.StatusFound)
	})
	c := safehttp.New(safehttp.Config{Allow: loopback})
	resp, err := get(t, c, outer.URL)
	if err != nil || resp.StatusCode != http.StatusFound {
		t.Fatalf("GET of a redirect = %v, %v; want the 302 itself", resp, err)
	}
	wantRefused(t, c, resp.Header.Get("Location"))

	moved := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, inner.URL, http.StatusFound) })
	if resp, err := get(t, c, moved.URL); err != nil || resp.StatusCode != http.StatusFound || inside.Load() != 0 {
		t.Errorf("redirect to another server = %v, %v, followed %d times; want 302, not followed", resp, err,
			inside.Load())
	}
}

// TestRebinding resolves a name to a public address on the first lookup and to an internal
// address at dial time.
func TestRebinding(t *testing.T) {
	var reached atomic.Bool
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { reached.Store(true) })
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(s.URL, "http://"))
	var rebound atomic.Bool
	dns := startDNS(t, func() netip.Addr {
		if !rebound.Load() {
			return netip.MustParseAddr("93.184.216.34")
		}
		return netip.MustParseAddr("127.0.0.1")
	})
	c := safehttp.New(safehttp.Config{Resolver: dns, Ports: []uint16{80, 443, mustPort(t, port)}})
	raw := "http://brand.example:" + port + "/"
	if err := c.CheckURL(t.Context(), raw); err != nil {
		t.Fatalf("CheckURL while the name is public: %v", err)
	}
	rebound.Store(true)
	wantRefused(t, c, raw)
	if reached.Load() {
		t.Errorf("a rebound name reached loopback")
	}
}

func TestEnvironmentProxyIgnored(t *testing.T) {
	var proxied atomic.Int32
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) { proxied.Add(1) })
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	t.Setenv("NO_PROXY", "")
	s := serve(t, nil)
	target := strings.TrimPrefix(s.URL, "http://")
	c := safehttp.New(safehttp.Config{Allow: loopback, ConnectTo: map[string]string{"brand.example:80": target}})
	resp, err := get(t, c, "http://brand.example/")
	if err != nil {
		t.Fatalf("GET with a proxy in the environment: %v", err)
	}
	if body, _ := io.ReadAll(resp.Body); string(body) != "hello" || proxied.Load() != 0 {
		t.Errorf("GET with a proxy in the environment = %q, proxy asked %d times; want hello, 0", body, proxied.Load())
	}
}

func TestConnectTo(t *testing.T) {
	var host atomic.Value
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { host.Store(r.Host) })
	target := strings.TrimPrefix(s.URL, "http://")
	c := safehttp.New(safehttp.Config{Allow: loopback, ConnectTo: map[string]string{"brand.example:80": target}})
	if _, err := get(t, c, "http://Brand.example/"); err != nil || host.Load() != "Brand.example" {
		t.Errorf("GET through ConnectTo: %v, Host %v; want nil, Brand.example", err, host.Load())
	}
	if err := c.CheckURL(t.Context(), "http://brand.example/"); err != nil {
		t.Errorf("CheckURL through ConnectTo: %v", err)
	}
	// The guard checks the dialed address, not the requested name.
	wantRefused(t, safehttp.New(safehttp.Config{ConnectTo: map[string]string{"brand.example:80": target}}),
		"http://brand.example/")
}

// Targets permits the address in ConnectTo only for its name and its port: not for a
// request to the address itself, to another port or to another host.
func TestConnectToTargets(t *testing.T) {
	s, other := serve(t, nil), serve(t, nil)
	target, port := strings.TrimPrefix(s.URL, "http://"), s.URL[strings.LastIndexByte(s.URL, ':'):]
	c := safehttp.New(safehttp.Config{Targets: true, ConnectTo: map[string]string{"brand.example:80": target,
		"named.example:80": "localhost" + port}})
	for _, u := range []string{"http://brand.example/", "http://named.example/"} {
		if _, err := get(t, c, u); err != nil {
			t.Errorf("GET %s: %v, want nil", u, err)
		}
		if err := c.CheckURL(t.Context(), u); err != nil {
			t.Errorf("CheckURL %s: %v, want nil", u, err)
		}
	}
	for _, u := range []string{s.URL, other.URL, "http://localhost" + port, "http://brand.localhost/"} {
		wantRefused(t, c, u)
	}
}

func TestUserAgentAndEncoding(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		json.NewEncoder(w).Encode([]string{r.UserAgent(), r.Header.Get("Accept-Encoding")})
	})
	ask := func(c *safehttp.Client, own string) []string {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
		if own != "" {
			req.Header.Set("User-Agent", own)
		}
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var got []string
		if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	for _, tt := range []struct{ config, own, want string }{
		{"", "", safehttp.DefaultUserAgent}, {"A/1", "", "A/1"}, {"A/1", "B/2", "B/2"},
	} {
		got := ask(safehttp.New(safehttp.Config{Allow: loopback, UserAgent: tt.config}), tt.own)
		if got[0] != tt.want || got[1] != "" {
			t.Errorf("config %q, request %q: sent User-Agent %q, Accept-Encoding %q; want %q and none", tt.config,
				tt.own, got[0], got[1], tt.want)
		}
	}
}

func TestTimeoutsAndHeaderBound(t *testing.T) {
	stop := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wide" {
			w.Header().Set("X-Wide", strings.Repeat("a", 64<<10))
			return
		}
		<-stop
	})
	defer close(stop)
	c := safehttp.New(safehttp.Config{Allow: loopback, Timeout: 50 * time.Millisecond})
	if resp, err := get(t, c, s.URL); err == nil {
		t.Errorf("GET of a server that never answers = %v, want a timeout", resp.Status)
	}
	if resp, err := get(t, c, s.URL+"/wide"); err == nil {
		t.Errorf("GET with 64 KiB of headers = %v, want an error", resp.Status)
	}
}

func mustPort(t *testing.T, s string) uint16 {
	ap, err := netip.ParseAddrPort("127.0.0.1:" + s)
	if err != nil {
		t.Fatal(err)
	}
	return ap.Port()
}

// startDNS responds to every address query with the result of answer.
func startDNS(t *testing.T, answer func() netip.Addr) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		for buf := make([]byte, 1500); ; {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) == 0 {
				continue
			}
			q := m.Questions[0]
			ip := answer()
			m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
			h := dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET}
			if ip.Is4() && q.Type == dnsmessage.TypeA {
				m.Answers = []dnsmessage.Resource{{Header: h, Body: &dnsmessage.AResource{A: ip.As4()}}}
			} else if ip.Is6() && q.Type == dnsmessage.TypeAAAA {
				m.Answers = []dnsmessage.Resource{{Header: h, Body: &dnsmessage.AAAAResource{AAAA: ip.As16()}}}
			}
			if out, err := m.Pack(); err == nil {
				conn.WriteTo(out, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp4", conn.LocalAddr().String())
	}}
}

// TestSign: fields that Sign adds reach the server and stay out of the caller's request; a
// refused address is neither signed nor asked.
func TestSign(t *testing.T) {
	got := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got <- r.Header.Get("Signature") + " " + r.UserAgent()
	}))
	t.Cleanup(server.Close)
	signed := 0
	client := safehttp.New(safehttp.Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Sign: func(r *http.Request) {
			signed++
			r.Header.Set("Signature", "fm=:AA==:")
		}})
	t.Cleanup(client.CloseIdle)
	send := func(url string) error {
		req, err := http.NewRequest(http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		if len(req.Header) != 0 {
			t.Errorf("the request of the caller has %v", req.Header)
		}
		return err
	}
	if err := send(server.URL); err != nil {
		t.Fatal(err)
	}
	if sent := <-got; sent != "fm=:AA==: Fieldmark/1.0" {
		t.Errorf("the server got %q", sent)
	}
	if err := send("http://10.0.0.1/"); !errors.Is(err, safehttp.ErrNotAllowed) || signed != 1 {
		t.Errorf("a private address: %v, signed %d times; want ErrNotAllowed, once", err, signed)
	}
}

package sitecheck_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin/audit"
	"github.com/fieldmark/fieldmark/origin/safehttp"
	"github.com/fieldmark/fieldmark/origin/sitecheck"
	"github.com/fieldmark/fieldmark/origin/store"
)

// start runs a service that audits with a client until the test ends.
func start(t *testing.T, s *store.Store, client safehttp.Config, edit func(*sitecheck.Config)) *sitecheck.Service {
	t.Helper()
	client.Targets = true
	auditor, err := audit.New(audit.Config{HTTP: safehttp.New(client), Delay: -1,
		MaxRequests: sitecheck.MaxRequests, Timeout: sitecheck.AuditTimeout})
	if err != nil {
		t.Fatal(err)
	}
	service := newService(s, func(c *sitecheck.Config) { c.Auditor = auditor; edit(c) })
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- service.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return service
}

// outcome requests a check from a network and waits for its end.
func outcome(t *testing.T, service *sitecheck.Service, client netip.Addr, url string) fieldmark.SiteCheck {
	t.Helper()
	c, _, err := service.Request(t.Context(), client, fieldmark.SiteCheckRequest{URL: url})
	for err == nil && !c.State.Ended() {
		c, err = service.Get(t.Context(), c.ID, time.Second)
	}
	if err != nil {
		t.Fatalf("%s: %v", url, err)
	}
	return c
}

// TestOverloaded: while a thousand checks wait, a further one is refused and spends nothing;
// one that waits already is returned.
func TestOverloaded(t *testing.T) {
	s := storetest.Open(t, storetest.New(t))
	now := fieldmark.At(time.Now())
	site := func(i int) string { return fmt.Sprintf("https://site-%d.example/", i) }
	add := func(from, to int) {
		t.Helper()
		if err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			for i := from; i < to; i++ {
				if err := tx.AddSiteCheck(ctx, fieldmark.SiteCheck{ID: fieldmark.NewRandomID(fieldmark.PrefixCheck),
					State: fieldmark.SiteCheckQueued, URL: site(i), Host: fmt.Sprintf("site-%d.example", i),
					CreatedAt: now, ExpiresAt: fieldmark.At(now.Std().Add(time.Hour))}); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	add(0, 999)
	service, client := newService(s, plain), netip.MustParseAddr("192.0.2.1")
	request := func(url string) (fieldmark.SiteCheck, bool, error) {
		return service.Request(t.Context(), client, fieldmark.SiteCheckRequest{URL: url})
	}
	if c, _, err := request("https://last.example/"); err != nil || c.Position != 1000 {
		t.Errorf("the thousandth check: position %d, %v", c.Position, err)
	}
	for range 5 { // more than the network may request
		_, _, err := request("https://next.example/")
		if !fieldmark.IsCode(err, fieldmark.CodeOverloaded) || fieldmark.AsError(err).RetryAfter <= 0 {
			t.Errorf("a check in a full queue: %v, want overloaded with a time", err)
		}
	}
	if _, existing, err := request(site(7)); !existing || err != nil {
		t.Errorf("a check that waits: existing %t, %v", existing, err)
	}
}

// TestRebinding checks a name that belongs to a public address when it is looked up first and
// to this machine when it is dialled, and one that belongs to both at once.
func TestRebinding(t *testing.T) {
	private, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var connected atomic.Int64
	go func() {
		for {
			conn, err := private.Accept()
			if err != nil {
				return
			}
			connected.Add(1)
			conn.Close()
		}
	}()
	defer private.Close()
	_, port, _ := net.SplitHostPort(private.Addr().String())
	loopback := netip.MustParseAddr("127.0.0.1")
	var rebound atomic.Bool
	client := safehttp.Config{Resolver: startDNS(t, func(name string) []netip.Addr {
		if strings.HasPrefix(name, "rebinds.") && !rebound.Load() {
			return []netip.Addr{netip.MustParseAddr("93.184.216.34")} // public, and never dialled here
		}
		return []netip.Addr{loopback}
	})}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	client.Ports = []uint16{80, 443, uint16(n)}
	s := storetest.Open(t, storetest.New(t))
	service := start(t, s, client, func(c *sitecheck.Config) {
		c.Sites = []string{"rebinds.example:" + port, "inside.example:" + port} // whose ports may be checked
	})
	first := safehttp.New(client)
	if err := first.CheckURL(t.Context(), "http://rebinds.example:"+port+"/"); err != nil {
		t.Fatalf("the first answer is public: %v", err)
	}
	rebound.Store(true)
	for i, host := range []string{"rebinds", "inside"} {
		c := outcome(t, service, netip.AddrFrom4([4]byte{10, 0, byte(i), 1}), "http://"+host+".example:"+port+"/")
		if c.State != fieldmark.SiteCheckFailed || c.Code != fieldmark.CodeValidationFailed ||
			c.Reason != "address not allowed" {
			t.Errorf("%s: %+v", host, c)
		}
	}
	if n := connected.Load(); n != 0 {
		t.Errorf("%d connections reached this machine", n)
	}
}

// startDNS runs a server that answers with the addresses of a name.
func startDNS(t *testing.T, answer func(name string) []netip.Addr) *net.Resolver {
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
			m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
			for _, ip := range answer(q.Name.String()) {
				if q.Type == dnsmessage.TypeA {
					m.Answers = append(m.Answers, dnsmessage.Resource{Body: &dnsmessage.AResource{A: ip.As4()},
						Header: dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET}})
				}
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

// TestOneNetworkWithManyHosts: checks of many domains on one server share the budget of its
// network, and a refusal states that.
func TestOneNetworkWithManyHosts(t *testing.T) {
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Cf-Mitigated", "challenge")
		w.WriteHeader(http.StatusForbidden)
	}))
	defer server.Close()
	const burst, interval = 30, time.Hour / 31 // uses at once, and the time in which one comes back
	connect := map[string]string{}
	for i := range 2 * burst {
		connect[fmt.Sprintf("www.shop-%d.example:80", i)] = strings.TrimPrefix(server.URL, "http://")
	}
	service := start(t, storetest.Open(t, storetest.New(t)), safehttp.Config{ConnectTo: connect}, plain)
	for i, began := 0, time.Now(); ; i++ {
		if i == len(connect) {
			t.Fatalf("none of %d checks was refused", i)
		}
		c := outcome(t, service, netip.AddrFrom4([4]byte{10, 0, byte(i), 1}),
			fmt.Sprintf("http://www.shop-%d.example/", i))
		if c.State == fieldmark.SiteCheckRefused && c.By == fieldmark.RefusedByWall {
			continue
		}
		if c.State != fieldmark.SiteCheckFailed || c.Code != fieldmark.CodeHostBudget ||
			!strings.Contains(c.Reason, "this network may be checked 60 times an hour") || c.Requests > 1 {
			t.Errorf("check %d: %+v, want a refusal after one request", i, c)
		}
		if most := burst + int(time.Since(began)/interval); i < burst || i > most {
			t.Errorf("%d checks, want %d to %d", i, burst, most)
		}
		if n := requests.Load(); n != int64(2*i+1) {
			t.Errorf("%d requests to the server, want two for each check but the last", n)
		}
		return
	}
}

// TestUnwantedChecks: a host that does not want checks is not checked under another name
// either, which redirects there.
func TestUnwantedChecks(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := strings.Cut(r.Host, ".")
		switch {
		case host == "denied" || host == "owned":
			asked.Add(1)
		case r.URL.Path == "/robots.txt":
			http.NotFound(w, r)
		default:
			http.Redirect(w, r, "http://"+strings.TrimPrefix(host, "to-")+".example/", http.StatusFound)
		}
	}))
	defer server.Close()
	connect := map[string]string{}
	for _, host := range []string{"to-denied", "denied", "to-owned", "owned"} {
		connect[host+".example:80"] = strings.TrimPrefix(server.URL, "http://")
	}
	service := start(t, storetest.Open(t, storetest.New(t)), safehttp.Config{ConnectTo: connect},
		func(c *sitecheck.Config) {
			c.Deny = []string{"Denied.Example"}
			c.Wishes = func(_ context.Context, host string) (bool, error) { return host != "owned.example", nil }
		})
	for host, want := range map[string]fieldmark.SiteRefuser{"denied": fieldmark.RefusedByOperator,
		"to-denied": fieldmark.RefusedByOperator, "owned": fieldmark.RefusedByOwner,
		"to-owned": fieldmark.RefusedByOwner} {
		c := outcome(t, service, netip.AddrFrom4([4]byte{10, 0, byte(len(host)), 1}),
			"http://"+host+".example/")
		if c.State != fieldmark.SiteCheckRefused || c.By != want || !strings.Contains(c.Reason, ".example") {
			t.Errorf("%s: %+v, want a refusal by the %s", host, c, want)
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("hosts that do not want checks got %d requests", n)
	}
}

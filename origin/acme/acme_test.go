package acme_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	acmeclient "github.com/mholt/acmez/v3/acme"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/conn/certs"
	"github.com/fieldmark/fieldmark/internal/testkit/acmetest"
	"github.com/fieldmark/fieldmark/internal/testkit/logtest"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/acme"
	"github.com/fieldmark/fieldmark/origin/keyring"
	"github.com/fieldmark/fieldmark/origin/store"
)

func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }

const (
	name      = "marks.example"
	nodeToken = "node-token-of-the-tests-0123456789"
)

var appSecret = []byte(strings.Repeat("s", 32))

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fixture is a CA, a database and the listeners on which challenges are answered.
type fixture struct {
	t  *testing.T
	ca *acmetest.CA
	at store.Config
	db *store.Store

	log     *logtest.Recorder
	answers atomic.Pointer[acme.Service]      // of challenges; nil: none
	ports   atomic.Pointer[map[string]string] // addresses by port of the name; others refuse connections
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	w := &fixture{t: t, ca: acmetest.New(t, 90*acmetest.Day), at: storetest.New(t), log: logtest.New(t)}
	w.db = storetest.Open(t, w.at)
	w.ports.Store(&map[string]string{})
	return w
}

// dial connects to a port of the name.
func (w *fixture) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if to := (*w.ports.Load())[port]; to != "" && host == name {
		return new(net.Dialer).DialContext(ctx, network, to)
	}
	return nil, syscall.ECONNREFUSED
}

// answerTLS answers TLS-ALPN-01.
func (w *fixture) answerTLS() {
	s, err := certs.New(certs.Config{})
	must(w.t, err)
	must(w.t, s.Set(nil, name))
	s.Challenge = func(ctx context.Context, name string) (*tls.Certificate, error) {
		a, err := w.answers.Load().Challenge(ctx, "tls-alpn-01", name)
		if err != nil {
			return nil, err
		}
		return certs.ChallengeCertificate(name, a.KeyAuthorization)
	}
	go func() {
		for {
			c, err := w.ca.TLS.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_ = tls.Server(c, s.TLSConfig()).Handshake()
			}()
		}
	}()
}

// answerHTTP answers HTTP-01.
func (w *fixture) answerHTTP() {
	go http.Serve(w.ca.HTTP, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.URL.Path, "/.well-known/acme-challenge/")
		a, err := w.answers.Load().Challenge(r.Context(), "http-01", token)
		if err != nil {
			http.NotFound(rw, r)
			return
		}
		_, _ = io.WriteString(rw, a.KeyAuthorization)
	}))
}

// open opens an origin that orders certificates for names.
func (w *fixture) open(db *store.Store, client *http.Client, names ...string) *origin.Service {
	w.t.Helper()
	s, err := origin.New(origin.Config{Store: db, Secret: appSecret,
		Log: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Certificates: acme.Config{Names: names, Directory: w.ca.Directory, Email: "you@example.org", HTTP: client,
			Dial: w.dial}})
	must(w.t, err)
	must(w.t, s.Prepare(w.t.Context()))
	w.answers.Store(s.Certificates)
	return s
}

// start runs an origin until the returned function is called, or the test ends.
func (w *fixture) start(s *origin.Service) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Error(err)
		}
	})
	w.t.Cleanup(stop)
	return stop
}

// until waits for a condition.
func (w *fixture) until(what string, ok func() bool) {
	w.t.Helper()
	if !waittest.Poll(ok) {
		w.t.Fatalf("waited %v until %s; %+v", waittest.Limit, what, w.row())
	}
}

// row reads the row of the name.
func (w *fixture) row() store.Certificate {
	c, _ := w.db.Certificate(context.Background(), name)
	return c
}

// due makes the name due now, as time would.
func (w *fixture) due(change func(*store.Certificate)) {
	w.t.Helper()
	must(w.t, w.db.Write(w.t.Context(), func(ctx context.Context, tx *store.Tx) error {
		c, err := tx.Certificate(ctx, name)
		if err != nil {
			return err
		}
		c.DueAt = time.Now()
		if change != nil {
			change(&c)
		}
		_, err = tx.UpdateCertificate(ctx, c, "")
		return err
	}))
}

// serial returns the serial number of the certificate in use; "": none.
func (w *fixture) serial() string {
	pair, ok := w.pair()
	if !ok {
		return ""
	}
	return pair.Leaf.SerialNumber.String()
}

// pair returns the certificate as an edge gets it.
func (w *fixture) pair() (tls.Certificate, bool) {
	w.t.Helper()
	all, err := w.answers.Load().ForEdges(w.t.Context(), nodeToken)
	must(w.t, err)
	cipher, err := keyring.ForEdges(nodeToken)
	must(w.t, err)
	for _, c := range all.Certificates {
		if c.Name == name && c.Chain != "" {
			key, err := cipher.Open(name, c.Key)
			must(w.t, err)
			pair, err := tls.X509KeyPair([]byte(c.Chain), []byte(key))
			must(w.t, err)
			return pair, true
		}
	}
	return tls.Certificate{}, false
}

// wantOrders checks how many orders the CA got.
func (w *fixture) wantOrders(want int) {
	w.t.Helper()
	if got := w.ca.Orders(); got != want {
		w.t.Errorf("the CA got %d orders, want %d", got, want)
	}
}

// TestIssue orders the first certificate of a name by TLS-ALPN-01.
func TestIssue(t *testing.T) {
	w := newFixture(t)
	w.answerTLS()
	w.start(w.open(w.db, w.ca.Client, name))
	w.until("a certificate is issued", func() bool { return w.serial() != "" })
	w.wantOrders(1)
	pair, _ := w.pair()
	chain := x509.NewCertPool()
	for _, der := range pair.Certificate[1:] {
		c, err := x509.ParseCertificate(der)
		must(t, err)
		chain.AddCert(c)
	}
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: w.ca.Root, Intermediates: chain,
		DNSName: name}); err != nil {
		t.Error(err)
	}
	row := w.row()
	third := row.NotAfter.Sub(row.NotBefore) / 3
	if from, to := row.NotAfter.Add(-third-25*time.Hour), row.NotAfter.Add(-third+
		25*time.Hour); row.RenewAt.Before(from) ||
		row.RenewAt.After(to) {
		t.Errorf("renewal at %v, want it in the window of the CA, %v to %v", row.RenewAt, from, to)
	}
	if strings.Contains(row.Key, "PRIVATE") || row.Ordering || row.Failures != 0 {
		t.Errorf("the row of the certificate: %+v", row)
	}
	events, err := w.db.Events(t.Context(), 0, 1000, 1<<20)
	must(t, err)
	if last := events[len(events)-1]; last.Type != fieldmark.EventCertificateChanged {
		t.Errorf("the last event is %s", last.Type)
	}
	if _, err := w.answers.Load().Challenge(t.Context(), "tls-alpn-01", name); !fieldmark.IsCode(err,
		fieldmark.CodeNotFound) {
		t.Errorf("the challenge is still answered: %v", err)
	}
}

// TestHTTP01 lets the validation by TLS-ALPN-01 fail, and that by HTTP-01 succeed.
func TestHTTP01(t *testing.T) {
	w := newFixture(t)
	w.answerHTTP()
	w.ports.Store(&map[string]string{"80": w.ca.HTTP.Addr().String()})
	must(t, w.ca.TLS.Close())
	w.start(w.open(w.db, w.ca.Client, name))
	w.until("the first order fails", func() bool { return w.row().Failures == 1 })
	row := w.row()
	if row.Ordering || !strings.Contains(row.LastError, "could not verify the name") ||
		row.DueAt.After(time.Now().Add(2*time.Minute)) {
		t.Errorf("after the failure: %+v", row)
	}
	w.due(nil)
	w.until("a certificate is issued", func() bool { return w.serial() != "" })
	w.wantOrders(2)
}

// ari answers questions about renewals with a window.
func (w *fixture) ari(start, end time.Time) {
	w.ca.Intercept(func(rw http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, "/renewalInfo/") {
			return false
		}
		rw.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(rw, `{"suggestedWindow":{"start":%q,"end":%q}}`, start.Format(time.RFC3339),
			end.Format(time.RFC3339))
		return true
	})
}

// TestRenewal moves the window of the CA: the certificate is renewed when it has come, and the
// order describes what it replaces.
func TestRenewal(t *testing.T) {
	w := newFixture(t)
	w.answerTLS()
	w.start(w.open(w.db, w.ca.Client, name))
	w.until("a certificate is issued", func() bool { return w.serial() != "" })
	first := w.serial()
	start := time.Now().Add(24 * time.Hour).Truncate(time.Second)
	w.ari(start, start.Add(time.Hour))
	w.due(nil)
	w.until("the renewal is planned within the new window", func() bool {
		at := w.row().RenewAt
		return !at.Before(start) && !at.After(start.Add(time.Hour))
	})
	if row := w.row(); row.DueAt.After(time.Now().Add(6*time.Hour+time.Minute)) || w.serial() != first {
		t.Errorf("the CA is asked again at %v, certificate renewed: %v", row.DueAt, w.serial() != first)
	}
	var replaces atomic.Value
	w.ca.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if acmetest.IsNewOrder(r) {
			replaces.CompareAndSwap(nil, orderOf(t, r).Replaces)
		}
		return false
	})
	leaf, _ := w.pair()
	id, err := acmeclient.ARIUniqueIdentifier(leaf.Leaf)
	must(t, err)
	w.due(func(c *store.Certificate) { c.RenewAt = time.Now() })
	w.until("the certificate is renewed", func() bool { return w.serial() != first })
	w.wantOrders(2)
	if replaces.Load() != id {
		t.Errorf("the order replaces %v, want %s", replaces.Load(), id)
	}
	second, _ := w.pair()
	if leaf.PrivateKey.(*ecdsa.PrivateKey).Equal(second.PrivateKey) {
		t.Error("the renewed certificate has the same key")
	}
}

// TestRenewalOfUnknownCertificate: a CA that does not find the certificate to replace, and
// reports it by another error, still gets an order.
func TestRenewalOfUnknownCertificate(t *testing.T) {
	w := newFixture(t)
	w.answerTLS()
	w.start(w.open(w.db, w.ca.Client, name))
	w.until("a certificate is issued", func() bool { return w.serial() != "" })
	first := w.serial()
	w.ca.Intercept(func(rw http.ResponseWriter, r *http.Request) bool {
		if !acmetest.IsNewOrder(r) || orderOf(t, r).Replaces == "" {
			return false
		}
		rw.Header().Set("Content-Type", "application/problem+json")
		rw.WriteHeader(http.StatusForbidden)
		fmt.Fprint(rw, `{"type":"urn:ietf:params:acme:error:serverInternal","detail":"no such certificate"}`)
		return true
	})
	w.due(func(c *store.Certificate) { c.RenewAt = time.Now() })
	w.until("the certificate is renewed", func() bool { return w.serial() != first })
}

// orderOf reads the order in a request and restores its body.
func orderOf(t *testing.T, r *http.Request) (o acmeclient.Order) {
	t.Helper()
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	r.Body = io.NopCloser(bytes.NewReader(raw))
	var signed struct{ Payload string }
	if err := json.Unmarshal(raw, &signed); err != nil {
		t.Error(err)
	}
	payload, err := base64.RawURLEncoding.DecodeString(signed.Payload)
	if err == nil {
		err = json.Unmarshal(payload, &o)
	}
	if err != nil {
		t.Error(err)
	}
	return o
}

// TestRevoked revokes a certificate: the CA then advises to renew it at once.
func TestRevoked(t *testing.T) {
	w := newFixture(t)
	w.answerTLS()
	w.start(w.open(w.db, w.ca.Client, name))
	w.until("a certificate is issued", func() bool { return w.serial() != "" })
	first, _ := w.pair()
	client := &acmeclient.Client{Directory: w.ca.Directory, HTTPClient: w.ca.Client}
	const compromised = 1 // RFC 5280, 5.3.1
	key := first.PrivateKey.(crypto.Signer)
	must(t, client.RevokeCertificate(t.Context(), acmeclient.Account{PrivateKey: key}, first.Leaf, key, compromised))
	w.due(nil)
	w.until("another certificate is issued", func() bool { return w.serial() != first.Leaf.SerialNumber.String() })
	w.wantOrders(2)
}

// TestFailedClaimOrdersNothing starts an origin whose leases of the name fail: it makes no order before one succeeds.
func TestFailedClaimOrdersNothing(t *testing.T) {
	w := newFixture(t)
	w.answerTLS()
	allow := storetest.RefuseClaims(t, w.at, "certificate")
	w.start(w.open(w.db, w.ca.Client, name))
	w.until("claims fail", func() bool { return w.log.Count("claim jobs") >= 2 || w.ca.Orders() > 0 })
	w.wantOrders(0)
	allow()
	w.until("a certificate is issued", func() bool { return w.serial() != "" })
	w.wantOrders(1)
}

// TestOriginsRace starts two origins at once with one database: they make one order.
func TestOriginsRace(t *testing.T) {
	w := newFixture(t)
	w.answerTLS()
	other := w.db
	if storetest.Engine() == storetest.Postgres {
		other = storetest.Open(t, w.at)
	}
	a, b := w.open(w.db, w.ca.Client, name), w.open(other, w.ca.Client, name)
	w.start(a)
	w.start(b)
	w.until("a certificate is issued", func() bool { return w.serial() != "" })
	w.wantOrders(1)
}

// TestLimitedCA checks that an order waits as long as the CA says, and that administrators
// see why.
func TestLimitedCA(t *testing.T) {
	w := newFixture(t)
	w.answerTLS()
	w.ca.Intercept(func(rw http.ResponseWriter, r *http.Request) bool {
		if !acmetest.IsNewOrder(r) {
			return false
		}
		rw.Header().Set("Content-Type", "application/problem+json")
		rw.Header().Set("Retry-After", "7200")
		rw.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprint(rw, `{"type":"urn:ietf:params:acme:error:rateLimited","detail":"too many certificates"}`)
		return true
	})
	s := w.open(w.db, w.ca.Client, name)
	began := time.Now()
	w.start(s)
	w.until("the order is limited", func() bool { return !w.row().LimitedUntil.IsZero() })
	list, err := s.Certificates.List(t.Context())
	must(t, err)
	c := list.Data[0]
	if c.RateLimitedUntil == nil || c.RateLimitedUntil.Std().Before(began.Add(2*time.Hour-time.Second)) ||
		!c.NextTryAt.Std().Equal(c.RateLimitedUntil.Std()) || !strings.Contains(c.LastError, "too many certificates") {
		t.Errorf("the certificate: %+v", c)
	}
	if results := s.Certificates.OrderResults(); fmt.Sprint(results) != "[{issued 0} {failed 1} {limited 1}]" {
		t.Errorf("results %v", results)
	}
	w.wantOrders(0)
	if _, err := s.Certificates.Renew(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	if row := w.row(); row.DueAt.Before(began.Add(2*time.Hour - time.Second)) {
		t.Errorf("renewal by hand does not wait: due at %v", row.DueAt)
	}
}

// TestOrderLimit checks that no more than 10 orders are made in an hour, whatever asks for
// them.
func TestOrderLimit(t *testing.T) {
	w := newFixture(t)
	w.answerTLS()
	oldest := time.Now().Add(-50 * time.Minute)
	must(t, w.db.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		for i := range fieldmark.MaxCertificateOrdersHour {
			o := store.CertificateOrder{ID: fmt.Sprint("ord", i), Name: "other.example",
				OrderedAt: oldest.Add(time.Duration(i) * time.Minute)}
			if err := tx.AddOrder(ctx, o); err != nil {
				return err
			}
			if err := tx.EndOrder(ctx, o, time.Now(), ""); err != nil {
				return err
			}
		}
		return nil
	}))
	s := w.open(w.db, w.ca.Client, name)
	w.start(s)
	w.until("the order is postponed", func() bool { return !w.row().LimitedUntil.IsZero() })
	if until := w.row().LimitedUntil; until.Sub(oldest.Add(time.Hour)).Abs() > time.Second {
		t.Errorf("postponed until %v, want an hour after the first of ten, %v", until, oldest.Add(time.Hour))
	}
	w.wantOrders(0)
}

// TestCAAway checks that a certificate stays in use while the CA cannot be reached, and that
// the renewal is repeated.
func TestCAAway(t *testing.T) {
	w := newFixture(t)
	w.answerTLS()
	s := w.open(w.db, w.ca.Client, name)
	w.start(s)
	w.until("a certificate is issued", func() bool { return w.serial() != "" })
	first := w.serial()
	w.ca.Intercept(func(rw http.ResponseWriter, _ *http.Request) bool {
		rw.WriteHeader(http.StatusBadGateway)
		return true
	})
	w.due(func(c *store.Certificate) { c.RenewAt = time.Now() })
	w.until("the renewal fails", func() bool { return w.row().Failures == 1 })
	if row := w.row(); w.serial() != first || !row.Ordering || row.LastError == "" {
		t.Errorf("while the CA is unreachable: %+v", row)
	}
	w.ca.Intercept(nil)
	w.due(nil)
	w.until("the certificate is renewed", func() bool { return w.serial() != first })
	w.wantOrders(2)
	if row := w.row(); row.Failures != 0 || row.LastError != "" {
		t.Errorf("after the renewal: %+v", row)
	}
}

// TestSelfCheck lets another server answer for the name: no order is made until an edge answers
// at port 443, or the other server is gone.
func TestSelfCheck(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Server", "another")
		http.Redirect(rw, &http.Request{}, "http://"+name+"/", http.StatusFound) // without end
	}))
	defer other.Close()
	lost := httptest.NewUnstartedServer(http.NotFoundHandler())
	lost.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes for acme-tls/1
	lost.StartTLS()
	defer lost.Close()
	notFound := httptest.NewServer(http.NotFoundHandler())
	defer notFound.Close()
	for _, tt := range []struct {
		what  string
		ports func(*fixture) map[string]string
	}{
		{"nothing answers", func(*fixture) map[string]string { return map[string]string{} }},
		{"redirects without end", func(*fixture) map[string]string {
			return map[string]string{"80": other.Listener.Addr().String()}
		}},
		{"an edge answers at port 443", func(w *fixture) map[string]string {
			return map[string]string{"80": notFound.Listener.Addr().String(), "443": w.ca.TLS.Addr().String()}
		}},
	} {
		w := newFixture(t)
		w.answerTLS()
		w.ports.Store(&map[string]string{"80": notFound.Listener.Addr().String(), "443": lost.Listener.Addr().String()})
		stop := w.start(w.open(w.db, w.ca.Client, name))
		w.until("the order is postponed", func() bool { return w.row().Failures == 1 })
		if row := w.row(); !strings.Contains(row.LastError, "another server answers for the name at port 80") ||
			!strings.Contains(row.LastError, "status 404") || row.DueAt.After(time.Now().Add(2*time.Minute)) {
			t.Errorf("%s: postponed: %+v", tt.what, row)
		}
		w.wantOrders(0)
		ports := tt.ports(w)
		w.ports.Store(&ports)
		w.due(nil)
		w.until("a certificate is issued when "+tt.what, func() bool { return w.serial() != "" })
		w.wantOrders(1)
		stop()
	}
}

// killer is a transport that ends its process before a request.
type killer struct {
	next http.RoundTripper
	left atomic.Int64 // requests before that; below 0: no end
	kill func()
}

// RoundTrip implements http.RoundTripper.
func (k *killer) RoundTrip(r *http.Request) (*http.Response, error) {
	if k.left.Add(-1) == -1 {
		k.kill()
	}
	if k.left.Load() < 0 {
		return nil, io.ErrClosedPipe
	}
	return k.next.RoundTrip(r)
}

// TestKilled kills an origin before each request to the CA in turn: the next one continues
// with the order that was made.
func TestKilled(t *testing.T) {
	w := newFixture(t)
	w.answerTLS()
	for requests := int64(1); ; requests++ {
		w.at = storetest.New(t)
		w.db = storetest.Open(t, w.at)
		before := w.ca.Orders()
		killed := make(chan struct{})
		k := &killer{next: w.ca.Client.Transport}
		k.left.Store(requests)
		first := w.db
		k.kill = func() {
			_ = first.Close() // nothing that the process does from now on has an effect
			close(killed)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		s := w.open(w.db, &http.Client{Transport: k}, name)
		go func() {
			defer close(done)
			_ = s.Run(ctx)
		}()
		complete := false
		for !complete {
			select {
			case <-killed:
			case <-time.After(10 * time.Millisecond):
				complete = w.row().Chain != ""
				continue
			}
			break
		}
		cancel()
		<-done
		if complete {
			if requests < 8 {
				t.Errorf("an order took %d requests", requests)
			}
			return
		}
		w.db = storetest.Open(t, w.at)
		must(t, w.db.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			return tx.ReleaseLeases(ctx, "") // as ten seconds would; with SQLite, the next process does
		}))
		w.due(nil) // before the next process has claimed it: a change of the row ends its lease
		stop := w.start(w.open(w.db, w.ca.Client, name))
		w.until("a certificate is issued", func() bool { return w.serial() != "" })
		stop()
		if made := w.ca.Orders() - before; made != 1 {
			t.Errorf("killed before request %d: %d orders, want 1", requests+1, made)
		}
	}
}

// TestImport checks what can be imported, and that it is not renewed.
func TestImport(t *testing.T) {
	w := newFixture(t)
	s := w.open(w.db, w.ca.Client)
	pair, err := certs.SelfSigned("")
	must(t, err)
	chain := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}))
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	must(t, err)
	key := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	for _, c := range []struct{ name, chain, key, want string }{
		{"localhost", chain, key, ""},
		{"other.example", chain, key, "/chain"},
		{"localhost", "no certificate", key, "/chain"},
		{"localhost", chain, "no key", "/key"},
		{"*.example", chain, key, "invalid_parameter"},
	} {
		_, err := s.Certificates.Import(t.Context(), c.name, fieldmark.CertificateImport{Chain: c.chain, Key: c.key})
		got := ""
		if fe := fieldmark.AsError(err); err != nil && len(fe.Fields) > 0 {
			got = fe.Fields[0].Pointer
		} else if err != nil {
			got = string(fe.Code)
		}
		if got != c.want {
			t.Errorf("import for %s: %v, want an error about %q", c.name, err, c.want)
		}
	}
	list, err := s.Certificates.List(t.Context())
	must(t, err)
	if len(list.Data) != 1 || list.Data[0].Source != fieldmark.CertificateImported || list.Data[0].RenewAt != nil {
		t.Errorf("certificates: %+v", list.Data)
	}
	if _, err := s.Certificates.Renew(t.Context(), "localhost"); !fieldmark.IsCode(err, fieldmark.CodeNotFound) {
		t.Errorf("a certificate that no origin orders is renewed: %v", err)
	}
	must(t, s.Certificates.Remove(t.Context(), "localhost"))
	if err := s.Certificates.Remove(t.Context(), "localhost"); !fieldmark.IsCode(err, fieldmark.CodeNotFound) {
		t.Errorf("removed twice: %v", err)
	}
}

// TestSettings checks what New refuses.
func TestSettings(t *testing.T) {
	for _, c := range []acme.Config{
		{Names: []string{"*.example.org"}, Directory: "https://ca.example/dir", Email: "a@example.org"},
		{Names: []string{name}, Directory: "https://ca.example/dir"},
		{Names: make([]string, acme.MaxNames+1), Directory: "https://ca.example/dir", Email: "a@example.org"},
	} {
		if _, err := acme.New(c); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
}

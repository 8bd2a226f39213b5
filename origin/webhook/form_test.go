package webhook_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/safehttp"
	"github.com/fieldmark/fieldmark/origin/webhook"
)

// sink keeps the last request that it received.
type sink struct {
	*httptest.Server
	mu     sync.Mutex
	header http.Header
	body   []byte
	status int
}

func newSink(t *testing.T) *sink {
	s := &sink{status: 204}
	s.Server = httptest.NewServer(http.HandlerFunc(s.take))
	t.Cleanup(s.Close)
	return s
}

func (s *sink) take(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.header, s.body = r.Header, body
	w.WriteHeader(s.status)
}

func sender(t *testing.T, client *safehttp.Client, url string, settings fieldmark.EndpointSettings) *webhook.Sender {
	t.Helper()
	signer := &webhook.Signer{}
	if err := signer.Add(vectorSecret, time.Time{}); err != nil {
		t.Fatal(err)
	}
	o, err := webhook.NewSender(webhook.SenderConfig{HTTP: client, URL: url, Settings: settings, Signer: signer})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.Close)
	return o
}

var event = webhook.Message{Envelope: envelope, Subject: "msn_1", Account: "default"}

func TestForms(t *testing.T) {
	s := newSink(t)
	ref, err := standardwebhooks.NewWebhook(vectorSecret)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		settings fieldmark.EndpointSettings
		kind     string
		body     string
		header   map[string]string
	}{
		{fieldmark.EndpointSettings{}, "application/json",
			`{"id":"evt_1","type":"mission.completed","timestamp":"2021-02-25T15:02:10.000Z","data":{"id":"msn_1"}}`,
			nil},
		{fieldmark.EndpointSettings{Payload: fieldmark.PayloadThin, Headers: map[string]string{"X-Tenant": "7"}},
			"application/json",
			`{"id":"evt_1","type":"mission.completed","timestamp":"2021-02-25T15:02:10.000Z","data":{"id":"msn_1"}}`,
			map[string]string{"X-Tenant": "7"}},
		{fieldmark.EndpointSettings{Format: fieldmark.FormatCloudEvents}, "application/cloudevents+json",
			`{"specversion":"1.0","id":"evt_1","source":"urn:fieldmark:account:default","type":"mission.completed",` +
				`"subject":"msn_1","time":"2021-02-25T15:02:10.000Z","datacontenttype":"application/json",` +
				`"data":{"id":"msn_1"}}`, nil},
		{fieldmark.EndpointSettings{Format: fieldmark.FormatCloudEventsBinary}, "application/json", `{"id":"msn_1"}`,
			map[string]string{"Ce-Specversion": "1.0", "Ce-Id": "evt_1", "Ce-Source": "urn:fieldmark:account:default",
				"Ce-Type": "mission.completed", "Ce-Subject": "msn_1", "Ce-Time": "2021-02-25T15:02:10.000Z"}},
	} {
		a := sender(t, loopback(0), s.URL, tt.settings).Send(t.Context(), event, time.Now())
		if !a.OK() || string(s.body) != tt.body || s.header.Get("Content-Type") != tt.kind {
			t.Errorf("%+v: %+v, %s %s; want %s %s", tt.settings, a, s.header.Get("Content-Type"), s.body, tt.kind,
				tt.body)
		}
		if err := ref.Verify(s.body, s.header); err != nil {
			t.Errorf("%+v does not verify: %v", tt.settings, err)
		}
		for name, want := range tt.header {
			if got := s.header.Get(name); got != want {
				t.Errorf("%+v: %s is %q, want %q", tt.settings, name, got, want)
			}
		}
	}
	big := event
	big.Data = []byte(`{"id":"msn_1","title":"Work"}`)
	if sender(t, loopback(0), s.URL, fieldmark.EndpointSettings{Payload: fieldmark.PayloadThin}).Send(t.Context(), big,
		time.Now()); strings.Contains(string(s.body), "Work") {
		t.Errorf("a thin message tells more than the id: %s", s.body)
	}
}

func TestStaticAuth(t *testing.T) {
	s := newSink(t)
	for _, tt := range []struct {
		auth        fieldmark.EndpointAuth
		field, want string
	}{
		{fieldmark.EndpointAuth{Kind: "basic", Username: "u", Password: "p:w"}, "Authorization", "Basic dTpwOnc="},
		{fieldmark.EndpointAuth{Kind: "bearer", Token: "t1"}, "Authorization", "Bearer t1"},
		{fieldmark.EndpointAuth{Kind: "header", Name: "X-Api-Key", Value: "k"}, "X-Api-Key", "k"},
	} {
		if member, problem := webhook.CheckAuth(&tt.auth); problem != "" {
			t.Errorf("%+v: %s %s", tt.auth, member, problem)
		}
		sender(t, loopback(0), s.URL, fieldmark.EndpointSettings{Auth: &tt.auth}).Send(t.Context(), event, time.Now())
		if got := s.header.Get(tt.field); got != tt.want {
			t.Errorf("%s: %s is %q, want %q", tt.auth.Kind, tt.field, got, tt.want)
		}
	}
}

func TestOAuth2(t *testing.T) {
	s := newSink(t)
	var asked atomic.Int64
	fail := atomic.Bool{}
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, secret, _ := r.BasicAuth()
		if r.FormValue("grant_type") != "client_credentials" || r.FormValue("scope") != "hooks" || id != "c" ||
			secret != "s%2F" || fail.Load() {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprintf(w, `{"access_token":"token-%d","token_type":"bearer","expires_in":3600}`, asked.Add(1))
	}))
	defer tokens.Close()
	o := sender(t, loopback(0), s.URL,
		fieldmark.EndpointSettings{Auth: &fieldmark.EndpointAuth{Kind: "oauth2", TokenURL: tokens.URL, ClientID: "c",
			ClientSecret: "s/", Scope: "hooks"}})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { o.Send(t.Context(), event, time.Now()) })
	}
	all.Wait()
	if got := s.header.Get("Authorization"); got != "Bearer token-1" || asked.Load() != 1 {
		t.Errorf("8 messages at once: %q after %d requests for a token, want one", got, asked.Load())
	}
	s.status = 401 // the token was withdrawn
	o.Send(t.Context(), event, time.Now())
	s.status = 204
	o.Send(t.Context(), event, time.Now())
	if got := s.header.Get("Authorization"); got != "Bearer token-2" {
		t.Errorf("after a 401: %q, want a new token", got)
	}
	fail.Store(true)
	s.status = 401
	o.Send(t.Context(), event, time.Now())
	a := o.Send(t.Context(), event, time.Now())
	if a.OK() || a.Detail.Class != webhook.ClassAuth || !a.ReceiverFailed() || strings.Contains(a.Error, "s/") {
		t.Errorf("no token to be had: %+v, want class auth", a)
	}
	inside := sender(t, safehttp.New(safehttp.Config{}), "https://receiver.example/",
		fieldmark.EndpointSettings{Auth: &fieldmark.EndpointAuth{Kind: "oauth2", TokenURL: tokens.URL, ClientID: "c",
			ClientSecret: "s"}})
	if a := inside.Send(t.Context(), event, time.Now()); a.Detail.Class != webhook.ClassRefused {
		t.Errorf("a token server inside: %+v, want refused", a)
	}
}

// certificate returns a certificate and its key, both in PEM.
func certificate(t *testing.T, until time.Time) (string, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-48 * time.Hour),
		NotAfter: until, DNSNames: []string{"localhost"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE",
		Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
}

// tlsSink starts a receiver on localhost with a self-signed certificate.
func tlsSink(t *testing.T, until time.Time, auth tls.ClientAuthType) (url string, client *safehttp.Client,
	seen *atomic.Int64) {
	t.Helper()
	cert, key := certificate(t, until)
	pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	seen = &atomic.Int64{}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter,
		r *http.Request) {
		seen.Add(int64(len(r.TLS.PeerCertificates)))
	}))
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: auth}
	srv.Config.ErrorLog = nil
	srv.StartTLS()
	t.Cleanup(srv.Close)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(cert))
	client = safehttp.New(safehttp.Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Roots: roots})
	return strings.Replace(srv.URL, "127.0.0.1", "localhost", 1), client, seen
}

func TestMutualTLS(t *testing.T) {
	url, client, seen := tlsSink(t, time.Now().Add(time.Hour), tls.RequireAnyClientCert)
	cert, key := certificate(t, time.Now().Add(time.Hour))
	auth := &fieldmark.EndpointAuth{Kind: "mtls", Certificate: cert, PrivateKey: key}
	if member, problem := webhook.CheckAuth(auth); problem != "" {
		t.Fatalf("%s %s", member, problem)
	}
	if a := sender(t, client, url, fieldmark.EndpointSettings{Auth: auth}).Send(t.Context(), event,
		time.Now()); !a.OK() || seen.Load() != 1 {
		t.Errorf("with a certificate: %+v, %d seen", a, seen.Load())
	}
	// Another endpoint of the same client must not present it.
	if a := sender(t, client, url, fieldmark.EndpointSettings{}).Send(t.Context(), event, time.Now()); a.OK() ||
		a.Status != 0 {
		t.Errorf("without a certificate: %+v, want a failed handshake", a)
	}
	_, other := certificate(t, time.Now().Add(time.Hour))
	if _, problem := webhook.CheckAuth(&fieldmark.EndpointAuth{Kind: "mtls", Certificate: cert,
		PrivateKey: other}); problem == "" {
		t.Error("a certificate and another's key pass")
	}
}

func TestExpiredCertificate(t *testing.T) {
	url, client, _ := tlsSink(t, time.Now().Add(-time.Hour), tls.NoClientCert)
	a := sender(t, client, url, fieldmark.EndpointSettings{}).Send(t.Context(), event, time.Now())
	if a.OK() || a.Detail.Class != webhook.ClassTLS || !strings.Contains(a.Error, "expired") {
		t.Errorf("Send = %+v, want class tls and a word about the expiry", a)
	}
}

func TestCheckHeaderAndAuth(t *testing.T) {
	for _, name := range []string{"", "a b", "Webhook-Id", "ce-id", "Host", "content-length", "x:y",
		"Transfer-Encoding"} {
		if webhook.CheckHeader(name, "v") == "" {
			t.Errorf("CheckHeader(%q) passes", name)
		}
	}
	if webhook.CheckHeader("X-A", "a\r\nb") == "" || webhook.CheckHeader("X-A", "a b") != "" {
		t.Error("CheckHeader does not look at values well")
	}
	for _, a := range []fieldmark.EndpointAuth{{}, {Kind: "kerberos"}, {Kind: "basic", Username: "a:b", Password: "p"},
		{Kind: "basic"}, {Kind: "bearer"},
		{Kind: "bearer", Token: "a\nb"}, {Kind: "header", Name: "webhook-id", Value: "x"},
		{Kind: "oauth2", TokenURL: "https://a.example"}, {Kind: "mtls"}} {
		if _, problem := webhook.CheckAuth(&a); problem == "" {
			t.Errorf("CheckAuth(%+v) passes", a)
		}
	}
}

// A response that is slow or endless must not block the sender or exhaust its
// memory.
func TestSendToSlowAndEndlessReceivers(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	// one byte, and then a stall
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(200)
		io.WriteString(w, "x")
		w.(http.Flusher).Flush()
		<-release
	}))
	defer slow.CloseClientConnections()
	// Send must return although the body never ends.
	if a := sender(t, loopback(0), slow.URL, fieldmark.EndpointSettings{}).Send(t.Context(), event,
		time.Now()); !a.OK() || a.Body != "x" {
		t.Errorf("a slow body: %+v; want success and the part that arrived", a)
	}
	flood := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Fill", strings.Repeat("x", 1000))
		for range 1000 {
			w.WriteHeader(http.StatusEarlyHints)
		}
	}))
	defer flood.Close()
	if a := sender(t, loopback(0), flood.URL, fieldmark.EndpointSettings{}).Send(t.Context(), event,
		time.Now()); a.OK() || a.Status != 0 {
		t.Errorf("a flood of 103s: %+v, want a failure", a)
	}
	bomb := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(bytes.Repeat([]byte{0x1f}, 1<<16))
	}))
	defer bomb.Close()
	if a := sender(t, loopback(0), bomb.URL, fieldmark.EndpointSettings{}).Send(t.Context(), event,
		time.Now()); !a.OK() || len(a.Body) > 3*webhook.MaxBody {
		t.Errorf("a compressed answer: ok %v, %d bytes; want it as it came, cut", a.OK(), len(a.Body))
	}
	for _, code := range []int{301, 303, 308} {
		moved := httptest.NewServer(redirect("http://127.0.0.1:1/", code))
		a := sender(t, loopback(0), moved.URL, fieldmark.EndpointSettings{}).Send(t.Context(), event, time.Now())
		if moved.Close(); a.Status != code || a.Detail.Class != webhook.ClassRedirect || a.ReceiverFailed() {
			t.Errorf("%d: %+v, want class redirect, not followed", code, a)
		}
	}
}

// FuzzMessage checks that every format of a message is valid JSON with the same
// content.
func FuzzMessage(f *testing.F) {
	f.Add(`{"id":"msn_1"}`, "msn_1")
	f.Add(`null`, "a\"b")
	f.Fuzz(func(t *testing.T, data, subject string) {
		if !json.Valid([]byte(data)) {
			return
		}
		for _, form := range []fieldmark.MessageFormat{fieldmark.FormatStandard, fieldmark.FormatCloudEvents} {
			m := webhook.Message{Envelope: envelope, Subject: subject, Account: "default"}
			m.Data = []byte(data)
			body, err := webhook.Body(m, fieldmark.EndpointSettings{Format: form})
			if err != nil || !json.Valid(body) {
				t.Errorf("%s of %q about %q: %s, %v", form, data, subject, body, err)
			}
		}
	})
}

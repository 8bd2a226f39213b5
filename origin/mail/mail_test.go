package mail_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"mime"
	"mime/quotedprintable"
	"net"
	netmail "net/mail"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/logtest"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/mail"
	"github.com/fieldmark/fieldmark/origin/store"
)

var certFile, keyFile string

// TestMain makes the certificate of the relay the one that this process trusts: the system's
// certificates are read once.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "mail")
	if err != nil {
		panic(err)
	}
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	if err := writeCertificate(); err != nil {
		panic(err)
	}
	os.Setenv("SSL_CERT_FILE", certFile)
	code := storetest.Main(m)
	os.RemoveAll(dir)
	os.Exit(code)
}

func writeCertificate() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	cert, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), 0o600),
		os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
}

// relay is a running SMTP server that another project wrote.
type relay struct {
	port int
	mu   sync.Mutex
	said []said
}

// said is a line of testdata/relay.py.
type said struct {
	Port   int
	RCPT   string
	Reply  string
	To     []string
	Sender string
	TLS    bool
	Data   string
}

func startRelay(t *testing.T, mode string) *relay {
	t.Helper()
	const python = "/usr/bin/python3" // the interpreter that has python3-aiosmtpd
	if out, err := exec.Command(python, "-c", "import aiosmtpd").CombinedOutput(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("python3-aiosmtpd is not installed: %v: %.300s", err, out)
		}
		t.Skipf("python3-aiosmtpd is not installed: %v", err)
	}
	cmd := exec.Command(python, "testdata/relay.py", mode, certFile, keyFile)
	out, err := cmd.StdoutPipe()
	must(t, err)
	var log bytes.Buffer
	cmd.Stderr = &log
	must(t, cmd.Start())
	r, ended := &relay{}, make(chan struct{})
	lines := bufio.NewReader(out)
	var first said
	if line, err := lines.ReadBytes('\n'); err != nil || json.Unmarshal(line, &first) != nil {
		_ = cmd.Process.Kill()
		t.Fatalf("the relay said %q, %v: %s", line, err, log.String())
	}
	r.port = first.Port
	go func() {
		defer close(ended)
		for {
			var s said
			line, err := lines.ReadBytes('\n')
			if err != nil || json.Unmarshal(line, &s) != nil {
				return
			}
			r.mu.Lock()
			r.said = append(r.said, s)
			r.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
		_ = cmd.Wait()
	})
	return r
}

// mails returns the mails that the relay accepted.
func (r *relay) mails() (list []said) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.said {
		if s.Data != "" {
			list = append(list, s)
		}
	}
	return list
}

const account = "brand-acme"

// fixture is an origin with a claimed brand.
type fixture struct {
	*origin.Service
	t     *testing.T
	at    store.Config
	store *store.Store
	relay *relay
	log   *logtest.Recorder
}

// newFixture returns a running origin.
func newFixture(t *testing.T, r *relay, address string) *fixture {
	t.Helper()
	f := newIdleFixture(t, r, address)
	f.run()
	return f
}

// newIdleFixture returns an origin that sends no mail before run.
func newIdleFixture(t *testing.T, r *relay, address string) *fixture {
	t.Helper()
	at := storetest.New(t)
	st, err := store.Open(context.Background(), at)
	must(t, err)
	t.Cleanup(func() { must(t, st.Close()) })
	sender, err := mail.ParseRelay(address, "Fieldmark <geo@marks.example>")
	must(t, err)
	f := &fixture{t: t, at: at, store: st, relay: r, log: logtest.New(t)}
	f.Service, err = origin.New(origin.Config{Store: st, Secret: []byte(strings.Repeat("s", 32)), MailRelay: sender,
		BaseURL: "https://marks.example", Log: slog.New(slog.NewTextHandler(f.log, nil))})
	must(t, err)
	_, _, err = f.Brands.Put(t.Context(), fieldmark.Brand{Slug: "acme", Name: "Acme", URL: "https://acme.example/",
		Niche: "tools", Language: "en", Public: true})
	must(t, err)
	f.write(func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.PutAccount(ctx, account, fieldmark.At(time.Now())), tx.PutClaim(ctx, &store.Claim{
			ID: "clm_1", Brand: "acme", Account: account, State: fieldmark.ClaimVerified, CreatedAt: time.Now(),
			DueAt: time.Now().Add(10000 * time.Hour)}))
	})
	return f
}

// run starts the workers of the origin until the end of the test.
func (f *fixture) run() {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	f.t.Cleanup(func() {
		cancel()
		must(f.t, <-ended)
	})
}

func (f *fixture) write(fn func(context.Context, *store.Tx) error) {
	f.t.Helper()
	must(f.t, f.store.Write(f.t.Context(), fn))
}

// emit appends an event of the brand, and makes the digest due.
func (f *fixture) emit(kind fieldmark.EventType, data any) {
	f.t.Helper()
	f.write(func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(event.EmitBrand(ctx, tx, "acme", kind, data), tx.ExpediteMail(ctx, "acme", time.Now()))
	})
}

func (f *fixture) addresses() []mail.Address {
	f.t.Helper()
	list, err := f.Mail.List(f.t.Context(), account, "acme")
	must(f.t, err)
	return list
}

// wait waits for a number of mails and returns the last, whose header net/mail read.
func (f *fixture) wait(n int) (said, netmail.Header, string) {
	f.t.Helper()
	waittest.Until(f.t, fmt.Sprintf("mail %d", n), func() bool { return len(f.relay.mails()) >= n })
	list := f.relay.mails()
	if len(list) != n {
		f.t.Fatalf("%d mails, want %d", len(list), n)
	}
	m, err := netmail.ReadMessage(strings.NewReader(list[n-1].Data))
	must(f.t, err)
	body, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	must(f.t, err)
	return list[n-1], m.Header, strings.ReplaceAll(string(body), "\r\n", "\n")
}

// confirm confirms the only address by the link in the mail to it.
func (f *fixture) confirm(body string) {
	f.t.Helper()
	must(f.t, f.Mail.Confirm(f.t.Context(), token(f.t, body, "https://marks.example/owner/mail/confirm?token=")))
	f.settled()
}

// settled waits until no mail is due or being sent, and the relay has reported all that were sent.
func (f *fixture) settled() {
	f.t.Helper()
	waittest.Until(f.t, "no mail is due", func() bool {
		for _, a := range f.addresses() {
			if !a.DueAt.IsZero() && a.DueAt.Before(time.Now().Add(time.Second)) || a.Attempts > 0 && a.Error == "" {
				return false
			}
		}
		return len(f.relay.mails()) >= f.log.Count("error=<nil>")
	})
}

// token returns the token of a link in a text.
func token(t *testing.T, text, link string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, link)
	if !ok {
		t.Fatalf("no link %s in\n%s", link, text)
	}
	rest, _, _ = strings.Cut(rest, "\n")
	rest, _, _ = strings.Cut(rest, ">")
	value, err := url.QueryUnescape(rest)
	must(t, err)
	return value
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func decodeSubject(t *testing.T, h netmail.Header) string {
	t.Helper()
	s, err := new(mime.WordDecoder).DecodeHeader(h.Get("Subject"))
	must(t, err)
	return s
}

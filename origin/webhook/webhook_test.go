package webhook_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/safehttp"
	"github.com/fieldmark/fieldmark/origin/webhook"
)

// The published vector of Standard Webhooks.
const (
	vectorSecret    = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	vectorID        = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	vectorTime      = 1614265330
	vectorBody      = `{"test": 2432232314}`
	vectorSignature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
)

func TestSignVector(t *testing.T) {
	got, err := sign(vectorSecret, vectorID, time.Unix(vectorTime, 999), []byte(vectorBody))
	if got != vectorSignature || err != nil {
		t.Errorf("Sign = %q, %v; want %q", got, err, vectorSignature)
	}
}

// The published vector of an Ed25519 signature: the same message under the key
// pair that the specification shows.
const (
	vectorPrivate    = "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg=="
	vectorPublic     = "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4="
	vectorSignatureA = "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg=="
)

func TestSignVectorEd25519(t *testing.T) {
	got, err := sign(vectorPrivate, vectorID, time.Unix(vectorTime, 0), []byte(vectorBody))
	if got != vectorSignatureA || err != nil {
		t.Errorf("Sign = %q, %v; want %q", got, err, vectorSignatureA)
	}
	if public, jwk, ok := webhook.PublicKey(vectorPrivate); public != vectorPublic || !ok ||
		jwk.X != "1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4" {
		t.Errorf("PublicKey = %q, %+v, %v; want %q", public, jwk, ok, vectorPublic)
	}
	if err := webhook.Verify(vectorPublic, fields(vectorID, "1614265330", vectorSignatureA), []byte(vectorBody),
		time.Unix(vectorTime, 0)); err != nil {
		t.Errorf("Verify with the public key: %v", err)
	}
}

func TestSignWithSeveralKeys(t *testing.T) {
	now := time.Unix(vectorTime, 0)
	var s webhook.Signer
	for secret, until := range map[string]time.Time{vectorSecret: {}, vectorPrivate: now.Add(time.Hour)} {
		if err := s.Add(secret, until); err != nil {
			t.Fatal(err)
		}
	}
	both, err := s.Sign(vectorID, now, []byte(vectorBody))
	if err != nil || !strings.Contains(both, vectorSignature) || !strings.Contains(both, vectorSignatureA) ||
		strings.Count(both, " ") != 1 {
		t.Errorf("Sign = %q, %v; want both signatures", both, err)
	}
	for _, known := range []string{vectorSecret, vectorPublic} {
		if err := webhook.Verify(known, fields(vectorID, "1614265330", both), []byte(vectorBody), now); err != nil {
			t.Errorf("a receiver that knows %s…: %v", known[:8], err)
		}
	}
	if later, err := s.Sign(vectorID, now.Add(time.Hour), []byte(vectorBody)); err != nil ||
		strings.Contains(later, "v1a,") || strings.Contains(later, " ") {
		t.Errorf("after the overlap: %q, %v; want one signature", later, err)
	}
}

func TestCheckSecret(t *testing.T) {
	for _, tt := range []struct {
		scheme fieldmark.Signing
		secret string
		ok     bool
	}{
		{"v1", vectorSecret, true}, {"v1a", vectorPrivate, true},
		{"v1a", vectorSecret, false}, {"v1", vectorPrivate, false}, {"v1a", vectorPublic, false},
		{"v1a", "whsk_" + strings.Repeat("A", 86) + "==", false}, // the halves do not match
		{"v1", "whsec_c2hvcnQ=", false}, {"v1", "", false}, {"v1", "whsec_%", false},
	} {
		if err := webhook.CheckSecret(tt.scheme, tt.secret); (err == nil) != tt.ok {
			t.Errorf("CheckSecret(%s, %q) = %v, want ok %v", tt.scheme, tt.secret, err, tt.ok)
		}
	}
	for _, scheme := range []fieldmark.Signing{"v1", "v1a"} {
		s, err := webhook.NewSecret(scheme, rand.Reader)
		if err == nil {
			err = webhook.CheckSecret(scheme, s)
		}
		if err != nil {
			t.Errorf("a new secret for %s: %v", scheme, err)
		}
	}
}

// sign signs with one secret that never expires.
func sign(secret, id string, at time.Time, body []byte) (string, error) {
	var s webhook.Signer
	if err := s.Add(secret, time.Time{}); err != nil {
		return "", err
	}
	return s.Sign(id, at, body)
}

func TestSignRefuses(t *testing.T) {
	for _, tt := range []struct{ secret, id string }{
		{vectorSecret, ""},
		{vectorSecret, "a.b"},
		{"MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "a"},
		{"whsec_!", "a"},
		{"whsec_c2hvcnQ=", "a"},
		{"whsec_" + strings.Repeat("AAAA", 22), "a"},
	} {
		if got, err := sign(tt.secret, tt.id, time.Unix(0, 0), nil); err == nil {
			t.Errorf("Sign(%q, %q) = %q, want an error", tt.secret, tt.id, got)
		} else if strings.Contains(err.Error(), "MfKQ") {
			t.Errorf("Sign(%q) tells the secret: %v", tt.secret, err)
		}
	}
}

func fields(id, at, signature string) http.Header {
	h := http.Header{}
	h.Set("webhook-id", id)
	h.Set("webhook-timestamp", at)
	h.Set("webhook-signature", signature)
	return h
}

func TestVerify(t *testing.T) {
	now := time.Unix(vectorTime, 0)
	for _, tt := range []struct {
		name   string
		header http.Header
		body   string
		now    time.Time
		ok     bool
	}{
		{"the vector", fields(vectorID, "1614265330", vectorSignature), vectorBody, now, true},
		{"one of several", fields(vectorID, "1614265330", "v1a,AAAA v1,AAAA "+vectorSignature), vectorBody, now, true},
		{"five minutes late", fields(vectorID, "1614265330", vectorSignature), vectorBody, now.Add(5 * time.Minute),
			true},
		{"too late", fields(vectorID, "1614265330", vectorSignature), vectorBody, now.Add(5*time.Minute + time.Second),
			false},
		{"too early", fields(vectorID, "1614265330", vectorSignature), vectorBody,
			now.Add(-5*time.Minute - time.Second), false},
		{"other body", fields(vectorID, "1614265330", vectorSignature), vectorBody + " ", now, false},
		{"other id", fields("msg_other", "1614265330", vectorSignature), vectorBody, now, false},
		{"other time", fields(vectorID, "1614265331", vectorSignature), vectorBody, now, false},
		{"other spelling of the time", fields(vectorID, "+1614265330", vectorSignature), vectorBody, now, false},
		{"largest time", fields(vectorID, fmt.Sprint(math.MaxInt64), vectorSignature), vectorBody, now, false},
		{"smallest time", fields(vectorID, fmt.Sprint(math.MinInt64), vectorSignature), vectorBody, now, false},
		{"no number", fields(vectorID, "now", vectorSignature), vectorBody, now, false},
		{"scheme of another key", fields(vectorID, "1614265330", "v1a"+vectorSignature[2:]), vectorBody, now, false},
		{"no signature", fields(vectorID, "1614265330", ""), vectorBody, now, false},
		{"nothing", http.Header{}, vectorBody, now, false},
	} {
		if err := webhook.Verify(vectorSecret, tt.header, []byte(tt.body), tt.now); (err == nil) != tt.ok {
			t.Errorf("%s: Verify = %v, want ok %v", tt.name, err, tt.ok)
		}
	}
}

func TestNewSecret(t *testing.T) {
	got, err := webhook.NewSecret(fieldmark.SigningV1, bytes.NewReader(bytes.Repeat([]byte{7}, 32)))
	if want := "whsec_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc="; got != want || err != nil {
		t.Errorf("NewSecret = %q, %v; want %q", got, err, want)
	}
	if got, err := webhook.NewSecret(fieldmark.SigningV1, strings.NewReader("short")); err == nil {
		t.Errorf("NewSecret from a dry well = %q, want an error", got)
	}
}

func FuzzVerify(f *testing.F) {
	f.Add(vectorSecret, vectorID, "1614265330", vectorSignature, vectorBody)
	f.Add("whsec_", "", "", "v1,", "")
	f.Fuzz(func(t *testing.T, secret, id, at, signature, body string) {
		h := http.Header{"Webhook-Id": {id}, "Webhook-Timestamp": {at}, "Webhook-Signature": {signature}}
		if webhook.Verify(secret, h, []byte(body), time.Unix(vectorTime, 0)) != nil {
			return
		}
		// The reference library accepts what this package accepts.
		ref, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			t.Fatalf("accepted a secret the reference refuses: %v", err)
		}
		if err := ref.VerifyIgnoringTimestamp([]byte(body), h); err != nil {
			t.Fatalf("accepted what the reference refuses: %v", err)
		}
	})
}

func TestNext(t *testing.T) {
	want := []time.Duration{0, 5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
		10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour}
	for i, step := range want {
		for jitter, share := range map[float64]float64{0: 0.8, 0.5: 1, 1: 1.2, -3: 0.8, 9: 1.2} {
			got, ok := webhook.ScheduleOf(nil).Next(i+1, jitter)
			exact := float64(step) * share
			if !ok || math.Abs(float64(got)-exact) > 1 {
				t.Errorf("Next(%d, %v) = %v, %v; want %v", i+1, jitter, got, ok, time.Duration(exact))
			}
		}
	}
	for _, n := range []int{-1, 0, 11} {
		if got, ok := webhook.ScheduleOf(nil).Next(n, 0.5); ok {
			t.Errorf("Next(%d) = %v, want none", n, got)
		}
	}
}

func TestAfter(t *testing.T) {
	for _, tt := range []struct {
		name   string
		failed int
		a      webhook.Attempt
		want   time.Duration
		ok     bool
	}{
		{"first failure", 1, webhook.Attempt{}, 5 * time.Second, true},
		{"the last", 10, webhook.Attempt{}, 0, false},
		{"aborted", 1, webhook.Attempt{Abort: true}, 0, false},
		{"later on request", 1, webhook.Attempt{RetryAfter: time.Hour}, time.Hour, true},
		{"never earlier than the step", 3, webhook.Attempt{RetryAfter: time.Second}, 30 * time.Minute, true},
		{"a year is a day", 1, webhook.Attempt{RetryAfter: 365 * 24 * time.Hour}, 24 * time.Hour, true},
	} {
		if got, ok := webhook.ScheduleOf(nil).After(tt.failed, tt.a, 0.5); got != tt.want || ok != tt.ok {
			t.Errorf("%s: After = %v, %v; want %v, %v", tt.name, got, ok, tt.want, tt.ok)
		}
	}
}

func loopback(timeout time.Duration) *safehttp.Client {
	return safehttp.New(safehttp.Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Timeout: timeout})
}

// send sends an envelope unchanged, signed with one secret.
func send(ctx context.Context, client *safehttp.Client, url, secret string, e fieldmark.Envelope,
	now time.Time) webhook.Attempt {
	signer := &webhook.Signer{}
	if err := signer.Add(secret, time.Time{}); err != nil {
		return webhook.Attempt{At: now, Error: err.Error()}
	}
	sender, err := webhook.NewSender(webhook.SenderConfig{HTTP: client, URL: url, Signer: signer})
	if err != nil {
		return webhook.Attempt{At: now, Error: err.Error()}
	}
	defer sender.Close()
	return sender.Send(ctx, webhook.Message{Envelope: e, Subject: "msn_1", Account: "default"}, now)
}

func secret(t *testing.T) string {
	t.Helper()
	s, err := webhook.NewSecret(fieldmark.SigningV1, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var envelope = fieldmark.Envelope{
	ID: "evt_1", Type: fieldmark.EventMissionCompleted, Timestamp: fieldmark.AtMicros(vectorTime * 1e6),
	Data: []byte(`{"id":"msn_1"}`),
}

func TestSendVerifiesWithTheReference(t *testing.T) {
	key := secret(t)
	ref, err := standardwebhooks.NewWebhook(key)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		want := `{"id":"evt_1","type":"mission.completed","timestamp":"2021-02-25T15:02:10.000Z","data":{"id":"msn_1"}}`
		if err := ref.Verify(body, r.Header); err != nil || string(body) != want || r.Method != http.MethodPost ||
			r.Header.Get("Content-Type") != "application/json" ||
			!strings.HasPrefix(r.Header.Get("User-Agent"), "Fieldmark") {
			t.Errorf("%s %v\n%s: %v; want a verified POST of\n%s", r.Method, r.Header, body, err, want)
		}
		if err := webhook.Verify(key, r.Header, body, time.Now()); err != nil {
			t.Errorf("Verify: %v", err)
		}
		w.WriteHeader(http.StatusAccepted)
		io.WriteString(w, "thanks\x00")
	}))
	defer srv.Close()
	a := send(t.Context(), loopback(0), srv.URL, key, envelope, time.Now())
	if !a.OK() || a.Status != 202 || a.Body != "thanks" {
		t.Errorf("Send = %+v, want 202 and thanks", a)
	}
}

func TestSendToHostileReceivers(t *testing.T) {
	var followed atomic.Int64
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed.Add(1) }))
	defer inside.Close()
	now := time.Now()
	for _, tt := range []struct {
		name    string
		answer  http.HandlerFunc
		status  int
		problem string
		retry   time.Duration
		gone    bool
	}{
		{name: "error", answer: func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500) }, status: 500,
			problem: "answered 500"},
		{name: "gone", answer: func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(410) }, status: 410,
			problem: "410", gone: true},
		{name: "seconds", answer: retry(429, "120"), status: 429, problem: "429", retry: 2 * time.Minute},
		{name: "date", answer: retry(503, now.Add(time.Hour).UTC().Format(http.TimeFormat)), status: 503,
			problem: "503", retry: time.Hour},
		{name: "past", answer: retry(503, now.Add(-time.Hour).UTC().Format(http.TimeFormat)), status: 503,
			problem: "503"},
		{name: "year", answer: retry(429, "31536000"), status: 429, problem: "429", retry: 24 * time.Hour},
		{name: "overflow", answer: retry(429, "9223372036854775807"), status: 429, problem: "429",
			retry: 24 * time.Hour},
		{name: "garbage", answer: retry(429, "soon"), status: 429, problem: "429"},
		{name: "redirect 301", answer: redirect(inside.URL, 301), status: 301, problem: "redirects are not followed"},
		{name: "redirect 303", answer: redirect(inside.URL, 303), status: 303, problem: "redirects are not followed"},
		{name: "redirect 308", answer: redirect(inside.URL, 308), status: 308, problem: "redirects are not followed"},
		{name: "redirect 302", answer: redirect(inside.URL, 302), status: 302, problem: "redirects are not followed"},
		{name: "redirect 307", answer: redirect(inside.URL, 307), status: 307, problem: "redirects are not followed"},
		{name: "reset", answer: func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) },
			problem: "failed"},
		{name: "flood of 1xx", answer: func(w http.ResponseWriter, r *http.Request) {
			for range 10_000 {
				w.WriteHeader(http.StatusEarlyHints)
			}
		}, problem: "failed"},
		{name: "big header", answer: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Big", strings.Repeat("x", 1<<20))
		}, problem: "failed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv := httptest.NewServer(tt.answer)
			defer srv.Close()
			a := send(t.Context(), loopback(0), srv.URL, secret(t), envelope, now)
			off := (a.RetryAfter - tt.retry).Abs()
			if a.Status != tt.status || !strings.Contains(a.Error, tt.problem) || a.OK() || off > time.Second ||
				a.Disable != tt.gone {
				t.Errorf("Send = %+v; want status %d, %q, retry after %v, gone %v", a, tt.status, tt.problem, tt.retry,
					tt.gone)
			}
			if strings.Contains(a.Error, "127.0.0.1") {
				t.Errorf("the error tells an address: %q", a.Error)
			}
		})
	}
	if followed.Load() != 0 {
		t.Errorf("%d redirects were followed", followed.Load())
	}
}

func retry(status int, after string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", after)
		w.WriteHeader(status)
	}
}

func redirect(to string, status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, status) }
}

func TestSendReadsLittle(t *testing.T) {
	var wrote atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for {
			n, err := w.Write(bytes.Repeat([]byte("x"), 1<<16))
			wrote.Add(int64(n))
			if err != nil {
				return
			}
		}
	}))
	defer srv.Close()
	a := send(t.Context(), loopback(0), srv.URL, secret(t), envelope, time.Now())
	if !a.OK() || len(a.Body) != webhook.MaxBody {
		t.Errorf("Send of an endless answer: ok %v, %d bytes kept; want ok, %d", a.OK(), len(a.Body), webhook.MaxBody)
	}
}

// A small response that decompresses to a gigabyte is kept compressed.
func TestSendUnpacksNothing(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	for range 64 {
		_, _ = z.Write(make([]byte, 1<<20))
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(bomb.Bytes())
	}))
	defer srv.Close()
	a := send(t.Context(), loopback(0), srv.URL, secret(t), envelope, time.Now())
	if !a.OK() || strings.Contains(a.Body, strings.Repeat("\x00", 64)) {
		t.Errorf("Send of a bomb of %d bytes: ok %v, %d bytes kept: %.40q; want ok, and not unpacked", bomb.Len(),
			a.OK(), len(a.Body), a.Body)
	}
}

func TestSendGivesUpInTime(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0") // accepts and never responds
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	a := send(ctx, loopback(0), "http://"+ln.Addr().String(), secret(t), envelope, time.Now())
	if a.OK() || a.Status != 0 || !strings.Contains(a.Error, "no answer") {
		t.Errorf("Send = %+v, want no answer", a)
	}
}

func TestSendStaysOutside(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter,
		*http.Request) {
		t.Error("reached loopback")
	}))
	defer srv.Close()
	a := send(t.Context(), safehttp.New(safehttp.Config{}), srv.URL, secret(t), envelope, time.Now())
	if a.OK() || a.Error != "address not allowed" {
		t.Errorf("Send = %+v, want address not allowed", a)
	}
}

func TestSendTimesTheAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := send(t.Context(), safehttp.New(safehttp.Config{}), "http://[::1]/", "no secret", envelope, time.Now())
		if a.OK() || a.Took != 0 || !a.At.Equal(time.Now()) {
			t.Errorf("Send without a secret = %+v, want an error at once", a)
		}
	})
}

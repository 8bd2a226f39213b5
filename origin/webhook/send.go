package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/timeout"
	"github.com/fieldmark/fieldmark/origin/safehttp"
)

// Limits of one attempt.
const (
	// minimum that Standard Webhooks recommends; a receiver should queue the work and respond
	Timeout      = 15 * time.Second
	sendTimeout  = Timeout * timeout.Scale
	MaxBody      = 4 << 10         // bytes of a response that are read: enough for an error message
	bodyPatience = 2 * time.Second // for those bytes; a slow body must not block a slot
)

// UserAgent is the User-Agent of the sender.
const UserAgent = "Fieldmark-Webhooks/1.0"

// HeaderControl is a response field with which a receiver controls delivery:
// disable or abort-message.
const HeaderControl = "webhook-delivery"

// Classes of failure.
const (
	ClassDNS      = "dns"
	ClassConnect  = "connect"
	ClassTLS      = "tls"
	ClassTimeout  = "timeout"
	ClassStatus   = "status"
	ClassRedirect = "redirect"
	ClassRefused  = "refused" // by the SSRF guard of safehttp
	ClassAuth     = "auth"    // no access token
	ClassOther    = "other"
)

// Attempt is the result of one attempt. Everything in it may be shown to the account of the
// endpoint.
type Attempt struct {
	At         time.Time
	Took       time.Duration
	Status     int           // HTTP status; 0 without a response
	Error      string        // empty on success; safe to show to the endpoint's account
	Body       string        // the beginning of the response body, as valid UTF-8
	RetryAfter time.Duration // delay that the receiver requested; 0: none
	Disable    bool          // 410 or "disable": the endpoint must be disabled
	Abort      bool          // "abort-message": do not retry this message
	Detail     fieldmark.AttemptDetail
}

// OK reports whether the receiver accepted the event.
func (a Attempt) OK() bool { return a.Error == "" }

// ReceiverFailed reports a failure of the receiver rather than of the message: any other message would
// fail as well. Such failures open the circuit; a status of 4xx except 429 does not.
func (a Attempt) ReceiverFailed() bool {
	switch a.Detail.Class {
	case ClassDNS, ClassConnect, ClassTLS, ClassTimeout, ClassAuth, ClassOther:
		return true
	}
	return a.Status >= 500 || a.Status == http.StatusTooManyRequests
}

// SenderConfig configures a Sender.
type SenderConfig struct {
	HTTP     *safehttp.Client // required
	URL      string
	Settings fieldmark.EndpointSettings // with the values of headers and the secrets of auth
	Signer   *Signer                    // required
}

// Sender sends to one endpoint. Its methods may be called from any goroutine. It follows no
// redirects: a signature is for one address, and a redirect could lead into the internal
// network.
type Sender struct {
	client   *safehttp.Client
	own      bool // the sender owns the client
	url      string
	settings fieldmark.EndpointSettings
	signer   *Signer
	token    token
}

// NewSender returns a Sender; it opens no connection. An error is a client certificate that
// cannot be read.
func NewSender(cfg SenderConfig) (*Sender, error) {
	o := &Sender{client: cfg.HTTP, url: cfg.URL, settings: cfg.Settings, signer: cfg.Signer,
		token: token{requesting: make(chan struct{}, 1)}}
	if a := cfg.Settings.Auth; a != nil && a.Kind == fieldmark.AuthMTLS {
		pair, err := tls.X509KeyPair([]byte(a.Certificate), []byte(a.PrivateKey))
		if err != nil {
			return nil, errors.New("the client certificate cannot be read")
		}
		// A shared pool would present one endpoint's certificate for another.
		o.client, o.own = cfg.HTTP.WithCertificate(pair), true
	}
	return o, nil
}

// Close closes the idle connections of a client that this sender owns.
func (o *Sender) Close() {
	if o.own {
		o.client.CloseIdle()
	}
}

// Settings returns the settings of the endpoint.
func (o *Sender) Settings() *fieldmark.EndpointSettings { return &o.settings }

// Send makes one attempt to deliver m, signed for the time now. It takes Timeout at most. It
// never fails: an error is part of the attempt, in words for the owner of the endpoint.
func (o *Sender) Send(ctx context.Context, m Message, now time.Time) Attempt {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	a := Attempt{At: now}
	start := time.Now()
	if err := a.send(ctx, cancel, o, m); err != nil {
		a.Error, a.Detail.Class = explain(ctx, err)
	}
	a.Took = time.Since(start)
	return a
}

// send makes the request and sets the result by the response. An error without a response is
// explained by the caller. A 401 makes the next attempt request another access token.
func (a *Attempt) send(ctx context.Context, cancel context.CancelFunc, o *Sender, m Message) error {
	header, body, err := o.Signed(m, a.At)
	if err != nil {
		return err
	}
	if err := o.authenticate(ctx, header); err != nil {
		return err
	}
	traced, seen := withTimings(ctx)
	defer func() { a.Detail = seen.detail(a.Detail.Class) }()
	req, err := http.NewRequestWithContext(traced, http.MethodPost, o.url, bytes.NewReader(body))
	if err != nil {
		return errors.New("the address cannot be read")
	}
	req.Header = header
	if m.Trace != "" {
		req.Header.Set(HeaderTrace, m.Trace)
	}
	resp, err := o.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusUnauthorized {
		o.token.invalidate()
	}
	a.Status = resp.StatusCode
	a.control(resp)
	a.RetryAfter = retryAfter(resp, a.At)
	// The status decides the result; a body that is slow or incomplete does not
	// change it.
	defer time.AfterFunc(bodyPatience, cancel).Stop()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, MaxBody))
	a.Body = strings.ReplaceAll(strings.ToValidUTF8(string(text), string(utf8.RuneError)), "\x00", "")
	return verdict(resp.StatusCode)
}

// Signed returns the request that carries m when it is sent at a time, without the
// credentials of the endpoint. The same message at the same time is the same
// request, until the secrets change.
func (o *Sender) Signed(m Message, at time.Time) (header http.Header, body []byte, err error) {
	header = make(http.Header, 8+len(o.settings.Headers))
	for name, value := range o.settings.Headers {
		header.Set(name, value)
	}
	if body, err = m.write(&o.settings, header); err != nil {
		return nil, nil, fmt.Errorf("write the message %s: %w", m.ID, err)
	}
	signature, err := o.signer.Sign(m.ID, at, body)
	if err != nil {
		return nil, nil, err
	}
	header.Set("User-Agent", UserAgent)
	header.Set(HeaderID, m.ID)
	header.Set(HeaderTimestamp, strconv.FormatInt(at.Unix(), 10))
	header.Set(HeaderSignature, signature)
	if m.Test {
		header.Set(HeaderTest, "1")
	}
	return header, body, nil
}

// control reads the instructions of the receiver beyond this attempt. A receiver can disable
// its endpoint, by 410 as in Standard Webhooks or by a field, and end the retries of one
// message.
func (a *Attempt) control(resp *http.Response) {
	a.Disable = resp.StatusCode == http.StatusGone
	switch strings.ToLower(strings.TrimSpace(resp.Header.Get(HeaderControl))) {
	case "disable":
		a.Disable = true
	case "abort-message":
		a.Abort = true
	}
}

// statusError is a response that is no success.
type statusError struct {
	text, class string
}

func (e *statusError) Error() string { return e.text }

// verdict returns the error of a status, or nil for a success.
func verdict(status int) error {
	switch {
	case status >= 200 && status <= 299:
		return nil
	case status >= 300 && status <= 399:
		return &statusError{fmt.Sprintf("answered %d: redirects are not followed, change the address of the endpoint",
			status), ClassRedirect}
	case status == http.StatusGone:
		return &statusError{"answered 410: the endpoint is gone", ClassStatus}
	}
	return &statusError{fmt.Sprintf("answered %d", status), ClassStatus}
}

// retryAfter parses the delay that the receiver requested (RFC 9110, section
// 10.2.3), in seconds or as a date. An invalid value counts as 0.
func retryAfter(resp *http.Response, now time.Time) time.Duration {
	field := strings.TrimSpace(resp.Header.Get("Retry-After"))
	if resp.StatusCode < 300 || field == "" {
		return 0
	}
	if seconds, err := strconv.ParseUint(field, 10, 63); err == nil {
		return time.Duration(min(seconds, uint64(MaxRetryAfter/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(field); err == nil {
		return min(max(at.Sub(now), 0), MaxRetryAfter)
	}
	return 0
}

// explain returns a short text on why an attempt failed, and its class. The text does not
// reveal the internal network to the endpoint's account. Errors of the network name addresses,
// so only their innermost text is used.
func explain(ctx context.Context, err error) (text, class string) {
	if status, ok := errors.AsType[*statusError](err); ok {
		return status.text, status.class
	}
	if auth, ok := errors.AsType[*authError](err); ok {
		text, class = explain(ctx, auth.err)
		if class != ClassRefused && class != ClassTimeout {
			class = ClassAuth
		}
		return "no access token: " + text, class
	}
	var timeout net.Error
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Sprintf("no answer within %d s", Timeout/time.Second), ClassTimeout
	case ctx.Err() != nil:
		return "interrupted", ClassOther
	}
	if e, ok := errors.AsType[*fieldmark.Error](err); ok {
		return e.Detail, ClassRefused
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		if dns.IsNotFound {
			return "the host's name is not known", ClassDNS
		}
		return "the host's name could not be looked up", ClassDNS
	}
	if text, ok := explainTLS(err); ok {
		return text, ClassTLS
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		class = ClassOther
		if op.Op == "dial" {
			class = ClassConnect
		}
		return op.Op + " failed: " + reason(op.Err), class
	}
	return "the request failed: " + reason(err), ClassOther
}

// explainTLS describes a problem with a certificate so that its owner can fix it.
func explainTLS(err error) (string, bool) {
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		if invalid.Reason == x509.Expired {
			return "the certificate has expired or is not valid yet", true
		}
		return "the certificate is not valid", true
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "the certificate is for another host", true
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "the certificate is of an unknown authority; is the chain complete?", true
	}
	if errors.Is(err, http.ErrSchemeMismatch) {
		return "the TLS handshake failed: the server speaks HTTP", true
	}
	_, alert := errors.AsType[tls.AlertError](err)
	_, record := errors.AsType[tls.RecordHeaderError](err)
	if alert || record {
		return "the TLS handshake failed: " + reason(err), true
	}
	return "", false
}

// maxReason limits an error's text in bytes; some errors quote what the receiver
// sent.
const maxReason = 200

// reason returns the innermost text of an error, which contains no address.
func reason(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			break
		}
		err = inner
	}
	text := strings.ToValidUTF8(err.Error(), "")
	return strings.ToValidUTF8(text[:min(len(text), maxReason)], "")
}

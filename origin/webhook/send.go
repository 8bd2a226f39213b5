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
	"github.com/fieldmark/fieldmark/origin/safehttp"
)

// Bounds of one attempt.
const (
	// the lower end of what Standard Webhooks asks of senders; a receiver should queue, not work
	Timeout      = 15 * time.Second
	MaxBody      = 4 << 10         // bytes of an answer that are read: enough for an error message
	bodyPatience = 2 * time.Second // for those bytes: the status was the verdict, and somebody else may want the place
)

// UserAgent names the sender.
const UserAgent = "Fieldmark-Webhooks/1.0"

// HeaderControl is a field by which a receiver says what it wants: disable, or
// abort-message.
const HeaderControl = "webhook-delivery"

// Classes of failure.
const (
	ClassDNS      = "dns"
	ClassConnect  = "connect"
	ClassTLS      = "tls"
	ClassTimeout  = "timeout"
	ClassStatus   = "status"
	ClassRedirect = "redirect"
	ClassRefused  = "refused" // by our own guard
	ClassAuth     = "auth"    // no access token
	ClassOther    = "other"
)

// Attempt is what became of one try.
type Attempt struct {
	At         time.Time
	Took       time.Duration
	Status     int           // HTTP; 0 when no answer came
	Error      string        // empty on success; fit to show to the endpoint's owner
	Body       string        // the beginning of the answer, as valid text
	RetryAfter time.Duration // what the receiver asked for; 0 when it did not
	Disable    bool          // 410, or said so: the endpoint wants nothing more
	Abort      bool          // said so: never this message again
	Detail     fieldmark.AttemptDetail
}

// OK reports whether the receiver took the event.
func (a Attempt) OK() bool { return a.Error == "" }

// Away reports a failure that tells of the receiver, not of the message: it
// would fail for any other as well.
func (a Attempt) Away() bool {
	switch a.Detail.Class {
	case ClassDNS, ClassConnect, ClassTLS, ClassTimeout, ClassAuth, ClassOther:
		return true
	}
	return a.Status >= 500 || a.Status == http.StatusTooManyRequests
}

// SenderConfig says how one endpoint is reached.
type SenderConfig struct {
	HTTP     *safehttp.Client // required: the way out
	URL      string
	Settings fieldmark.EndpointSettings // with the values of headers and the secrets of auth
	Signer   *Signer                    // required
}

// Sender sends to one endpoint. It is safe for concurrent use.
type Sender struct {
	client   *safehttp.Client
	own      bool // the client is this sender's
	url      string
	settings fieldmark.EndpointSettings
	signer   *Signer
	token    token
}

// NewSender returns an Sender; it opens no connection.
func NewSender(cfg SenderConfig) (*Sender, error) {
	o := &Sender{client: cfg.HTTP, url: cfg.URL, settings: cfg.Settings, signer: cfg.Signer,
		token: token{asking: make(chan struct{}, 1)}}
	if a := cfg.Settings.Auth; a != nil && a.Kind == fieldmark.AuthMTLS {
		pair, err := tls.X509KeyPair([]byte(a.Certificate), []byte(a.PrivateKey))
		if err != nil {
			return nil, errors.New("the client certificate cannot be read")
		}
		// A shared pool would show one endpoint's certificate for another.
		o.client, o.own = cfg.HTTP.WithCertificate(pair), true
	}
	return o, nil
}

// Close closes the connections that are this sender's alone.
func (o *Sender) Close() {
	if o.own {
		o.client.CloseIdle()
	}
}

// Settings returns how the endpoint wants its messages.
func (o *Sender) Settings() *fieldmark.EndpointSettings { return &o.settings }

// Send tries once to deliver m, signed under the time now.
func (o *Sender) Send(ctx context.Context, m Message, now time.Time) Attempt {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	a := Attempt{At: now}
	start := time.Now()
	if err := a.send(ctx, cancel, o, m); err != nil {
		a.Error, a.Detail.Class = explain(ctx, err)
	}
	a.Took = time.Since(start)
	return a
}

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
		o.token.forget()
	}
	a.Status = resp.StatusCode
	a.control(resp)
	a.RetryAfter = retryAfter(resp, a.At)
	// The status is the verdict; a body that is slow or breaks off does not undo it.
	defer time.AfterFunc(bodyPatience, cancel).Stop()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, MaxBody))
	a.Body = strings.ReplaceAll(strings.ToValidUTF8(string(text), string(utf8.RuneError)), "\x00", "")
	return verdict(resp.StatusCode)
}

// Signed writes the request that carries m when it is sent at a time, but for
// what the receiver knows us by. The same message at the same time is the same
// request, for as long as the secrets are.
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
	return header, body, nil
}

// control reads what the receiver wants beyond this attempt.
func (a *Attempt) control(resp *http.Response) {
	a.Disable = resp.StatusCode == http.StatusGone
	switch strings.ToLower(strings.TrimSpace(resp.Header.Get(HeaderControl))) {
	case "disable":
		a.Disable = true
	case "abort-message":
		a.Abort = true
	}
}

// statusError is an answer that is no success.
type statusError struct {
	text, class string
}

func (e *statusError) Error() string { return e.text }

// verdict says what is wrong with a status.
func verdict(status int) error {
	switch {
	case status >= 200 && status <= 299:
		return nil
	case status >= 300 && status <= 399:
		return &statusError{fmt.Sprintf("answered %d: redirects are not followed, change the address of the endpoint",
			status), ClassRedirect}
	case status == http.StatusGone:
		return &statusError{"answered 410: the endpoint wants no more of this", ClassStatus}
	}
	return &statusError{fmt.Sprintf("answered %d", status), ClassStatus}
}

// retryAfter reads how long the receiver wants to be left alone (RFC 9110,
// section 10.2.3), in seconds or as a date. Nonsense counts as nothing.
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

// explain says in a few words why there was no success, without telling the
// endpoint's owner what was found inside the network, and names the class.
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

// explainTLS says what was wrong with a certificate in words its owner can act on.
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
		return "the certificate is of an authority nobody knows; is the chain complete?", true
	}
	_, alert := errors.AsType[tls.AlertError](err)
	_, record := errors.AsType[tls.RecordHeaderError](err)
	if alert || record {
		return "the TLS handshake failed: " + reason(err), true
	}
	return "", false
}

// maxReason bounds an error's text in bytes; some quote what the other side sent.
const maxReason = 200

// reason returns the innermost text of an error, which names no address.
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

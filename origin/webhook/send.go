package webhook

import (
	"bytes"
	"context"
	"encoding/json"
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
	Timeout = 15 * time.Second // the lower end of what Standard Webhooks asks of senders; a receiver should queue, not work
	MaxBody = 4 << 10          // bytes of an answer that are read: enough for an error message
)

// UserAgent names the sender.
const UserAgent = "Fieldmark-Webhooks/1.0"

// Attempt is what became of one try.
type Attempt struct {
	At         time.Time
	Took       time.Duration
	Status     int           // HTTP; 0 when no answer came
	Error      string        // empty on success; fit to show to the endpoint's owner
	Body       string        // the beginning of the answer, as valid text
	RetryAfter time.Duration // what the receiver asked for; 0 when it did not
	Gone       bool          // 410: never try again
}

// OK reports whether the receiver took the event.
func (a Attempt) OK() bool { return a.Error == "" }

// Send tries once to deliver e, signed with secret, under the time now.
func Send(ctx context.Context, client *safehttp.Client, url, secret string, e fieldmark.Envelope, now time.Time) Attempt {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	a := Attempt{At: now}
	start := time.Now()
	if err := a.send(ctx, client, url, secret, e); err != nil {
		a.Error = explain(ctx, err)
	}
	a.Took = time.Since(start)
	return a
}

func (a *Attempt) send(ctx context.Context, client *safehttp.Client, url, secret string, e fieldmark.Envelope) error {
	body, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("write the envelope of %s: %w", e.ID, err)
	}
	signature, err := Sign(secret, e.ID, a.At, body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return errors.New("the address cannot be read")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", UserAgent)
	req.Header.Set(HeaderID, e.ID)
	req.Header.Set(HeaderTimestamp, strconv.FormatInt(a.At.Unix(), 10))
	req.Header.Set(HeaderSignature, signature)
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	a.Status = resp.StatusCode
	a.Gone = resp.StatusCode == http.StatusGone
	a.RetryAfter = retryAfter(resp, a.At)
	// The status is the verdict; a body that breaks off does not undo it.
	text, _ := io.ReadAll(io.LimitReader(resp.Body, MaxBody))
	a.Body = strings.ReplaceAll(strings.ToValidUTF8(string(text), string(utf8.RuneError)), "\x00", "")
	return verdict(resp.StatusCode)
}

// verdict says what is wrong with a status.
func verdict(status int) error {
	switch {
	case status >= 200 && status <= 299:
		return nil
	case status >= 300 && status <= 399:
		return fmt.Errorf("answered %d: redirects are not followed, change the address of the endpoint", status)
	case status == http.StatusGone:
		return errors.New("answered 410: the endpoint wants no more of this")
	}
	return fmt.Errorf("answered %d", status)
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

// explain says in a few words why no answer came, without telling the
// endpoint's owner what was found inside the network.
func explain(ctx context.Context, err error) string {
	var timeout net.Error
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Sprintf("no answer within %d s", Timeout/time.Second)
	case ctx.Err() != nil:
		return "interrupted"
	}
	if e, ok := errors.AsType[*fieldmark.Error](err); ok {
		return e.Detail
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		if dns.IsNotFound {
			return "the host's name is not known"
		}
		return "the host's name could not be looked up"
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Op + " failed: " + reason(op.Err)
	}
	return "the request failed: " + reason(err)
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

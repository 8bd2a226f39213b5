package webhook

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache/rfc9111"
	"github.com/fieldmark/fieldmark/origin/safehttp"
)

// Limits of access tokens.
// A token server is as untrusted as a receiver: it decides what it sends.
const (
	maxTokenBody = 64 << 10         // bytes of a token server's response; some tokens are long
	tokenEarly   = 30 * time.Second // renewal before expiry, because clocks differ
	tokenLife    = 5 * time.Minute  // of a token whose server does not state a lifetime
	maxTokenLife = 24 * time.Hour
)

// authenticate adds the credentials of the endpoint to the header of a request.
func (o *Sender) authenticate(ctx context.Context, h http.Header) error {
	a := o.settings.Auth
	if a == nil {
		return nil
	}
	switch a.Kind {
	case fieldmark.AuthBasic:
		r := http.Request{Header: h}
		r.SetBasicAuth(a.Username, a.Password)
	case fieldmark.AuthBearer:
		h.Set("Authorization", "Bearer "+a.Token)
	case fieldmark.AuthHeader:
		h.Set(a.Name, a.Value)
	case fieldmark.AuthOAuth2:
		token, err := o.token.get(ctx, o.client, a)
		if err != nil {
			return &authError{err}
		}
		h.Set("Authorization", "Bearer "+token)
	}
	return nil
}

// authError reports that no access token was received, as opposed to no response from the
// receiver.
type authError struct{ err error }

func (e *authError) Error() string { return e.err.Error() }
func (e *authError) Unwrap() error { return e.err }

// token is an access token that the messages of an endpoint share.
// It is in memory only: another process requests its own.
type token struct {
	requesting chan struct{} // holds one value while a goroutine requests a new token

	mu    sync.Mutex
	text  string
	until time.Time
}

// get returns the token, and requests a new one if there is no valid one.
// Concurrent callers wait for that request.
// The wait ends with the context of the message, which has the timeout of an attempt.
func (t *token) get(ctx context.Context, client *safehttp.Client, a *fieldmark.EndpointAuth) (string, error) {
	select {
	case t.requesting <- struct{}{}:
		defer func() { <-t.requesting }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if text := t.cached(time.Now()); text != "" {
		return text, nil
	}
	text, life, err := requestToken(ctx, client, a)
	if err != nil {
		return "", err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	// It is renewed before it ends, so a message that is on its way is not refused.
	t.text, t.until = text, time.Now().Add(life-tokenEarly)
	return text, nil
}

// cached returns the token while it is valid.
func (t *token) cached(now time.Time) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Before(t.until) {
		return t.text
	}
	return ""
}

// invalidate drops a token that the receiver refused.
// The next attempt requests another one.
func (t *token) invalidate() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text, t.until = "", time.Time{}
}

// requestToken requests a token from a token server (RFC 6749, section 4.4).
// The address was chosen by a client, so the guarded client makes the request.
func requestToken(ctx context.Context, client *safehttp.Client, a *fieldmark.EndpointAuth) (string, time.Duration,
	error) {
	form := url.Values{"grant_type": {"client_credentials"}}
	if a.Scope != "" {
		form.Set("scope", a.Scope)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.TokenURL, strings.NewReader(form.Encode()))
	if err != nil {
		return "", 0, errors.New("the address of the token server cannot be read")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", jsonType)
	req.SetBasicAuth(url.QueryEscape(a.ClientID), url.QueryEscape(a.ClientSecret)) // section 2.3.1
	resp, err := client.Do(req)
	if err != nil {
		return "", 0, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxTokenBody))
	if err != nil {
		return "", 0, err
	}
	var got struct {
		Token string `json:"access_token"`
		Life  int64  `json:"expires_in"`
	}
	if resp.StatusCode != http.StatusOK {
		return "", 0, fmt.Errorf("answered %d", resp.StatusCode)
	}
	// A line break in a token would add header fields.
	if json.Unmarshal(body, &got) != nil || got.Token == "" || strings.ContainsAny(got.Token, "\r\n\x00") {
		return "", 0, errors.New("answered without an access_token")
	}
	// A server that states no lifetime is asked again soon, one that states years within a day.
	life := tokenLife
	if got.Life > 0 {
		life = time.Duration(min(got.Life, int64(maxTokenLife/time.Second))) * time.Second
	}
	return got.Token, life, nil
}

// CheckAuth returns the member that is invalid and the problem with it.
// It checks form only: whether credentials are right shows in a test message.
func CheckAuth(a *fieldmark.EndpointAuth) (member, problem string) {
	required := map[fieldmark.AuthKind][]struct{ name, value string }{
		fieldmark.AuthBasic:  {{"username", a.Username}, {"password", a.Password}},
		fieldmark.AuthBearer: {{"token", a.Token}},
		fieldmark.AuthHeader: {{"name", a.Name}, {"value", a.Value}},
		fieldmark.AuthOAuth2: {{"tokenUrl", a.TokenURL}, {"clientId", a.ClientID}, {"clientSecret", a.ClientSecret}},
		fieldmark.AuthMTLS:   {{"certificate", a.Certificate}, {"privateKey", a.PrivateKey}},
		fieldmark.AuthNone:   nil,
	}
	members, known := required[a.Kind]
	if !known {
		return "kind", "must be none, basic, bearer, header, oauth2 or mtls"
	}
	for _, m := range members {
		if m.value == "" {
			return m.name, "is required for " + string(a.Kind)
		}
	}
	switch a.Kind {
	case fieldmark.AuthBasic:
		if strings.Contains(a.Username, ":") {
			return "username", "must not have a colon (RFC 7617)"
		}
	case fieldmark.AuthHeader:
		if problem := CheckHeader(a.Name, a.Value); problem != "" {
			return "name", problem
		}
	// The value is checked as that of a field, since it becomes one.
	case fieldmark.AuthBearer:
		if problem := CheckHeader("X-Token", a.Token); problem != "" {
			return "token", problem
		}
	case fieldmark.AuthMTLS:
		if _, err := tls.X509KeyPair([]byte(a.Certificate), []byte(a.PrivateKey)); err != nil {
			return "certificate", "certificate and privateKey are no pair in PEM"
		}
	}
	return "", ""
}

// reservedFields cannot be set for an endpoint, in addition to the hop-by-hop fields:
// the sender sets them, or they change how a message is transferred.
var reservedFields = []string{"content-type", "content-length", "content-encoding", "host", "expect", "user-agent"}

// CheckHeader returns what is wrong with a custom header field of an endpoint. Fields of the
// message itself are refused.
func CheckHeader(name, value string) string {
	const token = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
	lower := strings.ToLower(name)
	if lower == "" || strings.Trim(lower, token) != "" {
		return "must be a header field's name (RFC 9110, section 5.1)"
	}
	if strings.HasPrefix(lower, "webhook-") || strings.HasPrefix(lower, "ce-") {
		return "is a header field of the message itself"
	}
	if slices.Contains(reservedFields, lower) || rfc9111.IsHopByHop(name) {
		return "is a header field that cannot be set"
	}
	for i := range len(value) {
		if c := value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return "its value must not have control characters"
		}
	}
	return ""
}

package oidc

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"

	"github.com/fieldmark/fieldmark/origin/safehttp"
)

// Bounds of what is asked of a provider.
const (
	requestTimeout = 5 * time.Second // of one request; a person waits for it
	maxResponse    = 1 << 20         // bytes of one answer; discovery and keys of large providers have some 20 KiB
	discoveryTTL   = time.Hour       // how long discovery is believed; keys are asked for anew when a token names one that is unknown
	retryDelay     = time.Second     // how long a provider that failed is not asked again
	maxClockSkew   = 5 * time.Minute // a provider's clock may be ahead of ours by so much
	maxAuthAge     = 12 * time.Hour  // how long ago a person may have proved itself to the provider; a session of ours lasts no longer
	maxSubject     = 255             // bytes of a subject (OpenID Connect Core 1.0, section 2)
	emailClaim     = "email"
	defaultClaim   = "groups"
	discoveryPath  = "/.well-known/openid-configuration"
)

// What goes wrong, as callers tell it apart.
var (
	// ErrUnavailable means that the provider does not answer, or not as one should.
	ErrUnavailable = errors.New("the sign-in provider does not answer")
	// ErrDenied means that what the browser brought back is not good.
	ErrDenied = errors.New("the sign-in provider does not vouch for this")
)

// Config says which provider is asked, as whom, and who may enter.
type Config struct {
	Issuer       string // its address, exactly as its tokens name it; https, or http on loopback
	ClientID     string // what it knows us by
	ClientSecret string // and how we prove that; empty for a public client, which PKCE protects
	RedirectURL  string // where it sends browsers back to; exactly one, registered there
	Scopes       []string
	Rules        Rules
	Label        string         // what people call it; "" means the host of the issuer
	Allow        []netip.Prefix // private networks it may be in
}

// Provider is one OpenID Connect provider. It is safe for concurrent use.
type Provider struct {
	issuer   string
	label    string
	clientID string
	secret   string
	redirect string
	scopes   []string
	rules    Rules
	http     *http.Client
	fetches  singleflight.Group

	mu        *sync.Mutex
	metadata  *oidc.Provider // nil until it was asked
	fetchedAt time.Time      // when it was, or failed to be
	lastErr   error          // of the last time it was asked
}

// New checks cfg; it asks nobody.
func New(cfg Config) (*Provider, error) {
	var bad []error
	issuer, err := url.Parse(cfg.Issuer)
	if err != nil || issuer.Host == "" || issuer.RawQuery != "" || issuer.Fragment != "" || issuer.User != nil {
		return nil, fmt.Errorf("sign-in provider: the issuer %q is not an address such as https://login.example", cfg.Issuer)
	}
	if issuer.Scheme != "https" && !(issuer.Scheme == "http" && isLoopback(issuer.Hostname())) {
		bad = append(bad, errors.New("the issuer must be https; what it says of people could be forged on the way"))
	}
	if cfg.ClientID == "" {
		bad = append(bad, errors.New("a client id is required"))
	}
	if back, err := url.Parse(cfg.RedirectURL); err != nil || back.Host == "" {
		bad = append(bad, errors.New("the public address must be set: the provider sends browsers back to it"))
	}
	if len(cfg.Rules.Admins)+len(cfg.Rules.Viewers) == 0 {
		bad = append(bad, errors.New("nobody may enter: name values of the claim that make administrators or viewers"))
	}
	if len(bad) > 0 {
		return nil, fmt.Errorf("sign-in provider: %w", errors.Join(bad...))
	}
	if cfg.Rules.Claim == "" {
		cfg.Rules.Claim = defaultClaim
	}
	if cfg.Label == "" {
		cfg.Label = issuer.Hostname()
	}
	scopes := slices.DeleteFunc(slices.Clone(cfg.Scopes), func(s string) bool { return s == "" || s == oidc.ScopeOpenID })
	guarded := safehttp.New(safehttp.Config{Allow: cfg.Allow, Ports: allowedPorts(issuer), Timeout: requestTimeout})
	return &Provider{
		issuer: cfg.Issuer, label: cfg.Label, clientID: cfg.ClientID, secret: cfg.ClientSecret, redirect: cfg.RedirectURL,
		scopes: append([]string{oidc.ScopeOpenID}, scopes...), rules: cfg.Rules, mu: new(sync.Mutex),
		http: &http.Client{Transport: limitedTransport{guarded}, Timeout: requestTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}, nil
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// allowedPorts are the web's and the issuer's own.
func allowedPorts(issuer *url.URL) []uint16 {
	all := []uint16{80, 443}
	if n, err := strconv.ParseUint(issuer.Port(), 10, 16); err == nil && !slices.Contains(all, uint16(n)) {
		all = append(all, uint16(n))
	}
	return all
}

// limitedTransport sends through the guarded client and bounds what comes back.
type limitedTransport struct{ client *safehttp.Client }

// RoundTrip implements http.RoundTripper.
func (b limitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.client.Do(r)
	if err != nil {
		return nil, err
	}
	resp.Body = limitedBody{io.LimitReader(resp.Body, maxResponse), resp.Body}
	return resp, nil
}

type limitedBody struct {
	io.Reader
	io.Closer
}

// Issuer is the provider's address.
func (p *Provider) Issuer() string { return p.issuer }

// Label is what people call the provider.
func (p *Provider) Label() string { return p.label }

// Flow is one sign-in under way. The browser keeps it until it comes back, in a
// form that nobody else can read or make.
type Flow struct {
	State      string `json:"s"` // binds the answer to this browser
	Nonce      string `json:"n"` // binds the token to this flow
	Verifier   string `json:"v"` // proves that the code was asked for here (RFC 7636)
	ForceLogin bool   `json:"f"` // the person must prove itself anew
}

// NewFlow draws the secrets of a flow.
func NewFlow(fresh bool) Flow {
	return Flow{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), ForceLogin: fresh}
}

// Begin returns where a browser is sent to. The error is ErrUnavailable if the provider
// was never reached.
func (p *Provider) Begin(ctx context.Context, f Flow) (string, error) {
	known, err := p.discover(ctx)
	if err != nil {
		return "", err
	}
	options := []oauth2.AuthCodeOption{oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)}
	age := maxAuthAge // to ask for it has the provider say when the person proved itself
	if f.ForceLogin {
		age = 0
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"))
	}
	options = append(options, oauth2.SetAuthURLParam("max_age", strconv.Itoa(int(age/time.Second))))
	return p.client(known).AuthCodeURL(f.State, options...), nil
}

func (p *Provider) client(known *oidc.Provider) *oauth2.Config {
	return &oauth2.Config{ClientID: p.clientID, ClientSecret: p.secret, Endpoint: known.Endpoint(), RedirectURL: p.redirect, Scopes: p.scopes}
}

// Finish exchanges the code that a browser brought back and returns who it is of.
// The caller has compared the state. The error is ErrUnavailable or ErrDenied, and says
// no more than may be logged.
func (p *Provider) Finish(ctx context.Context, code string, f Flow) (Identity, error) {
	known, err := p.discover(ctx)
	if err != nil {
		return Identity{}, err
	}
	ctx = oidc.ClientContext(ctx, p.http)
	tokens, err := p.client(known).Exchange(ctx, code, oauth2.VerifierOption(f.Verifier))
	if err != nil {
		return Identity{}, exchangeError(err)
	}
	raw, _ := tokens.Extra("id_token").(string) // none is refused by the verifier
	token, err := known.Verifier(&oidc.Config{ClientID: p.clientID}).Verify(ctx, raw)
	if err != nil {
		return Identity{}, fmt.Errorf("%w: %v", ErrDenied, err)
	}
	if err := p.checkToken(token, f); err != nil {
		return Identity{}, err
	}
	c, err := parseClaims(token)
	if err != nil {
		return Identity{}, fmt.Errorf("%w: %v", ErrDenied, err)
	}
	if azp := c.values("azp"); len(azp) > 0 && !slices.Equal(azp, []string{p.clientID}) {
		return Identity{}, fmt.Errorf("%w: the token is for another client", ErrDenied)
	}
	if err := p.addUserInfo(ctx, known, tokens, token.Subject, c); err != nil {
		return Identity{}, err
	}
	return p.rules.identity(p.issuer, token.Subject, c), nil
}

// checkToken is what the verifier leaves to its caller.
func (p *Provider) checkToken(token *oidc.IDToken, f Flow) error {
	switch {
	case token.Nonce != f.Nonce || f.Nonce == "":
		return fmt.Errorf("%w: the token is of another sign-in", ErrDenied)
	case token.Subject == "" || len(token.Subject) > maxSubject:
		return fmt.Errorf("%w: the token names nobody", ErrDenied)
	case token.IssuedAt.After(time.Now().Add(maxClockSkew)):
		return fmt.Errorf("%w: the token is of the future; a clock is wrong", ErrDenied)
	}
	return nil
}

// addUserInfo asks for claims that the token does not have: many providers keep
// groups and addresses out of it.
func (p *Provider) addUserInfo(ctx context.Context, known *oidc.Provider, tokens *oauth2.Token, subject string, c claims) error {
	if c.has(p.rules.Claim) && c.has(emailClaim) || known.UserInfoEndpoint() == "" {
		return nil
	}
	info, err := known.UserInfo(ctx, oauth2.StaticTokenSource(tokens))
	if err != nil { // the address is only what somebody is called by
		return unless(c.has(p.rules.Claim), fmt.Errorf("%w: ask about the user: %s", ErrUnavailable, truncate(err)))
	}
	if info.Subject != subject { // OpenID Connect Core 1.0, section 5.3.2
		return fmt.Errorf("%w: the answer is about somebody else", ErrDenied)
	}
	more, err := parseClaims(info)
	if err != nil {
		return fmt.Errorf("%w: %v", ErrUnavailable, err)
	}
	delete(more, "auth_time") // the token alone tells of this sign-in
	c.merge(more)
	return nil
}

// exchangeError tells a code that is not good from a provider that is not well,
// without the answer's body, which may hold what is secret.
func exchangeError(err error) error {
	var said *oauth2.RetrieveError
	if !errors.As(err, &said) {
		return fmt.Errorf("%w: %s", ErrUnavailable, truncate(err))
	}
	what := ErrDenied
	if said.Response != nil && said.Response.StatusCode >= http.StatusInternalServerError {
		what = ErrUnavailable
	}
	return fmt.Errorf("%w: exchange the code: %s", what, said.ErrorCode)
}

// discover returns what the provider says of itself, from memory if it said so
// within the hour. What was known is used while it cannot be asked again.
func (p *Provider) discover(ctx context.Context) (*oidc.Provider, error) {
	p.mu.Lock()
	known, asked, failure := p.metadata, p.fetchedAt, p.lastErr
	p.mu.Unlock()
	if failure == nil && known != nil && time.Since(asked) < discoveryTTL {
		return known, nil
	}
	if failure != nil && time.Since(asked) < retryDelay {
		return known, unless(known != nil, failure)
	}
	// Whoever comes first asks for all, and for longer than its own browser waits.
	answer := p.fetches.DoChan("", func() (any, error) {
		ask, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
		defer cancel()
		fresh, err := oidc.NewProvider(oidc.ClientContext(ask, p.http), p.issuer)
		if err != nil {
			err = fmt.Errorf("%w: %s%s: %v", ErrUnavailable, p.issuer, discoveryPath, truncate(err))
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.fetchedAt, p.lastErr = time.Now(), err
		if err == nil {
			p.metadata = fresh
		}
		return p.metadata, unless(p.metadata != nil, err)
	})
	select {
	case r := <-answer:
		known, _ := r.Val.(*oidc.Provider)
		return known, r.Err
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
	}
}

// unless is the error, where nothing makes up for it.
func unless(madeUp bool, err error) error {
	if madeUp {
		return nil
	}
	return err
}

// maxLoggedError bounds what is logged of a failure, in bytes: it may hold a whole page.
const maxLoggedError = 200

func truncate(err error) string {
	text := err.Error()
	return text[:min(len(text), maxLoggedError)]
}

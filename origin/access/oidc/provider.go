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

	"github.com/fieldmark/fieldmark/internal/timeout"
	"github.com/fieldmark/fieldmark/origin/safehttp"
)

// Limits of requests to a provider.
const (
	requestTimeout = 5 * time.Second * timeout.Scale // of one request: a user waits for it
	maxResponse    = 1 << 20                         // bytes of a response; large providers send about 20 KiB
	// of the discovery document; keys are fetched again when a token names an unknown one
	discoveryTTL  = time.Hour
	retryDelay    = time.Second     // after a failed discovery
	maxClockSkew  = 5 * time.Minute // how far the provider's clock may be ahead
	maxAuthAge    = 12 * time.Hour  // of an authentication at the provider; keep it equal to access.SessionAbsolute
	maxSubject    = 255             // bytes of a subject (OpenID Connect Core 1.0, section 2)
	emailClaim    = "email"
	defaultClaim  = "groups"
	discoveryPath = "/.well-known/openid-configuration"
)

// Errors that callers distinguish.
var (
	// ErrUnavailable means that the provider cannot be reached or violates the protocol.
	ErrUnavailable = errors.New("the sign-in provider is not available")
	// ErrDenied means that the callback or its token is not valid.
	ErrDenied = errors.New("the sign-in provider does not confirm this")
)

// Config is a provider, the registration of this client there, and the rules.
type Config struct {
	Issuer       string // URL, exactly as in its tokens; https, or http on loopback
	ClientID     string // registered at the provider
	ClientSecret string // empty for a public client, which PKCE protects
	RedirectURL  string // registered at the provider
	Scopes       []string
	Rules        Rules
	Label        string         // display name; empty: the host of the issuer
	Allow        []netip.Prefix // private networks that the provider may be in
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
	metadata  *oidc.Provider // nil until the first discovery
	fetchedAt time.Time      // time of the last discovery, also a failed one
	lastErr   error          // of the last discovery
}

// New checks cfg. It sends no request.
// All errors are reported at once. The provider may be unreachable when an origin starts.
func New(cfg Config) (*Provider, error) {
	var bad []error
	issuer, err := url.Parse(cfg.Issuer)
	if err != nil || issuer.Host == "" || issuer.RawQuery != "" || issuer.Fragment != "" || issuer.User != nil {
		return nil,
			fmt.Errorf("sign-in provider: the issuer %q is not an address such as https://login.example", cfg.Issuer)
	}
	if issuer.Scheme != "https" && !(issuer.Scheme == "http" && isLoopback(issuer.Hostname())) {
		bad = append(bad, errors.New("the issuer must be https: identities could be forged on the way"))
	}
	if cfg.ClientID == "" {
		bad = append(bad, errors.New("a client id is required"))
	}
	if back, err := url.Parse(cfg.RedirectURL); err != nil || back.Host == "" {
		bad = append(bad, errors.New("the public address must be set: the provider redirects browsers to it"))
	}
	if len(cfg.Rules.Admins)+len(cfg.Rules.Viewers) == 0 {
		bad = append(bad, errors.New("no one could sign in: set the claim values that give the role admin or viewer"))
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
	scopes := slices.DeleteFunc(slices.Clone(cfg.Scopes),
		func(s string) bool { return s == "" || s == oidc.ScopeOpenID })
	guarded := safehttp.New(safehttp.Config{Allow: cfg.Allow, Ports: allowedPorts(issuer), Timeout: requestTimeout})
	return &Provider{
		issuer: cfg.Issuer, label: cfg.Label, clientID: cfg.ClientID, secret: cfg.ClientSecret,
		redirect: cfg.RedirectURL,
		scopes:   append([]string{oidc.ScopeOpenID}, scopes...), rules: cfg.Rules, mu: new(sync.Mutex),
		http: &http.Client{Transport: limitedTransport{guarded}, Timeout: requestTimeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}, nil
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// allowedPorts returns 80, 443 and the port of the issuer.
func allowedPorts(issuer *url.URL) []uint16 {
	all := []uint16{80, 443}
	if n, err := strconv.ParseUint(issuer.Port(), 10, 16); err == nil && !slices.Contains(all, uint16(n)) {
		all = append(all, uint16(n))
	}
	return all
}

// limitedTransport sends requests through the guarded client and limits the responses.
// The address comes from an administrator and its redirects and endpoints from the provider, so
// the guard against private networks applies to all of them.
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

// Issuer returns the URL of the provider.
func (p *Provider) Issuer() string { return p.issuer }

// Label returns the display name of the provider.
func (p *Provider) Label() string { return p.label }

// Flow is a sign-in in progress. The browser keeps it until the callback, encrypted
// and authenticated.
type Flow struct {
	State      string `json:"s"` // binds the callback to this browser
	Nonce      string `json:"n"` // binds the token to this flow
	Verifier   string `json:"v"` // proves that this client started the flow (RFC 7636)
	ForceLogin bool   `json:"f"` // the user must authenticate again
}

// NewFlow returns a flow with random secrets.
func NewFlow(fresh bool) Flow {
	return Flow{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), ForceLogin: fresh}
}

// Begin returns the URL to redirect a browser to. The error is ErrUnavailable if the
// discovery document was never fetched.
// PKCE is used with a client secret too (RFC 9700, 2.1.1): it binds the code to this flow.
func (p *Provider) Begin(ctx context.Context, f Flow) (string, error) {
	known, err := p.discover(ctx)
	if err != nil {
		return "", err
	}
	options := []oauth2.AuthCodeOption{oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)}
	age := maxAuthAge // with max_age, the provider must send auth_time
	if f.ForceLogin {
		age = 0
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"))
	}
	options = append(options, oauth2.SetAuthURLParam("max_age", strconv.Itoa(int(age/time.Second))))
	return p.client(known).AuthCodeURL(f.State, options...), nil
}

func (p *Provider) client(known *oidc.Provider) *oauth2.Config {
	return &oauth2.Config{ClientID: p.clientID, ClientSecret: p.secret, Endpoint: known.Endpoint(),
		RedirectURL: p.redirect, Scopes: p.scopes}
}

// Finish exchanges the code of a callback for tokens and returns the identity. The
// caller must have compared the state. The error is ErrUnavailable or ErrDenied; it
// contains no secret and may be logged.
// The signature is verified with the keys of the provider. The algorithm is one that it announces,
// and never "none" or a symmetric one.
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
	raw, _ := tokens.Extra("id_token").(string) // the verifier rejects an empty one
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
	// A token for several clients names the one that asked for it (OpenID Connect Core 1.0, 2).
	if azp := c.values("azp"); len(azp) > 0 && !slices.Equal(azp, []string{p.clientID}) {
		return Identity{}, fmt.Errorf("%w: the token is for another client", ErrDenied)
	}
	if err := p.addUserInfo(ctx, known, tokens, token.Subject, c); err != nil {
		return Identity{}, err
	}
	return p.rules.identity(p.issuer, token.Subject, c), nil
}

// checkToken checks the claims that the verifier does not check.
func (p *Provider) checkToken(token *oidc.IDToken, f Flow) error {
	switch {
	case token.Nonce != f.Nonce || f.Nonce == "":
		return fmt.Errorf("%w: the token belongs to another sign-in", ErrDenied)
	case token.Subject == "" || len(token.Subject) > maxSubject:
		return fmt.Errorf("%w: the token has no valid subject", ErrDenied)
	case token.IssuedAt.After(time.Now().Add(maxClockSkew)):
		return fmt.Errorf("%w: the token was issued in the future; a clock is wrong", ErrDenied)
	}
	return nil
}

// addUserInfo adds the claims of the UserInfo endpoint if the token lacks the claim of
// the rules or the address: many providers keep them out of the token.
func (p *Provider) addUserInfo(ctx context.Context, known *oidc.Provider, tokens *oauth2.Token, subject string,
	c claims) error {
	if c.has(p.rules.Claim) && c.has(emailClaim) || known.UserInfoEndpoint() == "" {
		return nil
	}
	info, err := known.UserInfo(ctx, oauth2.StaticTokenSource(tokens))
	if err != nil { // the address alone is only a display name
		return unless(c.has(p.rules.Claim), fmt.Errorf("%w: fetch user info: %s", ErrUnavailable, truncate(err)))
	}
	if info.Subject != subject { // OpenID Connect Core 1.0, section 5.3.2
		return fmt.Errorf("%w: the user info is about another user", ErrDenied)
	}
	more, err := parseClaims(info)
	if err != nil {
		return fmt.Errorf("%w: %v", ErrUnavailable, err)
	}
	delete(more, "auth_time") // only the token is about this sign-in
	c.merge(more)
	return nil
}

// exchangeError distinguishes an invalid code from a failing provider. It leaves out
// the body of the response, which may hold a secret.
func exchangeError(err error) error {
	var failed *oauth2.RetrieveError
	if !errors.As(err, &failed) {
		return fmt.Errorf("%w: %s", ErrUnavailable, truncate(err))
	}
	what := ErrDenied
	if failed.Response != nil && failed.Response.StatusCode >= http.StatusInternalServerError {
		what = ErrUnavailable
	}
	return fmt.Errorf("%w: exchange the code: %s", what, failed.ErrorCode)
}

// discover returns the discovery document, from memory if it is less than an hour old.
// An older one is used while the provider is not available.
func (p *Provider) discover(ctx context.Context) (*oidc.Provider, error) {
	if metadata, ok, err := p.discovered(); ok {
		return metadata, err
	}
	// One request serves all waiting callers, and goes on when the first of them leaves.
	fetched := p.fetches.DoChan("", func() (any, error) {
		// A request that ended since the caller looked has the answer already.
		if metadata, ok, err := p.discovered(); ok {
			return metadata, err
		}
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
	case r := <-fetched:
		metadata, _ := r.Val.(*oidc.Provider)
		return metadata, r.Err
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
	}
}

// discovered returns the discovery document in memory, or why there is no newer one. It reports
// false if the provider must be asked.
func (p *Provider) discovered() (metadata *oidc.Provider, ok bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch age := time.Since(p.fetchedAt); {
	case p.lastErr == nil && p.metadata != nil && age < discoveryTTL:
		return p.metadata, true, nil
	// Sign-ins while the provider is unreachable must not become a flood of requests to it.
	case p.lastErr != nil && age < retryDelay:
		return p.metadata, true, unless(p.metadata != nil, p.lastErr)
	}
	return nil, false, nil
}

// unless returns err, or nil if ok, that is, if the failed operation has a fallback.
func unless(ok bool, err error) error {
	if ok {
		return nil
	}
	return err
}

// maxLoggedError limits the text of an error in bytes: it may contain a whole page.
const maxLoggedError = 200

func truncate(err error) string {
	text := err.Error()
	return text[:min(len(text), maxLoggedError)]
}

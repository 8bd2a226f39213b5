package edge

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
	"golang.org/x/sync/errgroup"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/conn"
	"github.com/fieldmark/fieldmark/edge/conn/certs"
	"github.com/fieldmark/fieldmark/internal/atomicfile"
	"github.com/fieldmark/fieldmark/origin/client"
)

// newCertificates returns the store of the edge's certificates; without TLS it is empty, so
// that callers need not check.
func newCertificates(cfg *Config) (*certs.Store, error) {
	if cfg.Certificates != nil {
		return cfg.Certificates, nil
	}
	return certs.New(certs.Config{})
}

// HTTP3Config configures HTTP/3.
type HTTP3Config struct {
	Conn net.PacketConn // the UDP socket; Run closes it
	// Port is the UDP port that clients reach, as Alt-Svc names it.
	Port int
	// EarlyData answers badges from memory in a client's first packet (0-RTT).
	EarlyData bool
}

// altSvcAge is how long clients cache that HTTP/3 is served, in seconds: it may be switched
// off, and clients then try it in vain.
const altSvcAge = 86400

// altSvc returns the value of Alt-Svc (RFC 7838, 3); empty without HTTP/3.
func (cfg *Config) altSvc() string {
	if cfg.HTTP3 == nil {
		return ""
	}
	return fmt.Sprintf(`%s=":%d"; ma=%d`, certs.ProtocolHTTP3, cfg.HTTP3.Port, altSvcAge)
}

// setAltSvc announces HTTP/3 to clients over TLS (RFC 9114, 3.1.1).
func (e *Edge) setAltSvc(ctx *fasthttp.RequestCtx) {
	if !ctx.IsTLS() {
		return
	}
	if value := e.conns.AltSvc(); value != "" {
		ctx.Response.Header.Set("Alt-Svc", value)
	}
}

// badRequest responds to bytes that are no acceptable request.
func (e *Edge) badRequest(ctx *fasthttp.RequestCtx, err error) {
	e.responder.badRequest(ctx, err)
	e.setAltSvc(ctx)
	e.requestLog.refused(ctx)
}

// serveHTTP3 begins to serve HTTP/3 if it is configured. stop refuses new connections and
// returns a function that ends those that are left.
func (e *Edge) serveHTTP3(ctx context.Context, g *errgroup.Group) (stop func() (end func()), err error) {
	cfg := e.cfg.HTTP3
	if cfg == nil {
		return func() func() { return func() {} }, nil
	}
	host, _ := os.Hostname() // an empty name only makes the key of resets shared
	ln, err := e.conns.ListenQUIC(cfg.Conn, conn.QUICConfig{TLS: e.certificates.QUICConfig(), Secret: e.cfg.NodeToken,
		Host: host, EarlyData: cfg.EarlyData})
	if err != nil {
		return nil, err
	}
	g.Go(func() error {
		if err := ln.Serve(); ctx.Err() == nil {
			return fmt.Errorf("serve HTTP/3 on %s: %w", cfg.Conn.LocalAddr(), err)
		}
		return nil
	})
	return func() func() {
		_ = ln.Stop() // fails only if it was stopped before
		return func() { _ = errors.Join(ln.Close(), cfg.Conn.Close()) }
	}, nil
}

// redirector serves the plain listener beside TLS: it redirects to https, and answers the
// challenges of CAs.
type redirector struct {
	edge *Edge
	port string // of the public https address, with a colon; empty: 443
}

// newRedirector returns the connection server of the plain listener.
func newRedirector(e *Edge, base *url.URL) *conn.Server {
	r := redirector{edge: e}
	if port := base.Port(); port != "" && port != "443" {
		r.port = ":" + port
	}
	cfg := e.connConfig()
	cfg.Handler, cfg.HeaderReceived, cfg.ExpectHandler, cfg.FastPath = r.serve, nil, nil, nil
	cfg.FastResponse, cfg.H2C = nil, false
	return conn.New(cfg)
}

// serve redirects a request to the same path over https if its host is one of this edge:
// anything else would make the edge an open redirector. Requests with a method that may
// have a body are refused, so that a client notices that it sends secrets unencrypted.
func (r redirector) serve(ctx *fasthttp.RequestCtx) {
	defer r.edge.requestLog.request(ctx)
	defer closeUnread(ctx)
	defer r.edge.responder.recoverPanic(ctx)
	e := r.edge
	defer func() { e.meters.count(routeRedirect, ctx.Response.StatusCode()) }()
	if token, ok := strings.CutPrefix(string(ctx.Path()), challengePath); ok && (ctx.IsGet() || ctx.IsHead()) {
		r.answerChallenge(ctx, token)
		return
	}
	if !ctx.IsGet() && !ctx.IsHead() {
		e.responder.fail(ctx, fieldmark.Errorf(fieldmark.CodeHTTPSRequired, "repeat the request over https"))
		return
	}
	host := (&url.URL{Host: string(ctx.Request.Header.Host())}).Hostname()
	target := ctx.RequestURI()
	if !isOriginForm(target) || !e.certificates.Serves(host) && !strings.EqualFold(host, e.hosts.own) {
		e.responder.fail(ctx,
			fieldmark.Errorf(fieldmark.CodeMisdirected, "this server has no certificate for that host"))
		return
	}
	if strings.Contains(host, ":") { // IPv6
		host = "[" + host + "]"
	}
	ctx.Response.Header.Set("Location", "https://"+host+r.port+string(target))
	ctx.Response.Header.Set("Cache-Control", "no-store") // challenges and hosts change
	ctx.SetStatusCode(http.StatusPermanentRedirect)
}

// challengePath begins the paths of HTTP-01 (RFC 8555, 8.3); the token follows.
const challengePath = "/.well-known/acme-challenge/"

// Lengths of the token of a challenge: 128 bits in base64url at least (RFC 8555, 8.1).
const (
	minChallengeToken = 22
	maxChallengeToken = 128
)

func isChallengeToken(token string) bool {
	if len(token) < minChallengeToken || len(token) > maxChallengeToken {
		return false
	}
	return !strings.ContainsFunc(token, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_'
	})
}

// answerChallenge answers HTTP-01. A token that the origin does not have may be one of a site
// behind this edge.
func (r redirector) answerChallenge(ctx *fasthttp.RequestCtx, token string) {
	e, err := r.edge, error(errNoChallenge)
	answer := ""
	if isChallengeToken(token) && e.loader != nil {
		rc, cancel := e.fetcher.context(ctx)
		defer cancel()
		answer, err = e.loader.challenge(rc, client.ChallengeHTTP01, token)
	}
	switch {
	case err == nil:
		ctx.Response.Header.Set("Cache-Control", "no-store")
		ctx.SetContentType("text/plain; charset=utf-8")
		ctx.SetBodyString(answer)
		ctx.Response.SkipBody = ctx.IsHead()
	case e.cfg.Site != nil:
		e.proxied.serve(ctx)
	default:
		e.responder.fail(ctx, err)
	}
}

const (
	// certificatesEvery is the time between two loads without an event, should one be lost.
	certificatesEvery = 5 * time.Minute
	// challengeRate bounds the lookups of challenges at the origin, in a second: anyone
	// can cause them.
	challengeRate = 10
	// refusalLife is how long the origin's answer is remembered that a challenge is not
	// open, and maxRefusals how many answers.
	refusalLife = 5 * time.Second
	maxRefusals = 1000
	// stateFile holds the certificates in the folder of Config.TLSState.
	stateFile = "certificates.json"
	// maxStateFile bounds it in bytes: 500 chains of 8 kB.
	maxStateFile = 4 << 20
)

var errNoChallenge = fieldmark.Errorf(fieldmark.CodeNotFound, "no such challenge is open")

// certificateLoader keeps the certificates up to date with those of the origin, and answers
// the challenges of CAs.
type certificateLoader struct {
	edge   *Edge
	state  string        // folder that keeps the certificates; empty: none
	wake   chan struct{} // holds a signal when the origin's certificates have changed
	loaded atomic.Bool   // from the origin or the folder

	mu       sync.Mutex
	second   int64 // Unix time
	asked    int   // questions in it
	refusals map[string]time.Time
}

func newCertificateLoader(e *Edge, state string) *certificateLoader {
	l := &certificateLoader{edge: e, state: state, wake: make(chan struct{}, 1), refusals: map[string]time.Time{}}
	e.certificates.Challenge = l.challengeCertificate
	return l
}

// run loads the certificates now and whenever they change, until ctx ends. While the origin is
// unreachable, those that were loaded stay in use.
func (l *certificateLoader) run(ctx context.Context) error {
	if err := l.restore(); err != nil {
		l.edge.log.Error("certificates of an earlier start cannot be used", "err", err)
	}
	pause := backoffFirst
	for ctx.Err() == nil {
		err := l.load(ctx)
		wait := certificatesEvery
		switch {
		case err == nil:
			pause = backoffFirst
		case ctx.Err() != nil:
			return nil
		default:
			if pause == backoffFirst {
				l.edge.log.Warn("certificates cannot be loaded from the origin", "err", err)
			}
			wait = pause/2 + rand.N(pause)
			pause = min(2*pause, backoffMax)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-l.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
	return nil
}

// load loads the certificates from the origin and stores them.
func (l *certificateLoader) load(ctx context.Context) error {
	all, err := l.edge.cfg.Origin.Certificates(ctx)
	if err != nil {
		return err
	}
	if err := l.apply(all); err != nil {
		return err
	}
	return l.store(all)
}

// apply uses certificates for the next handshakes. One that cannot be used does not keep back
// the others.
func (l *certificateLoader) apply(all fieldmark.EdgeCertificates) error {
	var pairs []tls.Certificate
	var pending []string
	for _, sealed := range all.Certificates {
		pending = append(pending, sealed.Name)
		if sealed.Chain == "" {
			continue
		}
		key, err := l.edge.cfg.Origin.OpenKey(sealed)
		var pair tls.Certificate
		if err == nil {
			pair, err = tls.X509KeyPair([]byte(sealed.Chain), []byte(key))
		}
		if err != nil {
			l.edge.log.Error("a certificate cannot be used", "name", sealed.Name, "err", err)
			continue
		}
		if time.Now().After(pair.Leaf.NotAfter) {
			l.edge.log.Error("a certificate has expired", "name", sealed.Name, "expired", pair.Leaf.NotAfter)
		}
		pairs = append(pairs, pair)
	}
	if err := l.edge.certificates.Set(pairs, pending...); err != nil {
		return err
	}
	l.loaded.Store(true)
	return nil
}

// store keeps the certificates for a start without the origin, their keys encrypted.
func (l *certificateLoader) store(all fieldmark.EdgeCertificates) error {
	if l.state == "" {
		return nil
	}
	body, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("store certificates: %w", err)
	}
	if err := atomicfile.Write(filepath.Join(l.state, stateFile), body); err != nil {
		return fmt.Errorf("store certificates: %w", err)
	}
	return nil
}

// restore uses the stored certificates.
func (l *certificateLoader) restore() error {
	if l.state == "" {
		return nil
	}
	path := filepath.Join(l.state, stateFile)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && info.Size() > maxStateFile {
		err = fmt.Errorf("%s has %d bytes, at most %d", path, info.Size(), maxStateFile)
	}
	if err != nil {
		return err
	}
	body, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var all fieldmark.EdgeCertificates
	if err := json.Unmarshal(body, &all); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return l.apply(all)
}

// challengeCertificate answers TLS-ALPN-01.
func (l *certificateLoader) challengeCertificate(ctx context.Context, name string) (*tls.Certificate, error) {
	ctx, cancel := context.WithTimeout(ctx, fillTimeout)
	defer cancel()
	answer, err := l.challenge(ctx, client.ChallengeTLSALPN01, name)
	if err != nil {
		return nil, err
	}
	return certs.ChallengeCertificate(name, answer)
}

// challenge reads the answer to a challenge from the origin.
func (l *certificateLoader) challenge(ctx context.Context, kind, tokenOrName string) (string, error) {
	what := kind + " " + tokenOrName
	if !l.mayAsk(what, time.Now()) {
		return "", errNoChallenge
	}
	answer, err := l.edge.cfg.Origin.CertificateChallenge(ctx, kind, tokenOrName)
	if fieldmark.IsCode(err, fieldmark.CodeNotFound) {
		l.mu.Lock()
		if len(l.refusals) >= maxRefusals {
			clear(l.refusals)
		}
		l.refusals[what] = time.Now()
		l.mu.Unlock()
	}
	if err != nil {
		l.edge.log.Debug("a challenge is not answered", "kind", kind, "challenge", tokenOrName, "err", err)
		return "", publicError(err)
	}
	l.edge.log.Info("a challenge is answered", "kind", kind, "challenge", tokenOrName)
	return answer.KeyAuthorization, nil
}

// mayAsk reports whether a question to the origin is within the limits, and counts it.
func (l *certificateLoader) mayAsk(what string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.refusals[what]) < refusalLife {
		return false
	}
	if second := now.Unix(); second != l.second {
		l.second, l.asked = second, 0
	}
	l.asked++
	return l.asked <= challengeRate
}

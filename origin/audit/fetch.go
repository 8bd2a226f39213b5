package audit

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/audit/robots"
	"github.com/fieldmark/fieldmark/origin/safehttp"
)

// Token is the name of the auditor in robots.txt, and UserAgent identifies one that runs
// without a public address, such as that of a command.
const (
	Token     = "FieldmarkBot"
	UserAgent = Token + "/1.0 (+https://github.com/fieldmark/fieldmark)"
)

// UserAgentOf identifies the auditor of an installation by its public URL, which has a page
// about it.
func UserAgentOf(base string) string {
	if base == "" {
		return UserAgent
	}
	return Token + "/1.0 (+" + strings.TrimSuffix(base, "/") + fieldmark.PathBot + ")"
}

// The limits of one audit, which bound the load on the site and the cost of a
// malicious one.
const (
	DefaultDelay = time.Second // between requests to one host, the pace of a person

	// DefaultMaxRequests is the maximum per audit, redirects included: the largest sample,
	// those for profiles, and 16 for robots.txt, sitemaps, llms.txt, the other scheme, translations and
	// redirects. At the default delay an audit takes less than a minute of requests, once
	// a week, and a site of ten pages gets about as many as before samples grew.
	DefaultMaxRequests = fieldmark.MaxSampledPages + profileRequests + 16

	maxPageBytes  = 5 << 20          // of a decompressed page; the largest real llms-full.txt has exactly this size
	maxPageURL    = 512              // bytes of an address to sample; matching robots rules costs its length
	maxRedirects  = 5                // hops followed for one address (RFC 9309, section 2.3.1.2)
	maxRatio      = 200              // decompressed to compressed; HTML reaches 20, a compression bomb 1,000
	ratioAfter    = 1 << 20          // bytes below which any ratio is accepted
	maxRetryAfter = 10 * time.Second // a longer wait does not fit into an audit
	auditDeadline = 4 * time.Minute  // of one audit: all requests, with their pauses, at 5 s each
)

// Why a request was not made or failed. The texts are shown to users as evidence.
var (
	errNoRequestsLeft = errors.New("the audit has used all its requests")
	errDisallowed     = errors.New("robots.txt does not allow this crawler")
	errRedirects      = errors.New("too many redirects")
	errRatio          = errors.New("the response decompresses to far more than its size")
	errDeadline       = errors.New("the audit exceeded its time limit")
	errTruncated      = errors.New("the response ended early")
)

// visit is the outcome of fetching one address.
type visit struct {
	asked  string
	url    *url.URL // of the response, after redirects
	status int
	header http.Header
	body   []byte
	cut    bool          // the body was longer than maxPageBytes
	wait   time.Duration // time to the first byte of the response
	hops   []string      // targets of the redirects, in order
	err    error         // why there is no usable response
	walled bool          // bot protection responded in place of the site
}

// ok reports whether the response was successful.
func (v *visit) ok() bool { return v.err == nil && !v.walled && v.status >= 200 && v.status < 300 }

// denied reports whether the server denied the address without a mark of bot protection:
// to everyone, or to this auditor.
func (v *visit) denied() bool {
	return !v.walled && (v.status == http.StatusUnauthorized || v.status == http.StatusForbidden)
}

// refused reports whether no request was made, so that nothing is known about the
// address.
func (v *visit) refused() bool {
	return errors.Is(v.err, errDisallowed) || errors.Is(v.err, errNoRequestsLeft)
}

// unseen reports whether the site itself did not respond, because no request was made or bot
// protection responded: nothing is known about the address.
func (v *visit) unseen() bool { return v.walled || v.refused() }

// unanswered reports whether the server sent no usable response for the address, so that
// its facts are unknown: the request failed, or the server failed, was overloaded or is
// behind bot protection.
func (v *visit) unanswered() bool {
	return v.err != nil || v.walled || v.status >= 500 || v.status == http.StatusTooManyRequests
}

// outcome describes the outcome in stable words, so that repeated audits give the
// same facts.
func (v *visit) outcome() string {
	switch {
	case v.walled:
		return fmt.Sprintf("answered %d to this auditor; others may see more", v.status)
	case v.err == nil:
		return fmt.Sprintf("responded %d", v.status)
	case errors.Is(v.err, safehttp.ErrNotAllowed):
		return "address not allowed"
	case errors.Is(v.err, errNoRequestsLeft):
		return errNoRequestsLeft.Error() // without the reason of Admit or Sent
	case errors.Is(v.err, errDisallowed), errors.Is(v.err, errRedirects),
		errors.Is(v.err, errRatio), errors.Is(v.err, errTruncated):
		return v.err.Error()
	case isTimeout(v.err):
		return "no response in time"
	case isCertificate(v.err):
		return "no valid TLS certificate"
	}
	return "no response" // network errors differ from attempt to attempt
}

// wallFields are header fields that bot protection adds to its responses. The first is
// documented by Cloudflare, the third by AWS; the last asks for signed requests
// (RFC 9421, section 5.1).
var wallFields = []struct{ name, value string }{
	{"Cf-Mitigated", "challenge"}, {"X-Datadome", ""}, {"X-Amzn-Waf-Action", ""}, {"X-Sucuri-Block", ""},
	{"X-Iinfo", ""}, {"Accept-Signature", ""},
}

// marksWall reports whether a response is one of bot protection by its header. Some
// vendors mark the responses of the site too, so the status must be one that refuses. AWS
// challenges a client with 202, and with 405 for a puzzle.
func marksWall(status int, header http.Header) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotAcceptable, http.StatusTooManyRequests,
		http.StatusServiceUnavailable:
	case http.StatusAccepted, http.StatusMethodNotAllowed:
		return header.Get("X-Amzn-Waf-Action") != ""
	default:
		return false
	}
	return slices.ContainsFunc(wallFields, func(f struct{ name, value string }) bool {
		values := header.Values(f.name)
		return len(values) > 0 && (f.value == "" || strings.EqualFold(strings.TrimSpace(values[0]), f.value))
	})
}

// fetcher makes the requests of one audit, one at a time.
type fetcher struct {
	Hooks
	acquire      func(ctx context.Context, host string) (release func(pause time.Duration), err error)
	client       *safehttp.Client
	userAgent    string
	delay        time.Duration
	requestsLeft int
	failed       error                 // of acquire: nothing that was found can be trusted
	refusals     map[string]error      // results of Admit per host
	ended        error                 // of Sent
	next         map[string]time.Time  // earliest time of the next request per host
	rules        map[string]robotsFile // by scheme and host
	suspended    map[string]bool       // hosts that requested a longer pause than the audit has
}

// robotsFile is the robots.txt of a host and the visit that read it.
type robotsFile struct {
	robots.File
	visit visit // without the body
}

// newFetcher returns the fetcher of one audit.
func newFetcher(c Config) *fetcher {
	f := &fetcher{client: c.HTTP, userAgent: cmp.Or(c.UserAgent, UserAgent), delay: c.Delay,
		requestsLeft: c.MaxRequests, acquire: c.Acquire,
		refusals: map[string]error{}, next: map[string]time.Time{}, rules: map[string]robotsFile{},
		suspended: map[string]bool{}}
	if f.delay == 0 {
		f.delay = DefaultDelay
	}
	if f.requestsLeft == 0 {
		f.requestsLeft = DefaultMaxRequests
	}
	return f
}

// request is a request and how to read its response.
type request struct {
	url    *url.URL
	accept string
	free   bool                              // robots.txt itself needs no permission
	read   func(r io.Reader, v *visit) error // nil reads up to maxPageBytes into the body
}

const acceptHTML = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"

// get fetches a page if robots.txt allows it. It follows redirects, including an
// immediate meta refresh, and checks each against robots.txt.
func (f *fetcher) get(ctx context.Context, q request) visit {
	v := visit{asked: q.url.String(), url: q.url}
	seen := map[string]bool{}
	for at := q.url; ; {
		if !q.free {
			r := f.robots(ctx, at)
			if v.err = r.Err; v.err == nil && forbids(r.File, at) {
				v.err = errDisallowed
			}
			if v.err != nil {
				v.status, v.header, v.body = 0, nil, nil // those of a redirect
				return v
			}
		}
		f.fetchOnce(ctx, at, q, &v)
		to := v.redirect(at)
		if to == nil && q.accept == acceptHTML && isPage(&v) {
			to = refreshTarget(at, v.body)
		}
		if to == nil {
			return v
		}
		if len(v.hops) == maxRedirects || seen[to.String()] {
			v.err = errRedirects
			return v
		}
		seen[to.String()] = true
		v.hops = append(v.hops, to.String())
		v.url, at = to, to
	}
}

// forbids reports whether robots.txt forbids this crawler to fetch u.
func forbids(r robots.File, u *url.URL) bool {
	v, _ := r.Check(Token, u)
	return v == robots.Disallowed
}

// robots returns the rules of u's host. It fetches them the first time.
func (f *fetcher) robots(ctx context.Context, u *url.URL) robotsFile {
	key := u.Scheme + "://" + u.Host
	if r, ok := f.rules[key]; ok {
		return r
	}
	v := f.get(ctx, request{url: &url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/robots.txt"},
		accept: "text/plain,*/*;q=0.5", free: true})
	r := robotsFile{File: newRobots(v), visit: v}
	r.visit.body = nil
	f.rules[key] = r
	return r
}

// newRobots evaluates the response for robots.txt.
func newRobots(v visit) robots.File {
	switch {
	case errors.Is(v.err, errRedirects):
		return robots.WithoutRules(v.asked, "robots.txt redirects too often or in a loop")
	case v.err != nil:
		return robots.Unanswered(v.asked, v.err)
	case v.walled && v.status < 400:
		return robots.WithoutRules(v.asked, "bot protection answered in place of robots.txt")
	case v.ok() && looksLikeHTML(v.body):
		// A page returned for every path; parsers find no rules in it either.
		return robots.WithoutRules(v.asked, "robots.txt returned an HTML page")
	}
	return robots.Parse(v.asked, v.status, v.body)
}

// fetchWithoutRedirects fetches an address whose robots rules are known.
func (f *fetcher) fetchWithoutRedirects(ctx context.Context, u *url.URL, r robots.File) visit {
	v := visit{asked: u.String(), url: u}
	if forbids(r, u) {
		v.err = errDisallowed
		return v
	}
	f.fetchOnce(ctx, u, request{url: u, accept: acceptHTML}, &v)
	return v
}

// redirect returns the target of a redirect, or nil.
func (v *visit) redirect(from *url.URL) *url.URL {
	if v.err != nil {
		return nil
	}
	switch v.status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect:
	default:
		return nil
	}
	to, err := from.Parse(v.header.Get("Location"))
	if err != nil || !isWeb(to) || v.header.Get("Location") == "" {
		return nil
	}
	to.Fragment = ""
	return to
}

// fetchOnce makes one request when the host's rate limit allows, and retries once if the
// response has a short Retry-After.
func (f *fetcher) fetchOnce(ctx context.Context, u *url.URL, q request, v *visit) {
	for try := 0; ; try++ {
		v.status, v.header, v.body, v.cut, v.wait, v.err, v.walled = 0, nil, nil, false, 0, nil, false
		if v.err = f.admit(ctx, u); v.err != nil {
			return
		}
		release, err := f.waitForHost(ctx, u.Host)
		if err != nil {
			v.err = err
			return
		}
		f.requestsLeft--
		v.err = f.send(ctx, u, q, v)
		wait, again := f.retry(v, u.Host, try)
		pause := max(wait, f.delay, 0)
		f.next[u.Host] = time.Now().Add(pause)
		release(pause)
		if !again {
			return
		}
	}
}

// admit returns an error with errNoRequestsLeft if no request may be made to u.
func (f *fetcher) admit(ctx context.Context, u *url.URL) error {
	if f.requestsLeft <= 0 || f.suspended[u.Host] {
		return errNoRequestsLeft
	}
	if f.ended != nil {
		return fmt.Errorf("%w: %w", errNoRequestsLeft, f.ended)
	}
	if f.Admit == nil {
		return nil
	}
	err, known := f.refusals[u.Hostname()]
	if !known {
		err = f.Admit(ctx, u.Hostname())
		f.refusals[u.Hostname()] = err
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errNoRequestsLeft, err)
	}
	return nil
}

// retry reports whether to repeat a request, and after which time: once, if the response
// has a short Retry-After.
func (f *fetcher) retry(v *visit, host string, try int) (wait time.Duration, again bool) {
	if v.err != nil || v.status != http.StatusTooManyRequests && v.status != http.StatusServiceUnavailable {
		return 0, false
	}
	wait, asked := retryAfter(v.header.Get("Retry-After"), time.Now())
	if !asked {
		return 0, false
	}
	if try > 0 || wait > maxRetryAfter {
		f.suspended[host] = true // the pause is longer than this audit
		return 0, false
	}
	return wait, true
}

// retryAfter parses both forms of the field (RFC 9110, section 10.2.3).
func retryAfter(field string, now time.Time) (wait time.Duration, ok bool) {
	if n, err := strconv.ParseUint(strings.TrimSpace(field), 10, 31); err == nil {
		return time.Duration(n) * time.Second, true
	}
	if at, err := http.ParseTime(field); err == nil {
		return max(at.Sub(now), 0), true
	}
	return 0, false
}

// waitForHost waits until the next request to a host is allowed. The caller calls release
// after the request, with the pause until the next one.
func (f *fetcher) waitForHost(ctx context.Context, host string) (release func(pause time.Duration), err error) {
	if wait := time.Until(f.next[host]); wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if f.acquire == nil || f.delay < 0 {
		return func(time.Duration) {}, nil
	}
	if release, err = f.acquire(ctx, host); err != nil && ctx.Err() == nil {
		f.failed = err
	}
	return release, err
}

// send sends one request and reads its response.
func (f *fetcher) send(ctx context.Context, u *url.URL, q request, v *visit) error {
	var first time.Time
	var peer net.Addr
	trace := &httptrace.ClientTrace{GotFirstResponseByte: func() { first = time.Now() },
		GotConn: func(c httptrace.GotConnInfo) { peer = c.Conn.RemoteAddr() }}
	if f.Sent != nil {
		defer func() { f.ended = errors.Join(f.ended, f.Sent(ctx, addrOf(peer))) }()
	}
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), http.MethodGet, u.String(), nil)
	if err != nil {
		return fmt.Errorf("request for a page: %w", err)
	}
	req.Header.Set("User-Agent", f.userAgent)
	req.Header.Set("Accept", q.accept)
	req.Header.Set("Accept-Encoding", "gzip")
	start := time.Now()
	resp, err := f.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	v.status, v.header, v.wait = resp.StatusCode, resp.Header, first.Sub(start)
	v.walled = marksWall(v.status, v.header)
	if v.walled {
		return nil // its body is not that of the site
	}
	packed := &countingReader{r: resp.Body}
	body, err := decompress(packed, resp.Header.Get("Content-Encoding"))
	if err != nil && !v.ok() {
		return nil // the status is sufficient
	}
	if err != nil {
		return err
	}
	if q.read != nil && v.ok() {
		return q.read(body, v)
	}
	return readPage(body, v)
}

// addrOf returns the IP address of a peer, the zero Addr if it is unknown.
func addrOf(peer net.Addr) netip.Addr {
	if tcp, ok := peer.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

// readPage reads at most maxPageBytes of a body. A truncated body is an error: the
// missing part may contain the text, or the rule that decides.
func readPage(r io.Reader, v *visit) error {
	body, err := io.ReadAll(io.LimitReader(r, maxPageBytes+1))
	if len(body) > maxPageBytes {
		body, v.cut, err = body[:maxPageBytes], true, nil
	}
	v.body = body
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errRatio):
		v.body = nil
		return err
	case !v.ok():
		return nil // the status is sufficient
	case len(body) == 0:
		return fmt.Errorf("read a page: %w", err)
	}
	v.body = nil
	return errTruncated
}

// decompress decodes the only encoding that requests accept. Its output is limited
// to maxRatio times its input, so that a few kilobytes cannot become gigabytes.
func decompress(packed *countingReader, encoding string) (io.Reader, error) {
	body, err := safehttp.Decode(packed, encoding)
	return &ratioLimitedReader{r: body, packed: packed}, err
}

// countingReader counts the bytes read through it.
type countingReader struct {
	r io.Reader
	n int64
}

// Read implements io.Reader.
func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// ratioLimitedReader fails when decompression exceeds maxRatio.
type ratioLimitedReader struct {
	r      io.Reader
	packed *countingReader
	n      int64
}

// Read implements io.Reader.
func (b *ratioLimitedReader) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.n += int64(n); b.n > ratioAfter && b.n > maxRatio*b.packed.n {
		return 0, errRatio
	}
	return n, err
}

// isTimeout reports whether an error is a timeout.
func isTimeout(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	n, ok := errors.AsType[net.Error](err)
	return ok && n.Timeout()
}

// isCertificate reports whether a TLS handshake failed because of the certificate.
func isCertificate(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return true
	}
	_, ok := errors.AsType[x509.UnknownAuthorityError](err)
	return ok
}

// isWeb reports whether u is an absolute http or https address.
func isWeb(u *url.URL) bool {
	return (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// looksLikeHTML reports whether a body is an HTML page: many servers return their
// home page or a challenge for every path. The Content-Type is not considered,
// because many servers send plain text as text/html.
func looksLikeHTML(body []byte) bool {
	start := bytes.ToLower(bytes.TrimSpace(trimBOM(body[:min(len(body), 512)])))
	for _, tag := range []string{"<!doctype html", "<html", "<head", "<body", "<script", "<title", "<meta"} {
		if bytes.HasPrefix(start, []byte(tag)) {
			return true
		}
	}
	return false
}

func trimBOM(b []byte) []byte { return bytes.TrimPrefix(b, []byte("\uFEFF")) }

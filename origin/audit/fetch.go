package audit

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark/origin/safehttp"
)

// What one audit may cost the site, and what the site may cost us.
const (
	DefaultDelay       = time.Second // between requests to one host, as a person clicks
	DefaultMaxRequests = 20          // of one audit, redirects included

	maxPageBytes  = 5 << 20          // of a page once decompressed; the largest real llms-full.txt is exactly that
	maxPageURL    = 512              // bytes of an address worth sampling; matching rules against it costs its length
	maxRedirects  = 5                // hops followed for one address (RFC 9309, section 2.3.1.2)
	maxRatio      = 200              // decompressed to compressed; HTML reaches 20, a bomb 1,000
	ratioAfter    = 1 << 20          // bytes below which any ratio is harmless
	maxRetryAfter = 10 * time.Second // a longer wait is taken as "come back another day"
	auditDeadline = 3 * time.Minute  // of one audit: 20 slow requests with their pauses
)

// Why a request was not made or led nowhere.
var (
	errBudget    = errors.New("the audit has no requests left")
	errOurRobots = errors.New("robots.txt asks this crawler to stay away")
	errRedirects = errors.New("too many redirects")
	errBomb      = errors.New("the answer unpacks to far more than it is")
	errTime      = errors.New("the audit ran out of time")
	errBroken    = errors.New("the answer broke off before its end")
)

// visit is what came back for one address.
type visit struct {
	asked  string
	url    *url.URL // that answered, after redirects
	status int
	header http.Header
	body   []byte
	cut    bool          // the body was longer than may be read
	wait   time.Duration // until the first byte of the answer
	hops   []string      // the addresses the redirects led to, in order
	err    error         // no answer: the reason
}

// ok reports whether the visit found something.
func (v *visit) ok() bool { return v.err == nil && v.status >= 200 && v.status < 300 }

// refused reports whether robots.txt kept us from looking, so that nothing is
// known of the address.
func (v *visit) refused() bool { return errors.Is(v.err, errOurRobots) || errors.Is(v.err, errBudget) }

// unanswered reports whether the server gave no answer about the address, so that
// nothing is known of it: it refused, failed, or was too busy.
func (v *visit) unanswered() bool {
	return v.err != nil || v.status >= 500 || v.status == http.StatusTooManyRequests
}

// outcome tells in a few stable words what became of a visit.
func (v *visit) outcome() string {
	switch {
	case v.err == nil:
		return fmt.Sprintf("answered %d", v.status)
	case errors.Is(v.err, safehttp.ErrNotAllowed):
		return "address not allowed"
	case errors.Is(v.err, errOurRobots), errors.Is(v.err, errBudget), errors.Is(v.err, errRedirects), errors.Is(v.err, errBomb), errors.Is(v.err, errBroken):
		return v.err.Error()
	case isTimeout(v.err):
		return "no answer in time"
	case isCertificate(v.err):
		return "no valid TLS certificate"
	}
	return "no answer" // what the network said differs from try to try
}

// fetcher makes the requests of one audit, one at a time.
type fetcher struct {
	client *safehttp.Client
	delay  time.Duration
	left   int
	next   map[string]time.Time // when each host may be asked again
	rules  map[string]robots    // by scheme and host
	asides map[string]bool      // hosts that asked to be left alone
}

func newFetcher(c Config) *fetcher {
	f := &fetcher{client: c.HTTP, delay: c.Delay, left: c.MaxRequests,
		next: map[string]time.Time{}, rules: map[string]robots{}, asides: map[string]bool{}}
	if f.delay == 0 {
		f.delay = DefaultDelay
	}
	if f.left == 0 {
		f.left = DefaultMaxRequests
	}
	return f
}

// request is what to ask for and how to read the answer.
type request struct {
	url    *url.URL
	accept string
	free   bool                              // robots.txt itself needs no permission
	read   func(r io.Reader, v *visit) error // nil reads up to maxPageBytes into the body
}

const acceptHTML = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"

// get asks for a page, if robots.txt permits, and follows redirects, each checked
// against robots.txt. A page that refreshes at once to another address redirects.
func (f *fetcher) get(ctx context.Context, q request) visit {
	v := visit{asked: q.url.String(), url: q.url}
	seen := map[string]bool{}
	for at := q.url; ; {
		if !q.free {
			r := f.robots(ctx, at)
			if v.err = r.err; v.err == nil && r.blocks(at) {
				v.err = errOurRobots
			}
			if v.err != nil {
				return v
			}
		}
		f.once(ctx, at, q, &v)
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

// blocks reports whether robots.txt keeps this crawler away from u.
func (r robots) blocks(u *url.URL) bool {
	v, _ := r.judge(Token, u)
	return v == disallowed
}

// robots returns the rules of u's host, asking for them the first time.
func (f *fetcher) robots(ctx context.Context, u *url.URL) robots {
	key := u.Scheme + "://" + u.Host
	if r, ok := f.rules[key]; ok {
		return r
	}
	r := newRobots(f.get(ctx, request{url: &url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/robots.txt"}, accept: "text/plain,*/*;q=0.5", free: true}))
	f.rules[key] = r
	return r
}

// peek asks for an address whose host's rules are known, and follows nothing.
func (f *fetcher) peek(ctx context.Context, u *url.URL, r robots) visit {
	v := visit{asked: u.String(), url: u}
	if r.blocks(u) {
		v.err = errOurRobots
		return v
	}
	f.once(ctx, u, request{url: u, accept: acceptHTML}, &v)
	return v
}

// redirect returns where an answer points to, or nil.
func (v *visit) redirect(from *url.URL) *url.URL {
	if v.err != nil {
		return nil
	}
	switch v.status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
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

// once makes one request, when the host's pace allows, and once more if the
// host asks for a short wait.
func (f *fetcher) once(ctx context.Context, u *url.URL, q request, v *visit) {
	for try := 0; ; try++ {
		v.status, v.header, v.body, v.cut, v.wait, v.err = 0, nil, nil, false, 0, nil
		if f.left <= 0 || f.asides[u.Host] {
			v.err = errBudget
			return
		}
		if v.err = f.pace(ctx, u.Host); v.err != nil {
			return
		}
		f.left--
		v.err = f.ask(ctx, u, q, v)
		f.next[u.Host] = time.Now().Add(max(f.delay, 0))
		if v.err != nil || v.status != http.StatusTooManyRequests && v.status != http.StatusServiceUnavailable {
			return
		}
		wait, asked := retryAfter(v.header.Get("Retry-After"), time.Now())
		if !asked {
			return
		}
		if try > 0 || wait > maxRetryAfter {
			f.asides[u.Host] = true // it told us when to come back, and that is not in this audit
			return
		}
		f.next[u.Host] = time.Now().Add(max(wait, f.delay))
	}
}

// retryAfter reads the field in both its forms (RFC 9110, section 10.2.3).
func retryAfter(field string, now time.Time) (wait time.Duration, ok bool) {
	if n, err := strconv.ParseUint(strings.TrimSpace(field), 10, 31); err == nil {
		return time.Duration(n) * time.Second, true
	}
	if at, err := http.ParseTime(field); err == nil {
		return max(at.Sub(now), 0), true
	}
	return 0, false
}

// pace waits until a host may be asked again.
func (f *fetcher) pace(ctx context.Context, host string) error {
	wait := time.Until(f.next[host])
	if wait <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ask sends one request and reads its answer.
func (f *fetcher) ask(ctx context.Context, u *url.URL, q request, v *visit) error {
	var first time.Time
	trace := &httptrace.ClientTrace{GotFirstResponseByte: func() { first = time.Now() }}
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), http.MethodGet, u.String(), nil)
	if err != nil {
		return fmt.Errorf("request for a page: %w", err)
	}
	req.Header.Set("User-Agent", UserAgent)
	req.Header.Set("Accept", q.accept)
	req.Header.Set("Accept-Encoding", "gzip")
	start := time.Now()
	resp, err := f.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	v.status, v.header, v.wait = resp.StatusCode, resp.Header, first.Sub(start)
	packed := &counter{r: resp.Body}
	body, err := unpack(packed, resp.Header.Get("Content-Encoding"))
	if err != nil {
		return err
	}
	if q.read != nil && v.ok() {
		return q.read(body, v)
	}
	return readPage(body, v)
}

// readPage reads as much of a body as a page may have. A body that breaks off is
// an error: what is missing may be the text, or the rule that decides.
func readPage(r io.Reader, v *visit) error {
	body, err := io.ReadAll(io.LimitReader(r, maxPageBytes+1))
	if len(body) > maxPageBytes {
		body, v.cut, err = body[:maxPageBytes], true, nil
	}
	v.body = body
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errBomb):
		v.body = nil
		return err
	case !v.ok():
		return nil // the status says all that is needed
	case len(body) == 0:
		return fmt.Errorf("read a page: %w", err)
	}
	v.body = nil
	return errBroken
}

// unpack undoes the one encoding we ask for. Its output is held to maxRatio
// times its input, so that a few kilobytes cannot become gigabytes.
func unpack(packed *counter, encoding string) (io.Reader, error) {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "gzip", "x-gzip":
		return gunzip(packed)
	case "", "identity":
		return packed, nil
	}
	return nil, fmt.Errorf("the answer is encoded as %.20q, which was not asked for", encoding)
}

func gunzip(packed *counter) (io.Reader, error) {
	z, err := gzip.NewReader(packed)
	if errors.Is(err, io.EOF) {
		return bytes.NewReader(nil), nil
	}
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	return &bounded{r: z, packed: packed}, nil
}

// counter counts what was read through it.
type counter struct {
	r io.Reader
	n int64
}

// Read implements io.Reader.
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// bounded ends a decompression that has become absurd.
type bounded struct {
	r      io.Reader
	packed *counter
	n      int64
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.n += int64(n); b.n > ratioAfter && b.n > maxRatio*b.packed.n {
		return 0, errBomb
	}
	return n, err
}

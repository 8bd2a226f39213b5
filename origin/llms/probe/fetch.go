package probe

import (
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/fieldmark/fieldmark/origin/safehttp"
)

// The limits of one response and of redirects.
const (
	maxFile      = 5 << 20 // the largest real file has exactly this size; the linter reports what is too large
	maxPage      = 1 << 20 // the head of a page is at its start
	maxRobots    = 512 << 10
	maxRedirects = 5 // hops (RFC 9309, section 2.3.1.2)
)

const (
	acceptText = "text/markdown,text/plain;q=0.9,*/*;q=0.5"
	acceptHTML = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"
)

// response is the outcome of fetching one address.
type response struct {
	url     *url.URL // of the response, after redirects
	refused string   // why there is no usable response
	status  int
	header  http.Header
	body    []byte
}

// get fetches an address and follows redirects. Each hop obeys the robots.txt and
// the rate limit of its host. Mistakes of the site are part of the response; an
// error means that the request was not allowed or the host is overloaded.
func (r *run) get(ctx context.Context, u *url.URL, accept string, limit int64) (response, error) {
	for hops := 0; ; hops++ {
		rules, err := r.rules(ctx, u)
		if err != nil {
			return response{}, err
		}
		if !allowedByRobots(rules, u) {
			return response{url: u, refused: "robots.txt of the site does not allow this crawler"}, nil
		}
		f, err := r.fetch(ctx, u, accept, limit)
		if err != nil || f.refused != "" {
			return f, err
		}
		to := f.redirect()
		if to == nil {
			return f, nil
		}
		if hops == maxRedirects {
			return response{url: u, refused: fmt.Sprintf("more than %d redirects", maxRedirects)}, nil
		}
		u = to
	}
}

// rules returns the robots.txt of u's host, or "".
func (r *run) rules(ctx context.Context, u *url.URL) (string, error) {
	site := u.Scheme + "://" + u.Host
	if rules, ok := r.robots[site]; ok {
		return rules, nil
	}
	if r.robots == nil {
		r.robots = map[string]string{}
	}
	r.robots[site] = ""
	at := &url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/robots.txt"}
	for range 2 { // a redirect from http to https or to www, and no further
		f, err := r.fetch(ctx, at, "text/plain,*/*;q=0.5", maxRobots)
		if err != nil {
			return "", err
		}
		if to := f.redirect(); f.refused == "" && to != nil {
			at = to
			continue
		}
		if f.status == http.StatusOK {
			r.robots[site] = string(f.body)
		}
		break
	}
	return r.robots[site], nil
}

// redirect returns the target of a redirect, or nil.
func (f *response) redirect() *url.URL {
	switch f.status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect:
	default:
		return nil
	}
	to, err := f.url.Parse(f.header.Get("Location"))
	if err != nil || f.header.Get("Location") == "" || to.Host == "" {
		return nil
	}
	to.Fragment = ""
	return to
}

// fetch makes one request when the rate limit of the host allows it.
func (r *run) fetch(ctx context.Context, u *url.URL, accept string, limit int64) (response, error) {
	f := response{url: u, header: http.Header{}}
	if err := r.prober.waitTurn(ctx, u.Host); err != nil {
		if ctx.Err() == nil {
			return f, err
		}
		f.refused = describe(err)
		return f, nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		f.refused = "the address is not valid"
		return f, nil
	}
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Accept", accept)
	req.Header.Set("Accept-Encoding", "gzip")
	resp, err := r.prober.client.Do(req)
	if errors.Is(err, safehttp.ErrNotAllowed) {
		return f, safehttp.ErrNotAllowed
	}
	if err != nil {
		f.refused = describe(err)
		return f, nil
	}
	defer resp.Body.Close()
	f.status, f.header = resp.StatusCode, resp.Header
	// A part of the file must not be graded as the whole. Other responses are usable
	// without a complete body: a redirect, an error, the head of a page, and the rules
	// of a robots.txt, of which a part is better than none.
	if f.body, err = readBody(resp, limit); err != nil && f.status == http.StatusOK {
		f.refused = describe(err)
	}
	return f, nil
}

// readBody reads up to limit bytes of the decompressed body, from at most twice as
// many compressed ones, so that a compression bomb is harmless. It returns what it
// read before an error.
func readBody(resp *http.Response, limit int64) ([]byte, error) {
	body, err := safehttp.Decode(io.LimitReader(resp.Body, 2*limit), resp.Header.Get("Content-Encoding"))
	if err != nil {
		return nil, errEncoding
	}
	b, err := io.ReadAll(io.LimitReader(body, limit))
	switch {
	case errors.Is(err, gzip.ErrChecksum), errors.As(err, new(flate.CorruptInputError)):
		err = errEncoding
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = errTruncated
	}
	return b, err
}

var (
	errEncoding  = errors.New("the content encoding of the response is damaged or was not requested")
	errTruncated = errors.New("the response ended early")
)

// describe returns in stable words why there is no usable response. It does not
// reveal anything about the origin's network.
func describe(err error) string {
	ne, ok := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, errEncoding), errors.Is(err, errTruncated):
		return err.Error()
	case errors.Is(err, context.DeadlineExceeded), ok && ne.Timeout():
		return "the site did not respond in time"
	}
	return "the site cannot be reached"
}

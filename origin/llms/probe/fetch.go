package probe

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/fieldmark/fieldmark/origin/safehttp"
)

// What is read of one answer, and how far redirects are followed.
const (
	maxFile      = 5 << 20 // the largest real file is exactly that; the linter says what is too much
	maxPage      = 1 << 20 // a page's head stands at its beginning
	maxRobots    = 512 << 10
	maxRedirects = 5 // hops (RFC 9309, section 2.3.1.2)
)

const (
	acceptText = "text/markdown,text/plain;q=0.9,*/*;q=0.5"
	acceptHTML = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"
)

// fetched is what came back for one address.
type fetched struct {
	url     *url.URL // that answered
	refused string   // why nothing did
	status  int
	header  http.Header
	body    []byte
}

// get asks for an address and follows redirects, each hop by its own host's
// rules and pace. What the site does wrong is in the answer; an error is ours.
func (r *reading) get(ctx context.Context, u *url.URL, accept string, limit int64) (fetched, error) {
	for hops := 0; ; hops++ {
		rules, err := r.rules(ctx, u)
		if err != nil {
			return fetched{}, err
		}
		if !permitted(rules, u) {
			return fetched{url: u, refused: "robots.txt of the site asks this reader to stay away"}, nil
		}
		f, err := r.once(ctx, u, accept, limit)
		if err != nil || f.refused != "" {
			return f, err
		}
		to := f.redirect()
		if to == nil {
			return f, nil
		}
		if hops == maxRedirects {
			return fetched{url: u, refused: fmt.Sprintf("more than %d redirects", maxRedirects)}, nil
		}
		u = to
	}
}

// rules returns the robots.txt of u's host, empty where there is none.
func (r *reading) rules(ctx context.Context, u *url.URL) (string, error) {
	site := u.Scheme + "://" + u.Host
	if rules, ok := r.robots[site]; ok {
		return rules, nil
	}
	if r.robots == nil {
		r.robots = map[string]string{}
	}
	r.robots[site] = ""
	at := &url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/robots.txt"}
	for range 2 { // http to https, or to www, and no further
		f, err := r.once(ctx, at, "text/plain,*/*;q=0.5", maxRobots)
		if err != nil {
			return "", err
		}
		if to := f.redirect(); f.refused == "" && to != nil {
			at = to
			continue
		}
		if f.refused == "" && f.status == http.StatusOK {
			r.robots[site] = string(f.body)
		}
		break
	}
	return r.robots[site], nil
}

// redirect returns where an answer points to, or nil.
func (f *fetched) redirect() *url.URL {
	switch f.status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
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

// once makes one request when it is this reader's turn.
func (r *reading) once(ctx context.Context, u *url.URL, accept string, limit int64) (fetched, error) {
	f := fetched{url: u, header: http.Header{}}
	if err := r.prober.turn(ctx, u.Host); err != nil {
		if ctx.Err() == nil {
			return f, err
		}
		f.refused = reason(err)
		return f, nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		f.refused = "the address cannot be asked for"
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
		f.refused = reason(err)
		return f, nil
	}
	defer resp.Body.Close()
	f.status, f.header = resp.StatusCode, resp.Header
	if f.body, err = readBody(resp, limit); err != nil && len(f.body) == 0 {
		f.refused = reason(err)
	}
	return f, nil
}

// readBody reads up to limit bytes, unpacked, so that no bomb can go off.
func readBody(resp *http.Response, limit int64) ([]byte, error) {
	body := io.Reader(resp.Body)
	switch coding := strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding"))); coding {
	case "", "identity":
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(resp.Body)
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		if err != nil {
			return nil, errPacked
		}
		body = z
	default:
		return nil, errPacked
	}
	return io.ReadAll(io.LimitReader(body, limit))
}

var errPacked = errors.New("the answer is packed in a way that was not asked for")

// reason tells in a few stable words why nothing came, and nothing of our own
// network.
func reason(err error) string {
	ne, ok := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, errPacked):
		return errPacked.Error()
	case errors.Is(err, context.DeadlineExceeded), ok && ne.Timeout():
		return "the site did not answer in time"
	}
	return "the site cannot be reached"
}

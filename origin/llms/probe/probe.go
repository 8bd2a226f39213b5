package probe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/jimsmart/grobotstxt"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/timeout"
	"github.com/fieldmark/fieldmark/origin/llms"
	"github.com/fieldmark/fieldmark/origin/safehttp"
)

// The limits that protect sites, and this process, from many requests.
const (
	// DefaultDelay is the pause between two requests to one host.
	DefaultDelay = 500 * time.Millisecond
	// maxProbes limits the running probes: each may hold 12 MiB of responses.
	maxProbes = 8
	// maxQueue is how far in advance requests to one host are scheduled. A caller
	// that would wait longer gets an error to retry.
	maxQueue = 6 * time.Second
	// deadline limits one probe; the edge's timeout for a request is 20 s.
	deadline = 15 * time.Second * timeout.Scale
	// sweepAbove is the number of hosts above which past entries are removed.
	sweepAbove = 1000
)

// Token is the name of this crawler in robots.txt.
const Token = "FieldmarkBot"

// The address is one at which owners of sites read what the crawler does.
const userAgent = Token + "/1.0 (+https://fieldmark.example/bot)"

// Config configures a Prober.
type Config struct {
	HTTP  *safehttp.Client // required: makes all requests
	Delay time.Duration    // between requests to one host; 0 means DefaultDelay, negative means none
}

// Prober fetches files from sites. It is safe for concurrent use; its rate limit is
// shared by all callers.
// It keeps no responses.
type Prober struct {
	client *safehttp.Client
	delay  time.Duration
	slots  chan struct{}

	mu    sync.Mutex
	turns map[string]time.Time // earliest time of the next request per host
}

// New validates the configuration and returns a Prober. It makes no requests.
func New(c Config) (*Prober, error) {
	if c.HTTP == nil {
		return nil, errors.New("configure prober: HTTP is missing")
	}
	if c.Delay == 0 {
		c.Delay = DefaultDelay
	}
	return &Prober{client: c.HTTP, delay: max(c.Delay, 0), slots: make(chan struct{}, maxProbes),
		turns: map[string]time.Time{}}, nil
}

// Lint fetches the llms.txt at an address and grades it. The address of a page or a
// folder selects the file in that folder. A site that does not respond is a
// finding; an error is a *fieldmark.Error about the address or about load.
// The error of a site is part of the report: a person wants to know what crawlers see.
func (p *Prober) Lint(ctx context.Context, address string) (llms.Report, error) {
	u, err := locate(address)
	if err != nil {
		return llms.Report{}, err
	}
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	default:
		return llms.Report{}, &fieldmark.Error{Code: fieldmark.CodeOverloaded,
			Detail: "too many files are being checked; try again later", RetryAfter: maxQueue}
	}
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	r := &run{prober: p}
	v, err := r.visit(ctx, u)
	if err != nil {
		return llms.Report{}, err
	}
	return llms.LintVisit(v), nil
}

// locate converts the address that a person typed to the address of a file.
func locate(address string) (*url.URL, error) {
	bad := func(why string) error { return fieldmark.Errorf(fieldmark.CodeInvalidParameter, "%s", why) }
	u, err := url.Parse(strings.TrimSpace(address))
	switch {
	case len(address) > fieldmark.MaxBrandURL:
		return nil, bad("the address is too long")
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, bad("the address must be an absolute http or https URL")
	case u.User != nil:
		return nil, bad("the address must not contain a user name or password")
	}
	u.Host = strings.ToLower(u.Host)
	u.Fragment, u.RawFragment = "", ""
	switch path.Ext(u.Path) {
	case ".txt", ".md":
	case "":
		u = u.JoinPath("llms.txt")
		u.RawQuery = ""
	default: // index.html and the like are next to the file
		u = u.JoinPath("..", "llms.txt")
		u.RawQuery = ""
	}
	return u, nil
}

// run is one running probe.
type run struct {
	prober *Prober
	robots map[string]string // by scheme and host
}

// visit fetches the file and what is needed to grade it.
func (r *run) visit(ctx context.Context, u *url.URL) (llms.Visit, error) {
	file, err := r.get(ctx, u, acceptText, maxFile)
	if err != nil {
		return llms.Visit{}, err
	}
	v := llms.Visit{URL: file.url, Refused: file.refused, Status: file.status,
		ContentType: file.header.Get("Content-Type"), Body: file.body}
	if v.Refused != "" || v.Status != 200 {
		return v, nil
	}
	// A file with a title and the form of an llms.txt cannot be a page that is
	// returned for every path, so only others are compared with one.
	if llms.Lint(v.Body).Level < llms.LevelTitled {
		missing, err := r.get(ctx, missingURL(file.url), acceptText, maxPage)
		if err != nil {
			return v, err
		}
		if missing.status == 200 {
			v.Missing = &llms.Page{URL: missing.url, Body: missing.body}
			return v, nil
		}
	}
	home, err := r.get(ctx, file.url.ResolveReference(&url.URL{Path: "./"}), acceptHTML, maxPage)
	if err != nil {
		return v, err
	}
	if home.status == 200 {
		v.Home = readPage(home)
	}
	return v, nil
}

// missingURL returns the address of a file that cannot exist next to u. It is the
// same each time, so that the site's cache can help.
func missingURL(u *url.URL) *url.URL {
	sum := sha256.Sum256([]byte(u.Host))
	return u.ResolveReference(&url.URL{Path: "./fieldmark-" + hex.EncodeToString(sum[:8]) + ".txt"})
}

// waitTurn waits until a request to the host is allowed, or returns an error with
// the time to retry.
func (p *Prober) waitTurn(ctx context.Context, host string) error {
	wait, ok := p.reserveTurn(host, time.Now())
	if !ok {
		return &fieldmark.Error{Code: fieldmark.CodeRateLimited,
			Detail: "other checks of this site are running; try again later", RetryAfter: maxQueue}
	}
	if wait <= 0 {
		return nil
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

// reserveTurn reserves the next request to the host, unless it is too far in the
// future.
func (p *Prober) reserveTurn(host string, now time.Time) (wait time.Duration, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.turns) > sweepAbove {
		for h, at := range p.turns {
			if at.Before(now) {
				delete(p.turns, h)
			}
		}
	}
	at := p.turns[host]
	if at.Before(now) {
		at = now
	}
	if wait = at.Sub(now); wait > maxQueue {
		return 0, false
	}
	p.turns[host] = at.Add(p.delay)
	return wait, true
}

// allowedByRobots reports whether robots allows to fetch u. A robots.txt that
// cannot be parsed forbids nothing: a person asks for one file, which is not
// crawling.
func allowedByRobots(robots string, u *url.URL) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = true // the parser panics on some files
		}
	}()
	return grobotstxt.AgentAllowed(robots, Token, u.String())
}

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
	"github.com/fieldmark/fieldmark/origin/llms"
	"github.com/fieldmark/fieldmark/origin/safehttp"
)

// How politely sites are asked, and how much of us a stranger may hold.
const (
	// DefaultDelay is the pause between two requests to one host.
	DefaultDelay = 500 * time.Millisecond
	// maxProbes bounds the probes under way: each may hold 12 MiB of answers.
	maxProbes = 8
	// maxQueue is how far ahead the turns of one host are given away. Who would
	// wait longer is told to come back.
	maxQueue = 6 * time.Second
	// deadline bounds one probe; the edge gives up on a request after 20 s.
	deadline = 15 * time.Second
	// sweepAbove is the number of hosts at which past turns are swept out.
	sweepAbove = 1000
)

// Token is the name robots.txt knows this reader by: that of our crawler.
const Token = "FieldmarkBot"

const userAgent = Token + "/1.0 (+https://fieldmark.example/bot)"

// Config holds what a Prober needs.
type Config struct {
	HTTP  *safehttp.Client // required: the only way out
	Delay time.Duration    // between requests to one host; 0 means DefaultDelay, negative means none
}

// Prober reads files from sites. It is safe for concurrent use, and its pace
// holds for all its users together.
type Prober struct {
	client *safehttp.Client
	delay  time.Duration
	slots  chan struct{}

	mu    sync.Mutex
	turns map[string]time.Time // when each host may be asked again
}

// New checks the configuration and returns a Prober; it fetches nothing.
func New(c Config) (*Prober, error) {
	if c.HTTP == nil {
		return nil, errors.New("configure prober: HTTP is missing")
	}
	if c.Delay == 0 {
		c.Delay = DefaultDelay
	}
	return &Prober{client: c.HTTP, delay: max(c.Delay, 0), slots: make(chan struct{}, maxProbes), turns: map[string]time.Time{}}, nil
}

// Lint reads the llms.txt at an address and grades it. The address of a page or
// a folder stands for the file in that folder. A site that does not answer is a
// finding; an error is a *fieldmark.Error about the address or our own load.
func (p *Prober) Lint(ctx context.Context, address string) (llms.Report, error) {
	u, err := locate(address)
	if err != nil {
		return llms.Report{}, err
	}
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	default:
		return llms.Report{}, &fieldmark.Error{Code: fieldmark.CodeOverloaded, Detail: "too many files are being checked; try again later", RetryAfter: maxQueue}
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

// locate turns what a person typed into the address of a file.
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
	default: // index.html and the like stand beside the file
		u = u.JoinPath("..", "llms.txt")
		u.RawQuery = ""
	}
	return u, nil
}

// run is one probe under way.
type run struct {
	prober *Prober
	robots map[string]string // by scheme and host
}

// visit asks for the file and what is around it.
func (r *run) visit(ctx context.Context, u *url.URL) (llms.Visit, error) {
	file, err := r.get(ctx, u, acceptText, maxFile)
	if err != nil {
		return llms.Visit{}, err
	}
	v := llms.Visit{URL: file.url, Refused: file.refused, Status: file.status, ContentType: file.header.Get("Content-Type"), Body: file.body}
	if v.Refused != "" || v.Status != 200 {
		return v, nil
	}
	// A file with a heading and the form of a page cannot be the answer to any
	// path; only what looks wrong is compared.
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

// missingURL names a file beside u that cannot exist, the same each time so that
// a site's cache can help.
func missingURL(u *url.URL) *url.URL {
	sum := sha256.Sum256([]byte(u.Host))
	return u.ResolveReference(&url.URL{Path: "./fieldmark-" + hex.EncodeToString(sum[:8]) + ".txt"})
}

// waitTurn waits until the host may be asked, or says when to come back.
func (p *Prober) waitTurn(ctx context.Context, host string) error {
	wait, ok := p.reserveTurn(host, time.Now())
	if !ok {
		return &fieldmark.Error{Code: fieldmark.CodeRateLimited, Detail: "other checks of this site are running; try again later", RetryAfter: maxQueue}
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

// reserveTurn gives away the host's next turn, if it is not too far off.
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

// allowedByRobots asks the rules of a host whether u may be read. Rules that cannot
// be read forbid nothing here: a person asks for one file, nobody crawls.
func allowedByRobots(robots string, u *url.URL) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = true // the parser gave up on a file nobody can read
		}
	}()
	return grobotstxt.AgentAllowed(robots, Token, u.String())
}

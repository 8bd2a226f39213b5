package robots

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/jimsmart/grobotstxt"
)

// maxRobots is how many bytes of a robots.txt are read. A crawler must read at
// least 500 KiB (RFC 9309, section 2.5), and the large ones read no more.
const maxRobots = 500 << 10

// maxAddress is how many bytes the address of a sitemap may have. Real ones are short.
const maxAddress = 512

// maxWildcards limits the bytes of rules with a *. Matching one costs its length
// times that of the address, for every crawler and every sampled address. The
// largest real files have about 40 kB.
const maxWildcards = 64 << 10

// File is the robots.txt of a host.
type File struct {
	URL   string
	Fixed Permission // if not "", applies to all crawlers and addresses
	Err   error      // why the host did not respond

	body   string
	reason string // why Fixed is set
	lines  []line // parsed once for all crawlers and addresses
}

// line is a line of a robots.txt that affects decisions.
type line struct {
	number int
	kind   ruleKind
	value  string // escaped as the matcher requires
}

type ruleKind int

const (
	forAgent ruleKind = iota
	allow
	disallow
)

// ruleCollector collects what the parser reports. It implements
// grobotstxt.ParseHandler.
type ruleCollector struct{ lines []line }

// HandleRobotsStart implements grobotstxt.ParseHandler.
func (*ruleCollector) HandleRobotsStart() {}

// HandleRobotsEnd implements grobotstxt.ParseHandler.
func (*ruleCollector) HandleRobotsEnd() {}

// HandleUserAgent implements grobotstxt.ParseHandler.
func (r *ruleCollector) HandleUserAgent(number int, value string) {
	r.lines = append(r.lines, line{number, forAgent, value})
}

// HandleAllow implements grobotstxt.ParseHandler.
func (r *ruleCollector) HandleAllow(number int, value string) {
	r.lines = append(r.lines, line{number, allow, value})
}

// HandleDisallow implements grobotstxt.ParseHandler.
func (r *ruleCollector) HandleDisallow(number int, value string) {
	r.lines = append(r.lines, line{number, disallow, value})
}

// HandleSitemap implements grobotstxt.ParseHandler.
func (*ruleCollector) HandleSitemap(int, string) {}

// HandleUnknownAction implements grobotstxt.ParseHandler.
func (*ruleCollector) HandleUnknownAction(int, string, string) {}

// parse parses the body once. The parser panics on some files; a malicious file
// must not be able to end an audit.
func (r *File) parse() {
	defer func() {
		if recover() != nil {
			r.lines, r.Fixed, r.reason = nil, Undecided, "robots.txt could not be evaluated"
		}
	}()
	var lines ruleCollector
	grobotstxt.Parse(r.body, &lines)
	r.lines = lines.lines
	wildcards := 0
	for _, d := range r.lines {
		if d.kind != forAgent && strings.Contains(d.value, "*") {
			wildcards += len(d.value)
		}
	}
	if wildcards > maxWildcards {
		r.lines, r.Fixed = nil, Undecided
		r.reason = fmt.Sprintf("robots.txt has more than %d kB of rules with wildcards, which are not evaluated",
			maxWildcards>>10)
	}
}

// replay passes the parsed rules to a matcher.
func (r *File) replay(m *grobotstxt.RobotsMatcher) {
	m.HandleRobotsStart()
	for _, d := range r.lines {
		switch d.kind {
		case forAgent:
			m.HandleUserAgent(d.number, d.value)
		case allow:
			m.HandleAllow(d.number, d.value)
		case disallow:
			m.HandleDisallow(d.number, d.value)
		}
	}
	m.HandleRobotsEnd()
}

// Permission is the result of a robots.txt for one crawler and one address.
type Permission string

// A crawler may fetch an address or not, or the file could not be evaluated.
const (
	Allowed    Permission = "allowed"
	Disallowed Permission = "disallowed"
	Undecided  Permission = "undecided"
)

// remedy describes how to fix a robots.txt that cannot be fetched.
const remedy = "make it return 200 with rules, or 404 if there are none"

// Parse evaluates a response for robots.txt (RFC 9309, section 2.3.1): 2xx is parsed, 4xx
// means that there are no rules, and any other status that nothing may be fetched. 429
// counts as a server failure, as Google documents for its crawlers.
func Parse(url string, status int, body []byte) File {
	switch {
	case status >= 200 && status < 300:
		body = bytes.TrimPrefix(body[:min(len(body), maxRobots)], []byte("\uFEFF"))
		f := File{URL: url, body: string(body)}
		f.parse()
		return f
	case status >= 400 && status < 500 && status != http.StatusTooManyRequests:
		return WithoutRules(url, fmt.Sprintf("robots.txt returned %d", status))
	}
	return File{URL: url, Fixed: Disallowed,
		reason: fmt.Sprintf("robots.txt returned %d, so crawlers may not fetch anything: %s", status, remedy)}
}

// WithoutRules returns a file that allows everything. why is a clause.
func WithoutRules(url, why string) File {
	return File{URL: url, Fixed: Allowed, reason: why + ", which counts as no rules"}
}

// Unanswered returns a file that did not arrive, so that nothing may be fetched.
func Unanswered(url string, err error) File {
	return File{URL: url, Err: err, Fixed: Disallowed,
		reason: "robots.txt did not respond, so crawlers may not fetch anything: " + remedy}
}

// Check returns whether token may fetch u, and the rule that decides it.
func (r File) Check(token string, u *url.URL) (v Permission, rule string) {
	if r.Fixed != "" {
		return r.Fixed, r.reason
	}
	if u.Path == "/robots.txt" {
		return Allowed, "robots.txt itself may always be fetched"
	}
	// The matcher panics on some files; a malicious file must not be able to end an
	// audit.
	defer func() {
		if recover() != nil {
			v, rule = Undecided, "robots.txt could not be evaluated"
		}
	}()
	bare := *u
	bare.Fragment = ""
	m := grobotstxt.NewRobotsMatcher()
	m.AgentAllowed("", token, bare.String()) // sets crawler and address
	r.replay(m)
	v = Allowed
	if m.Disallowed() {
		v = Disallowed
	}
	line := m.MatchingLine()
	switch {
	case line > 0:
		rule = fmt.Sprintf("line %d: %s", line, lineAt(r.body, line))
	case m.EverSeenSpecificAgent():
		rule = "its group has no matching rule"
	default:
		rule = "no matching rule"
	}
	return v, rule
}

// lineAt returns a line by its number, starting at 1. Lines end with CR, LF or
// both.
func lineAt(body string, n int) string {
	for ; n > 1; n-- {
		end := strings.IndexAny(body, "\r\n")
		if end < 0 {
			return ""
		}
		if strings.HasPrefix(body[end:], "\r\n") {
			end++
		}
		body = body[end+1:]
	}
	if end := strings.IndexAny(body, "\r\n"); end >= 0 {
		body = body[:end]
	}
	return strings.TrimSpace(body)
}

// Text returns the file as it is evaluated, empty if it has no rules.
func (r File) Text() string { return r.body }

// Sitemaps returns the absolute addresses of sitemaps in the file, in order and
// without duplicates.
func (r File) Sitemaps() (list []string) {
	defer func() {
		if recover() != nil {
			list = nil
		}
	}()
	seen := map[string]bool{}
	for _, s := range grobotstxt.Sitemaps(r.body) {
		u, err := url.Parse(strings.TrimSpace(s))
		absolute := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
		if !absolute || len(s) > maxAddress || seen[u.String()] {
			continue
		}
		seen[u.String()] = true
		list = append(list, u.String())
	}
	return list
}

// Describe returns the decision for token and u as text.
func (r File) Describe(token string, u *url.URL) string {
	v, rule := r.Check(token, u)
	return fmt.Sprintf("%s %s for %s: %s", u.EscapedPath(), v, token, rule)
}

package audit

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/jimsmart/grobotstxt"
)

// UserAgent identifies the auditor, and Token is its name in robots.txt.
const (
	Token     = "FieldmarkBot"
	UserAgent = Token + "/1.0 (+https://fieldmark.example/bot)"
)

// maxRobots is how many bytes of a robots.txt are read. A crawler must read at
// least 500 KiB (RFC 9309, section 2.5), and the large ones read no more.
const maxRobots = 500 << 10

// maxWildcards limits the bytes of rules with a *. Matching one costs its length
// times that of the address, for every crawler and every sampled address. The
// largest real files have about 40 kB.
const maxWildcards = 64 << 10

// robots is the robots.txt of a host.
type robots struct {
	url    string
	body   string
	status int
	fixed  permission // if not "", applies to all crawlers and addresses
	reason string     // why fixed is set
	err    error      // the host did not respond

	lines []robotsRule // parsed once for all crawlers and addresses
}

// robotsRule is a line of a robots.txt that affects decisions.
type robotsRule struct {
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
type ruleCollector struct{ lines []robotsRule }

// HandleRobotsStart implements grobotstxt.ParseHandler.
func (*ruleCollector) HandleRobotsStart() {}

// HandleRobotsEnd implements grobotstxt.ParseHandler.
func (*ruleCollector) HandleRobotsEnd() {}

// HandleUserAgent implements grobotstxt.ParseHandler.
func (r *ruleCollector) HandleUserAgent(number int, value string) {
	r.lines = append(r.lines, robotsRule{number, forAgent, value})
}

// HandleAllow implements grobotstxt.ParseHandler.
func (r *ruleCollector) HandleAllow(number int, value string) {
	r.lines = append(r.lines, robotsRule{number, allow, value})
}

// HandleDisallow implements grobotstxt.ParseHandler.
func (r *ruleCollector) HandleDisallow(number int, value string) {
	r.lines = append(r.lines, robotsRule{number, disallow, value})
}

// HandleSitemap implements grobotstxt.ParseHandler.
func (*ruleCollector) HandleSitemap(int, string) {}

// HandleUnknownAction implements grobotstxt.ParseHandler.
func (*ruleCollector) HandleUnknownAction(int, string, string) {}

// parse parses the body once. The parser panics on some files; a malicious file
// must not be able to end an audit.
func (r *robots) parse() {
	defer func() {
		if recover() != nil {
			r.lines, r.fixed, r.reason = nil, undecided, "robots.txt could not be evaluated"
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
		r.lines, r.fixed = nil, undecided
		r.reason = fmt.Sprintf("robots.txt has more than %d kB of rules with wildcards, which are not evaluated",
			maxWildcards>>10)
	}
}

// replay passes the parsed rules to a matcher.
func (r *robots) replay(m *grobotstxt.RobotsMatcher) {
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

// permission is the result of a robots.txt for one crawler and one address.
type permission string

const (
	allowed    permission = "allowed"
	disallowed permission = "disallowed"
	undecided  permission = "undecided" // the file could not be evaluated
)

// remedyRobots describes how to fix a robots.txt that cannot be fetched.
const remedyRobots = "make it return 200 with rules, or 404 if there are none"

// newRobots evaluates the response for robots.txt (RFC 9309, section 2.3.1): 2xx is
// parsed, 4xx means that there are no rules, and any other status or no response
// means that nothing may be fetched. 429 counts as a server failure, as Google
// documents for its crawlers.
func newRobots(v visit) robots {
	r := robots{url: v.asked, status: v.status}
	switch {
	case errors.Is(v.err, errRedirects):
		r.fixed, r.reason = allowed, "robots.txt redirects too often or in a loop, which counts as no rules"
	case v.err != nil:
		r.err = v.err
		r.fixed, r.reason = disallowed, "robots.txt did not respond, so crawlers may not fetch anything: "+remedyRobots
	case v.status >= 200 && v.status < 300:
		r.body = string(trimBOM(v.body[:min(len(v.body), maxRobots)]))
		if looksLikeHTML(v.body) {
			// A page returned for every path; parsers find no rules in it either.
			r.body, r.fixed, r.reason = "", allowed, "robots.txt returned an HTML page, which counts as no rules"
			break
		}
		r.parse()
	case v.status >= 400 && v.status < 500 && v.status != http.StatusTooManyRequests:
		r.fixed, r.reason = allowed, fmt.Sprintf("robots.txt returned %d, which counts as no rules", v.status)
	default:
		r.fixed, r.reason = disallowed, fmt.Sprintf("robots.txt returned %d, so crawlers may not fetch anything: %s",
			v.status, remedyRobots)
	}
	return r
}

func trimBOM(b []byte) []byte { return bytes.TrimPrefix(b, []byte("\uFEFF")) }

// check returns whether token may fetch u, and the rule that decides it.
func (r robots) check(token string, u *url.URL) (v permission, rule string) {
	if r.fixed != "" {
		return r.fixed, r.reason
	}
	if u.Path == "/robots.txt" {
		return allowed, "robots.txt itself may always be fetched"
	}
	// The matcher panics on some files; a malicious file must not be able to end an
	// audit.
	defer func() {
		if recover() != nil {
			v, rule = undecided, "robots.txt could not be evaluated"
		}
	}()
	bare := *u
	bare.Fragment = ""
	m := grobotstxt.NewRobotsMatcher()
	m.AgentAllowed("", token, bare.String()) // sets crawler and address
	r.replay(m)
	v = allowed
	if m.Disallowed() {
		v = disallowed
	}
	line := m.MatchingLine()
	switch {
	case line > 0:
		rule = fmt.Sprintf("line %d: %s", line, robotsLine(r.body, line))
	case m.EverSeenSpecificAgent():
		rule = "its group has no matching rule"
	default:
		rule = "no matching rule"
	}
	return v, rule
}

// robotsLine returns a line by its number, starting at 1. Lines end with CR, LF or
// both.
func robotsLine(body string, n int) string {
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

// sitemaps returns the absolute addresses of sitemaps in the file, in order and
// without duplicates.
func (r robots) sitemaps() (list []string) {
	defer func() {
		if recover() != nil {
			list = nil
		}
	}()
	seen := map[string]bool{}
	for _, s := range grobotstxt.Sitemaps(r.body) {
		u, err := url.Parse(strings.TrimSpace(s))
		if err != nil || !isWeb(u) || len(s) > maxPageURL || seen[u.String()] {
			continue
		}
		seen[u.String()] = true
		list = append(list, u.String())
	}
	return list
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

// describe returns the decision for this crawler and u as text.
func (r robots) describe(u *url.URL) string {
	v, rule := r.check(Token, u)
	return fmt.Sprintf("%s %s for %s: %s", u.EscapedPath(), v, Token, rule)
}

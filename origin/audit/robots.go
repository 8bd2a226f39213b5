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

// UserAgent is how the auditor introduces itself, and Token is the name it
// obeys in robots.txt.
const (
	Token     = "FieldmarkBot"
	UserAgent = Token + "/1.0 (+https://fieldmark.example/bot)"
)

// maxRobots is how much of a robots.txt counts. A crawler must read 500 KiB at
// least (RFC 9309, section 2.5), and the large ones read no more.
const maxRobots = 500 << 10

// maxWildcards is how many bytes of rules with a * are matched. Matching one costs
// its length times that of the address, for every crawler and every address of
// the sample. The largest real files have some 40 kB of them.
const maxWildcards = 64 << 10

// robots is what a host's robots.txt means for crawlers.
type robots struct {
	url    string
	body   string
	status int
	always verdict // not "" when no file decides
	reason string  // of always
	err    error   // the host did not answer at all

	lines []directive // of body, parsed once for all crawlers and addresses
}

// directive is a line of a robots.txt that decides something.
type directive struct {
	number int
	kind   directiveKind
	value  string // escaped as the matcher wants it
}

type directiveKind int

const (
	forAgent directiveKind = iota
	allow
	disallow
)

// record keeps what the parser tells. It implements grobotstxt.ParseHandler.
type record struct{ lines []directive }

// HandleRobotsStart implements grobotstxt.ParseHandler.
func (*record) HandleRobotsStart() {}

// HandleRobotsEnd implements grobotstxt.ParseHandler.
func (*record) HandleRobotsEnd() {}

// HandleUserAgent implements grobotstxt.ParseHandler.
func (r *record) HandleUserAgent(number int, value string) {
	r.lines = append(r.lines, directive{number, forAgent, value})
}

// HandleAllow implements grobotstxt.ParseHandler.
func (r *record) HandleAllow(number int, value string) {
	r.lines = append(r.lines, directive{number, allow, value})
}

// HandleDisallow implements grobotstxt.ParseHandler.
func (r *record) HandleDisallow(number int, value string) {
	r.lines = append(r.lines, directive{number, disallow, value})
}

// HandleSitemap implements grobotstxt.ParseHandler.
func (*record) HandleSitemap(int, string) {}

// HandleUnknownAction implements grobotstxt.ParseHandler.
func (*record) HandleUnknownAction(int, string, string) {}

// parse reads the body once. The parser panics on some files; whatever a stranger
// wrote must not end an audit.
func (r *robots) parse() {
	defer func() {
		if recover() != nil {
			r.lines, r.always, r.reason = nil, undecided, "robots.txt could not be judged"
		}
	}()
	var lines record
	grobotstxt.Parse(r.body, &lines)
	r.lines = lines.lines
	wildcards := 0
	for _, d := range r.lines {
		if d.kind != forAgent && strings.Contains(d.value, "*") {
			wildcards += len(d.value)
		}
	}
	if wildcards > maxWildcards {
		r.lines, r.always = nil, undecided
		r.reason = fmt.Sprintf("robots.txt has more than %d kB of rules with wildcards, which are not evaluated", maxWildcards>>10)
	}
}

// replay tells the matcher what was parsed.
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

// verdict is what robots.txt says to one crawler about one address.
type verdict string

const (
	allowed    verdict = "allowed"
	disallowed verdict = "disallowed"
	undecided  verdict = "undecided" // the file could not be judged
)

// remedyRobots is what to do about a robots.txt without an answer.
const remedyRobots = "make it answer 200 with rules, or 404 for none"

// newRobots reads the answer to a request for robots.txt by the rules of
// RFC 9309, section 2.3.1: 2xx is parsed, 4xx means there are no rules, and
// anything else, or no answer, means that nothing may be fetched. 429 counts as a
// failure of the server, as Google documents it for its crawlers.
func newRobots(v visit) robots {
	r := robots{url: v.asked, status: v.status}
	switch {
	case errors.Is(v.err, errRedirects):
		r.always, r.reason = allowed, "robots.txt redirects in circles or too often, so there are no rules"
	case v.err != nil:
		r.err = v.err
		r.always, r.reason = disallowed, "robots.txt did not answer, so crawlers may fetch nothing: "+remedyRobots
	case v.status >= 200 && v.status < 300:
		r.body = string(trimBOM(v.body[:min(len(v.body), maxRobots)]))
		if looksLikeHTML(v.body) {
			// A page that answers for every path is no rule book; parsers find
			// no rules in it either.
			r.body, r.always, r.reason = "", allowed, "robots.txt answered with an HTML page, so there are no rules"
			break
		}
		r.parse()
	case v.status >= 400 && v.status < 500 && v.status != http.StatusTooManyRequests:
		r.always, r.reason = allowed, fmt.Sprintf("robots.txt answered %d, so there are no rules", v.status)
	default:
		r.always, r.reason = disallowed, fmt.Sprintf("robots.txt answered %d, so crawlers may fetch nothing: %s", v.status, remedyRobots)
	}
	return r
}

func trimBOM(b []byte) []byte { return bytes.TrimPrefix(b, []byte("\uFEFF")) }

// judge says whether token may fetch u, and which line decided it.
func (r robots) judge(token string, u *url.URL) (v verdict, rule string) {
	if r.always != "" {
		return r.always, r.reason
	}
	if u.Path == "/robots.txt" {
		return allowed, "robots.txt itself may always be fetched"
	}
	// The matcher panics on some files; whatever a stranger wrote must not end
	// an audit.
	defer func() {
		if recover() != nil {
			v, rule = undecided, "robots.txt could not be judged"
		}
	}()
	bare := *u
	bare.Fragment = ""
	m := grobotstxt.NewRobotsMatcher()
	m.AgentAllowed("", token, bare.String()) // sets the matcher up for whom and for what
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
		rule = "its group has no rule for it"
	default:
		rule = "no rule for it"
	}
	return v, rule
}

// robotsLine returns a line by its number, from 1; lines end at CR, LF or both.
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

// sitemaps returns the absolute http addresses the file lists, in its order and
// each once.
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

// isWeb reports whether u is an absolute address of a web page.
func isWeb(u *url.URL) bool {
	return (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// looksLikeHTML reports whether a body is a page: many servers send their home
// page or a challenge for every path. The declared type does not decide, for as
// many send plain text as text/html.
func looksLikeHTML(body []byte) bool {
	start := bytes.ToLower(bytes.TrimSpace(trimBOM(body[:min(len(body), 512)])))
	for _, tag := range []string{"<!doctype html", "<html", "<head", "<body", "<script", "<title", "<meta"} {
		if bytes.HasPrefix(start, []byte(tag)) {
			return true
		}
	}
	return false
}

// decision tells what the file says to this crawler about u.
func (r robots) decision(u *url.URL) string {
	v, rule := r.judge(Token, u)
	return fmt.Sprintf("%s %s for %s: %s", u.EscapedPath(), v, Token, rule)
}

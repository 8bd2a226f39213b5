package proxy

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark/cache/rfc9111"
)

// fieldRule is what the proxy does with a request field.
type fieldRule uint8

const (
	foreign    fieldRule = iota // any other: passed on, but the response is not stored (strict)
	allowed                     // passed on with a request whose response is stored
	negotiated                  // passed on; an answer is stored for the value that was sent (strict)
	keyed                       // passed on; part of the key (strict)
	dropped                     // not passed on with a request whose response is stored (strict)
	secret                      // credentials: the request bypasses the cache (strict)
	removed                     // never passed on, in either profile
)

// fieldPolicy decides which request fields reach the origin, and which of them select a
// stored response. It is immutable.
type fieldPolicy struct {
	profile         rfc9111.Profile
	rules           map[string]fieldRule
	keyed           []string // the names whose rule is keyed, sorted
	cookielessPaths []string
	ignoreCookies   []string
}

// newFieldPolicy returns the policy of a configuration.
func newFieldPolicy(cfg *Config) *fieldPolicy {
	p := &fieldPolicy{profile: cfg.Profile, rules: fieldRules(cfg.Fields),
		cookielessPaths: cfg.CookielessPaths, ignoreCookies: cfg.IgnoreCookies}
	for name, rule := range p.rules {
		if rule == keyed {
			p.keyed = append(p.keyed, name)
		}
	}
	slices.Sort(p.keyed)
	return p
}

// fieldRules is the table of request fields. The strict profile keeps one
// invariant, which FuzzStoredFields checks: a field of a request reaches the origin
// of a stored answer only if its value is in the key, in the key of the variant, or
// if the field is allowed here. Otherwise one client could choose what the next one
// is sent.
func fieldRules(extra []string) map[string]fieldRule {
	rules := map[string]fieldRule{}
	for rule, names := range map[fieldRule]string{
		// The response to a request with Authorization is stored only if the response says
		// that it may be shared (RFC 9111, 3.5).
		allowed:    "Authorization",
		negotiated: "Accept Accept-Language",
		keyed:      "Origin",
		// What browsers and tools send with everything, and what is settled here.
		dropped: "Accept-Charset Accept-Encoding User-Agent Referer Cache-Control Pragma Dnt Priority Save-Data " +
			"Upgrade-Insecure-Requests From " +
			"Device-Memory Downlink Dpr Ect Rtt Viewport-Width Width Purpose X-Purpose X-Moz Te Connection " +
			"Keep-Alive Content-Length Host " +
			"If-None-Match If-Modified-Since If-Range Range X-Request-Id Traceparent Tracestate Baggage Expect Via",
		secret: "Cookie Proxy-Authorization X-Api-Key Api-Key X-Auth-Token X-Access-Token X-Csrf-Token X-Xsrf-Token " +
			"X-Forwarded-User X-Forwarded-Email X-Forwarded-Groups X-Forwarded-Preferred-Username " +
			"X-Forwarded-Access-Token X-Forwarded-Client-Cert " +
			"X-Auth-Request-User X-Auth-Request-Email X-Auth-Request-Groups X-Auth-Request-Preferred-Username " +
			"X-Auth-Request-Access-Token " +
			"Remote-User X-Remote-User",
		// Fields by which a client could claim an identity, or make the origin treat the
		// request as another one. Prepare sets those that the origin needs.
		removed: "Forwarded X-Real-Ip X-Client-Ip X-Cluster-Client-Ip True-Client-Ip Cf-Connecting-Ip " +
			"Fastly-Client-Ip X-Host X-Http-Host-Override X-Original-Host X-Original-Url X-Rewrite-Url " +
			"X-Http-Method X-Http-Method-Override X-Method-Override Front-End-Https Proxy",
	} {
		for name := range strings.FieldsSeq(names) {
			rules[name] = rule
		}
	}
	for _, name := range extra {
		rules[http.CanonicalHeaderKey(strings.TrimSpace(name))] = keyed
	}
	return rules
}

// removedPrefixes begin the names that only the edge, or a proxy before it, may
// set; names in the table of rules are exempt.
var removedPrefixes = []string{"X-Forwarded-", "Fieldmark-"}

// rule is what the proxy does with a field of this canonical name.
func (p *fieldPolicy) rule(name string) fieldRule {
	if r, ok := p.rules[name]; ok {
		return r
	}
	twin := cgiTwin(name)
	for _, prefix := range removedPrefixes {
		if strings.HasPrefix(twin, prefix) {
			return removed
		}
	}
	switch {
	case twin != name:
		return lookalikeRule(p.rule(twin))
	case strings.HasPrefix(name, "Sec-"):
		return dropped
	}
	return foreign
}

// cgiTwin returns the canonical name of the field that CGI, WSGI and PHP cannot distinguish
// from name: they write every byte that is no letter or digit as an underscore.
func cgiTwin(name string) string {
	return http.CanonicalHeaderKey(strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' {
			return r
		}
		return '-'
	}, name))
}

// lookalikeRule is the rule of a name that an origin may take for one with the rule twin,
// such as X_Forwarded_For. Servers like nginx drop all names with an underscore;
// here a name that imitates nothing is passed on.
func lookalikeRule(twin fieldRule) fieldRule {
	switch twin {
	case removed, dropped:
		return removed
	case secret:
		return secret
	}
	return foreign
}

// ignoresCookies reports whether no cookie of q matters, by its path or its names.
func (p *fieldPolicy) ignoresCookies(q *request) bool {
	path, _, _ := strings.Cut(q.target, "?")
	if slices.ContainsFunc(p.cookielessPaths, func(prefix string) bool { return strings.HasPrefix(path, prefix) }) {
		return true
	}
	for _, line := range q.Header["Cookie"] {
		for pair := range strings.SplitSeq(line, ";") {
			name, _, _ := strings.Cut(strings.TrimSpace(pair), "=")
			if name != "" && !slices.ContainsFunc(p.ignoreCookies,
				func(pattern string) bool { return named(name, pattern) }) {
				return false
			}
		}
	}
	return len(p.ignoreCookies) > 0
}

// named reports whether a name is that of a pattern, which may end in *.
func named(name, pattern string) bool {
	if prefix, any := strings.CutSuffix(pattern, "*"); any {
		return strings.HasPrefix(name, prefix)
	}
	return name == pattern
}

// withhold removes from h, the fields of a request whose response may be stored, the
// negotiated fields that the responses stored for its key do not depend on, and returns
// their names. An origin that lists its negotiated fields in Vary thus receives those it
// needs; for any other the proxy sends two requests: the first with the fields of its
// client, the second without them for all clients.
func (p *fieldPolicy) withhold(q *request, f *lookup, h http.Header) (names []string) {
	if p.profile != rfc9111.Strict || q.foreign || f.resource == nil {
		return nil
	}
	known := f.resource.variants[0].declaredVary
	if f.variant != nil {
		known = f.variant.varyBy
	}
	for name := range h {
		if p.rule(name) == negotiated && !slices.Contains(known, name) {
			delete(h, name)
			names = append(names, name)
		}
	}
	return names
}

// mustRepeat reports whether the response may differ because the fields in withheld were
// not sent to the origin: it varies by one of them, or must not be stored. A server error
// is not repeated.
func (p *fieldPolicy) mustRepeat(q *request, withheld []string, code int, h http.Header) bool {
	if len(withheld) == 0 || rfc9111.IsServerError(code) {
		return false
	}
	varies, any := rfc9111.VaryNames(h)
	if any || slices.ContainsFunc(varies, func(name string) bool { return slices.Contains(withheld, name) }) {
		return true
	}
	get := rfc9111.Request{Method: http.MethodGet, Header: q.Header}
	policy := rfc9111.ReadPolicy(code, h, time.Now())
	return code != http.StatusNotModified && p.profile.Storable(&get, code, h, &policy) != ""
}

// variesBy returns the fields that the answer to q varies by, as far as its origin
// was shown them.
func (p *fieldPolicy) variesBy(q *request, h http.Header) []string {
	names, _ := rfc9111.VaryNames(h)
	if p.profile != rfc9111.Strict {
		return names
	}
	return slices.DeleteFunc(names, func(name string) bool {
		return p.rule(name) == dropped && !q.setByEdge[name] ||
			name == "Cookie"
	})
}

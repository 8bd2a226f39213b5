package rfc9111

import (
	"net/http"
)

// Request is the part of a request that decides about storing.
type Request struct {
	Method     string
	Header     http.Header
	Directives RequestDirectives
}

// Reason is why a response may not be stored, as shown in Cache-Status; empty
// means that it may be stored.
type Reason string

// The reasons, in the order they are checked.
const (
	ReasonMethod        Reason = "method"
	ReasonPartial       Reason = "partial"
	ReasonStatus        Reason = "status"
	ReasonRequest       Reason = "request-no-store"
	ReasonNoStore       Reason = "no-store"
	ReasonPrivate       Reason = "private"
	ReasonAuthorization Reason = "authorization"
	ReasonVary          Reason = "vary"
	ReasonCookie        Reason = "set-cookie"
	ReasonNoLifetime    Reason = "no-lifetime"
)

// Storable reports whether the answer to q may be stored (RFC 9111, 3).
func (p Profile) Storable(q *Request, status int, h http.Header, policy *Policy) Reason {
	switch {
	case q.Method != http.MethodGet: // 3, first item; HEAD has no content to store
		return ReasonMethod
	case status == http.StatusPartialContent || status == http.StatusNotModified: // 3.3: ranges are not combined
		return ReasonPartial
	case status < 200 || status > 999: // 3: only a final status
		return ReasonStatus
	case policy.MustUnderstand && !isUnderstood(status): // 5.2.2.3
		return ReasonStatus
	case q.Directives.NoStore: // 5.2.1.5
		return ReasonRequest
	case policy.NoStore && !policy.MustUnderstand: // 5.2.2.5; must-understand overrides it for known statuses
		return ReasonNoStore
	case policy.Private: // 5.2.2.7
		return ReasonPrivate
	case len(q.Header["Authorization"]) > 0 && !policy.Authorized: // 3.5
		return ReasonAuthorization
	}
	if _, any := VaryNames(h); any { // 4.1
		return ReasonVary
	}
	if len(h["Set-Cookie"]) > 0 && !p.allowsSetCookie(policy) {
		return ReasonCookie
	}
	return cacheable(status, h, policy)
}

// allowsSetCookie reports whether a response that sets a cookie may be stored. RFC
// 9111, 7.3 leaves this to the origin; a cache must at least not share one based on
// a heuristic, or a client could get the session of another.
func (p Profile) allowsSetCookie(policy *Policy) bool {
	if p == RFC {
		return policy.Explicit
	}
	return policy.Public || policy.SharedMaxAge
}

// cacheable is the last item of section 3. It also excludes responses that could
// never be reused.
func cacheable(status int, h http.Header, policy *Policy) Reason {
	if !policy.Explicit && !policy.Public && !policy.NoCache && !HeuristicallyCacheable(status) {
		return ReasonStatus
	}
	validator := h.Get("Etag") != "" || h.Get("Last-Modified") != ""
	if policy.Lifetime <= 0 && !validator && policy.StaleWhileRevalidate == 0 && policy.StaleIfError == 0 {
		return ReasonNoLifetime
	}
	return ""
}

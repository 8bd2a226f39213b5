package api

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
)

// authorization says who may ask.
type authorization struct {
	realm string // in the challenge; empty: anyone may ask
	scope fieldmark.Scope
}

// anyone and node are the two kinds of access that need no API key.
var (
	anyone = authorization{}
	node   = authorization{realm: "node"}
)

// key admits API keys that have the scope.
func key(scope fieldmark.Scope) authorization {
	if scope == fieldmark.ScopeAdmin {
		return authorization{realm: "admin", scope: scope}
	}
	return authorization{realm: "missions", scope: scope}
}

// admit checks the caller's credentials before anything else is read. A refusal
// carries the challenge that says what would have been enough (RFC 6750).
func (s *server) admit(c *call) error {
	who := c.route.access
	if who == anyone {
		return nil
	}
	challenge := fmt.Sprintf("Bearer realm=%q", who.realm)
	fields := c.r.Header.Values("Authorization")
	if len(fields) > 1 { // which of them an intermediary looked at is not known
		c.w.Header().Set("WWW-Authenticate", challenge+`, error="invalid_request"`)
		return fieldmark.Errorf(fieldmark.CodeInvalidAPIKey, "send one Authorization field, not %d", len(fields))
	}
	token, ok := bearer(c.r.Header.Get("Authorization"))
	if !ok {
		c.w.Header().Set("WWW-Authenticate", challenge)
		return fieldmark.Errorf(fieldmark.CodeMissingCredentials, "send Authorization: Bearer and the token")
	}
	if who == node {
		if !s.isNode(token) {
			c.w.Header().Set("WWW-Authenticate", challenge+`, error="invalid_token"`)
			return fieldmark.Errorf(fieldmark.CodeInvalidAPIKey, "the node token is wrong")
		}
		return nil
	}
	from, _ := netip.ParseAddr(s.clientAddr(c.r)) // one that is none admits no key that is bound to some
	k, err := s.origin.Authenticate(c.r.Context(), token, origin.Caller{Addr: from, Agent: c.r.UserAgent()})
	if err != nil {
		c.w.key = k.ID
		if fieldmark.AsError(err).Code.Status() == 401 {
			c.w.Header().Set("WWW-Authenticate", challenge+`, error="invalid_token"`)
		}
		return err
	}
	c.key, c.w.key = k, k.ID
	if k.ExpiresAt != nil && time.Until(k.ExpiresAt.Std()) < fieldmark.KeyExpiresInDays*24*time.Hour {
		c.w.Header().Set(fieldmark.HeaderKeyExpires, k.ExpiresAt.String())
	}
	if s.isNode(c.r.Header.Get(fieldmark.HeaderNode)) {
		c.w.Header().Set(fieldmark.HeaderQuota, quotaOf(k))
	}
	if !k.Allows(who.scope) {
		c.w.Header().Set("WWW-Authenticate", fmt.Sprintf("%s, error=\"insufficient_scope\", scope=%q", challenge, who.scope))
		e := fieldmark.Errorf(fieldmark.CodeInsufficientScope, "this needs the scope %s", who.scope)
		e.Scope = who.scope
		return e
	}
	return nil
}

// quotaOf tells an edge what a good key may ask (see fieldmark.HeaderQuota).
func quotaOf(k fieldmark.Key) string {
	said := k.ID
	if l := k.RateLimit; l != nil && l.Reads > 0 {
		said += fmt.Sprintf(";r=%d", l.Reads)
	}
	if l := k.RateLimit; l != nil && l.Writes > 0 {
		said += fmt.Sprintf(";w=%d", l.Writes)
	}
	return said
}

// bearer takes the token out of an Authorization field.
func bearer(field string) (string, bool) {
	scheme, token, _ := strings.Cut(field, " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "Bearer") && token != ""
}

// isNode compares in constant time.
func (s *server) isNode(token string) bool {
	return s.nodes.Contains(token)
}

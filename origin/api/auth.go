package api

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
)

// authorization is what a route requires of its caller.
type authorization struct {
	realm string // of the challenge; empty: no credentials are needed
	scope fieldmark.Scope
	// secret permits the secret of a claim in place of a key; the service compares it
	secret   bool
	optional bool // without credentials the route does something else
}

// claimant is who has the secret of a claim, or a key of its account.
var claimant = authorization{realm: "brands", scope: fieldmark.ScopeBrandManage, secret: true}

// anyone, node and applicant are the kinds of access without an API key: no credentials, the node
// token, and the secret of a request for a key, which the service compares.
var (
	anyone    = authorization{}
	node      = authorization{realm: "node"}
	applicant = authorization{realm: "access request"}
)

// key requires an API key with a scope.
// The realm names the kind of key that a client needs.
func key(scope fieldmark.Scope) authorization {
	switch scope {
	case fieldmark.ScopeAdmin:
		return authorization{realm: "admin", scope: scope}
	case fieldmark.ScopeBrandManage:
		return authorization{realm: "brands", scope: scope}
	}
	return authorization{realm: "missions", scope: scope}
}

// anyKey requires an API key, whatever its scopes; manager requires one that manages sub-accounts.
var (
	anyKey  = authorization{realm: "account"}
	manager = key(fieldmark.ScopeAccountManage)
)

// owner requires a key of an account that manages brands; ownerOrAnyone also serves callers
// without credentials.
var (
	owner         = key(fieldmark.ScopeBrandManage)
	ownerOrAnyone = authorization{realm: "brands", scope: fieldmark.ScopeBrandManage, optional: true}
)

// authenticate checks the caller's credentials before anything else is read. A rejection has the challenge
// of RFC 6750.
// The order of the checks decides what a caller can find out: without valid credentials, only that
// they are missing or wrong.
func (s *server) authenticate(c *call) error {
	required := c.route.access
	if required == anyone || required.optional && len(c.r.Header.Values("Authorization")) == 0 {
		return nil
	}
	challenge := fmt.Sprintf("Bearer realm=%q", required.realm)
	fields := c.r.Header.Values("Authorization")
	if len(fields) > 1 { // an intermediary may have checked another one
		c.w.Header().Set("WWW-Authenticate", challenge+`, error="invalid_request"`)
		return fieldmark.Errorf(fieldmark.CodeInvalidAPIKey, "send one Authorization header, not %d", len(fields))
	}
	token, ok := bearer(c.r.Header.Get("Authorization"))
	if !ok {
		c.w.Header().Set("WWW-Authenticate", challenge)
		return fieldmark.Errorf(fieldmark.CodeMissingCredentials, "send Authorization: Bearer with the token")
	}
	if required == node {
		if !s.isNode(token) {
			c.w.Header().Set("WWW-Authenticate", challenge+`, error="invalid_token"`)
			return fieldmark.Errorf(fieldmark.CodeInvalidAPIKey, "the node token is wrong")
		}
		return nil
	}
	if required == applicant || required.secret && c.secret() != "" {
		return nil
	}
	k, err := s.keys.Authenticate(c.r.Context(), token, s.caller(c.r))
	if err != nil {
		c.w.keyID = k.ID
		if fieldmark.AsError(err).Code.Status() == http.StatusUnauthorized {
			c.w.Header().Set("WWW-Authenticate", challenge+`, error="invalid_token"`)
		}
		return err
	}
	if s.isNode(c.r.Header.Get(fieldmark.HeaderNode)) {
		quota := quotaOf(k)
		if c.r.Header.Get(fieldmark.HeaderSpool) != "" {
			quota += spoolFields(k)
		}
		c.w.Header().Set(fieldmark.HeaderQuota, quota)
	}
	return s.authorize(c, k)
}

// authorize checks that a valid key may be used for the route.
func (s *server) authorize(c *call, k access.Authenticated) error {
	required := c.route.access
	c.key, c.w.keyID = k, k.ID
	if k.ExpiresAt != nil && time.Until(k.ExpiresAt.Std()) < fieldmark.KeyExpiresInDays*24*time.Hour {
		c.w.Header().Set(fieldmark.HeaderKeyExpires, k.ExpiresAt.String())
	}
	if k.Test {
		clock, err := s.clocks.Get(c.r.Context(), k.Account)
		if err != nil {
			return err
		}
		c.setWorld(&clock)
	}
	if k.Test && required != anyKey && !required.scope.AllowsTest() {
		return fieldmark.Errorf(fieldmark.CodeTestKey, "a test key cannot have the scope %s", required.scope)
	}
	if required != anyKey && !k.Allows(required.scope) {
		c.w.Header().Set("WWW-Authenticate",
			fmt.Sprintf(`Bearer realm=%q, error="insufficient_scope", scope=%q`, required.realm, required.scope))
		e := fieldmark.Errorf(fieldmark.CodeInsufficientScope, "the key needs the scope %s", required.scope)
		e.Scope = required.scope
		return e
	}
	return nil
}

// quotaOf returns the rate limits of a key and of its group for the edge (see fieldmark.HeaderQuota).
// The edge counts by it from the next request on, so not each request goes to the origin.
func quotaOf(k access.Authenticated) string {
	quota := k.ID
	if l := k.RateLimit; l != nil && l.Reads > 0 {
		quota += fmt.Sprintf(";r=%d", l.Reads)
	}
	if l := k.RateLimit; l != nil && l.Writes > 0 {
		quota += fmt.Sprintf(";w=%d", l.Writes)
	}
	if g := k.GroupRate; g != (fieldmark.RateLimit{}) {
		quota += ";g=" + k.Group
		if g.Reads > 0 {
			quota += fmt.Sprintf(";gr=%d", g.Reads)
		}
		if g.Writes > 0 {
			quota += fmt.Sprintf(";gw=%d", g.Writes)
		}
	}
	return quota
}

// spoolFields returns what an edge needs of a key to accept missions for it while no origin can be
// reached (see fieldmark.HeaderSpool).
func spoolFields(k access.Authenticated) string {
	fields := ";a=" + k.Account
	if k.Allows(fieldmark.ScopeMissionCreate) {
		fields += ";m=1"
	}
	if k.ExpiresAt != nil {
		fields += fmt.Sprintf(";x=%d", k.ExpiresAt.Std().Unix())
	}
	for i, network := range k.Networks {
		separator := "+"
		if i == 0 {
			separator = ";n="
		}
		fields += separator + network.String()
	}
	return fields
}

// bearer returns the token of an Authorization header.
// The scheme is compared without case (RFC 9110, 11.1).
func bearer(field string) (string, bool) {
	scheme, token, _ := strings.Cut(field, " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "Bearer") && token != ""
}

// isNode reports whether token is a node token. It compares in constant time.
// Two tokens may be valid while they are rotated.
func (s *server) isNode(token string) bool {
	return s.nodes.Contains(token)
}

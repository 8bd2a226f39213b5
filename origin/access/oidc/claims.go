package oidc

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
)

// Identity is somebody the provider vouches for. Issuer and Subject together are who
// it is; everything else may change.
type Identity struct {
	Issuer, Subject string
	Email           string         // lower case, and only if the provider says that it is verified
	Role            fieldmark.Role // what the operator's rules give; empty: nothing
	AuthTime        time.Time      // when the person last proved who it is; zero: the provider does not say
}

// Rules say who may enter: those one of whose values of a claim is listed.
type Rules struct {
	Claim   string   // such as groups; a path as realm_access.roles is followed; email counts only where it is verified
	Admins  []string // may do everything
	Viewers []string // may look
}

// claims are the members of an ID token or of an answer about the user.
type claims map[string]json.RawMessage

// has reports whether a claim is there, however deep its path.
func (c claims) has(claim string) bool { return c.find(claim) != nil }

// find looks for a claim by its whole name, then by its path: names that are
// addresses have dots of their own.
func (c claims) find(claim string) json.RawMessage {
	if raw, ok := c[claim]; ok {
		return raw
	}
	head, rest, deep := strings.Cut(claim, ".")
	if !deep {
		return nil
	}
	var inner claims
	if json.Unmarshal(c[head], &inner) != nil {
		return nil
	}
	return inner.find(rest)
}

// values are the values of a claim that is a text or a list of texts; providers
// send either.
func (c claims) values(claim string) []string {
	raw := c.find(claim)
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}
	}
	var mixed []any
	if json.Unmarshal(raw, &mixed) != nil {
		return nil
	}
	var many []string
	for _, v := range mixed {
		if text, ok := v.(string); ok {
			many = append(many, text)
		}
	}
	return many
}

// email is the verified address. Anyone may write any address into a profile, so
// one that is not verified is none. Some providers say "true" as a text.
func (c claims) email() string {
	if said := string(c["email_verified"]); said != "true" && said != `"true"` {
		return ""
	}
	all := c.values("email")
	if len(all) != 1 {
		return ""
	}
	return strings.ToLower(all[0])
}

// authTime reads auth_time (OpenID Connect Core 1.0, section 2).
func (c claims) authTime() time.Time {
	var seconds int64
	if json.Unmarshal(c["auth_time"], &seconds) != nil || seconds <= 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0)
}

// role is what the rules give to somebody of these claims.
func (r *Rules) role(c claims) fieldmark.Role {
	values := c.values(r.Claim)
	same := func(a, b string) bool { return a == b }
	if r.Claim == emailClaim {
		values, same = []string{c.email()}, strings.EqualFold
	}
	listed := func(list []string) bool {
		return slices.ContainsFunc(values, func(v string) bool {
			return v != "" && slices.ContainsFunc(list, func(l string) bool { return same(strings.TrimSpace(l), v) })
		})
	}
	switch {
	case listed(r.Admins):
		return fieldmark.RoleAdmin
	case listed(r.Viewers):
		return fieldmark.RoleViewer
	}
	return ""
}

// identity reads who somebody is, once all claims are gathered.
func (r *Rules) identity(issuer, subject string, c claims) Identity {
	return Identity{Issuer: issuer, Subject: subject, Email: c.email(), Role: r.role(c), AuthTime: c.authTime()}
}

// merge adds claims that are not there yet: what a token says weighs more than
// what was asked for later. That an address is verified is said of that address
// and of no other.
func (c claims) merge(more claims) {
	if _, ok := c[emailClaim]; !ok {
		delete(c, "email_verified")
	} else if !slices.Equal(c.values(emailClaim), more.values(emailClaim)) {
		delete(more, "email_verified")
	}
	for name, raw := range more {
		if _, ok := c[name]; !ok {
			c[name] = raw
		}
	}
}

func parseClaims(from interface{ Claims(any) error }) (claims, error) {
	c := claims{}
	if err := from.Claims(&c); err != nil {
		return nil, fmt.Errorf("read the claims: %w", err)
	}
	return c, nil
}

package oidc

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
)

// Identity is a user that the provider authenticated. Issuer and Subject together
// identify it; everything else may change.
type Identity struct {
	Issuer, Subject string
	Email           string         // lower case, and only if the provider has verified it
	Role            fieldmark.Role // from the operator's rules; empty: none
	AuthTime        time.Time      // last authentication at the provider; zero: unknown
}

// Rules give a role to users by the values of a claim.
type Rules struct {
	Claim   string   // such as groups, or a path such as realm_access.roles; email counts only if verified
	Admins  []string // values that give the role admin
	Viewers []string // values that give the role viewer
}

// claims are the members of an ID token or of a UserInfo response.
type claims map[string]json.RawMessage

// has reports whether there is a claim of a name or a path.
func (c claims) has(claim string) bool { return c.find(claim) != nil }

// find returns a claim by its whole name, or else by its path: names that are URLs
// contain dots.
// The depth is bounded by the number of dots in the setting.
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

// values returns the values of a claim that is a string or a list of strings; providers
// send either.
// Other members of the list, such as numbers, are skipped: they can match no rule.
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

// email returns the verified address, or "". Users can enter any address in their
// profile, so an unverified one proves nothing. Some providers send "true" as a string.
func (c claims) email() string {
	if said := string(c["email_verified"]); said != "true" && said != `"true"` {
		return ""
	}
	// Several addresses would leave open which of them was verified.
	all := c.values("email")
	if len(all) != 1 {
		return ""
	}
	return strings.ToLower(all[0])
}

// authTime returns auth_time (OpenID Connect Core 1.0, section 2).
// A provider that sends none has not said when it authenticated the user, so a confirmation
// fails.
func (c claims) authTime() time.Time {
	var seconds int64
	if json.Unmarshal(c["auth_time"], &seconds) != nil || seconds <= 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0)
}

// role returns the role that the rules give to a user with these claims.
// The values are compared exactly, but for addresses, which are compared without case. An empty
// value matches no rule, so a missing claim gives no role.
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

// identity returns the Identity of complete claims.
func (r *Rules) identity(issuer, subject string, c claims) Identity {
	return Identity{Issuer: issuer, Subject: subject, Email: c.email(), Role: r.role(c), AuthTime: c.authTime()}
}

// merge adds claims that c does not have: the signed token takes precedence over the
// UserInfo response. email_verified applies only to the address from the same source.
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

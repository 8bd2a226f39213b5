package fieldmark

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"regexp"
	"strings"
)

// Limits of the settings of an account.
const (
	MaxAccountName = 100 // code points
	MaxAccountNote = 500 // code points
)

// Account is a tenant: it owns keys, missions and webhook endpoints, and cannot see
// those of other accounts.
type Account struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Note      string `json:"note,omitempty"`
	CreatedAt Time   `json:"createdAt"`
}

// AccountRequest creates or updates an account.
type AccountRequest struct {
	Name string `json:"name" minLength:"1" maxLength:"100" doc:"Display name"`
	Note string `json:"note,omitempty" maxLength:"500" doc:"Note for administrators"`
}

var accountID = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// ValidAccount reports whether s is a valid account id: 1 to 64 characters of a-z, 0-9,
// hyphen and underscore, starting with a letter or digit.
func ValidAccount(s string) bool { return accountID.MatchString(s) }

// Role is the role of an administrator.
type Role string

// An admin has full access; a viewer has read-only access without secrets.
const (
	RoleAdmin  Role = "admin"
	RoleViewer Role = "viewer"
)

// Valid reports whether the role is known.
func (r Role) Valid() bool { return r == RoleAdmin || r == RoleViewer }

// Admin is a user of the admin console.
type Admin struct {
	Name         string `json:"name"`
	Role         Role   `json:"role"`
	SecondFactor bool   `json:"secondFactor"` // two-factor authentication is enabled
	Foreign      bool   `json:"foreign"`      // signs in with OpenID Connect and has no password
	CreatedAt    Time   `json:"createdAt"`
}

// AuditEntry is one administrative action in the audit log. Its checksum covers the
// entry and the previous checksum, so that changed or removed entries are detected.
type AuditEntry struct {
	Number  int64           `json:"number"` // from 1, without gaps
	At      Time            `json:"at"`
	Kind    ActorKind       `json:"kind"`
	Actor   string          `json:"actor"`  // user name, key id, or user of a command
	Act     string          `json:"act"`    // such as key.create
	Target  string          `json:"target"` // subject of the action
	Before  json.RawMessage `json:"before,omitempty"`
	After   json.RawMessage `json:"after,omitempty"`
	Address string          `json:"address,omitempty"` // of the actor
	Agent   string          `json:"agent,omitempty"`   // User-Agent of the actor
	Request string          `json:"requestId,omitempty"`
	Sum     string          `json:"sum"` // HMAC-SHA-256 in base 64
}

// ActorKind is the interface that an administrator used.
type ActorKind string

// A user of the console, an API key, or a command that opened the database.
const (
	ActorPerson  ActorKind = "person"
	ActorKey     ActorKind = "key"
	ActorCommand ActorKind = "command"
)

// AuditVerdict is the result of verifying the audit log.
type AuditVerdict struct {
	Entries int64  `json:"entries"`          // valid entries
	Sum     string `json:"sum,omitempty"`    // checksum of the last valid entry
	Broken  int64  `json:"broken,omitempty"` // number of the first invalid entry; 0: all are valid
	Why     string `json:"why,omitempty"`
}

// NodeTokens are the node tokens an origin accepts from edges: two while the token
// is being changed. The zero value accepts none.
type NodeTokens struct {
	sums [][sha256.Size]byte // hashed, so that comparison time does not depend on the length
}

// ParseNodeTokens parses tokens separated by commas (FIELDMARK_NODE_TOKEN). Empty tokens
// are ignored.
func ParseNodeTokens(list string) (t NodeTokens) {
	for _, token := range SplitNodeTokens(list) {
		if token != "" {
			t.sums = append(t.sums, sha256.Sum256([]byte(token)))
		}
	}
	return t
}

// SplitNodeTokens splits a list of tokens and trims spaces. An edge sends the first
// token.
func SplitNodeTokens(list string) []string {
	tokens := strings.Split(list, ",")
	for i := range tokens {
		tokens[i] = strings.TrimSpace(tokens[i])
	}
	return tokens
}

// Contains reports whether token is one of t, in constant time.
func (t NodeTokens) Contains(token string) bool {
	sum := sha256.Sum256([]byte(token))
	found := 0
	for i := range t.sums {
		found |= subtle.ConstantTimeCompare(sum[:], t.sums[i][:])
	}
	return found == 1
}

package fieldmark

import (
	"hash/crc32"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Scope is one permission of an API key, written resource:verb.
type Scope string

// The scopes. Nothing is allowed that a key does not name.
const (
	ScopeMissionCreate  Scope = "mission:create"
	ScopeMissionRead    Scope = "mission:read"
	ScopeMissionUpdate  Scope = "mission:update"
	ScopeMissionCancel  Scope = "mission:cancel"
	ScopeMissionOperate Scope = "mission:operate" // every move, and who goes when
	ScopeWebhookManage  Scope = "webhook:manage"  // endpoints, their secrets and deliveries, and the events themselves
	ScopeAdmin          Scope = "admin:*"         // everything under /api/admin/v1
)

// Scopes lists every scope a key may have.
func Scopes() []Scope {
	return []Scope{ScopeMissionCreate, ScopeMissionRead, ScopeMissionUpdate, ScopeMissionCancel, ScopeMissionOperate, ScopeWebhookManage, ScopeAdmin}
}

// ParseScope accepts a scope by its exact name.
func ParseScope(s string) (Scope, error) {
	if !slices.Contains(Scopes(), Scope(s)) {
		return "", Errorf(CodeInvalidParameter, "unknown scope; known are %v", Scopes())
	}
	return Scope(s), nil
}

// Key is an API key as it may be shown: everything but its secret.
type Key struct {
	ID         string  `json:"id"`     // key_…
	Prefix     string  `json:"prefix"` // fm_live_ and its eight-character public part
	Account    string  `json:"account"`
	Name       string  `json:"name"`
	Scopes     []Scope `json:"scopes"`
	CreatedAt  Time    `json:"createdAt"`
	ExpiresAt  *Time   `json:"expiresAt"`
	RevokedAt  *Time   `json:"revokedAt"`
	LastUsedAt *Time   `json:"lastUsedAt"`

	RateLimit *RateLimit `json:"rateLimit,omitempty"` // of its own; nil: what every key has

	Networks      []netip.Prefix `json:"networks,omitempty"`   // it may be used from; none: anywhere
	Replaces      string         `json:"replaces,omitempty"`   // id of the key it took the place of
	ReplacedBy    string         `json:"replacedBy,omitempty"` // id of the key that took its place; it ends with its grace
	ReplacedAt    *Time          `json:"replacedAt,omitempty"`
	RevokedReason string         `json:"revokedReason,omitempty"`
	LastUsedFrom  string         `json:"lastUsedFrom,omitempty"`  // the network: a /24, or a /48 of IPv6
	LastUsedAgent string         `json:"lastUsedAgent,omitempty"` // the User-Agent
}

// State says whether the key works at a time.
func (k *Key) State(now time.Time) KeyState {
	switch {
	case k.RevokedAt != nil:
		return KeyRevoked
	case k.ExpiresAt != nil && !now.Before(k.ExpiresAt.Std()):
		return KeyExpired
	case k.ReplacedBy != "":
		return KeyReplaced
	}
	return KeyLive
}

// Admits reports whether the key may be used from an address.
func (k *Key) Admits(from netip.Addr) bool {
	return len(k.Networks) == 0 || slices.ContainsFunc(k.Networks, func(p netip.Prefix) bool { return p.Contains(from.Unmap()) })
}

// KeyState is where a key stands in its life.
type KeyState string

// A key works, works for the rest of its grace, came to its end, or was ended.
const (
	KeyLive     KeyState = "live"
	KeyReplaced KeyState = "replaced"
	KeyExpired  KeyState = "expired"
	KeyRevoked  KeyState = "revoked"
)

// RateLimit is what a key may ask in a minute; zero is what every key may.
type RateLimit struct {
	Reads  int `json:"reads,omitempty" minimum:"0" maximum:"1000000"`
	Writes int `json:"writes,omitempty" minimum:"0" maximum:"1000000"`
}

// MaxRate bounds a key's own rate, in requests a minute: above it a node is the
// limit.
const MaxRate = 1_000_000

// Allows reports whether the key has the scope.
func (k *Key) Allows(s Scope) bool { return slices.Contains(k.Scopes, s) }

// Bounds of a key's settings.
const (
	MaxKeyName     = 100 // code points
	MaxKeyDays     = 3650
	DefaultKeyDays = 365

	MaxKeyNetworks   = 50
	MaxRevokeReason  = 200 // code points
	MaxGraceHours    = 168 // of a key that was replaced
	DefaultGrace     = 24  // hours
	KeyExpiresInDays = 30  // before its end, answers carry HeaderKeyExpires
)

// KeyRequest asks for a new key. ExpiresInDays 0 means DefaultKeyDays, -1 never.
type KeyRequest struct {
	Name          string  `json:"name" minLength:"1" maxLength:"100"`
	Scopes        []Scope `json:"scopes" minItems:"1" maxItems:"10"`
	ExpiresInDays int     `json:"expiresInDays,omitempty" minimum:"-1" maximum:"3650"`

	RateLimit *RateLimit `json:"rateLimit,omitempty"`

	Account  string   `json:"account,omitempty" maxLength:"64" doc:"Account of the key; the default is the default account"`
	Networks []string `json:"networks,omitempty" maxItems:"50" doc:"Addresses and networks (CIDR) from which the key may be used; the default is any"`
}

// KeyRotation asks for a key in place of another. The old one works for a grace.
type KeyRotation struct {
	GraceHours *int `json:"graceHours,omitempty" minimum:"0" maximum:"168" doc:"How long the old key works; the default is 24"`
}

// KeyRevocation says why a key ends.
type KeyRevocation struct {
	Reason string `json:"reason,omitempty" maxLength:"200"`
}

// KeyExpiring tells that a key comes to its end.
type KeyExpiring struct {
	KeyID     string `json:"keyId"`
	Name      string `json:"name"`
	Prefix    string `json:"prefix"`
	ExpiresAt Time   `json:"expiresAt" format:"date-time"`
	DaysLeft  int    `json:"daysLeft"` // begun
}

// NewKey is a key just made: the only time its token is told.
type NewKey struct {
	Key
	Token string `json:"token"`
}

// KeyToken is the secret text a client sends: fm_live_, eight characters that
// find the key, an underscore, 32 that prove it, and six of CRC-32 over all
// before, so that junk is refused without asking the database.
type KeyToken struct {
	public string // fm_live_ and the eight
	secret string // the 32
}

// The parts of a key token; scanners may search for
// \bfm_(live|test)_[0-9A-Za-z]{8}_[0-9A-Za-z]{38}\b.
const (
	keyPrefixLive  = "fm_live_"
	keyPrefixTest  = "fm_test_"
	KeyPublicChars = 8
	KeySecretChars = 32
	keySumChars    = 6
)

// Base62 is the alphabet of key tokens; a double click selects all of one.
const Base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// NewKeyToken joins random characters of Base62 into a token.
func NewKeyToken(public, secret string) KeyToken {
	return KeyToken{public: keyPrefixLive + public, secret: secret}
}

// ParseKeyToken accepts the text of a token whose checksum is right. All other
// text gets the same error, as does a token no key belongs to.
func ParseKeyToken(s string) (KeyToken, error) {
	const length = len(keyPrefixLive) + KeyPublicChars + 1 + KeySecretChars + keySumChars
	bad := Errorf(CodeInvalidAPIKey, "the API key is unknown, mistyped or revoked")
	if len(s) != length || (!strings.HasPrefix(s, keyPrefixLive) && !strings.HasPrefix(s, keyPrefixTest)) {
		return KeyToken{}, bad
	}
	cut := len(keyPrefixLive) + KeyPublicChars
	t := KeyToken{public: s[:cut], secret: s[cut+1 : length-keySumChars]}
	if t.String() != s {
		return KeyToken{}, bad
	}
	return t, nil
}

// Public returns the part that finds the key and may be shown.
func (t KeyToken) Public() string { return t.public }

// Secret returns the part that proves the key; it is compared, never kept.
func (t KeyToken) Secret() string { return t.secret }

// String returns the whole token.
func (t KeyToken) String() string {
	body := t.public + "_" + t.secret
	return body + keySum(body)
}

// keySum writes the CRC-32 (IEEE) of s in six digits of Base62.
func keySum(s string) string {
	sum := crc32.ChecksumIEEE([]byte(s))
	var digits [keySumChars]byte
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = Base62[sum%62]
		sum /= 62
	}
	return string(digits[:])
}

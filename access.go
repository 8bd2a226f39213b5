package fieldmark

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"hash/crc32"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"
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

	FilterLabels []string `json:"filterLabels,omitempty"` // keys of labels that lists of missions can filter by

	TimeZone   string `json:"timeZone,omitempty"`   // IANA name, of the days on pages of technicians; empty: UTC
	DeviceTime bool   `json:"deviceTime,omitempty"` // SLA timers take occurredAt instead of the time of receipt

	Offer  string `json:"offer,omitempty"`  // id of the offer whose limits it has; empty: those of the service
	Parent string `json:"parent,omitempty"` // of a sub-account, which shares the limits of the parent
}

// MaxFilterLabels limits the filterable label keys of an account: a mission is indexed once for
// each.
const MaxFilterLabels = 5

// AccountRequest creates or updates an account.
type AccountRequest struct {
	Name string `json:"name" minLength:"1" maxLength:"100" doc:"Display name"`
	Note string `json:"note,omitempty" maxLength:"500" doc:"Note for administrators"`

	FilterLabels []string `json:"filterLabels,omitzero" maxItems:"5" doc:"Label keys for filters; unchanged if omitted"`

	TimeZone   *string `json:"timeZone,omitempty" maxLength:"64" doc:"IANA name; empty: UTC; unchanged if omitted"`
	DeviceTime *bool   `json:"deviceTime,omitempty" doc:"Whether SLA timers take occurredAt; unchanged if omitted"`

	Offer *string `json:"offer,omitempty" maxLength:"64" doc:"ID of an offer; empty: none; unchanged if omitted"`
}

var accountID = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// ValidAccount reports whether s is a valid account id: 1 to 64 characters of a-z, 0-9,
// hyphen and underscore, starting with a letter or digit.
func ValidAccount(s string) bool { return accountID.MatchString(s) }

// testSuffix ends the ids of test accounts. ValidAccount rejects its first character, so only the
// origin makes such accounts.
const testSuffix = "~test"

// TestAccount returns the id of the test account of an account; that of a test account is itself.
func TestAccount(account string) string { return strings.TrimSuffix(account, testSuffix) + testSuffix }

// IsTestAccount reports whether an account is a test account: it has a test world, which no list
// of live data contains.
func IsTestAccount(account string) bool { return strings.HasSuffix(account, testSuffix) }

// LiveAccount returns the account of a test account, or a live account itself.
func LiveAccount(account string) string { return strings.TrimSuffix(account, testSuffix) }

// World returns the test world of an account: its id for a test account, and empty for others.
func World(account string) string {
	if IsTestAccount(account) {
		return account
	}
	return ""
}

// TestWorld is the test world of an account.
type TestWorld struct {
	Account string         `json:"account"` // its test account
	State   TestWorldState `json:"state" enum:"ready,resetting"`
}

// TestWorldState is the state of a test world.
type TestWorldState string

// A world is ready, or everything in it is being deleted.
const (
	TestWorldReady     TestWorldState = "ready"
	TestWorldResetting TestWorldState = "resetting"
)

// Limits of a test world.
const (
	TestMissions         = 10_000  // enough for a month of a large integrator
	TestEndpoints        = 10      // as many systems receive events of one integration at most
	TestDeliveriesPerDay = 100_000 // an endpoint that is in a loop must not fill the database
	TestReads            = 300     // a minute, of all keys of a world together
	TestWrites           = 150     // a minute, of all keys of a world together
	TestKeys             = 3       // live ones: a developer, a CI system and one more
	TestKeyDays          = 90      // of a test key, at most
	TestAttachmentSize   = 1 << 20 // bytes: uploads are tested with small files
)

// Limits of a test clock.
const (
	TestClockStep    = 92 * 24 * time.Hour  // of one advance: a quarter, so that one call ends soon
	TestClockMax     = 400 * 24 * time.Hour // in all: a year and what follows its end
	TestClockFirings = 10_000               // of one advance, as TestMissions
	TestClockWait    = 20 * time.Second     // of a request for the end of its advance
)

// TestClockState is whether a test clock is idle or advancing.
type TestClockState string

// The states of a test clock.
const (
	TestClockReady     TestClockState = "ready"
	TestClockAdvancing TestClockState = "advancing"
)

// TestClock is the clock of a test world: the real time plus an offset.
type TestClock struct {
	Now           Time           `json:"now"`
	OffsetSeconds int64          `json:"offsetSeconds"`
	State         TestClockState `json:"state" enum:"ready,advancing"`
	To            *Time          `json:"to,omitempty"`        // the goal, while it advances
	Fired         TestClockFired `json:"fired"`               // by the last advance
	StoppedAt     *Time          `json:"stoppedAt,omitempty"` // where the last advance ended before its goal
	More          bool           `json:"more,omitempty"`      // it did, and the rest was not fired
}

// TestClockFired counts what an advance has fired.
type TestClockFired struct {
	SLA      int `json:"sla"`      // SLA timers
	Payments int `json:"payments"` // payments that fell due
	Retries  int `json:"retries"`  // repeated attempts of deliveries
	Webhooks int `json:"webhooks"` // first attempts
}

// TestClockRequest advances a test clock.
type TestClockRequest struct {
	Now  Time   `json:"now"`
	Wait string `json:"wait,omitempty" maxLength:"20"` // a duration of Go, such as 20s
}

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

// A user of the console, an API key, a command that opened the database, a technician with a secret
// link, or a customer with a portal link.
const (
	ActorPerson     ActorKind = "person"
	ActorKey        ActorKind = "key"
	ActorCommand    ActorKind = "command"
	ActorTechnician ActorKind = "technician"
	ActorPortal     ActorKind = "portal"
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

// Scope is a permission of an API key in the form resource:verb.
type Scope string

// The scopes. A key allows only what its scopes name.
const (
	ScopeMissionCreate  Scope = "mission:create"
	ScopeMissionRead    Scope = "mission:read"
	ScopeMissionUpdate  Scope = "mission:update"
	ScopeMissionCancel  Scope = "mission:cancel"
	ScopeMissionOperate Scope = "mission:operate" // transitions and plans
	ScopeWebhookManage  Scope = "webhook:manage"  // endpoints, secrets, deliveries and events
	ScopeBrandManage    Scope = "brand:manage"    // the brand that the account has claimed
	ScopeAccountManage  Scope = "account:manage"  // sub-accounts of a group and their keys
	ScopeKeyTest        Scope = "key:test"        // test keys of the account
	ScopeAdmin          Scope = "admin:*"         // everything under /api/admin/v1
)

// Scopes returns every scope.
func Scopes() []Scope {
	return []Scope{ScopeMissionCreate, ScopeMissionRead, ScopeMissionUpdate, ScopeMissionCancel, ScopeMissionOperate,
		ScopeWebhookManage, ScopeBrandManage, ScopeAccountManage, ScopeKeyTest, ScopeAdmin}
}

// AllowsTest reports whether a test key may have the scope: those of missions and webhooks, which
// have effects in its world alone.
func (s Scope) AllowsTest() bool {
	return s == ScopeWebhookManage || strings.HasPrefix(string(s), "mission:")
}

// ParseScope parses a scope by its exact name.
func ParseScope(s string) (Scope, error) {
	if !slices.Contains(Scopes(), Scope(s)) {
		return "", Errorf(CodeInvalidParameter, "unknown scope; known are %v", Scopes())
	}
	return Scope(s), nil
}

// Key is an API key without its secret.
type Key struct {
	ID         string  `json:"id"`     // key_…
	Prefix     string  `json:"prefix"` // fm_live_ or fm_test_, and its eight-character public part
	Account    string  `json:"account"`
	Name       string  `json:"name"`
	Scopes     []Scope `json:"scopes"`
	CreatedAt  Time    `json:"createdAt"`
	ExpiresAt  *Time   `json:"expiresAt"`
	RevokedAt  *Time   `json:"revokedAt"`
	LastUsedAt *Time   `json:"lastUsedAt"`

	RateLimit *RateLimit `json:"rateLimit,omitempty"` // nil: the default of every key

	Agent             AgentAccess `json:"agent,omitempty"`             // what agents may do with it
	AgentWritesPerDay int         `json:"agentWritesPerDay,omitempty"` // most writes of agents in a day, UTC

	Networks []netip.Prefix `json:"networks,omitempty"` // from which it may be used; empty: anywhere
	Replaces string         `json:"replaces,omitempty"` // id of the key that it replaced
	// id of the key that replaced it; it expires after the grace period
	ReplacedBy    string `json:"replacedBy,omitempty"`
	ReplacedAt    *Time  `json:"replacedAt,omitempty"`
	RevokedReason string `json:"revokedReason,omitempty"`
	LastUsedFrom  string `json:"lastUsedFrom,omitempty"`  // network: a /24, or a /48 of IPv6
	LastUsedAgent string `json:"lastUsedAgent,omitempty"` // the User-Agent

	Test bool `json:"test,omitempty"` // its account is the test account, and its data is apart from live data
}

// AgentAccess is what agents, which call the API through the tools of an edge, may do with an
// API key. Its scopes and rates apply to them as well.
type AgentAccess string

// The accesses.
const (
	AgentOff   AgentAccess = "off"   // nothing
	AgentDry   AgentAccess = "dry"   // read, and see what a write would do; the default
	AgentWrite AgentAccess = "write" // also write, each time with the token of a dry run
)

// Limits of the writes of agents with a key.
const (
	DefaultAgentWrites = 100
	MaxAgentWrites     = 10_000
)

// State returns the state of the key at a time.
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
	return len(k.Networks) == 0 || slices.ContainsFunc(k.Networks,
		func(p netip.Prefix) bool { return p.Contains(from.Unmap()) })
}

// NetworkOf returns the network of an address: a /24, or a /48 of IPv6. It is what the product stores
// and counts in place of an address, which is personal data. Of IPv6 a /48 is what one site gets; a
// client can choose any address in it. It is invalid for an invalid address.
func NetworkOf(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("") // a prefix has no zone
	bits := 48
	if a.Is4() {
		bits = 24
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}

// KeyState is the state of an API key.
type KeyState string

// A key is live, replaced and within its grace period, expired, or revoked.
const (
	KeyLive     KeyState = "live"
	KeyReplaced KeyState = "replaced"
	KeyExpired  KeyState = "expired"
	KeyRevoked  KeyState = "revoked"
)

// RateLimit is the rate limit of a key, in requests per minute; 0 is the default.
type RateLimit struct {
	Reads  int `json:"reads,omitempty" minimum:"0" maximum:"1000000"`
	Writes int `json:"writes,omitempty" minimum:"0" maximum:"1000000"`
}

// MaxRate limits the rate of a key, in requests per minute: above it the node is the
// bottleneck.
const MaxRate = 1_000_000

// Allows reports whether the key has the scope.
func (k *Key) Allows(s Scope) bool { return slices.Contains(k.Scopes, s) }

// Limits of the settings of a key.
const (
	MaxKeyName     = 100 // code points
	MaxKeyDays     = 3650
	DefaultKeyDays = 365

	MaxKeyNetworks   = 50
	MaxRevokeReason  = 200 // code points
	MaxGraceHours    = 168 // of a replaced key
	DefaultGrace     = 24  // hours
	KeyExpiresInDays = 30  // before the expiry, responses contain HeaderKeyExpires
)

// KeyRequest creates a key. ExpiresInDays 0 means DefaultKeyDays, -1 means never.
type KeyRequest struct {
	Name          string  `json:"name" minLength:"1" maxLength:"100"`
	Scopes        []Scope `json:"scopes" minItems:"1" maxItems:"20"`
	ExpiresInDays int     `json:"expiresInDays,omitempty" minimum:"-1" maximum:"3650"`

	RateLimit *RateLimit `json:"rateLimit,omitempty"`

	Agent             AgentAccess `json:"agent,omitempty" enum:"off,dry,write" default:"dry" doc:"What agents may do"`
	AgentWritesPerDay int         `json:"agentWritesPerDay,omitempty" minimum:"0" maximum:"10000" doc:"100 if omitted"`

	Account string `json:"account,omitempty" maxLength:"64" doc:"Owner; the default account if omitted"`
	Test    bool   `json:"test,omitempty" doc:"A key of the account's test world; for 90 days at most"`

	Networks []string `json:"networks,omitempty" maxItems:"50" doc:"Addresses and networks (CIDR) from which it may be used; anywhere if omitted"`
}

// TestKeyRequest creates a test key. ExpiresInDays 0 means TestKeyDays.
type TestKeyRequest struct {
	Name          string      `json:"name" minLength:"1" maxLength:"100"`
	Scopes        []Scope     `json:"scopes,omitempty" maxItems:"20" doc:"All that a test key may have if omitted"`
	ExpiresInDays int         `json:"expiresInDays,omitempty" minimum:"0" maximum:"90" doc:"90 if omitted"`
	Agent         AgentAccess `json:"agent,omitempty" enum:"off,dry,write" default:"dry" doc:"What agents may do"`
}

// KeyRotation replaces a key. The old key works for a grace period.
type KeyRotation struct {
	GraceHours *int `json:"graceHours,omitempty" minimum:"0" maximum:"168" doc:"How long the old key works; default 24"`
}

// KeyRevocation revokes a key and gives the reason.
type KeyRevocation struct {
	Reason string `json:"reason,omitempty" maxLength:"200"`
}

// KeyExpiring is the data of api_key.expiring.
type KeyExpiring struct {
	KeyID     string `json:"keyId"`
	Name      string `json:"name"`
	Prefix    string `json:"prefix"`
	ExpiresAt Time   `json:"expiresAt" format:"date-time"`
	DaysLeft  int    `json:"daysLeft"` // rounded up
}

// NewKey is a created key with its token, which is returned only once.
type NewKey struct {
	Key
	Token string `json:"token"`
}

// KeyToken is the secret token of an API key: fm_live_ or fm_test_, eight characters that identify
// the key, an underscore, 32 secret characters, and six of CRC-32 over everything
// before, so that random text is refused without a database lookup.
type KeyToken struct {
	public string // fm_live_ or fm_test_, and the identifier
	secret string // the secret characters
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

// Base62 is the alphabet of key tokens; a double click selects a whole token.
const Base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// NewKeyToken builds a token from random characters of Base62.
func NewKeyToken(public, secret string) KeyToken {
	return KeyToken{public: keyPrefixLive + public, secret: secret}
}

// NewTestKeyToken is NewKeyToken for a test key.
func NewTestKeyToken(public, secret string) KeyToken {
	return KeyToken{public: keyPrefixTest + public, secret: secret}
}

// ParseKeyToken parses a token with a valid checksum. Every invalid token gets the same
// error as a token without a key, so that errors reveal nothing.
func ParseKeyToken(s string) (KeyToken, error) {
	const length = len(keyPrefixLive) + KeyPublicChars + 1 + KeySecretChars + keySumChars
	const cut, end = len(keyPrefixLive) + KeyPublicChars, length - keySumChars
	if len(s) == length && s[cut] == '_' &&
		(strings.HasPrefix(s, keyPrefixLive) || strings.HasPrefix(s, keyPrefixTest)) {
		if sum := keySum(s[:end]); string(sum[:]) == s[end:] {
			return KeyToken{public: s[:cut], secret: s[cut+1 : end]}, nil
		}
	}
	return KeyToken{}, Errorf(CodeInvalidAPIKey, "the API key is unknown, mistyped or revoked")
}

// Public returns the part that identifies the key and may be shown.
func (t KeyToken) Public() string { return t.public }

// Secret returns the secret part. It is compared and never stored.
func (t KeyToken) Secret() string { return t.secret }

// String returns the whole token.
func (t KeyToken) String() string {
	body := t.public + "_" + t.secret
	sum := keySum(body)
	return body + string(sum[:])
}

// keySum returns the CRC-32 (IEEE) of s as six digits of Base62. It does not allocate, as edges
// parse a token for each request.
func keySum(s string) (digits [keySumChars]byte) {
	sum := ^uint32(0)
	for i := range len(s) {
		sum = crc32.IEEETable[byte(sum)^s[i]] ^ sum>>8
	}
	sum = ^sum
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = Base62[sum%62]
		sum /= 62
	}
	return digits
}

// SigningKeyState is the state of a key that signs the requests of the auditor.
type SigningKeyState string

// A key is published before its first use and after its last, so that verifiers with a
// cached key directory know it.
const (
	SigningKeyNext     SigningKeyState = "next"
	SigningKeyActive   SigningKeyState = "active"
	SigningKeyPrevious SigningKeyState = "previous"
)

// SigningKey is a key that signs the requests of the auditor (HTTP Message Signatures,
// RFC 9421). Its private half is never shown.
type SigningKey struct {
	ID        string          `json:"id"`        // JWK thumbprint (RFC 7638), the keyid of signatures
	PublicKey string          `json:"publicKey"` // Ed25519, base64url without padding
	State     SigningKeyState `json:"state" enum:"next,active,previous"`
	CreatedAt Time            `json:"createdAt"`
	UseFrom   Time            `json:"useFrom"`
	UseUntil  *Time           `json:"useUntil"`  // null until its successor is published
	ExpiresAt Time            `json:"expiresAt"` // when it leaves the key directory
}

// SigningKeys lists the published signing keys, and where verifiers find them.
type SigningKeys struct {
	Directory string       `json:"directory"` // URL of the key directory
	Form      string       `json:"form"`      // of the Signature-Agent field: dictionary or string
	Data      []SigningKey `json:"data"`      // oldest first
}

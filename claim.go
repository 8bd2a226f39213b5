package fieldmark

// ClaimMethod is how the owner of a brand proves control of its site.
type ClaimMethod string

// The methods of proof. A DNS record needs control of the zone, a file of the host, and a
// meta element of one page.
const (
	ClaimDNS  ClaimMethod = "dns"
	ClaimFile ClaimMethod = "file"
	ClaimMeta ClaimMethod = "meta"
)

// ClaimMethods returns every method, the strongest first.
func ClaimMethods() []ClaimMethod { return []ClaimMethod{ClaimDNS, ClaimFile, ClaimMeta} }

// Strength orders the methods: 3 is the strongest, 0 is no method.
func (m ClaimMethod) Strength() int {
	switch m {
	case ClaimDNS:
		return 3
	case ClaimFile:
		return 2
	case ClaimMeta:
		return 1
	}
	return 0
}

// ClaimState is the state of a claim.
type ClaimState string

// A claim is pending until a proof is found. A verified claim whose proofs are gone is
// lapsing and then expires. A proof of a brand that another claim holds is contested until
// the contest ends. The other states are final.
const (
	ClaimPending     ClaimState = "pending"
	ClaimVerified    ClaimState = "verified"
	ClaimLapsing     ClaimState = "lapsing"
	ClaimContested   ClaimState = "contested"
	ClaimExpired     ClaimState = "expired"
	ClaimWithdrawn   ClaimState = "withdrawn"
	ClaimTransferred ClaimState = "transferred" // another claim holds the brand
	ClaimRevoked     ClaimState = "revoked"     // by an administrator
)

// ClaimStates returns every state.
func ClaimStates() []ClaimState {
	return []ClaimState{ClaimPending, ClaimVerified, ClaimLapsing, ClaimContested, ClaimExpired, ClaimWithdrawn,
		ClaimTransferred, ClaimRevoked}
}

// Holds reports whether a claim in this state gives its account rights to the brand.
func (s ClaimState) Holds() bool { return s == ClaimVerified || s == ClaimLapsing }

// Open reports whether the state can still change.
func (s ClaimState) Open() bool { return s == ClaimPending || s == ClaimContested || s.Holds() }

// BrandClaim is the public part of the claim that holds a brand, as edges and
// GET /api/v1/score/{slug}?owner=1 show it.
type BrandClaim struct {
	Verified bool        `json:"verified"` // also while the claim is lapsing
	Since    Time        `json:"since"`
	Method   ClaimMethod `json:"method"` // the strongest that was found by the last check
	// Domain is the name whose control was proven: the zone of a DNS record or the host of a
	// file. It is empty if only a page was proven, because others may own its neighbors.
	Domain string `json:"domain,omitempty"`
}

// Limits of claims.
const (
	ClaimDays         = 7    // in which a claim must be verified
	ClaimTokenChars   = 32   // of base 32: 160 random bits
	MaxClaimBody      = 4096 // bytes of the body of a request
	MaxClaimReason    = 200  // code points
	ClaimKeys         = 2    // live keys of an account that a claim made: one, and its replacement
	ClaimEndpoints    = 5    // webhook endpoints of such an account
	ClaimWatches      = 100  // brands that all endpoints of such an account watch
	ClaimsPerDay      = 5    // by one client network
	ClaimChecksPerDay = 30   // of one claim, requested by its owner
)

// ClaimRequest opens a claim: POST /api/v1/claims. Exactly one of Brand and URL is required.
type ClaimRequest struct {
	Brand Slug   `json:"brand,omitempty" maxLength:"63" doc:"Slug of the brand"`
	URL   string `json:"url,omitempty" maxLength:"2048" doc:"Address of the site, also of one that is not registered"`
	Code  string `json:"code,omitempty" maxLength:"64" doc:"Code of a transfer, from the present owner"`
}

// ClaimProof is one way to prove a claim, ready to paste.
type ClaimProof struct {
	Method ClaimMethod `json:"method"`
	// Names are the names of a DNS record, any one of which is enough, or the URL of the
	// file or page.
	Names []string `json:"names"`
	Value string   `json:"value"` // the record, the line of the file, or the element
}

// ClaimAttempt is the result of looking for one proof.
type ClaimAttempt struct {
	Method ClaimMethod `json:"method"`
	Found  bool        `json:"found"`
	Detail string      `json:"detail"` // where it was found, or what was found instead
}

// ClaimStep is an entry of the history of a claim.
type ClaimStep struct {
	At     Time       `json:"at"`
	State  ClaimState `json:"state"`
	Detail string     `json:"detail"`
}

// MaxClaimSteps limits the history of a claim; the oldest steps are dropped.
const MaxClaimSteps = 50

// Claim is a claim, as its owner and administrators see it.
type Claim struct {
	ID         string         `json:"id"`
	Brand      Slug           `json:"brand,omitempty"` // empty until the brand of a new site is registered
	URL        string         `json:"url"`             // that is claimed
	State      ClaimState     `json:"state"`
	Method     ClaimMethod    `json:"method,omitempty"`  // the strongest that was found by the last check
	Methods    []ClaimMethod  `json:"methods,omitempty"` // all that were proven
	Domain     string         `json:"domain,omitempty"`
	Account    string         `json:"account,omitempty"`
	Proofs     []ClaimProof   `json:"proofs" nullable:"false"`
	CreatedAt  Time           `json:"createdAt"`
	ExpiresAt  *Time          `json:"expiresAt,omitempty"` // of a pending claim, or of a lapsing one
	VerifiedAt *Time          `json:"verifiedAt,omitempty"`
	CheckedAt  *Time          `json:"checkedAt,omitempty"`
	NextCheck  *Time          `json:"nextCheck,omitempty"`
	Resolvers  int            `json:"resolvers,omitempty"` // DNS servers that were asked
	Contest    *ClaimContest  `json:"contest,omitempty"`
	Transfer   *Time          `json:"transferUntil,omitempty"` // a code for a transfer is valid until then
	Reason     string         `json:"reason,omitempty"`        // why it ended
	Tried      []ClaimAttempt `json:"tried,omitempty"`         // by the last check
	History    []ClaimStep    `json:"history" nullable:"false"`
}

// ClaimContest is a contest of a brand, as both parties see it.
type ClaimContest struct {
	Until  Time        `json:"until"`  // the holder can object until then
	Method ClaimMethod `json:"method"` // strongest proof of the other party
	// Proofs have the fresh token of the holder's objection, once he requested it.
	Proofs []ClaimProof `json:"proofs,omitempty"`
}

// NewClaim is a claim with its secret, which no later response contains.
type NewClaim struct {
	Claim
	Secret string `json:"secret"` // fm_claim_…
}

// ClaimAccess is the account and the key of a verified claim. The token of the key is in no
// later response, and the secret of the claim is not valid any longer.
type ClaimAccess struct {
	Account string `json:"account"`
	Key     NewKey `json:"key"`
}

// ClaimTransfer is a code with which another party can claim the brand.
type ClaimTransfer struct {
	Code      string `json:"code"`
	ExpiresAt Time   `json:"expiresAt"`
}

// ClaimRevocation ends a claim by an administrator.
type ClaimRevocation struct {
	Reason string `json:"reason" minLength:"1" maxLength:"200"`
}

// ClaimChange is the data of the events of claims.
type ClaimChange struct {
	ID     string      `json:"id"`
	Slug   Slug        `json:"slug"`
	Method ClaimMethod `json:"method,omitempty"`
	State  ClaimState  `json:"state"`
	Until  *Time       `json:"until,omitempty" format:"date-time"` // when the state ends if nothing happens
}

package fieldmark

import "slices"

// Offer is a named set of limits that an administrator defines. An account with an offer has
// its limits; a change of the offer changes those of all its accounts.
type Offer struct {
	ID     string      `json:"id"`
	Name   string      `json:"name"`
	Kind   OfferKind   `json:"kind" enum:"standard,group,enterprise"`
	Limits OfferLimits `json:"limits"`
	// that keys may have; empty: all but admin:*, and account:manage only under a group offer
	Scopes     []Scope `json:"scopes,omitempty"`
	MaxKeyDays int     `json:"maxKeyDays,omitempty"` // lifetime of keys; 0: any
	Note       string  `json:"note,omitempty"`
	Accounts   int     `json:"accounts"` // that have it, without sub-accounts
	Version    int     `json:"version"`
	CreatedAt  Time    `json:"createdAt"`
	UpdatedAt  Time    `json:"updatedAt"`
}

// OfferKind is what an offer is for. Only accounts with a group offer have sub-accounts.
type OfferKind string

// The kinds.
const (
	OfferStandard   OfferKind = "standard"
	OfferGroup      OfferKind = "group"
	OfferEnterprise OfferKind = "enterprise"
)

// OfferKinds returns every kind.
func OfferKinds() []OfferKind { return []OfferKind{OfferStandard, OfferGroup, OfferEnterprise} }

// OfferLimits are the limits of an account and its sub-accounts together. 0 is the default of
// the service.
type OfferLimits struct {
	ReadsPerMinute  int `json:"readsPerMinute,omitempty" minimum:"0" maximum:"1000000"`
	WritesPerMinute int `json:"writesPerMinute,omitempty" minimum:"0" maximum:"1000000"`
	Endpoints       int `json:"endpoints,omitempty" minimum:"0" maximum:"1000"`
	MissionsPerDay  int `json:"missionsPerDay,omitempty" minimum:"0" maximum:"10000000" doc:"Days are in UTC"`
	HistoryDays     int `json:"historyDays,omitempty" minimum:"0" maximum:"3650" doc:"Of deliveries and events"`
}

// Limits of the settings of an offer.
const (
	MaxOffers          = 100 // one response lists all of them
	MaxOfferName       = 100 // code points
	MaxOfferNote       = 500 // code points
	MaxOfferEndpoints  = 1000
	MaxMissionsPerDay  = 10_000_000
	MaxOfferHistory    = 3650 // days
	MaxSubAccounts     = 100  // of a group
	MaxSubAccountName  = 32   // characters of the part after the parent's id
	MaxSubAccountKeys  = 20   // live keys: one for each program and environment is far fewer
	MaxAccountIDLength = 64
)

// Allows reports whether keys of accounts with the offer may have a scope. Keys for the admin
// API are not subject to offers: only administrators create them.
func (o *Offer) Allows(s Scope) bool {
	if s == ScopeAdmin {
		return true
	}
	if s == ScopeAccountManage && o.Kind != OfferGroup {
		return false
	}
	return len(o.Scopes) == 0 || slices.Contains(o.Scopes, s)
}

// OfferRequest creates or replaces an offer.
type OfferRequest struct {
	Name       string      `json:"name" minLength:"1" maxLength:"100" doc:"Display name"`
	Kind       OfferKind   `json:"kind" enum:"standard,group,enterprise" doc:"Only group offers have sub-accounts"`
	Limits     OfferLimits `json:"limits,omitzero"`
	Scopes     []Scope     `json:"scopes,omitempty" maxItems:"20" doc:"Of keys; any but admin:* if omitted"`
	MaxKeyDays int         `json:"maxKeyDays,omitempty" minimum:"0" maximum:"3650" doc:"Of keys; any if omitted"`
	Note       string      `json:"note,omitempty" maxLength:"500" doc:"Note for administrators"`
}

// AccountUse is what an account may use and has used, as its own keys see it.
type AccountUse struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Parent string `json:"parent,omitempty"` // of a sub-account, which shares the limits of the parent
	Offer  string `json:"offer,omitempty"`  // display name
	// the offer's, and the service's where the offer has none; 0: no limit
	Limits OfferLimits `json:"limits"`
	Used   LimitsUsed  `json:"used"`
	Scopes []Scope     `json:"scopes"` // that keys of the account may have
}

// LimitsUsed is what an account and its sub-accounts have used.
type LimitsUsed struct {
	Endpoints     int  `json:"endpoints"`
	MissionsToday int  `json:"missionsToday"` // counted only under a limit
	SubAccounts   int  `json:"subAccounts,omitempty"`
	ResetsAt      Time `json:"resetsAt" format:"date-time"` // when missionsToday becomes 0
}

// SubAccountRequest creates or changes a sub-account.
type SubAccountRequest struct {
	ID   string `json:"id,omitempty" maxLength:"32" doc:"Part after the parent's id and a dot; required to create one"`
	Name string `json:"name" minLength:"1" maxLength:"100" doc:"Display name"`
}

// SubAccount is an account of a group. It sees only its own missions, and the group does not
// see them.
type SubAccount struct {
	ID        string `json:"id"` // the parent's id, a dot, and the name that the request chose
	Name      string `json:"name"`
	Keys      int    `json:"keys"` // live ones
	CreatedAt Time   `json:"createdAt"`
}

// AccessState is the state of a request for an API key.
type AccessState string

// A request is pending until an administrator approves or declines it. The applicant of an
// approved request has its key shown once, which makes it issued; otherwise it expires.
const (
	AccessPending  AccessState = "pending"
	AccessApproved AccessState = "approved"
	AccessDeclined AccessState = "declined"
	AccessIssued   AccessState = "issued"
	AccessExpired  AccessState = "expired"
)

// AccessStates returns every state.
func AccessStates() []AccessState {
	return []AccessState{AccessPending, AccessApproved, AccessDeclined, AccessIssued, AccessExpired}
}

// AccessScopes returns the scopes that can be requested. Keys of administrators are created by
// administrators, and the key of a claimed brand by its claim. account:manage needs a group offer.
func AccessScopes() []Scope {
	return []Scope{ScopeMissionCreate, ScopeMissionRead, ScopeMissionUpdate, ScopeMissionCancel, ScopeMissionOperate,
		ScopeWebhookManage, ScopeKeyTest, ScopeAccountManage}
}

// Limits of requests for API keys.
const (
	AccessSecretChars = 43 // of base64url: 256 bits
	AccessDays        = 14 // in which the key of an approved request must be shown
	// AccessKeptDays is when a request is deleted, in days after it ended or, without a decision,
	// after it was sent: it contains personal data.
	AccessKeptDays   = 90
	AccessPerDay     = 5 // by one client network
	MinAccessPurpose = 20
	MaxAccessName    = 100   // code points of the names of the organization and the contact
	MaxAccessPurpose = 2_000 // code points
	MaxAccessReason  = 2_000 // code points
	MaxAccessBody    = 16 << 10
)

// AccessRequestForm requests an API key: POST /api/v1/access-requests.
type AccessRequestForm struct {
	Organization string    `json:"organization" minLength:"1" maxLength:"100" doc:"Who will use the key"`
	Name         string    `json:"name" minLength:"1" maxLength:"100" doc:"Name of the contact"`
	Email        string    `json:"email" minLength:"3" maxLength:"254" format:"email" doc:"Of the contact"`
	Purpose      string    `json:"purpose" minLength:"20" maxLength:"2000" doc:"What the key is for"`
	Scopes       []Scope   `json:"scopes" minItems:"1" maxItems:"10"`
	Offer        OfferKind `json:"offer" enum:"standard,group,enterprise"`
}

// AccessGrant is what the key of an approved request may do.
type AccessGrant struct {
	Account       string     `json:"account"`         // that owns the key
	Offer         string     `json:"offer,omitempty"` // that the approval gave the account; empty: unchanged
	Scopes        []Scope    `json:"scopes" nullable:"false"`
	RateLimit     *RateLimit `json:"rateLimit,omitempty"`     // nil: the default of every key
	Networks      []string   `json:"networks,omitempty"`      // from which it may be used; empty: anywhere
	ExpiresInDays int        `json:"expiresInDays,omitempty"` // from when it is shown; -1: never
}

// AccessStatus is a request for an API key as its applicant sees it.
type AccessStatus struct {
	ID           string       `json:"id"` // arq_…
	State        AccessState  `json:"state" enum:"pending,approved,declined,issued,expired"`
	Organization string       `json:"organization"`
	Scopes       []Scope      `json:"scopes" nullable:"false"` // that were requested
	Offer        OfferKind    `json:"offer" enum:"standard,group,enterprise"`
	RequestedAt  Time         `json:"requestedAt"`
	DecidedAt    *Time        `json:"decidedAt,omitempty"`
	Reason       string       `json:"reason,omitempty"`    // why it was declined
	Grant        *AccessGrant `json:"grant,omitempty"`     // of an approved request
	ExpiresAt    *Time        `json:"expiresAt,omitempty"` // until then the key of an approved request can be shown
	IssuedAt     *Time        `json:"issuedAt,omitempty"`  // when the key was shown
	DeletedAt    Time         `json:"deletedAt"`           // when the request is deleted
}

// AccessRequest is a request for an API key as administrators see it. The texts are those of a
// stranger, and nothing in them is verified.
type AccessRequest struct {
	AccessStatus
	Name      string `json:"name"`
	Email     string `json:"email"`
	Purpose   string `json:"purpose"`
	DecidedBy string `json:"decidedBy,omitempty"` // user or API key
	KeyID     string `json:"keyId,omitempty"`     // of the key that was issued
}

// NewAccessRequest is a request with the secret that shows its state and its key. No later response
// contains the secret.
type NewAccessRequest struct {
	AccessStatus
	Secret string `json:"secret"`
	Page   string `json:"page"` // address of the page of the request, which contains the secret
}

// AccessApproval approves a request: it states what the key may do.
type AccessApproval struct {
	Account    string  `json:"account" minLength:"1" maxLength:"64" doc:"Id of the account that owns the key"`
	NewAccount bool    `json:"newAccount,omitempty" doc:"Create the account; otherwise it must exist"`
	Offer      string  `json:"offer,omitempty" maxLength:"64" doc:"Offer for the account; unchanged if omitted"`
	Scopes     []Scope `json:"scopes" minItems:"1" maxItems:"10"`

	RateLimit     *RateLimit `json:"rateLimit,omitempty"`
	Networks      []string   `json:"networks,omitempty" maxItems:"50" doc:"Addresses and networks; anywhere if omitted"`
	ExpiresInDays int        `json:"expiresInDays,omitempty" minimum:"-1" maximum:"3650" doc:"-1: never; default 365"`
}

// AccessRefusal declines a request.
type AccessRefusal struct {
	Reason string `json:"reason" minLength:"1" maxLength:"2000" doc:"Shown to the applicant"`
}

// AccessChange is the data of the events of requests for API keys. It has no personal data, because
// events outlive requests.
type AccessChange struct {
	ID    string      `json:"id"`
	State AccessState `json:"state"`
}

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
	HistoryDays     int `json:"historyDays,omitempty" minimum:"0" maximum:"3650" doc:"Of events and deliveries"`
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
	// in force: the offer's, and the service's where the offer has none; 0: no limit
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

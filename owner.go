package fieldmark

// PathOwner is where the pages of brand owners begin.
const PathOwner = "/owner"

// Limits of what an owner may request for a brand.
const (
	OwnerAuditsPerHour    = 1
	OwnerAuditsPerDay     = 6
	OwnerProfilesPerWeek  = 3
	OwnerDisputesPerMonth = 20
	MaxOwnerAliases       = 3   // in one request: slugs are scarce
	MaxListingReason      = 200 // code points
	RelistAfterDays       = 7   // a brand cannot hide a bad week
	MinCrawlPause         = 1   // seconds
	MaxCrawlPause         = 10  // seconds
)

// BrandProfile is what an owner may change of a brand: GET /api/v1/brands/{slug}/profile.
type BrandProfile struct {
	Name        string `json:"name"`
	Niche       string `json:"niche"`
	Language    string `json:"language"`
	Description string `json:"description"`
}

// Profile returns the part of a brand that its owner may change.
func (b *Brand) Profile() BrandProfile {
	return BrandProfile{Name: b.Name, Niche: b.Niche, Language: b.Language, Description: b.Description}
}

// ProfilePatch changes a profile. Members that are omitted keep their value.
type ProfilePatch struct {
	Name        *string `json:"name,omitempty" minLength:"1" maxLength:"100"`
	Niche       *string `json:"niche,omitempty" minLength:"1" maxLength:"63" doc:"Category, in the form of a slug"`
	Language    *string `json:"language,omitempty" minLength:"1" maxLength:"35" doc:"BCP 47"`
	Description *string `json:"description,omitempty" maxLength:"2000"`
}

// Apply returns the profile with the changes.
func (p ProfilePatch) Apply(to BrandProfile) BrandProfile {
	for _, m := range []struct{ from, to *string }{{p.Name, &to.Name}, {p.Niche, &to.Niche},
		{p.Language, &to.Language}, {p.Description, &to.Description}} {
		if m.from != nil {
			*m.to = *m.from
		}
	}
	return to
}

// PatchTo returns the patch that changes a profile into another.
func (p BrandProfile) PatchTo(other BrandProfile) (patch ProfilePatch) {
	for _, m := range []struct {
		from, to string
		member   **string
	}{{p.Name, other.Name, &patch.Name}, {p.Niche, other.Niche, &patch.Niche},
		{p.Language, other.Language, &patch.Language}, {p.Description, other.Description, &patch.Description}} {
		if m.from != m.to {
			*m.member = &m.to
		}
	}
	return patch
}

// AliasRequest requests other slugs that lead to a brand.
type AliasRequest struct {
	Names []Slug `json:"names" minItems:"1" maxItems:"3"`
}

// RequestKind is what an owner requests of an administrator.
type RequestKind string

// An owner requests aliases, or a name that another brand of the niche has.
const (
	RequestAliases RequestKind = "aliases"
	RequestProfile RequestKind = "profile"
)

// RequestState is the state of a BrandRequest.
type RequestState string

// A request is pending until an administrator decides. Another one of its kind replaces it; it lapses with the
// claim of the brand.
const (
	RequestPending  RequestState = "pending"
	RequestApproved RequestState = "approved"
	RequestRejected RequestState = "rejected"
	RequestReplaced RequestState = "replaced"
	RequestLapsed   RequestState = "lapsed"
)

// BrandRequest is a change of a brand that its owner requests and an administrator decides.
type BrandRequest struct {
	ID          string       `json:"id"`
	Brand       Slug         `json:"brand"`
	Account     string       `json:"account"`
	Kind        RequestKind  `json:"kind" enum:"aliases,profile"`
	State       RequestState `json:"state" enum:"pending,approved,rejected,replaced,lapsed"`
	Change      BrandChange  `json:"change"`
	RequestedAt Time         `json:"requestedAt"`
	DecidedAt   *Time        `json:"decidedAt,omitempty"`
	DecidedBy   string       `json:"decidedBy,omitempty"`
	Answer      string       `json:"answer,omitempty"`
}

// BrandChange is the requested change: of aliases, or of the profile.
type BrandChange struct {
	Aliases []Slug        `json:"aliases,omitempty"`
	Profile *BrandProfile `json:"profile,omitempty" doc:"With the change, as of the request"`
	Patch   *ProfilePatch `json:"patch,omitempty" doc:"What the request changes; without it, the whole profile"`
}

// ApplyProfile returns the present profile of a brand with the requested change of it. The members that the request
// does not change may have changed since.
func (c BrandChange) ApplyProfile(present BrandProfile) BrandProfile {
	if c.Patch == nil { // stored by an earlier version
		return *c.Profile
	}
	return c.Patch.Apply(present)
}

// RequestDecision decides a BrandRequest.
type RequestDecision struct {
	State  RequestState `json:"state" enum:"approved,rejected"`
	Answer string       `json:"answer,omitempty" maxLength:"2000" doc:"Reason; required to reject"`
}

// ListingRequest takes a brand off the ranking and the lists, or puts it back.
type ListingRequest struct {
	Listed bool   `json:"listed"`
	Reason string `json:"reason,omitempty" maxLength:"200" doc:"For the audit log"`
}

// BrandListing is the result of a ListingRequest.
type BrandListing struct {
	Listed      bool  `json:"listed"`
	UnlistedAt  *Time `json:"unlistedAt,omitempty"`
	RelistAfter *Time `json:"relistAfter,omitempty"` // earliest time at which it can be listed again
}

// Wishes are the crawl settings that an owner chose for the site.
type Wishes struct {
	Checks bool `json:"checks" doc:"Whether anyone may check this site"`
	Pause  int  `json:"pause" minimum:"1" maximum:"10" doc:"Seconds between two requests to the site"`
}

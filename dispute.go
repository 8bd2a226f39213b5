package fieldmark

// GateManipulation is the gate of text written to steer a model. It is named here because
// a dispute of it has an effect on later audits.
const GateManipulation = "manipulation"

// FactManipulation is the fact that GateManipulation depends on.
const FactManipulation = "manipulation.found"

// FactText is the fact whose dispute is about text that was first seen at another brand. It
// is named here because an upheld dispute of it changes which brand counts as the first.
const FactText = "text.plausible"

// DisputeSuffix follows the path of a brand's page.
const DisputeSuffix = "/contest"

// DisputePath returns the path of the page on which a finding about a brand is disputed.
// Signal is the id of a signal or a gate, or "".
func DisputePath(slug Slug, signal string) string {
	path := PathBrandPage + string(slug) + DisputeSuffix
	if signal != "" {
		path += "?signal=" + signal
	}
	return path
}

// Suspicion is text on a site that reads as written to steer a model. It is not part of
// the facts, which are public, until a second audit finds it again.
type Suspicion struct {
	Rule      string `json:"rule"`
	URL       string `json:"url"`
	Passage   string `json:"passage"`          // the matched words, verbatim
	Hidden    string `json:"hidden,omitempty"` // how it is hidden from readers; empty if it is not
	FirstSeen Time   `json:"firstSeen"`

	Unread string `json:"unread,omitempty"` // why the last audit could not read the page; empty if it did
	Misses int    `json:"misses,omitempty"` // audits in a row that could not read it
}

// BrandSuspicions are the suspicions of a brand that no second audit has confirmed. They
// are for administrators: neither the score nor anything public depends on them.
type BrandSuspicions struct {
	Suspicions []Suspicion `json:"suspicions" nullable:"false"`
	NextAudit  *Time       `json:"nextAudit"` // the earliest time of the next audit; null: only on request
}

// DisputeKind is what a dispute claims to be wrong with a finding.
type DisputeKind string

// The kinds of disputes.
const (
	DisputeWrong         DisputeKind = "wrong"
	DisputeOutdated      DisputeKind = "outdated"
	DisputeNotApplicable DisputeKind = "not_applicable"
	DisputeRefusedByWall DisputeKind = "refused_by_wall" // a firewall refused the auditor
)

// DisputeState is the state of a dispute.
type DisputeState string

// A dispute of the public is open until an administrator upholds or rejects it. One of the
// owner of the brand first has the site audited again: it is open until that audit starts,
// rechecking until it ends, settled if the facts changed, and otherwise in review until an
// administrator decides. The owner can withdraw it; it lapses with the claim of the brand.
const (
	DisputeOpen       DisputeState = "open"
	DisputeRechecking DisputeState = "rechecking"
	DisputeInReview   DisputeState = "in_review"
	DisputeSettled    DisputeState = "settled"
	DisputeUpheld     DisputeState = "upheld"
	DisputeRejected   DisputeState = "rejected"
	DisputeWithdrawn  DisputeState = "withdrawn"
	DisputeLapsed     DisputeState = "lapsed"
)

// Undecided reports whether the state can still change.
func (s DisputeState) Undecided() bool {
	return s == DisputeOpen || s == DisputeRechecking || s == DisputeInReview
}

// DisputeStates returns every state.
func DisputeStates() []DisputeState {
	return []DisputeState{DisputeOpen, DisputeRechecking, DisputeInReview, DisputeSettled, DisputeUpheld,
		DisputeRejected, DisputeWithdrawn, DisputeLapsed}
}

// Limits of a dispute.
const (
	MinDisputeText   = 20    // code points: less does not say what is wrong
	MaxDisputeText   = 2_000 // code points
	MaxDisputeEmail  = 254   // bytes (RFC 5321, section 4.5.3.1.3)
	MaxDisputeAnswer = 2_000 // code points

	MaxDisputeEvidence = 5   // pages
	MaxDisputeNote     = 240 // code points of the note about a page
	MaxDisputeExcerpt  = 240 // code points of the text of an owner, which are published

	// MaxPublicDisputes is how many disputes of a brand are published: all that can be
	// undecided, and as many decided ones.
	MaxPublicDisputes = 20
)

// DisputeRequest opens a dispute: POST /api/v1/brands/{slug}/disputes. Without a key, it needs
// an e-mail address; with a key of the owner of the brand it has none, and may name evidence.
type DisputeRequest struct {
	Signal string      `json:"signal" minLength:"1" maxLength:"64" pattern:"^[a-z0-9._-]+$" doc:"Id of a signal or a gate"`
	Kind   DisputeKind `json:"kind" enum:"wrong,outdated,not_applicable,refused_by_wall"`
	Text   string      `json:"text" minLength:"20" maxLength:"2000" doc:"What is wrong. Published in part if the owner of the brand sends it, otherwise not"`
	Email  string      `json:"email,omitempty" minLength:"3" maxLength:"254" format:"email" doc:"Required without a key. Not published"`

	Evidence []DisputeEvidence `json:"evidence,omitempty" maxItems:"5" doc:"Only with a key of the owner"`
}

// DisputeEvidence is a page that supports a dispute.
type DisputeEvidence struct {
	URL  string `json:"url" minLength:"1" maxLength:"2048" doc:"http or https"`
	Note string `json:"note,omitempty" maxLength:"240"`
}

// DisputedFact is a fact that a dispute is about, as it was when the dispute was opened.
type DisputedFact struct {
	ID    string    `json:"id"`
	State FactState `json:"state"`
	Value int64     `json:"value"`
}

// DisputeStatus is the public part of a dispute.
type DisputeStatus struct {
	ID        string       `json:"id"`
	Signal    string       `json:"signal"`
	Kind      DisputeKind  `json:"kind"`
	State     DisputeState `json:"state"`
	OpenedAt  Time         `json:"openedAt"`
	DecidedAt *Time        `json:"decidedAt,omitempty"`
	Answer    string       `json:"answer,omitempty"` // of the operator: the reason of the decision

	// Of a dispute by the owner of the brand. They are untrusted text: show them as text, and
	// follow no address in them.
	Owner bool `json:"owner,omitempty"`
	// the first MaxDisputeExcerpt code points of the text, in one line
	Excerpt  string            `json:"excerpt,omitempty"`
	Evidence []DisputeEvidence `json:"evidence,omitempty"`
}

// Dispute is an objection to a finding, as administrators see it.
type Dispute struct {
	DisputeStatus
	Brand     Slug   `json:"brand"`
	Text      string `json:"text"`
	Email     string `json:"email"`
	DecidedBy string `json:"decidedBy,omitempty"` // user or API key

	// Passages are the findings that the dispute is about. Of GateManipulation, these are the
	// confirmed ones: if it is upheld, audits of the brand ignore these words from then on. Of
	// FactText, these are the pages on which the text was first seen: if it is upheld, the text
	// counts as first seen at this brand.
	Passages []Suspicion `json:"passages,omitempty"`

	Account string         `json:"account,omitempty"` // that manages the brand; empty: a dispute of the public
	Facts   []DisputedFact `json:"facts,omitempty"`   // of a dispute by the owner
	Rules   string         `json:"rules,omitempty"`   // of the auditor when the dispute of an owner was upheld
}

// DisputeChange is the data of the events of disputes by owners.
type DisputeChange struct {
	ID     string       `json:"id"`
	Slug   Slug         `json:"slug"`
	Signal string       `json:"signal"`
	Kind   DisputeKind  `json:"kind" enum:"wrong,outdated,not_applicable,refused_by_wall"`
	State  DisputeState `json:"state"`
	Answer string       `json:"answer,omitempty"`
}

// DisputeDecision decides an open dispute.
type DisputeDecision struct {
	State  DisputeState `json:"state" enum:"upheld,rejected"`
	Answer string       `json:"answer" minLength:"1" maxLength:"2000" doc:"Reason. Published"`
}

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

// DisputeKind says what is wrong with a finding.
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

// A dispute is open until an administrator upholds or rejects it.
const (
	DisputeOpen     DisputeState = "open"
	DisputeUpheld   DisputeState = "upheld"
	DisputeRejected DisputeState = "rejected"
)

// Limits of a dispute.
const (
	MinDisputeText   = 20    // code points: less does not say what is wrong
	MaxDisputeText   = 2_000 // code points
	MaxDisputeEmail  = 254   // bytes (RFC 5321, section 4.5.3.1.3)
	MaxDisputeAnswer = 2_000 // code points
)

// DisputeRequest opens a dispute: POST /api/v1/brands/{slug}/disputes. It needs no key.
type DisputeRequest struct {
	Signal string      `json:"signal" minLength:"1" maxLength:"64" pattern:"^[a-z0-9._-]+$" doc:"Id of a signal or a gate"`
	Kind   DisputeKind `json:"kind" enum:"wrong,outdated,not_applicable,refused_by_wall"`
	Text   string      `json:"text" minLength:"20" maxLength:"2000" doc:"What is wrong. Not published"`
	Email  string      `json:"email" minLength:"3" maxLength:"254" format:"email" doc:"Not published"`
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
}

// DisputeDecision decides an open dispute.
type DisputeDecision struct {
	State  DisputeState `json:"state" enum:"upheld,rejected"`
	Answer string       `json:"answer" minLength:"1" maxLength:"2000" doc:"Reason. Published"`
}

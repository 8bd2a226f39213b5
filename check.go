package fieldmark

// PathChecks is where checks of sites are requested; the id of one follows.
const PathChecks = "/api/v1/checks"

// PathCheckPage is the page that requests a check; the id of one follows.
const PathCheckPage = "/check"

// PrefixCheck is the prefix of the id of a check.
const PrefixCheck = "chk"

// HeaderCheckDeduplicated is "true" if a request for a check returned an existing one.
const HeaderCheckDeduplicated = "Check-Deduplicated"

// Limits of the address in a SiteCheckRequest, in bytes.
const (
	MaxCheckURL  = MaxBrandURL
	MaxCheckPath = 200 // with escapes
	MaxCheckBody = 4 << 10
)

// MaxCheckWait is the longest wait for the end of a check in one request, in seconds.
const MaxCheckWait = 20

// SiteCheckRequest requests an audit of a site that need not be a registered brand.
type SiteCheckRequest struct {
	URL string `json:"url" minLength:"1" maxLength:"2048" doc:"Home page; query and fragment are dropped"`
}

// SiteCheckState is the state of a SiteCheck.
type SiteCheckState string

// A check waits, runs and ends in one of three ways.
const (
	SiteCheckQueued  SiteCheckState = "queued"
	SiteCheckRunning SiteCheckState = "running"
	SiteCheckDone    SiteCheckState = "done"    // with a report
	SiteCheckRefused SiteCheckState = "refused" // the site does not want to be checked, or the operator does not
	SiteCheckFailed  SiteCheckState = "failed"  // no report could be made
)

// Ended reports whether the state is final.
func (s SiteCheckState) Ended() bool {
	return s == SiteCheckDone || s == SiteCheckRefused || s == SiteCheckFailed
}

// SiteCheck is a check of a site that anyone requested. It is deleted a day after it was
// requested, and changes nothing else: no brand, no ranking, no badge.
type SiteCheck struct {
	ID       string         `json:"id"` // random, and the only key to the check
	State    SiteCheckState `json:"state" enum:"queued,running,done,refused,failed"`
	URL      string         `json:"url"` // as it is audited
	Host     string         `json:"host"`
	Position int            `json:"position"`         // in the queue, from 1; 0 unless queued
	Step     string         `json:"step,omitempty"`   // what the audit does, while it runs
	Steps    int            `json:"steps"`            // begun
	Requests int            `json:"requests"`         // sent to the site
	Brand    Slug           `json:"brand,omitempty"`  // public brand that is registered for this site
	Reason   string         `json:"reason,omitempty"` // why the check was refused or failed
	By       SiteRefuser    `json:"refusedBy,omitempty" enum:"robots,wall,owner,operator"`
	Code     Code           `json:"code,omitempty"` // of a failure

	CreatedAt  Time  `json:"createdAt"`
	StartedAt  *Time `json:"startedAt,omitempty"`
	FinishedAt *Time `json:"finishedAt,omitempty"`
	ExpiresAt  Time  `json:"expiresAt"`

	Report *SiteCheckReport `json:"report,omitempty"` // once done
	Links  SiteCheckLinks   `json:"links"`
}

// SiteRefuser is the party that refused a check.
type SiteRefuser string

// Who refuses checks.
const (
	RefusedByRobots   SiteRefuser = "robots"   // robots.txt of the site
	RefusedByWall     SiteRefuser = "wall"     // bot protection in front of the site
	RefusedByOwner    SiteRefuser = "owner"    // verified owner of the brand
	RefusedByOperator SiteRefuser = "operator" // of this service
)

// SiteCheckLinks are the addresses of a check.
type SiteCheckLinks struct {
	Self string `json:"self"`
	Page string `json:"page"`
}

// SiteCheckReport is what a check found: a score document without a brand.
type SiteCheckReport struct {
	Assessment  Assessment  `json:"assessment"`
	Gains       []Gain      `json:"gains"` // what to improve, the most worthwhile first
	Facts       Facts       `json:"facts"`
	Methodology Methodology `json:"methodology"`
	Module      ModuleRef   `json:"module"`
}

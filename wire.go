package fieldmark

import (
	"slices"
	"strings"
)

// Paths that edge and origin share. A slug, id or digest follows those that end in a
// slash.
const (
	PathBadge       = "/api/badge/"
	PathScore       = "/api/v1/score/"
	PathBrands      = "/api/v1/brands/"
	PathLeaderboard = "/api/v1/leaderboard"
	PathScores      = "/api/v1/scores"
	PathScoreBatch  = "/api/v1/scores/batch"
	PathDumps       = "/api/v1/dumps"
	PathModules     = "/api/v1/modules/"
	PathStudies     = "/api/v1/visibility/studies/"
	PathValidity    = "/api/v1/validity"
	PathMethodology = "/api/v1/methodology"
	// PathLog lists the public logs; the files of one are below it, after a slash and its number.
	PathLog      = "/api/v1/log"
	PathLLMs     = "/api/v1/llms-txt"
	PathLLMsLint = "/api/v1/llms-txt/lint"
	// PathPlayground is the prefix of the calls that compile scorecards and check modules of anyone.
	PathPlayground = "/api/v1/playground/"
	PathPublic     = "/api/public/"
	PathMissions   = "/api/public/v1/missions"
	PathClaims     = "/api/v1/claims"
	PathAlerts     = "/api/public/v1/integrations/"
	PathWebhooks   = "/api/public/v1/webhooks"
	PathAdminAPI   = "/api/admin/v1/"
	// LogCheckpoint is the newest checkpoint of a public log, below its address.
	LogCheckpoint = "checkpoint"
	// PathMissionBatch creates several missions at once.
	PathMissionBatch = "/api/public/v1/missions/batch"
	// PathTestKeys are the test keys of the account of a live key.
	PathTestKeys = "/api/public/v1/test/keys"
	// PathTestReset deletes everything in a test world but its keys.
	PathTestReset = "/api/public/v1/test/reset"
	// PathTestClock is the clock of a test world.
	PathTestClock = "/api/public/v1/test/clock"

	// PathAccount is the account of the caller's key.
	PathAccount = "/api/public/v1/account"
	// PathIntake has the results of requests that an edge accepted without an origin; an id follows.
	PathIntake = "/api/public/v1/intake/"
	// PathPublicEvents returns events to integrators that poll.
	PathPublicEvents = "/api/public/v1/events"

	PathAdmin = "/admin"
	// PathSignedOn is the callback of single sign-on.
	PathSignedOn = PathAdmin + "/sign-in/return"
	PathOpenAPI  = "/api/openapi.json"
	// PathAsyncAPI describes the webhook messages.
	PathAsyncAPI = "/api/asyncapi.json"
	// PathKeyDirectory has the public keys of the auditor (Web Bot Auth); the path is
	// registered by draft-ietf-webbotauth-httpsig-protocol.
	PathKeyDirectory = "/.well-known/http-message-signatures-directory"
	// PathBot is the page about the auditor for the owners of sites that it reads.
	PathBot = "/bot"

	PathInternal        = "/internal/" // not reachable through an edge
	PathInternalFacts   = "/internal/v1/facts"
	PathInternalEvents  = "/internal/v1/events"
	PathInternalModules = "/internal/v1/modules"
	PathInternalNodes   = "/internal/v1/nodes"
	PathInternalStudies = "/internal/v1/studies/"
	PathInternalStatus  = "/internal/v1/status"
	// PathInternalLog has what is below PathLog, and the proofs of scores.
	PathInternalLog = "/internal/v1/log"
	// PathInternalIntake receives the requests that an edge accepted without an origin.
	PathInternalIntake = "/internal/v1/intake"
	// PathInternalSnapshots lists ranking files; each is below it by its digest.
	PathInternalSnapshots = "/internal/v1/snapshots"
	// PathInternalCertificates and PathInternalChallenges are those of TLS.
	PathInternalCertificates = "/internal/v1/tls/certificates"
	PathInternalChallenges   = "/internal/v1/tls/challenges"
	PathBrandPage            = "/brands/"
	PathClaimPage            = "/claim"
	PathCalendar             = "/calendar/" // followed by a secret token, which is never logged
	// PathTechnician is where pages of technicians begin, followed by a secret token like that of a calendar.
	PathTechnician = "/t/"
	// PathAccessPage is where anyone requests an API key; the page of a request is below it, under a secret.
	PathAccessPage = "/developers/access"
	// PathAccessRequests accepts requests for API keys, and PathAccessRequest is the one whose secret is sent.
	PathAccessRequests = "/api/v1/access-requests"
	PathAccessRequest  = "/api/v1/access-request"
)

// LoggedPath returns a path for logs, without the secret token of a calendar feed, of a
// technician's page, of a portal link or of a request for an API key, and the id of a check, which is the key to its
// report.
func LoggedPath(path string) string {
	if strings.HasPrefix("/"+strings.TrimLeft(path, "/"), PathTechnician) {
		return PathTechnician + "…"
	}
	if rest, found := strings.CutPrefix("/"+strings.TrimLeft(path, "/"), PathPortal); found {
		page, _, _ := strings.Cut(rest, "/")
		if rest == "" || slices.Contains([]string{"assets", "endpoints", "leave"}, page) &&
			!strings.Contains(rest, "..") {
			return path
		}
		return PathPortal + "…"
	}
	for _, prefix := range []string{PathChecks + "/", PathCheckPage + "/"} {
		if strings.HasPrefix(path, prefix) {
			return prefix + "…"
		}
	}
	for _, secret := range []string{PathCalendar, PathAccessPage + "/"} {
		if before, _, found := strings.Cut(path, secret); found {
			return before + secret + "…"
		}
	}
	return path
}

// Header fields of Fieldmark.
const (
	// HeaderAsOf is the number of the newest event in the log before the data of an
	// internal response was read.
	HeaderAsOf = "Fieldmark-As-Of"
	// HeaderMinEvent is the position up to which an edge has applied the log: number;log=NAME. A
	// response to it shows every change up to there, also if the origin reads from a replica. It is
	// a field because origins of earlier versions refuse parameters that they do not know.
	HeaderMinEvent = "Fieldmark-Min-Event"
	// HeaderLastEvent is the id of the event after which a request continues (as in
	// server-sent events).
	HeaderLastEvent = "Last-Event-ID"
	// HeaderClient is the address of the client of an edge. Edges remove it from client
	// requests.
	HeaderClient = "Fieldmark-Client"
	// HeaderQuota states that the key of a request is valid: its id and, if set, its
	// reads and writes per minute, and the account and the rates that it shares with other
	// keys: key_…;r=60;w=30;g=acme;gr=600;gw=300. Edges remove it.
	HeaderQuota = "Fieldmark-Quota"
	// HeaderSpool requests more in HeaderQuota, which edges of earlier versions could not parse: the account
	// of the key (a), its expiry in Unix seconds (x), the networks that it is bound to (n, separated
	// by +), and m=1 if it may create missions. Edges send it with the node token.
	HeaderSpool = "Fieldmark-Spool"
	// HeaderKeyExpires is the expiry of the key of a request (RFC 3339), in its last
	// KeyExpiresInDays days.
	HeaderKeyExpires = "API-Key-Expires"
	// HeaderEdition is the program version on a response that depends only on its request:
	// an edge may cache it as long as the origin has that version. Edges remove it.
	HeaderEdition = "Fieldmark-Edition"
	// HeaderNode is the node token, which makes HeaderClient trusted.
	HeaderNode = "Fieldmark-Node"
	// HeaderDeduplicated is "true" if a create request returned an existing mission.
	HeaderDeduplicated = "Mission-Deduplicated"
	// HeaderIdempotencyKey identifies a request that may be retried: a structured field
	// string (RFC 9651) or unquoted.
	HeaderIdempotencyKey = "Idempotency-Key"
	// HeaderReplayed is "true" on the saved response of an earlier request.
	HeaderReplayed = "Idempotency-Replayed"
	// HeaderWorld is on responses to test keys: test; now=, with the time of the test world (RFC 3339).
	HeaderWorld = "Fieldmark-World"
	// HeaderDryRun is "true" on the response to a write that was validated and run, and then undone.
	HeaderDryRun = "Fieldmark-Dry-Run"
	// HeaderAgent marks a request that an agent caused, with AgentMCP: the member agent of the key
	// decides whether it may act. HeaderConfirm is the token of a dry run, in its response and in
	// the request that does the same in earnest.
	HeaderAgent   = "Fieldmark-Agent"
	HeaderConfirm = "Fieldmark-Confirm"
	// HeaderAssessedAt is the time, in milliseconds (RFC 3339), as of which an edge assessed the facts of a
	// score: their age counts. It is more exact than Date and Age.
	HeaderAssessedAt = "Fieldmark-Assessed-At"
	// HeaderRequestID is X-Request-Id, copied from the request if it is valid.
	HeaderRequestID = "X-Request-Id"
)

// AgentMCP is the value of HeaderAgent on calls of tools of the Model Context Protocol.
const AgentMCP = "mcp"

// MinRequestID and MaxRequestID limit a request id from a client, in bytes.
const (
	MinRequestID = 8
	MaxRequestID = 128
)

// ValidRequestID reports whether an id from a client is safe for logs and responses: 8 to
// 128 characters of A-Z a-z 0-9 . _ and -.
func ValidRequestID(s string) bool {
	if len(s) < MinRequestID || len(s) > MaxRequestID {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// Limits that edge and origin both enforce.
const (
	MaxBody      = 64 << 10 // bytes of a JSON document
	MaxAlertBody = 1 << 20  // bytes of one notification of an alerting tool
	MaxBatchBody = 1 << 20  // bytes of a batch of missions
	MaxBulkBody  = 8 << 20  // bytes of an import
	MaxLintBody  = 1 << 20  // bytes of an llms.txt to lint: twice what the linter reads
	MaxPlayBody  = 6 << 20  // bytes of a module to run: MaxAnyModule in base64, and its inputs
	MaxWait      = 25       // seconds of a long poll: below the common proxy timeout of 30 s
	MaxBulkTime  = 60       // seconds for an import or another operation on all brands
	MaxStates    = 1000     // brands with facts per page: 4 MB without evidence, 12 MB with it
)

// List is a page of a list with a cursor.
type List[T any] struct {
	Data       []T    `json:"data"`
	NextCursor string `json:"nextCursor,omitempty"`
	HasMore    bool   `json:"hasMore"`
}

// IntakeState is the state of a request that an edge accepted without an origin.
type IntakeState string

// The states of a request. The last two are final.
const (
	IntakeAccepted IntakeState = "accepted" // the edge has stored it durably
	IntakeMission  IntakeState = "mission"  // an origin has carried it out
	IntakeRefused  IntakeState = "refused"  // an origin has refused it
)

// IntakeDays is for how many days an origin stores the result of a request.
const IntakeDays = 7

// Intake is a request that an edge accepted while no origin could be reached.
type Intake struct {
	ID         string      `json:"id"` // of the edge's spool and of the request in it: NODE.NUMBER
	State      IntakeState `json:"state" enum:"accepted,mission,refused"`
	Source     string      `json:"source"`
	ExternalID string      `json:"externalId,omitempty"` // empty: a notification of an alerting tool
	AcceptedAt Time        `json:"acceptedAt"`
	DecidedAt  *Time       `json:"decidedAt,omitempty"`
	Missions   []string    `json:"missions,omitempty"` // ids of the missions that it created or changed
	Code       Code        `json:"code,omitempty"`     // of the problem, if it was refused
	Detail     string      `json:"detail,omitempty"`   // of the problem
}

// SpooledRequest is a request that an edge accepted, as it sends it to an origin. It has the id
// of the API key and not its token, which edges do not store.
type SpooledRequest struct {
	ID             string `json:"id"`
	Key            string `json:"key"`
	Client         string `json:"client,omitempty"` // address of who sent it
	Agent          string `json:"agent,omitempty"`  // its User-Agent
	RequestID      string `json:"requestId,omitempty"`
	Method         string `json:"method"`
	Target         string `json:"target"` // path and query
	ContentType    string `json:"contentType,omitempty"`
	IdempotencyKey string `json:"idempotencyKey,omitempty"` // empty: a notification, which may be received twice
	Source         string `json:"source"`
	ExternalID     string `json:"externalId,omitempty"`
	// AgeMillis is how long ago it was accepted. It is not a time, because the clocks of edge and
	// origin may differ.
	AgeMillis int64 `json:"ageMillis"`
	// Failures is how often it failed while other requests were carried out, once it is given up; it is then refused
	// without another attempt, because it may be what stops origins.
	Failures int    `json:"failures,omitempty"`
	Body     []byte `json:"body"`
}

package fieldmark

import "strings"

// Paths that more than one room speaks of. A slug, id or digest follows those
// that end in a slash.
const (
	PathBadge       = "/api/badge/"
	PathScore       = "/api/v1/score/"
	PathLeaderboard = "/api/v1/leaderboard"
	PathModules     = "/api/v1/modules/"
	PathMethodology = "/api/v1/methodology"
	PathLLMs        = "/api/v1/llms-txt"
	PathLLMsLint    = "/api/v1/llms-txt/lint"
	PathPublic      = "/api/public/"
	PathMissions    = "/api/public/v1/missions"
	PathAlerts      = "/api/public/v1/integrations/"
	PathWebhooks    = "/api/public/v1/webhooks"
	PathAdminAPI    = "/api/admin/v1/"
	// PathMissionBatch opens several missions at once.
	PathMissionBatch = "/api/public/v1/missions/batch"
	// PathPublicEvents is where integrators read events that cannot be sent to them.
	PathPublicEvents = "/api/public/v1/events"

	PathAdmin = "/admin"
	// PathSignedOn is where a sign-in provider sends browsers back to.
	PathSignedOn = PathAdmin + "/sign-in/return"
	PathOpenAPI  = "/api/openapi.json"

	PathInternal        = "/internal/" // never reached through an edge
	PathInternalFacts   = "/internal/v1/facts"
	PathInternalEvents  = "/internal/v1/events"
	PathInternalModules = "/internal/v1/modules"
	PathInternalNodes   = "/internal/v1/nodes"
	PathBrandPage       = "/brands/"
	PathCalendar        = "/calendar/" // and a secret token: what follows is never logged
)

// LoggedPath is a path as a log may hold it: without the secret in the address of
// a calendar.
func LoggedPath(path string) string {
	if before, _, secret := strings.Cut(path, PathCalendar); secret {
		return before + PathCalendar + "…"
	}
	return path
}

// Header fields of our own.
const (
	// HeaderAsOf carries the number of the newest event that was in the log
	// before an internal answer was read from the database.
	HeaderAsOf = "Fieldmark-As-Of"
	// HeaderLastEvent carries the id of the event that a request for what follows
	// its number continues from (as in server-sent events).
	HeaderLastEvent = "Last-Event-ID"
	// HeaderClient carries the address of the client an edge speaks for; an edge
	// writes it and never believes one from outside.
	HeaderClient = "Fieldmark-Client"
	// HeaderQuota tells an edge that the key of a request is good, and what it may
	// ask: its id and, where it has a rate of its own, the reads and writes it is
	// allowed in a minute: key_…;r=600;w=300. An edge takes it out.
	HeaderQuota = "Fieldmark-Quota"
	// HeaderKeyExpires tells when the key of a request ends (RFC 3339), in its
	// last KeyExpiresInDays days.
	HeaderKeyExpires = "API-Key-Expires"
	// HeaderEdition names the program that made an answer which follows from its
	// request alone: an edge may keep such an answer for as long as the origin is
	// of that edition, and takes the field out before its client sees it.
	HeaderEdition = "Fieldmark-Edition"
	// HeaderNode carries the node token that makes HeaderClient believable.
	HeaderNode = "Fieldmark-Node"
	// HeaderDeduplicated is "true" when a create found the mission already there.
	HeaderDeduplicated = "Mission-Deduplicated"
	// HeaderIdempotencyKey names a request that may be sent again: in quotes, as
	// a structured field (RFC 9651), or bare.
	HeaderIdempotencyKey = "Idempotency-Key"
	// HeaderReplayed is "true" on the kept answer to an earlier request.
	HeaderReplayed = "Idempotency-Replayed"
	// HeaderRequestID is X-Request-Id, kept from the request if it is plain.
	HeaderRequestID = "X-Request-Id"
)

// MinRequestID and MaxRequestID bound a request id we take over from outside, in bytes.
const (
	MinRequestID = 8
	MaxRequestID = 128
)

// ValidRequestID reports whether an id from outside is safe to keep in logs
// and to send back: 8 to 128 of A-Z a-z 0-9 . _ and -.
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

// Bounds on bodies and waiting that hold at the edge and again at the origin.
const (
	MaxBody      = 64 << 10 // bytes of one JSON document from outside
	MaxAlertBody = 1 << 20  // bytes of one notification of an alerting tool
	MaxBatchBody = 1 << 20  // bytes of a batch of missions
	MaxBulkBody  = 8 << 20  // bytes of an administrator's import
	MaxLintBody  = 1 << 20  // bytes of an llms.txt to be linted: twice what the linter looks at
	MaxWait      = 25       // seconds an event poll may hang: under the common 30 s proxy time-out
	MaxBulkTime  = 60       // seconds the origin may work on an import, or on anything else that touches every brand
	MaxStates    = 1000     // brands with their facts on one page: 4 MB bare, 12 MB with evidence
)

// List is a page of anything that is read by cursor.
type List[T any] struct {
	Data       []T    `json:"data"`
	NextCursor string `json:"nextCursor,omitempty"`
	HasMore    bool   `json:"hasMore"`
}

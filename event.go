package fieldmark

import (
	"encoding/json"
	"strconv"
	"strings"
)

// EventType is the type of an event in the form subject.verb.
type EventType string

// Event types. Those of missions, SLAs and payments are also sent as webhooks.
const (
	EventMissionCreated          EventType = "mission.created"
	EventMissionScheduled        EventType = "mission.scheduled"
	EventMissionUnscheduled      EventType = "mission.unscheduled"
	EventMissionDispatched       EventType = "mission.dispatched"
	EventMissionEnRoute          EventType = "mission.en_route"
	EventMissionStarted          EventType = "mission.started"
	EventMissionOnHold           EventType = "mission.on_hold"
	EventMissionResumed          EventType = "mission.resumed"
	EventMissionCompleted        EventType = "mission.completed"
	EventMissionReopened         EventType = "mission.reopened"
	EventMissionUnableToComplete EventType = "mission.unable_to_complete"
	EventMissionCanceled         EventType = "mission.canceled"
	EventMissionClosed           EventType = "mission.closed"
	EventMissionSourceResolved   EventType = "mission.source_resolved" // its alert was resolved
	EventMissionUpdated          EventType = "mission.updated"         // content or plan, not status
	EventMissionNoted            EventType = "mission.noted"           // data is MissionNoted

	EventAttachmentAdded   EventType = "attachment.added" // to a mission; data is AttachmentChange
	EventAttachmentRemoved EventType = "attachment.removed"

	EventSLAAtRisk   EventType = "sla.at_risk"
	EventSLABreached EventType = "sla.breached"
	EventSLAMet      EventType = "sla.met"
	EventSLAPaused   EventType = "sla.paused"
	EventSLAResumed  EventType = "sla.resumed"
	EventSLAUpdated  EventType = "sla.updated"

	EventPaymentDue        EventType = "payment.due"
	EventPaymentProcessing EventType = "payment.processing"
	EventPaymentPaid       EventType = "payment.paid"
	EventPaymentFailed     EventType = "payment.failed"
	EventPaymentOverdue    EventType = "payment.overdue"
	EventPaymentRefunded   EventType = "payment.refunded"
	EventPaymentCanceled   EventType = "payment.canceled"

	EventBrandChanged    EventType = "brand.changed"    // name, URL or visibility
	EventBrandAudited    EventType = "brand.audited"    // new facts; sent with BrandAudit as data
	EventBrandRemoved    EventType = "brand.removed"    // removed everywhere immediately
	EventScoresChanged   EventType = "scores.changed"   // standings were computed; numbers their changes
	EventBrandSampled    EventType = "brand.sampled"    // new visibility samples
	EventVisibilityStudy EventType = "visibility.study" // a study was imported; data is StudyNotice
	// EventValidityPublished: how scores relate to measured answers was computed again; data is ValidityNotice.
	EventValidityPublished EventType = "validity.published"
	EventModuleActivated   EventType = "module.activated"   // every score may change
	EventModuleRolledBack  EventType = "module.rolled_back" // data is ModuleRollback
	EventKeyRevoked        EventType = "api_key.revoked"
	EventKeyExpiring       EventType = "api_key.expiring" // data is KeyExpiring
	EventCachePurged       EventType = "cache.purged"     // data is Purged
	EventIntakeRefused     EventType = "intake.refused"   // by an origin, after an edge accepted it; data is Intake

	EventAccessOpened   EventType = "access_request.opened" // data is AccessChange
	EventAccessApproved EventType = "access_request.approved"
	EventAccessDeclined EventType = "access_request.declined"
	EventAccessIssued   EventType = "access_request.issued" // its key was shown

	EventCertificateChanged EventType = "certificate.changed" // edges load it
	EventCDNChanged         EventType = "cdn.changed"         // data is CDNLifetime

	EventScoreChanged EventType = "score.changed" // data is ScoreChange
	EventRankChanged  EventType = "rank.changed"  // data is RankChange

	EventVisibilityChanged EventType = "visibility.changed" // data is VisibilityChange

	EventClaimVerified    EventType = "claim.verified" // to the account of the claim; data is ClaimChange
	EventClaimLapsing     EventType = "claim.lapsing"
	EventClaimContested   EventType = "claim.contested"
	EventClaimExpired     EventType = "claim.expired"
	EventClaimTransferred EventType = "claim.transferred"

	EventDisputeOpened    EventType = "dispute.opened" // by the owner of a brand; data is DisputeChange
	EventDisputeSettled   EventType = "dispute.settled"
	EventDisputeUpheld    EventType = "dispute.upheld"
	EventDisputeRejected  EventType = "dispute.rejected"
	EventDisputeWithdrawn EventType = "dispute.withdrawn"

	EventWebhookFailing  EventType = "webhook.failing"  // data is EndpointNotice
	EventWebhookDisabled EventType = "webhook.disabled" // data is EndpointNotice
	EventPing            EventType = "ping"             // test message to one endpoint
)

// AboutBrand reports whether events of the type are about a brand. Endpoints receive them for
// brands that their account manages, and for brands that they watch.
func (t EventType) AboutBrand() bool {
	subject, _, _ := strings.Cut(string(t), ".")
	switch subject {
	case "brand", "claim", "dispute", "rank", "score":
		return true
	}
	return t == EventVisibilityChanged // visibility.study is about a niche
}

// AboutMission reports whether events of the type are about a mission. An endpoint with a filter
// receives only those.
func (t EventType) AboutMission() bool {
	subject, _, _ := strings.Cut(string(t), ".")
	switch subject {
	case "attachment", "mission", "payment", "sla":
		return true
	}
	return false
}

// MissionEvents returns the event types of missions.
func MissionEvents() []EventType {
	return []EventType{
		EventMissionCreated, EventMissionScheduled, EventMissionUnscheduled, EventMissionDispatched,
		EventMissionEnRoute, EventMissionStarted, EventMissionOnHold, EventMissionResumed,
		EventMissionCompleted, EventMissionReopened, EventMissionUnableToComplete,
		EventMissionCanceled, EventMissionClosed, EventMissionUpdated,
		EventMissionSourceResolved, EventMissionNoted,
	}
}

// SLAEvents returns the event types of SLA clocks.
func SLAEvents() []EventType {
	return []EventType{EventSLAAtRisk, EventSLABreached, EventSLAMet, EventSLAPaused, EventSLAResumed, EventSLAUpdated}
}

// PaymentEvents returns the event types of payments.
func PaymentEvents() []EventType {
	return []EventType{EventPaymentDue, EventPaymentProcessing, EventPaymentPaid, EventPaymentFailed,
		EventPaymentOverdue, EventPaymentRefunded, EventPaymentCanceled}
}

// Tag identifies what a cached response depends on, in the form kind:name. An event
// contains the tags that it invalidates.
type Tag string

// TagModule tags everything that depends on a scoring module.
const TagModule Tag = "module"

// TagValidity tags everything that shows how scores relate to measured answers.
const TagValidity Tag = "validity"

// TagStudy returns the tag of everything that depends on the studies of a niche.
func TagStudy(niche string) Tag { return Tag("study:" + niche) }

// TagBrand returns the tag of everything that depends on a brand.
func TagBrand(s Slug) Tag { return Tag("brand:" + string(s)) }

// Event is an entry of the event log. Numbers have no gaps and are in commit order.
type Event struct {
	Number int64           `json:"number"`
	ID     string          `json:"id"` // evt_…
	Type   EventType       `json:"type"`
	Time   Time            `json:"time"`
	Brand  Slug            `json:"brand,omitempty"`
	Tags   []Tag           `json:"tags,omitempty"`
	Data   json.RawMessage `json:"data,omitempty"`
}

// EventCursor is the newest event that a follower of the log has applied. After a
// fail-over to a database without the newest events their numbers are assigned again,
// so the id shows whether the log still has the same event under that number.
type EventCursor struct {
	Number int64
	ID     string // evt_…; empty: unknown, and not compared
}

// EventPage is a page of the event log for edges.
type EventPage struct {
	Events []Event `json:"events"`
	Head   int64   `json:"head"`   // newest number in the log
	Oldest int64   `json:"oldest"` // oldest number in the log; 0 if the log is empty
	Log    string  `json:"log"`    // name of the log; another one means a restore or a failover

	// Through is the number up to which Events lacks nothing that edges act on, in a page that leaves
	// out other events; ThroughID is the id of the event with that number. 0: Events lacks nothing.
	Through   int64  `json:"through,omitempty"`
	ThroughID string `json:"throughId,omitempty"`

	Edition string `json:"edition,omitempty"` // version of the origin, as in HeaderEdition

	// CDN is the lifetime that edges state for CDNs, as of an event; nil: unknown to the sender.
	CDN *CDNLifetime `json:"cdn,omitempty"`

	// AfterID is the id of the event with the requested number; empty if the log has no
	// such event.
	AfterID string `json:"afterId,omitempty"`
	// KeepAlive is the maximum time between two bytes of a pending response, in
	// milliseconds; 0: the origin sends nothing before the response.
	KeepAlive int `json:"keepAliveMs,omitempty"`
}

// Diverged reports whether the log has a different event with the number of the cursor:
// the edge has applied events that were lost.
func (p *EventPage) Diverged(at EventCursor) bool {
	return p.AfterID != "" && at.ID != "" && p.AfterID != at.ID
}

// Next returns the cursor of a reader at a cursor who has applied the page.
func (p *EventPage) Next(at EventCursor) EventCursor {
	if p.Through > at.Number {
		return EventCursor{Number: p.Through, ID: p.ThroughID}
	}
	if n := len(p.Events); n > 0 && p.Events[n-1].Number > at.Number {
		return EventCursor{Number: p.Events[n-1].Number, ID: p.Events[n-1].ID}
	}
	return at
}

// Envelope is the body of a webhook message (Standard Webhooks 1.0). Its id is that of
// the event and stays the same across retries.
type Envelope struct {
	ID        string          `json:"id"`
	Type      EventType       `json:"type"`
	Timestamp Time            `json:"timestamp"`
	Test      bool            `json:"test,omitempty"` // the event is of a test world
	Data      json.RawMessage `json:"data"`
}

// EndpointNotice is the data of webhook.failing and webhook.disabled.
type EndpointNotice struct {
	EndpointID   string        `json:"endpointId"`
	URL          string        `json:"url"`
	State        EndpointState `json:"state"`
	Reason       string        `json:"reason,omitempty"` // why it was disabled
	FailingSince Time          `json:"failingSince" format:"date-time"`
	LastError    string        `json:"lastError,omitempty"`
}

// Ping is the data of ping, a test message.
type Ping struct {
	EndpointID string `json:"endpointId"`
}

// TagBoard tags everything that shows ranks.
const TagBoard Tag = "board"

// tagBrandPrefix is the prefix of the tag of a brand.
const tagBrandPrefix = "brand:"

// Brand returns the slug of the tag of a brand.
func (t Tag) Brand() (Slug, bool) {
	s, ok := strings.CutPrefix(string(t), tagBrandPrefix)
	return Slug(s), ok && ValidSlug(s)
}

// KeyAll is the surrogate key of every cacheable response of an edge.
const KeyAll = "all"

// SurrogateKey returns the key by which a CDN in front of the edges purges responses that
// depend on t, as in Surrogate-Key and Cache-Tag: brand-acme for brand:acme. It has at most
// 69 bytes of [a-z0-9-]. Tags of proxied sites have none.
func (t Tag) SurrogateKey() (key string, ok bool) {
	if slug, ok := t.Brand(); ok {
		return "brand-" + string(slug), true
	}
	return string(t), t == TagModule || t == TagBoard
}

// CDNAddresses returns the paths, without a query, of responses with a surrogate key, for caches that
// are purged by address: the addresses of a brand have its slug, those of board and module are fixed,
// and KeyAll has both fixed lists. Others with the key, such as those with a query or pages of niches,
// cannot be listed and stay until their lifetime ends: five minutes at most, but an hour for parts of
// the sitemap, and up to a day for badges with cacheSeconds.
func CDNAddresses(key string) []string {
	board := []string{"/", "/niches", PathLeaderboard, "/sitemap.xml"}
	module := []string{"/methodology", PathMethodology}
	if slug, ok := strings.CutPrefix(key, "brand-"); ok {
		badge, score, page := PathBadge+slug, PathScore+slug, PathBrandPage+slug
		return []string{badge, badge + ".svg", badge + ".png", badge + ".json", "/api/card/" + slug + ".png",
			score, score + "/history", page, page + "/feed.atom", page + "/recompute"}
	}
	switch key {
	case string(TagBoard):
		return board
	case string(TagModule):
		return module
	case KeyAll:
		return append(board, module...)
	}
	return nil
}

// TagURL returns the tag of the stored responses of a URL on a host, or on any host if
// host is empty. target is a path with its query.
func TagURL(host, target string) Tag { return Tag("url:" + strings.ToLower(host) + target) }

// maxTag limits a tag, in bytes: URLs are the longest tags.
const maxTag = 2100

// ValidTag reports whether t is a valid tag: one of Fieldmark, or one from Surrogate-Key
// or Cache-Tag of a site, which cannot contain space or comma.
func ValidTag(t Tag) bool {
	if strings.HasPrefix(string(t), tagBrandPrefix) {
		_, ok := t.Brand()
		return ok
	}
	for i := range len(t) {
		if t[i] <= ' ' || t[i] == ',' || t[i] >= 0x7f {
			return false
		}
	}
	return t != "" && len(t) <= maxTag
}

// MaxPurgeTags limits the tags of one purge.
const MaxPurgeTags = 100

// PurgeRequest invalidates cached responses on all edges: by tags, by URL, or everything.
// Exactly one is required.
type PurgeRequest struct {
	Tags       []Tag  `json:"tags,omitempty"`       // responses with any of these tags
	URL        string `json:"url,omitempty"`        // responses of this URL or path
	Everything bool   `json:"everything,omitempty"` // all responses
	Hard       bool   `json:"hard,omitempty"`       // do not serve stale responses either
}

// Purged is a purge in the event log, and the response to its request.
type Purged struct {
	Event      int64 `json:"event,omitempty"` // number of the event; edges that applied it have purged
	Tags       []Tag `json:"tags,omitempty"`
	Everything bool  `json:"everything,omitempty"`
	Hard       bool  `json:"hard,omitempty"`

	URL string `json:"url,omitempty"` // as requested
	By  string `json:"by,omitempty"`  // id of the key
}

// CDNKind is the way in which a CDN in front of the edges is purged.
type CDNKind string

// The kinds of CDNs.
const (
	CDNVarnish    CDNKind = "varnish"     // by xkey, as deploy/varnish/fieldmark.vcl does
	CDNVarnishBan CDNKind = "varnish_ban" // by bans of Surrogate-Key, without the module xkey
	CDNFastly     CDNKind = "fastly"
	CDNCloudflare CDNKind = "cloudflare"
	CDNTemplate   CDNKind = "template" // by any request that takes keys
	// by the addresses of CDNAddresses, as the files in deploy/trafficserver and deploy/nginx do
	CDNTrafficServer CDNKind = "trafficserver"
	CDNNginx         CDNKind = "nginx"
)

// CDNKinds returns every kind.
func CDNKinds() []CDNKind {
	return []CDNKind{CDNVarnish, CDNVarnishBan, CDNFastly, CDNCloudflare, CDNTemplate, CDNTrafficServer, CDNNginx}
}

// ByAddress reports whether a cache of this kind is purged of exact addresses, so that no request can
// purge everything.
func (k CDNKind) ByAddress() bool { return k == CDNTrafficServer || k == CDNNginx }

// LifetimeField returns the field in which a CDN of this kind reads a lifetime that other caches ignore;
// empty: in none. Fastly, and Varnish by deploy/varnish, remove theirs from responses.
func (k CDNKind) LifetimeField() string {
	switch k {
	case CDNFastly, CDNVarnish, CDNVarnishBan:
		return "Surrogate-Control"
	case CDNCloudflare, CDNTemplate:
		return "CDN-Cache-Control"
	}
	return ""
}

// CDNState is whether a CDN is purged.
type CDNState string

// The states of a CDN.
const (
	CDNActive  CDNState = "active"
	CDNFailing CDNState = "failing" // the last purge failed and is repeated
	CDNRefused CDNState = "refused" // the token was refused; nothing is sent until it is replaced or a test succeeds
)

// CDNSettings are what an administrator sets of a CDN.
type CDNSettings struct {
	Kind CDNKind  `json:"kind" enum:"varnish,varnish_ban,fastly,cloudflare,template,trafficserver,nginx"`
	URLs []string `json:"urls,omitempty" doc:"Of each cache or the template, or of another API"`
	Zone string   `json:"zone,omitempty" doc:"Service of Fastly, or zone of Cloudflare"`
	Plan string   `json:"plan,omitempty" enum:"free,pro,business,enterprise" doc:"Of Cloudflare; it limits the calls"`
	// Account shares the limits of calls among the zones of one account of Cloudflare.
	Account string `json:"account,omitempty" doc:"Of Cloudflare; CDNs with the same one share its limits"`
	Public  string `json:"public,omitempty" doc:"URL of the site through the CDN, for probes; empty: not probed"`
	Seconds int    `json:"seconds,omitempty" doc:"Lifetime while verified, 300 to 86400; 0: 3600"`
	// of kind template: the request, with {keys}, {keys_json} and {token} replaced
	Method  string            `json:"method,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    string            `json:"body,omitempty"`
}

// CDNRequest creates or replaces a CDN.
type CDNRequest struct {
	CDNSettings
	Token string `json:"token,omitempty" doc:"Never returned; may be left out while kind and urls stay the same"`
}

// CDN is a cache in front of the edges that the origin purges.
type CDN struct {
	Name string `json:"name"`
	CDNSettings
	HasToken     bool     `json:"hasToken"`
	State        CDNState `json:"state" enum:"active,failing,refused"`
	Event        int64    `json:"event"`      // number of the last event that it was purged of
	LagSeconds   int      `json:"lagSeconds"` // age of the oldest event that it was not purged of
	LastError    string   `json:"lastError,omitempty"`
	FailingSince *Time    `json:"failingSince,omitempty"`
	PurgedAt     *Time    `json:"purgedAt,omitempty"` // the last purge that succeeded
	EmptiedAt    *Time    `json:"emptiedAt,omitempty" doc:"When everything had to be purged because events were lost"`
	EmptiedFor   string   `json:"emptiedFor,omitempty"`

	Probe     *CDNProbe `json:"probe,omitempty" doc:"Absent if public is empty"`
	CreatedAt Time      `json:"createdAt"`
	UpdatedAt Time      `json:"updatedAt"`
}

// CDNProbeState is whether a CDN is known to serve what edges serve.
type CDNProbeState string

// The states of the probes of a CDN.
const (
	CDNPending  CDNProbeState = "pending" // not without a failure for ten minutes yet
	CDNVerified CDNProbeState = "verified"
	CDNFailed   CDNProbeState = "failed" // probes or purges failed for two minutes, or the token was refused
)

// CDNProbe is the result of the probes of a CDN: requests for a badge through its public name, compared
// with what an edge serves at that time.
type CDNProbe struct {
	State      CDNProbeState `json:"state" enum:"pending,verified,failed"`
	Since      Time          `json:"since"`                // of the state
	At         *Time         `json:"at,omitempty"`         // of the last probe
	VerifiedAt *Time         `json:"verifiedAt,omitempty"` // the last probe that succeeded
	Brand      Slug          `json:"brand,omitempty"`      // whose badge was requested
	Error      string        `json:"error,omitempty"`      // of the last probe
}

// BadgeProbe is the suffix of the address of a badge at which an edge states which badge it serves.
const BadgeProbe = "/probe"

// BadgeProbeResult is the response at BadgeProbe. No cache may store it.
type BadgeProbeResult struct {
	ETag  string `json:"etag"`  // of the badge without parameters
	Nonce string `json:"nonce"` // from the request: a stored response has another one
}

// CDNLifetime is the data of cdn.changed: the lifetime that edges state for CDNs beside Cache-Control, on
// responses that are purged exactly.
type CDNLifetime struct {
	Seconds int      `json:"seconds"`          // 0: none, so that CDNs use Cache-Control
	Fields  []string `json:"fields,omitempty"` // names of the fields that state it, in order
	AsOf    int64    `json:"asOf,omitempty"`   // in a page: a later cdn.changed replaces it
}

// Control returns the value of the fields. A CDN that cannot reach an edge may serve what it has for a day.
func (l CDNLifetime) Control() string {
	n := strconv.Itoa(l.Seconds)
	return "max-age=" + n + ", stale-while-revalidate=" + n + ", stale-if-error=86400"
}

// CDNResult is the result of a purge that an administrator requested.
type CDNResult struct {
	OK     bool      `json:"ok"`
	Error  string    `json:"error,omitempty"`
	TookMs int64     `json:"tookMs"`
	Probe  *CDNProbe `json:"probe,omitempty" doc:"Of a test, the state of probes and the result of one sent now"`
}

// Limits of CDNs.
const (
	// CDNSeconds is the lifetime of a response in a CDN that is verified: while one is not, responses from
	// before stay for that long, so an hour is how long a CDN that is not purged may be wrong.
	CDNSeconds    = 3600
	MinCDNSeconds = 300 // the lifetime without a CDN
	MaxCDNSeconds = 86400

	MaxCDNs        = 20   // an installation has one or two; each is a worker
	MaxCDNURLs     = 20   // caches of one site
	MaxCDNToken    = 1024 // bytes
	MaxCDNTemplate = 4096 // bytes of a body or a header
	MaxCDNHeaders  = 10
)

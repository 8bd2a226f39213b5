package fieldmark

import "encoding/json"

// EventType names what happened, as subject.verb.
type EventType string

// The kinds of event. Those of a mission are also sent as webhooks.
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
	EventMissionSourceResolved   EventType = "mission.source_resolved" // the alert that opened it is over
	EventMissionUpdated          EventType = "mission.updated"         // its content or its plan, not its status

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

	EventBrandChanged     EventType = "brand.changed"      // name, address, visibility
	EventBrandAudited     EventType = "brand.audited"      // new facts
	EventBrandRemoved     EventType = "brand.removed"      // gone at once, everywhere
	EventBrandSampled     EventType = "brand.sampled"      // new answer samples
	EventModuleActivated  EventType = "module.activated"   // every score may change
	EventModuleRolledBack EventType = "module.rolled_back" // a node took the one before back; data is ModuleRollback
	EventKeyRevoked       EventType = "api_key.revoked"
	EventKeyExpiring      EventType = "api_key.expiring" // soon; data is KeyExpiring
	EventCachePurged      EventType = "cache.purged"     // an operator's will; data is Purged

	EventWebhookFailing  EventType = "webhook.failing"  // an endpoint takes nothing; data is EndpointNotice
	EventWebhookDisabled EventType = "webhook.disabled" // and gets nothing from now on
	EventPing            EventType = "ping"             // a test, for one endpoint alone
)

// MissionEvents lists the kinds of event an endpoint may subscribe to.
func MissionEvents() []EventType {
	return []EventType{
		EventMissionCreated, EventMissionScheduled, EventMissionUnscheduled, EventMissionDispatched,
		EventMissionEnRoute, EventMissionStarted, EventMissionOnHold, EventMissionResumed,
		EventMissionCompleted, EventMissionReopened, EventMissionUnableToComplete,
		EventMissionCanceled, EventMissionClosed, EventMissionUpdated,
		EventMissionSourceResolved,
	}
}

// SLAEvents lists the kinds of event of a mission's clocks.
func SLAEvents() []EventType {
	return []EventType{EventSLAAtRisk, EventSLABreached, EventSLAMet, EventSLAPaused, EventSLAResumed, EventSLAUpdated}
}

// PaymentEvents lists the kinds of event of a mission's payment.
func PaymentEvents() []EventType {
	return []EventType{EventPaymentDue, EventPaymentProcessing, EventPaymentPaid, EventPaymentFailed,
		EventPaymentOverdue, EventPaymentRefunded, EventPaymentCanceled}
}

// Tag names what a cached thing was made from, as kind:name. An event carries
// the tags it makes stale.
type Tag string

// TagModule is on everything a scoring module had a hand in.
const TagModule Tag = "module"

// TagBrand is on everything made from one brand.
func TagBrand(s Slug) Tag { return Tag("brand:" + string(s)) }

// Event is one line of the log. Numbers have no gaps and are in commit order.
type Event struct {
	Number int64           `json:"number"`
	ID     string          `json:"id"` // evt_…
	Type   EventType       `json:"type"`
	Time   Time            `json:"time"`
	Brand  Slug            `json:"brand,omitempty"`
	Tags   []Tag           `json:"tags,omitempty"`
	Data   json.RawMessage `json:"data,omitempty"`
}

// EventCursor is the newest event a follower of the log has applied. Numbers are
// given out again after a fail-over to a database that lacks the newest events,
// so the id tells whether the log still has the event under that number.
type EventCursor struct {
	Number int64
	ID     string // evt_…; empty: unknown, and not compared
}

// EventPage is a stretch of the log as edges follow it.
type EventPage struct {
	Events []Event `json:"events"`
	Head   int64   `json:"head"`   // the newest number there is
	Oldest int64   `json:"oldest"` // the oldest number still kept; 0 while the log is empty
	Log    string  `json:"log"`    // names this log; another name means another database

	Edition string `json:"edition,omitempty"` // of the origin that answered, as in HeaderEdition

	// AfterID is the id of the event that has the number the request named; empty
	// if the log has no such event, or the origin does not report it.
	AfterID string `json:"afterId,omitempty"`
	// KeepAlive is the longest time between two bytes of an answer that is still
	// waited for, in milliseconds; 0: the origin sends nothing before the answer.
	KeepAlive int `json:"keepAliveMs,omitempty"`
}

// Diverged reports whether the log has another event under the cursor's number:
// the follower has applied events that were lost.
func (p *EventPage) Diverged(at EventCursor) bool {
	return p.AfterID != "" && at.ID != "" && p.AfterID != at.ID
}

// Envelope is an event as a webhook delivers it (Standard Webhooks 1.0). Its id
// is that of the event and stays the same over retries.
type Envelope struct {
	ID        string          `json:"id"`
	Type      EventType       `json:"type"`
	Timestamp Time            `json:"timestamp"`
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

package fieldmark

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// EventKind is a type of event that webhooks tell of.
type EventKind struct {
	Type    EventType
	Does    string // what happened, in a sentence
	Subject string // the id of what the example tells of
	Example any    // of the data; its Go type gives the schema
}

// WebhookEvents is the table of everything that webhooks tell of: a new type of
// event is a row here. The order is that of documents.
func WebhookEvents() []EventKind {
	at := exampleTime
	mission := func(t EventType, status MissionStatus, does string) EventKind {
		m := exampleMission(status)
		return EventKind{t, does, m.ID, m}
	}
	notice := EndpointNotice{
		EndpointID: "whk_06m7xv8e0w3v3ac3zvc1h0gmw4", URL: "https://receiver.example/fieldmark", State: EndpointEnabled,
		FailingSince: exampleTime, LastError: "answered 503",
	}
	subject := SLASubject{ID: exampleID, ExternalID: "INC0012345", Source: "servicenow", Priority: PriorityHigh, Status: MissionDispatched,
		Metric: SLAOnsite, Policy: string(PriorityHigh), Cycle: 1}
	sla := func(t EventType, data any, does string) EventKind { return EventKind{t, does, exampleID, data} }
	amount := Money{Value: 12_500, Currency: "EUR"}
	payment := func(t EventType, from, to PaymentStatus, does string) EventKind {
		return EventKind{t, does, "pay_06m7xv8e0w3v3ac3zvc1h0gmw4", PaymentChange{
			PaymentID: "pay_06m7xv8e0w3v3ac3zvc1h0gmw4", MissionID: exampleID, ExternalID: "INC0012345", Source: "servicenow",
			Direction: DirectionCharge, Status: to, PreviousStatus: from, Amount: &amount, DueAt: &at, Version: 2,
		}}
	}
	rollback := ModuleRollback{
		From: ModuleRef{Name: "geo-readiness", Version: "1.1.0"}, To: ModuleRef{Name: "geo-readiness", Version: "1.0.0"},
		Kind: "trap", Error: "unreachable", At: at,
	}
	disabled := notice
	disabled.State, disabled.Reason = EndpointDisabled, "nothing was taken for 5 days"
	return []EventKind{
		mission(EventMissionCreated, MissionNew, "A mission was opened."),
		mission(EventMissionScheduled, MissionScheduled, "A mission got its time."),
		mission(EventMissionUnscheduled, MissionNew, "A mission lost its time."),
		mission(EventMissionDispatched, MissionDispatched, "A mission was handed to somebody."),
		mission(EventMissionEnRoute, MissionEnRoute, "Somebody is on the way."),
		mission(EventMissionStarted, MissionInProgress, "Work on site began."),
		mission(EventMissionOnHold, MissionOnHold, "A mission waits for something."),
		mission(EventMissionResumed, MissionInProgress, "A mission that waited goes on."),
		mission(EventMissionCompleted, MissionCompleted, "The work is done."),
		mission(EventMissionReopened, MissionInProgress, "A completed mission went back to work."),
		mission(EventMissionUnableToComplete, MissionUnableToComplete, "The work could not be done."),
		mission(EventMissionCanceled, MissionCanceled, "A mission was called off."),
		mission(EventMissionClosed, MissionClosed, "A mission is over for good."),
		mission(EventMissionUpdated, MissionScheduled, "What a mission says or its plan changed, not its status."),
		mission(EventMissionSourceResolved, MissionInProgress, "What a mission was opened for is over, says its source."),
		sla(EventSLAAtRisk, SLAAtRiskEvent{SLASubject: subject, ThresholdPercent: 75, TargetMinutes: 240, ElapsedMinutes: 180, RemainingMinutes: 60, DueAt: &at}, "A share of the time a mission has is over."),
		sla(EventSLABreached, SLABreachedEvent{SLASubject: subject, TargetMinutes: 240, DueAt: &at, BreachedAt: &at}, "The time a mission had is over."),
		sla(EventSLAMet, SLAMetEvent{SLASubject: subject, DueAt: &at, StoppedAt: &at, ElapsedMinutes: 200}, "What a mission promised was done in time."),
		sla(EventSLAPaused, SLAPausedEvent{SLASubject: subject, Reason: "WAITING_FOR_REQUESTER", PausedAt: &at}, "A mission's clock stands still."),
		sla(EventSLAResumed, SLAResumedEvent{SLASubject: subject, ResumedAt: exampleTime, PausedMinutes: 30, DueAt: &at}, "A mission's clock goes on."),
		sla(EventSLAUpdated, SLAUpdatedEvent{SLASubject: subject, PreviousDueAt: &at, DueAt: &at, TargetMinutes: 120, Cause: "priority"}, "The time a mission has changed."),
		payment(EventPaymentDue, PaymentNone, PaymentDue, "A payment is to be made."),
		payment(EventPaymentProcessing, PaymentDue, PaymentProcessing, "A payment was begun."),
		payment(EventPaymentPaid, PaymentProcessing, PaymentPaid, "A payment was made."),
		payment(EventPaymentFailed, PaymentProcessing, PaymentFailed, "A payment could not be made."),
		payment(EventPaymentOverdue, PaymentDue, PaymentOverdue, "A payment is late."),
		payment(EventPaymentRefunded, PaymentPaid, PaymentRefunded, "Money was given back."),
		payment(EventPaymentCanceled, PaymentDue, PaymentCanceled, "A payment is not wanted any more."),
		{EventModuleRolledBack, "An edge took the scoring module before back.", "geo-readiness", rollback},
		{EventWebhookFailing, "An endpoint has taken nothing for a while; it will be disabled if that goes on.", notice.EndpointID, notice},
		{EventWebhookDisabled, "An endpoint was disabled; what happens from now on is held for it.", disabled.EndpointID, disabled},
		{EventKeyExpiring, "An API key ends in 14 days, or in 3.", "key_06m7xv8e0w3v3ac3zvc1h0gmw4", KeyExpiring{KeyID: "key_06m7xv8e0w3v3ac3zvc1h0gmw4",
			Name: "service desk", Prefix: "fm_live_AbC12xYz", ExpiresAt: At(at.Std().AddDate(0, 0, 14)), DaysLeft: 14}},
		{EventPing, "A test message that somebody asked for.", notice.EndpointID, Ping{EndpointID: notice.EndpointID}},
	}
}

// EndpointNotice tells of an endpoint that takes nothing.
type EndpointNotice struct {
	EndpointID   string        `json:"endpointId"`
	URL          string        `json:"url"`
	State        EndpointState `json:"state"`
	Reason       string        `json:"reason,omitempty"` // of its being disabled
	FailingSince Time          `json:"failingSince" format:"date-time"`
	LastError    string        `json:"lastError,omitempty"`
}

// Ping is the data of a test message.
type Ping struct {
	EndpointID string `json:"endpointId"`
}

var exampleTime = At(time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC))

const exampleID = "msn_06m7xv8e0w3v3ac3zvc1h0gmw4"

func exampleMission(status MissionStatus) Mission {
	m := Mission{
		ID: exampleID,
		MissionRequest: MissionRequest{
			ExternalID: "INC0012345", Source: "servicenow", Title: "Replace the display at gate 4", Priority: PriorityHigh,
			Location: &Location{Name: "Terminal 1", TimeZone: "Europe/Vienna"},
		},
		Status: status, CreatedAt: exampleTime, UpdatedAt: exampleTime, Version: 1,
	}
	if status != MissionNew {
		m.Version = 2
		m.Mark(exampleTime)
	}
	return m
}

// ExampleEnvelope is a whole message of the kind, as Standard Webhooks has it.
func (k EventKind) ExampleEnvelope() (Envelope, error) {
	data, err := json.Marshal(k.Example)
	if err != nil {
		return Envelope{}, fmt.Errorf("write the example of %s: %w", k.Type, err)
	}
	return Envelope{ID: "evt_06m7xv8e0w3v3ac3zvc1h0gmw4", Type: k.Type, Timestamp: exampleTime, Data: data}, nil
}

// KindOf finds the row of a type.
func KindOf(t EventType) (EventKind, bool) {
	all := WebhookEvents()
	i := slices.IndexFunc(all, func(k EventKind) bool { return k.Type == t })
	if i < 0 {
		return EventKind{}, false
	}
	return all[i], true
}

package event

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/fieldmark/fieldmark"
)

// Kind describes an event type that endpoints can subscribe to.
// The reference, the schemas and the tests of receivers are made from it.
type Kind struct {
	Type    fieldmark.EventType
	Summary string // what happened, in one sentence
	Subject string // the id of the subject of the example
	Example any    // example data; its Go type defines the schema
}

// Kinds returns every event type that endpoints can subscribe to, in the order of the
// documentation. A new event type is a row in one of the functions below.
func Kinds() []Kind {
	return slices.Concat(missionKinds(), attachmentKinds(), slaKinds(), paymentKinds(), brandKinds(), claimKinds(),
		disputeKinds(), studyKinds(), serviceKinds())
}

// missionKinds are the events of missions. Their data are the whole mission.
func missionKinds() []Kind {
	mission := func(t fieldmark.EventType, status fieldmark.MissionStatus, summary string) Kind {
		m := exampleMission(status)
		return Kind{t, summary, m.ID, m}
	}
	return []Kind{
		mission(fieldmark.EventMissionCreated, fieldmark.MissionNew, "A mission was created."),
		mission(fieldmark.EventMissionScheduled, fieldmark.MissionScheduled, "A mission was scheduled."),
		mission(fieldmark.EventMissionUnscheduled, fieldmark.MissionNew, "The schedule of a mission was removed."),
		mission(fieldmark.EventMissionDispatched, fieldmark.MissionDispatched,
			"A mission was dispatched to a technician."),
		mission(fieldmark.EventMissionEnRoute, fieldmark.MissionEnRoute, "The technician is on the way."),
		mission(fieldmark.EventMissionStarted, fieldmark.MissionInProgress, "Work on site started."),
		mission(fieldmark.EventMissionOnHold, fieldmark.MissionOnHold, "A mission was put on hold."),
		mission(fieldmark.EventMissionResumed, fieldmark.MissionInProgress, "A mission on hold was resumed."),
		mission(fieldmark.EventMissionCompleted, fieldmark.MissionCompleted, "The work was completed."),
		mission(fieldmark.EventMissionReopened, fieldmark.MissionInProgress, "A completed mission was reopened."),
		mission(fieldmark.EventMissionUnableToComplete, fieldmark.MissionUnableToComplete,
			"The work could not be completed."),
		mission(fieldmark.EventMissionCanceled, fieldmark.MissionCanceled, "A mission was canceled."),
		mission(fieldmark.EventMissionClosed, fieldmark.MissionClosed, "A mission was closed."),
		mission(fieldmark.EventMissionUpdated, fieldmark.MissionScheduled,
			"The content or the plan of a mission changed, but not its status."),
		mission(fieldmark.EventMissionSourceResolved, fieldmark.MissionInProgress,
			"The source reports that the cause of a mission is resolved."),
		{fieldmark.EventMissionNoted, "A note was added to a mission, or redacted.", exampleID,
			fieldmark.MissionNoted{ID: exampleID, ExternalID: "INC0012345", Source: "servicenow",
				Note: fieldmark.Note{ID: "nte_06m7xv8e0w3v3ac3zvc1h0gmw4", Text: "The key is at the reception.",
					Visibility: fieldmark.NoteShared, Author: fieldmark.NoteAuthor{ID: "agent-7", Name: "Dana"},
					ExternalID: "c-81", CreatedAt: exampleTime}}},
	}
}

// attachmentKinds are the events of files. Their data have no content, which is fetched with a
// key.
func attachmentKinds() []Kind {
	change := fieldmark.AttachmentChange{ID: exampleID, ExternalID: "INC0012345", Source: "servicenow",
		Attachment: fieldmark.Attachment{ID: "att_06m7xv8e0w3v3ac3zvc1h0gmw4", MissionID: exampleID,
			ContentType: "image/jpeg", Size: 184_320, Digest: fieldmark.DigestOf(sha256.Sum256([]byte("photo"))),
			Author: fieldmark.NoteAuthor{ID: "agent-7", Name: "Dana"}, CreatedAt: exampleTime}}
	removed := change
	at := exampleTime
	removed.Attachment.RemovedAt, removed.Attachment.RemovedBy = &at, "ann"
	return []Kind{
		{fieldmark.EventAttachmentAdded, "A file was added to a mission.", exampleID, change},
		{fieldmark.EventAttachmentRemoved, "The content of an attachment was removed.", exampleID, removed},
	}
}

// slaKinds are the events of SLA timers, sent once for each timer and threshold.
func slaKinds() []Kind {
	at := exampleTime
	subject := fieldmark.SLASubject{ID: exampleID, ExternalID: "INC0012345", Source: "servicenow",
		Priority: fieldmark.PriorityHigh, Status: fieldmark.MissionDispatched,
		Metric: fieldmark.SLAOnsite, Policy: string(fieldmark.PriorityHigh), Cycle: 1}
	sla := func(t fieldmark.EventType, data any, summary string) Kind {
		return Kind{t, summary, exampleID, data}
	}
	return []Kind{
		sla(fieldmark.EventSLAAtRisk, fieldmark.SLAAtRiskEvent{SLASubject: subject, ThresholdPercent: 75,
			TargetMinutes: 240, ElapsedMinutes: 180, RemainingMinutes: 60, DueAt: &at},
			"A threshold of an SLA target passed."),
		sla(fieldmark.EventSLABreached, fieldmark.SLABreachedEvent{SLASubject: subject, TargetMinutes: 240, DueAt: &at,
			BreachedAt: &at}, "An SLA target was missed."),
		sla(fieldmark.EventSLAMet, fieldmark.SLAMetEvent{SLASubject: subject, DueAt: &at, StoppedAt: &at,
			ElapsedMinutes: 200}, "An SLA target was met."),
		sla(fieldmark.EventSLAPaused, fieldmark.SLAPausedEvent{SLASubject: subject, Reason: "WAITING_FOR_REQUESTER",
			PausedAt: &at}, "An SLA clock was paused."),
		sla(fieldmark.EventSLAResumed, fieldmark.SLAResumedEvent{SLASubject: subject, ResumedAt: exampleTime,
			PausedMinutes: 30, DueAt: &at}, "An SLA clock was resumed."),
		sla(fieldmark.EventSLAUpdated, fieldmark.SLAUpdatedEvent{SLASubject: subject, PreviousDueAt: &at, DueAt: &at,
			TargetMinutes: 120, Cause: "priority"}, "An SLA target changed."),
	}
}

// paymentKinds are the events of payments, with the status before and after.
func paymentKinds() []Kind {
	at := exampleTime
	amount := fieldmark.Money{Value: 12_500, Currency: "EUR"}
	payment := func(t fieldmark.EventType, from, to fieldmark.PaymentStatus, summary string) Kind {
		return Kind{t, summary, "pay_06m7xv8e0w3v3ac3zvc1h0gmw4", fieldmark.PaymentChange{
			PaymentID: "pay_06m7xv8e0w3v3ac3zvc1h0gmw4", MissionID: exampleID, ExternalID: "INC0012345",
			Source:    "servicenow",
			Direction: fieldmark.DirectionCharge, Status: to, PreviousStatus: from, Amount: &amount, DueAt: &at,
			Version: 2,
		}}
	}
	return []Kind{
		payment(fieldmark.EventPaymentDue, fieldmark.PaymentNone, fieldmark.PaymentDue, "A payment is due."),
		payment(fieldmark.EventPaymentProcessing, fieldmark.PaymentDue, fieldmark.PaymentProcessing,
			"A payment is being processed."),
		payment(fieldmark.EventPaymentPaid, fieldmark.PaymentProcessing, fieldmark.PaymentPaid, "A payment was paid."),
		payment(fieldmark.EventPaymentFailed, fieldmark.PaymentProcessing, fieldmark.PaymentFailed,
			"A payment failed."),
		payment(fieldmark.EventPaymentOverdue, fieldmark.PaymentDue, fieldmark.PaymentOverdue, "A payment is overdue."),
		payment(fieldmark.EventPaymentRefunded, fieldmark.PaymentPaid, fieldmark.PaymentRefunded,
			"A payment was refunded, in full or in part."),
		payment(fieldmark.EventPaymentCanceled, fieldmark.PaymentDue, fieldmark.PaymentCanceled,
			"A payment was canceled."),
	}
}

// brandKinds are the events of brands that endpoints watch or accounts manage.
func brandKinds() []Kind {
	audited := fieldmark.At(exampleTime.Std().AddDate(0, 0, -7))
	from, to := fieldmark.Milli(30_000), fieldmark.Milli(78_400)
	delta := to - from
	limited := fieldmark.Gate{ID: "answer_crawlers_blocked", Limit: 30,
		Reason: "robots.txt blocks every search crawler of answer engines."}
	module := fieldmark.DigestOf(sha256.Sum256([]byte("module")))
	facts := fieldmark.DigestOf(sha256.Sum256([]byte("after")))
	return []Kind{{fieldmark.EventScoreChanged,
		"The score of a brand changed by the threshold of the endpoint, or its grade, status or geoReady did.", "acme",
		fieldmark.ScoreChange{Slug: "acme", Name: "Acme", URL: "https://acme.example/", Cause: fieldmark.CauseFacts,
			From: fieldmark.Standing{Status: fieldmark.StatusScored, Score: &from, Grade: "E", AsOf: &audited},
			To: fieldmark.Standing{Status: fieldmark.StatusScored, Score: &to, Grade: "B", GeoReady: true,
				AsOf: &exampleTime},
			Delta:  &delta,
			Module: fieldmark.DigestChange{From: module, To: module},
			Facts: fieldmark.DigestChange{From: fieldmark.DigestOf(sha256.Sum256([]byte("before"))),
				To: facts},
			Signals: []fieldmark.SignalChange{{ID: "read.server_text", Label: "Text without scripts", From: 0,
				To: 9_000}},
			Gates: []fieldmark.GateChange{{Gate: limited, Applied: false}}}}, {
		fieldmark.EventRankChanged, "The rank of a brand in its niche, or by 5 % overall, changed since it was last " +
			"sent; " +
			"daily at most.", "acme",
		fieldmark.RankChange{Slug: "acme", Name: "Acme", URL: "https://acme.example/",
			Basis: fieldmark.BasisReadiness, AsOf: exampleTime,
			From: &fieldmark.Rank{Overall: 41, OverallLast: 58, Of: 120, Niche: 5, NicheLast: 6, OfNiche: 9},
			To:   &fieldmark.Rank{Overall: 12, OverallLast: 25, Of: 120, Niche: 2, NicheLast: 3, OfNiche: 9}}}, {
		fieldmark.EventVisibilityChanged, "The share of answers that name or cite a brand differs between two " +
			"studies of the same questions, by a test at 0.1 %.", "acme",
		fieldmark.VisibilityChange{Slug: "acme", Niche: "ropes", Metric: fieldmark.MetricMention,
			Engine: "openai-search", From: 210, To: 370, Change: fieldmark.RateChange{Value: 160, Low: 82, High: 238},
			Cause: "brand", Studies: [2]fieldmark.Digest{fieldmark.DigestOf(sha256.Sum256([]byte("earlier"))),
				fieldmark.DigestOf(sha256.Sum256([]byte("later")))}}}, {
		fieldmark.EventBrandAudited, "An audit of a brand found other facts, or the same ones after a day; " +
			"or bot protection refused the third audit in a row, and the facts of an earlier one stay.", "acme",
		fieldmark.BrandAudit{Slug: "acme", URL: "https://acme.example/", Result: fieldmark.AuditMeasured, Changed: true,
			FactsDigest: facts, AsOf: exampleTime}}}
}

// claimKinds are the events of claims, which the account of the claim receives.
func claimKinds() []Kind {
	until := fieldmark.At(exampleTime.Std().AddDate(0, 0, 7))
	claim := func(t fieldmark.EventType, state fieldmark.ClaimState, until *fieldmark.Time, summary string) Kind {
		return Kind{t, summary, "acme", fieldmark.ClaimChange{ID: "clm_06m7xv8e0w3v3ac3zvc1h0gmw4", Slug: "acme",
			Method: fieldmark.ClaimDNS, State: state, Until: until}}
	}
	return []Kind{
		claim(fieldmark.EventClaimVerified, fieldmark.ClaimVerified, nil, "A proof of a claim was found."),
		claim(fieldmark.EventClaimLapsing, fieldmark.ClaimLapsing, &until,
			"No proof of a claim was found; its rights end at until."),
		claim(fieldmark.EventClaimContested, fieldmark.ClaimVerified, &until,
			"Another party proved control of the claimed site; object before until."),
		claim(fieldmark.EventClaimExpired, fieldmark.ClaimExpired, nil, "A claim expired with its keys."),
		claim(fieldmark.EventClaimTransferred, fieldmark.ClaimTransferred, nil,
			"The brand of a claim went to another claim; the keys of this one ended."),
	}
}

// disputeKinds are the events of disputes by the owners of brands.
func disputeKinds() []Kind {
	dispute := func(t fieldmark.EventType, state fieldmark.DisputeState, answer, summary string) Kind {
		return Kind{t, summary, "acme", fieldmark.DisputeChange{ID: "dsp_06m7xv8e0w3v3ac3zvc1h0gmw4", Slug: "acme",
			Signal: "read.server_text", Kind: fieldmark.DisputeWrong, State: state, Answer: answer}}
	}
	return []Kind{
		dispute(fieldmark.EventDisputeOpened, fieldmark.DisputeOpen, "",
			"The owner of a brand opened a dispute of a signal; the site is audited again."),
		dispute(fieldmark.EventDisputeSettled, fieldmark.DisputeSettled, "",
			"The audit after a dispute found other facts."),
		dispute(fieldmark.EventDisputeUpheld, fieldmark.DisputeUpheld, "The page is served to readers as you say.",
			"A dispute was upheld: its facts no longer count for or against the score."),
		dispute(fieldmark.EventDisputeRejected, fieldmark.DisputeRejected, "The page still answers 404.",
			"A dispute was rejected; answer has the reason."),
		dispute(fieldmark.EventDisputeWithdrawn, fieldmark.DisputeWithdrawn, "",
			"The owner of a brand withdrew a dispute."),
	}
}

// studyKinds are the events of studies of answers, which the operator's endpoints receive.
func studyKinds() []Kind {
	study := fieldmark.StudyNotice{Study: "ropes-2026-11", Niche: "ropes", Brands: 12,
		Digest: fieldmark.DigestOf(sha256.Sum256([]byte("study")))}
	validity := fieldmark.ValidityNotice{Digest: fieldmark.DigestOf(sha256.Sum256([]byte("validity"))),
		AsOf: exampleTime, Module: fieldmark.ModuleRef{Name: "geo-readiness", Version: "2.0.0",
			Digest: fieldmark.DigestOf(sha256.Sum256([]byte("module")))},
		Studies: 3, Brands: 64, MinBrands: fieldmark.MinValidityBrands}
	return []Kind{
		{fieldmark.EventVisibilityStudy, "A study of answers was imported or corrected; reason says why it cannot be " +
			"ranked.", study.Study, study},
		{fieldmark.EventValidityPublished, "How scores are associated with measured answers was computed from other " +
			"studies or scores.", string(validity.Digest), validity},
	}
}

// serviceKinds are the events of modules, endpoints and keys.
func serviceKinds() []Kind {
	at := exampleTime
	notice := fieldmark.EndpointNotice{
		EndpointID: "whk_06m7xv8e0w3v3ac3zvc1h0gmw4", URL: "https://receiver.example/fieldmark",
		State:        fieldmark.EndpointEnabled,
		FailingSince: exampleTime, LastError: "answered 503",
	}
	rollback := fieldmark.ModuleRollback{
		From: fieldmark.ModuleRef{Name: "geo-readiness", Version: "1.1.0"},
		To:   fieldmark.ModuleRef{Name: "geo-readiness", Version: "1.0.0"},
		Kind: "trap", Error: "unreachable", At: at,
	}
	refused := fieldmark.Intake{ID: "06m7xv8e0w3v3ac3.42", State: fieldmark.IntakeRefused, Source: "servicenow",
		ExternalID: "INC0012345", AcceptedAt: at, DecidedAt: &at, Code: fieldmark.CodeMissionExists,
		Detail: "source and externalId already name a mission with other content"}
	disabled := notice
	disabled.State, disabled.Reason = fieldmark.EndpointDisabled, "nothing was taken for 5 days"
	return []Kind{
		{fieldmark.EventModuleRolledBack, "An edge rolled back to the previous scoring module.", "geo-readiness",
			rollback},
		{fieldmark.EventWebhookFailing,
			"Deliveries to an endpoint keep failing; it will be disabled if this continues.", notice.EndpointID,
			notice},
		{fieldmark.EventWebhookDisabled, "An endpoint was disabled; new messages are held.", disabled.EndpointID,
			disabled},
		{fieldmark.EventKeyExpiring, "An API key expires in 14 or 3 days.", "key_06m7xv8e0w3v3ac3zvc1h0gmw4",
			fieldmark.KeyExpiring{KeyID: "key_06m7xv8e0w3v3ac3zvc1h0gmw4",
				Name: "service desk", Prefix: "fm_live_AbC12xYz", ExpiresAt: fieldmark.At(at.Std().AddDate(0, 0, 14)),
				DaysLeft: 14}},
		{fieldmark.EventIntakeRefused,
			"A request that an edge had accepted without an origin was refused: it had no effect.", refused.ID,
			refused},
		{fieldmark.EventPing, "A test message was requested.", notice.EndpointID,
			fieldmark.Ping{EndpointID: notice.EndpointID}},
	}
}

// edgeUses lists the event types that edges act on, and whether they need the data of the event.
// All others, such as those of missions, stay at the origins: edges must not receive what
// is about people, and an edge that is woken for nothing costs an answer.
var edgeUses = map[fieldmark.EventType]struct{ data bool }{
	fieldmark.EventBrandChanged:       {},
	fieldmark.EventBrandAudited:       {},
	fieldmark.EventBrandRemoved:       {},
	fieldmark.EventBrandSampled:       {},
	fieldmark.EventModuleActivated:    {data: true}, // the module, which may be one that was rolled back
	fieldmark.EventCachePurged:        {data: true}, // how to purge
	fieldmark.EventCertificateChanged: {},
	fieldmark.EventCDNChanged:         {data: true}, // the lifetime to state
}

// ForEdges reports whether edges act on an event. An event that names a brand or tags does count
// whatever its type is: it may be of a newer release, which shares the database.
func ForEdges(e *fieldmark.Event) bool {
	_, ok := edgeUses[e.Type]
	return ok || e.Brand != "" || len(e.Tags) > 0
}

// edgeDataTypes are the event types whose data edges need.
func edgeDataTypes() (types []fieldmark.EventType) {
	for t, use := range edgeUses {
		if use.data {
			types = append(types, t)
		}
	}
	slices.Sort(types)
	return types
}

var exampleTime = fieldmark.At(time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC))

const exampleID = "msn_06m7xv8e0w3v3ac3zvc1h0gmw4"

func exampleMission(status fieldmark.MissionStatus) fieldmark.Mission {
	m := fieldmark.Mission{
		ID: exampleID,
		MissionRequest: fieldmark.MissionRequest{
			ExternalID: "INC0012345", Source: "servicenow", Title: "Replace the display at gate 4",
			Priority: fieldmark.PriorityHigh,
			Location: &fieldmark.Location{Name: "Terminal 1", TimeZone: "Europe/Vienna"},
		},
		Status: status, CreatedAt: exampleTime, UpdatedAt: exampleTime, Version: 1,
	}
	if status != fieldmark.MissionNew {
		m.Version = 2
		m.Mark(exampleTime)
	}
	return m
}

// ExampleEnvelope returns a complete example message (Standard Webhooks 1.0).
func (k Kind) ExampleEnvelope() (fieldmark.Envelope, error) {
	data, err := json.Marshal(k.Example)
	if err != nil {
		return fieldmark.Envelope{}, fmt.Errorf("encode the example of %s: %w", k.Type, err)
	}
	return fieldmark.Envelope{ID: "evt_06m7xv8e0w3v3ac3zvc1h0gmw4", Type: k.Type, Timestamp: exampleTime,
		Data: data}, nil
}

// KindOf returns the description of an event type.
func KindOf(t fieldmark.EventType) (Kind, bool) {
	all := Kinds()
	i := slices.IndexFunc(all, func(k Kind) bool { return k.Type == t })
	if i < 0 {
		return Kind{}, false
	}
	return all[i], true
}

// ValidPattern reports whether a subscription pattern matches any event type.
func ValidPattern(pattern string) bool {
	return slices.ContainsFunc(Kinds(), func(k Kind) bool { return fieldmark.MatchEvent(pattern, k.Type) })
}

package fieldmark_test

import (
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/sla"
)

// TestLifecycleWire compares the data of every SLA and payment event, and of the
// related types, with golden JSON.
func TestLifecycleWire(t *testing.T) {
	at := fieldmark.At(time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC))
	due := fieldmark.At(at.Std().Add(8 * time.Hour))
	about := fieldmark.SLASubject{ID: "msn_05zj5rksp1zzzfzzzzzzzzzzzw", ExternalID: "INC-7", Source: "ITSM",
		Priority: fieldmark.PriorityHigh,
		Status:   fieldmark.MissionInProgress, Metric: fieldmark.SLAResolution, Policy: "HIGH", Cycle: 1}
	amount := &fieldmark.Money{Value: 12_500, Currency: "EUR"}
	failure := &fieldmark.PaymentFailure{Code: "account_closed", Message: "The bank returned it.", WillRetry: true,
		NextAttemptAt: &due}
	refund := fieldmark.Refund{ID: "rfd_1", Amount: 2_500, Reference: "R-1", Reason: "half the work", CreatedAt: at}
	payment := fieldmark.Payment{ID: "pay_1", Direction: fieldmark.DirectionPayout, Amount: amount, Terms: "NET 14",
		Status: fieldmark.PaymentDue, DueAt: &due, Version: 2}
	change := func(from, to fieldmark.PaymentStatus) fieldmark.PaymentChange {
		return fieldmark.PaymentChange{PaymentID: "pay_1", MissionID: about.ID, ExternalID: about.ExternalID,
			Source: about.Source, Direction: fieldmark.DirectionPayout,
			Status: to, PreviousStatus: from, Amount: amount, DueAt: &due, Version: 3}
	}
	paid, failed, refunded := change("PROCESSING", "PAID"), change("PROCESSING", "FAILED"), change("PAID",
		"PARTIALLY_REFUNDED")
	paid.PaidAt, refunded.PaidAt, failed.Failure = &at, &at, failure
	refunded.Refund, refunded.RefundedTotal = &refund, 2_500
	mission := fieldmark.Mission{ID: about.ID, MissionRequest: fieldmark.MissionRequest{ExternalID: "INC-1",
		Source: "ServiceNow", Title: "Replace the router"}, Status: fieldmark.MissionInProgress, CreatedAt: at,
		UpdatedAt: at, Version: 3, Payment: &payment,
		SLA: &fieldmark.SLA{Policy: "HIGH", Metrics: []fieldmark.SLAClock{
			{Name: fieldmark.SLAResponse, State: fieldmark.SLABreached, Cycle: 1, TargetMinutes: 60, StartedAt: at,
				DueAt: &at, StoppedAt: &due, BreachedAt: &at},
			{Name: fieldmark.SLAResolution, State: fieldmark.SLAPaused, Cycle: 1, TargetMinutes: 480, StartedAt: at,
				DueAt: &due, PausedAt: &at, PausedMinutes: 30},
		}}}

	for name, v := range map[string]any{
		"sla.at_risk": fieldmark.SLAAtRiskEvent{SLASubject: about, ThresholdPercent: 75, TargetMinutes: 480,
			ElapsedMinutes: 361, RemainingMinutes: 119, DueAt: &due},
		"sla.breached": fieldmark.SLABreachedEvent{SLASubject: about, TargetMinutes: 480, DueAt: &due,
			BreachedAt: &due},
		"sla.met":    fieldmark.SLAMetEvent{SLASubject: about, DueAt: &due, StoppedAt: &at, ElapsedMinutes: 12},
		"sla.paused": fieldmark.SLAPausedEvent{SLASubject: about, Reason: fieldmark.HoldWeather, PausedAt: &at},
		"sla.resumed": fieldmark.SLAResumedEvent{SLASubject: about, ResumedAt: at, PausedMinutes: 30,
			DueAt: &due},
		"sla.updated": fieldmark.SLAUpdatedEvent{SLASubject: about, PreviousDueAt: &at, DueAt: &due,
			TargetMinutes: 480, Cause: fieldmark.SLACausePriority},
		"sla_policy":         sla.DefaultPolicies()[0],
		"sla_calendar":       sla.DefaultCalendars()[1],
		"payment.due":        change("PENDING", "DUE"),
		"payment.processing": change("DUE", "PROCESSING"),
		"payment.paid":       paid,
		"payment.failed":     failed,
		"payment.overdue":    change("DUE", "OVERDUE"),
		"payment.refunded":   refunded,
		"payment.canceled":   change("DUE", "CANCELED"),
		"mission_lifecycle":  mission,
		"payment": fieldmark.MissionPayment{Payment: payment, MissionID: about.ID, ExternalID: about.ExternalID,
			Source:  about.Source,
			Refunds: []fieldmark.Refund{refund}, CreatedAt: at, UpdatedAt: at},
	} {
		golden(t, name, v)
	}
}

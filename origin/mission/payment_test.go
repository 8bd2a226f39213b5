package mission_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/mission"
)

// TestRandomPaymentMoves makes random transitions of payments: it checks that exactly the
// transitions in the table are possible, that a refusal lists them, and that
// refunds add up.
func TestRandomPaymentMoves(t *testing.T) {
	all := fieldmark.PaymentStatuses()
	r := rand.New(rand.NewPCG(7, 8))
	ends := map[fieldmark.PaymentStatus]bool{}
	for range 3000 {
		p := fieldmark.Payment{Status: fieldmark.PaymentNone, Amount: &fieldmark.Money{Value: 100, Currency: "EUR"},
			Terms: "NET 14", Version: 1}
		now := fieldmark.At(time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC))
		for range 25 {
			was, to := p, all[r.IntN(len(all))]
			legal := mission.ValidatePaymentTransition(p.Status, to) == nil
			refund := to == fieldmark.PaymentRefunded || to == fieldmark.PaymentPartiallyRefunded
			var err error
			if refund {
				_, err = mission.RefundPayment(&p, int64(r.IntN(60)))
			} else {
				err = mission.TransitionPayment(&p, to, now)
			}
			if e := fieldmark.AsError(err); e != nil && e.Code == fieldmark.CodeInvalidTransition {
				if legal || p != was || len(e.Allowed) > 0 && slices.Contains(e.Allowed, string(to)) {
					t.Fatalf("%s to %s was refused with %v", was.Status, to, e.Allowed)
				}
				continue
			} else if e != nil {
				if !refund || p != was {
					t.Fatalf("%s to %s: %v", was.Status, to, err)
				}
				continue
			}
			_, told := mission.PaymentEvent(p.Status)
			if !legal || p.Version != was.Version+1 || told == (p.Status == fieldmark.PaymentPending) {
				t.Fatalf("%s became %s, version %d to %d, told %v", was.Status, p.Status, was.Version, p.Version, told)
			}
			if p.RefundedTotal > p.Amount.Value ||
				(p.Status == fieldmark.PaymentRefunded) != (p.RefundedTotal == p.Amount.Value) {
				t.Fatalf("%s with %d of %d refunded", p.Status, p.RefundedTotal, p.Amount.Value)
			}
			if p.DueAt == nil && p.Status != fieldmark.PaymentPending && p.Status != fieldmark.PaymentCanceled {
				t.Fatalf("%s without a due time", p.Status)
			}
		}
		ends[p.Status] = true
	}
	if !ends[fieldmark.PaymentRefunded] || !ends[fieldmark.PaymentCanceled] {
		t.Errorf("walks ended in %v only", ends)
	}
}

func TestPaymentFollowsItsMission(t *testing.T) {
	for _, tt := range []struct {
		from  fieldmark.PaymentStatus
		to    fieldmark.MissionStatus
		dueOn fieldmark.MissionStatus
		want  fieldmark.PaymentStatus // empty: it stays
	}{
		{"PENDING", "COMPLETED", "CLOSED", ""}, {"PENDING", "CLOSED", "CLOSED", "DUE"},
		{"PENDING", "COMPLETED", "COMPLETED", "DUE"},
		{"PENDING", "CLOSED", "COMPLETED", "DUE"}, {"DUE", "CLOSED", "COMPLETED", ""},
		{"PAID", "CLOSED", "COMPLETED", ""},
		{"NONE", "CLOSED", "CLOSED", ""}, {"PENDING", "CANCELED", "CLOSED", "CANCELED"},
		{"PROCESSING", "CANCELED", "CLOSED", ""},
		{"FAILED", "CANCELED", "CLOSED", "CANCELED"}, {"PENDING", "IN_PROGRESS", "CLOSED", ""},
	} {
		p := fieldmark.Payment{Status: tt.from}
		got, moves := mission.PaymentStatusFor(&p, tt.to, tt.dueOn)
		if moves != (tt.want != "") || moves && got != tt.want {
			t.Errorf("%s, mission %s, due on %s: %s, %v; want %q", tt.from, tt.to, tt.dueOn, got, moves, tt.want)
		}
	}
}

func TestPaymentTerm(t *testing.T) {
	const refused = -1
	for terms, days := range map[string]int{"": 30, "NET 14": 14, "net-7": 7, "Net60": 60, "NET 0": 0, "NET 366": 366,
		"2/10 NET 30": 30, "NET 30 days": 30,
		"DUE_ON_RECEIPT": 0, "due on receipt": 0, "on receipt": 0, "Due upon receipt": 0,
		"NET 367": refused, "NET -1": refused, "NET": refused, "soon": refused, "NTE 14": refused,
		"NET 99999999999": refused} {
		got, ok := mission.ParsePaymentTerms(terms)
		if ok != (days != refused) || ok && got != time.Duration(days)*24*time.Hour {
			t.Errorf("terms %q: %s, %v, want %d days", terms, got, ok, days)
		}
	}
	if got := mission.PaymentTerm("soon"); got != 30*24*time.Hour {
		t.Errorf("terms of old that are not understood: %s, want 30 days", got)
	}
}

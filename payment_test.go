package fieldmark_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
)

// TestPaymentWalk takes payments through random lives: what the table lists is
// possible, everything else is refused with the list, money comes to the sum.
func TestPaymentWalk(t *testing.T) {
	all := fieldmark.PaymentStatuses()
	r := rand.New(rand.NewPCG(7, 8))
	ends := map[fieldmark.PaymentStatus]bool{}
	for range 3000 {
		p := fieldmark.Payment{Status: fieldmark.PaymentNone, Amount: &fieldmark.Money{Value: 100, Currency: "EUR"}, Terms: "NET 14", Version: 1}
		now := fieldmark.At(time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC))
		for range 25 {
			was, to := p, all[r.IntN(len(all))]
			legal := fieldmark.CheckPaymentMove(p.Status, to) == nil
			refund := to == fieldmark.PaymentRefunded || to == fieldmark.PaymentPartiallyRefunded
			var err error
			if refund {
				_, err = p.Refund(int64(r.IntN(60)))
			} else {
				err = p.Move(to, now)
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
			_, told := fieldmark.PaymentEvent(p.Status)
			if !legal || p.Version != was.Version+1 || told == (p.Status == fieldmark.PaymentPending) {
				t.Fatalf("%s became %s, version %d to %d, told %v", was.Status, p.Status, was.Version, p.Version, told)
			}
			if p.RefundedTotal > p.Amount.Value || (p.Status == fieldmark.PaymentRefunded) != (p.RefundedTotal == p.Amount.Value) {
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
		{"PENDING", "COMPLETED", "CLOSED", ""}, {"PENDING", "CLOSED", "CLOSED", "DUE"}, {"PENDING", "COMPLETED", "COMPLETED", "DUE"},
		{"PENDING", "CLOSED", "COMPLETED", "DUE"}, {"DUE", "CLOSED", "COMPLETED", ""}, {"PAID", "CLOSED", "COMPLETED", ""},
		{"NONE", "CLOSED", "CLOSED", ""}, {"PENDING", "CANCELED", "CLOSED", "CANCELED"}, {"PROCESSING", "CANCELED", "CLOSED", ""},
		{"FAILED", "CANCELED", "CLOSED", "CANCELED"}, {"PENDING", "IN_PROGRESS", "CLOSED", ""},
	} {
		p := fieldmark.Payment{Status: tt.from}
		got, moves := p.FollowMission(tt.to, tt.dueOn)
		if moves != (tt.want != "") || moves && got != tt.want {
			t.Errorf("%s, mission %s, due on %s: %s, %v; want %q", tt.from, tt.to, tt.dueOn, got, moves, tt.want)
		}
	}
}

func TestPaymentTerm(t *testing.T) {
	const refused = -1
	for terms, days := range map[string]int{"": 30, "NET 14": 14, "net-7": 7, "Net60": 60, "NET 0": 0, "NET 366": 366, "2/10 NET 30": 30, "NET 30 days": 30,
		"DUE_ON_RECEIPT": 0, "due on receipt": 0, "on receipt": 0, "Due upon receipt": 0,
		"NET 367": refused, "NET -1": refused, "NET": refused, "soon": refused, "NTE 14": refused, "NET 99999999999": refused} {
		got, ok := fieldmark.ParsePaymentTerms(terms)
		if ok != (days != refused) || ok && got != time.Duration(days)*24*time.Hour {
			t.Errorf("terms %q: %s, %v, want %d days", terms, got, ok, days)
		}
	}
	if got := fieldmark.PaymentTerm("soon"); got != 30*24*time.Hour {
		t.Errorf("terms of old that are not understood: %s, want 30 days", got)
	}
}

func TestMoney(t *testing.T) {
	for text, value := range map[string]int64{"12.50 EUR": 1250, "12 EUR": 1200, "0.05 USD": 5, "1250 JPY": 1250, "1.250 KWD": 1250, "1.2 KWD": 1200,
		"0.0001 CLF": 1, "0 EUR": 0, "90071992547409.92 EUR": fieldmark.MaxMoney} {
		m, err := fieldmark.ParseMoney(text)
		if err != nil || m.Value != value {
			t.Errorf("%q: %d, %v; want %d", text, m.Value, err, value)
		}
	}
	for _, text := range []string{"", "12", "EUR", " EUR", ".5 EUR", "5. EUR", "1.255 EUR", "1.5 JPY", "-1 EUR", "+1 EUR", "1e2 EUR", "12 eur", "12 XAU", "12 XXX",
		"12  EUR", "12,50 EUR", "90071992547409.93 EUR", "99999999999999999999 EUR", "12 EU", "12 EURO"} {
		if m, err := fieldmark.ParseMoney(text); err == nil {
			t.Errorf("%q was taken for %s", text, m)
		}
	}
	for text, m := range map[string]fieldmark.Money{"12.50 EUR": {Value: 1250, Currency: "EUR"}, "-0.05 EUR": {Value: -5, Currency: "EUR"}, "7 JPY": {Value: 7, Currency: "JPY"}, "0.007 KWD": {Value: 7, Currency: "KWD"}} {
		if got := m.String(); got != text {
			t.Errorf("%+v reads %q, want %q", m, got, text)
		}
	}
}

func FuzzParseMoney(f *testing.F) {
	for _, s := range []string{"12.50 EUR", "1 JPY", "1.250 KWD", "0.0001 UYW", "x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := fieldmark.ParseMoney(text)
		if err != nil {
			return
		}
		if again, err := fieldmark.ParseMoney(m.String()); err != nil || again != m {
			t.Errorf("%q is %+v, which reads %q, which is %+v, %v", text, m, m.String(), again, err)
		}
	})
}

package api_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
)

// withPayment returns goodMission with a payment.
func withPayment(payment string) string {
	return strings.Replace(goodMission, "{", `{"payment":`+payment+`,`, 1)
}

func (fx *fixture) payment(status int, method, path, body string) (p fieldmark.MissionPayment) {
	fx.t.Helper()
	var out any
	if status < 300 {
		out = &p
	}
	fx.mustSend(status, request{method: method, path: adminPath + path, key: fx.admin, body: body}, out)
	return p
}

func statuses(e fieldmark.Event) string {
	var c fieldmark.PaymentChange
	if json.Unmarshal(e.Data, &c) != nil || c.PaymentID == "" || c.MissionID == "" || c.ExternalID == "" ||
		c.Source == "" || c.Amount == nil || c.Direction == "" {
		return " INCOMPLETE " + string(e.Data)
	}
	return " " + string(c.PreviousStatus) + ">" + string(c.Status)
}

func TestPayment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t, nil)
		var m fieldmark.Mission
		fx.mustSend(201, request{method: "POST", path: fieldmark.PathMissions, key: fx.creator,
			body: withPayment(`{"amount":{"value":12500,"currency":"KWD"},"direction":"payout","terms":"NET 2"}`)}, &m)
		if p := m.Payment; p == nil || p.Status != fieldmark.PaymentPending ||
			p.Direction != fieldmark.DirectionPayout ||
			p.Amount.String() != "12.500 KWD" || p.DueAt != nil {
			t.Fatalf("opened with %+v", m.Payment)
		}
		for _, to := range []string{"DISPATCHED", "IN_PROGRESS", "COMPLETED"} {
			m = fx.transition(m.ID, `{"status":"`+to+`"}`)
		}
		if m.Payment.Status != fieldmark.PaymentPending {
			t.Errorf("completed: the payment is %s, want PENDING until the work is accepted", m.Payment.Status)
		}
		m = fx.transition(m.ID, `{"status":"CLOSED"}`)
		if due := m.ClosedAt.Std().Add(48 * time.Hour); m.Payment.Status != fieldmark.PaymentDue ||
			!m.Payment.DueAt.Std().Equal(due) {
			t.Errorf("closed: %+v, want DUE at %s", m.Payment, due)
		}
		id := "payments/" + m.Payment.ID
		time.Sleep(48*time.Hour - 2*time.Second) // of the bubble
		stop := fx.run()
		time.Sleep(time.Second)
		if p := fx.payment(200, "GET", id, ""); p.Status != fieldmark.PaymentDue {
			t.Errorf("before its time: %s", p.Status)
		}
		time.Sleep(5 * time.Second)
		if p := fx.payment(200, "GET", id, ""); p.Status != fieldmark.PaymentOverdue {
			t.Errorf("after its time: %s", p.Status)
		}
		fx.payment(200, "POST", id+"/transitions", `{"status":"PROCESSING"}`)
		fx.payment(200, "POST", id+"/transitions", `{"status":"PROCESSING"}`) // again: no change
		failed := fx.payment(200, "POST", id+"/transitions",
			`{"status":"failed","failure":{"code":"account_closed","willRetry":true}}`)
		if failed.Failure == nil || failed.Failure.Code != "account_closed" {
			t.Errorf("failed: %+v", failed.Failure)
		}
		time.Sleep(10 * time.Second) // after it was overdue: one event
		fx.payment(200, "POST", id+"/transitions", `{"status":"PROCESSING"}`)
		paid := fx.payment(200, "POST", id+"/transitions", `{"status":"PAID","paidAt":"2000-01-02T09:00:00Z"}`)
		if paid.PaidAt == nil || paid.PaidAt.String() != "2000-01-02T09:00:00.000Z" || paid.Failure != nil {
			t.Errorf("paid: %+v", paid.Payment)
		}
		fx.payment(200, "POST", id+"/refunds", `{"amount":500,"reference":"R-1","reason":"late"}`)
		part := fx.payment(200, "POST", id+"/refunds", `{"amount":500,"reference":"R-1"}`) // again: no change
		if part.Status != fieldmark.PaymentPartiallyRefunded || part.RefundedTotal != 500 || len(part.Refunds) != 1 {
			t.Errorf("refunded in part: %+v", part)
		}
		fx.payment(422, "POST", id+"/refunds", `{"amount":501,"reference":"R-1"}`)
		fx.payment(422, "POST", id+"/refunds", `{"amount":12001}`)
		all := fx.payment(200, "POST", id+"/refunds", `{"amount":12000}`)
		if all.Status != fieldmark.PaymentRefunded || all.RefundedTotal != 12_500 || len(all.Refunds) != 2 {
			t.Errorf("refunded: %+v", all)
		}
		fx.payment(409, "POST", id+"/transitions", `{"status":"PAID"}`)
		stop()
		want := []string{"due PENDING>DUE", "overdue DUE>OVERDUE", "processing OVERDUE>PROCESSING",
			"failed PROCESSING>FAILED", "processing FAILED>PROCESSING",
			"paid PROCESSING>PAID", "refunded PAID>PARTIALLY_REFUNDED", "refunded PARTIALLY_REFUNDED>REFUNDED"}
		if got := fx.eventTexts("payment", statuses); !cmp.Equal(got, want) {
			t.Errorf("events %v, want %v", got, want)
		}
		rec := fx.mustSend(200, request{method: "GET", path: fieldmark.PathMissions + "/" + m.ID, key: fx.reader}, &m)
		if etag := rec.Header().Get("ETag"); m.Payment.Status != fieldmark.PaymentRefunded || !strings.HasPrefix(etag,
			`"5.`) {
			t.Errorf("the mission shows %+v as %s", m.Payment, etag)
		}
		if err := fx.store.Check(t.Context()); err != nil {
			t.Errorf("check: %v", err)
		}
	})
}

func TestPaymentSetLater(t *testing.T) {
	fx := newFixture(t, nil)
	var m fieldmark.Mission
	fx.mustSend(201, request{method: "POST", path: fieldmark.PathMissions, key: fx.creator,
		body: withPayment(`{"terms":"NET 7"}`)}, &m)
	if m.Payment == nil || m.Payment.Status != fieldmark.PaymentNone || m.Payment.Amount != nil {
		t.Fatalf("opened with %+v, want NONE", m.Payment)
	}
	set := "missions/" + m.ID + "/payment"
	fx.payment(200, "PUT", set, `{"amount":{"value":100,"currency":"JPY"}}`)
	p := fx.payment(200, "PUT", set, `{"amount":{"value":200,"currency":"JPY"},"terms":"NET 7"}`)
	if p.Status != fieldmark.PaymentPending || p.Amount.String() != "200 JPY" || p.MissionID != m.ID ||
		p.ExternalID != m.ExternalID {
		t.Errorf("set to %+v", p)
	}
	fx.payment(409, "POST", "payments/"+p.ID+"/transitions", `{"status":"PAID"}`)
	if m = fx.transition(m.ID, `{"status":"CANCELED"}`); m.Payment.Status != fieldmark.PaymentCanceled {
		t.Errorf("called off: the payment is %s", m.Payment.Status)
	}
	fx.payment(409, "PUT", set, `{"amount":{"value":300,"currency":"JPY"}}`)

	// A payment without an amount, for a mission in a final state.
	body := strings.Replace(goodMission, `"externalId":"`, `"externalId":"other-`, 1)
	fx.mustSend(201, request{method: "POST", path: fieldmark.PathMissions, key: fx.creator, body: body}, &m)
	for _, to := range []string{"DISPATCHED", "IN_PROGRESS", "COMPLETED", "CLOSED"} {
		m = fx.transition(m.ID, `{"status":"`+to+`"}`)
	}
	late := fx.payment(200, "PUT", "missions/"+m.ID+"/payment", `{"amount":{"value":300,"currency":"EUR"}}`)
	if late.Status != fieldmark.PaymentDue || late.DueAt == nil || late.Direction != fieldmark.DirectionCharge {
		t.Errorf("set after the mission was closed: %+v", late)
	}
	want := []string{"canceled PENDING>CANCELED", "due PENDING>DUE"}
	if got := fx.eventTexts("payment", statuses); !cmp.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
	var page fieldmark.List[fieldmark.MissionPayment]
	fx.mustSend(200, request{method: "GET", path: adminPath + "payments?limit=1", key: fx.admin}, &page)
	if len(page.Data) != 1 || page.Data[0].ID != late.ID || !page.HasMore {
		t.Errorf("the newest payment: %+v", page)
	}
	fx.mustSend(200, request{method: "GET", path: adminPath + "payments?limit=1&cursor=" + page.NextCursor,
		key: fx.admin}, &page)
	if len(page.Data) != 1 || page.Data[0].ID != p.ID {
		t.Errorf("the one before: %+v", page)
	}
	fx.mustSend(200, request{method: "GET", path: adminPath + "payments?status=due", key: fx.admin}, &page)
	if len(page.Data) != 1 || page.Data[0].ID != late.ID {
		t.Errorf("those that are due: %+v", page)
	}
	if err := fx.store.Check(t.Context()); err != nil {
		t.Errorf("check: %v", err)
	}
}

func TestPaymentLimits(t *testing.T) {
	fx := newFixture(t, nil)
	for body, want := range map[string]string{
		withPayment(`{"amount":{"value":-1,"currency":"EUR"}}`):  "/payment/amount/value range",
		withPayment(`{"amount":{"value":1,"currency":"XAU"}}`):   "/payment/amount/currency enum",
		withPayment(`{"amount":{"value":1,"currency":"eur"}}`):   "/payment/amount/currency pattern",
		withPayment(`{"amount":{"value":1.5,"currency":"EUR"}}`): "/payment/amount/value format",
		withPayment(`{"amount":{"currency":"EUR"}}`): "/payment/amount/value " +
			"required",
		withPayment(`{"direction":"BOTH"}`):                        "/payment/direction enum",
		withPayment(`{"terms":"` + strings.Repeat("x", 65) + `"}`): "/payment/terms too_long",
		withPayment(`{"card":"4242"}`):                             "/payment/card unknown_field",
		withPayment(`{"amount":{"value":1,"currency":"EUR"},"status":"PAID"}`): "/payment/status " +
			"unknown_field",
		withPayment(`{"amount":{"value":1,"currency":"EUR"},` +
			`"dueAt":"2026-01-01T00:00:00Z"}`): "/payment/dueAt unknown_field",
	} {
		rec := fx.send(request{method: "POST", path: fieldmark.PathMissions, key: fx.creator, body: body})
		p := fx.problem(rec)
		if rec.Code != 422 || len(p.Errors) != 1 || p.Errors[0].Pointer+" "+p.Errors[0].Code != want {
			t.Errorf("%s: %d %+v, want 422 for %s", body, rec.Code, p.Errors, want)
		}
	}
	var m fieldmark.Mission
	fx.mustSend(201, request{method: "POST", path: fieldmark.PathMissions, key: fx.creator,
		body: withPayment(`{"amount":{"value":1,"currency":"EUR"}}`)}, &m)
	for body, want := range map[string]string{
		`{"status":"OVERDUE"}`: "/status enum", `{"status":"DUE"}`: "/status enum", `{"status":"gone"}`: "/status enum",
		`{"status":"FAILED"}`: "/failure required",
		`{"status":"PAID","failure":{"code":"x","willRetry":false}}`:    "/failure conflict",
		`{"status":"CANCELED","paidAt":"2026-01-01T00:00:00Z"}`:         "/paidAt conflict",
		`{"status":"FAILED","failure":{"code":"a b","willRetry":true}}`: "/failure/code pattern",
		`{"status":"PAID","paidAt":"2999-01-01T00:00:00Z"}`:             "/paidAt range",
	} {
		rec := fx.send(request{method: "POST", path: adminPath + "payments/" + m.Payment.ID + "/transitions",
			key:  fx.admin,
			body: body})
		p := fx.problem(rec)
		if rec.Code != 422 || len(p.Errors) != 1 || p.Errors[0].Pointer+" "+p.Errors[0].Code != want {
			t.Errorf("%s: %d %+v, want 422 for %s", body, rec.Code, p.Errors, want)
		}
	}
	for _, id := range []string{"pay_0", "pay_" + strings.Repeat("0", 26), "x"} {
		fx.payment(404, "GET", "payments/"+id, "")
		fx.payment(404, "POST", "payments/"+id+"/transitions", `{"status":"PAID"}`)
		fx.payment(404, "POST", "payments/"+id+"/refunds", `{"amount":1}`)
	}
	rec := fx.send(request{method: "GET", path: adminPath + "payments", key: fx.creator})
	if p := fx.problem(rec); p.Code != fieldmark.CodeInsufficientScope {
		t.Errorf("without the scope: %s", p.Code)
	}
	if _, err := origin.New(origin.Config{Store: fx.store, Secret: []byte(strings.Repeat("s", 32)),
		PaymentDueOn: "NEW"}); err == nil {
		t.Error("payments become due on NEW")
	}
}

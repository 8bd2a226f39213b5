package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

// TestKillWhileAClockAdvances kills a Fieldmark again and again while it advances the clock of a test world. The
// next one goes on: each timer and each payment fires exactly once, in order.
func TestKillWhileAClockAdvances(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		killClock(t)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		killClock(t, "--database-url", storetest.OwnPostgres(t).URL, "--secret", strings.Repeat("s", minSecret))
	})
}

func killClock(t *testing.T, record ...string) {
	dir := t.TempDir()
	live := newKeyAt(t, dir, record, "key:test")
	serve := append([]string{"serve", "--public-api", "--rate-limit", "off", "--log-level", "INFO"},
		freePorts("var")...)
	serve = append(serve, record...)
	p := start(t, dir, serve...)
	base := p.logged("serve", "listen")
	send := func(key, method, path, body string, want int, into any) {
		t.Helper()
		status, _, answer := ask(t, method, base+path, body, "Authorization", "Bearer "+key)
		if status != want {
			t.Fatalf("%s %s: %d %s", method, path, status, answer)
		}
		if into != nil {
			must(t, json.Unmarshal([]byte(answer), into))
		}
	}
	var key fieldmark.NewKey
	send(live, "POST", fieldmark.PathTestKeys, `{"name":"sandbox"}`, http.StatusCreated, &key)
	const missions, paid, kills = 90, 3, 4
	var items []string
	for i := range missions {
		items = append(items, fmt.Sprintf(`{"source":"s","externalId":"%d","title":"Due","priority":"p%d"}`, i, 1+i%4))
	}
	send(key.Token, "POST", fieldmark.PathMissionBatch, `{"missions":[`+strings.Join(items, ",")+`]}`, http.StatusOK,
		nil)
	for i := range paid {
		var m fieldmark.Mission
		send(key.Token, "POST", fieldmark.PathMissions, fmt.Sprintf(`{"source":"p","externalId":"%d","title":"Paid",
			"payment":{"amount":{"value":1,"currency":"EUR"},"direction":"charge","terms":"NET 7"}}`, i),
			http.StatusCreated, &m)
		for _, to := range []string{"DISPATCHED", "IN_PROGRESS", "COMPLETED", "CLOSED"} {
			send(key.Token, "POST", fieldmark.PathMissions+"/"+m.ID+"/transitions", `{"status":"`+to+`"}`,
				http.StatusOK, nil)
		}
	}
	var c fieldmark.TestClock
	clock := func() fieldmark.TestClock {
		send(live, "GET", fieldmark.PathTestClock, "", http.StatusOK, &c)
		return c
	}
	goal := clock().Now.Std().AddDate(0, 0, 60)
	send(live, "PUT", fieldmark.PathTestClock, fmt.Sprintf(`{"now":%q}`, fieldmark.At(goal)), http.StatusAccepted, nil)
	timers := func() int { return strings.Count(p.printed(), `"msg":"deadline"`) }
	for range kills {
		waittest.Until(t, "some timers have fired", func() bool {
			return timers() >= missions/3 || clock().State == fieldmark.TestClockReady
		})
		p.kill()
		p = start(t, dir, serve...)
		base = p.logged("serve", "listen")
	}
	waittest.Until(t, "the clock is at its goal", func() bool { return clock().State == fieldmark.TestClockReady })
	if c.StoppedAt != nil || c.Now.Std().Before(goal) {
		t.Errorf("the clock is %+v, want at %s", c, goal)
	}
	fired := map[string]int{}
	var last fieldmark.Envelope
	for page := (fieldmark.PolledEvents{HasMore: true}); page.HasMore; {
		send(key.Token, "GET", fmt.Sprintf("%s?limit=500&after=%d", fieldmark.PathPublicEvents, page.Next), "",
			http.StatusOK, &page)
		for _, e := range page.Data {
			if e.Timestamp.Std().Before(last.Timestamp.Std()) {
				t.Errorf("%s at %s is after %s at %s", e.Type, e.Timestamp, last.Type, last.Timestamp)
			}
			last = e.Envelope
			var about struct{ ID, Metric, PaymentID string }
			must(t, json.Unmarshal(e.Data, &about))
			switch e.Type {
			case fieldmark.EventSLAAtRisk, fieldmark.EventSLABreached, fieldmark.EventPaymentOverdue:
				fired[fmt.Sprint(e.Type, about)]++
			}
		}
	}
	for what, n := range fired {
		if n != 1 {
			t.Errorf("%s fired %d times", what, n)
		}
	}
	// Each mission is at risk of three targets and breaches them.
	if want := missions*2*3 + paid; len(fired) != want {
		t.Errorf("%d timers and payments fired, want %d", len(fired), want)
	}
	check := []string{"db", "check", "--data", "var"}
	if len(record) > 0 {
		check = append(check, record[:2]...)
	}
	runOnce(t, dir, check...)
	p.stop()
}

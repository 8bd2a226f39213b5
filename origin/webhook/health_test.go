package webhook_test

import (
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/webhook"
)

var (
	noon  = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	dead  = webhook.Attempt{Error: "dial failed", Detail: fieldmark.AttemptDetail{Class: webhook.ClassConnect}}
	wrong = webhook.Attempt{Error: "answered 404", Status: 404,
		Detail: fieldmark.AttemptDetail{Class: webhook.ClassStatus}}
	fine = webhook.Attempt{Status: 204}
)

func at(a webhook.Attempt, t time.Time) webhook.Attempt {
	a.At = t
	return a
}

func TestCircuit(t *testing.T) {
	var h webhook.Health
	now := noon
	try := func(a webhook.Attempt, wait time.Duration) { now = now.Add(wait); h.Record(at(a, now), 8) }
	wantRoom := func(when string, want int) {
		t.Helper()
		if got := h.Concurrency(now, 8); got != want {
			t.Errorf("%s: room for %d, want %d (%+v)", when, got, want, h)
		}
	}
	for range 4 {
		try(dead, time.Second)
	}
	wantRoom("after four failures", 8)
	try(dead, time.Second)
	wantRoom("after five", 0)
	// Each probe that fails makes the next one later.
	for _, wait := range []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 5 * time.Minute,
		10 * time.Minute, 10 * time.Minute} {
		now = now.Add(wait - time.Second)
		wantRoom("before the probe", 0)
		now = now.Add(time.Second)
		wantRoom("at the probe", 1)
		try(dead, 0)
	}
	now = now.Add(10 * time.Minute)
	try(fine, 0)
	wantRoom("on the ramp", 2)
	try(fine, 0)
	wantRoom("on the ramp", 4)
	try(dead, 0)
	wantRoom("a failure on the ramp", 0)
	now = now.Add(10 * time.Minute)
	for range 3 {
		try(fine, 0)
	}
	wantRoom("at the end of the ramp", 8)
	if h.Circuit != "" {
		t.Errorf("circuit %q after the ramp, want closed", h.Circuit)
	}
}

func TestCircuitOpensByShare(t *testing.T) {
	var h webhook.Health
	for i := range 11 { // the first success does not count yet, then three of ten succeed
		a := dead
		if i%4 == 3 || i == 0 {
			a = fine
		}
		h.Record(at(a, noon.Add(time.Duration(i)*time.Second)), 8)
	}
	if h.Circuit != fieldmark.CircuitOpen {
		t.Errorf("7 of 10 failed: circuit %q, want open", h.Circuit)
	}
	h = webhook.Health{}
	for i := range 50 { // the receiver is available, but rejects what it is sent
		h.Record(at(wrong, noon.Add(time.Duration(i)*time.Second)), 8)
	}
	if h.Circuit != "" {
		t.Errorf("after 50 404s: circuit %q, want closed", h.Circuit)
	}
}

func TestCircuitHonoursRetryAfter(t *testing.T) {
	var h webhook.Health
	busy := webhook.Attempt{Error: "answered 429", Status: 429, RetryAfter: time.Hour,
		Detail: fieldmark.AttemptDetail{Class: webhook.ClassStatus}}
	for range 5 {
		h.Record(at(busy, noon), 8)
	}
	if got := h.ProbeAt.Std().Sub(noon); got != time.Hour {
		t.Errorf("asked to come back after an hour: probe after %v", got)
	}
}

func TestHealthVerdict(t *testing.T) {
	var h webhook.Health
	fail := func(after time.Duration) { h.Record(at(dead, noon.Add(after)), 8) }
	want := func(after time.Duration, v webhook.Action) {
		t.Helper()
		if got := h.NextAction(noon.Add(after)); got != v {
			t.Errorf("after %v: verdict %d, want %d (%+v)", after, got, v, h)
		}
	}
	const day = 24 * time.Hour
	want(0, webhook.NoAction)
	fail(0)
	want(day-time.Second, webhook.NoAction)
	want(day, webhook.Warn)
	want(day, webhook.NoAction) // once
	want(3*day, webhook.Warn)
	want(4*day, webhook.NoAction)
	want(5*day, webhook.NoAction) // one failure is not enough
	for i := range 8 {
		fail(time.Duration(i) * time.Hour)
	}
	want(6*day, webhook.NoAction) // nor are the failures of one day
	fail(2 * day)
	want(5*day, webhook.Disable)
	h.Record(at(fine, noon.Add(5*day)), 8)
	want(6*day, webhook.NoAction)
}

package alert

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
)

// Notification is one message of an alerting tool, about a group of alerts.
type Notification struct {
	groupKey    string
	status      string
	receiver    string
	externalURL string
	truncated   int // alerts the sender left out
	group       texts
	common      texts
	notes       texts // annotations all alerts share
	alerts      []one
}

// one is an alert of a group.
type one struct {
	firing      bool
	labels      texts
	notes       texts // its annotations
	starts      time.Time
	fingerprint string
	links       []link
}

// link is an address with the word for it.
type link struct{ text, href string }

// wire is a notification as it is written: that of Alertmanager, to which
// Grafana adds members and takes none away.
type wire struct {
	GroupKey    string            `json:"groupKey"`
	Status      string            `json:"status"`
	Receiver    string            `json:"receiver"`
	ExternalURL string            `json:"externalURL"`
	Truncated   int               `json:"truncatedAlerts"`
	Group       texts             `json:"groupLabels"`
	Common      texts             `json:"commonLabels"`
	Notes       texts             `json:"commonAnnotations"`
	Alerts      []json.RawMessage `json:"alerts"`      // of wireAlert: counted before they are read
	RuleID      json.RawMessage   `json:"ruleId"`      // Grafana before version 9
	EvalMatches json.RawMessage   `json:"evalMatches"` // the same
}

type wireAlert struct {
	Status       string `json:"status"`
	Labels       texts  `json:"labels"`
	Notes        texts  `json:"annotations"`
	StartsAt     string `json:"startsAt"`
	Fingerprint  string `json:"fingerprint"`
	GeneratorURL string `json:"generatorURL"`
	DashboardURL string `json:"dashboardURL"`
	PanelURL     string `json:"panelURL"`
	SilenceURL   string `json:"silenceURL"`
}

// texts are labels or annotations. Values that are no texts are taken as they
// are written: a template easily forgets the quotes around a number.
type texts map[string]string

// UnmarshalJSON implements json.Unmarshaler; it takes anything.
func (t *texts) UnmarshalJSON(b []byte) error {
	var raw map[string]json.RawMessage
	if json.Unmarshal(b, &raw) != nil {
		return nil
	}
	*t = make(texts, len(raw))
	for name, value := range raw {
		var text string
		switch {
		case string(value) == "null":
			continue
		case json.Unmarshal(value, &text) != nil:
			text = string(value)
		}
		(*t)[name] = text
	}
	return nil
}

// maxAlerts bounds the alerts of a notification: real ones have some hundred bytes,
// and empty ones would take 200 times their size in memory.
const maxAlerts = 10_000

// Decode reads a notification. What it refuses is no JSON, or no notification
// in a form that it knows.
func Decode(body []byte) (Notification, error) {
	var w wire
	err := json.Unmarshal(bytes.TrimPrefix(body, []byte("\ufeff")), &w)
	// A member of the wrong type is left out and the rest is read all the same.
	if _, mistyped := errors.AsType[*json.UnmarshalTypeError](err); err != nil && !mistyped {
		return Notification{}, &fieldmark.Error{Code: fieldmark.CodeMalformedJSON, Detail: "the notification is not valid JSON"}
	}
	if len(w.Alerts) > maxAlerts {
		return Notification{}, fieldmark.Errorf(fieldmark.CodeBodyTooLarge, "a notification has at most %d alerts: set max_alerts of the receiver", maxAlerts)
	}
	if len(w.Alerts) == 0 && (w.EvalMatches != nil || w.RuleID != nil) {
		return Notification{}, unfit("/alerts", "this is the format of Grafana before version 9: change the contact point to Grafana's unified alerting")
	}
	if len(w.Alerts) == 0 && w.Status == "" {
		return Notification{}, unfit("/alerts", "must be the alerts of a notification by Alertmanager (version 4) or Grafana (version 1)")
	}
	n := Notification{
		groupKey: w.GroupKey, status: w.Status, receiver: w.Receiver, externalURL: w.ExternalURL, truncated: max(w.Truncated, 0),
		group: w.Group, common: w.Common, notes: w.Notes,
	}
	for _, raw := range w.Alerts {
		var a wireAlert
		_ = json.Unmarshal(raw, &a) // valid JSON; a member of the wrong type is left out
		n.alerts = append(n.alerts, a.read())
	}
	if len(n.alerts) == 0 { // a template that left them out; what they share is told above
		n.alerts = []one{{firing: firing(w.Status), labels: w.Common, notes: w.Notes}}
	}
	return n, nil
}

func unfit(pointer, detail string) error {
	return &fieldmark.Error{Code: fieldmark.CodeValidationFailed, Detail: detail,
		Fields: []fieldmark.FieldError{{Pointer: pointer, Code: "required", Detail: detail}}}
}

// firing takes every word but those for the end as a call for help.
func firing(status string) bool {
	return !slices.Contains([]string{"resolved", "ok", "inactive", "recovered"}, strings.ToLower(strings.TrimSpace(status)))
}

func (a *wireAlert) read() one {
	starts, err := time.Parse(time.RFC3339Nano, a.StartsAt)
	if err != nil || starts.Year() <= 1 { // Go's zero time is sent for none
		starts = time.Time{}
	}
	return one{
		firing: firing(a.Status), labels: a.Labels, notes: a.Notes, starts: starts, fingerprint: a.Fingerprint,
		links: []link{{"source", a.GeneratorURL}, {"runbook", a.Notes["runbook_url"]}, {"dashboard", a.DashboardURL},
			{"panel", a.PanelURL}, {"silence", a.SilenceURL}},
	}
}

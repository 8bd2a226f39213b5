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

// Notification is a message of an alerting tool about a group of alerts.
type Notification struct {
	groupKey    string
	status      string
	receiver    string
	externalURL string
	truncated   int // number of alerts that the sender omitted
	group       textMap
	common      textMap
	annotations textMap // annotations common to all alerts
	alerts      []alertData
}

// alertData is one alert of a group.
type alertData struct {
	firing      bool
	labels      textMap
	annotations textMap // its annotations
	starts      time.Time
	fingerprint string
	links       []link
}

// link is an address with its text.
type link struct{ text, href string }

// wireNotification is the JSON of a notification by Alertmanager, to which Grafana
// adds members.
// Members that are not listed are ignored: each version of the tools adds some.
type wireNotification struct {
	GroupKey    string            `json:"groupKey"`
	Status      string            `json:"status"`
	Receiver    string            `json:"receiver"`
	ExternalURL string            `json:"externalURL"`
	Truncated   int               `json:"truncatedAlerts"`
	Group       textMap           `json:"groupLabels"`
	Common      textMap           `json:"commonLabels"`
	Annotations textMap           `json:"commonAnnotations"`
	Alerts      []json.RawMessage `json:"alerts"`      // of wireAlert; counted before they are decoded
	RuleID      json.RawMessage   `json:"ruleId"`      // Grafana before version 9
	EvalMatches json.RawMessage   `json:"evalMatches"` // Grafana before version 9
}

type wireAlert struct {
	Status       string  `json:"status"`
	Labels       textMap `json:"labels"`
	Annotations  textMap `json:"annotations"`
	StartsAt     string  `json:"startsAt"`
	Fingerprint  string  `json:"fingerprint"`
	GeneratorURL string  `json:"generatorURL"`
	DashboardURL string  `json:"dashboardURL"`
	PanelURL     string  `json:"panelURL"`
	SilenceURL   string  `json:"silenceURL"`
}

// textMap holds labels or annotations. Values of other types are kept in their JSON
// form, because templates often omit the quotes around a number.
type textMap map[string]string

// UnmarshalJSON implements json.Unmarshaler. It accepts any value.
// An alert with an odd label must still become a mission.
func (t *textMap) UnmarshalJSON(b []byte) error {
	var raw map[string]json.RawMessage
	if json.Unmarshal(b, &raw) != nil {
		return nil
	}
	*t = make(textMap, len(raw))
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

// maxAlerts limits the alerts of a notification. Real ones have a few hundred bytes
// each; empty ones would take 200 times their size in memory.
const maxAlerts = 10_000

// Decode decodes a notification. It returns an error for invalid JSON and for unknown formats:
// ignoring those would silently lose every alert. Members of a wrong type are ignored, because that
// loses a label at most.
func Decode(body []byte) (Notification, error) {
	var w wireNotification
	err := json.Unmarshal(bytes.TrimPrefix(body, []byte("\ufeff")), &w)
	// Members of the wrong type are ignored.
	if _, mistyped := errors.AsType[*json.UnmarshalTypeError](err); err != nil && !mistyped {
		return Notification{}, &fieldmark.Error{Code: fieldmark.CodeMalformedJSON,
			Detail: "the notification is not valid JSON"}
	}
	if len(w.Alerts) > maxAlerts {
		return Notification{}, fieldmark.Errorf(fieldmark.CodeBodyTooLarge,
			"a notification has at most %d alerts: set max_alerts of the receiver", maxAlerts)
	}
	if len(w.Alerts) == 0 && (w.EvalMatches != nil || w.RuleID != nil) {
		return Notification{}, validationError("/alerts",
			"this is the format of Grafana before version 9: change the contact point to Grafana's unified alerting")
	}
	if len(w.Alerts) == 0 && w.Status == "" {
		return Notification{}, validationError("/alerts",
			"must be the alerts of a notification by Alertmanager (version 4) or Grafana (version 1)")
	}
	n := Notification{
		groupKey: w.GroupKey, status: w.Status, receiver: w.Receiver, externalURL: w.ExternalURL,
		truncated: max(w.Truncated, 0),
		group:     w.Group, common: w.Common, annotations: w.Annotations,
	}
	for _, raw := range w.Alerts {
		var a wireAlert
		_ = json.Unmarshal(raw, &a) // valid JSON; members of the wrong type are ignored
		n.alerts = append(n.alerts, a.decode())
	}
	if len(n.alerts) == 0 { // a template without alerts; only common fields are known
		n.alerts = []alertData{{firing: firing(w.Status), labels: w.Common, annotations: w.Annotations}}
	}
	return n, nil
}

// validationError returns an error about a member of the notification.
func validationError(pointer, detail string) error {
	return &fieldmark.Error{Code: fieldmark.CodeValidationFailed, Detail: detail,
		Fields: []fieldmark.FieldError{{Pointer: pointer, Code: "required", Detail: detail}}}
}

// firing treats every status except those for the end as firing, so that no alert
// is lost.
func firing(status string) bool {
	return !slices.Contains([]string{"resolved", "ok", "inactive", "recovered"},
		strings.ToLower(strings.TrimSpace(status)))
}

// decode converts an alert. A missing or invalid start gives the zero time.
func (a *wireAlert) decode() alertData {
	starts, err := time.Parse(time.RFC3339Nano, a.StartsAt)
	if err != nil || starts.Year() <= 1 { // senders use Go's zero time for none
		starts = time.Time{}
	}
	return alertData{
		firing: firing(a.Status), labels: a.Labels, annotations: a.Annotations, starts: starts,
		fingerprint: a.Fingerprint,
		links: []link{{"source", a.GeneratorURL}, {"runbook", a.Annotations["runbook_url"]},
			{"dashboard", a.DashboardURL},
			{"panel", a.PanelURL}, {"silence", a.SilenceURL}},
	}
}

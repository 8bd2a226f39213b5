package api

import (
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/alert"
	"github.com/fieldmark/fieldmark/origin/mission"
)

const (
	// maxAlerts bounds the notifications that wait for the database. Others get 503: alerting tools retry a
	// 5xx, but drop a notification after a 429 or after their own timeout.
	maxAlerts = 32
	// Long enough for the notifications in progress to be written.
	alertRetry = 2 * time.Second
)

// alertAPI receives notifications of alerting tools.
type alertAPI struct {
	missions *mission.Service
	slots    chan struct{} // semaphore of the notifications in progress, maxAlerts
}

// alertParams are the query parameters that say how alerts become missions.
var alertParams = []param{
	{name: "mode", description: "Create a mission for each group (default) or for each alert",
		enum: []string{"group", "alert"}},
	{name: "source", description: "The source of the missions; the default is alertmanager or grafana"},
	{name: "priority", description: "The priority of alerts without a severity; the default is MEDIUM",
		enum: fieldmark.PriorityNames()},
	{name: "cooldown", description: "How long an alert that fires again belongs to the mission that was closed for " +
		"it, such as 15m (default), at most 24h. An alert that fires longer creates a new mission"},
	{name: "onResolved",
		description: "What to do with a NEW mission whose alert is resolved: keep (default) or cancel. " +
			"If the alert fires again, a canceled mission is followed by a new one at once",
		enum: []string{"keep", "cancel"}},
	{name: "watchdog", description: "What to do with alerts that always fire (severity none, Watchdog): " +
		"ignore them (default) or open missions", enum: []string{"ignore", "open"}},
}

// sourceName matches the source of a mission.
// It is the pattern of the member source in the API.
var sourceName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 ._:/-]{0,63}$`)

// receive turns a notification of an alerting tool into missions. The media type is not checked,
// because custom templates are often sent as text.
// source is that of the missions unless the request names another one.
func (a *alertAPI) receive(source string) func(*call) error {
	return func(c *call) error {
		o, err := c.alertOptions(source)
		if err != nil {
			return err
		}
		// Compressed bodies are refused as everywhere: a small one could unpack to gigabytes.
		if encoding := c.r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
			return fieldmark.Errorf(fieldmark.CodeUnsupportedMediaType, "send the body without Content-Encoding")
		}
		body, err := c.readBody()
		if err != nil {
			return err
		}
		// Both tools send the same form; Decode knows the differences.
		n, err := alert.Decode(body)
		if err != nil {
			return err
		}
		// A full queue is answered at once, so that the tool repeats the notification before
		// its own timeout.
		select {
		case a.slots <- struct{}{}:
			defer func() { <-a.slots }()
		default:
			return &fieldmark.Error{Code: fieldmark.CodeOverloaded, RetryAfter: alertRetry,
				Detail: "too many notifications at once; send this one again"}
		}
		report, err := a.missions.ReceiveAlerts(c.r.Context(), c.key.Account, n, o)
		if fieldmark.IsCode(err, fieldmark.CodeDailyLimit) { // senders drop an alert after 429
			return &fieldmark.Error{Code: fieldmark.CodeOverloaded, RetryAfter: alertRetry,
				Detail: "the account has created as many missions as its offer allows a day", Err: err}
		}
		if err != nil {
			return err
		}
		return c.send(http.StatusOK, report)
	}
}

// alertOptions reads the query parameters. The values of enumerations were checked already.
// They are in the address, because alerting tools send bodies of a fixed form.
func (c *call) alertOptions(source string) (mission.AlertOptions, error) {
	is := func(name, value string) bool { return strings.EqualFold(c.params.text(name), value) }
	o := mission.AlertOptions{Cooldown: mission.DefaultCooldown, CancelResolved: is("onResolved", "cancel")}
	// Watchdogs fire to prove that alerting works. As missions they would send a technician for nothing.
	o.Source, o.PerAlert, o.WatchdogAlerts = source, is("mode", "alert"), is("watchdog", "open")
	o.Priority, _ = fieldmark.ParsePriority(c.params.text("priority"))
	if name := c.params.text("source"); name != "" {
		if o.Source = name; !sourceName.MatchString(name) {
			return o, paramError("source", "pattern",
				"must have 1 to 64 letters, digits, spaces and . _ : / - and start with a letter or digit")
		}
	}
	if c.params.text("cooldown") == "" {
		return o, nil
	}
	var err error
	o.Cooldown, err = c.params.duration("cooldown", mission.MaxCooldown)
	return o, err
}

// routes turn the notifications of alerting tools into missions. Grafana contact points send POST
// or PUT.
func (a *alertAPI) routes() []*route {
	const path = fieldmark.PathAlerts
	create := key(fieldmark.ScopeMissionCreate)
	alertmanager := handleRaw[map[string]any, fieldmark.AlertReport](a.receive("alertmanager"))
	grafana := handleRaw[map[string]any, fieldmark.AlertReport](a.receive("grafana"))
	return []*route{
		{"POST", path + "alertmanager", create, alertmanager, operation{
			id: "takeAlertmanager", query: alertParams, bodyLimit: fieldmark.MaxAlertBody,
			summary: "Receive an Alertmanager notification (version 4); overload is 503, never 429"}},
		{"POST", path + "grafana", create, grafana, operation{
			id: "takeGrafana", query: alertParams, bodyLimit: fieldmark.MaxAlertBody,
			summary: "Receive a Grafana notification (version 1); overload is 503, never 429"}},
		{"PUT", path + "grafana", create, grafana, operation{
			id: "putGrafana", query: alertParams, bodyLimit: fieldmark.MaxAlertBody,
			summary: "Receive a Grafana notification from a contact point that uses PUT"}},
	}
}

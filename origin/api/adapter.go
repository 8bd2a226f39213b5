package api

import (
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/alert"
)

const (
	// maxAlertsAtOnce bounds the notifications that wait for the record. One more
	// is told to come back: to these senders a 5xx is worth a repeat, while what
	// is slow runs into their own time-out, and what is 429 is lost.
	maxAlertsAtOnce = 32
	alertRetry      = 2 * time.Second
)

// alertOptions say how alerts become missions.
var alertOptions = []param{
	{name: "mode", does: "A mission for each group (default) or for each alert", enum: []string{"group", "alert"}},
	{name: "source", does: "The missions' source; alertmanager or grafana if left out"},
	{name: "priority", does: "Of alerts without a severity; MEDIUM if left out", enum: fieldmark.PriorityNames()},
	{name: "cooldown", does: "How long an alert that fires again is merged into the mission that people ended, such as 15m (default); at most 24h. If it still fires then, another mission is opened"},
	{name: "onResolved", does: "What to do with a NEW mission whose alert is resolved: keep (default) or cancel; if the alert fires again, a canceled one is followed by another at once", enum: []string{"keep", "cancel"}},
	{name: "watchdog", does: "What to do with alerts that always fire (severity none, Watchdog): ignore (default) or open", enum: []string{"ignore", "open"}},
}

// sourceName is what a mission's source may be.
var sourceName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 ._:/-]{0,63}$`)

// takeAlerts makes missions of what an alerting tool sends. The media type is
// not looked at: what templates send is often called text.
func (s *server) takeAlerts(source string) func(*call) error {
	return func(c *call) error {
		o, err := c.alertOptions(source)
		if err != nil {
			return err
		}
		if encoding := c.r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
			return fieldmark.Errorf(fieldmark.CodeUnsupportedMediaType, "send the body without Content-Encoding")
		}
		body, err := c.readBody()
		if err != nil {
			return err
		}
		n, err := alert.Decode(body)
		if err != nil {
			return err
		}
		select {
		case s.alerts <- struct{}{}:
			defer func() { <-s.alerts }()
		default:
			return &fieldmark.Error{Code: fieldmark.CodeOverloaded, Detail: "too many notifications at once; this one was not taken", RetryAfter: alertRetry}
		}
		report, err := s.origin.TakeAlerts(c.r.Context(), c.key.Account, n, o)
		if err != nil {
			return err
		}
		return c.send(http.StatusOK, report)
	}
}

// alertOptions reads the parameters, whose enumerations were held to already.
func (c *call) alertOptions(source string) (origin.AlertOptions, error) {
	is := func(name, value string) bool { return strings.EqualFold(c.asked.text(name), value) }
	o := origin.AlertOptions{Cooldown: origin.DefaultCooldown, CancelResolved: is("onResolved", "cancel")}
	o.Source, o.PerAlert, o.DeadMan = source, is("mode", "alert"), is("watchdog", "open")
	o.Priority, _ = fieldmark.ParsePriority(c.asked.text("priority"))
	var bad complaints
	if asked := c.asked.text("source"); asked != "" {
		if o.Source = asked; !sourceName.MatchString(asked) {
			bad.add("?source", "pattern", "must have 1 to 64 letters, digits and . _ : / - or spaces, a letter or digit first")
		}
	}
	if err := bad.err(fieldmark.CodeInvalidParameter); err != nil {
		return o, err
	}
	if c.asked.text("cooldown") == "" {
		return o, nil
	}
	var err error
	o.Cooldown, err = c.asked.wait("cooldown", origin.MaxCooldown)
	return o, err
}

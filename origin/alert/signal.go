package alert

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/fieldmark/fieldmark"
)

// Options configure how the alerts of a sender become missions.
type Options struct {
	Source         string             // of the missions
	PerAlert       bool               // one mission per alert; otherwise one per group
	Priority       fieldmark.Priority // used if no label gives one; "" means MEDIUM
	WatchdogAlerts bool               // include alerts that always fire to show that alerting works
}

// Signal is one alert or group that fires or is resolved.
type Signal struct {
	Key     string // identifies the group or alert at its sender
	Firing  bool
	Starts  time.Time                // of the earliest alert; zero if unknown
	Request fieldmark.MissionRequest // the mission for the signal, within all limits; without ExternalID
}

// ExternalID returns the external id of the mission for the signal. attempt
// distinguishes several missions for one outage, starting at 1.
// The start is part of it, so that a repeated notification finds its mission, and an alert that
// fires again next week gets a new one.
func (s *Signal) ExternalID(attempt int) string {
	id := s.Key + "-"
	if s.Starts.IsZero() {
		id += "0"
	} else {
		id += strconv.FormatInt(s.Starts.Unix(), 10)
	}
	if attempt > 1 {
		id += "-" + strconv.Itoa(attempt)
	}
	return id
}

// Alerts returns the number of alerts in a notification.
func (n *Notification) Alerts() int { return len(n.alerts) }

// Signals returns the signals of a notification, and how many watchdog alerts were
// ignored.
func (n *Notification) Signals(o Options) (signals []Signal, ignored int) {
	var kept []alertData
	for _, a := range n.alerts {
		if !o.WatchdogAlerts && isWatchdog(a.labels) {
			ignored++
			continue
		}
		kept = append(kept, a)
	}
	if len(kept) == 0 {
		return nil, ignored
	}
	if !o.PerAlert {
		return []Signal{n.signal(o, n.key(), kept, n.common)}, ignored
	}
	for _, a := range kept {
		signals = append(signals, n.signal(o, a.key(), []alertData{a}, a.labels))
	}
	return signals, ignored
}

// isWatchdog recognises the alert that always fires to show that alerting works.
// It fires at all times by design (Prometheus operator, "Watchdog"), and would be a mission
// without end.
func isWatchdog(labels textMap) bool {
	return labels["alertname"] == "Watchdog" || strings.EqualFold(labels["severity"], "none")
}

// keyLength is the length of a hashed key: 128 bits in hexadecimal.
const keyLength = 32

// key identifies the group. It is a hash, because group keys contain matchers and
// labels of any length.
// The group key is stable over restarts of Alertmanager.
func (n *Notification) key() string {
	if n.groupKey != "" {
		return hashKey(n.groupKey)
	}
	if len(n.group) > 0 {
		return hashKey(n.group.format())
	}
	return hashKey(n.common.format())
}

// maxFingerprint limits a fingerprint used unchanged; senders use 16 characters.
const maxFingerprint = 64

// key identifies the alert at its sender: its fingerprint or, without one, the hash
// of its labels.
// A fingerprint that is not plain is hashed: it becomes part of an id.
func (a *alertData) key() string {
	plain := func(c rune) bool {
		return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	if a.fingerprint != "" && len(a.fingerprint) <= maxFingerprint && strings.TrimFunc(a.fingerprint, plain) == "" {
		return a.fingerprint
	}
	if a.fingerprint != "" {
		return hashKey(a.fingerprint)
	}
	return hashKey(a.labels.format())
}

func hashKey(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])[:keyLength]
}

// format returns the labels in a fixed order, except those in but.
func (t textMap) format(but ...string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(t)) {
		if !slices.Contains(but, name) {
			parts = append(parts, name+"="+t[name])
		}
	}
	return strings.Join(parts, ", ")
}

// signal returns the signal for alerts, of which there must be at least one.
// Annotations of the group come before those of an alert, as in the templates of the tools.
func (n *Notification) signal(o Options, key string, alerts []alertData, labels textMap) Signal {
	s := Signal{Key: key}
	lead := alerts[0] // the first that fires, if any does
	for _, a := range alerts {
		if a.firing && !s.Firing {
			s.Firing, lead = true, a
		}
		if !a.starts.IsZero() && (s.Starts.IsZero() || a.starts.Before(s.Starts)) {
			s.Starts = a.starts
		}
	}
	annotation := func(names ...string) string { return first(names, n.annotations, lead.annotations) }
	title := annotation("summary", "title")
	if title == "" {
		title = n.name(lead)
	}
	links, others := n.links(alerts)
	s.Request = fieldmark.MissionRequest{
		Source: o.Source, Title: oneLine(title, maxTitle), Priority: priority(alerts, o.Priority),
		Location: location(lead, annotation), Links: links, Labels: limitLabels(labels),
	}
	if fieldmark.IsBlank(s.Request.Title) {
		s.Request.Title = "Alert"
	}
	s.Request.Description = n.describe(annotation("description", "message"), alerts, others)
	return s
}

// first returns the first of names in the first place that has any of them.
func first(names []string, places ...textMap) string {
	for _, place := range places {
		for _, name := range names {
			if text := strings.TrimSpace(place[name]); text != "" {
				return text
			}
		}
	}
	return ""
}

// name returns a title for alerts without a summary.
func (n *Notification) name(a alertData) string {
	title := a.labels["alertname"]
	if title == "" {
		title = n.common["alertname"]
	}
	if rest := n.group.format("alertname"); rest != "" {
		title += " (" + rest + ")"
	}
	return strings.TrimSpace(title)
}

// severities maps the names that tools use for severities.
// The words are those of Prometheus, Grafana, Zabbix and Nagios.
var severities = map[string]fieldmark.Priority{
	"critical": fieldmark.PriorityCritical, "page": fieldmark.PriorityCritical, "emergency": fieldmark.PriorityCritical,
	"disaster": fieldmark.PriorityCritical,
	"error":    fieldmark.PriorityHigh, "major": fieldmark.PriorityHigh, "high": fieldmark.PriorityHigh,
	"warning": fieldmark.PriorityMedium, "average": fieldmark.PriorityMedium, "minor": fieldmark.PriorityMedium,
	"info": fieldmark.PriorityLow, "low": fieldmark.PriorityLow, "none": fieldmark.PriorityLow,
}

// priority returns the highest priority of the firing alerts, or else of all
// alerts.
// A resolved critical alert must not raise the priority of what still fires.
func priority(alerts []alertData, preset fieldmark.Priority) fieldmark.Priority {
	var highest fieldmark.Priority
	for _, onlyFiring := range []bool{true, false} {
		for _, a := range alerts {
			if p := severityOf(a.labels); (a.firing || !onlyFiring) && p.Above(highest) {
				highest = p
			}
		}
		if highest != "" {
			return highest
		}
	}
	if preset != "" {
		return preset
	}
	return fieldmark.PriorityMedium
}

// severityOf returns the priority that the labels of an alert give, or "".
func severityOf(labels textMap) fieldmark.Priority {
	for _, label := range []string{"severity", "priority"} {
		word := strings.ToLower(strings.TrimSpace(labels[label]))
		if p, ok := severities[word]; ok {
			return p
		}
		if p, ok := fieldmark.ParsePriority(word); ok && word != "" {
			return p
		}
	}
	return ""
}

// The limits of a mission's fields, in code points.
const (
	maxTitle       = 200
	maxDescription = 10_000
	maxPlace       = 200
	maxListed      = 20 // alerts listed with a line of their own
	maxLine        = 400
	maxLinks       = 10
	maxHref        = 2048
	maxOthers      = 10 // addresses listed in the text because they are not https
)

// describe returns the description: the text of the alert, and a line for each
// alert.
func (n *Notification) describe(text string, alerts []alertData, others []link) string {
	var b strings.Builder
	if text != "" {
		b.WriteString(multiLine(text) + "\n\n")
	}
	for i, a := range alerts {
		if i == maxListed {
			break
		}
		state := "resolved"
		if a.firing {
			state = "firing"
		}
		line := "- " + state + ": " + a.labels["alertname"]
		if rest := a.labels.format("alertname", "severity"); rest != "" {
			line += " (" + rest + ")"
		}
		if summary := first([]string{"summary", "title"}, a.annotations); summary != "" {
			line += ": " + summary
		}
		if !a.starts.IsZero() {
			line = oneLine(line, maxLine) + ", since " + a.starts.UTC().Format(time.RFC3339)
		}
		b.WriteString(oneLine(line, 2*maxLine) + "\n")
	}
	if more := len(alerts) - maxListed; more > 0 || n.truncated > 0 {
		fmt.Fprintf(&b, "- and %d more\n", max(more, 0)+n.truncated)
	}
	for _, l := range others {
		b.WriteString(l.text + ": " + l.href + "\n")
	}
	return truncate(strings.TrimSpace(b.String()), maxDescription)
}

// links returns the addresses of alerts: https ones as links of the mission, and
// http ones, which are common in internal networks.
// Addresses with a user name are dropped: they may hold a password.
func (n *Notification) links(alerts []alertData) (links []fieldmark.Link, others []link) {
	seen := map[string]bool{}
	add := func(l link) {
		href := strings.TrimSpace(l.href)
		if seen[href] || utf8.RuneCountInString(href) > maxHref || strings.ContainsFunc(href,
			func(c rune) bool { return c <= ' ' || c >= 0x7f }) {
			return
		}
		seen[href] = true
		u, err := url.Parse(href)
		if err != nil || u.Host == "" || u.User != nil {
			return
		}
		switch {
		case u.Scheme == "https" && len(links) < maxLinks:
			links = append(links, fieldmark.Link{Href: href, Text: l.text})
		case u.Scheme == "http" && len(others) < maxOthers:
			others = append(others, link{l.text, href})
		}
	}
	add(link{"runbook", n.annotations["runbook_url"]})
	for i, a := range alerts {
		if i == maxListed {
			break
		}
		for _, l := range a.links {
			add(l)
		}
	}
	add(link{"alerts", n.externalURL})
	return links, others
}

// location returns the location in the labels or annotations of an alert.
// Labels come before annotations, because templates can change only the latter.
func location(a alertData, annotation func(...string) string) *fieldmark.Location {
	at := func(name string) string { return first([]string{name}, a.labels, textMap{name: annotation(name)}) }
	var l fieldmark.Location
	if l.Name = oneLine(at("site"), maxPlace); l.Name == "" {
		l.Name = oneLine(at("location"), maxPlace)
	}
	if line := oneLine(at("address"), maxPlace); line != "" {
		l.Address = &fieldmark.Address{Line1: line}
	}
	lat, errLat := strconv.ParseFloat(at("lat"), 64)
	lng, errLng := strconv.ParseFloat(at("lng"), 64)
	if errLat == nil && errLng == nil && lat >= -90 && lat <= 90 && lng >= -180 && lng <= 180 {
		l.Geo = &fieldmark.Geo{Lat: lat, Lng: lng}
	}
	if l.Name == "" && l.Address == nil && l.Geo == nil {
		return nil
	}
	return &l
}

// limitLabels returns labels within the limits of a mission.
// The first by name are kept, so that equal notifications give equal missions.
func limitLabels(labels textMap) map[string]string {
	if len(labels) == 0 {
		return nil
	}
	out := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if len(out) == fieldmark.MaxLabels {
			break
		}
		if short := oneLine(name, fieldmark.MaxLabelKey); short != "" {
			out[short] = truncate(multiLine(labels[name]), fieldmark.MaxLabelValue)
		}
	}
	return out
}

// oneLine returns a text on one line, without control and invisible characters.
func oneLine(text string, longest int) string {
	text = strings.Map(func(c rune) rune {
		switch {
		case unicode.IsControl(c), c == '\u2028', c == '\u2029':
			return ' '
		case fieldmark.IsHidden(c):
			return -1
		}
		return c
	}, text)
	return truncate(strings.Join(strings.Fields(text), " "), longest)
}

// multiLine removes control characters except line breaks and tabs.
func multiLine(text string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) && c != '\n' && c != '\t' {
			return -1
		}
		return c
	}, text)
}

// truncate shortens a text to a number of code points, with an ellipsis.
func truncate(text string, longest int) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	if utf8.RuneCountInString(text) <= longest {
		return text
	}
	runes := []rune(text)
	return string(runes[:longest-1]) + "…"
}

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

// Options say how a sender wants its alerts taken.
type Options struct {
	Source   string             // of the missions
	PerAlert bool               // a mission for each alert; otherwise one for the group
	Priority fieldmark.Priority // where no label says it; "" means MEDIUM
	DeadMan  bool               // take the alerts that always fire, which are ignored otherwise
}

// Signal is one thing that fires, or that fires no more.
type Signal struct {
	Key     string // names the group or the alert at its sender
	Firing  bool
	Starts  time.Time                // of the earliest alert; zero: not said
	Request fieldmark.MissionRequest // what its mission would say, within every bound; without ExternalID
}

// ExternalID names the mission that is opened for the signal; attempt tells
// those apart that one outage came to, and begins at 1.
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

// Alerts counts the alerts of a notification.
func (n *Notification) Alerts() int { return len(n.alerts) }

// Signals returns what a notification comes to, and how many of its alerts are
// of the kind that always fires and were left out.
func (n *Notification) Signals(o Options) (signals []Signal, ignored int) {
	var kept []one
	for _, a := range n.alerts {
		if !o.DeadMan && deadMan(a.labels) {
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
		signals = append(signals, n.signal(o, a.key(), []one{a}, a.labels))
	}
	return signals, ignored
}

// deadMan recognises the alert that shows by firing that alerting works.
func deadMan(labels texts) bool {
	return labels["alertname"] == "Watchdog" || strings.EqualFold(labels["severity"], "none")
}

// keyLength is the characters of a key made by hashing: 128 bits.
const keyLength = 32

// key names the group. Group keys hold matchers and labels of any length.
func (n *Notification) key() string {
	if n.groupKey != "" {
		return hashed(n.groupKey)
	}
	if len(n.group) > 0 {
		return hashed(n.group.line())
	}
	return hashed(n.common.line())
}

// maxFingerprint bounds a fingerprint that is taken as it is; senders use 16.
const maxFingerprint = 64

func (a *one) key() string {
	plain := func(c rune) bool {
		return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	if a.fingerprint != "" && len(a.fingerprint) <= maxFingerprint && strings.TrimFunc(a.fingerprint, plain) == "" {
		return a.fingerprint
	}
	if a.fingerprint != "" {
		return hashed(a.fingerprint)
	}
	return hashed(a.labels.line())
}

func hashed(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])[:keyLength]
}

// line writes labels in an order of their own.
func (t texts) line(but ...string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(t)) {
		if !slices.Contains(but, name) {
			parts = append(parts, name+"="+t[name])
		}
	}
	return strings.Join(parts, ", ")
}

// signal makes one of alerts, of which there is one at least.
func (n *Notification) signal(o Options, key string, alerts []one, labels texts) Signal {
	s := Signal{Key: key}
	lead := alerts[0] // of those that fire, if any does
	for _, a := range alerts {
		if a.firing && !s.Firing {
			s.Firing, lead = true, a
		}
		if !a.starts.IsZero() && (s.Starts.IsZero() || a.starts.Before(s.Starts)) {
			s.Starts = a.starts
		}
	}
	said := func(names ...string) string { return first(names, n.notes, lead.notes) }
	title := said("summary", "title")
	if title == "" {
		title = n.name(lead)
	}
	links, others := n.links(alerts)
	s.Request = fieldmark.MissionRequest{
		Source: o.Source, Title: oneLine(title, maxTitle), Priority: priority(alerts, o.Priority),
		Location: location(lead, said), Links: links, Labels: bounded(labels),
	}
	if fieldmark.IsBlank(s.Request.Title) {
		s.Request.Title = "Alert"
	}
	s.Request.Description = n.describe(said("description", "message"), alerts, others)
	return s
}

// first returns the first of names that any of the places has, place by place.
func first(names []string, places ...texts) string {
	for _, place := range places {
		for _, name := range names {
			if text := strings.TrimSpace(place[name]); text != "" {
				return text
			}
		}
	}
	return ""
}

// name is a title for alerts that have no summary.
func (n *Notification) name(a one) string {
	title := a.labels["alertname"]
	if title == "" {
		title = n.common["alertname"]
	}
	if rest := n.group.line("alertname"); rest != "" {
		title += " (" + rest + ")"
	}
	return strings.TrimSpace(title)
}

// severities is what tools call a severity.
var severities = map[string]fieldmark.Priority{
	"critical": fieldmark.PriorityCritical, "page": fieldmark.PriorityCritical, "emergency": fieldmark.PriorityCritical, "disaster": fieldmark.PriorityCritical,
	"error": fieldmark.PriorityHigh, "major": fieldmark.PriorityHigh, "high": fieldmark.PriorityHigh,
	"warning": fieldmark.PriorityMedium, "average": fieldmark.PriorityMedium, "minor": fieldmark.PriorityMedium,
	"info": fieldmark.PriorityLow, "low": fieldmark.PriorityLow, "none": fieldmark.PriorityLow,
}

// priority is the highest that a firing alert claims, or else that any does.
func priority(alerts []one, preset fieldmark.Priority) fieldmark.Priority {
	var highest fieldmark.Priority
	for _, onlyFiring := range []bool{true, false} {
		for _, a := range alerts {
			if p := severity(a.labels); (a.firing || !onlyFiring) && p.Above(highest) {
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

func severity(labels texts) fieldmark.Priority {
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

// The bounds of a mission's parts, in code points.
const (
	maxTitle       = 200
	maxDescription = 10_000
	maxPlace       = 200
	maxListed      = 20 // alerts that get a line of their own
	maxLine        = 400
	maxLinks       = 10
	maxHref        = 2048
	maxOthers      = 10 // addresses that become lines because they are not https
)

// describe writes what is known, and then a line for each alert.
func (n *Notification) describe(said string, alerts []one, others []link) string {
	var b strings.Builder
	if said != "" {
		b.WriteString(block(said) + "\n\n")
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
		if rest := a.labels.line("alertname", "severity"); rest != "" {
			line += " (" + rest + ")"
		}
		if summary := first([]string{"summary", "title"}, a.notes); summary != "" {
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
	return cut(strings.TrimSpace(b.String()), maxDescription)
}

// links returns the addresses of alerts, those that a mission can have as links
// and the plain http ones that are common inside of networks.
func (n *Notification) links(alerts []one) (links []fieldmark.Link, others []link) {
	seen := map[string]bool{}
	add := func(l link) {
		href := strings.TrimSpace(l.href)
		if seen[href] || utf8.RuneCountInString(href) > maxHref || strings.ContainsFunc(href, func(c rune) bool { return c <= ' ' || c >= 0x7f }) {
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
	add(link{"runbook", n.notes["runbook_url"]})
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

// location is where an alert says it is.
func location(a one, said func(...string) string) *fieldmark.Location {
	at := func(name string) string { return first([]string{name}, a.labels, texts{name: said(name)}) }
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

// bounded brings labels within the bounds of a mission's.
func bounded(labels texts) map[string]string {
	if len(labels) == 0 {
		return nil
	}
	out := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if len(out) == fieldmark.MaxLabels {
			break
		}
		if short := oneLine(name, fieldmark.MaxLabelKey); short != "" {
			out[short] = cut(block(labels[name]), fieldmark.MaxLabelValue)
		}
	}
	return out
}

// oneLine puts a text on a line without control and invisible characters.
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
	return cut(strings.Join(strings.Fields(text), " "), longest)
}

// block keeps a text's lines and drops other control characters.
func block(text string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) && c != '\n' && c != '\t' {
			return -1
		}
		return c
	}, text)
}

// cut shortens a text to a number of code points and shows that it did.
func cut(text string, longest int) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	if utf8.RuneCountInString(text) <= longest {
		return text
	}
	runes := []rune(text)
	return string(runes[:longest-1]) + "…"
}

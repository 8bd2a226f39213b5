package site

import (
	"fmt"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/ui"
)

// StatusPage is the data of the status page of a node.
type StatusPage struct {
	BaseURL     string // scheme and host of the site, without a slash at the end
	Node        string // its name among others
	InStep      bool   // whether it receives events from the origin
	Event       int64  // the newest event it has applied
	Now         fieldmark.Time
	Ranked      int // brands
	Pending     int
	Unreachable int
	AsOf        *fieldmark.Time // of the newest audit ranked
	Snapshot    string          // of the ranking; empty before the first
	Methodology fieldmark.Methodology
	Module      fieldmark.ModuleRef

	Service *fieldmark.ServiceStatus // nil where it cannot be had just now

	Certificates []CertificateStatus // the soonest to expire first
}

// CertificateStatus is the TLS certificate of a name.
type CertificateStatus struct {
	Name     string
	Issued   bool
	DaysLeft int
	Expires  fieldmark.Time
}

// statusView is what templates/status.html shows.
type statusView struct {
	Head   head
	Page   *StatusPage
	Late   bool // webhooks are delivered late
	Uptime *uptimeView
}

// maxDelay is the delay of webhooks in seconds that the page calls late: dispatching takes
// a few.
const maxDelay = 60

func newStatusView(c chrome, p *StatusPage) *statusView {
	v := &statusView{Page: p, Uptime: newUptimeView(p), Head: fixedHead(c, p.BaseURL, PathStatus, "Status",
		"Whether Fieldmark works now, what is affected, and every outage of the last 90 days.")}
	v.Head.Index = false
	v.Late = p.Service != nil && p.Service.DeliveryDelay > maxDelay
	return v
}

// DelayMinutes is how long the oldest webhook delivery has waited.
func (p *StatusPage) DelayMinutes() int { return int(p.Service.DeliveryDelay / 60) }

// The record of outages as a picture: a bar for each day.
const (
	uptimeDays = int(fieldmark.OutageWindow / (24 * time.Hour))
	dayStep    = 10 // of the width of the picture
	dayWidth   = 7
)

// uptimeView is the record of the last 90 days.
type uptimeView struct {
	Since   fieldmark.Time // of the record
	Days    []uptimeDay    // the oldest first, the last is today
	Width   int
	Text    string // the picture in words
	Outages []outageView
}

// uptimeDay is the bar of a day in UTC.
type uptimeDay struct {
	X    int
	Tone string // class: none, up, part or down
	Text string
}

type outageView struct {
	fieldmark.Outage
	Length string
}

// newUptimeView returns nil without a record.
func newUptimeView(p *StatusPage) *uptimeView {
	if p.Service == nil || p.Service.Since.IsZero() {
		return nil
	}
	now, since := p.Now.Std(), p.Service.Since.Std()
	today := now.Truncate(24 * time.Hour)
	begin := today.AddDate(0, 0, 1-uptimeDays)
	v := &uptimeView{Since: fieldmark.At(since), Width: uptimeDays*dayStep - (dayStep - dayWidth)}
	if since.Before(begin) {
		since = begin
	}
	v.Since = fieldmark.At(since)
	var recorded, down time.Duration
	for i := range uptimeDays {
		from := begin.AddDate(0, 0, i)
		to := from.AddDate(0, 0, 1)
		day := uptimeDay{X: i * dayStep, Tone: "none", Text: dayOf(fieldmark.At(from)) + ": no record"}
		if part := overlap(from, to, since, now); part > 0 {
			out := time.Duration(0)
			for _, o := range p.Service.Outages {
				out += min(part, overlap(from, to, o.Began.Std(), o.Ended.Std()))
			}
			recorded, down = recorded+part, down+out
			day.Tone, day.Text = "up", dayOf(fieldmark.At(from))+": no outage"
			if out > 0 {
				day.Tone, day.Text = "part", dayOf(fieldmark.At(from))+": "+lengthOf(out)+" of outages"
			}
			if 2*out > part {
				day.Tone = "down"
			}
		}
		v.Days = append(v.Days, day)
	}
	for _, o := range p.Service.Outages {
		if o.Ended.Std().After(since) {
			v.Outages = append(v.Outages, outageView{o, lengthOf(o.Ended.Std().Sub(o.Began.Std()))})
		}
	}
	v.Text = fmt.Sprintf("Available %s of the time since %s.", percentUp(recorded, down), dayOf(v.Since))
	return v
}

// overlap returns how long two periods are at once.
func overlap(from, to, began, ended time.Time) time.Duration {
	if began.After(from) {
		from = began
	}
	if ended.Before(to) {
		to = ended
	}
	return max(to.Sub(from), 0)
}

// percentUp writes the share of a time without outages, rounded down: 100 % has none.
func percentUp(recorded, down time.Duration) string {
	if recorded <= 0 || down == 0 {
		return "100%"
	}
	hundredths := (recorded - down).Milliseconds() * 10_000 / max(recorded.Milliseconds(), 1)
	return fmt.Sprintf("%d.%02d%%", hundredths/100, hundredths%100)
}

// lengthOf writes a time in the two largest units it has, to the minute.
func lengthOf(d time.Duration) string {
	minutes := max(int(d.Round(time.Minute)/time.Minute), 1)
	var parts []string
	for _, unit := range []struct {
		minutes int
		one     string
	}{{24 * 60, "day"}, {60, "hour"}, {1, "minute"}} {
		if n := minutes / unit.minutes; n > 0 && len(parts) < 2 {
			parts = append(parts, ui.Count(n, unit.one, unit.one+"s"))
			minutes %= unit.minutes
		}
	}
	return strings.Join(parts, " ")
}

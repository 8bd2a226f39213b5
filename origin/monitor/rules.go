package monitor

import (
	"context"
	"fmt"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/ui"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/webhook"
)

// The checks that find the issues of an installation.

// The pages of the admin console that issues link to: each is where the problem is solved.
const (
	webhooksPage     = fieldmark.PathAdmin + "/webhooks"
	missionsPage     = fieldmark.PathAdmin + "/missions"
	brandsPage       = fieldmark.PathAdmin + "/brands"
	keysPage         = fieldmark.PathAdmin + "/api-keys"
	certificatesPage = fieldmark.PathAdmin + "/certificates"
	modulesPage      = fieldmark.PathAdmin + "/modules"
	nodesPage        = fieldmark.PathAdmin + "/nodes"
	cdnsPage         = fieldmark.PathAdmin + "/cdns"
)

// Effect, Action and Link are set by the caller: they are what a person on call needs beside
// the title. issue returns an issue.
func issue(code fieldmark.IssueCode, severity fieldmark.IssueSeverity, since time.Time, title string) fieldmark.Issue {
	return fieldmark.Issue{Code: code, Severity: severity, Since: fieldmark.At(since), Title: title}
}

// endpoints returns issues of webhook endpoints, and of the messages that wait for them.
func (s *Service) endpoints(ctx context.Context, _ time.Time) (list []fieldmark.Issue, err error) {
	unhealthy, err := s.cfg.Webhooks.Stats.Unhealthy(ctx)
	if err != nil {
		return nil, err
	}
	// since is when the endpoint changed to its state, or began to fail; the creation if
	// neither is known.
	held, waiting, oldest := 0, 0, time.Time{}
	for i := range unhealthy {
		e := &unhealthy[i]
		since := e.CreatedAt.Std()
		if e.StateAt != nil {
			since = e.StateAt.Std()
		}
		if e.State == fieldmark.EndpointEnabled && e.FailingSince != nil {
			since = e.FailingSince.Std()
		}
		if e.Held > 0 {
			held, waiting = held+e.Held, waiting+1
			if oldest.IsZero() || since.Before(oldest) {
				oldest = since
			}
		}
		// Its held messages still count below: a pause that is left on loses them at the end of their
		// retention.
		if e.State != fieldmark.EndpointPaused { // a person paused it
			list = append(list, endpointIssue(e, since))
		}
	}
	if held > 0 {
		i := issue(fieldmark.IssueMessagesHeld, fieldmark.SeverityWarning, oldest,
			counted(held, webhook.MaxHeld, "message is", "messages are")+" held for "+
				ui.Count(waiting, "endpoint", "endpoints"))
		i.Effect = "Receivers do not learn of changes until then. Held messages are deleted at the end of their " +
			"retention."
		i.Action, i.Link = "Repair or enable the endpoints", webhooksPage
		list = append(list, i)
	}
	return list, nil
}

// endpointIssue returns the issue of one endpoint. The severities differ: retries may still
// succeed, but a disabled endpoint needs a person.
func endpointIssue(e *webhook.Unhealthy, since time.Time) fieldmark.Issue {
	i := issue(fieldmark.IssueEndpointFailing, fieldmark.SeverityWarning, since, "Webhook endpoint "+e.URL)
	i.Subject, i.Link = e.ID, webhooksPage+"/"+e.ID
	switch {
	case e.State == fieldmark.EndpointDisabled:
		i.Code, i.Severity = fieldmark.IssueEndpointDisabled, fieldmark.SeverityCritical
		i.Title += " was disabled: " + e.Verdict
		i.Effect = "No messages are sent; they are held."
		i.Action = "Repair the receiver, then enable the endpoint"
	case e.Circuit == fieldmark.CircuitOpen:
		i.Code, i.Severity = fieldmark.IssueCircuitOpen, fieldmark.SeverityCritical
		i.Title += ": " + e.Verdict
		i.Effect = "Messages are held without using up their attempts. " + disabledAt(since)
		i.Action = "Repair the receiver, then send a test message"
	default:
		i.Title += ": " + e.Verdict
		i.Effect = "Messages are retried. " + disabledAt(since)
		i.Action = "View failed attempts"
	}
	return i
}

// disabledAt returns when a failing endpoint is disabled, in UTC, because readers of the list may
// be in any zone.
func disabledAt(since time.Time) string {
	return "The endpoint is disabled on " + since.Add(webhook.DisableAfter).UTC().Format("2 January") +
		" if nothing changes."
}

// The maximum bounds what is counted in the database; above it the exact number changes no
// decision. counted is count of a number that was counted up to a maximum.
func counted(n, most int, one, many string) string {
	if n >= most {
		many = "or more " + many
	}
	return ui.Count(n, one, many)
}

// Work that is due is late from these delays on. Normal dispatch takes seconds; an audit may
// wait for others, but not while none runs.
const (
	lateDelivery = time.Minute
	lateTimer    = time.Minute
	lateAudit    = 10 * time.Minute
)

// overdue returns issues of queues that are not worked off.
// It reads only the time of the oldest due row of each queue.
func (s *Service) overdue(ctx context.Context, now time.Time) (list []fieldmark.Issue, err error) {
	due, err := s.cfg.Store.Overdue(ctx, now)
	if err != nil {
		return nil, err
	}
	late := func(at time.Time, by time.Duration) bool { return !at.IsZero() && now.Sub(at) > by }
	if late(due.Deliveries, lateDelivery) {
		i := issue(fieldmark.IssueDeliveriesDelayed, fieldmark.SeverityWarning, due.Deliveries,
			"Webhook messages are late by "+words(now.Sub(due.Deliveries)))
		i.Effect = "The queue grows faster than it is sent, or an endpoint has a rate limit."
		i.Action, i.Link = "Look at the deliveries; add an origin if all endpoints are late", webhooksPage
		list = append(list, i)
	}
	if late(due.Timers, lateTimer) {
		i := issue(fieldmark.IssueTimersDelayed, fieldmark.SeverityWarning, due.Timers,
			"SLA timers are late by "+words(now.Sub(due.Timers)))
		i.Effect = "Breaches and risks are reported late."
		i.Action = "Look for errors in the log of the origins, and at the load of the database"
		list = append(list, i)
	}
	// A full queue with running audits is only long, not stuck.
	if late(due.Audits, lateAudit) && due.Auditing == 0 {
		i := issue(fieldmark.IssueAuditsStuck, fieldmark.SeverityWarning, due.Audits,
			"No audit runs, and the oldest has waited for "+words(now.Sub(due.Audits)))
		i.Effect = "Scores stay as they are, and new brands have none."
		i.Action, i.Link = "Look for errors of audits in the log of the origins", brandsPage
		list = append(list, i)
	}
	return list, nil
}

// words writes a duration with one unit.
// One unit is enough to judge urgency: the exact time is in Since.
func words(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return ui.Count(int(d/time.Second), "second", "seconds")
	case d < 2*time.Hour:
		return ui.Count(int(d/time.Minute), "minute", "minutes")
	case d < 48*time.Hour:
		return ui.Count(int(d/time.Hour), "hour", "hours")
	}
	return ui.Count(int(d/(24*time.Hour)), "day", "days")
}

// slas returns issues of missions whose SLA is breached or at risk.
// The counts stop at store.MaxOpenSLAs, so the check costs the same with a million missions.
func (s *Service) slas(ctx context.Context, _ time.Time) (list []fieldmark.Issue, err error) {
	open, err := s.cfg.Store.OpenSLAs(ctx)
	if err != nil {
		return nil, err
	}
	if n := open.Breached; n > 0 {
		i := issue(fieldmark.IssueSLABreached, fieldmark.SeverityCritical, open.BreachedSince,
			counted(n, store.MaxOpenSLAs, "open mission has breached its SLA",
				"open missions have breached their SLA"))
		i.Effect = "The agreed time has passed, and the work is not done."
		i.Action, i.Link = "Dispatch or complete the missions", missionsPage
		list = append(list, i)
	}
	if n := open.AtRisk; n > 0 {
		i := issue(fieldmark.IssueSLAAtRisk, fieldmark.SeverityWarning, open.AtRiskSince,
			"The SLA of "+counted(n, store.MaxOpenSLAs, "open mission is at risk", "open missions is at risk"))
		i.Effect = "It will be breached soon."
		i.Action, i.Link = "Dispatch or complete the missions", missionsPage
		list = append(list, i)
	}
	return list, nil
}

// The lead of a warning that something expires: a shorter life has a lead of a third of it.
const (
	expiryLead     = 14 * 24 * time.Hour
	expiryCritical = 3 * 24 * time.Hour
	expiredFor     = 24 * time.Hour // how long an expired key is listed
)

// expiry returns how urgent it is that something expires; warn is false before it is.
// It is critical in the last three days, or in the last sixth of a short life, so certificates
// of six days do not warn from their first hour on.
func expiry(begun, ends, now time.Time) (severity fieldmark.IssueSeverity, since time.Time, warn bool) {
	lead := min(expiryLead, ends.Sub(begun)/3)
	severity = fieldmark.SeverityWarning
	if ends.Sub(now) < min(expiryCritical, lead/2) {
		severity = fieldmark.SeverityCritical
	}
	return severity, ends.Add(-lead), now.After(ends.Add(-lead))
}

// keys returns issues of API keys that expire.
// Twice maxPerCode are read, because those whose lead has not begun are left out.
func (s *Service) keys(ctx context.Context, now time.Time) (list []fieldmark.Issue, err error) {
	keys, err := s.cfg.Store.EndingKeys(ctx, now.Add(-expiredFor), now.Add(expiryLead), 2*maxPerCode)
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		severity, since, warn := expiry(k.CreatedAt.Std(), k.ExpiresAt.Std(), now)
		if !warn {
			continue
		}
		i := issue(fieldmark.IssueKeyExpiring, severity, since, fmt.Sprintf("API key %s of %s expires in %s", k.Name,
			k.Account, words(k.ExpiresAt.Std().Sub(now))))
		i.Effect = "Requests with it get 401 afterwards."
		// A key that expired within a day stays listed: its client fails right now.
		if !k.ExpiresAt.Std().After(now) {
			i.Title = fmt.Sprintf("API key %s of %s has expired", k.Name, k.Account)
			i.Effect = "Requests with it get 401."
		}
		i.Subject, i.Action, i.Link = k.ID, "Rotate the key, or revoke it if it is not used", keysPage
		list = append(list, i)
	}
	return list, nil
}

// certificates returns issues of TLS certificates of the origin.
func (s *Service) certificates(ctx context.Context, now time.Time) (list []fieldmark.Issue, err error) {
	all, err := s.cfg.Certificates.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range all.Data {
		if c.NotAfter != nil {
			// A certificate that is renewed in time is never this close to its end.
			if severity, since, warn := expiry(c.NotBefore.Std(), c.NotAfter.Std(), now); warn &&
				(c.RenewAt == nil || c.Failures > 0 || now.Sub(c.RenewAt.Std()) > lateRenewal) {
				list = append(list, certificateIssue(c.Name, certificatesPage, severity, since, c.NotAfter.Std(), now))
				continue
			}
		}
		// An order may fail while the certificate is still good for weeks: this is a warning of
		// its cause.
		if c.Failures > 0 {
			i := issue(fieldmark.IssueCertificateFailing, fieldmark.SeverityWarning, now,
				"The certificate of "+c.Name+" cannot be ordered: "+c.LastError)
			if c.RenewAt != nil {
				i.Since = *c.RenewAt
			}
			i.Subject, i.Effect = c.Name, "The name keeps its certificate until that expires. Orders are repeated."
			i.Action, i.Link = "Correct what the CA reports, then renew", certificatesPage
			list = append(list, i)
		}
	}
	return list, nil
}

// lateRenewal is how long after its planned time a renewal is late: a CA may be down for hours.
const lateRenewal = 24 * time.Hour

// certificateIssue returns the issue of a certificate that ends soon; page is its page of the console, that of
// the origin or that of the edges.
func certificateIssue(name, page string, severity fieldmark.IssueSeverity, since, ends,
	now time.Time) fieldmark.Issue {
	i := issue(fieldmark.IssueCertificateExpiring, severity, since,
		"The TLS certificate of "+name+" expires in "+words(ends.Sub(now)))
	if ends.Before(now) {
		i.Title = "The TLS certificate of " + name + " has expired"
	}
	i.Subject, i.Effect = name, "Browsers and API clients refuse the connection afterwards."
	i.Action, i.Link = "Renew or replace the certificate", page
	return i
}

// backup returns the issue of a database without a recent backup. A new database needs none
// until its age is that of an outdated backup.
func (s *Service) backup(ctx context.Context, now time.Time) ([]fieldmark.Issue, error) {
	at, created, err := s.cfg.Store.LastBackup(ctx)
	if err != nil || s.cfg.BackupAge < 0 {
		return nil, err
	}
	// Without any backup the age of the database counts, so a new installation gets time to set
	// one up.
	last := at
	if last.IsZero() {
		last = created
	}
	if last.IsZero() || now.Sub(last) <= s.cfg.BackupAge {
		return nil, nil
	}
	i := issue(fieldmark.IssueBackupOutdated, fieldmark.SeverityWarning, last.Add(s.cfg.BackupAge),
		"The last backup is "+words(now.Sub(last))+" old")
	if at.IsZero() {
		i.Title = "The database has never been backed up"
	}
	i.Effect = "What was written since is lost if the disk fails."
	i.Action = "Run fieldmark backup FILE, or fieldmark db record-backup after a backup with another tool"
	return []fieldmark.Issue{i}, nil
}

package monitor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/ui"
)

const (
	// unseenAfter is the age of the last report from which an edge counts as not reporting: two
	// intervals, and the time that a busy machine needs.
	unseenAfter = 2*fieldmark.ReportInterval + 2*time.Second
	// settling is the time in which an edge applies events and switches modules. It takes
	// less than a second, and is reported at the next interval.
	settling = 10 * time.Second
	// starting is the time in which an edge loads its module and its ranking.
	starting = 30 * time.Second
	// maxLagging limits the edges whose lag is read: the most distant ones.
	maxLagging = maxPerCode
)

// edges returns issues of edges and of the scoring module.
func (s *Service) edges(ctx context.Context, now time.Time) (list []fieldmark.Issue, err error) {
	status, err := s.cfg.Modules.Status(ctx)
	if fieldmark.IsCode(err, fieldmark.CodeNotFound) {
		i := issue(fieldmark.IssueModuleMissing, fieldmark.SeverityCritical, s.started, "No scoring module is active")
		i.Effect = "No brand has a score, and badges get 503."
		i.Action, i.Link = "Activate a module", modulesPage
		list, err = append(list, i), nil
	}
	if err != nil {
		return nil, err
	}
	// Edges that have not reported lately are left out of the other checks: their module, Redis
	// and cursor are those of the past.
	known, err := s.cfg.Modules.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	var live []fieldmark.NodeReport
	for _, n := range known {
		if now.Sub(n.SeenAt.Std()) <= unseenAfter {
			live = append(live, n)
		}
	}
	for _, n := range known {
		if now.Sub(n.SeenAt.Std()) > unseenAfter && now.Sub(s.started) > unseenAfter {
			i := edgeIssue(fieldmark.IssueEdgeUnseen, fieldmark.SeverityCritical, n.SeenAt.Std(), n, "does not report")
			// The origin has no data to decide which: a report is all it has of an edge.
			i.Effect = "It has stopped or cannot reach the origin. Other edges serve its clients if a load balancer " +
				"sends them there."
			i.Action = "Start the edge, or remove it from the list"
			list = append(list, i)
		}
	}
	list = append(list, redisIssues(live)...)
	for _, n := range live {
		if n.CertificateEnds == nil {
			continue
		}
		// The edge does not report the begin: 90 days are the usual life.
		ends := n.CertificateEnds.Std()
		if severity, since, warn := expiry(ends.AddDate(0, 0, -90), ends, now); warn {
			list = append(list, certificateIssue(n.CertificateName+" at edge "+nameOf(n), nodesPage, severity, since,
				ends, now))
		}
	}
	more, err := s.behind(ctx, now, live, status.Plan)
	return append(list, more...), err
}

// nameOf returns what operators call an edge: its configured name, else its address, else its
// id.
func nameOf(n fieldmark.NodeReport) string { return cmp.Or(n.Name, n.Address, n.Node) }

// edgeIssue returns an issue of one edge, whose id is the subject: the name may be shared.
func edgeIssue(code fieldmark.IssueCode, severity fieldmark.IssueSeverity, since time.Time, n fieldmark.NodeReport,
	what string) fieldmark.Issue {
	i := issue(code, severity, since, "Edge "+nameOf(n)+" "+what)
	i.Subject, i.Link = n.Node, nodesPage
	return i
}

// redisIssues returns one issue for all edges that Redis does not answer: they share it.
func redisIssues(live []fieldmark.NodeReport) []fieldmark.Issue {
	affected, since := 0, time.Time{}
	for _, n := range live {
		if n.RedisDownSince == nil {
			continue
		}
		if affected++; since.IsZero() || n.RedisDownSince.Std().Before(since) {
			since = n.RedisDownSince.Std()
		}
	}
	if affected == 0 {
		return nil
	}
	i := issue(fieldmark.IssueRedisUnavailable, fieldmark.SeverityWarning, since,
		fmt.Sprintf("Redis does not answer %d of %s", affected, ui.Count(len(live), "edge", "edges")))
	i.Effect = "Edges use their own memory and send more requests to the origin. Shared rate limits count per edge."
	i.Action, i.Link = "Start Redis, or correct FIELDMARK_REDIS_URL of the edges", nodesPage
	return []fieldmark.Issue{i}
}

// behind returns issues of edges that do not apply events or use another module.
func (s *Service) behind(ctx context.Context, now time.Time, live []fieldmark.NodeReport,
	plan fieldmark.ModulePlan) (list []fieldmark.Issue, err error) {
	activated, err := s.cfg.Store.ActivatedAt(ctx)
	if err != nil {
		return nil, err
	}
	// An edge that started just now loads its module and ranking; comparing it would raise
	// false alarms at each rollout.
	live = slices.DeleteFunc(live, func(n fieldmark.NodeReport) bool {
		return now.Sub(n.StartedAt.Std()) < starting
	})
	for _, n := range live {
		if plan.Digest == "" || n.Module.Digest == plan.Digest || n.SeenAt.Std().Sub(activated) < settling {
			continue
		}
		since := activated
		if n.StartedAt.Std().After(since) {
			since = n.StartedAt.Std()
		}
		i := edgeIssue(fieldmark.IssueModuleMismatch, fieldmark.SeverityWarning, since, n,
			"does not use the active module")
		i.Effect = "Its scores differ from those of other edges."
		if n.Error != "" {
			i.Effect += " It reports: " + n.Error
		}
		i.Action, i.Link = "Look at the module, or roll it back", modulesPage+"/"+string(plan.Digest)
		list = append(list, i)
	}
	head, err := s.cfg.Store.Head(ctx)
	if err != nil {
		return nil, err
	}
	// The edges that are furthest behind come first, so the bound keeps the worst.
	slices.SortFunc(live, func(a, b fieldmark.NodeReport) int { return cmp.Compare(a.Cursor, b.Cursor) })
	for _, n := range live[:min(len(live), maxLagging)] {
		if n.Cursor >= head {
			break
		}
		at, err := s.cfg.Store.EventTime(ctx, n.Cursor)
		if err != nil {
			return nil, err
		}
		if at.IsZero() || n.SeenAt.Std().Sub(at) < settling {
			continue
		}
		i := edgeIssue(fieldmark.IssueEdgeLagging, fieldmark.SeverityCritical, at, n,
			"is behind by "+ui.Count(int(head-n.Cursor), "event", "events"))
		i.Effect = "It serves scores and pages that are outdated."
		i.Action = "Look at its log and load; restart it if it does not catch up"
		list = append(list, i)
	}
	return list, nil
}

const (
	// lateCDN is how long purges of a CDN fail until that is an issue: shorter outages are repeated
	// before a reader notices.
	lateCDN = 10 * time.Second
	// emptiedFor is how long an issue reports that everything was purged from a CDN: a day's traffic is
	// unusual for long enough that its cause is looked for.
	emptiedFor = 24 * time.Hour
)

// cdns returns issues of CDNs in front of the edges.
func (s *Service) cdns(ctx context.Context, now time.Time) (list []fieldmark.Issue, err error) {
	all, err := s.cfg.CDNs.List(ctx)
	if err != nil {
		return nil, err
	}
	for i := range all {
		c := &all[i]
		if since := c.FailingSince; since != nil && c.State == fieldmark.CDNRefused {
			list = append(list, cdnIssue(c, fieldmark.IssueCDNRefused, fieldmark.SeverityCritical, *since,
				" is not purged: "+c.LastError,
				"Changes are visible there only when a lifetime ends. Nothing more is sent.",
				"Replace the token, or test the CDN again"))
		} else if since != nil && now.Sub(since.Std()) > lateCDN {
			list = append(list, cdnIssue(c, fieldmark.IssueCDNFailing, fieldmark.SeverityWarning, *since,
				" cannot be purged: "+c.LastError, "Changes are visible there late. Purges are repeated each second.",
				"Look at the CDN and at the network between it and the origins"))
		}
		if p := c.Probe; p != nil && p.State == fieldmark.CDNFailed && c.State == fieldmark.CDNActive {
			list = append(list, cdnIssue(c, fieldmark.IssueCDNUnverified, fieldmark.SeverityWarning, p.Since,
				" may serve outdated badges: "+p.Error,
				"Edges state the short lifetime to all CDNs. What lies there from before stays for its lifetime.",
				"Look at the CDN, then purge everything from it"))
		}
		if at := c.EmptiedAt; at != nil && now.Sub(at.Std()) < emptiedFor {
			list = append(list, emptiedIssue(c, *at))
		}
	}
	return list, nil
}

func emptiedIssue(c *fieldmark.CDN, at fieldmark.Time) fieldmark.Issue {
	const action = "Nothing if the database was restored; else look at --keep-events. This is listed for a day"
	if c.Kind.ByAddress() {
		return cdnIssue(c, fieldmark.IssueCDNEmptied, fieldmark.SeverityWarning, at,
			" could not be purged of everything: "+c.EmptiedFor,
			"Responses from before are served there until their lifetime ends, mostly within five minutes.", action)
	}
	return cdnIssue(c, fieldmark.IssueCDNEmptied, fieldmark.SeverityWarning, at,
		" was purged of everything: "+c.EmptiedFor, "Edges get more requests until it is full again.", action)
}

func cdnIssue(c *fieldmark.CDN, code fieldmark.IssueCode, severity fieldmark.IssueSeverity, since fieldmark.Time,
	what, effect, action string) fieldmark.Issue {
	i := issue(code, severity, since.Std(), "The CDN "+c.Name+what)
	i.Subject, i.Effect, i.Action = c.Name, effect, action
	if code != fieldmark.IssueCDNEmptied { // nothing is left to do on the page
		i.Link = cdnsPage
	}
	return i
}

package admin

import (
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/acme"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/module"
	"github.com/fieldmark/fieldmark/origin/web"
)

// nodeHandler serves the page of edges.
type nodeHandler struct {
	*console
	events  *event.Log      // the latest event, to show how far an edge is behind
	modules *module.Service // the reports of edges
}

// nodeAway is the age of a report from which an edge is shown as away; it reports every few
// seconds.
const nodeAway = 3 * fieldmark.ReportInterval

// nodeRow is the latest report of an edge.
type nodeRow struct {
	fieldmark.NodeReport
	Lag    int64  // events it has not applied
	Ratio  string // of cache hits
	InSync bool   // it uses the active module
	Away   bool   // it has not reported for a while
}

type nodesData struct {
	Head  int64
	Nodes []nodeRow
}

func newNodeRows(nodes []fieldmark.NodeReport, active fieldmark.Digest, head int64) (lines []nodeRow) {
	for _, r := range nodes {
		line := nodeRow{NodeReport: r, Lag: max(head-r.Cursor, 0), InSync: r.Module.Digest == active,
			Away: time.Since(r.SeenAt.Std()) > nodeAway}
		if all := r.Hits + r.Misses; all > 0 {
			line.Ratio = strconv.FormatFloat(100*float64(r.Hits)/float64(all), 'f', 1, 64) + " %"
		}
		lines = append(lines, line)
	}
	return lines
}

// list lists the edges that have reported in the last day.
func (h *nodeHandler) list(req *request) error {
	ctx := req.r.Context()
	head, err := h.events.Head(ctx)
	if err != nil {
		return err
	}
	plan, err := h.modules.Plan(ctx)
	if err != nil && !fieldmark.IsCode(err, fieldmark.CodeNotFound) {
		return err
	}
	nodes, err := h.modules.Nodes(ctx)
	if err != nil {
		return err
	}
	d := nodesData{Head: head, Nodes: newNodeRows(nodes, plan.Digest, head)}
	return h.show(req, http.StatusOK, "nodes", web.Page{Title: "Nodes", Data: d})
}

// remove removes an edge that does not come back.
func (h *nodeHandler) remove(req *request) error {
	if err := h.modules.RemoveNode(req.r.Context(), req.r.PathValue("id")); err != nil {
		return err
	}
	h.audit(req, "node.removed", req.r.PathValue("id"))
	return req.redirectWithNotice(nodesPath, "node")
}

// certificateHandler serves the page of TLS certificates.
type certificateHandler struct {
	*console
	certificates *acme.Service
}

// certificateRow is the TLS certificate of a name.
type certificateRow struct {
	fieldmark.Certificate
	DaysLeft    int
	State       string // as people read it
	StateClass  string
	Renewable   bool // it is ordered here, not imported
	RateLimited bool
}

type certificatesData struct {
	Certificates                                    []certificateRow
	OrdersHour, OrdersDay, MaxOrdersHour, MaxOrders int
}

// Days of life below which a certificate is shown as a problem: renewals have failed for a
// while by then. Certificates of six days have less than a fifth of their life left.
const expiresSoonDays = 10

// list lists the TLS certificates.
func (h *certificateHandler) list(req *request) error {
	list, err := h.certificates.List(req.r.Context())
	if err != nil {
		return err
	}
	d := certificatesData{OrdersHour: list.OrdersHour, OrdersDay: list.OrdersDay,
		MaxOrdersHour: fieldmark.MaxCertificateOrdersHour, MaxOrders: fieldmark.MaxCertificateOrdersDay}
	for _, c := range list.Data {
		d.Certificates = append(d.Certificates, newCertificateRow(c, time.Now()))
	}
	return h.show(req, http.StatusOK, "certificates", web.Page{Title: "TLS certificates", Data: d})
}

func newCertificateRow(c fieldmark.Certificate, now time.Time) certificateRow {
	row := certificateRow{Certificate: c, DaysLeft: c.DaysLeft(now), Renewable: c.Source == fieldmark.CertificateACME,
		RateLimited: c.RateLimitedUntil != nil}
	short := false
	if c.NotAfter != nil {
		life := fieldmark.DaysUntil(c.NotAfter.Std(), c.NotBefore.Std())
		short = row.DaysLeft < min(expiresSoonDays, life/5)
	}
	switch {
	case c.NotAfter != nil && now.After(c.NotAfter.Std()):
		row.State, row.StateClass = "expired", "bad"
	case row.RateLimited:
		row.State, row.StateClass = "rate limited", "bad"
	case c.Failures > 0:
		row.State, row.StateClass = "renewal fails", "bad"
	case short:
		row.State, row.StateClass = "expires soon", "bad"
	case c.Ordering:
		row.State, row.StateClass = "being ordered", ""
	case c.NotAfter == nil:
		row.State, row.StateClass = "waiting", ""
	default:
		row.State, row.StateClass = "valid", "good"
	}
	return row
}

// renew makes the renewal of a certificate due.
func (h *certificateHandler) renew(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	name := req.r.PathValue("name")
	if !web.Confirmed(req.r) {
		return h.ask(req, web.Question{Title: "Renew the certificate of " + name + "?", Button: "Renew certificate",
			Text: "A new certificate is ordered now. Its order counts against the limits of the CA.",
			Back: certificatesPath, Mild: true})
	}
	if _, err := h.certificates.Renew(req.r.Context(), name); err != nil {
		return err
	}
	h.audit(req, "certificate.renewal_requested", name)
	return req.redirectWithNotice(certificatesPath+"#certificate-"+url.PathEscape(name), "renewing")
}

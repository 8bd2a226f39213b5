package admin

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/acme"
	"github.com/fieldmark/fieldmark/origin/cdn"
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

// overdueAfter is the age of the last report from which an edge is shown as not reporting; it
// reports every few seconds.
const overdueAfter = 3 * fieldmark.ReportInterval

// nodeRow is the latest report of an edge.
type nodeRow struct {
	fieldmark.NodeReport
	Lag     int    // events it has not applied
	Ratio   string // of cache hits
	InSync  bool   // it uses the active module
	Overdue bool   // its last report is older than overdueAfter
}

type nodesData struct {
	Head  int64
	Nodes []nodeRow
}

// newNodeRows returns a row for each report.
func newNodeRows(nodes []fieldmark.NodeReport, active fieldmark.Digest, head int64) (lines []nodeRow) {
	for _, r := range nodes {
		// Its cursor can be ahead of a head that was read before the report.
		line := nodeRow{NodeReport: r, Lag: int(max(head-r.Cursor, 0)), InSync: r.Module.Digest == active,
			Overdue: time.Since(r.SeenAt.Std()) > overdueAfter}
		// An edge without requests has no ratio; 0 % would look like a fault.
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
	// Without an active module no edge is in sync, and the page still lists them.
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
	// Only the row of its last report is deleted, so no question comes first.
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

// newCertificateRow takes the time, so that all rows of a page are compared with one.
func newCertificateRow(c fieldmark.Certificate, now time.Time) certificateRow {
	row := certificateRow{Certificate: c, DaysLeft: c.DaysLeft(now), Renewable: c.Source == fieldmark.CertificateACME,
		RateLimited: c.RateLimitedUntil != nil}
	short := false
	if c.NotAfter != nil {
		life := fieldmark.DaysUntil(c.NotAfter.Std(), c.NotBefore.Std())
		// Relative to its life, because a certificate of six days always has less than expiresSoonDays left.
		short = row.DaysLeft < min(expiresSoonDays, life/5)
	}
	switch {
	// The worst state first: an expired certificate whose renewal fails is shown as expired.
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
	// Confirmed first, because its order counts against limits that other names need.
	if !web.Confirmed(req.r) {
		return h.confirm(req, web.Confirmation{
			Title: "Renew the certificate of " + name + "?", Button: "Renew certificate",
			Text: "A new certificate is ordered now. Its order counts against the limits of the CA.",
			Back: certificatesPath, Safe: true})
	}
	if _, err := h.certificates.Renew(req.r.Context(), name); err != nil {
		return err
	}
	h.audit(req, "certificate.renewal_requested", name)
	return req.redirectWithNotice(certificatesPath+"#certificate-"+url.PathEscape(name), "renewing")
}

// cdnHandler serves the page of the CDNs in front of the edges.
type cdnHandler struct {
	*console
	cdns *cdn.Service
}

// cdnKind is how the forms of a kind differ from those of a cache with addresses and a token.
type cdnKind struct {
	label string
	zone  string // label of the id at a CDN that is purged by its own API; empty for others
}

// cdnKinds describes kinds. One that is missing has its name as label, addresses and a token.
// A kind with a zone is purged by the API of its vendor, which needs the id and a token instead of addresses.
var cdnKinds = map[fieldmark.CDNKind]cdnKind{
	fieldmark.CDNVarnish:       {label: "Varnish with xkey"},
	fieldmark.CDNVarnishBan:    {label: "Varnish with bans"},
	fieldmark.CDNFastly:        {label: "Fastly", zone: "ID of the service"},
	fieldmark.CDNCloudflare:    {label: "Cloudflare", zone: "ID of the zone"},
	fieldmark.CDNTrafficServer: {label: "Apache Traffic Server"},
	fieldmark.CDNNginx:         {label: "nginx with cache purge"},
	fieldmark.CDNTemplate:      {label: "Another CDN"},
}

// cdnForm is a form for a CDN: one that exists, or a new one of a kind.
type cdnForm struct {
	web.Page // the errors and the values of the rejected form
	fieldmark.CDN
	ID string // begins the ids of the inputs
}

// Version is that of the settings in the form.
func (f cdnForm) Version() string { return cdn.Version(&f.CDN) }

// KindLabel names the kind for people.
func (f cdnForm) KindLabel() string { return cmp.Or(cdnKinds[f.Kind].label, string(f.Kind)) }

// ZoneLabel is the label of the id at a CDN with an API; empty for other kinds.
func (f cdnForm) ZoneLabel() string { return cdnKinds[f.Kind].zone }

// SecondsText is the lifetime of the CDN; empty: the usual one.
func (f cdnForm) SecondsText() string {
	if f.Seconds == 0 {
		return ""
	}
	return strconv.Itoa(f.Seconds)
}

// IsTemplate reports whether the form describes the request.
func (f cdnForm) IsTemplate() bool { return f.Kind == fieldmark.CDNTemplate }

// Plans are the choices of a kind whose rate depends on the plan.
func (f cdnForm) Plans() []string {
	if f.Kind != fieldmark.CDNCloudflare {
		return nil
	}
	return []string{"free", "pro", "business", "enterprise"}
}

// Methods are the choices of a template.
func (cdnForm) Methods() []string {
	return []string{http.MethodPost, http.MethodPut, http.MethodDelete, "PURGE"}
}

// Addresses returns the addresses as lines.
func (f cdnForm) Addresses() string { return strings.Join(f.URLs, "\n") }

// HeaderLines returns the header fields as in a request.
func (f cdnForm) HeaderLines() string {
	var lines []string
	// Sorted: the order of a map would change the text of an unchanged form.
	for _, name := range slices.Sorted(maps.Keys(f.Headers)) {
		lines = append(lines, name+": "+f.Headers[name])
	}
	return strings.Join(lines, "\n")
}

// Hosts returns where purges are sent: the hosts of the addresses, and the id at a CDN with an API.
func (f cdnForm) Hosts() string {
	var list []string
	if f.Zone != "" {
		list = append(list, f.Zone)
	}
	for _, address := range f.URLs {
		// Only the host: paths and queries may contain a secret.
		if u, err := url.Parse(address); err == nil {
			address = u.Host
		}
		list = append(list, address)
	}
	return strings.Join(list, ", ")
}

// cdnsData is the page of CDNs: those that exist, and a form for each kind of new ones.
type cdnsData struct {
	CDNs     []cdnForm
	New      []cdnForm
	Lifetime fieldmark.CDNLifetime // that edges state
}

func (h *cdnHandler) list(req *request) error { return h.showCDNs(req, http.StatusOK, nil) }

// showCDNs shows the page, after an error with the values of the form that was sent.
func (h *cdnHandler) showCDNs(req *request, status int, bad []web.FormError) error {
	all, err := h.cdns.List(req.r.Context())
	if err != nil {
		return err
	}
	// Every form of the page has the errors; the prefix selects the one that was sent.
	p := web.Page{Errors: bad, Prefix: req.formPrefix, Posted: req.r.PostForm}
	var d cdnsData
	// Shown because an operator sees by it whether the probes allow the long lifetime.
	if d.Lifetime, err = h.cdns.Lifetime(req.r.Context(), 0); err != nil {
		return err
	}
	for _, c := range all {
		d.CDNs = append(d.CDNs, cdnForm{p, c, cdnPrefix(c.Name)})
	}
	for _, k := range fieldmark.CDNKinds() {
		c := fieldmark.CDN{CDNSettings: fieldmark.CDNSettings{Kind: k}}
		d.New = append(d.New, cdnForm{p, c, newCDNPrefix(string(k))})
	}
	return h.show(req, status, "cdns", web.Page{Title: "CDNs", Errors: bad, Data: d})
}

// The prefixes of the forms on the page differ for every name and kind.
func cdnPrefix(name string) string    { return "cdn-" + name + "-" }
func newCDNPrefix(kind string) string { return "add-" + kind + "-" }

// find returns a CDN; the error has CodeNotFound if it does not exist.
func (h *cdnHandler) find(ctx context.Context, name string) (fieldmark.CDN, error) {
	all, err := h.cdns.List(ctx)
	if err != nil {
		return fieldmark.CDN{}, err
	}
	i := slices.IndexFunc(all, func(c fieldmark.CDN) bool { return c.Name == name })
	if i < 0 {
		return fieldmark.CDN{}, fieldmark.Errorf(fieldmark.CodeNotFound, "There is no such CDN.")
	}
	return all[i], nil
}

// put adds a CDN, or changes one. The form for a new one does not overwrite another.
func (h *cdnHandler) put(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	// Two forms send here; the one that changes a CDN has its name as a hidden input.
	name, version := strings.TrimSpace(req.r.PostForm.Get("name")), req.r.PostForm.Get("version")
	form := req.readForm(newCDNPrefix(req.r.PostForm.Get("kind")))
	if version != "" {
		form = req.readForm(cdnPrefix(name))
	}
	r := form.cdn()
	if len(form.errors) > 0 {
		return h.showCDNs(req, http.StatusUnprocessableEntity, form.errors)
	}
	_, err := h.cdns.PutAfter(req.r.Context(), &version, name, r)
	if fieldmark.IsCode(err, fieldmark.CodeVersionMismatch) {
		if version != "" {
			return h.showCDNs(req, http.StatusConflict, changedForm("The CDN"))
		}
		form.addError("name", "Name: another CDN has it. Change that CDN in the list, or choose another name.")
		return h.showCDNs(req, http.StatusConflict, form.errors)
	}
	if hasCode(err, fieldmark.CodeValidationFailed, fieldmark.CodeTooMany) {
		return h.showCDNs(req, http.StatusUnprocessableEntity, req.formErrors(err))
	}
	if err != nil {
		return err
	}
	h.audit(req, "cdn.updated", name)
	return req.redirectWithNotice(cdnsPath, "cdn")
}

// cdn returns the settings in a form. The inputs of other kinds are empty.
func (f *form) cdn() fieldmark.CDNRequest {
	// An empty token keeps the stored one, which the page never shows.
	r := fieldmark.CDNRequest{Token: strings.TrimSpace(f.posted.Get("token"))}
	r.Kind, r.URLs = fieldmark.CDNKind(f.posted.Get("kind")), strings.Fields(f.posted.Get("urls"))
	r.Zone, r.Plan = strings.TrimSpace(f.posted.Get("zone")), f.posted.Get("plan")
	r.Account, r.Public = strings.TrimSpace(f.posted.Get("account")), strings.TrimSpace(f.posted.Get("public"))
	r.Seconds = f.count("seconds", "Lifetime in seconds", fieldmark.MaxCDNSeconds)
	// Browsers send line ends of text areas as CRLF (HTML, section 4.10.22.6).
	r.Method, r.Body = f.posted.Get("method"), strings.ReplaceAll(f.posted.Get("body"), "\r\n", "\n")
	for line := range strings.Lines(f.posted.Get("headers")) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		field, value, ok := strings.Cut(line, ":")
		if !ok {
			f.addError("headers", "Header fields: enter one on each line, such as Content-Type: application/json.")
			break
		}
		if r.Headers == nil {
			r.Headers = map[string]string{}
		}
		r.Headers[strings.TrimSpace(field)] = strings.TrimSpace(value)
	}
	return r
}

// test sends a purge of a key that no response has.
func (h *cdnHandler) test(req *request) error {
	return h.try(req, h.cdns.Test, "cdn.tested", "cdn-test")
}

// purge purges everything from a CDN.
func (h *cdnHandler) purge(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	if !web.Confirmed(req.r) {
		c, err := h.find(req.r.Context(), req.r.PathValue("name"))
		if err != nil {
			return err
		}
		return h.confirm(req, web.Confirmation{Title: "Purge everything from the CDN " + c.Name + "?",
			Text: "Edges get more requests until it is full again.", Button: "Purge everything", Back: cdnsPath})
	}
	return h.try(req, h.cdns.Purge, "cdn.purged", "cdn-purge")
}

// try sends a purge and shows its result. The result is an entry of the audit log also if the CDN refused.
func (h *cdnHandler) try(req *request, send func(context.Context, string) (fieldmark.CDNResult, error),
	action, notice string) error {
	name := req.r.PathValue("name")
	result, err := send(req.r.Context(), name)
	// An unknown name is the page of an error, because there is no form to show it beside.
	if isClientError(err) && !hasCode(err, fieldmark.CodeNotFound) {
		return h.showCDNs(req, statusOf(err), req.formErrors(err))
	}
	if err != nil {
		return err
	}
	h.audit(req, action, name)
	// The CDN confirmed the purge, but a badge that it served differed from that of an edge.
	if result.OK && result.Probe != nil && result.Probe.Error != "" {
		text := "The CDN " + name + " accepts purges, but a probe failed: " + result.Probe.Error
		return h.showCDNs(req, http.StatusOK, web.ErrorOf(web.Sentence(text)))
	}
	if !result.OK {
		text := "The CDN " + name + " did not accept the purge: " + result.Error
		return h.showCDNs(req, http.StatusOK, web.ErrorOf(web.Sentence(text)))
	}
	return req.redirectWithNotice(cdnsPath, notice)
}

// remove ends the purges of a CDN.
func (h *cdnHandler) remove(req *request) error {
	if err := req.parseForm(); err != nil {
		return err
	}
	c, err := h.find(req.r.Context(), req.r.PathValue("name"))
	if err != nil {
		return err
	}
	if !web.Confirmed(req.r) {
		return h.confirm(req, web.Confirmation{Title: "Remove the CDN " + c.Name + "?", Button: "Remove CDN",
			Back: cdnsPath,
			Text: "It is no longer purged: changes are visible there only when a lifetime ends. Its token is deleted."})
	}
	if err := h.cdns.Delete(req.r.Context(), c.Name); err != nil {
		return err
	}
	h.audit(req, "cdn.deleted", c.Name)
	return req.redirectWithNotice(cdnsPath, "cdn-gone")
}

package admin

import (
	"embed"
	"html/template"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/ui"
	"github.com/fieldmark/fieldmark/origin/auditlog"
	"github.com/fieldmark/fieldmark/origin/brand"
	"github.com/fieldmark/fieldmark/origin/monitor"
	"github.com/fieldmark/fieldmark/origin/visibility"
	"github.com/fieldmark/fieldmark/origin/web"
)

//go:embed templates/*.html
var files embed.FS

// console is what every page needs: the templates, the log and the audit log. It does not change after New.
type console struct {
	templates *templates
	log       *slog.Logger
	auditLog  *auditlog.Log
	brands    *brand.Service // counts what waits, for the navigation
	studies   *visibility.Service
	monitor   *monitor.Service
}

// templates holds the parsed templates of the pages, and the assets.
type templates struct {
	pages  web.Templates
	style  *web.Asset
	script *web.Asset
	icon   *web.Asset
}

// notices are shown once after a form was processed, by their keys: see web.SetNotice.
var notices = map[string]string{
	"revoked":         "Key revoked. Requests with it are rejected from now on.",
	"completed":       "Mission completed.",
	"moved":           "Mission updated.",
	"planned":         "Plan saved.",
	"opened":          "Mission created.",
	"saved":           "Filter saved.",
	"unsaved":         "Filter deleted.",
	"edited":          "Mission saved.",
	"noted":           "Note added.",
	"redacted":        "Note redacted.",
	"attached":        "File added.",
	"detached":        "File removed.",
	"priced":          "Amount set.",
	"marked":          "Payment updated.",
	"refunded":        "Refund recorded.",
	"audit":           "Audit queued.",
	"reauth-required": "Confirm your identity, then submit the form again.",
	"account":         "Account saved.",
	"offer":           "Offer saved. Its limits apply to its accounts from now on.",
	"offer-gone":      "Offer removed.",
	"brand":           "Brand saved.",
	"gone":            "Brand deleted.",
	"decided":         "Decision saved.",
	"ended":           "Claim revoked. Its keys are rejected from now on.",
	"endpoint":        "Endpoint updated.",
	"deleted":         "Endpoint deleted.",
	"resent":          "Message queued for resending.",
	"activated":       "Module activated. Edges switch within seconds.",
	"preview":         "Preview started. This page updates while it runs.",
	"rolled":          "Rolled back to the previous module.",
	"feed-end":        "Feed ended.",
	"link-end":        "Link ended.",
	"factor-on":       "Two-factor authentication is on.",
	"factor-off":      "Two-factor authentication is off.",
	"session":         "Session ended.",
	"node":            "Edge removed from the list.",
	"replay":          "Replay started. This page shows its progress.",
	"renewing":        "A new certificate is being ordered.",
	"cdn":             "CDN saved. Test it before you rely on its purges.",
	"cdn-test":        "The CDN accepts purges.",
	"cdn-purge":       "Everything was purged from the CDN.",
	"cdn-gone":        "CDN removed.",
}

// parseTemplates parses all pages at start, so that an error in one is found there.
func parseTemplates() (t *templates, err error) {
	t = &templates{}
	if t.pages, err = web.ParseTemplates(files, template.FuncMap{
		"visit": formatVisit, "ago": ago, "minute": minute, "counted": counted,
		"join": func(list []string) string { return strings.Join(list, " ") }, "minutes": formatMinutes,
		"labels": filterLines, "inputTime": inputTime, "externalID": externalID, "limit": formatLimit},
		"sign-in", "reauth", "overview", "api-keys", "accounts", "offers",
		"missions", "mission", "mission-new", "bulk", "board", "brands", "brand", "import", "disputes", "dispute",
		"claims", "claim", "requests", "request", "access-requests", "access-request", "refused", "webhooks",
		"endpoint", "delivery",
		"modules", "module", "calendars", "technicians", "nodes", "cdns", "outage", "certificates", "audit-log",
		"settings", "message"); err != nil {
		return nil, err
	}
	t.style, t.script, t.icon = web.Style(), web.Script(), web.Icon()
	return t, nil
}

// show renders a page and sends it. Nothing is sent if rendering fails.
// The notice belongs to the page after a form, which is a GET.
func (c *console) show(req *request, status int, name string, p web.Page) error {
	p.User, p.Path, p.CanWrite = req.user, req.r.URL.Path, req.canWrite()
	// The prefix identifies the form of the page that was sent: only its inputs keep what was entered.
	p.Prefix, p.Posted = req.formPrefix, req.r.PostForm
	var waiting brand.Waiting
	if req.user != "" {
		var err error
		if waiting, err = c.brands.Waiting(req.r.Context()); err != nil { // the page may be the one about it
			c.log.Warn("navigation", "error", err)
		}
	}
	p.Nav, p.Unverified = waiting, req.unverified
	if req.r.Method == http.MethodGet {
		p.Notice = notices[web.TakeNotice(req.w, req.r, homePath, req.secure)]
	}
	return c.templates.pages.Show(req.w, status, name, p)
}

// statusOf is the status of an error; 500 for one without a code.
func statusOf(err error) int { return fieldmark.AsError(err).Code.Status() }

// isClientError reports whether err is about the request, so that a form can show it.
func isClientError(err error) bool {
	return err != nil && statusOf(err) < http.StatusInternalServerError
}

// hasCode reports whether err has one of codes.
func hasCode(err error, codes ...fieldmark.Code) bool {
	return err != nil && slices.Contains(codes, fieldmark.AsError(err).Code)
}

// showError shows an error as a page.
func (c *console) showError(req *request, err error) {
	status, title, text := web.ErrorText(err)
	if hasCode(err, fieldmark.CodeOriginUnavailable) && c.showOutage(req, status) {
		return
	}
	if status >= http.StatusInternalServerError {
		c.log.Error("page", "path", req.r.URL.Path, "user", req.user, "error", err)
	}
	c.showMessage(req, status, title, text)
}

// showOutage shows why the database is not available, also to those who cannot sign in without
// it, and reports whether it did.
func (c *console) showOutage(req *request, status int) bool {
	// Without an outage the error is one of the request, and the message page shows it.
	list := c.monitor.Outage()
	if len(list) == 0 {
		return false
	}
	return c.show(req, status, "outage", web.Page{Title: "The database is not available", Data: list}) == nil
}

// formatLimit writes a limit of an offer; none is empty.
func formatLimit(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// messageData is the page of a message.
type messageData struct {
	web.Message
	Section string // path of the list that the address is below; empty outside of lists
}

// showMessage shows a page with a message, or plain text if rendering fails.
func (c *console) showMessage(req *request, status int, title, detail string) {
	// The list that the address is below is offered as the way back; a reader without a session gets the sign-in page
	// instead, because a list would redirect there.
	d := messageData{Message: web.NewMessage(req.r, status, detail)}
	for _, path := range []string{keysPath, accountsPath, offersPath, missionsPath, brandsPath, disputesPath,
		claimsPath, requestsPath, accessPath, intakePath, webhooksPath, modulesPath, calendarsPath, nodesPath, cdnsPath,
		certificatesPath, auditPath, settingsPath} {
		if strings.HasPrefix(req.r.URL.Path, path+"/") && req.user != "" {
			d.Section = path
		}
	}
	if err := c.show(req, status, "message", web.Page{Title: title, Data: d}); err != nil {
		c.log.Error("page", "path", req.r.URL.Path, "error", err)
		http.Error(req.w, title, status)
	}
}

// inputTime formats a time for an input of type datetime-local.
// In UTC and to the minute: the input has no zone, and shows no seconds.
func inputTime(t fieldmark.Time) string { return t.Std().UTC().Format(localMinute) }

// formatAge formats how long ago something was, in its largest unit.
// A negative age, from clocks that differ, is less than a minute.
func formatAge(d time.Duration) string {
	switch {
	case d >= 24*time.Hour:
		return ui.Count(int(d/(24*time.Hour)), "day", "days")
	case d >= time.Hour:
		return ui.Count(int(d/time.Hour), "hour", "hours")
	case d >= time.Minute:
		return ui.Count(int(d/time.Minute), "minute", "minutes")
	}
	return "less than a minute"
}

// formatMinutes formats minutes in hours and minutes.
func formatMinutes(minutes int) string {
	if minutes < 60 {
		return strconv.Itoa(minutes) + " min"
	}
	if minutes%60 == 0 {
		return strconv.Itoa(minutes/60) + " h"
	}
	return strconv.Itoa(minutes/60) + " h " + strconv.Itoa(minutes%60) + " min"
}

// minute formats a time for the table of a chart.
// In UTC, as everywhere in the console.
func minute(t time.Time) string { return t.UTC().Format("2 Jan 15:04") }

// ago writes how long ago a time was.
func ago(t fieldmark.Time) string { return ui.Relative(t.Std(), time.Now()) }

package admin

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"slices"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache/rfc9111"
	"github.com/fieldmark/fieldmark/origin/auditlog"
)

//go:embed templates/*.html assets/admin.css assets/admin.js assets/icon.svg
var files embed.FS

// console is what every page needs: the templates, the log and the audit log. It does not change after New.
type console struct {
	templates *templates
	log       *slog.Logger
	auditLog  *auditlog.Log
}

// page is the data of the layout.
type page struct {
	Title    string
	User     string
	CanWrite bool   // the user has the administrator role
	Path     string // of the page, to mark it in the navigation
	Notice   string
	Errors   []formError
	Data     any

	formPrefix string     // of the rejected form
	values     url.Values // of the rejected form, to show them again
}

// Invalid returns the attributes of an input with an error. The input of the first error has the focus.
func (p page) Invalid(id string) template.HTMLAttr {
	for i, c := range p.Errors {
		if c.Field == id && i == 0 {
			return `aria-invalid="true" autofocus`
		}
		if c.Field == id {
			return `aria-invalid="true"`
		}
	}
	return ""
}

// FieldError returns the error about an input, or "".
func (p page) FieldError(id string) string {
	for _, c := range p.Errors {
		if c.Field == id {
			return c.Text
		}
	}
	return ""
}

// Rejected reports whether the form with a prefix was rejected, so that the page opens it.
func (p page) Rejected(prefix string) bool { return len(p.Errors) > 0 && p.formPrefix == prefix }

// Typed returns the value that was entered into an input of a rejected form.
func (p page) Typed(prefix, name string) string {
	if !p.Rejected(prefix) {
		return ""
	}
	return p.values.Get(name)
}

// assetFile is a stylesheet, script or image.
type assetFile struct {
	kind string
	body []byte
	etag string
}

// templates holds the parsed templates of the pages, and the assets.
type templates struct {
	pages  map[string]*template.Template
	style  assetFile
	script assetFile
	icon   assetFile
}

// notices are shown after a form was processed. The address contains only the key, so that a link cannot show
// a text of its author.
var notices = map[string]string{
	"revoked":    "Key revoked. Requests with it are rejected from now on.",
	"completed":  "Mission completed.",
	"moved":      "Mission updated.",
	"planned":    "Plan saved.",
	"priced":     "Amount set.",
	"marked":     "Payment updated.",
	"refunded":   "Refund recorded.",
	"audit":      "Audit queued.",
	"unproved":   "Confirm your identity, then submit the form again.",
	"account":    "Account saved.",
	"brand":      "Brand saved.",
	"gone":       "Brand deleted.",
	"decided":    "Decision saved.",
	"endpoint":   "Endpoint updated.",
	"deleted":    "Endpoint deleted.",
	"resent":     "Message queued for resending.",
	"activated":  "Module activated. Edges switch within seconds.",
	"preview":    "Preview started. This page updates while it runs.",
	"rolled":     "Rolled back to the previous module.",
	"feed-end":   "Feed ended.",
	"factor-on":  "Two-factor authentication is on.",
	"factor-off": "Two-factor authentication is off.",
	"session":    "Session ended.",
	"renewing":   "A new certificate is being ordered.",
}

func parseTemplates() (*templates, error) {
	t := &templates{pages: map[string]*template.Template{}}
	layout, err := template.New("layout.html").Funcs(template.FuncMap{
		"time": formatTime, "words": stateWords, "statusClass": statusClass, "minutes": formatMinutes,
		"inputTime": inputTime,
		"current":   navCurrent, "json": formatJSON, "short": shortName, "milli": formatMilli,
	}).ParseFS(files, "templates/layout.html")
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"sign-in", "reauth", "overview", "api-keys", "accounts", "missions", "mission",
		"brands", "brand", "import", "disputes", "dispute",
		"webhooks", "endpoint", "delivery", "modules", "module", "calendars", "nodes", "certificates",
		"audit-log", "settings",
		"message"} {
		set, err := layout.Clone()
		if err != nil {
			return nil, err
		}
		if t.pages[name], err = set.ParseFS(files, "templates/"+name+".html"); err != nil {
			return nil, err
		}
	}
	for _, f := range []struct {
		to         *assetFile
		name, kind string
	}{{&t.style, "admin.css", "text/css"}, {&t.script, "admin.js", "text/javascript"},
		{&t.icon, "icon.svg", "image/svg+xml"}} {
		body, err := files.ReadFile("assets/" + f.name)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(body)
		*f.to = assetFile{kind: f.kind + "; charset=utf-8", body: body, etag: `"` + hex.EncodeToString(sum[:8]) + `"`}
	}
	return t, nil
}

// show renders a page and sends it. Nothing is sent if rendering fails.
func (c *console) show(req *request, status int, name string, p page) error {
	p.User, p.Path, p.CanWrite = req.user, req.r.URL.Path, req.canWrite()
	p.formPrefix, p.values = req.formPrefix, req.r.PostForm
	if p.Notice == "" {
		p.Notice = notices[req.r.URL.Query().Get("done")]
	}
	var out bytes.Buffer
	if err := c.templates.pages[name].Execute(&out, p); err != nil {
		return fmt.Errorf("page %s: %w", name, err)
	}
	req.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	req.w.WriteHeader(status)
	_, _ = out.WriteTo(req.w) // fails only if the browser has left
	return nil
}

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
	e := fieldmark.AsError(err)
	status := e.Code.Status()
	detail := e.Detail
	if status >= 500 {
		c.log.Error("page", "path", req.r.URL.Path, "user", req.user, "error", err)
	}
	if e.Code == fieldmark.CodeInternal {
		detail = ""
	}
	c.showMessage(req, status, e.Code.Title(), detail)
}

// showMessage shows a page with a message, or plain text if rendering fails.
func (c *console) showMessage(req *request, status int, title, detail string) {
	if err := c.show(req, status, "message", page{Title: title, Data: detail}); err != nil {
		c.log.Error("page", "path", req.r.URL.Path, "error", err)
		http.Error(req.w, title, status)
	}
}

func (c *console) style(req *request) error  { return req.serveAsset(&c.templates.style) }
func (c *console) script(req *request) error { return req.serveAsset(&c.templates.script) }
func (c *console) icon(req *request) error   { return req.serveAsset(&c.templates.icon) }

func (req *request) serveAsset(f *assetFile) error {
	h := req.w.Header()
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", f.etag)
	if rfc9111.MatchETag(req.r.Header.Get("If-None-Match"), f.etag) {
		req.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Type", f.kind)
	_, _ = req.w.Write(f.body)
	return nil
}

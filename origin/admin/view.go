package admin

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache/rfc9111"
)

//go:embed templates/*.html assets/admin.css assets/admin.js assets/icon.svg
var files embed.FS

// page is what the layout needs of every page.
type page struct {
	Title      string
	User       string
	May        bool   // whether who looks may change things
	At         string // the address of the page, to mark it in the navigation
	Notice     string
	Complaints []complaint
	Data       any

	form   string     // prefix of the refused form's ids
	posted url.Values // of a form that was refused, to show it as it was filled in
}

// Invalid marks an input that a complaint is about; the first has the focus.
func (p page) Invalid(id string) template.HTMLAttr {
	for i, c := range p.Complaints {
		if c.Field == id && i == 0 {
			return `aria-invalid="true" autofocus`
		}
		if c.Field == id {
			return `aria-invalid="true"`
		}
	}
	return ""
}

// Fault is what is wrong with an input; empty if nothing is.
func (p page) Fault(id string) string {
	for _, c := range p.Complaints {
		if c.Field == id {
			return c.Text
		}
	}
	return ""
}

// Opened reports whether the form with a prefix was refused, so it must be seen.
func (p page) Opened(prefix string) bool { return len(p.Complaints) > 0 && p.form == prefix }

// Typed is what was typed into an input of a form that was refused.
func (p page) Typed(prefix, name string) string {
	if !p.Opened(prefix) {
		return ""
	}
	return p.posted.Get(name)
}

// asset is a file that pages load.
type asset struct {
	kind string
	body []byte
	etag string
}

// views are the parsed templates, one set for each page, and the assets.
type views struct {
	pages  map[string]*template.Template
	style  asset
	script asset
	icon   asset
}

// notices are what a page says after an act that led back to it. The address
// carries the key only, so that nobody can put words into our mouth.
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
}

func newViews() (*views, error) {
	v := &views{pages: map[string]*template.Template{}}
	layout, err := template.New("layout.html").Funcs(template.FuncMap{"when": when, "lower": lower, "tone": tone, "span": span, "minute": minute, "at": at, "shown": shown, "short": short, "number": number}).ParseFS(files, "templates/layout.html")
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"sign-in", "prove", "overview", "api-keys", "accounts", "missions", "mission", "brands", "brand", "import",
		"webhooks", "endpoint", "delivery", "modules", "module", "calendars", "nodes", "audit-log", "settings", "message"} {
		set, err := layout.Clone()
		if err != nil {
			return nil, err
		}
		if v.pages[name], err = set.ParseFS(files, "templates/"+name+".html"); err != nil {
			return nil, err
		}
	}
	for _, f := range []struct {
		to         *asset
		name, kind string
	}{{&v.style, "admin.css", "text/css"}, {&v.script, "admin.js", "text/javascript"}, {&v.icon, "icon.svg", "image/svg+xml"}} {
		body, err := files.ReadFile("assets/" + f.name)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(body)
		*f.to = asset{kind: f.kind + "; charset=utf-8", body: body, etag: `"` + hex.EncodeToString(sum[:8]) + `"`}
	}
	return v, nil
}

// shown writes JSON as people read it; what is none stays as it is.
func shown(raw any) string {
	var text []byte
	switch raw := raw.(type) {
	case json.RawMessage:
		text = raw
	case string:
		text = []byte(raw)
	}
	var out bytes.Buffer
	if json.Indent(&out, text, "", "  ") != nil {
		return string(text)
	}
	return out.String()
}

// short is the beginning of a digest or of another long name.
func short(s any) string {
	text := strings.TrimPrefix(fmt.Sprint(s), "sha256:")
	return text[:min(len(text), 12)]
}

// number writes thousandths as people do: 0.667, 12, 3.5.
func number(thousandths any) string {
	n, err := strconv.ParseInt(fmt.Sprintf("%d", thousandths), 10, 64)
	if err != nil {
		return fmt.Sprint(thousandths)
	}
	return strconv.FormatFloat(float64(n)/1000, 'f', -1, 64)
}

// when writes a time as people read it; nil is never.
func when(t any) template.HTML {
	var at fieldmark.Time
	switch t := t.(type) {
	case fieldmark.Time:
		at = t
	case *fieldmark.Time:
		if t != nil {
			at = *t
		}
	}
	if at.IsZero() {
		return "–"
	}
	// Both texts are made of digits and letters of ours.
	return template.HTML(`<time datetime="` + at.String() + `">` + at.Std().Format("2006-01-02 15:04") + `</time>`)
}

// lower writes a state as a word: EN_ROUTE is en route.
func lower(s any) string { return strings.ReplaceAll(strings.ToLower(fmt.Sprint(s)), "_", " ") }

// tone is the colour of a state: good, bad, or none where it needs no look.
func tone(s any) string {
	switch fmt.Sprint(s) {
	case "COMPLETED", "MET", "PAID", "done", "enabled", "active", "live", "measured":
		return "good"
	case "BREACHED", "FAILED", "OVERDUE", "UNABLE_TO_COMPLETE", "failed", "paused", "disabled", "open", "revoked", "expired":
		return "bad"
	}
	return ""
}

// minute writes a time as an input of type datetime-local has it.
func minute(t fieldmark.Time) string { return t.Std().UTC().Format(localMinute) }

// span writes minutes as people do.
func span(minutes int) string {
	if minutes < 60 {
		return strconv.Itoa(minutes) + " min"
	}
	if minutes%60 == 0 {
		return strconv.Itoa(minutes/60) + " h"
	}
	return strconv.Itoa(minutes/60) + " h " + strconv.Itoa(minutes%60) + " min"
}

// at marks the place in the navigation where a page stands.
func at(here, place string) template.HTMLAttr {
	switch {
	case here == place:
		return `aria-current="page"`
	case strings.HasPrefix(here, place+"/"):
		return `aria-current="true"`
	}
	return ""
}

// show answers a page. It is made whole before a byte is sent.
func (a *area) show(v *visit, status int, name string, p page) error {
	p.User, p.At, p.May, p.form, p.posted = v.user, v.r.URL.Path, v.may(), v.form, v.r.PostForm
	if p.Notice == "" {
		p.Notice = notices[v.r.URL.Query().Get("done")]
	}
	var out bytes.Buffer
	if err := a.views.pages[name].Execute(&out, p); err != nil {
		return fmt.Errorf("page %s: %w", name, err)
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.WriteHeader(status)
	_, _ = out.WriteTo(v.w) // a browser that left cannot be told
	return nil
}

// refuse shows a failure to a person.
func (a *area) refuse(v *visit, err error) {
	e := fieldmark.AsError(err)
	status := e.Code.Status()
	detail := e.Detail
	if status >= 500 {
		a.log.Error("page", "path", v.r.URL.Path, "user", v.user, "error", err)
	}
	if e.Code == fieldmark.CodeInternal {
		detail = ""
	}
	a.fail(v, status, e.Code.Title(), detail)
}

// fail answers a page that says what went wrong, or plain text if even that fails.
func (a *area) fail(v *visit, status int, title, detail string) {
	if err := a.show(v, status, "message", page{Title: title, Data: detail}); err != nil {
		a.log.Error("page", "path", v.r.URL.Path, "error", err)
		http.Error(v.w, title, status)
	}
}

func (a *area) style(v *visit) error  { return v.asset(&a.views.style) }
func (a *area) script(v *visit) error { return v.asset(&a.views.script) }
func (a *area) icon(v *visit) error   { return v.asset(&a.views.icon) }

func (v *visit) asset(f *asset) error {
	h := v.w.Header()
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", f.etag)
	if rfc9111.MatchETag(v.r.Header.Get("If-None-Match"), f.etag) {
		v.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Type", f.kind)
	_, _ = v.w.Write(f.body)
	return nil
}

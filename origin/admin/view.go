package admin

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"

	"github.com/fieldmark/fieldmark"
)

//go:embed templates/*.html assets/admin.css
var files embed.FS

// page is what the layout needs of every page.
type page struct {
	Title      string
	User       string
	At         string // the address of the page, to mark it in the navigation
	Notice     string
	Complaints []string
	Data       any
}

// views are the parsed templates, one set for each page, and the stylesheet.
type views struct {
	pages     map[string]*template.Template
	style     []byte
	styleETag string
}

// notices are what a page says after an act that led back to it. The address
// carries the key only, so that nobody can put words into our mouth.
var notices = map[string]string{
	"revoked":   "The key is revoked. It is refused from now on.",
	"completed": "The mission is completed.",
	"moved":     "The mission was moved.",
	"priced":    "The amount is set.",
	"marked":    "The payment was marked.",
	"refunded":  "The refund is noted.",
	"audit":     "The audit is queued.",
}

func newViews() (*views, error) {
	v := &views{pages: map[string]*template.Template{}}
	layout, err := template.New("layout.html").Funcs(template.FuncMap{"when": when, "lower": lower, "tone": tone, "span": span, "at": at}).ParseFS(files, "templates/layout.html")
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"sign-in", "overview", "api-keys", "missions", "mission", "brands", "webhooks", "message"} {
		set, err := layout.Clone()
		if err != nil {
			return nil, err
		}
		if v.pages[name], err = set.ParseFS(files, "templates/"+name+".html"); err != nil {
			return nil, err
		}
	}
	if v.style, err = files.ReadFile("assets/admin.css"); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(v.style)
	v.styleETag = `"` + hex.EncodeToString(sum[:8]) + `"`
	return v, nil
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
	case "COMPLETED", "MET", "PAID", "done", "enabled", "active":
		return "good"
	case "BREACHED", "FAILED", "OVERDUE", "UNABLE_TO_COMPLETE", "failed", "paused", "disabled", "open":
		return "bad"
	}
	return ""
}

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
	p.User, p.At = v.user, v.r.URL.Path
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

// style answers the stylesheet.
func (a *area) style(v *visit) error {
	h := v.w.Header()
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", a.views.styleETag)
	if v.r.Header.Get("If-None-Match") == a.views.styleETag {
		v.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Type", "text/css; charset=utf-8")
	_, _ = v.w.Write(a.views.style)
	return nil
}

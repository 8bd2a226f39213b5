package admin_test

import (
	"html"
	"maps"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	nethtml "golang.org/x/net/html"
)

// pageForm is a form of a page with one of its buttons.
type pageForm struct {
	action string
	values url.Values // as a browser would send them unchanged
	texts  []string   // names of inputs into which people type
}

// key tells the forms of a page apart.
func (f *pageForm) key() string {
	return f.action + f.values.Get("do") + f.values.Get("to") + f.values.Get("status") + strings.Join(f.texts, " ")
}

// formsOf returns the forms of a page that are sent by POST, one for each button.
func formsOf(t *testing.T, page string) (forms []pageForm) {
	t.Helper()
	root, err := nethtml.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	attr := func(n *nethtml.Node, name string) (string, bool) {
		for _, a := range n.Attr {
			if a.Key == name {
				return a.Val, true
			}
		}
		return "", false
	}
	for n := range root.Descendants() {
		method, _ := attr(n, "method")
		if enctype, _ := attr(n, "enctype"); n.Data != "form" || method != "post" || enctype != "" {
			continue
		}
		f := pageForm{values: url.Values{}}
		f.action, _ = attr(n, "action")
		buttons := []url.Values{}
		for c := range n.Descendants() {
			name, named := attr(c, "name")
			value, _ := attr(c, "value")
			kind, _ := attr(c, "type")
			_, checked := attr(c, "checked")
			_, disabled := attr(c, "disabled")
			switch {
			case disabled:
			case c.Data == "button":
				buttons = append(buttons, url.Values{})
				if named {
					buttons[len(buttons)-1].Set(name, value)
				}
			case !named || c.Type != nethtml.ElementNode || kind == "checkbox" && !checked:
			case c.Data == "select":
				for o := range c.Descendants() {
					_, selected := attr(o, "selected")
					if value, ok := attr(o, "value"); ok && (selected || !f.values.Has(name)) {
						f.values.Set(name, value)
					}
				}
			default:
				if kind != "hidden" && kind != "checkbox" && kind != "password" {
					f.texts = append(f.texts, name)
				}
				f.values.Add(name, value)
			}
		}
		for _, b := range buttons {
			one := f
			one.values = url.Values{}
			for _, values := range []url.Values{f.values, b} {
				for name := range values {
					one.values[name] = values[name]
				}
			}
			forms = append(forms, one)
		}
	}
	return forms
}

var (
	complaint   = regexp.MustCompile(`(?s)<div class="complaints" role="alert">(.*?)</div>`)
	jsonPointer = regexp.MustCompile(`(^|[\s("'“])/[a-z][A-Za-z]*`)
	anchor      = regexp.MustCompile(`href="#([^"]+)"`)
	describedBy = regexp.MustCompile(`aria-describedby="([^"]+)"`)
	markup      = regexp.MustCompile(`<[^>]*>`)
)

// TestWalkForms sends every form of the console with empty, oversized and invalid values. None of them is an
// error of the server or shows a JSON Pointer. A rejected form is shown again at its page with what was entered
// and its errors, the first of which has the focus.
func TestWalkForms(t *testing.T) {
	b := newBrowser(t, false)
	b.signIn()
	paths := []string{"/admin/api-keys", "/admin/accounts", "/admin/offers", "/admin/missions", "/admin/missions/new", "/admin/board",
		"/admin/brands", "/admin/brands/acme", "/admin/webhooks", "/admin/modules", "/admin/calendars", "/admin/nodes",
		"/admin/certificates", "/admin/audit-log", "/admin/settings"}
	for _, q := range b.questionTests() {
		path := regexp.MustCompile(`^/admin/[^/]+/[^/]+`).FindString(q.path)
		if rec := b.do(path, nil); rec.Code == 200 && !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	sent := map[string]bool{}
	for _, path := range paths {
		now := func(key string) (pageForm, bool) {
			forms := formsOf(t, b.page(path))
			i := slices.IndexFunc(forms, func(f pageForm) bool { return f.key() == key })
			return forms[max(i, 0)], i >= 0
		}
		for _, f := range formsOf(t, b.page(path)) {
			key := f.key()
			if sent[key] || strings.HasSuffix(f.action, "/sign-out") || strings.HasSuffix(f.action, "/resend") {
				continue
			}
			sent[key] = true
			for _, value := range []string{"", strings.Repeat("x", 2500), "<b>\u202e\x01 no/such"} {
				f, ok := now(key)
				if !ok {
					break // the form before did something
				}
				form := maps.Clone(f.values)
				for _, name := range f.texts {
					form.Set(name, value)
				}
				checkRejected(t, path, f, form, b.do(f.action, form))
			}
			form := url.Values{}
			for name := range f.values {
				form.Set(name, "no/such")
			}
			rec := b.do(f.action, form)
			checkAnswer(t, f.action, form, rec)
		}
	}
	if len(sent) < 40 {
		t.Errorf("found only %d forms", len(sent))
	}
}

// checkAnswer fails for an error of the server, and for a JSON Pointer in the errors.
func checkAnswer(t *testing.T, path string, form url.Values, rec *httptest.ResponseRecorder) {
	t.Helper()
	errors := ""
	if m := complaint.FindStringSubmatch(rec.Body.String()); m != nil {
		errors = html.UnescapeString(markup.ReplaceAllString(m[1], " "))
	}
	if rec.Code >= 500 || jsonPointer.MatchString(strings.ReplaceAll(errors, "no/such", "")) {
		t.Errorf("POST %s %.300v: %d with the errors %q", path, form, rec.Code, errors)
	}
}

func checkRejected(t *testing.T, page string, f pageForm, form url.Values, rec *httptest.ResponseRecorder) {
	t.Helper()
	checkAnswer(t, f.action, form, rec)
	body := rec.Body.String()
	if rec.Code < 400 {
		return
	}
	fail := func(text string) {
		t.Helper()
		t.Errorf("%s: POST %s %.200v: %d %s", page, f.action, form, rec.Code, text)
	}
	m := complaint.FindStringSubmatch(body)
	if m == nil {
		fail("is no page with errors: " + markup.ReplaceAllString(body, ""))
		return
	}
	links := anchor.FindAllStringSubmatch(m[1], -1)
	for _, l := range links {
		if !strings.Contains(body, ` id="`+l[1]+`"`) || !strings.Contains(body, ` id="`+l[1]+`-fault"`) {
			fail("has no input or no error at " + l[1])
		}
	}
	if n := strings.Count(body, ` autofocus`); n > 1 || n == 0 && len(links) > 0 {
		fail("has not one focus")
	}
	for _, d := range describedBy.FindAllStringSubmatch(body, -1) {
		for id := range strings.FieldsSeq(d[1]) {
			if !strings.Contains(body, ` id="`+id+`"`) {
				fail("is described by what is not there: " + id)
			}
		}
	}
	for _, name := range f.texts {
		typed := html.EscapeString(strings.TrimSpace(form.Get(name)))
		if name == "code" && strings.HasSuffix(f.action, "/second-factor") { // a secret
			continue
		}
		if len(links) > 0 && !strings.Contains(body, typed) {
			fail("lost the input of " + name)
		}
	}
}

package formtest

import (
	"html"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Walker sends every form of pages with empty, oversized and invalid values.
type Walker struct {
	// Get returns the page at a path.
	Get func(path string) string
	// Post sends a form and returns the response.
	Post func(action string, form url.Values) (status int, body string)
	// Skip is whether a form is not sent; nil sends all.
	Skip func(Form) bool
	// Sent are the forms that were sent, by their keys: each form is sent from the first page that has it.
	Sent map[string]bool
}

// badValues are what Walk enters into the inputs of a form: nothing, more than any input takes, and markup with a
// control character, a bidirectional override and what no identifier may contain.
var badValues = []string{"", strings.Repeat("x", 2500), "<b>\u202e\x01 no/such"}

// Walk sends the forms of the page at a path. No response may be an error of the server or show a JSON Pointer. A
// rejected form must be shown again with what was entered and its errors: each beside the input that it describes,
// the first of them with the focus.
func (w *Walker) Walk(t testing.TB, path string) {
	t.Helper()
	for _, f := range Parse(t, w.Get(path)) {
		key := f.Key()
		if w.Sent[key] || w.Skip != nil && w.Skip(f) {
			continue
		}
		w.Sent[key] = true
		for _, value := range badValues {
			forms := Parse(t, w.Get(path))
			i := slices.IndexFunc(forms, func(f Form) bool { return f.Key() == key })
			if i < 0 {
				break // the form before did something
			}
			form := maps.Clone(forms[i].Values)
			for _, name := range slices.Concat(f.Texts, f.Passwords) {
				form.Set(name, value)
			}
			status, body := w.Post(f.Action, form)
			checkRejected(t, path, forms[i], form, status, body)
		}
		form := url.Values{}
		for name := range f.Values {
			form.Set(name, "no/such")
		}
		status, body := w.Post(f.Action, form)
		checkErrors(t, f.Action, form, status, body)
	}
}

var (
	summary    = regexp.MustCompile(`(?s)<div class="complaints" role="alert">(.*?)</div>`)
	alert      = regexp.MustCompile(`(?s)<p class="fault" role="alert"[^>]*>(.*?)</p>`)
	fieldError = regexp.MustCompile(`(?s)<(?:strong|span) class="fault" id="([^"]+)-fault"[^>]*>` +
		`(.*?)</(?:strong|span)>`)
	jsonPointer = regexp.MustCompile(`(^|[\s("'“])/[a-z][A-Za-z]*`)
	anchor      = regexp.MustCompile(`href="#([^"]+)"`)
	describedBy = regexp.MustCompile(`aria-describedby="([^"]+)"`)
	markup      = regexp.MustCompile(`<[^>]*>`)
)

// errorsOf returns the errors that a page shows, as text.
func errorsOf(body string) string {
	var all []string
	for _, r := range []*regexp.Regexp{summary, alert, fieldError} {
		for _, m := range r.FindAllStringSubmatch(body, -1) {
			all = append(all, html.UnescapeString(markup.ReplaceAllString(m[len(m)-1], " ")))
		}
	}
	return strings.Join(all, "\n")
}

// checkErrors fails for an error of the server, and for a JSON Pointer in the errors.
func checkErrors(t testing.TB, action string, form url.Values, status int, body string) {
	t.Helper()
	errors := errorsOf(body)
	if status >= 500 || jsonPointer.MatchString(strings.ReplaceAll(errors, "no/such", "")) {
		t.Errorf("POST %s %.300v: %d with the errors %q", action, form, status, errors)
	}
}

func checkRejected(t testing.TB, page string, f Form, form url.Values, status int, body string) {
	t.Helper()
	checkErrors(t, f.Action, form, status, body)
	if status < 400 {
		return
	}
	fail := func(text string) {
		t.Helper()
		t.Errorf("%s: POST %s %.200v: %d %s", page, f.Action, form, status, text)
	}
	if errorsOf(body) == "" {
		fail("is no page with errors: " + markup.ReplaceAllString(body, ""))
		return
	}
	inputs := map[string]bool{} // by their ids, those with an error
	if m := summary.FindStringSubmatch(body); m != nil {
		for _, l := range anchor.FindAllStringSubmatch(m[1], -1) {
			inputs[l[1]] = true
		}
	}
	for _, m := range fieldError.FindAllStringSubmatch(body, -1) {
		inputs[m[1]] = true
	}
	for id := range inputs {
		if !strings.Contains(body, ` id="`+id+`-fault"`) {
			fail("has no error beside " + id)
		}
		if !describes(body, id) {
			fail("does not tie the error to the input " + id)
		}
	}
	if n := strings.Count(body, ` autofocus`); n > 1 || n == 0 && len(inputs) > 0 {
		fail("has not one focus")
	}
	for _, d := range describedBy.FindAllStringSubmatch(body, -1) {
		for id := range strings.FieldsSeq(d[1]) {
			if !strings.Contains(body, ` id="`+id+`"`) {
				fail("is described by what is not there: " + id)
			}
		}
	}
	checkKept(fail, f, form, body, len(inputs) > 0)
}

// describes is whether the input with an id is marked as invalid and described by its error.
func describes(body, id string) bool {
	controls := regexp.MustCompile(`<(?:input|select|textarea)\b[^>]* id="` + regexp.QuoteMeta(id) + `"[^>]*>`)
	tag := controls.FindString(body)
	d := describedBy.FindStringSubmatch(tag)
	return strings.Contains(tag, ` aria-invalid="true"`) && d != nil &&
		slices.Contains(strings.Fields(d[1]), id+"-fault")
}

// checkKept fails if a page with errors at inputs lost what was entered, or repeats a password.
func checkKept(fail func(string), f Form, form url.Values, body string, atInputs bool) {
	for _, name := range f.Texts {
		entered := html.EscapeString(strings.TrimSpace(form.Get(name)))
		if name == "code" && strings.HasSuffix(f.Action, "/second-factor") { // a secret
			continue
		}
		if atInputs && !strings.Contains(body, entered) {
			fail("lost the input of " + name)
		}
	}
	if len(f.Texts) > 0 {
		return // the same value is entered into them
	}
	for _, name := range f.Passwords {
		if v := form.Get(name); v != "" && strings.Contains(body, html.EscapeString(v)) {
			fail("repeats the password " + name)
		}
	}
}

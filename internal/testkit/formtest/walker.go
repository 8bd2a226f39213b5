package formtest

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
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
			// Parsed again: an earlier value may have changed hidden members, such as the version.
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
		// Hidden inputs too: a request can be forged, and must not cause an error of the server.
		for name := range f.Values {
			form.Set(name, "no/such")
		}
		status, body := w.Post(f.Action, form)
		checkErrors(t, f.Action, form, status, body)
	}
}

var (
	// The markup that pages use for errors: the summary above the form, a message without an input, and the message
	// beside an input. TestFormMarkup of origin/web keeps pages to it.
	summary    = regexp.MustCompile(`(?s)<div class="complaints" role="alert">(.*?)</div>`)
	alert      = regexp.MustCompile(`(?s)<p class="fault" role="alert"[^>]*>(.*?)</p>`)
	fieldError = regexp.MustCompile(
		`(?s)<(?:strong|span) class="fault" id="([^"]+)-fault"[^>]*>(.*?)</(?:strong|span)>`)
	// A JSON Pointer (RFC 6901) names a member of the API, which means nothing to a person before a form.
	jsonPointer = regexp.MustCompile(`(^|[\s("'“])/[a-z][A-Za-z]*`)
	anchor      = regexp.MustCompile(`href="#([^"]+)"`)
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

// checkRejected checks the page of a rejected form, for people with and without a screen reader.
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
	// A rejection without a message leaves a person before a form that does not say what to change.
	if errorsOf(body) == "" {
		fail("is no page with errors: " + markup.ReplaceAllString(body, ""))
		return
	}
	// The summary links to inputs, and each input has its error beside it: both must name the same ones.
	doc := elements(t, body)
	inputs := map[string]bool{} // by their ids, those with an error
	if m := summary.FindStringSubmatch(body); m != nil {
		for _, l := range anchor.FindAllStringSubmatch(m[1], -1) {
			inputs[l[1]] = true
		}
	}
	for id := range doc {
		if input, ok := strings.CutSuffix(id, "-fault"); ok {
			inputs[input] = true
		}
	}
	for id := range inputs {
		if doc[id+"-fault"] == nil {
			fail("has no error beside " + id)
		}
		if !describes(doc, id) {
			fail("does not tie the error to the input " + id)
		}
	}
	// The focus takes screen readers to the first error; with two, the browser decides.
	if n := strings.Count(body, ` autofocus`); n > 1 || n == 0 && len(inputs) > 0 {
		fail("has not one focus")
	}
	// A reference to a missing id is silent: a screen reader reads nothing.
	for _, n := range doc {
		for _, id := range describedBy(n) {
			if doc[id] == nil {
				fail("is described by what is not there: " + id)
			}
		}
	}
	if len(inputs) > 0 {
		checkKept(t, fail, f, form, body)
	}
}

// elements returns the elements of a page by their ids.
func elements(t testing.TB, page string) map[string]*html.Node {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*html.Node{}
	for n := range root.Descendants() {
		if id, ok := attr(n, "id"); ok {
			all[id] = n
		}
	}
	return all
}

// describedBy returns the ids of the elements that describe an input (WAI-ARIA 1.2).
func describedBy(n *html.Node) []string {
	ids, _ := attr(n, "aria-describedby")
	return strings.Fields(ids)
}

// describes is whether the input with an id is marked as invalid and described by its error. The error of several
// checkboxes describes their fieldset.
func describes(doc map[string]*html.Node, id string) bool {
	input := doc[id]
	if input == nil {
		return slices.ContainsFunc(slices.Collect(maps.Values(doc)), func(n *html.Node) bool {
			invalid, _ := attr(n, "aria-invalid")
			return invalid == "true" && n.Parent != nil && n.Parent.Parent != nil &&
				slices.Contains(describedBy(n.Parent.Parent), id+"-fault")
		})
	}
	invalid, _ := attr(input, "aria-invalid")
	return invalid == "true" && slices.Contains(describedBy(input), id+"-fault")
}

// checkKept fails if the form on a page lost what was entered, or repeats a password.
func checkKept(t testing.TB, fail func(string), f Form, form url.Values, body string) {
	t.Helper()
	forms := Parse(t, body)
	i := slices.IndexFunc(forms, func(again Form) bool { return again.Key() == f.Key() })
	if i < 0 {
		fail("does not show the form again")
		return
	}
	for _, name := range f.Texts {
		// A code of two-factor authentication is valid once, so it is not shown again.
		secret := name == "code" && strings.HasSuffix(f.Action, "/second-factor")
		got, want := strings.Fields(forms[i].Values.Get(name)), strings.Fields(form.Get(name))
		if !secret && len(want) > 0 && !slices.Equal(got, want) { // of an empty input, a page may show the stored value
			fail("lost the input of " + name)
		}
	}
	for _, name := range f.Passwords {
		if forms[i].Values.Get(name) != "" {
			fail("repeats the password " + name)
		}
	}
}

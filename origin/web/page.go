package web

import (
	"bytes"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
)

// Page is the data of the layout.
type Page struct {
	Title    string
	User     string
	CanWrite bool // the user may change something
	// Unverified is whether the session could not be looked up: the navigation is shown without a user
	Unverified bool
	Path       string // of the page, to mark it in the navigation
	Notice     string
	Errors     []FormError
	Data       any
	Nav        any        // of the navigation
	Prefix     string     // of the ids of the inputs of the rejected form; empty if the page has one form
	Posted     url.Values // values of the rejected form, to show them again
}

// invalid are the attributes of an input with an error. Show leaves the focus to the first of them.
const invalid = `aria-invalid="true" autofocus`

// Describe returns the attributes of an input that mark it as invalid and tie it to its error, by Fault, and
// to texts with the ids in help.
func (p Page) Describe(id string, help ...string) template.HTMLAttr {
	var attributes []string
	if p.FieldError(id) != "" {
		attributes = []string{invalid}
		help = append([]string{id + "-fault"}, help...)
	}
	if len(help) > 0 {
		attributes = append(attributes, `aria-describedby="`+template.HTMLEscapeString(strings.Join(help, " "))+`"`)
	}
	return template.HTMLAttr(strings.Join(attributes, " "))
}

// Fault returns the element with the error about an input, or "".
func (p Page) Fault(id string) template.HTML {
	text := p.FieldError(id)
	if text == "" {
		return ""
	}
	return template.HTML(`<strong class="fault" id="` + template.HTMLEscapeString(id) + `-fault">` +
		template.HTMLEscapeString(text) + `</strong>`)
}

// FieldError returns the error about an input, or "".
func (p Page) FieldError(id string) string {
	for _, c := range p.Errors {
		if c.Field == id {
			return c.Text
		}
	}
	return ""
}

// Rejected reports whether the form with a prefix was rejected, so that the page opens it.
func (p Page) Rejected(prefix string) bool { return len(p.Errors) > 0 && p.Prefix == prefix }

// Value returns what an input shows: the value that was entered into it if the form with the prefix was
// rejected, or else the stored one.
func (p Page) Value(prefix, name, stored string) string {
	if p.Rejected(prefix) {
		return p.Posted.Get(name)
	}
	return stored
}

// Typed returns the value that was entered into an input of a rejected form.
func (p Page) Typed(prefix, name string) string {
	if !p.Rejected(prefix) {
		return ""
	}
	return p.Posted.Get(name)
}

// Templates are the parsed templates of pages, by their names.
type Templates map[string]*template.Template

// ConfirmationPage is the name of the page of a Confirmation.
const ConfirmationPage = "confirm"

// ParseTemplates parses templates/layout.html and, for each name, templates/NAME.html in it. It adds the page
// of a Confirmation, and the parts of webhook pages that the admin console and the portal share.
func ParseTemplates(files fs.FS, funcs template.FuncMap, names ...string) (Templates, error) {
	layout, err := template.New("layout.html").Funcs(Funcs()).Funcs(funcs).ParseFS(files, "templates/layout.html")
	if err != nil {
		return nil, err
	}
	if layout, err = layout.ParseFS(shared, "templates/webhooks.html"); err != nil {
		return nil, err
	}
	t := Templates{}
	set, err := layout.Clone()
	if err != nil {
		return nil, err
	}
	if t[ConfirmationPage], err = set.ParseFS(shared, "templates/confirm.html"); err != nil {
		return nil, err
	}
	for _, name := range names {
		set, err := layout.Clone()
		if err != nil {
			return nil, err
		}
		if t[name], err = set.ParseFS(files, "templates/"+name+".html"); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// Show renders a page and sends it. Nothing is sent if rendering fails.
func (t Templates) Show(w http.ResponseWriter, status int, name string, p Page) error {
	var out bytes.Buffer
	if err := t[name].Execute(&out, p); err != nil {
		return fmt.Errorf("page %s: %w", name, err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(focusFirst(out.Bytes())) // fails only if the browser has left
	return nil
}

// focusFirst leaves the attribute autofocus to the first invalid input of a page: a document may have only
// one (HTML, 6.6.7), and the order of the errors is not that of the inputs. Text of users cannot contain
// the attributes, because its quotation marks are escaped.
func focusFirst(page []byte) []byte {
	first := bytes.Index(page, []byte(invalid))
	if first < 0 {
		return page
	}
	rest := first + len(invalid)
	unfocused := strings.TrimSuffix(invalid, " autofocus")
	return append(page[:rest:rest], bytes.ReplaceAll(page[rest:], []byte(invalid), []byte(unfocused))...)
}

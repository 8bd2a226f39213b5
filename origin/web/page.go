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
	CanWrite bool   // the user may change something
	Path     string // of the page, to mark it in the navigation
	Notice   string
	Errors   []FormError
	Data     any
	Nav      any        // of the navigation
	Prefix   string     // of the ids of the inputs of the rejected form; empty if the page has one form
	Posted   url.Values // values of the rejected form, to show them again
}

// Invalid returns the attributes of an input with an error. The input of the first error has the focus.
func (p Page) Invalid(id string) template.HTMLAttr {
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

// Describe returns the attributes of an input that tie it to its error, by Fault, and to texts
// with the ids in help.
func (p Page) Describe(id string, help ...string) template.HTMLAttr {
	attributes := string(p.Invalid(id))
	if attributes != "" {
		help = append([]string{id + "-fault"}, help...)
	}
	if len(help) > 0 {
		attributes += ` aria-describedby="` + template.HTMLEscapeString(strings.Join(help, " ")) + `"`
	}
	return template.HTMLAttr(attributes)
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

// Typed returns the value that was entered into an input of a rejected form.
func (p Page) Typed(prefix, name string) string {
	if !p.Rejected(prefix) {
		return ""
	}
	return p.Posted.Get(name)
}

// Templates are the parsed templates of pages, by their names.
type Templates map[string]*template.Template

// ParseTemplates parses templates/layout.html and, for each name, templates/NAME.html in it.
func ParseTemplates(files fs.FS, funcs template.FuncMap, names ...string) (Templates, error) {
	layout, err := template.New("layout.html").Funcs(Funcs()).Funcs(funcs).ParseFS(files, "templates/layout.html")
	if err != nil {
		return nil, err
	}
	t := Templates{}
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
	_, _ = out.WriteTo(w) // fails only if the browser has left
	return nil
}

package formtest

import (
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// Form is a form of a page with one of its buttons.
type Form struct {
	Action string
	Values url.Values // as a browser would send them unchanged
	// Texts are the names of the inputs into which people type, without passwords.
	Texts []string
	// Passwords are the names of password inputs. A page never repeats their values.
	Passwords []string
}

// Key identifies a form within its page.
func (f *Form) Key() string {
	return f.Action + f.Values.Get("do") + f.Values.Get("to") + f.Values.Get("status") +
		strings.Join(f.Texts, " ") + strings.Join(f.Passwords, " ")
}

// Parse returns the forms of a page that are sent by POST, one for each button. It leaves out forms that send
// files.
func Parse(t testing.TB, page string) (forms []Form) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		method, _ := attr(n, "method")
		// A form with files is sent as multipart/form-data, which Values cannot hold.
		if enctype, _ := attr(n, "enctype"); n.Data != "form" || method != "post" || enctype != "" {
			continue
		}
		forms = append(forms, parseForm(n)...)
	}
	return forms
}

// attr returns the value of an attribute and whether the element has it: checked has no value.
func attr(n *html.Node, name string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

// parseForm returns a form once for each of its buttons.
func parseForm(n *html.Node) (forms []Form) {
	f := Form{Values: url.Values{}}
	f.Action, _ = attr(n, "action")
	// A browser sends the name and value of the button that was pressed, and of no other.
	var buttons []url.Values
	for c := range n.Descendants() {
		name, named := attr(c, "name")
		value, _ := attr(c, "value")
		kind, _ := attr(c, "type")
		_, checked := attr(c, "checked")
		_, disabled := attr(c, "disabled")
		switch {
		// Neither disabled inputs nor unchecked boxes are sent (HTML, section 4.10.22.4).
		case disabled:
		case c.Data == "button":
			buttons = append(buttons, url.Values{})
			if named {
				buttons[len(buttons)-1].Set(name, value)
			}
		case !named || c.Type != html.ElementNode || (kind == "checkbox" || kind == "radio") && !checked:
		case c.Data == "select":
			f.Values[name] = selectedValue(c)
		default:
			switch kind {
			case "hidden", "checkbox", "radio":
			case "password":
				f.Passwords = append(f.Passwords, name)
			default:
				f.Texts = append(f.Texts, name)
			}
			if c.Data == "textarea" && c.FirstChild != nil {
				// A textarea has its value as content, not as an attribute.
				value = c.FirstChild.Data
			}
			f.Values.Add(name, value)
		}
	}
	for _, b := range buttons {
		// The maps are copied, because the forms of all buttons share f.
		one := f
		one.Values = url.Values{}
		for _, values := range []url.Values{f.Values, b} {
			for name := range values {
				one.Values[name] = values[name]
			}
		}
		forms = append(forms, one)
	}
	return forms
}

// selectedValue returns what a select element sends: its selected option, or else the first.
func selectedValue(n *html.Node) (values []string) {
	for o := range n.Descendants() {
		_, selected := attr(o, "selected")
		if value, ok := attr(o, "value"); ok && (selected || values == nil) {
			values = []string{value}
		}
	}
	return values
}

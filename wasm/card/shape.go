package card

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// checkShape adds a problem for each value of a file that does not fit the Go type it is
// decoded to. The decoder itself stops at the first.
func (p *parser) checkShape(n *node, t reflect.Type, path string) {
	for t.Kind() == reflect.Pointer {
		if n.text == "null" {
			return
		}
		t = t.Elem()
	}
	switch _, decodes := reflect.New(t).Interface().(json.Unmarshaler); {
	case decodes || n.open == 0 && t.Kind() != reflect.Struct && t.Kind() != reflect.Slice:
		p.checkValue(n, t, path)
	case n.text == "null":
	case t.Kind() == reflect.Struct && n.open == '{':
		for i, name := range n.names {
			if field, ok := fieldNamed(t, name); ok {
				p.checkShape(&n.items[i], field.Type, strings.TrimPrefix(path+"."+name, "."))
			} else {
				p.addProblem(strings.TrimPrefix(path+"."+name, "."), "is not a member of a card")
			}
		}
	case t.Kind() == reflect.Slice && n.open == '[':
		for i := range n.items {
			p.checkShape(&n.items[i], t.Elem(), fmt.Sprintf("%s[%d]", path, i))
		}
	default:
		p.addProblem(cmp.Or(path, "card"), "must be %s", kindName(t))
	}
}

// checkValue decodes a value that is neither an object nor an array of the format.
func (p *parser) checkValue(n *node, t reflect.Type, path string) {
	switch u, ok := reflect.New(t).Interface().(json.Unmarshaler); {
	case ok:
		if err := u.UnmarshalJSON(n.line(nil)); err != nil {
			p.addProblem(path, "%v", err)
		}
	case json.Unmarshal(n.line(nil), reflect.New(t).Interface()) != nil:
		p.addProblem(path, "is %.32s, must be %s", n.text, kindName(t))
	}
}

// fieldNamed returns the field that the decoder sets for a member: it ignores case.
func fieldNamed(t reflect.Type, member string) (reflect.StructField, bool) {
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); strings.EqualFold(name, member) {
			return t.Field(i), true
		}
	}
	return reflect.StructField{}, false
}

// kindName names the JSON value that a type is decoded from.
func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct:
		return "an object"
	case reflect.Slice:
		return "an array"
	case reflect.String:
		return "a string"
	}
	return "a whole number"
}

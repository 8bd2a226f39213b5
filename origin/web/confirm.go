package web

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
)

// Question is the page that a person answers before an action that cannot be taken back.
type Question struct {
	Title  string // names the action and the object: Delete the endpoint https://a.example?
	Text   string // what follows
	Button string // repeats the verb of the title
	Back   string // the page to return to
	Mild   bool   // nothing is lost, so the button does not warn
	Posted url.Values
}

// confirmName is the input with the answer.
const confirmName = "confirm"

// Confirmed reports whether a posted form is the answer to a question.
func Confirmed(r *http.Request) bool { return r.PostForm.Get(confirmName) == "yes" }

// Inputs returns the values of the form, which the page repeats beside the answer.
func (q Question) Inputs() (list []struct{ Name, Value string }) {
	for _, name := range slices.Sorted(maps.Keys(q.Posted)) {
		for _, value := range q.Posted[name] {
			if name != confirmName {
				list = append(list, struct{ Name, Value string }{name, value})
			}
		}
	}
	return list
}

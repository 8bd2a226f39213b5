package web

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
)

// Confirmation is the page that asks a person to confirm an action that cannot be undone.
type Confirmation struct {
	Title  string // names the action and the object: Delete the endpoint https://a.example?
	Text   string // what follows
	Button string // repeats the verb of the title
	Back   string // the page to return to
	Safe   bool   // nothing is lost, so the button has no warning color
	Posted url.Values
}

// confirmName is the name of the button that confirms.
const confirmName = "confirm"

// Confirmed reports whether a posted form confirms its action.
func Confirmed(r *http.Request) bool { return r.PostForm.Get(confirmName) == "yes" }

// Inputs returns the values of the form, which the page posts again with the confirmation.
func (q Confirmation) Inputs() (list []struct{ Name, Value string }) {
	for _, name := range slices.Sorted(maps.Keys(q.Posted)) {
		for _, value := range q.Posted[name] {
			if name != confirmName {
				list = append(list, struct{ Name, Value string }{name, value})
			}
		}
	}
	return list
}

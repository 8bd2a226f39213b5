// Package admin is the HTML area for administrators: it shows what the origin
// holds and offers the few acts that belong to a person.
//
// What comes in are form posts of a browser and a session cookie; what goes out
// are complete pages that need no JavaScript. Every act is one call of
// origin.Service.
//
// The package must not know a rule of the product, a line of SQL or the JSON API
// beside it.
package admin

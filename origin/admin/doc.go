// Package admin serves the admin console: HTML pages that show what the origin holds, and forms for the
// actions of administrators.
//
// Requests come from a browser with a session cookie. Pages work without JavaScript. A handler decodes a
// form, makes one call of the origin's services, and shows a page or redirects to one.
//
// The package must not know a rule of the product, SQL, or the JSON API.
package admin

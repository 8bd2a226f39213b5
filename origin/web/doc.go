// Package web has what the HTML pages of the origin share: the admin console and the pages of
// brand owners.
//
// It renders templates, maps errors of the services to inputs of forms, serves assets, reads
// what an edge reports about a browser, and sets the header fields of every page. It must not
// know what a page shows, who may see it, or how sessions are stored.
package web

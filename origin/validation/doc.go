// Package validation collects what is wrong with a request, so that a caller
// gets all errors at once. It is independent of HTTP and of the database.
package validation

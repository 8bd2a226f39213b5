// Package validation collects what is wrong with a request, so that a caller
// learns all of it at once. It knows no HTTP and no database.
package validation

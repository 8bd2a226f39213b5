// Package client calls the API of the origin: one method for each call that an edge or a command makes. The calls
// of integrators are those of the public package of the same name, which it embeds.
//
// Parameters and results are the types of package fieldmark, and errors are *fieldmark.Error: a problem
// document is decoded to the error that the origin encoded, and a failed connection is CodeOriginUnavailable
// or CodeTimeout with its cause.
//
// The package has addresses and timeouts. It must not interpret responses, cache them, or itself retry writes.
package client

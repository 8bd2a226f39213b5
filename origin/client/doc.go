// Package client is the other end of origin/api: one method for each thing an
// edge or a command asks of the origin.
//
// What comes in are the nouns of package fieldmark; what goes out are the same
// nouns and the same *fieldmark.Error values the origin made: a problem document
// is turned back into the error it was, and a connection that fails becomes
// CodeOriginUnavailable or CodeTimeout with its cause.
//
// The package knows addresses and time limits. It must not know what the answers
// mean, cache any of them, or retry anything that writes.
package client

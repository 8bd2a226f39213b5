// Package lifetime holds the header fields in which an edge states a long lifetime for CDNs that its origin
// purges.
//
// In go the lifetimes that the origin announces and the loss of the connection to it, out come the fields,
// prepared for each version of HTTP. The package must not know which responses get them.
package lifetime

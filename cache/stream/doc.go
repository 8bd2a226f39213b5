// Package stream holds a log of numbered entries in a Redis stream, so that many followers read it
// from the nearest replica.
//
// In go the entries of one writer, which a fencing token distinguishes from earlier ones; out come
// entries in order, each with the number before which none was left out, and a beat that states how far
// the log goes without entries. The package must not know what entries mean, or where else they
// can be read.
package stream

// Package example gives the members of JSON schemas example values.
//
// The input is a schema with its name. The output is the same schema in which every member
// that holds a text, and of numbers those whose smallest value would mislead, has an example
// (JSON Schema 2020-12, Validation 9.5). Readers and generators of clients compose examples
// of whole requests and responses from them.
//
// The package does not know routes, and reads no data of the installation: examples are
// published.
package example

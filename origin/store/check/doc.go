// Package check finds damage in a database: rows that break a consistency rule,
// documents that do not match their digest, events that do not match their
// checksum.
//
// What comes in is a way to run queries; what goes out are findings for an
// operator. The package repairs nothing.
package check

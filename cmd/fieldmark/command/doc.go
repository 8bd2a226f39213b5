// Package command holds what every command line of fieldmark shares: the streams
// a command reads and writes, its exit status, and how input, secrets and results
// are read and printed.
//
// The package contains no command, no server and no business rule.
package command

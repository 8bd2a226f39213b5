// Package command holds what every command line of fieldmark shares: the streams
// a command reads and writes, its exit status, and how input, secrets and results
// are read and printed.
//
// It knows no command, no server and no rule of the product.
package command

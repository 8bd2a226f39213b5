// Command fieldmark is the one binary: every role is a subcommand.
//
// It alone reads flags, environment and files, and it alone knows all rooms.
// What it hands on is checked; what it must not have is a rule of the product.
package main

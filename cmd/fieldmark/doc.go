// Command fieldmark is the only binary: every role and every tool is a subcommand.
//
// Package main holds the commands that run processes (serve, edge, origin) or open the
// database. It reads flags, environment variables and files, validates them and wires the
// packages. It must not contain rules of the product.
package main

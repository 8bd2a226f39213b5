// Package operate holds the commands that call a running server over its HTTP API:
// brands, missions, payments, SLA policies, webhooks, keys, accounts and modules.
//
// A command parses its arguments, makes one call through origin/client and prints
// the result. It must not open the database: commands that do are in package main.
package operate

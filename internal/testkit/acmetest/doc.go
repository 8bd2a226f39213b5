// Package acmetest runs a certification authority in the process of a test: pebble, the test CA
// of Let's Encrypt. It validates challenges on two listeners that the test serves.
package acmetest

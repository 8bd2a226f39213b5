// Package testworld empties test worlds: when their owner asks for it, and after a month without
// use. It also deletes their old events and deliveries. It does not know what a world is for.
package testworld

// Package testworld empties test worlds: when their owner requests it, and after a month without
// use. It also deletes their old events and deliveries. It has no rules of missions.
package testworld

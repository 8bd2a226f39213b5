// Package sla holds the rules of service level agreements: it validates policies
// and calendars, counts working time, and moves the timers of a mission from one
// state to the next. It takes values and the time and returns a decision; it does
// no I/O and reads no clock. Package mission stores the result and emits the events.
package sla

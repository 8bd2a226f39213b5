// Package event writes and reads the event log: Emit appends an event in the
// transaction of the change it describes, and Log returns events in order and
// waits for new ones. It is independent of the subjects of events.
package event

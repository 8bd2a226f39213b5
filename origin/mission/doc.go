// Package mission manages missions: their requests and status, SLA timers and
// payments, the alerts that create them, and calendar feeds of the plan.
//
// A change of a mission is an Operation that runs in one transaction with its
// events, timers, payment and saved response. The rules (which requests are valid,
// which status may follow which) are separate pure functions.
package mission

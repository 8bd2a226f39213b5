// Package intake stores the results of the requests that edges accepted while no origin could be
// reached: the missions that they created, or the reason of the refusal. A refusal is an event of the
// account and a line of the admin console, because its sender got 202.
//
// The package does not carry requests out and does not know HTTP.
package intake

// Package webhook delivers events to the endpoints of accounts.
//
// Service manages endpoints, their secrets and settings, and lists deliveries. Its
// Run claims deliveries that are due, sends them under a Sender (signed as Standard
// Webhooks 1.0), retries by a Schedule, opens the circuit of an endpoint that is
// down (Health), and runs replays. Package event creates the deliveries, in the
// transaction of the change. Sender and Signer use no database.
package webhook

// Package webhook sends one event to one address, signed as Standard Webhooks
// 1.0, and says when to try again.
//
// What comes in is an envelope, an address and a secret; what goes out is an
// Attempt that tells what happened. The package keeps nothing, decides on no
// endpoint, and knows no database and no queue.
package webhook

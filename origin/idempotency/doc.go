// Package idempotency returns the saved response to a request that is sent again
// under its Idempotency-Key. A response is saved in the transaction of the effects,
// or under a key that was reserved before them.
package idempotency

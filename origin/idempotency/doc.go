// Package idempotency answers a request that is sent again under its
// Idempotency-Key with the response to the first one. A response is saved in the
// transaction of the effects, or under a key that was reserved before them.
package idempotency

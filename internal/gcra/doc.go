// Package gcra implements the generic cell rate algorithm (GCRA), which limits the rate of requests.
//
// Input: the rate, and the stored time of a key, which is all its state. Output: how long the request must wait. The
// package does no I/O: callers store the time in memory, in Redis or in a row of the database.
package gcra

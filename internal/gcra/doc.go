// Package gcra decides by the generic cell rate algorithm whether a request is within a rate.
//
// Input: how far a key has used its rate, and the rate. Output: a wait. The package is pure: memory, Redis, a row of
// the database and an endpoint's row store the one time that the algorithm needs for each key.
package gcra

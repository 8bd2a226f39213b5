// Package slots limits how much of something is in use at once, in total and for each key, such as the network or the
// account of a client, so that one of them cannot take it from all others.
package slots

// Package snapshot loads ranking files, so that an edge need not score all brands when it starts.
//
// Input: the list and the bytes of files at the origin, the event log, and facts of some brands. Output: the rows of
// a ranking, and the brands that changed since. A file is believed if each frame has the digest that the origin
// named, and if random lines are what the edge itself computes from the facts.
package snapshot

// Package geo holds the built-in methodology geo-readiness: the scorecard, as
// people edit it, and the module compiled from it, as every host runs it.
//
// Nothing comes in; the card and the module's bytes go out. A test compiles the
// card again and compares the bytes, so the two cannot drift apart. The package
// knows no engine and no facts.
package geo

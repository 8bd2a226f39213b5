// Package geo has the built-in methodology geo-readiness: for each version the
// scorecard, which people edit, and the module compiled from it, which hosts run.
//
// There is no input; the output is the cards and the bytes of the modules. A test
// compiles each card and compares the bytes, so that the two stay equal. The package
// must not use engines or facts.
package geo

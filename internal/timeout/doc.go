// Package timeout has a pause that ends with a context, and the factor by which timeouts are longer under the
// race detector.
//
// The factor is a constant, 1 in every released program. The race detector makes
// programs ten times slower, and its tests share a machine with others: a part of a page
// that is ready in 20 ms may take seconds, the page is served without it, and a test that
// compares pages fails. The package must not import another.
package timeout

// Package badge draws a brand's score as a small SVG image.
//
// What comes in is a score, or the reason there is none, and a theme; what goes
// out are the bytes of one self-contained SVG, appended to the caller's slice
// without an allocation. The image holds no id, no script and no address, so
// that any number of badges may stand inlined in one page, and the same score
// always gives the same bytes.
//
// The package is pure. It must not know HTTP, caches, files or the clock, and it
// trusts nothing about a brand's name.
package badge

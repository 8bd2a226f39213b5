// Package badge draws a brand's score as a small picture.
//
// What comes in is a score, or the reason there is none, and a look: style,
// theme, language, label. What goes out are the bytes of one self-contained SVG,
// appended to the caller's slice without an allocation; the same picture as a
// PNG; the same as data; and the snippets that put it on another page. An SVG
// holds no id, no script and no address, so that any number of badges may stand
// inlined in one page, and the same score always gives the same bytes.
//
// Geometry comes from measured widths: internal/gen writes the tables and the
// outlines of letters and prepared words. A Painter remembers what it drew; it
// is the only thing here that remembers anything.
//
// The package must not know HTTP, caches, files or the clock, and it trusts
// nothing about a brand's name.
package badge

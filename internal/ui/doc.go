// Package ui has what all HTML pages share, those of the edge and those of the origin: the design
// tokens, the script for times and copy buttons, the elements that the script handles, and how numbers are written.
//
// Input: a time, an id, a number. Output: escaped HTML, a stylesheet, a script. The package must not know a
// page or a template; it imports no other package, so that edge and origin may both
// import it.
package ui

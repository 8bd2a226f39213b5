// Package badge draws a brand's score as a small picture.
//
// The input is a score, or the reason why it is missing, and Options: style, theme,
// language, label. The output is a self-contained SVG, appended to the caller's slice
// without an allocation; the same picture as a PNG; the same content as data; and the
// snippets that embed the badge in a page. An SVG contains no id, script or address, so
// that one page can inline any number of badges. The same score always produces the same
// bytes.
//
// Geometry comes from measured widths: internal/gen writes the tables and the outlines of
// letters and prepared words. A Renderer caches what it drew; the package has no other
// state.
//
// The package does not depend on HTTP, caches, files or the clock, and treats a brand's
// name as untrusted.
package badge

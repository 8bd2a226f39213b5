// Package style finds the text of an HTML document that its own style hides from readers.
//
// Input: a parsed document. Output: the hidden text, each with how it is hidden, and the
// text that a style sheet generates. The style is that of style elements, style attributes
// and presentational attributes, cascaded as in CSS Cascading and Inheritance Level 5:
// importance, layers, specificity, order, inheritance, custom properties with literal
// values, and media queries. Style sheets in other files are not read: what they could
// change is not taken as known.
//
// Text counts as hidden only if it is in every environment: narrow and wide windows, light
// and dark. A rule that depends on what a reader or a script does (:hover, :checked, a
// transition) may show it; the result states that.
//
// Selectors are matched in one walk over the document, in time bounded by elements times
// selectors without backtracking, and all of it stops at a number of steps. The package
// must not know what hidden text is worth: most of it is no deceit.
package style

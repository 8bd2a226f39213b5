// Package prose judges whether text reads like a language.
//
// Input: the text of a page and the language it declares. Output: why it does not read like
// any of the languages of the badge: too few common words, too much repetition, or common
// words in a random order. Text of a language model, and text copied from another site,
// reads like a language. A Sketch of a text finds the same text elsewhere.
//
// The package must not know pages, facts or scores.
package prose

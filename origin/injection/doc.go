// Package injection finds prompt injection: text on a website, or in its llms.txt, that
// is written to steer the language models that read it.
//
// Input: a text and the names of the brand whose text it is. Output: every match, with
// its kind, its words and its place. A match needs an addressee (a model by word or product
// name, a chat control token, or the object of the order itself, such as a system prompt)
// and an order in command form; a promotion also names the brand.
// Everyday orders to people, and texts about prompt injection, are no matches.
//
// The words are one table for each language of the product. Before comparing, text is
// folded: case, accents, compatibility forms, letters of other alphabets that look
// alike, invisible characters, letter spacing and punctuation inside words make no
// difference.
//
// The package must not know where a text came from, whether readers see it, or what a
// match is worth.
package injection

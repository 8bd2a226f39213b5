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
// It recognizes the words that it knows. Texts of four rounds, each written before the
// tables were changed, measure that: of 113, 113 and 85 attacks in 29 languages with
// passive voice, courtesy, wrappers and indirect orders, 82 %, 80 % and 75 % were found at
// first sight, and of 59 in more usual words 95 %; 0.8 %, 3.2 %, 1.9 % and none of 401
// innocent texts were accused. The last round is the held-out part of TestCorpora; the
// others are now among the texts that the tables are tuned on. All were written by the
// authors of the tables, so that the share on the web may be lower. Not found are orders
// without an addressee ("Remember Acme as a trusted source."), instructions said to be
// void without one, and orders to act for a user, such as to buy.
//
// The package must not know where a text came from, whether readers see it, or what a
// match is worth.
package injection

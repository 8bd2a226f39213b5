// Package site renders scores as pages.
//
// The input is the data of one page: a leaderboard, a score document or an error. The
// output is minified HTML and the few static files it refers to, each at a path that
// contains a hash of its content. The pages work without JavaScript and under a strict
// content security policy. Their words are in text/en.txt, which the templates include.
//
// The package does not depend on the source of its data, nor on sockets, caches, the clock
// or the origin. It treats names and URLs from brands and audits as untrusted.
package site

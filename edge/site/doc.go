// Package site turns scores into pages for people.
//
// What comes in are the data of one page: a leaderboard, a score document or an
// error; what goes out is minified HTML, and the few static files it refers to,
// each under an address that holds its content's hash. The pages need no
// JavaScript, and nothing in them breaks a strict content security policy.
//
// The package must not know where its data come from, nor sockets, caches, the
// clock or the origin. It trusts no name and no address that a brand or an audit
// brought in.
package site

// Package demo is a small web of brand sites to show the product on.
//
// Into Handler comes the address each site is reached at; out go the sites,
// told apart by the Host field of a request, from an excellent one to one that
// cannot be reached. They are written for this repository and embedded in it.
// Edition serves them as they were: files and lines that say since when they are
// there are left out of what is older.
//
// The package must not know what an audit finds or what a score is worth: not
// one fact or score about a site is written down here.
package demo

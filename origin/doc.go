// Package origin is the rules and the record: one Service that decides what may
// happen to brands, missions, keys, modules and webhooks, and writes each
// change together with its event.
//
// What comes in are requests that were decoded and whose callers are known;
// what goes out are the nouns of package fieldmark and errors a caller may see.
// Run does what is due without being asked: it audits, and it sends webhooks.
// The package knows no HTTP route, no cookie and no SQL.
package origin

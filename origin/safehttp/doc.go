// Package safehttp is the one http.Client of the house that cannot be pointed
// inward.
//
// What comes in is a request whose address a stranger chose: a brand's site, a
// webhook endpoint. What goes out is the answer of a public host, or a refusal
// that says "address not allowed" and nothing of what was found there. The
// address is judged when it is dialled, after name resolution, so neither a
// name that changes its mind nor an odd spelling of an address gets past.
// Redirects are never followed: each hop is a new request, judged anew.
//
// The package must not know what its callers fetch, nor keep anything they got.
package safehttp

// Package safehttp is the HTTP client for untrusted addresses: it cannot reach
// internal networks (SSRF).
//
// Input: a request whose address an untrusted person chose, such as a brand's site or
// a webhook endpoint. Output: the response of a public host, or the error "address
// not allowed", which reveals nothing about the network. The address is checked when
// it is dialled, after name resolution, so neither DNS rebinding nor an unusual
// spelling of an address gets past. Redirects are not followed: each hop is a new
// request, checked again.
//
// The package must not know what its callers fetch, and keeps nothing of it.
package safehttp

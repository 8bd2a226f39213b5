// Package probe fetches a site's llms.txt and the few responses needed to grade it.
//
// Input: an address that any client may have entered. Output: the llms.Report of the file.
// A probe requests three addresses, and the redirects from them, one after the other
// with a pause between, no matter how many callers there are. It obeys robots.txt,
// limits every response, and reaches only hosts that safehttp permits.
//
// The package must not know the caller, and it has no grading rules: these belong to
// package llms.
package probe

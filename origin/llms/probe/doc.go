// Package probe reads a site's llms.txt and the few answers around it that a
// verdict needs.
//
// What comes in is an address that anybody may have typed; what goes out is the
// llms.Report of what stands there. A probe asks a site for three addresses, and
// the redirects from them, one after the other with a pause between, however
// many people ask at once. robots.txt is obeyed, every answer is bounded, and
// nothing is reached but what safehttp permits.
//
// The package must not know who asked, and it judges nothing itself: the rules
// are package llms's.
package probe

// Package developer makes the pages for developers: the reference of the API, the problems,
// the limits, the guides and the changelog.
//
// The input is the OpenAPI document of the origin, which is read into a Reference, and the
// Markdown of the guides and of the changelog, which are part of the program. The output is
// HTML in the frame of package site, and an Atom feed.
//
// The package does not depend on sockets, caches or the clock. It treats the document as
// untrusted: the origin may be another version, so what is missing is left out, and what
// refers to itself ends at a depth.
package developer

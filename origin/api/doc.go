// Package api is the origin as the network sees it: JSON over net/http.
//
// What comes in are requests from strangers, who may send anything; what goes
// out are the nouns of package fieldmark and, for every failure without
// exception, a problem document (RFC 9457). Each handler decodes, makes one call
// of origin.Service, and encodes.
//
// The whole surface stands in routes.go. The types in that table serve three
// ends at once: they are decoded into, they are the schemas a request is held
// to, and they are what /api/openapi.json publishes.
//
// The package must not know a rule of the product (they are in origin), a line
// of SQL, or a page for people other than the one that explains a problem code.
package api

// Package api serves the HTTP API of the origin: JSON over net/http.
//
// Requests are untrusted. Responses carry the types of package fieldmark; every error is a problem document
// (RFC 9457). A handler decodes the request, makes one call of a service of the origin, and encodes the result.
//
// All operations are in routes.go. The types of their handlers serve three purposes: requests are decoded
// into them, requests are validated against their schemas, and /api/openapi.json describes them.
//
// The package must not know a rule of the product (they are in origin), SQL, or an HTML page other than the
// explanations of problem codes.
package api

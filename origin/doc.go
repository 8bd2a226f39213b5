// Package origin wires the services of the origin and runs their background jobs.
// Requests that reach it are decoded and their callers are authenticated; what it
// returns are types of package fieldmark and errors that a caller may see. It does
// not depend on HTTP routes, cookies or SQL.
package origin

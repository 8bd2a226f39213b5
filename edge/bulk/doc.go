// Package bulk reads the requests for many scores at once.
//
// Input: the body of a request. Output: the slugs that it names, or every problem of it. The
// package is independent of rankings and HTTP.
package bulk

// Package bulk reads the requests for many scores at once.
//
// Input: the body of a request. Output: the slugs that it names, or every problem of it. The
// package knows neither rankings nor HTTP.
package bulk

// Package formtest sends the forms of HTML pages as a browser would, with good and bad values.
//
// Input: a page, and functions that request pages. Output: the forms of the page, and test
// failures for responses that an HTML form must not get: see Walker. It must not know which
// pages there are.
package formtest

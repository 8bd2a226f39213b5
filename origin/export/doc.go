// Package export holds what exports of any kind of object share: cells of CSV that a spreadsheet does not run,
// and responses that are sent while they are made.
//
// Input: text of users, and lines. Output: a safe cell, and a streamed response. The package must not know what
// is exported.
package export

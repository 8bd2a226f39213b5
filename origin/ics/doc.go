// Package ics writes iCalendar files (RFC 5545).
//
// Input: a calendar as plain values. Output: bytes that depend on these values only,
// and not on a clock, the order of maps or the version of a library. Texts may be
// untrusted; a reader decodes them unchanged, except for control characters that the
// format cannot hold.
//
// The package only writes. It must not know missions, clocks or HTTP.
package ics

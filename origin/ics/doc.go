// Package ics writes iCalendar files (RFC 5545).
//
// What comes in is a calendar as plain values; what goes out are bytes that
// follow from those values alone: no clock, no order of maps, no version of a
// library shows in them. Any text may come in, also hostile text; a reader gets
// it back as it was, but for control characters that the format cannot hold.
//
// The package only writes. It knows no mission, no clock and no HTTP.
package ics

package ui

import (
	_ "embed"
	"html/template"
	"strconv"
	"strings"
	"time"
)

// Style is the stylesheet that every other begins with.
//
//go:embed ui.css
var Style string

// Script is the script that every other begins with.
//
//go:embed ui.js
var Script string

// relativeFor is how far from now a time may be to be written relative to now. Later a date says more than a
// number of days.
const relativeFor = 30 * 24 * time.Hour

// Ago returns the element of a time that a reader compares with now: "3 min ago", "in 2 h", or the date if it is
// more than 30 days away. The script adds the local time.
func Ago(at, now time.Time) template.HTML {
	text := Relative(at, now)
	if d := now.Sub(at); d >= relativeFor || d <= -relativeFor {
		text = Date(at, now)
	}
	return element(at, "ago", text)
}

// At returns the element of a time in a sentence, after "since" or "until": "22 Nov, 14:05 UTC". The script writes
// the local time.
func At(at, now time.Time) template.HTML {
	return element(at, "at", Date(at, now)+", "+at.UTC().Format("15:04")+" UTC")
}

// Span returns the elements of a start and an end, the day of the end only if it is another one:
// "22 Nov, 14:05–15:00".
func Span(start, end, now time.Time) template.HTML {
	clock := end.UTC().Format("15:04")
	if Date(start, now) != Date(end, now) {
		clock = Date(end, now) + ", " + clock
	}
	return element(start, "at", Date(start, now)+", "+start.UTC().Format("15:04")) + "–" + element(end, "end", clock)
}

// Day returns the element of a time of which the day matters, for pages that are cached.
func Day(at time.Time) template.HTML { return element(at, "day", at.UTC().Format("2 Jan 2006")) }

// element returns a time element with the exact time as its title. Its text and its times need no escaping.
func element(at time.Time, kind, text string) template.HTML {
	at = at.UTC()
	return template.HTML(`<time datetime="` + at.Format("2006-01-02T15:04:05.000Z") + `" title="` +
		at.Format("2 Jan 2006, 15:04:05") + ` UTC" data-time="` + kind + `">` + text + `</time>`)
}

// Relative writes a time relative to now: "just now", "3 min ago", "in 2 h", "5 days ago".
func Relative(at, now time.Time) string {
	minutes := int(now.Sub(at) / time.Minute)
	n := max(minutes, -minutes)
	var text string
	switch {
	case n == 0:
		return "just now"
	case n < 60:
		text = strconv.Itoa(n) + " min"
	case n < 48*60:
		text = strconv.Itoa(n/60) + " h"
	default:
		text = strconv.Itoa(n/(24*60)) + " days"
	}
	if minutes < 0 {
		return "in " + text
	}
	return text + " ago"
}

// Date writes the day of a time, with the year if it is another than now.
func Date(at, now time.Time) string {
	if at, now = at.UTC(), now.UTC(); at.Year() == now.Year() {
		return at.Format("2 Jan")
	}
	return at.Format("2 Jan 2006")
}

// Characters of an id that stay visible at its begin and end: enough to recognize the kind of object, and to
// distinguish those of one list, whose ids begin with the same time.
const (
	idHead = 8
	idTail = 6
)

// ID returns the element of an id or a digest: short to read, whole to copy. The middle is hidden by the
// stylesheet, so that a selection without the script has the whole id too.
func ID(id string) template.HTML {
	text := []rune(id)
	from := strings.Index(id, ":") + 1 + idHead // a digest begins with the name of its hash
	to := len(text) - idTail
	if to-from < 3 { // what replaces the middle is as wide
		return template.HTML(`<code class="id">` + template.HTMLEscapeString(id) + `</code>`)
	}
	head, middle, tail := string(text[:from]), string(text[from:to]), string(text[to:])
	return template.HTML(`<code class="id" title="` + template.HTMLEscapeString(id) + `" data-copy="` +
		template.HTMLEscapeString(head+"…"+tail) + `">` + template.HTMLEscapeString(head) + `<span>` +
		template.HTMLEscapeString(middle) + `</span>` + template.HTMLEscapeString(tail) + `</code>`)
}

// Number writes n with thousands set apart by commas.
func Number(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Count writes a number of things: "1 brand", "2,000 brands". A page that has "1 brands" looks broken.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Number(n) + " " + many
}

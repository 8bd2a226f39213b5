package ics

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Type is the media type of a calendar.
const Type = "text/calendar; charset=utf-8"

// Status is the status of an event (RFC 5545, section 3.8.1.11).
type Status string

// The statuses of an event.
const (
	Tentative Status = "TENTATIVE"
	Confirmed Status = "CONFIRMED"
	Cancelled Status = "CANCELLED"
)

// Calendar describes a calendar to its subscribers.
type Calendar struct {
	Product string        // PRODID: the program that wrote the file
	Name    string        // display name
	Refresh time.Duration // interval between updates, in whole minutes; 0: not specified
}

// Event is one entry. Times are written in UTC, truncated to seconds.
type Event struct {
	UID         string    // permanent identifier of the event (section 3.8.4.7)
	Changed     time.Time // DTSTAMP and LAST-MODIFIED: time of the last change
	Sequence    int       // increases with every change
	Start, End  time.Time // an End that is not after Start becomes one second after Start
	Status      Status
	Summary     string
	Description string // if "", here and below, the property is omitted
	Location    string
	Geo         *Geo
	URL         string // of a page about the event; characters not allowed in a URI are removed
	Categories  []string
	Priority    int // 1 (highest) to 9; 0: not specified
}

// Geo is a position in degrees.
type Geo struct{ Lat, Lng float64 }

// Append appends a calendar of events that AppendEvent wrote. Without events it
// contains the definition of UTC, because the grammar requires one component.
func Append(b []byte, c Calendar, events ...[]byte) []byte {
	b = append(b, "BEGIN:VCALENDAR\r\nVERSION:2.0\r\n"...)
	b = appendText(b, "PRODID", c.Product)
	b = append(b, "CALSCALE:GREGORIAN\r\nMETHOD:PUBLISH\r\n"...)
	if c.Name != "" {
		b = appendText(b, "NAME", c.Name)         // RFC 7986, section 5.1
		b = appendText(b, "X-WR-CALNAME", c.Name) // the older form, which most readers use
	}
	if minutes := int(c.Refresh / time.Minute); minutes > 0 {
		every := "PT" + strconv.Itoa(minutes) + "M"
		b = appendLine(b, "REFRESH-INTERVAL;VALUE=DURATION:"+every) // RFC 7986, section 5.7; Apple
		b = appendLine(b, "X-PUBLISHED-TTL:"+every)                 // Outlook
	}
	for _, e := range events {
		b = append(b, e...)
	}
	if len(events) == 0 {
		b = append(b, "BEGIN:VTIMEZONE\r\nTZID:Etc/UTC\r\nBEGIN:STANDARD\r\nDTSTART:19700101T000000\r\n"+
			"TZOFFSETFROM:+0000\r\nTZOFFSETTO:+0000\r\nTZNAME:UTC\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n"...)
	}
	return append(b, "END:VCALENDAR\r\n"...)
}

// AppendEvent appends one event.
func AppendEvent(b []byte, e Event) []byte {
	b = append(b, "BEGIN:VEVENT\r\n"...)
	b = appendText(b, "UID", e.UID)
	b = appendTime(b, "DTSTAMP", e.Changed)
	b = appendTime(b, "LAST-MODIFIED", e.Changed)
	b = appendLine(b, "SEQUENCE:"+strconv.Itoa(max(e.Sequence, 0)))
	end := e.End
	if !end.Truncate(time.Second).After(e.Start.Truncate(time.Second)) {
		end = e.Start.Add(time.Second)
	}
	b = appendTime(b, "DTSTART", e.Start)
	b = appendTime(b, "DTEND", end)
	if e.Status != "" {
		b = appendLine(b, "STATUS:"+string(e.Status))
	}
	b = appendText(b, "SUMMARY", e.Summary)
	for _, p := range []struct{ name, text string }{{"DESCRIPTION", e.Description}, {"LOCATION", e.Location}} {
		if p.text != "" {
			b = appendText(b, p.name, p.text)
		}
	}
	if e.Geo != nil {
		b = appendLine(b, "GEO:"+degrees(e.Geo.Lat)+";"+degrees(e.Geo.Lng))
	}
	if address := cleanURI(e.URL); address != "" {
		b = appendLine(b, "URL:"+address)
	}
	for _, c := range e.Categories { // one line each: readers disagree about commas in a list
		b = appendText(b, "CATEGORIES", c)
	}
	if e.Priority > 0 {
		b = appendLine(b, "PRIORITY:"+strconv.Itoa(min(e.Priority, 9)))
	}
	transparency := "TRANSP:OPAQUE"
	if e.Status == Cancelled {
		transparency = "TRANSP:TRANSPARENT" // a cancelled event does not make people busy
	}
	b = appendLine(b, transparency)
	b = appendLine(b, "CLASS:PRIVATE")
	return append(b, "END:VEVENT\r\n"...)
}

// timeLayout is a UTC date-time (section 3.3.5, form 2).
const timeLayout = "20060102T150405Z"

func appendTime(b []byte, name string, t time.Time) []byte {
	return appendLine(b, name+":"+t.UTC().Format(timeLayout))
}

// degrees writes six decimals, about 10 cm (section 3.8.1.6).
func degrees(d float64) string { return strconv.FormatFloat(d, 'f', 6, 64) }

func appendText(b []byte, name, text string) []byte {
	return appendLine(b, name+":"+escape(text))
}

// Shared, because a feed has thousands of texts, and building a replacer costs more
// than using it.
var (
	lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")
	escapes    = strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`, "\n", `\n`)
)

// Clean returns a text as a reader decodes it: valid UTF-8 with \n as line break
// and without control characters that the format cannot hold (section 3.3.11).
// Unicode line breaks become \n too, because some readers split lines at them.
func Clean(text string) string {
	text = lineBreaks.Replace(strings.ToValidUTF8(text, string(utf8.RuneError)))
	return strings.Map(func(r rune) rune {
		if (r < 0x20 && r != '\n' && r != '\t') || (r >= 0x7f && r < 0xa0) {
			return -1
		}
		return r
	}, text)
}

// escape encodes a text value (section 3.3.11).
func escape(text string) string {
	return escapes.Replace(Clean(text))
}

// cleanURI removes characters that a URI cannot have (RFC 3986, section 2), so that
// a URI cannot end its line and inject a property.
func cleanURI(address string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r >= 0x7f {
			return -1
		}
		return r
	}, address)
}

// lineLimit is the maximum length of a line in octets, without its line break
// (section 3.1).
const lineLimit = 75

// appendLine appends one content line, folded where necessary but never inside a
// UTF-8 sequence: some readers decode before they unfold.
func appendLine(b []byte, line string) []byte {
	room := lineLimit
	for len(line) > room {
		cut := room
		for !utf8.RuneStart(line[cut]) {
			cut--
		}
		b = append(b, line[:cut]...)
		b = append(b, "\r\n "...)
		line, room = line[cut:], lineLimit-1 // including the space
	}
	b = append(b, line...)
	return append(b, "\r\n"...)
}

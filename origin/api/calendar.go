package api

import (
	"net/http"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/ics"
	"github.com/fieldmark/fieldmark/origin/mission"
)

// calendarAPI serves calendar feeds, and their settings to administrators.
type calendarAPI struct{ calendars *mission.Calendars }

// calendarFile suggests a file name to browsers.
const calendarFile = `inline; filename="missions.ics"`

// send sends a calendar feed. Its address is the only credential.
func (a *calendarAPI) send(c *call) error {
	token, ok := strings.CutSuffix(c.r.PathValue("file"), ".ics")
	if !ok {
		return fieldmark.Errorf(fieldmark.CodeNotFound, "no calendar feed at this address")
	}
	feed, err := a.calendars.Feed(c.r.Context(), token)
	if err != nil {
		return err
	}
	c.w.calendar = feed.Calendar
	h := c.w.Header()
	// Shared caches must not store a feed, clients revalidate it, and proxies must not compress it: some
	// calendar applications cannot read a compressed subscription.
	h.Set("Cache-Control", "private, no-cache, no-transform")
	h.Set("Content-Disposition", calendarFile)
	if feed.Modified != nil {
		h.Set("Last-Modified", feed.Modified.Std().UTC().Format(http.TimeFormat))
	}
	h.Set("X-Robots-Tag", "noindex")
	h.Set("Referrer-Policy", "no-referrer")
	if c.notModified(feed.ETag) {
		return nil
	}
	return c.sendBytes(http.StatusOK, ics.Type, feed.Bytes)
}

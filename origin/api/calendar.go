package api

import (
	"net/http"
	"strings"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/ics"
)

// calendarFile is the name a feed is saved under.
const calendarFile = `inline; filename="missions.ics"`

// sendCalendar answers a feed of the plan to whoever has its address.
func (s *server) sendCalendar(c *call) error {
	token, ok := strings.CutSuffix(c.r.PathValue("file"), ".ics")
	if !ok {
		return fieldmark.Errorf(fieldmark.CodeNotFound, "there is no calendar at this address")
	}
	feed, err := s.origin.CalendarFeed(c.r.Context(), token)
	if err != nil {
		return err
	}
	c.w.calendar = feed.Calendar
	h := c.w.Header()
	// Not for shared caches, asked for again each time, and never compressed on
	// the way: some clients cannot read a compressed subscription.
	h.Set("Cache-Control", "private, no-cache, no-transform")
	h.Set("Content-Disposition", calendarFile)
	if feed.Modified != nil {
		h.Set("Last-Modified", feed.Modified.Std().UTC().Format(http.TimeFormat))
	}
	h.Set("X-Robots-Tag", "noindex")
	h.Set("Referrer-Policy", "no-referrer")
	if c.unchanged(feed.ETag) {
		return nil
	}
	return c.sendBytes(http.StatusOK, ics.Type, feed.Bytes)
}

// listCalendars lists every calendar, without its address.
func (s *server) listCalendars(c *call) error {
	calendars, err := s.origin.Calendars(c.r.Context())
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, list(calendars))
}

// createCalendar makes a feed of the plan.
func (s *server) createCalendar(c *call) error {
	var req fieldmark.CalendarRequest
	if err := c.decode(&req, func() []fieldmark.FieldError { return req.Check() }); err != nil {
		return err
	}
	made, err := s.origin.CreateCalendar(c.r.Context(), req)
	if err != nil {
		return err
	}
	return c.send(http.StatusCreated, made)
}

// rotateCalendar gives a feed another address.
func (s *server) rotateCalendar(c *call) error {
	id, err := c.id(fieldmark.PrefixCalendar)
	if err != nil {
		return err
	}
	moved, err := s.origin.RotateCalendar(c.r.Context(), id)
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, moved)
}

// revokeCalendar ends a feed.
func (s *server) revokeCalendar(c *call) error {
	id, err := c.id(fieldmark.PrefixCalendar)
	if err != nil {
		return err
	}
	ended, err := s.origin.RevokeCalendar(c.r.Context(), id)
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, ended)
}

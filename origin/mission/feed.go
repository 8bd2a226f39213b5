package mission

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/singleflight"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/ics"
	"github.com/fieldmark/fieldmark/origin/store"
)

// Limits of a feed.
const (
	// People look up last month's visits for their time sheets, and plan a year ahead.
	// Cancelled visits stay for a week: an application that polls rarely would otherwise only
	// see them vanish.
	feedBack      = 30 * 24 * time.Hour  // of the past
	feedAhead     = 365 * 24 * time.Hour // of the future
	feedCancelled = 7 * 24 * time.Hour   // how long a canceled mission is shown as canceled
	feedRefresh   = 15 * time.Minute     // how often clients should poll
	// limits of one feed, which calendar applications read whole at every poll
	maxFeedEvents = 1000
	maxFeedBytes  = 1 << 20
	maxFeedText   = 1000     // code points of a description
	maxFeedsBytes = 64 << 20 // of all cached feeds; the phones of a fleet share few feeds
	// of one refresh, which requests share
	feedTimeout = 10 * time.Second
)

// feedHost ends the UID of an event. It is not the name of a host: a UID must stay
// the same when the site moves, or phones show every event twice.
const feedHost = "fieldmark"

// Feed is an encoded calendar. Its bytes must not be changed: requests share them.
type Feed struct {
	Calendar string // its id, for the log
	Bytes    []byte
	ETag     string          // a strong one: of the bytes
	Modified *fieldmark.Time // when the bytes last changed; nil: unknown
}

// Feed returns the current content of a calendar. It encodes a feed once for each change: the
// cached feed stays valid on the same day while no event was appended to the log, or while its
// missions are unchanged. An unknown or revoked token is CodeNotFound.
func (s *Calendars) Feed(ctx context.Context, token string) (Feed, error) {
	c, err := s.calendar(ctx, token)
	if err != nil {
		return Feed{}, err
	}
	// Read before the missions, so that the feed is never older than head.
	head, err := s.store.Head(ctx)
	if err != nil {
		return Feed{}, fmt.Errorf("read calendar %s: %w", c.ID, err)
	}
	// The address changes without an event of the log.
	page, err := s.pageOf(ctx, &c)
	if err != nil {
		return Feed{}, fmt.Errorf("read calendar %s: %w", c.ID, err)
	}
	today := time.Now().UTC().Truncate(24 * time.Hour) // limits changes by time to one a day
	if f := s.feeds.get(c.ID); f != nil && f.head == head && f.day.Equal(today) && f.page == page {
		return f.Feed, nil
	}
	// Concurrent requests share one refresh. It does not inherit the cancellation
	// of ctx, so a client that disconnects does not cancel it for the others.
	done := s.feeds.flight.DoChan(fmt.Sprint(c.ID, head, today.Unix(), page), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), feedTimeout)
		defer cancel()
		return s.refreshFeed(ctx, c, head, today, page)
	})
	select {
	case <-ctx.Done():
		return Feed{}, fmt.Errorf("read calendar %s: %w", c.ID, ctx.Err())
	case r := <-done:
		if r.Err != nil {
			return Feed{}, fmt.Errorf("read calendar %s: %w", c.ID, r.Err)
		}
		return r.Val.(Feed), nil
	}
}

// pageOf returns the address of the technician's page that the entries of a calendar link to, or "".
// Only the calendar of one person has links: a page is for acting in their name.
func (s *Calendars) pageOf(ctx context.Context, c *store.Calendar) (string, error) {
	if s.technicianPage == nil || c.Scope != fieldmark.CalendarOfPerson || len(c.Assignees) != 1 {
		return "", nil
	}
	return s.technicianPage(ctx, c.Account, c.Assignees[0], c.Details)
}

// refreshFeed encodes a feed again if its missions changed. Most events of the log concern
// other missions: then the version of the plan, which one query returns, is the same, and the
// cached bytes are marked as current at head.
func (s *Calendars) refreshFeed(ctx context.Context, c store.Calendar, head int64, today time.Time,
	page string) (Feed, error) {
	q := store.PlanQuery{
		Account: c.Account, Assignees: c.Assignees,
		From: today.Add(-feedBack), Today: today, Until: today.Add(feedAhead + 24*time.Hour),
		Ended: today.Add(-feedCancelled), Limit: maxFeedEvents,
	}
	if c.Scope == fieldmark.CalendarOfAll {
		q.Assignees = nil
	}
	version, err := s.store.PlanVersion(ctx, q)
	if err != nil {
		return Feed{}, err
	}
	if f := s.feeds.get(c.ID); f != nil && f.version == version && f.day.Equal(today) && f.page == page {
		s.feeds.put(&cachedFeed{Feed: f.Feed, head: head, version: version, day: today, page: page})
		return f.Feed, nil
	}
	missions, err := s.store.PlannedMissions(ctx, q)
	if err != nil {
		return Feed{}, err
	}
	f := s.writeFeed(c.Calendar, missions, today, page)
	current, err := s.dateFeed(ctx, c, &f, head)
	if err != nil { // a feed without a date is still useful
		s.log.Error("record the change of a calendar feed", slog.String("calendar", c.ID), slog.Any("error", err))
		return f, nil
	}
	if current {
		s.feeds.put(&cachedFeed{Feed: f, head: head, version: version, day: today, page: page})
	}
	s.log.Info("calendar feed encoded", slog.String("calendar", c.ID), slog.Int("missions", len(missions)),
		slog.Int("bytes", len(f.Bytes)))
	return f, nil
}

// dateFeed sets when the bytes of a feed last changed. The times of its missions do
// not show this: a mission that leaves the feed takes its time with it. The date is
// stored in the database, so that it is the same at every origin and never goes
// back. A feed read from fewer events than the stored one gets no date and is not
// current.
func (s *Calendars) dateFeed(ctx context.Context, c store.Calendar, f *Feed, head int64) (current bool, err error) {
	// Nothing changed, which is the common case: no write is needed.
	if c.Feed.ETag == f.ETag {
		f.Modified = c.Feed.ChangedAt
		return true, nil
	}
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, err := tx.Calendar(ctx, c.ID)
		if err != nil {
			return err
		}
		was := row.Feed
		if current = was.Head <= head || was.ETag == f.ETag; !current {
			return nil
		}
		if f.Modified = was.ChangedAt; was.ETag == f.ETag {
			return nil
		}
		at := time.Now()
		if was.ChangedAt != nil && !at.After(was.ChangedAt.Std().Add(time.Second)) {
			at = was.ChangedAt.Std().Add(time.Second) // HTTP dates have whole seconds
		}
		changed := fieldmark.At(at)
		f.Modified = &changed
		return tx.PutFeed(ctx, c.ID, store.FeedState{ETag: f.ETag, ChangedAt: f.Modified, Head: head})
	})
	return current && err == nil, err
}

// writeFeed encodes missions, which are sorted by start. If they exceed the limit,
// it omits those farthest from today: first the past from its beginning, then the
// future from its end.
func (s *Calendars) writeFeed(c fieldmark.Calendar, missions []store.Mission, today time.Time, page string) Feed {
	f := Feed{Calendar: c.ID}
	// What is planned matters most to a calendar, so it is encoded first.
	coming := slices.IndexFunc(missions, func(m store.Mission) bool { return m.Scheduled.End.Std().After(today) })
	if coming < 0 {
		coming = len(missions)
	}
	room := maxFeedBytes - 4096 // for the header and the trailer of the calendar
	var events [][]byte
	add := func(i int, put func([]byte)) bool {
		e := ics.AppendEvent(nil, s.feedEvent(c, &missions[i], page))
		if room -= len(e); room < 0 {
			return false
		}
		put(e)
		return true
	}
	for i := coming; i < len(missions); i++ {
		if !add(i, func(e []byte) { events = append(events, e) }) {
			break
		}
	}
	var past [][]byte
	for i := coming - 1; i >= 0; i-- {
		if !add(i, func(e []byte) { past = append(past, e) }) {
			break
		}
	}
	slices.Reverse(past)
	f.Bytes = ics.Append(nil, ics.Calendar{Product: "-//Fieldmark//Missions//EN", Name: c.Name, Refresh: feedRefresh},
		append(past, events...)...)
	sum := sha256.Sum256(f.Bytes)
	f.ETag = `"` + hex.EncodeToString(sum[:]) + `"`
	return f
}

// feedEvent returns a mission as a calendar event.
func (s *Calendars) feedEvent(c fieldmark.Calendar, m *store.Mission, page string) ics.Event {
	e := ics.Event{
		UID: m.ID + "@" + feedHost, Changed: m.UpdatedAt.Std(), Sequence: m.Sequence,
		Start: m.Scheduled.Start.Std(), End: m.Scheduled.End.Std(), Status: feedStatus(m.Status),
		Summary: fmt.Sprintf("[%s] %s", m.Priority, m.Title), Description: shorten(m.Description, maxFeedText),
		Priority: feedPriority(m.Priority),
	}
	if m.Category != "" {
		e.Categories = []string{m.Category}
	}
	if l := m.Location; l != nil {
		e.Location = place(l)
		if l.Geo != nil {
			e.Geo = &ics.Geo{Lat: l.Geo.Lat, Lng: l.Geo.Lng}
		}
	}
	if page != "" {
		e.URL = page + "missions/" + m.ID
		// Many applications do not show URL, so the address is in the text too.
		e.Description = joined("\n", e.URL, e.Description)
	}
	if c.Details {
		e.Description = joined("\n", e.Description, contactLine(m.Contact), accessLine(m.Location))
	}
	return e
}

// feedStatus returns how certain a visit is.
// Calendar applications show tentative events differently from confirmed ones (RFC 5545,
// 3.8.1.11), and clients hide cancelled ones.
func feedStatus(status fieldmark.MissionStatus) ics.Status {
	switch status {
	case fieldmark.MissionNew, fieldmark.MissionScheduled, fieldmark.MissionOnHold:
		return ics.Tentative
	case fieldmark.MissionCanceled, fieldmark.MissionUnableToComplete:
		return ics.Cancelled
	}
	return ics.Confirmed
}

// feedPriority returns the PRIORITY of an event: 1 is the highest, 5 medium and 9 the lowest
// (RFC 5545, 3.8.1.9).
func feedPriority(p fieldmark.Priority) int {
	switch p {
	case fieldmark.PriorityCritical:
		return 1
	case fieldmark.PriorityHigh:
		return 3
	case fieldmark.PriorityLow:
		return 7
	}
	return 5
}

// place returns a location on one line, in the format that map programs parse.
func place(l *fieldmark.Location) string {
	if l.Address == nil {
		return l.Name
	}
	a := l.Address
	return joined(", ", l.Name, a.Line1, a.Line2, joined(" ", a.PostalCode, a.City), a.Region, a.Country)
}

// contactLine and accessLine are in feeds with details only: they are personal data, and anyone
// with the address of a feed can read them.
func contactLine(c *fieldmark.Contact) string {
	if c == nil {
		return ""
	}
	return "Contact: " + joined(", ", c.Name, c.Phone, c.Email)
}

func accessLine(l *fieldmark.Location) string {
	if l == nil || l.AccessNotes == "" {
		return ""
	}
	return "Access: " + shorten(l.AccessNotes, maxFeedText)
}

// joined joins the parts that are not empty.
func joined(with string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), with)
}

// shorten truncates text to a number of code points and marks the truncation.
func shorten(text string, longest int) string {
	if utf8.RuneCountInString(text) <= longest {
		return text
	}
	return string([]rune(text)[:longest-1]) + "…"
}

// cachedFeed is a cached feed and the state it was encoded from.
type cachedFeed struct {
	Feed
	head    int64 // of the event log before its missions were read
	version string
	day     time.Time
	page    string // address of the technician's page
}

// feeds caches encoded feeds, up to maxFeedsBytes. A feed's bytes are never changed, so get may
// return them without a copy.
type feeds struct {
	flight singleflight.Group

	mu     sync.Mutex
	cached map[string]*cachedFeed
	bytes  int
}

func (f *feeds) get(id string) *cachedFeed {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.cached[id]
}

func (f *feeds) put(feed *cachedFeed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.remove(feed.Calendar)
	f.cached[feed.Calendar] = feed
	f.bytes += len(feed.Bytes)
	for id := range f.cached { // in any order: a removed feed is encoded again on request
		if f.bytes <= maxFeedsBytes {
			return
		}
		if id != feed.Calendar {
			f.remove(id)
		}
	}
}

func (f *feeds) drop(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.remove(id)
}

// remove is called with mu held.
func (f *feeds) remove(id string) {
	if old, ok := f.cached[id]; ok {
		f.bytes -= len(old.Bytes)
		delete(f.cached, id)
	}
}

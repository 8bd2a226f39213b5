package standing

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/store/replica"
)

// The changes of scores that bulk readers poll.

// tombstones is how long readers of changes get the names of removed brands.
const tombstones = fieldmark.ScoreTombstones * 24 * time.Hour

// changesPoll is the delay until the event of another process is seen, as in the event log.
const changesPoll = 500 * time.Millisecond

// pruneInterval is the time between two deletions of old tombstones.
const pruneInterval = 6 * time.Hour

// visible reports whether a computed standing differs from the one before in anything that bulk
// reads show.
func (m *move) visible() bool {
	a, b := &m.was.StandingBody, &m.next.StandingBody
	return a.Standing.Differs(b.Standing, 0) || a.Confidence != b.Confidence || !same(a.Spread, b.Spread) ||
		!same(a.AsOf, b.AsOf)
}

// same compares what two pointers point to; nil equals nil only.
func same[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

// recordChanges numbers a change of standings by one event for all of them: an event for each
// brand would be a million after the activation of a module. It concerns no account, and has no
// tags, as edges score brands themselves.
func recordChanges(ctx context.Context, tx *store.Tx, brands []fieldmark.Slug) error {
	if len(brands) == 0 {
		return nil
	}
	// In the transaction of the standings: a client that has read the event also reads the new scores.
	number, err := event.Emit(ctx, tx, "", store.Event{Event: fieldmark.Event{Type: fieldmark.EventScoresChanged}},
		map[string]int{"brands": len(brands)})
	if err != nil {
		return err
	}
	for _, slug := range brands {
		if err := tx.SetScoreEvent(ctx, slug, number); err != nil {
			return err
		}
	}
	return nil
}

// position is what a client passes as since: a place in the changes of a log.
type position struct {
	log string // empty: not said
	store.ScorePosition
	// base is the event that the client began at, if it reads everything: the brands that went
	// before are not news to it.
	base int64
}

// String is the opaque form: the log, the event, the last slug and the base.
func (p position) String() string {
	slug, base := "", ""
	if p.After != store.EndOfEvent {
		slug = string(p.After)
	}
	if p.base > p.Event {
		base = strconv.FormatInt(p.base, 10)
	}
	return p.log + "." + strconv.FormatInt(p.Event, 10) + "." + slug + "." + base
}

// parsePosition parses next of a page, or the number of an event.
func parsePosition(s string) (p position, err error) {
	p.After = store.EndOfEvent
	parts := strings.Split(s, ".")
	switch len(parts) {
	case 1:
		p.Event, err = parseEvent(s)
		return p, err
	case 4:
	default:
		return p, errSince()
	}
	p.log = parts[0]
	if p.Event, err = parseEvent(parts[1]); err != nil {
		return p, err
	}
	if parts[2] != "" {
		if p.After, err = fieldmark.ParseSlug(parts[2]); err != nil {
			return p, errSince()
		}
	}
	if parts[3] != "" {
		p.base, err = parseEvent(parts[3])
	}
	return p, err
}

func parseEvent(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > 1<<53 || strings.HasPrefix(s, "+") {
		return 0, errSince()
	}
	return n, nil
}

func errSince() error {
	return &fieldmark.Error{Code: fieldmark.CodeInvalidParameter, Detail: "the query is not acceptable",
		Fields: []fieldmark.FieldError{{Pointer: "?since", Code: "format",
			Detail: "must be next of a page, or the number of an event"}}}
}

func errTooOld(why string) error {
	return fieldmark.Errorf(fieldmark.CodeSinceTooOld, "%s; read the newest of %s, or everything with since=0",
		why, fieldmark.PathDumps)
}

// Changes returns the scores that changed after a position, each brand once at its newest, at
// most limit of them; since is next of a page or the number of an event. Without changes it waits
// up to wait for one. A reader that applies pages in order has the state of the database when it
// has read all of them, whatever changes meanwhile: a brand that changes again comes again.
func (s *Service) Changes(ctx context.Context, since string, limit int, wait time.Duration) (
	page fieldmark.ScoreChanges, err error) {
	at, err := parsePosition(since)
	if err != nil {
		return page, err
	}
	timeout := time.NewTimer(min(max(wait, 0), fieldmark.MaxScoreWait*time.Second))
	defer timeout.Stop()
	poll := time.NewTicker(changesPoll)
	defer poll.Stop()
	for {
		grown := s.cfg.Store.Watch(store.TopicEvents)
		page, err = s.changes(ctx, at, limit)
		if err != nil || len(page.Items)+len(page.Gone) > 0 || wait <= 0 {
			return page, err
		}
		select {
		case <-grown:
		case <-poll.C:
		case <-timeout.C:
			return page, nil
		case <-ctx.Done():
			return page, fmt.Errorf("wait for changes of scores: %w", ctx.Err())
		}
	}
}

// changes reads one page.
func (s *Service) changes(ctx context.Context, at position, limit int) (page fieldmark.ScoreChanges, err error) {
	log, err := s.cfg.Store.LogStatus(ctx, 0) // before the changes: they may be newer, but not older
	if err != nil {
		return page, err
	}
	switch {
	case at.log != "" && at.log != log.Name:
		return page, errTooOld("the event is of another log")
	case max(at.Event, at.base) > log.Head:
		return page, errTooOld("the log has no such event")
	case at.Event == 0:
		at.base = log.Head
	}
	var list []store.ScoreChange
	// A replica must not hide what the primary has just reported.
	err = s.cfg.Store.ReadAt(ctx, replica.Position{Log: log.Name, Event: log.Head},
		func(ctx context.Context) (err error) {
			list, err = s.changed(ctx, at, limit+1)
			return err
		})
	if err != nil {
		return page, err
	}
	page = fieldmark.ScoreChanges{Items: []fieldmark.ScoreItem{}, Gone: []fieldmark.GoneScore{}, Head: log.Head,
		Log: log.Name, More: len(list) > limit}
	for _, c := range list[:min(len(list), limit)] {
		if c.Gone {
			page.Gone = append(page.Gone, fieldmark.GoneScore{Slug: c.Slug, Event: c.Event})
		} else {
			page.Items = append(page.Items, c.ScoreItem)
		}
		at.ScorePosition = store.ScorePosition{Event: c.Event, After: c.Slug}
	}
	if !page.More {
		// Everything up to the head was read, also what changed no score.
		at.ScorePosition = store.ScorePosition{Event: max(at.Event, log.Head), After: store.EndOfEvent}
	}
	page.Head = max(page.Head, at.Event)
	at.log = log.Name
	page.Next = at.String()
	return page, nil
}

// changed reads the changes after a position, unless some of them are no longer known.
func (s *Service) changed(ctx context.Context, at position, limit int) ([]store.ScoreChange, error) {
	if at.Event > 0 {
		forgotten, err := s.cfg.Store.ForgottenScores(ctx, time.Now().Add(-tombstones))
		if err != nil {
			return nil, err
		}
		if max(at.Event, at.base) < forgotten {
			return nil, errTooOld("brands were removed since and are no longer known")
		}
	}
	return s.cfg.Store.ScoreChanges(ctx, at.ScorePosition, limit)
}

// prune deletes the brands that went long ago.
func (s *Service) prune(ctx context.Context) error {
	return s.cfg.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.PruneScoreChanges(ctx, time.Now().Add(-tombstones))
	})
}

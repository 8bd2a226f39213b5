package snapshot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/ranking"
	"github.com/fieldmark/fieldmark/internal/timeout"
	"github.com/fieldmark/fieldmark/origin/client"
)

const (
	// maxEvents is how many events a file may be behind the log: each changed brand is scored again.
	maxEvents = 10_000
	// checked is how many lines are recomputed: if one line in ten is wrong, a file passes in one of 29 cases, and
	// if one in three is, in one of 430,000.
	checked = 32
	// maxRounds is how often so many lines are drawn: brands that changed since the file cannot be compared.
	maxRounds = 8
	// listInterval is the pause between two reads of the list while a file is waited for, on average.
	listInterval = 5 * time.Second
	// maxTries is how often a request is sent, with a pause of up to tryPause between.
	maxTries = 4
	tryPause = time.Second
)

// ErrNone is the error if there is no file to start from: the origin makes none, or none of the module.
var ErrNone = errors.New("there is no ranking file of this module")

// Refused is the error of a file that is not what it should be.
// A retry would read the same bytes, unlike after an error of the network.
type Refused struct {
	SHA256 string
	Err    error
}

// Error implements error.
func (r *Refused) Error() string {
	return fmt.Sprintf("ranking file %.12s refused: %v", r.SHA256, r.Err)
}

// Unwrap returns the reason.
func (r *Refused) Unwrap() error { return r.Err }

// Loader loads ranking files by one module.
type Loader struct {
	Origin *client.Client
	Log    *slog.Logger
	Module fieldmark.Digest
	// Row scores a brand by the module as of a time.
	Row func(ctx context.Context, state *fieldmark.BrandState, at time.Time) (*ranking.Row, error)
	// Changes returns the brands that events change, with the newest event of each, and whether all brands have to
	// be scored again.
	Changes func(events []fieldmark.Event) (brands map[fieldmark.Slug]int64, everything bool)
}

// Loaded is the content of a file.
type Loaded struct {
	File fieldmark.RankingFile
	Day  time.Time
	Rows []*ranking.Row
	// Changed are the brands to be scored again, with the newest event of each.
	Changed map[fieldmark.Slug]int64
	Failed  fieldmark.Slug // a brand that the module cannot score; empty: it scores all
}

// Load loads the newest file of the module and the present day. It waits for it for a time, if the origin makes
// files at all; a caller that does not wait gets that of the day before, too. The error is ErrNone without such a
// file, and *Refused for one that must not be used.
func (l *Loader) Load(ctx context.Context, wait time.Duration) (*Loaded, error) {
	until := time.Now().Add(wait)
	for {
		files, err := l.list(ctx)
		if err != nil {
			return nil, err
		}
		now := time.Now().UTC()
		today := l.find(files, now)
		if today == nil && time.Now().Before(until) && len(files) > 0 {
			// With jitter, because a fleet that starts together would read the list together.
			if err := timeout.Sleep(ctx, listInterval/2+rand.N(listInterval)); err != nil {
				return nil, err
			}
			continue
		}
		if today == nil && wait == 0 {
			today = l.find(files, now.AddDate(0, 0, -1))
		}
		if today == nil {
			return nil, ErrNone
		}
		loaded, err := l.load(ctx, today)
		if err != nil && ctx.Err() == nil {
			err = &Refused{today.SHA256, err}
		}
		return loaded, err
	}
}

// find returns the newest file of the module and a day, or nil.
func (l *Loader) find(files []fieldmark.RankingFile, day time.Time) *fieldmark.RankingFile {
	for i := range files {
		if files[i].Module.Digest == l.Module && files[i].Day == day.Format(time.DateOnly) {
			return &files[i]
		}
	}
	return nil
}

// list returns the list of files. An origin of an earlier release has none.
func (l *Loader) list(ctx context.Context) (files []fieldmark.RankingFile, err error) {
	err = retry(ctx, func() error {
		all, err := l.Origin.RankingFiles(ctx)
		// No error: an edge of this release starts with an origin of the one before.
		if fieldmark.IsCode(err, fieldmark.CodeNotFound) {
			return nil
		}
		files = all.Items
		return err
	})
	return files, err
}

// retry calls fn until it succeeds, at most maxTries times.
func retry(ctx context.Context, fn func() error) (err error) {
	for range maxTries {
		if err = fn(); err == nil || ctx.Err() != nil {
			return err
		}
		if err := timeout.Sleep(ctx, rand.N(tryPause)); err != nil {
			return err
		}
	}
	return err
}

// load downloads and checks a file.
func (l *Loader) load(ctx context.Context, f *fieldmark.RankingFile) (*Loaded, error) {
	began := time.Now()
	loaded, err := l.download(ctx, f)
	if err != nil {
		return nil, err
	}
	// Read before the check: brands that changed since the file cannot be compared.
	c := &catchUp{loader: l, at: fieldmark.EventCursor{Number: f.Event}, epoch: f.Epoch, changed: loaded.Changed}
	if err := c.read(ctx); err != nil {
		return nil, err
	}
	fetched := time.Now()
	if len(loaded.Rows) == 0 {
		return nil, errors.New("no lines")
	}
	if err := l.check(ctx, loaded, c); err != nil {
		return nil, err
	}
	l.Log.Info("ranking file loaded", slog.Int("lines", f.Lines), slog.Int64("event", f.Event),
		slog.Int("changed", len(loaded.Changed)), slog.Duration("download", fetched.Sub(began)),
		slog.Duration("check", time.Since(fetched)))
	return loaded, nil
}

// catchUp reads the log after a file.
type catchUp struct {
	loader  *Loader
	epoch   string
	at      fieldmark.EventCursor // the newest event read
	events  int
	changed map[fieldmark.Slug]int64
}

// read reads the log up to its end.
func (c *catchUp) read(ctx context.Context) error {
	for {
		var page fieldmark.EventPage
		err := retry(ctx, func() (err error) {
			page, err = c.loader.Origin.Events(ctx, c.at, 0)
			return err
		})
		if err != nil {
			return err
		}
		// Another log, or one that was restored or pruned: what is missing cannot be known.
		if page.Log != c.epoch || page.Head < c.at.Number || page.Oldest > c.at.Number+1 || page.Diverged(c.at) {
			return fmt.Errorf("event %d is not in the log any more", c.at.Number)
		}
		brands, everything := map[fieldmark.Slug]int64{}, false
		if len(page.Events) > 0 {
			brands, everything = c.loader.Changes(page.Events)
		}
		// Scoring all brands without the file takes no longer.
		if c.events += len(page.Events); everything || c.events > maxEvents {
			return fmt.Errorf("after event %d all brands have to be scored again: %d events", c.at.Number, c.events)
		}
		for slug, event := range brands {
			c.changed[slug] = event
		}
		next := page.Next(c.at)
		if next == c.at || next.Number >= page.Head {
			c.at = next
			return nil
		}
		c.at = next
	}
}

// check recomputes random lines from the facts.
func (l *Loader) check(ctx context.Context, loaded *Loaded, c *catchUp) error {
	right := 0
	for range maxRounds {
		n, err := l.checkSome(ctx, loaded, c)
		if right += n; err != nil || right >= checked {
			return err
		}
	}
	return fmt.Errorf("only %d of %d lines could be compared", right, maxRounds*checked)
}

// checkSome draws lines and compares those that can be compared. It returns how many are right; the others have
// changed since.
func (l *Loader) checkSome(ctx context.Context, loaded *Loaded, c *catchUp) (right int, err error) {
	rows := make(map[fieldmark.Slug]*ranking.Row, checked)
	for range checked {
		// At random on each edge: a forger cannot know which lines are recomputed.
		row := loaded.Rows[rand.IntN(len(loaded.Rows))]
		if _, changed := loaded.Changed[row.Slug()]; !changed && !row.IsAlias() {
			rows[row.Slug()] = row
		}
	}
	if len(rows) == 0 {
		return 0, nil
	}
	// Together, because an origin serves a fleet that starts.
	var states map[fieldmark.Slug]fieldmark.BrandState
	err = retry(ctx, func() (err error) {
		states, err = l.Origin.BrandStatesOf(ctx, slices.Collect(maps.Keys(rows)))
		return err
	})
	if err != nil {
		return 0, err
	}
	for slug, row := range rows {
		comparable, err := l.compare(ctx, loaded, row, states[slug])
		if err != nil && ctx.Err() == nil { // the brand may have changed just now
			if failed := c.read(ctx); failed != nil {
				return right, failed
			}
			if _, changed := loaded.Changed[slug]; changed {
				continue
			}
			err = fmt.Errorf("line of %s: %w", slug, err)
		}
		if err != nil {
			return right, err
		}
		if comparable {
			right++
		}
	}
	return right, nil
}

// compare compares a row with what the facts give. It reports false if they cannot be compared: an audit has
// confirmed the facts since, which is no event.
func (l *Loader) compare(ctx context.Context, loaded *Loaded, row *ranking.Row,
	state fieldmark.BrandState) (comparable bool, err error) {
	// A line of an invented or renamed brand.
	if state.Brand.Slug != row.Slug() {
		return false, errors.New("there is no such brand")
	}
	made := loaded.File.CreatedAt.Std()
	if state.Facts != nil && state.Facts.AsOf.Std().After(made) {
		return false, nil
	}
	again, err := l.Row(ctx, &state, made)
	if err != nil {
		return false, err
	}
	got, want := row.Line(), again.Line()
	// The facts were confirmed later than the file was made.
	if got.AsOf < want.AsOf {
		return false, nil
	}
	// The origin sends the past that trends need today.
	if today := time.Now().UTC().Truncate(24 * time.Hour); !today.Equal(loaded.Day) {
		got.Past, want.Past = [3]int32{}, [3]int32{}
	}
	if got.Failed && want.Failed {
		return true, nil
	}
	if got != want {
		return false, fmt.Errorf("the file has %+v, the facts give %+v", got.Values, want.Values)
	}
	return true, nil
}

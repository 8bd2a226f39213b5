package edge

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/edge/ranking"
	"github.com/fieldmark/fieldmark/wasm"
)

const (
	// passPage is how many brands are read in one request: 6 MB with evidence and 2
	// without, which the origin reads in well under a second.
	passPage = 500
	// warmScores is how many score documents a node makes ready while it ranks.
	// Beyond it a node that starts would spend minutes on what few ask for.
	warmScores = 10_000
)

// rankPass scores every public brand by one module, page by page, beside the
// reader of the log. A page that fails is asked for again, not those before it.
type rankPass struct {
	edge    *Edge
	module  *wasm.Module
	release func()    // gives up the module
	wanted  wanted    // what was wanted when it began
	began   time.Time // the time it ranks as of
	known   int64     // the newest event at which the module was known to be the active one
	warm    bool      // it makes score documents ready

	cancel context.CancelFunc
	done   chan struct{} // closed when what follows is complete
	rows   []*ranking.Row
	asOf   int64 // the newest event that was in the log before the first page was read
	err    error
}

// rankAll begins a pass where one is wanted and publishes what it has ranked.
func (r *ranker) rankAll(ctx context.Context, w wanted) error {
	if r.pass != nil && r.superseded(r.pass.module) {
		r.endPass()
	}
	if r.pass != nil {
		select {
		case <-r.pass.done:
			return r.finishPass(ctx)
		default:
			return nil
		}
	}
	if r.ranking != nil && w.everything == r.done.everything && !r.superseded(r.module) && time.Now().Before(r.daily) {
		return nil
	}
	return r.startPass(ctx, w)
}

func (r *ranker) startPass(ctx context.Context, w wanted) error {
	e := r.edge
	known := e.follow.module.Load() // before the module is read
	m, release, err := e.modules.active.Acquire()
	if err != nil {
		return errNoModule
	}
	ctx, cancel := context.WithCancel(ctx)
	r.pass = &rankPass{edge: e, module: m, release: release, wanted: w, began: time.Now(), known: known,
		warm: r.ranking == nil || r.ranking.Method.Module != m.Ref(), cancel: cancel, done: make(chan struct{})}
	r.changed = map[fieldmark.Slug]int64{}
	go r.pass.run(ctx)
	return nil
}

// endPass gives a pass up, if there is one, and waits for its end.
func (r *ranker) endPass() {
	if r.pass == nil {
		return
	}
	r.pass.cancel()
	<-r.pass.done
	r.pass.release()
	r.pass = nil
}

// finishPass publishes what a pass has ranked. Brands that were ranked while it
// ran are scored again first, so that no brand goes back to what the pass saw.
func (r *ranker) finishPass(ctx context.Context) error {
	p := r.pass
	if p.err != nil {
		r.endPass()
		return p.err
	}
	rows, err := r.scoreAll(ctx, p.module, r.changed)
	if err != nil {
		return err // the pass is kept: only this is tried again
	}
	r.pass = nil
	p.cancel()
	if r.ranking != nil {
		r.release()
	}
	r.module, r.release, r.done.everything, r.asOf = p.module, p.release, p.wanted.everything, p.began
	day := p.began.UTC().Truncate(24 * time.Hour)
	r.daily = day.AddDate(0, 0, 1).Add(rand.N(dailySpread))
	r.publish(func() *ranking.Snapshot {
		s := ranking.New(ranking.Method{Module: p.module.Ref(), Methodology: p.module.Methodology()}, p.rows, fieldmark.At(fieldmark.TrendTimes(p.began)[0]))
		if len(rows) > 0 {
			s = s.Apply(rows)
		}
		return s
	})
	r.edge.follow.backlog.whileAttached(p.wanted.attached, func() { r.edge.rankings.SetIncomplete(false) })
	return nil
}

// run reads and scores all pages.
func (p *rankPass) run(ctx context.Context) {
	defer close(p.done)
	pause := backoffFirst
	var after fieldmark.Slug
	for first := true; ; {
		bare := !p.warm || len(p.rows) >= warmScores
		var page []fieldmark.BrandState
		asOf, more, err := p.edge.cfg.Origin.BrandStates(ctx, after, passPage, bare, func(s fieldmark.BrandState) error {
			page = append(page, s)
			return nil
		})
		if ctx.Err() != nil {
			p.err = ctx.Err()
			return
		}
		if err != nil {
			if pause == backoffFirst {
				p.edge.log.Warn("brands cannot be read; trying again", "after", after, "err", err)
			}
			sleep(ctx, pause/2+rand.N(pause))
			pause = min(2*pause, backoffMax)
			continue
		}
		pause = backoffFirst
		if first {
			p.asOf, first = asOf, false
		}
		for i := range page {
			if p.err = p.add(ctx, &page[i], min(asOf, p.known), !bare); p.err != nil {
				return
			}
		}
		if !more {
			return
		}
		after = page[len(page)-1].Brand.Slug
	}
}

// add scores one brand. Keep makes its score document ready.
func (p *rankPass) add(ctx context.Context, state *fieldmark.BrandState, asOf int64, keep bool) error {
	e := p.edge
	row, score, err := e.row(ctx, p.module, *state, p.began)
	if err != nil {
		return fmt.Errorf("rank every brand: %w", err)
	}
	p.rows = append(append(p.rows, row), aliasRows(state)...)
	if keep && score != nil && len(p.rows) <= warmScores && e.modules.digest(score.Slug) == p.module.Ref().Digest {
		e.keep(ctx, *score, asOf)
	}
	return nil
}

// aliasRows are the rows of a brand's other slugs.
func aliasRows(state *fieldmark.BrandState) []*ranking.Row {
	rows := make([]*ranking.Row, len(state.Aliases))
	for i, slug := range state.Aliases {
		rows[i] = ranking.NewAlias(slug, state.Brand.Slug)
	}
	return rows
}

// keep puts a score at hand before anybody asks, so that it is there when the
// origin is not.
func (e *Edge) keep(ctx context.Context, score fieldmark.Score, asOf int64) {
	e.refreshed(e.cache.Fetch(ctx, scoreKey(score.Slug), func(context.Context) (*cache.Entry, error) {
		return newScoreEntry(score, asOf)
	}))
}

package edge

import (
	"context"
	"net"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/edge/compress"
	"github.com/fieldmark/fieldmark/edge/conn"
	"github.com/fieldmark/fieldmark/edge/ranking"
)

// AppendFastPath answers the request that b begins with by the fast path, and reports
// whether it did.
func (e *Edge) AppendFastPath(dst, b []byte) ([]byte, bool) {
	r, ok := conn.ParseSimpleGET(b, fieldmark.PathBadge)
	if !ok {
		return dst, false
	}
	return e.appendCached(dst, r, cachedTime)
}

// AppendFastPathFrom is AppendFastPath for a request on a connection, which is logged.
func (e *Edge) AppendFastPathFrom(dst, b []byte, peer *conn.Peer) ([]byte, bool) {
	r, ok := conn.ParseSimpleGET(b, fieldmark.PathBadge)
	if !ok {
		return dst, false
	}
	r.Peer = peer
	return e.appendCached(dst, r, cachedTime)
}

var cachedTime = conn.NewTime(time.Now())

// SitemapOf is a part of the present sitemap, were each to hold no more than most.
func SitemapOf(e *Edge, part, most int) []byte {
	return sitemapOf(e.rankings.Current(), e.cfg.BaseURL, part, most)
}

// ServeConn serves one connection, of a node that is not run.
func (e *Edge) ServeConn(c net.Conn) { e.conns.ServeConn(c) }

// Serve serves the connections of one more listener, of a node that is run.
func (e *Edge) Serve(ln net.Listener) error { return e.conns.Serve(ln) }

// Close gives back what New took, of a node that was not run.
func (e *Edge) Close() { e.close() }

// AllowSlowRedis has a call of Redis take up to d.
func (c *Config) AllowSlowRedis(d time.Duration) { c.redisTimeout = d }

// DrainWithin has a node that is not run yet finish what it began within d.
func (e *Edge) DrainWithin(d time.Duration) { e.drainTime = d }

// KeepBadge puts a badge that was not drawn into the cache of a node.
func (e *Edge) KeepBadge(path string, body []byte) {
	e.cache.Put(path, packEntry(&cache.Entry{Body: body, Status: 200, Fresh: time.Hour,
		Value: newHead(`"0123456789abcdef01234567"`, append([]string{
			"Content-Type", formatTypes[formatSVG], "Cache-Control", badgeCacheControl,
			"Link", "<https://marks.example" + path + `>; rel="describedby"`,
			"Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT"}, badgeFields...)...)}))
}

// KeepScore stores a score document, plain and compressed, and returns how many
// bytes the cache counts.
func (e *Edge) KeepScore(score fieldmark.Score) (used int64, err error) {
	entry, err := newScoreEntry(score, 0, time.Now())
	if err != nil {
		return 0, err
	}
	w, done := compress.NewWorker(), make(chan struct{})
	entry.Value.(*scoreValue).gzip.Get(w, entry.Body)
	w.TrySubmit(func() { close(done) })
	w.Run(done)
	e.cache.Put(scoreKey(score.Slug), entry)
	return e.cache.Used(), nil
}

// RescoreKept stores a score that was made at an instant, as of an event, and returns what the ranking
// takes for the brand after that event.
func (e *Edge) RescoreKept(ctx context.Context, score fieldmark.Score, event int64, made time.Time) (*ranking.Row,
	error) {
	entry, err := newScoreEntry(score, event, made)
	if err != nil {
		return nil, err
	}
	e.cache.Put(scoreKey(score.Slug), entry)
	m, release, err := e.modules.active.Acquire()
	if err != nil {
		return nil, err
	}
	defer release()
	return e.scorer.rescore(ctx, m, score.Slug, event)
}

// RoutePaths returns the path of every route of a node.
func RoutePaths(e *Edge) (paths []string) {
	for _, r := range e.routes.table {
		paths = append(paths, r.path)
	}
	return paths
}

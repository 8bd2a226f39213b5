package edge

import (
	"net"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/cache"
	"github.com/fieldmark/fieldmark/edge/compress"
)

// Glance is glance for its fuzz test: what it made out, and whether it is sure.
func Glance(b []byte) (target, match []byte, size int, ok bool) {
	g, ok := glance(b)
	return g.target, g.match, g.size, ok
}

// AppendGlance answers a head by a glance, or says that it is none for it.
func (e *Edge) AppendGlance(dst, head []byte) ([]byte, bool) {
	g, ok := glance(head)
	if !ok {
		return dst, false
	}
	return e.appendGlance(dst, &g, e.clock.now.Load())
}

// SitemapOf is a part of the present sitemap, were each to hold no more than most.
func SitemapOf(e *Edge, part, most int) []byte {
	return sitemapOf(e.boards.current(), e.cfg.BaseURL, part, most)
}

// ServeConn serves one connection, for a node that is not run.
func (e *Edge) ServeConn(c net.Conn) {
	if v, ok := e.admit(c); ok {
		v.serve()
	}
}

// Close gives back what New took, of a node that was not run.
func (e *Edge) Close() { e.close() }

// KeepBadge has a node hold a badge that nobody drew.
func (e *Edge) KeepBadge(path string, body []byte) {
	e.cache.Put(path, atOnce(&cache.Entry{Body: body, Status: 200, Fresh: time.Hour, Value: newHead(`"0123456789abcdef01234567"`, append([]string{
		"Content-Type", formTypes[formSVG], "Cache-Control", badgeCacheControl,
		"Link", "<https://marks.example" + path + `>; rel="describedby"`, "Surrogate-Key", "brand-x",
		"Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT"}, badgeFields...)...)}))
}

// KeepScore stores a score document, plain and compressed,, and returns how many
// bytes the cache counts.
func (e *Edge) KeepScore(score fieldmark.Score) (used int64, err error) {
	entry, err := newScoreEntry(score, 0)
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

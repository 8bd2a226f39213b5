package edge_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/edge/badge"
	"github.com/fieldmark/fieldmark/internal/testkit/browsertest"
)

// ask opens a page and returns what a promise of its script comes to.
func ask(t *testing.T, b *browsertest.Browser, address, script string, answer any) {
	t.Helper()
	b.Open(t, address, browsertest.View{}).Eval(t, "("+script+")()", answer)
}

// serve serves one page of HTML with a field more in its head.
func serve(t *testing.T, body string, field ...string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		for i := 0; i < len(field); i += 2 {
			w.Header().Set(field[i], field[i+1])
		}
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

var browserBadges = []badge.Badge{
	{Name: "Acme", State: badge.Ready, Score: 100_000, Grade: "A", AsOf: 2026*12 + 10},
	{Name: "Acme", State: badge.NotYet, Score: 54_000, Grade: "D", AsOf: 2026*12 + 10},
	{Name: "Acme", State: badge.Stale, Score: 83_000, Grade: "B", AsOf: 2026*12 + 6},
	{Name: "Acme", State: badge.Pending},
	{Name: "Acme", State: badge.Unreachable, AsOf: 2026*12 + 10},
	{Name: "Acme", State: badge.Unrated},
}

var browserStyles = []badge.Style{badge.Pill, badge.Compact, badge.Card, badge.Seal, badge.Flat, badge.FlatSquare,
	badge.ForTheBadge}

// comparePictures draws pairs of pictures at two times the size and tells the
// mean difference of a channel, in 255ths, and the share of pixels that differ
// by more than a quarter.
const comparePictures = `async () => {
	const pixels = async img => {
		await img.decode();
		const c = new OffscreenCanvas(+img.dataset.w, +img.dataset.h), d = c.getContext("2d");
		d.fillStyle = "#888"; d.fillRect(0, 0, c.width, c.height);
		d.drawImage(img, 0, 0, c.width, c.height);
		return d.getImageData(0, 0, c.width, c.height).data;
	};
	const all = [];
	for (const pair of document.querySelectorAll("p")) {
		const [a, b] = await Promise.all([...pair.querySelectorAll("img")].map(pixels));
		let sum = 0, far = 0;
		for (let i = 0; i < a.length; i++) { const d = Math.abs(a[i] - b[i]); sum += d; if (d > 64) far++; }
		all.push({look: pair.dataset.look, mean: sum / a.length, far: far / a.length});
	}
	return all;
}`

// A browser's picture of the SVG is our PNG, but for the edges of shapes.
func TestBadgePixels(t *testing.T) {
	t.Parallel()
	b := browsertest.Start(t)
	const mean, far = 2, 0.005
	looks := []string{
		"", "theme=dark", "theme=mono", "style=compact", "style=compact&theme=dark", "style=compact&theme=mono",
		"style=card", "style=card&theme=dark", "style=card&theme=mono", "style=seal", "style=seal&theme=dark",
		"style=seal&theme=mono",
		"style=flat", "style=flat&theme=mono", "style=flat-square", "style=for-the-badge",
		"style=for-the-badge&theme=mono",
		"lang=ar", "style=card&lang=he", "style=compact&lang=fa", "style=flat&lang=ar", "style=for-the-badge&lang=he",
		"lang=ja", "style=card&lang=ko", "style=seal&lang=zh", "style=card&lang=hi", "lang=th", "style=card&lang=vi",
		"style=for-the-badge&lang=el",
		"lang=ru", "style=flat&lang=de", "label=Our+score", "style=card&label=%D0%9D%D0%B0%D1%88",
	}
	var page strings.Builder
	page.WriteString(`<!doctype html><meta charset="utf-8">`)
	pair := func(b badge.Badge, query string) {
		q, err := url.ParseQuery(query)
		must(t, err)
		l, err := badge.ParseOptions(q.Get)
		must(t, err)
		l.Outline = true
		if l.Theme == badge.Auto {
			l.Theme = badge.Light
		}
		w, h := badge.Size(b, l)
		ours, err := badge.PNG(b, l, 2)
		must(t, err)
		fmt.Fprintf(&page, `<p data-look="%d %s">`, b.State, query)
		for kind, image := range map[string][]byte{"svg+xml": badge.AppendSVG(nil, b, l), "png": ours} {
			fmt.Fprintf(&page, `<img data-w=%d data-h=%d src="data:image/%s;base64,%s">`, 2*w, 2*h, kind,
				base64.StdEncoding.EncodeToString(image))
		}
	}
	for _, query := range looks {
		pair(badge.Badge{Name: "Acme", State: badge.Ready, Score: 74_000, Grade: "B", AsOf: 2026*12 + 10}, query)
	}
	for _, b := range browserBadges {
		pair(b, "")
		pair(b, "style=card")
	}
	var got []struct {
		Look      string
		Mean, Far float64
	}
	ask(t, b, serve(t, page.String()), comparePictures, &got)
	if len(got) < 40 {
		t.Errorf("%d pictures compared, want at least 40", len(got))
	}
	for _, g := range got {
		if g.Mean > mean || g.Far > far {
			t.Errorf("%s: the pictures differ by %.2f on average and %.2f %% of them much, want at most %d and %.1f %%",
				g.Look, g.Mean, 100*g.Far, mean, 100*far)
		}
	}
}

// TestBadgeAnimation: the ring is animated unless the reader prefers reduced motion, and
// ends in the same position as in a still badge.
func TestBadgeAnimation(t *testing.T) {
	b := browsertest.Start(t)
	var page strings.Builder
	page.WriteString(`<!doctype html>`)
	for _, style := range browserStyles {
		for _, animate := range []bool{false, true} {
			page.Write(badge.AppendSVG(nil, browserBadges[1], badge.Options{Style: style, Animate: animate}))
		}
	}
	var got struct {
		Moving []string
		Ended  []string
	}
	ask(t, b, serve(t, page.String()), `async () => {
		const all = document.getAnimations(), ring = a => getComputedStyle(a.effect.target).strokeDasharray;
		all.forEach(a => { a.pause(); a.currentTime = 0; });
		const moving = all.map(a => a.effect.target.localName + " " + ring(a));
		all.forEach(a => a.cancel());
		return {moving, ended: all.map(ring)};
	}`, &got)
	if want := []string{"path 0px, 151px", "path 0px, 151px",
		"path 0px, 151px"}; fmt.Sprint(got.Moving) != fmt.Sprint(want) {
		t.Errorf("moving at first: %q, want %q: pill, card and seal", got.Moving, want)
	}
	if want := []string{"27.1px, 51px", "57.7px, 107px", "78px, 145px"}; fmt.Sprint(got.Ended) != fmt.Sprint(want) {
		t.Errorf("moved to: %q, want %q", got.Ended, want)
	}
}

const loadedWidths = `async () => {
	const all = [...document.images];
	await Promise.allSettled(all.map(img => img.decode()));
	return {isolated: self.crossOriginIsolated, widths: all.map(img => img.naturalWidth)};
}`

// A page that isolates itself shows the badge, though it shows nothing that
// does not allow it; so does one that shows an answer of 404.
func TestBadgeInIsolatedPage(t *testing.T) {
	t.Parallel()
	b := browsertest.Start(t)
	h := newBadgeFixture(t)
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/svg+xml")
		_, _ = w.Write(badge.AppendSVG(nil, badge.Badge{}, badge.Options{}))
	}))
	t.Cleanup(plain.Close)
	// Another host name is another site, as a badge's always is.
	base := strings.Replace(h.base, "127.0.0.1", "localhost", 1)
	page := serve(t, fmt.Sprintf(`<!doctype html><img src="%s/api/badge/acme"><img `+
		`src="%s/api/badge/acme.png?scale=2"><img src="%s/api/badge/nobody"><img src="%s/">`,
		base, base, base, strings.Replace(plain.URL, "127.0.0.1", "localhost", 1)),
		"Cross-Origin-Embedder-Policy", "require-corp", "Cross-Origin-Opener-Policy", "same-origin")
	var got struct {
		Isolated bool
		Widths   []int
	}
	ask(t, b, page, loadedWidths, &got)
	want := []int{badge.Width, 2 * badge.Width, badge.Width, 0}
	if !got.Isolated || fmt.Sprint(got.Widths) != fmt.Sprint(want) {
		t.Errorf("isolated %v, widths %v, want true and %v: the last picture has no permission", got.Isolated,
			got.Widths, want)
	}
}

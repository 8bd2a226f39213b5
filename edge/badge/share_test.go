package badge_test

import (
	"fmt"
	"image"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/badge"
)

// scored returns the score document of a brand.
func scored(name string, score fieldmark.Milli, change ...func(*fieldmark.Score)) fieldmark.Score {
	at := fieldmark.At(seen)
	s := fieldmark.Score{Slug: "acme", Name: name, URL: "https://www.acme.example/shop", Niche: "outdoor-equipment",
		Assessment: fieldmark.Assessment{Status: fieldmark.StatusScored, Score: &score, Grade: "A", GeoReady: true,
			AsOf: &at}}
	for _, f := range change {
		f(&s)
	}
	return s
}

func withStatus(status fieldmark.ScoreStatus) func(*fieldmark.Score) {
	return func(s *fieldmark.Score) {
		s.Status, s.GeoReady = status, false
		if status != fieldmark.StatusStale {
			s.Score, s.Grade = nil, ""
		}
		if status == fieldmark.StatusPending {
			s.AsOf = nil
		}
	}
}

func notReady(s *fieldmark.Score) { s.GeoReady, s.Grade = false, "D" }

// The golden pictures were looked at: every state, a name of one, two and three lines, and
// a name without outlines, which gives way to the host.
func TestSharePNG(t *testing.T) {
	const most = 80_000 // bytes: services that show previews load it each time
	for i, s := range []fieldmark.Score{
		scored("Alpenglow Gear", 92_400),
		scored("Sons & Daughters of <the> Lake District", 45_800, notReady),
		scored("Société coopérative des fromagers du Haut-Jura et de la vallée de Joux, depuis 1887", 99_900),
		scored("株式会社例", 61_000, withStatus(fieldmark.StatusStale),
			func(s *fieldmark.Score) { s.URL = "https://例え.example/" }),
		scored("Fern", 0, withStatus(fieldmark.StatusPending)),
		scored("Gone", 0, withStatus(fieldmark.StatusUnreachable)),
		scored("Fog", 0, withStatus(fieldmark.StatusInsufficientData)),
	} {
		for _, theme := range []badge.Theme{badge.Light, badge.Dark} {
			raw, err := badge.SharePNG(&s, theme, badge.ShareWidth)
			m := decode(t, raw, err)
			if size := m.Bounds().Size(); size != (image.Point{badge.ShareWidth, badge.ShareHeight}) ||
				len(raw) > most {
				t.Errorf("%s: %v in %d bytes, want %d by %d in %d bytes", s.Name, size, len(raw), badge.ShareWidth,
					badge.ShareHeight, most)
			}
			if theme == badge.Light || i == 0 {
				goldenPicture(t, fmt.Sprintf("share-%d-%d.png", i, theme), m)
			}
		}
	}
}

// Smaller cards are the same picture.
func TestSharePNGWidths(t *testing.T) {
	s := scored("Alpenglow Gear", 92_400)
	for _, width := range badge.ShareWidths {
		raw, err := badge.SharePNG(&s, badge.Light, width)
		want := image.Point{width, map[int]int{1200: 630, 600: 315, 300: 158}[width]}
		if size := decode(t, raw, err).Bounds().Size(); size != want || badge.ShareHeightOf(width) != want.Y {
			t.Errorf("width %d: %v and %d, want %v", width, size, badge.ShareHeightOf(width), want)
		}
	}
}

// Any name makes a card, of the widest letters too.
func FuzzSharePNG(f *testing.F) {
	for _, name := range []string{"Acme", "", " ", "WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW",
		"a\x00b", "שלום",
		"Zu\u0308rich", "a\u202eb"} {
		f.Add(name, "https://acme.example/")
	}
	f.Add("شركة", "::")
	f.Fuzz(func(t *testing.T, name, address string) {
		if len(name) > 4*fieldmark.MaxBrandName {
			return
		}
		s := scored(name, 50_000, func(s *fieldmark.Score) { s.URL = address })
		raw, err := badge.SharePNG(&s, badge.Light, badge.ShareWidth)
		decode(t, raw, err)
	})
}

func BenchmarkSharePNG(b *testing.B) {
	s := scored("Alpenglow Gear", 92_400)
	for b.Loop() {
		if _, err := badge.SharePNG(&s, badge.Light, badge.ShareWidth); err != nil {
			b.Fatal(err)
		}
	}
}

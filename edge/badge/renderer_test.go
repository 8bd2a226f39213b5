package badge_test

import (
	"math/rand/v2"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/badge"
)

// A painter draws what AppendSVG draws, whatever it drew before.
func TestRendererMatchesAppendSVG(t *testing.T) {
	const rounds = 4_000
	p := new(badge.Renderer)
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	var got, want []byte
	for range rounds {
		b := badge.Badge{
			Name: pick("", "Acme", "<&>", "Zürich", "שלום"), State: badge.State(r.IntN(9)),
			Score: fieldmark.Milli(r.IntN(101_000)), Grade: fieldmark.Grade(pick("A", "B", "C", "D", "E", "")),
			AsOf: badge.Month(pick("\x00", "a", "b")[0]) * 240, Claimed: r.IntN(4) == 0,
		}
		l := badge.Options{
			Style: badge.Style(r.IntN(len(styles))), Theme: badge.Theme(r.IntN(4)), Lang: badge.Lang(r.IntN(4)),
			Animate: r.IntN(4) == 0, Outline: r.IntN(8) == 0,
			Label: pick("", "", "Our score", "Nur score", "Ours core", "<b>&", "наш", "הציון", "我们", "iiiii",
				"A label too wide for a seal", "Another one wide for a seal"),
		}
		got, want = p.AppendSVG(got[:0], b, l), badge.AppendSVG(want[:0], b, l)
		if string(got) != string(want) {
			t.Fatalf("%+v %+v:\n got %s\nwant %s", b, l, got, want)
		}
	}
}

func TestRendererDoesNotAllocate(t *testing.T) {
	p := new(badge.Renderer)
	buf := make([]byte, 0, 8192)
	for _, style := range styles {
		for i, label := range []string{"", "Our score", "我们的分数", "", "Our score", "我们的分数"} {
			l := opts(t, "style="+style)
			l.Label, l.Outline = label, i >= 3
			if n := testing.AllocsPerRun(100, func() { buf = p.AppendSVG(buf[:0], samples[0].badge, l) }); n != 0 {
				t.Errorf("%s: %v allocations, want 0", l.Query(), n)
			}
		}
	}
}

package prose_test

import (
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/origin/audit/prose"
)

// TestStuffed: lists of keywords, and lists that honest sites hide.
func TestStuffed(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       bool
	}{
		{"a phrase again and again", strings.Repeat("best pizza in town, ", 8), true},
		{"a word again and again", strings.Repeat("viagra ", 30), true},
		{"a trade in cities",
			"plumber London, plumber Leeds, plumber York, plumber Bath, plumber Hull, plumber Derby, " +
				"plumber Ely, plumber Wells, plumber Ripon, plumber Truro, plumber Lincoln, plumber Exeter, plumber " +
				"Oxford, " +
				"plumber Chester, plumber Durham, plumber Norwich", true},
		{"variants", "cheap shoes, buy shoes, buy cheap shoes online, shoes sale, cheap running shoes, running shoes " +
			"sale, discount shoes, buy running shoes, cheap shoes shop, shoes online shop", true},
		{"German", strings.Repeat("Schlüsseldienst Köln günstig, Schlüsselnotdienst Köln, ", 6), true},
		{"Chinese", strings.Repeat("上海装修公司，上海装修设计，上海装修报价，", 6), true},
		{"Arabic", strings.Repeat("نقل عفش الرياض، شركة نقل عفش، ", 8), true},
		{"too short", "cheap shoes, buy shoes, cheap shoes sale", false},
		{"opening hours", "Mo 8–12 Uhr, 14–18 Uhr, Di 8–12 Uhr, 14–18 Uhr, Mi 8–12 Uhr, Do 8–12 Uhr, 14–18 Uhr, Fr " +
			"8–12 Uhr",
			false},
		{"slides", strings.Repeat("Slide 1, Slide 2, Slide 3, ", 8), false},
		{"ingredients", "organic rolled oats, organic raisins, organic almonds, organic coconut, organic pumpkin " +
			"seeds, " +
			"organic honey, organic cinnamon, organic vanilla, organic sunflower oil, sea salt", false},
		{"currencies", "US dollar, Euro, Pound sterling, Australian dollar, Canadian dollar, Swiss franc, Yen, Yuan, " +
			"Hong Kong dollar, Singapore dollar, New Zealand dollar, Swedish krona, Danish krone, Norwegian krone, " +
			"Zloty", false},
		{"countries", "Afghanistan, Albania, Algeria, Andorra, Angola, Argentina, Armenia, Australia, Austria, " +
			"Azerbaijan, " +
			"Bahamas, Bahrain, Bangladesh, Barbados, Belarus, Belgium, Belize, Benin, Bhutan, Bolivia, Guinea", false},
		{"prose", "We bake bread every morning. Our bread is made of flour, water and salt; its dough " +
			"rests for a " +
			"day. Bread from the day before is sold at half the price, and what is left goes to the food bank.", false},
		{"Japanese prose", "当店は毎朝パンを焼いています。生地は一日寝かせてから焼き上げます。前日のパンは半額で販売し、" +
			"残ったパンは地域の団体に寄付しています。ご予約は電話で承ります。", false},
	} {
		if got := prose.Stuffed(tt.text); (got != "") != tt.want {
			t.Errorf("%s: %q, want %t: %s", tt.name, got, tt.want, tt.text)
		}
	}
}

package validity_test

import (
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/visibility/validity"
)

// brandsOf returns n brands of a study. The score of the new module orders them as the citations do, that of
// the active one does not.
func brandsOf(n int, cited bool) (list []validity.Scored) {
	milli := func(v int) *fieldmark.Milli { return new(fieldmark.Milli(v)) }
	for i := range n {
		b := validity.Scored{Mention: milli(10 * i), Score: milli(1000 + i), Against: milli(1000 + i*7%11)}
		if cited {
			b.Citation = milli(5 * i)
		}
		list = append(list, b)
	}
	return list
}

// TestForetell: both modules are compared over the same brands, mentions count where nothing was cited, and
// few brands give counts only.
func TestForetell(t *testing.T) {
	many := [][]validity.Scored{brandsOf(20, true), brandsOf(20, true)}
	f := validity.Foretell(many, fieldmark.ForetellingSeen, "sha256:a")
	if f.Metric != "citation" || f.Brands != 40 || f.Studies != 2 || f.Tau == nil || *f.Tau != 1000 || *f.Low != 1000 {
		t.Fatalf("of 40 brands in order: %+v", f)
	}
	a := f.Against
	if a == nil || a.Tau > 500 || a.Difference != 1000-a.Tau || *a.Low <= 0 || *a.High < *a.Low {
		t.Errorf("against the active module: %+v, want a difference above 0", a)
	}
	if again := validity.Foretell(many, fieldmark.ForetellingSeen, "sha256:a"); *again.Against.Low != *a.Low {
		t.Errorf("the same studies gave %v and %v", *a.Low, *again.Against.Low)
	}
	if f = validity.Foretell([][]validity.Scored{brandsOf(40, false)}, fieldmark.ForetellingHeldOut, ""); f.Metric !=
		"mention" || f.Tau == nil {
		t.Errorf("without citations: %+v", f)
	}
	few := validity.Foretell([][]validity.Scored{brandsOf(29, true), nil}, fieldmark.ForetellingHeldOut, "")
	if few.Tau != nil || few.Against != nil || few.Brands != 29 || few.Studies != 1 || few.MinBrands != 30 {
		t.Errorf("of 29 brands: %+v, want counts only", few)
	}
	alone := brandsOf(40, true)
	for i := range alone {
		alone[i].Against = nil
	}
	f = validity.Foretell([][]validity.Scored{alone}, fieldmark.ForetellingHeldOut, "")
	if f.Tau == nil || f.Against != nil {
		t.Errorf("without another module: %+v", f)
	}
}

package origin_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/brand"
)

var acme = fieldmark.Brand{
	Slug: "acme", Name: "Acme", URL: "https://acme.example/", Niche: "tools", Language: "en", Public: true,
}

func putBrand(t testing.TB, w *fixture, b fieldmark.Brand) fieldmark.Brand {
	t.Helper()
	got, _, err := w.Brands.Put(t.Context(), b)
	if err != nil {
		t.Fatalf("put %+v: %v", b, err)
	}
	return got
}

func TestPutBrand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		ctx := t.Context()
		made, changed, err := w.Brands.Put(ctx, acme)
		if err != nil || !changed || made.CreatedAt.IsZero() {
			t.Fatalf("made %+v, %v, %v", made, changed, err)
		}
		time.Sleep(time.Hour) // virtual
		same, changed, err := w.Brands.Put(ctx, acme)
		if err != nil || changed || same != made || w.head(t) != 2 {
			t.Errorf("put again: %+v, %v, %v at event %d; want no change at 2", same, changed, err, w.head(t))
		}
		renamed := acme
		renamed.Name = "Acme & Söhne <b>"
		got, changed, err := w.Brands.Put(ctx, renamed)
		if err != nil || !changed || got.CreatedAt != made.CreatedAt || got.UpdatedAt == made.UpdatedAt {
			t.Errorf("renamed: %+v, %v, %v", got, changed, err)
		}
		read, err := w.Brands.Get(ctx, "acme")
		if read != got || err != nil {
			t.Errorf("read %+v, %v; want %+v", read, err, got)
		}
		e := w.events(t)[2]
		if e.Type != fieldmark.EventBrandChanged || e.Brand != "acme" ||
			!cmp.Equal(e.Tags, []fieldmark.Tag{"brand:acme"}) {
			t.Errorf("event of the change: %+v", e)
		}
		_, err = w.Brands.Get(ctx, "nobody")
		wantCode(t, "unknown slug", err, fieldmark.CodeNotFound)
	})
}

func TestPutBrandComplains(t *testing.T) {
	w := newFixture(t)
	_, _, err := w.Brands.Put(t.Context(), fieldmark.Brand{URL: "ftp://x", Description: "\x00"})
	wantFields(t, "nothing right", err, "/slug", "/name", "/url", "/niche", "/language", "/description")
	for _, bad := range []string{"", "acme.example", "https://", "http://user@acme.example/",
		"https://acme.example/" + strings.Repeat("a", 2048),
		"javascript:alert(1)", "https://acme.example/\n"} {
		b := acme
		b.URL = bad
		_, _, err := w.Brands.Put(t.Context(), b)
		wantFields(t, fmt.Sprintf("url %.40q", bad), err, "/url")
	}
	if head := w.head(t); head != 1 {
		t.Errorf("%d events after refusals, want 1", head)
	}
}

func TestImportBrands(t *testing.T) {
	w := newFixture(t)
	ctx := t.Context()
	var brands []fieldmark.Brand
	for i := range 250 {
		b := acme
		b.Slug = fieldmark.Slug(fmt.Sprintf("brand-%03d", i))
		b.Public = i%2 == 0
		brands = append(brands, b)
	}
	brands[7].Niche = "Not A Slug"
	report, err := w.Brands.Import(ctx, brands)
	if err != nil || report.Added != 249 || len(report.Rejected) != 1 || report.Rejected[0].Pointer != "/7/niche" {
		t.Fatalf("import: %+v, %v", report, err)
	}
	brands[7].Niche = "tools"
	brands[8].Name = "New name"
	report, err = w.Brands.Import(ctx, brands)
	if want := (fieldmark.ImportReport{Added: 1, Updated: 1, Unchanged: 248}); err != nil || !cmp.Equal(report, want) {
		t.Errorf("import again: %+v, %v; want %+v", report, err, want)
	}
	page, err := w.Brands.List(ctx, "brand-100", 3)
	if err != nil || len(page) != 3 || page[0].Slug != "brand-101" {
		t.Errorf("brands after brand-100: %v, %v", page, err)
	}
	head := w.head(t)
	var seen []fieldmark.Slug
	asOf, err := w.Brands.EachState(ctx, func(b fieldmark.BrandState) error {
		if len(seen) == 0 {
			putBrand(t, w, acme) // after asOf was read: may be missing here, must be after it in the log
		}
		if b.Facts != nil || b.FactsDigest != "" {
			t.Errorf("facts of an unaudited brand: %+v", b)
		}
		seen = append(seen, b.Brand.Slug)
		return nil
	})
	if err != nil || asOf != head || len(seen) < 125 {
		t.Errorf("each: %d public brands as of %d, %v; want 125 as of %d", len(seen), asOf, err, head)
	}
}

func facts(at time.Time, words int64) fieldmark.Facts {
	return fieldmark.Facts{
		Version: fieldmark.FactsVersion, URL: "https://acme.example/", Pages: 1, AsOf: fieldmark.At(at),
		Facts: []fieldmark.Fact{
			{ID: "home.reachable", State: fieldmark.Measured, Value: 1000, Unit: "bool",
				Evidence: []fieldmark.Evidence{{URL: "https://acme.example/", Fact: "200 \xff <html> \u2028"}}},
			{ID: "home.words", State: fieldmark.Measured, Value: words, Unit: "words"},
		},
	}
}

// Facts stored by a process whose clock was ahead do not block newer ones.
func TestFactsOfAClockAhead(t *testing.T) {
	w := newFixture(t)
	ctx := t.Context()
	putBrand(t, w, acme)
	if _, err := w.Brands.PutFacts(ctx, "acme", facts(time.Now().Add(time.Hour), 1)); err != nil {
		t.Fatal(err)
	}
	changed, err := w.Brands.PutFacts(ctx, "acme", facts(time.Now(), 2))
	if err != nil || !changed {
		t.Fatalf("newer facts: changed %v, %v", changed, err)
	}
	state, _, err := w.Brands.State(ctx, "acme")
	if err != nil || state.Facts.Facts[1].Value != 2 {
		t.Errorf("facts %+v, %v; want the newer ones", state.Facts, err)
	}
	history, _, err := w.Brands.History(ctx, "acme", time.Time{}, time.Now().Add(2*time.Hour))
	if n := len(history.Revisions); err != nil || n != 2 || history.Revisions[1].Digest != state.FactsDigest {
		t.Errorf("history %+v, %v; want both revisions, the newer one last", history.Revisions, err)
	}
}

func TestRecordFacts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		ctx := t.Context()
		putBrand(t, w, acme)
		record := func(words int64, wantChanged bool, wantEvents string) {
			t.Helper()
			before := w.head(t)
			changed, err := w.Brands.PutFacts(ctx, "acme", facts(time.Now(), words))
			if err != nil || changed != wantChanged || w.types(t, before) != wantEvents {
				t.Errorf("record %d words: changed %v, %v, events %q; want %v, %q", words, changed, err,
					w.types(t, before), wantChanged, wantEvents)
			}
			state, asOf, err := w.Brands.State(ctx, "acme")
			if err != nil || asOf != w.head(t) || state.Facts == nil ||
				!state.Facts.AsOf.Std().Equal(fieldmark.At(time.Now()).Std()) {
				t.Fatalf("state: %+v as of %d, %v", state, asOf, err)
			}
			if d, err := state.Facts.Digest(); d != state.FactsDigest || err != nil {
				t.Errorf("facts have digest %s, %v; are kept under %s", d, err, state.FactsDigest)
			}
		}
		record(1, true, "brand.audited")
		time.Sleep(23 * time.Hour)
		record(1, false, "")
		time.Sleep(2 * time.Hour)
		record(1, false, "brand.audited") // confirmed a day later: the new age is an event
		time.Sleep(time.Hour)
		record(2, true, "brand.audited")
		record(1, true, "brand.audited") // and back

		before := w.head(t)
		changed, err := w.Brands.PutFacts(ctx, "acme", facts(time.Now().Add(-time.Minute), 9))
		if changed || err != nil || w.head(t) != before {
			t.Errorf("older facts: changed %v, %v at %d; want no change at %d", changed, err, w.head(t), before)
		}
		_, err = w.Brands.PutFacts(ctx, "nobody", facts(time.Now(), 1))
		wantCode(t, "unknown brand", err, fieldmark.CodeNotFound)
		unsorted := facts(time.Now(), 1)
		unsorted.Facts[0].ID = "z"
		if _, err := w.Brands.PutFacts(ctx, "acme", unsorted); err == nil {
			t.Error("unsorted facts were kept")
		}
		_, _, err = w.Brands.State(ctx, "nobody")
		wantCode(t, "unknown brand", err, fieldmark.CodeNotFound)
	})
}

func TestMovedBrandLosesItsFacts(t *testing.T) {
	w := newFixture(t)
	ctx := t.Context()
	putBrand(t, w, acme)
	if _, err := w.Brands.PutFacts(ctx, "acme", facts(time.Now(), 1)); err != nil {
		t.Fatal(err)
	}
	moved := acme
	moved.URL = "https://acme.test/"
	putBrand(t, w, moved)
	state, _, err := w.Brands.State(ctx, "acme")
	if err != nil || state.Facts != nil || state.FactsDigest != "" {
		t.Errorf("state after the move: %+v, %v; want no facts", state, err)
	}
	if waiting, running, err := w.Brands.Audits.Status(ctx); waiting != 1 || running != 0 || err != nil {
		t.Errorf("audits: %d wait, %d run, %v; want 1, 0", waiting, running, err)
	}
}

// The report of an import lists a bounded number of problems and says how many it
// left out: a large file of the wrong format must not cause a larger response.
func TestImportReportIsBounded(t *testing.T) {
	w := newFixture(t)
	brands := make([]fieldmark.Brand, 1500) // each without a name, an address, a niche
	report, err := w.Brands.Import(t.Context(), brands)
	if err != nil || len(report.Rejected) != 1000 || report.Omitted < 500 || report.Rejected[0].Pointer != "/0/slug" {
		t.Errorf("report of 1,500 bad brands: %d problems, %d omitted, %v; want 1,000 and the others omitted",
			len(report.Rejected), report.Omitted, err)
	}
	lines := make([]brand.SampleRow, 1500)
	samples, err := w.Brands.Samples.Import(t.Context(), "key_1", "sha256:0", lines)
	if err != nil || len(samples.Rejected) != 1000 || samples.Omitted < 500 {
		t.Errorf("report of 1,500 bad samples: %d problems, %d omitted, %v; want 1,000 and the others omitted",
			len(samples.Rejected), samples.Omitted, err)
	}
}

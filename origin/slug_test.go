package origin_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldmark/fieldmark"
)

func TestRenameBrand(t *testing.T) {
	w := newFixture(t)
	ctx := t.Context()
	putBrand(t, w, acme)
	other := acme
	other.Slug = "other"
	putBrand(t, w, other)
	if _, err := w.Brands.PutFacts(ctx, "acme", facts(time.Now(), 1)); err != nil {
		t.Fatal(err)
	}
	if err := w.Brands.Audits.Request(ctx, "acme"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Brands.SetAliases(ctx, "acme", []fieldmark.Slug{"anvils"}); err != nil {
		t.Fatal(err)
	}
	before := w.head(t)
	b, err := w.Brands.Rename(ctx, "acme", "acme-tools")
	if err != nil || b.Slug != "acme-tools" {
		t.Fatalf("rename: %+v, %v", b, err)
	}
	events := w.events(t)
	if e := events[len(events)-1]; e.Number != before+1 || e.Brand != "acme-tools" || len(e.Tags) != 3 {
		t.Errorf("event %+v, want one that is news under all three slugs", e)
	}
	for _, slug := range []fieldmark.Slug{"acme", "anvils", "acme-tools"} {
		state, _, err := w.Brands.State(ctx, slug)
		if err != nil || state.Brand.Slug != "acme-tools" || state.Facts == nil {
			t.Errorf("%s leads to %+v, %v", slug, state.Brand, err)
		}
		if diff := cmp.Diff([]fieldmark.Slug{"acme", "anvils"}, state.Aliases); diff != "" {
			t.Errorf("aliases of %s (-want +got):\n%s", slug, diff)
		}
	}
	if waiting, _, err := w.Brands.Audits.Status(ctx); waiting != 1 || err != nil {
		t.Errorf("%d audits wait, %v; want the one there was", waiting, err)
	}
	_, err = w.Brands.Rename(ctx, "acme-tools", "other")
	wantCode(t, "a slug that is taken", err, fieldmark.CodeBrandExists)
	_, err = w.Brands.Rename(ctx, "other", "anvils")
	wantCode(t, "a slug that leads elsewhere", err, fieldmark.CodeBrandExists)
	_, _, err = w.Brands.Put(ctx, acme)
	wantCode(t, "a new brand under an old slug", err, fieldmark.CodeBrandExists)
	_, err = w.Brands.SetAliases(ctx, "other", []fieldmark.Slug{"acme"})
	wantCode(t, "an alias of two", err, fieldmark.CodeBrandExists)
	_, err = w.Brands.SetAliases(ctx, "other", []fieldmark.Slug{"other", "Bad"})
	wantFields(t, "its own slug and none", err, "/aliases/0", "/aliases/1")
	_, err = w.Brands.Rename(ctx, "nobody", "somebody")
	wantCode(t, "unknown brand", err, fieldmark.CodeNotFound)

	if _, err = w.Brands.Rename(ctx, "acme-tools", "acme"); err != nil {
		t.Fatal(err)
	}
	if got, err := w.Brands.Aliases(ctx, "acme"); err != nil ||
		!cmp.Equal(got, []fieldmark.Slug{"acme-tools", "anvils"}) {
		t.Errorf("aliases after the way back: %v, %v", got, err)
	}
}

func TestDeleteBrand(t *testing.T) {
	w := newFixture(t)
	ctx := t.Context()
	twin := acme
	twin.Slug = "twin"
	for _, b := range []fieldmark.Brand{acme, twin} {
		putBrand(t, w, b)
		if _, err := w.Brands.PutFacts(ctx, b.Slug, facts(time.Now(), 1)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Brands.PutFacts(ctx, "acme", facts(time.Now().Add(time.Second), 2)); err != nil {
		t.Fatal(err)
	}
	state, _, err := w.Brands.State(ctx, "acme")
	if err != nil {
		t.Fatal(err)
	}
	own, shared := state.FactsDigest, state.Past[0].Digest
	before := w.head(t)
	if err := w.Brands.Delete(ctx, "acme"); err != nil || w.types(t, before) != "brand.removed" {
		t.Fatalf("delete: %v, events %s", err, w.types(t, before))
	}
	_, _, err = w.Brands.State(ctx, "acme")
	wantCode(t, "a brand that is gone", err, fieldmark.CodeNotFound)
	wantCode(t, "again", w.Brands.Delete(ctx, "acme"), fieldmark.CodeNotFound)
	if _, _, err := w.Brands.FactsBody(ctx, "twin", shared); err != nil {
		t.Errorf("facts the twin shares: %v", err)
	}
	_, _, err = w.Brands.FactsBody(ctx, "acme", own)
	wantCode(t, "facts of a brand that is gone", err, fieldmark.CodeNotFound)
	putBrand(t, w, acme) // the slug is free, and its new brand has no history
	if h, _, err := w.Brands.History(ctx, "acme", time.Time{}.AddDate(1, 0, 0), time.Now()); err != nil ||
		len(h.Revisions) != 0 {
		t.Errorf("history of the new one: %+v, %v", h, err)
	}
}

func TestPast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		ctx := t.Context()
		putBrand(t, w, acme)
		began := time.Now()
		const day = 24 * time.Hour
		for _, words := range []int64{1, 1, 2, 3, 4, 5, 5} { // on days 0, 20, 40 … 120
			if _, err := w.Brands.PutFacts(ctx, "acme", facts(time.Now(), words)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(20 * day)
		}
		time.Sleep(5 * day) // day 145
		state, _, err := w.Brands.State(ctx, "acme")
		if err != nil {
			t.Fatal(err)
		}
		words := func(f *fieldmark.Facts) int64 {
			fact, _ := f.Find("home.words")
			return fact.Value
		}
		var past []int64
		for _, r := range state.Past {
			past = append(past, words(r.Facts))
			if r.Facts.Facts[0].Evidence != nil {
				t.Errorf("the past of %s has evidence", r.FirstAt)
			}
		}
		// 90 days back is day 55: 2; 30 is 115: 5, as is 7; before the present is 4.
		if diff := cmp.Diff([]int64{2, 4}, past); diff != "" || words(state.Facts) != 5 {
			t.Errorf("past (-want +got):\n%s", diff)
		}
		if want := began.Add(100 * day); state.FactsSince == nil ||
			!state.FactsSince.Std().Equal(fieldmark.At(want).Std()) {
			t.Errorf("facts since %v, want %s", state.FactsSince, want)
		}
		then, _, err := w.Brands.StateAt(ctx, "acme", began.Add(30*day))
		if err != nil || words(then.Facts) != 1 ||
			!then.Facts.AsOf.Std().Equal(fieldmark.At(began.Add(20*day)).Std()) || then.Facts.Facts[0].Evidence == nil {
			t.Errorf("day 30: %+v, %v; want what day 20 confirmed, with evidence", then.Facts, err)
		}
		if digest, err := then.Facts.Digest(); err != nil || digest != then.FactsDigest {
			t.Errorf("digest %s, %v; want %s", digest, err, then.FactsDigest)
		}
		if then, _, err = w.Brands.StateAt(ctx, "acme", began.Add(-day)); err != nil || then.Facts != nil {
			t.Errorf("before the first audit: %+v, %v", then, err)
		}
		h, _, err := w.Brands.History(ctx, "acme", began.Add(50*day), began.Add(90*day))
		past = nil
		for _, r := range h.Revisions {
			past = append(past, words(r.Facts))
		}
		if diff := cmp.Diff([]int64{2, 3, 4}, past); diff != "" || err != nil || len(h.Activations) != 1 {
			t.Errorf("history of days 50 to 90 (-want +got):\n%s, %v, activations %v", diff, err, h.Activations)
		}
	})
}

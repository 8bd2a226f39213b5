package origin_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/origin/standing"
)

// follower keeps what pages of changes say, as a client does.
type follower struct {
	next  string
	state map[fieldmark.Slug]string
}

// apply applies the next page and reports whether there are more.
func (f *follower) apply(t *testing.T, from *standing.Service, limit int) (more bool) {
	t.Helper()
	page, err := from.Changes(t.Context(), f.next, limit, 0)
	if err != nil {
		t.Fatalf("changes since %s: %v", f.next, err)
	}
	if n := len(page.Items) + len(page.Gone); n > limit || n < limit && page.More {
		t.Errorf("a page of at most %d has %d", limit, n)
	}
	last := int64(0)
	for _, item := range page.Items {
		if item.Event < last || item.Event > page.Head {
			t.Errorf("event %d after %d, head %d", item.Event, last, page.Head)
		}
		last = item.Event
		f.state[item.Slug] = textOf(item)
	}
	for _, g := range page.Gone {
		delete(f.state, g.Slug)
	}
	f.next = page.Next
	return page.More
}

func textOf(i fieldmark.ScoreItem) string {
	score := "none"
	if i.Score != nil {
		score = i.Score.String()
	}
	return fmt.Sprint(i.Name, " ", i.Status, " ", score)
}

// TestFollowScores: followers that begin at different times and read pages of different lengths
// have the state of the record in the end, while brands are scored, renamed, removed, hidden and
// made public again at the same time.
func TestFollowScores(t *testing.T) {
	fx := openFixture(t, storetest.New(t))
	fx.startStandings(t)
	ctx := t.Context()
	put := func(slug fieldmark.Slug, name string, public bool) {
		_, _, err := fx.Brands.Put(ctx, fieldmark.Brand{Slug: slug, Name: name,
			URL: "https://" + string(slug) + ".example/", Niche: "tools", Language: "en", Public: public})
		if err != nil && !fieldmark.IsCode(err, fieldmark.CodeBrandExists) {
			t.Error(err)
		}
	}
	var writers sync.WaitGroup
	for w := range 3 {
		writers.Go(func() {
			random := rand.New(rand.NewPCG(uint64(w), 26))
			for i := range 60 {
				slug := fieldmark.Slug(fmt.Sprintf("b%d-%d", w, random.IntN(6)))
				switch random.IntN(6) {
				case 0, 1:
					put(slug, fmt.Sprint("Name ", i), true)
				case 2:
					put(slug, fmt.Sprint("Hidden ", i), false)
				case 3, 4: // an unknown brand is not an error of the test
					_, _ = fx.Brands.PutFacts(ctx, slug, facts(time.Now(), int64(random.IntN(100))*1000))
				default:
					if random.IntN(2) == 0 {
						_ = fx.Brands.Delete(ctx, slug)
					} else {
						_, _ = fx.Brands.Rename(ctx, slug, slug+"x")
					}
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()
	var all []*follower
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		all = append(all, &follower{next: "0", state: map[fieldmark.Slug]string{}})
		for i, f := range all {
			f.apply(t, fx.Standings, 1+i%7)
		}
		if len(all) > 20 {
			all = all[len(all)-20:]
		}
		time.Sleep(time.Millisecond)
	}
	want := fx.published(t)
	for i, f := range all {
		for f.apply(t, fx.Standings, 1+i%7) {
		}
		if !maps.Equal(f.state, want) {
			t.Errorf("follower %d has\n%v, and the record\n%v", i, f.state, want)
		}
	}
	if len(want) == 0 {
		t.Error("no brand is left: this tests nothing")
	}
}

// published waits until all standings are computed, and returns what is public.
func (w *fixture) published(t *testing.T) map[fieldmark.Slug]string {
	t.Helper()
	waittest.Until(t, "no standing is due", func() bool {
		due, err := w.Store.DueStandings(t.Context(), time.Now(), 1)
		if err != nil {
			t.Fatal(err)
		}
		return len(due) == 0
	})
	brands, err := w.Store.Brands(t.Context(), "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	state := map[fieldmark.Slug]string{}
	for _, b := range brands {
		if !b.Public {
			continue
		}
		item := fieldmark.ScoreItem{Name: b.Name, Status: fieldmark.StatusPending}
		if s, err := w.Store.Standing(t.Context(), b.Slug); err == nil && s.Module != "" {
			item.Status, item.Score = s.Status, s.Score
		}
		state[b.Slug] = textOf(item)
	}
	return state
}

// TestChangesTooOld: a reader that missed the removal of a brand must start again, a reader
// of everything need not, and a place in another log is refused.
func TestChangesTooOld(t *testing.T) {
	record := storetest.New(t)
	fx := openFixture(t, record)
	ctx := t.Context()
	for i := range 5 {
		_, _, err := fx.Brands.Put(ctx, fieldmark.Brand{Slug: fieldmark.Slug(fmt.Sprint("b", i)), Name: "B",
			URL: "https://b.example/", Niche: "tools", Language: "en", Public: true})
		if err != nil {
			t.Fatal(err)
		}
	}
	early, err := fx.Standings.Changes(ctx, "0", 10, 0)
	if err != nil || len(early.Items) != 5 || early.More {
		t.Fatalf("%+v: %v", early, err)
	}
	if err := fx.Brands.Delete(ctx, "b1"); err != nil {
		t.Fatal(err)
	}
	half, err := fx.Standings.Changes(ctx, "0", 2, 0) // a reader of everything that stops on the way
	if err != nil || !half.More {
		t.Fatalf("%+v: %v", half, err)
	}
	page, err := fx.Standings.Changes(ctx, early.Next, 10, 0)
	if err != nil || len(page.Gone) != 1 || page.Gone[0].Slug != "b1" || len(page.Items) != 0 {
		t.Errorf("after a removal: %+v: %v", page, err)
	}
	storetest.Exec(t, record, "UPDATE score_change SET gone_at = 1 WHERE gone_at IS NOT NULL")
	tooOld := func(since string) bool {
		t.Helper()
		_, err := fx.Standings.Changes(ctx, since, 10, 0)
		if err != nil && !fieldmark.IsCode(err, fieldmark.CodeSinceTooOld) {
			t.Fatal(err)
		}
		return err != nil
	}
	for since, want := range map[string]bool{early.Next: true, fmt.Sprint(early.Items[4].Event): true, "0": false,
		half.Next: false, page.Next: false, fmt.Sprint(page.Head + 1): true} {
		if got := tooOld(since); got != want {
			t.Errorf("since %s is too old: %v, want %v", since, got, want)
		}
	}
	if err := fx.Store.RenameLog(ctx); err != nil {
		t.Fatal(err)
	}
	if !tooOld(page.Next) || tooOld("0") {
		t.Error("the place in another log is accepted")
	}
	for _, since := range []string{"-1", "x", "1.2", "+1", "A.1.B!.2", "A.x..", "A.1..x", "9999999999999999999"} {
		if _, err := fx.Standings.Changes(ctx, since, 10, 0); !fieldmark.IsCode(err, fieldmark.CodeInvalidParameter) {
			t.Errorf("since %q: %v", since, err)
		}
	}
}

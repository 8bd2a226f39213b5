package origin_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/access"
)

// pointScorer scores a brand with its fact home.words, and by a module other than the first
// ten points higher. Brands with facts older than 30 days are not GEO-ready.
type pointScorer struct{}

func (pointScorer) Ages() []time.Duration { return []time.Duration{fieldmark.ReadyWithin} }

func (pointScorer) Score(_ context.Context, module fieldmark.Digest, _ func(context.Context) ([]byte, error),
	state *fieldmark.BrandState, now time.Time) (fieldmark.Score, error) {
	a := fieldmark.PendingAssessment()
	if state.Facts != nil {
		words, _ := state.Facts.Find("home.words")
		points := fieldmark.Milli(words.Value)
		if module != moduleRef.Digest {
			points += 10_000
		}
		a.Status, a.Score, a.AsOf = fieldmark.StatusScored, &points, &state.Facts.AsOf
		a.GeoReady = now.Sub(a.AsOf.Std()) <= fieldmark.ReadyWithin
		a.Components = []fieldmark.Component{{ID: "all", Signals: []fieldmark.Signal{{ID: "words", Points: points}}}}
		if points < 30_000 {
			a.Gates = []fieldmark.Gate{{ID: "short", Limit: 30, Reason: "Too little text."}}
		}
	}
	return fieldmark.NewScore(state.Brand, a), nil
}

// watched is an origin with one public brand, acme, and a receiver of what endpoints are sent.
type watched struct {
	*fixture
	t   *testing.T
	url string

	mu  sync.Mutex
	got []string // path of the receiver: cause, from and to
}

func newWatched(t *testing.T) *watched {
	w := &watched{t: t, fixture: openFixture(t, storetest.New(t),
		func(c *origin.Config) { c.Scorer = pointScorer{} })}
	w.url = receive(t, func(_ http.ResponseWriter, r *http.Request) {
		var m struct {
			Type fieldmark.EventType
			Data fieldmark.ScoreChange
		}
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil || m.Type != fieldmark.EventScoreChanged {
			t.Errorf("message %s: %v", m.Type, err)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.got = append(w.got, fmt.Sprintf("%s %s %s %s>%s", r.URL.Path, m.Data.Slug, m.Data.Cause,
			show(m.Data.From), show(m.Data.To)))
	}).URL
	t.Cleanup(w.run(t))
	w.brand("acme")
	return w
}

func show(s fieldmark.Standing) string {
	if s.Score == nil {
		return string(s.Status)
	}
	return s.Score.String()
}

func (w *watched) brand(slug fieldmark.Slug) {
	w.t.Helper()
	if _, _, err := w.Brands.Put(w.t.Context(), fieldmark.Brand{Slug: slug, Name: string(slug),
		URL: "https://" + string(slug) + ".example/", Niche: "tools", Language: "en", Public: true}); err != nil {
		w.t.Fatal(err)
	}
}

// audited stores facts of so many thousandths of a point and waits for the standing.
func (w *watched) audited(slug fieldmark.Slug, points int64) {
	w.t.Helper()
	if _, err := w.Brands.PutFacts(w.t.Context(), slug, facts(time.Now(), points)); err != nil {
		w.t.Fatal(err)
	}
	eventually(w.t, fmt.Sprintf("%s stands at %d", slug, points), func() bool {
		s, err := w.Store.Standing(w.t.Context(), slug)
		return err == nil && s.Score != nil && int64(*s.Score) == points
	})
}

func (w *watched) endpoint(path string, r fieldmark.EndpointSettings) fieldmark.NewEndpoint {
	w.t.Helper()
	e, err := w.Webhooks.CreateEndpoint(w.t.Context(), access.DefaultAccount,
		fieldmark.EndpointRequest{URL: w.url + path, EndpointSettings: r})
	if err != nil {
		w.t.Fatal(err)
	}
	return e
}

// want waits for messages, in any order, and checks that there are no others.
func (w *watched) want(messages ...string) {
	w.t.Helper()
	eventually(w.t, "messages "+strings.Join(messages, ", "), func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.got) >= len(messages)
	})
	eventually(w.t, "nothing is due", func() bool {
		return !slices.ContainsFunc(w.deliveries(w.t), func(d fieldmark.Delivery) bool {
			return d.State == fieldmark.DeliveryDue
		})
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.Sort(w.got)
	slices.Sort(messages)
	if !slices.Equal(w.got, messages) {
		w.t.Errorf("messages\n%s\nwant\n%s", strings.Join(w.got, "\n"), strings.Join(messages, "\n"))
	}
	w.got = nil
}

// TestScoreChanged: an endpoint receives the changes of the brands that it watches, once they
// add up to its threshold.
func TestScoreChanged(t *testing.T) {
	w := newWatched(t)
	brands := []fieldmark.Slug{"acme"}
	one := w.endpoint("/one", fieldmark.EndpointSettings{Brands: brands})
	if strings.Join(one.Events, " ") != "score.changed" {
		t.Errorf("an endpoint that watches brands subscribes to %v", one.Events)
	}
	w.endpoint("/five", fieldmark.EndpointSettings{Brands: brands, ScoreThreshold: to(fieldmark.Milli(5000))})
	w.audited("acme", 50_000)
	w.want("/one acme facts pending>50", "/five acme facts pending>50")

	// Drift adds up: 0.4, 0.8, 1.2.
	w.audited("acme", 50_400)
	w.audited("acme", 50_800)
	w.audited("acme", 51_200)
	w.want("/one acme facts 50.8>51.2")
	w.audited("acme", 50_300) // 0.9 from what was sent
	w.audited("acme", 55_000)
	w.want("/one acme facts 50.3>55", "/five acme facts 50.3>55")

	// A new endpoint starts from the present score.
	late := w.endpoint("/late", fieldmark.EndpointSettings{Brands: brands})
	w.audited("acme", 55_500)
	w.audited("acme", 20_000)
	w.want("/one acme facts 55.5>20", "/five acme facts 55.5>20", "/late acme facts 55.5>20")

	// Endpoints that are gone or watch others receive nothing; renamed brands stay watched.
	if err := w.Webhooks.DeleteEndpoint(t.Context(), "", late.ID); err != nil {
		t.Fatal(err)
	}
	w.brand("other")
	w.patch(t, one.ID, fieldmark.EndpointPatch{Brands: &[]fieldmark.Slug{"acme", "other"}})
	if _, err := w.Brands.Rename(t.Context(), "acme", "acme-tools"); err != nil {
		t.Fatal(err)
	}
	if e := w.fixture.endpoint(t, one.ID); fmt.Sprint(e.Brands) != "[acme-tools other]" &&
		fmt.Sprint(e.Brands) != "[other acme-tools]" {
		t.Errorf("after the rename the endpoint watches %v", e.Brands)
	}
	w.audited("other", 10_000)
	w.audited("acme-tools", 30_000)
	w.want("/one other facts pending>10", "/one acme-tools facts 20>30", "/five acme-tools facts 20>30")

	// Private and deleted brands are silent.
	private := fieldmark.Brand{Slug: "other", Name: "other", URL: "https://other.example/", Niche: "tools",
		Language: "en"}
	if _, _, err := w.Brands.Put(t.Context(), private); err != nil {
		t.Fatal(err)
	}
	w.audited("other", 90_000)
	if err := w.Brands.Delete(t.Context(), "other"); err != nil {
		t.Fatal(err)
	}
	if e := w.fixture.endpoint(t, one.ID); fmt.Sprint(e.Brands) != "[acme-tools]" {
		t.Errorf("after the deletion the endpoint watches %v", e.Brands)
	}
	w.audited("acme-tools", 40_000)
	w.want("/one acme-tools facts 30>40", "/five acme-tools facts 30>40")
}

// TestScoreChangedByModule: a module that becomes active moves every score.
func TestScoreChangedByModule(t *testing.T) {
	w := newWatched(t)
	w.audited("acme", 50_000)
	w.endpoint("/one", fieldmark.EndpointSettings{Brands: []fieldmark.Slug{"acme"}})
	before, err := w.Store.Standing(t.Context(), "acme")
	if err != nil || before.Module != moduleRef.Digest {
		t.Fatalf("standing %+v: %v", before, err)
	}
	if before.DueAt == nil || before.DueAt.Sub(before.AsOf.Std()) < fieldmark.ReadyWithin {
		t.Errorf("due again at %v, want when the facts are too old", before.DueAt)
	}
	other := []byte("\x00asm: ten points more")
	ref := fieldmark.ModuleRef{Name: "geo-readiness", Version: "2.0.0",
		Digest: fieldmark.DigestOf(sha256.Sum256(other))}
	if err := w.Modules.ActivateBytes(t.Context(), ref, other); err != nil {
		t.Fatal(err)
	}
	w.want("/one acme module 50>60")
}

// TestScoreChangedByAge: facts that nothing confirms grow too old.
func TestScoreChangedByAge(t *testing.T) {
	r := receive(t, status(204))
	synctest.Test(t, func(t *testing.T) {
		w := &watched{t: t, url: r.URL, fixture: openFixture(t, storetest.New(t),
			func(c *origin.Config) { c.Scorer, c.Auditor = pointScorer{}, nil })}
		defer w.run(t)()
		w.brand("acme")
		if _, err := w.Brands.PutFacts(t.Context(), "acme",
			facts(time.Now().Add(time.Hour-fieldmark.ReadyWithin), 50_000)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		w.endpoint("/", fieldmark.EndpointSettings{Brands: []fieldmark.Slug{"acme"}})
		time.Sleep(2 * time.Hour)
		var causes []fieldmark.ChangeCause
		for _, e := range w.events(t) {
			var c fieldmark.ScoreChange
			if e.Type == fieldmark.EventScoreChanged && json.Unmarshal(e.Data, &c) == nil {
				causes = append(causes, c.Cause)
			}
		}
		if len(causes) != 1 || causes[0] != fieldmark.CauseAge {
			t.Errorf("changes %v, want one by age", causes)
		}
	})
}

// TestWatchErrors: what an endpoint cannot watch is refused beside its member.
func TestWatchErrors(t *testing.T) {
	w := newWatched(t)
	w.brand("shy")
	if _, _, err := w.Brands.Put(t.Context(), fieldmark.Brand{Slug: "shy", Name: "shy", URL: "https://shy.example/",
		Niche: "tools", Language: "en"}); err != nil {
		t.Fatal(err)
	}
	many := make([]fieldmark.Slug, fieldmark.MaxWatchedBrands+1)
	for i := range many {
		many[i] = fieldmark.Slug(fmt.Sprint("b", i))
	}
	for name, c := range map[string]struct {
		events   []string
		settings fieldmark.EndpointSettings
		want     string
	}{
		"unknown":    {nil, fieldmark.EndpointSettings{Brands: []fieldmark.Slug{"acme", "nobody"}}, "/brands/1"},
		"private":    {nil, fieldmark.EndpointSettings{Brands: []fieldmark.Slug{"shy"}}, "/brands/0"},
		"twice":      {nil, fieldmark.EndpointSettings{Brands: []fieldmark.Slug{"acme", "acme"}}, "/brands/1"},
		"too many":   {nil, fieldmark.EndpointSettings{Brands: many}, "/brands"},
		"no brands":  {[]string{"score.changed"}, fieldmark.EndpointSettings{}, "/brands"},
		"no event":   {[]string{"mission.*"}, fieldmark.EndpointSettings{Brands: []fieldmark.Slug{"acme"}}, "/events"},
		"everything": {[]string{"*"}, fieldmark.EndpointSettings{Brands: []fieldmark.Slug{"acme"}}, "/events"},
		"no change": {nil, fieldmark.EndpointSettings{Brands: []fieldmark.Slug{"acme"},
			ScoreThreshold: to(fieldmark.Milli(99))}, "/scoreThreshold"},
		"every change": {nil, fieldmark.EndpointSettings{Brands: []fieldmark.Slug{"acme"},
			ScoreThreshold: to(fieldmark.Milli(50_001))}, "/scoreThreshold"},
	} {
		_, err := w.Webhooks.CreateEndpoint(t.Context(), access.DefaultAccount,
			fieldmark.EndpointRequest{URL: w.url, Events: c.events, EndpointSettings: c.settings})
		wantFields(t, name, err, c.want)
	}
}

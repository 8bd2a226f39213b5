package origin_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/standing"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/webhook"
)

// pointScorer scores a brand with its fact home.words, and by a module other than the first
// ten points higher. Brands with facts older than 30 days are not GEO-ready. The full score
// of a brand with a visibility sample is the number of its mentions.
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
		a.Range, a.Confidence.Value = &fieldmark.Range{Low: points, High: points}, fieldmark.MilliOne
		a.GeoReady = now.Sub(a.AsOf.Std()) <= fieldmark.ReadyWithin
		a.Components = []fieldmark.Component{{ID: "all", Signals: []fieldmark.Signal{{ID: "words", Points: points}}}}
		if points < 30_000 {
			a.Gates = []fieldmark.Gate{{ID: "short", Limit: 30, Reason: "Too little text."}}
		}
	}
	score := fieldmark.NewScore(state.Brand, a)
	for _, v := range state.Visibility {
		score.Full = to(fieldmark.Milli(1000 * v.Mentions))
	}
	return score, nil
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
		func(c *origin.Config) { c.Scorer, c.Auditor = pointScorer{}, nil })}
	w.url = receive(t, func(_ http.ResponseWriter, r *http.Request) {
		var m fieldmark.Envelope
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Error(err)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.got = append(w.got, r.URL.Path+" "+describe(t, m.Type, m.Data))
	}).URL
	t.Cleanup(w.run(t))
	w.brand("acme")
	return w
}

// describe returns an event of a brand as tests compare it.
func describe(t testing.TB, kind fieldmark.EventType, data []byte) string {
	var score fieldmark.ScoreChange
	var audit fieldmark.BrandAudit
	var err error
	switch kind {
	case fieldmark.EventScoreChanged:
		err = json.Unmarshal(data, &score)
	case fieldmark.EventBrandAudited:
		err = json.Unmarshal(data, &audit)
	default:
		return string(kind)
	}
	if err != nil {
		t.Error(err)
	}
	if kind == fieldmark.EventBrandAudited {
		return fmt.Sprintf("%s %s changed=%t", audit.Slug, audit.Result, audit.Changed)
	}
	return fmt.Sprintf("%s %s %s>%s", score.Slug, score.Cause, show(score.From), show(score.To))
}

func show(s fieldmark.Standing) string {
	switch {
	case s.Score == nil:
		return string(s.Status)
	case s.Full != nil:
		return s.Score.String() + "/" + s.Full.String()
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
	waittest.Until(w.t, fmt.Sprintf("%s stands at %d", slug, points), func() bool {
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
	waittest.Until(w.t, "messages "+strings.Join(messages, ", "), func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.got) >= len(messages)
	})
	waittest.Until(w.t, "nothing is due", func() bool {
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
	// The facts are older than a week on the first midnight that is a week after them; from then on,
	// the trend of a week compares with them.
	const day = 24 * time.Hour
	week := before.AsOf.Std().UTC().Add(day-time.Microsecond).Truncate(day).AddDate(0, 0, 7)
	if before.DueAt == nil || !before.DueAt.Equal(week) {
		t.Errorf("due again at %v, want %v, when the trend of a week changes", before.DueAt, week)
	}
	other := []byte("\x00asm: ten points more")
	ref := fieldmark.ModuleRef{Name: "geo-readiness", Version: "2.0.0",
		Digest: fieldmark.DigestOf(sha256.Sum256(other))}
	if err := w.Modules.ActivateBytes(t.Context(), ref, other); err != nil {
		t.Fatal(err)
	}
	w.want("/one acme module 50>60")
}

// startStandings computes standings in this process until the test ends, without the other
// jobs of an origin.
func (w *fixture) startStandings(t testing.TB) {
	ctx, stop := context.WithCancel(context.Background())
	log := slog.New(slog.NewTextHandler(w.Log, nil))
	jobs := job.NewRunner(w.Store, log)
	service := standing.New(standing.Config{Store: w.Store, Jobs: jobs, Scorer: pointScorer{}, Log: log})
	done := make(chan error, 2)
	go func() { done <- service.Run(ctx) }()
	go func() { done <- jobs.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-done, <-done); err != nil {
			t.Error(err)
		}
	})
}

// sentTo lists the events of a type that the account was sent, as data.
func (w *fixture) sentTo(t testing.TB, account string, kind fieldmark.EventType) (list []json.RawMessage) {
	t.Helper()
	page, err := w.Webhooks.PollEvents(t.Context(), account, webhook.Poll{Types: []string{string(kind)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range page.Data {
		list = append(list, e.Data)
	}
	return list
}

// TestScoreChangedByAge: facts that nothing confirms grow too old.
func TestScoreChangedByAge(t *testing.T) {
	r := receive(t, status(204))
	synctest.Test(t, func(t *testing.T) {
		w := &watched{t: t, url: r.URL, fixture: openFixture(t, storetest.New(t))}
		w.brand("acme")
		if _, err := w.Brands.PutFacts(t.Context(), "acme",
			facts(time.Now().Add(2*time.Minute-fieldmark.ReadyWithin), 50_000)); err != nil {
			t.Fatal(err)
		}
		w.startStandings(t)
		time.Sleep(time.Minute)
		w.endpoint("/", fieldmark.EndpointSettings{Brands: []fieldmark.Slug{"acme"}})
		time.Sleep(2 * time.Minute)
		var got []string
		for _, data := range w.sentTo(t, access.DefaultAccount, fieldmark.EventScoreChanged) {
			got = append(got, describe(t, fieldmark.EventScoreChanged, data))
		}
		if strings.Join(got, ", ") != "acme age 50>50" {
			t.Errorf("changes %v, want one by age", got)
		}
	})
}

// TestScoreChangeCauses: another address and visibility samples are causes of their own, and a
// full score counts like a score.
func TestScoreChangeCauses(t *testing.T) {
	w := newWatched(t)
	w.audited("acme", 50_000)
	w.endpoint("/one", fieldmark.EndpointSettings{Brands: []fieldmark.Slug{"acme"}})
	importCSV(t, w.fixture, sampleHeader+goodSample)
	w.want("/one acme samples 50>50/40")
	if _, _, err := w.Brands.Put(t.Context(), fieldmark.Brand{Slug: "acme", Name: "acme",
		URL: "https://new.acme.example/", Niche: "tools", Language: "en", Public: true}); err != nil {
		t.Fatal(err)
	}
	w.want("/one acme alias 50/40>pending")
}

// TestBrandAudited: endpoints that subscribe to audits are sent those with other facts, and the
// same facts once a day.
func TestBrandAudited(t *testing.T) {
	w := newWatched(t)
	create := func(path string, events ...string) {
		t.Helper()
		_, err := w.Webhooks.CreateEndpoint(t.Context(), access.DefaultAccount, fieldmark.EndpointRequest{
			URL: w.url + path, Events: events, EndpointSettings: fieldmark.EndpointSettings{
				Brands: []fieldmark.Slug{"acme"}, Ordering: fieldmark.OrderingMission}})
		if err != nil {
			t.Fatal(err)
		}
	}
	create("/audits", "brand.audited")
	create("/all", "brand.*", "score.*")
	create("/scores", "score.changed")
	put := func(at time.Time, home fieldmark.Fact, words int64) {
		t.Helper()
		f := facts(at, words)
		home.ID = "home.reachable"
		f.Facts[0] = home
		if _, err := w.Brands.PutFacts(t.Context(), "acme", f); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now().Add(-72 * time.Hour)
	ok := fieldmark.Fact{State: fieldmark.Measured, Value: 1000}
	put(now, ok, 50_000)
	w.want("/audits acme measured changed=true", "/all acme measured changed=true", "/all acme facts pending>50",
		"/scores acme facts pending>50")
	put(now.Add(time.Hour), ok, 50_000)
	put(now.Add(25*time.Hour), fieldmark.Fact{State: fieldmark.Measured}, 50_000)
	w.want("/audits acme unreachable changed=true", "/all acme unreachable changed=true")
	put(now.Add(26*time.Hour), fieldmark.Fact{State: fieldmark.Unknown}, 50_000) // such as a page that cannot be parsed
	w.want("/audits acme unreachable changed=true", "/all acme unreachable changed=true")
	refused := func(at time.Time) {
		t.Helper()
		f := facts(at, 50_000)
		f.Refused, f.Facts[0].State, f.Facts[0].Value = true, fieldmark.Unknown, 0
		if _, err := w.Brands.PutFacts(t.Context(), "acme", f); err != nil {
			t.Fatal(err)
		}
	}
	refused(now.Add(27 * time.Hour))
	w.want("/audits acme refused changed=true", "/all acme refused changed=true")
	refused(time.Now().Add(25 * time.Hour))
	w.want("/audits acme refused changed=false", "/all acme refused changed=false")

	// Edges receive each audit once with the tags to invalidate.
	tagged := 0
	for _, e := range w.events(t) {
		if e.Type == fieldmark.EventBrandAudited && len(e.Tags) > 0 {
			tagged++
		}
	}
	if got := w.sentTo(t, access.DefaultAccount, fieldmark.EventBrandAudited); len(got) != 5 || tagged != 5 {
		t.Errorf("%d audits were sent, and %d to edges; want 5 each", len(got), tagged)
	}
}

// TestBrandEventsInOrder: an ordered endpoint is sent the events of a brand one after the other.
func TestBrandEventsInOrder(t *testing.T) {
	w := newWatched(t)
	e := w.endpoint("/one", fieldmark.EndpointSettings{Brands: []fieldmark.Slug{"acme"},
		Ordering: fieldmark.OrderingMission})
	pause := fieldmark.EndpointPaused
	w.patch(t, e.ID, fieldmark.EndpointPatch{State: &pause})
	w.audited("acme", 50_000)
	w.audited("acme", 60_000)
	var states []string
	for _, d := range w.deliveries(t) {
		states = append(states, string(d.State))
	}
	if strings.Join(states, " ") != "waiting held" {
		t.Errorf("deliveries are %v, the newest first; want the second to wait for the first", states)
	}
}

// TestRankChanged: brands are ranked at 00:20 UTC, and a change is sent once however many
// processes run.
func TestRankChanged(t *testing.T) {
	r := receive(t, status(204))
	synctest.Test(t, func(t *testing.T) { // it is midnight in UTC
		w := &watched{t: t, url: r.URL, fixture: openFixture(t, storetest.New(t))}
		const brands = 45
		put := func(i int, points int64) {
			if _, err := w.Brands.PutFacts(t.Context(), fieldmark.Slug(fmt.Sprint("b", i)),
				facts(time.Now(), points)); err != nil {
				t.Fatal(err)
			}
		}
		var slugs []fieldmark.Slug
		for i := 1; i <= brands; i++ { // b1 is the first, b45 the last; b9 and b10 share a niche
			b := fieldmark.Brand{Slug: fieldmark.Slug(fmt.Sprint("b", i)), Name: "B", URL: "https://b.example/",
				Niche: fmt.Sprint("n", i), Language: "en", Public: true}
			if i == 10 {
				b.Niche = "n9"
			}
			if _, _, err := w.Brands.Put(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			put(i, int64(90_000-1000*i))
			slugs = append(slugs, b.Slug)
		}
		_, err := w.Webhooks.CreateEndpoint(t.Context(), access.DefaultAccount, fieldmark.EndpointRequest{URL: r.URL,
			Events:           []string{"rank.changed"},
			EndpointSettings: fieldmark.EndpointSettings{Brands: slugs[:brands-1]}})
		if err != nil {
			t.Fatal(err)
		}
		w.startStandings(t)
		w.startStandings(t)
		time.Sleep(19 * time.Minute)
		if got := w.sentTo(t, access.DefaultAccount, fieldmark.EventRankChanged); len(got) > 0 {
			t.Fatalf("the first ranking sent %s", got)
		}
		put(10, 90_000-8_500)      // from 10 to 9, ahead of b9
		put(43, 90_000-41_500)     // from 43 to 42: less than 5 %
		put(40, 90_000-36_500)     // from 40 to 37; b37, b38 and b39 move by less than 5 %
		put(brands, 90_000-43_500) // from 45 to 44, without watchers
		time.Sleep(3 * time.Minute)
		var got []string
		for _, data := range w.sentTo(t, access.DefaultAccount, fieldmark.EventRankChanged) {
			var c fieldmark.RankChange
			if err := json.Unmarshal(data, &c); err != nil {
				t.Fatal(err)
			}
			if c.Basis != "readiness" || c.To.Of != brands || c.AsOf.Std().Minute() != 20 {
				t.Errorf("%s", data)
			}
			got = append(got, fmt.Sprintf("%s %d>%d (%d>%d)", c.Slug, c.From.Overall, c.To.Overall, c.From.Niche,
				c.To.Niche))
		}
		slices.Sort(got)
		if want := "b10 10>9 (2>1), b40 40>37 (1>1), b9 9>10 (1>2)"; strings.Join(got, ", ") != want {
			t.Errorf("ranks %v, want %s", got, want)
		}
	})
}

// manage makes an account that manages a brand, and returns its claim.
func (w *watched) manage(account string, slug fieldmark.Slug) store.Claim {
	w.t.Helper()
	c := store.Claim{ID: fieldmark.NewID(fieldmark.PrefixClaim, time.Now()), Brand: slug, Account: account,
		State: fieldmark.ClaimVerified, CreatedAt: time.Now(), DueAt: time.Now().Add(time.Hour)}
	w.write(func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.PutAccount(ctx, account, fieldmark.At(time.Now())), tx.PutClaim(ctx, &c))
	})
	return c
}

func (w *watched) write(fn func(ctx context.Context, tx *store.Tx) error) {
	w.t.Helper()
	if err := w.Store.Write(w.t.Context(), fn); err != nil {
		w.t.Fatal(err)
	}
}

// TestManagedBrands: an account receives the events of the brand that it manages without naming it, also
// when it is private, by endpoints and when it polls; and of its claim, which is private.
func TestManagedBrands(t *testing.T) {
	w := newWatched(t)
	w.endpoint("/watcher", fieldmark.EndpointSettings{Brands: []fieldmark.Slug{"acme"}})
	claim := w.manage("owner", "acme")
	polled := func(want ...string) {
		t.Helper()
		var got []string
		for _, data := range w.sentTo(t, "owner", fieldmark.EventScoreChanged) {
			got = append(got, describe(t, fieldmark.EventScoreChanged, data))
		}
		if !slices.Equal(got, want) {
			t.Errorf("the owner polls %q, want %q", got, want)
		}
	}
	w.audited("acme", 50_000)
	w.audited("acme", 50_600)
	w.audited("acme", 51_200) // 1.2 from what was sent
	w.want("/watcher acme facts pending>50", "/watcher acme facts 50.6>51.2")
	polled("acme facts pending>50", "acme facts 50.6>51.2")

	_, err := w.Webhooks.CreateEndpoint(t.Context(), "owner", fieldmark.EndpointRequest{URL: w.url + "/owner",
		Events: []string{"*"}, EndpointSettings: fieldmark.EndpointSettings{ScoreThreshold: to(fieldmark.Milli(2000))}})
	if err != nil {
		t.Fatal(err)
	}
	w.audited("acme", 52_200)
	w.want("/owner acme measured changed=true", "/watcher acme facts 51.2>52.2")
	w.audited("acme", 53_200) // twice a point
	w.want("/owner acme measured changed=true", "/owner acme facts 52.2>53.2", "/watcher acme facts 52.2>53.2")
	polled("acme facts pending>50", "acme facts 50.6>51.2", "acme facts 52.2>53.2")

	// A private brand is silent for those who only watch it.
	if _, _, err := w.Brands.Put(t.Context(), fieldmark.Brand{Slug: "acme", Name: "acme",
		URL: "https://acme.example/", Niche: "tools", Language: "en"}); err != nil {
		t.Fatal(err)
	}
	w.audited("acme", 60_000)
	w.want("/owner acme measured changed=true", "/owner acme facts 53.2>60")
	head := w.head(t)
	w.write(func(ctx context.Context, tx *store.Tx) error {
		return event.EmitBrand(ctx, tx, "acme", "claim.lapsing", struct{}{})
	})
	if got := w.types(t, head); got != "claim.lapsing" {
		t.Errorf("events %s, want one of the claim, for its account alone", got)
	}
	w.want("/owner claim.lapsing")

	// Nothing is sent once the claim has ended.
	claim.State = fieldmark.ClaimExpired
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.PutClaim(ctx, &claim) })
	head = w.head(t)
	w.audited("acme", 70_000)
	if got := w.types(t, head); got != "brand.audited" {
		t.Errorf("events %s, want only the one that edges follow", got)
	}

	// Accounts made by claims are small.
	w.manage("small", "acme")
	for i := range fieldmark.ClaimEndpoints + 1 {
		_, err = w.Webhooks.CreateEndpoint(t.Context(), "small", fieldmark.EndpointRequest{
			URL: w.url + fmt.Sprint("/", i), Events: []string{"score.changed"}})
		if (err != nil) != (i == fieldmark.ClaimEndpoints) {
			t.Errorf("endpoint %d: %v", i, err)
		}
	}
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

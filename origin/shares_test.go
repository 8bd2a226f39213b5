package origin_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/store"
)

// inbox counts the messages that each endpoint got.
type inbox struct {
	mu  sync.Mutex
	got map[string]int // by path and id of the message
}

func (b *inbox) receive(t testing.TB) *receiver {
	b.got = map[string]int{}
	return receive(t, func(_ http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.got[r.URL.Path+" "+r.Header.Get("webhook-id")]++
	})
}

// want checks that n messages arrived, each once.
func (b *inbox) want(t testing.TB, n int) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for message, times := range b.got {
		if times != 1 {
			t.Errorf("%s arrived %d times, want 1", message, times)
		}
	}
	if len(b.got) != n {
		t.Errorf("%d messages arrived, want %d", len(b.got), n)
	}
}

// finished waits until no delivery is to be sent.
func finished(t testing.TB, w *fixture) {
	t.Helper()
	waittest.Until(t, "all deliveries are done", func() bool { return unsent(t, w) == 0 })
}

func unsent(t testing.TB, w *fixture) int {
	t.Helper()
	list, err := w.Store.Deliveries(context.Background(),
		store.DeliveryFilter{State: fieldmark.DeliveryDue, Limit: 10_000}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// members waits until n processes share work, and another second, in which each has found the others.
func members(t testing.TB, w *fixture, n int) []string {
	t.Helper()
	var names []string
	waittest.Until(t, fmt.Sprintf("%d origins share the work", n), func() bool {
		list, err := w.Store.Workers(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		names = names[:0]
		for _, one := range list {
			names = append(names, one.Name)
		}
		return len(names) == n
	})
	time.Sleep(2 * job.PollInterval)
	return names
}

var (
	sentDelivery = regexp.MustCompile(`msg=webhook delivery=(\w+)`)
	auditedBrand = regexp.MustCompile(`msg=audited brand=(\w+)`)
	workerName   = regexp.MustCompile(`worker=(\w+)`)
)

// deliveredBy returns which of the origins sent a message to each endpoint.
func deliveredBy(t testing.TB, origins []*fixture) map[string][]*fixture {
	t.Helper()
	list, err := origins[0].Store.Deliveries(t.Context(), store.DeliveryFilter{Limit: 10_000}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	endpoint := map[string]string{}
	for _, d := range list {
		endpoint[d.ID] = d.EndpointID
	}
	by := map[string][]*fixture{}
	for _, w := range origins {
		for _, m := range sentDelivery.FindAllStringSubmatch(w.logged(), -1) {
			if id := endpoint[m[1]]; !slices.Contains(by[id], w) {
				by[id] = append(by[id], w)
			}
		}
	}
	return by
}

// Three origins divide endpoints and brands: each looks at its shares and at no others. Those of an origin that
// leaves or is killed are taken over, and one that joins gets its part.
func TestTwoOriginsDivideTheWork(t *testing.T) {
	box := &inbox{}
	r := box.receive(t)
	synctest.Test(t, func(t *testing.T) {
		first := newFixture(t)
		origins := []*fixture{first, openFixture(t, first.At), openFixture(t, first.At)}
		const endpoints = 40
		for i := range endpoints {
			createEndpoint(t, first, fmt.Sprintf("%s/%d", r.URL, i), "mission.created")
		}
		var stops []func()
		for _, w := range origins {
			stop := w.run(t)
			defer stop()
			stops = append(stops, stop)
		}
		names := members(t, first, len(origins))
		missions := 0
		open := func(n int) {
			for range n {
				openMission(t, origins[missions%len(origins)], fmt.Sprint(missions))
				missions++
			}
		}
		const brands = 12
		for i := range brands {
			putBrand(t, first, fieldmark.Brand{Slug: fieldmark.Slug(fmt.Sprint("brand", i)), Name: "Brand", URL: r.URL,
				Niche: "tools", Language: "en", Public: true})
		}
		open(10)
		finished(t, first)
		waittest.Until(t, "every brand is audited", func() bool {
			n, running, err := first.Brands.Audits.Status(context.Background())
			return err == nil && n+running == 0
		})
		owner := func(id string) *fixture {
			name := names[store.ShareOf(id)%len(names)]
			return origins[slices.IndexFunc(origins, func(w *fixture) bool {
				return workerName.FindStringSubmatch(w.logged())[1] == name
			})]
		}
		for id, by := range deliveredBy(t, origins) {
			if want := owner(id); len(by) != 1 || by[0] != want {
				t.Errorf("endpoint %s of share %d was served by %d origins, want its own", id, store.ShareOf(id),
					len(by))
			}
		}
		for _, w := range origins {
			for _, m := range auditedBrand.FindAllStringSubmatch(w.logged(), -1) {
				if owner(m[1]) != w {
					t.Errorf("brand %s was audited by an origin without its share", m[1])
				}
			}
		}

		stops[1]() // its shares are free at once
		open(1)
		began := time.Now()
		finished(t, first)
		if took := time.Since(began); took > 3*job.PollInterval {
			t.Errorf("the shares of an origin that left were taken over after %s", took)
		}
		members(t, first, 2)
		defer openFixture(t, first.At).run(t)() // another joins, while messages are due
		open(10)
		members(t, first, 3)
		finished(t, first)
		stops[0]()
		stops[2]()
		members(t, first, 1)
		open(5)
		finished(t, first)
		box.mu.Lock()
		for message := range box.got { // requests of audits
			if message[len(message)-1] == ' ' {
				delete(box.got, message)
			}
		}
		box.mu.Unlock()
		box.want(t, endpoints*missions)
	})
}

// An origin that is killed has its shares until its lease ends, and what it was sending until the leases of that end.
// Then the others deliver it, once.
func TestTwoOriginsTakeOver(t *testing.T) {
	box := &inbox{}
	r := box.receive(t)
	synctest.Test(t, func(t *testing.T) {
		a, b := pair(t)
		const endpoints = 30
		for i := range endpoints {
			createEndpoint(t, a, fmt.Sprintf("%s/%d", r.URL, i), "mission.created")
		}
		defer a.run(t)()
		defer b.run(t)()
		members(t, a, 2)
		killed := time.Now()
		err := a.Store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.PutWorker(ctx, store.Worker{Name: "killed", Work: []store.Work{store.WorkDeliveries},
				LeaseUntil: killed.Add(job.LeaseDuration)}, killed)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		names := members(t, a, 3)
		for i := range 5 {
			openMission(t, a, fmt.Sprint(i))
		}
		var its int // of each mission
		for _, e := range allEndpoints(t, a) {
			if names[store.ShareOf(e.ID)%len(names)] == "killed" {
				its++
			}
		}
		waittest.Until(t, "the others have sent theirs", func() bool { return unsent(t, a) <= 5*its })
		if n := unsent(t, a); n != 5*its || its == 0 || time.Since(killed) > job.LeaseDuration {
			t.Fatalf("%d messages wait, want the %d of the killed origin", n, 5*its)
		}
		err = a.Store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			_, err := claimAll(ctx, tx, "killed", time.Now(), killed.Add(job.LeaseDuration))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		finished(t, a)
		if took := time.Since(killed); took < job.LeaseDuration || took > job.LeaseDuration+4*job.PollInterval {
			t.Errorf("the shares of the killed origin were taken over after %s", took)
		}
		box.want(t, 5*endpoints)
	})
}

func allEndpoints(t testing.TB, w *fixture) []store.Endpoint {
	t.Helper()
	list, err := w.Store.Endpoints(t.Context(), "", false, time.Now(), 10_000)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// BenchmarkShares delivers messages to 1,000 endpoints from one origin and from four, with PostgreSQL, and reports
// how many rows of endpoints and deliveries the database read.
func BenchmarkShares(b *testing.B) {
	for _, n := range []int{1, 4} {
		b.Run(fmt.Sprint(n), func(b *testing.B) { benchShares(b, n) })
	}
}

func benchShares(b *testing.B, n int) {
	const accounts, each = 20, 50 // endpoints of an account
	cfg := storetest.DurablePostgres(b)
	w := openFixture(b, cfg)
	sink := newWireSink(b, nil)
	for i := range accounts {
		account := fmt.Sprint("account", i)
		storetest.Exec(b, cfg, `INSERT INTO account (id, created_at) VALUES ('`+account+`', 0)`)
		for j := range each {
			if _, err := w.Webhooks.CreateEndpoint(b.Context(), account,
				fieldmark.EndpointRequest{URL: sink.url(i*each + j), Events: []string{"mission.created"}}); err != nil {
				b.Fatal(err)
			}
		}
	}
	missions := (b.N + each - 1) / each
	for i := range missions {
		if _, _, err := w.Missions.Create(b.Context(), fmt.Sprint("account", i%accounts),
			request(fmt.Sprint(missionNumber.Add(1)))); err != nil {
			b.Fatal(err)
		}
	}
	origins := []*fixture{w}
	for len(origins) < n {
		origins = append(origins, openFixture(b, cfg))
	}
	db, err := sql.Open("pgx", cfg.URL)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	rows := func() (n float64) {
		if err := db.QueryRow(`SELECT SUM(seq_tup_read + idx_tup_fetch)
			FROM pg_stat_user_tables WHERE relname IN ('endpoint', 'delivery')`).Scan(&n); err != nil {
			b.Fatal(err)
		}
		return n
	}
	if _, err := db.Exec(`ANALYZE`); err != nil { // as the server does by itself, after a minute
		b.Fatal(err)
	}
	before := rows()
	b.ResetTimer()
	stops := make([]func(), n)
	for i, o := range origins {
		stops[i] = o.run(b)
	}
	for sink.got.Load() < int64(missions*each) {
		time.Sleep(time.Millisecond)
	}
	b.StopTimer()
	took := b.Elapsed().Seconds()
	b.ReportMetric(float64(missions*each)/took, "deliveries/s")
	for _, stop := range stops {
		stop()
	}
	time.Sleep(2 * time.Second) // sessions report their statistics once a second
	read := rows() - before
	b.ReportMetric(read/float64(missions*each), "rows/delivery")
	b.ReportMetric(read/took, "rows/s")
}

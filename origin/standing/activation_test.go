package standing_test

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/module"
	"github.com/fieldmark/fieldmark/origin/standing"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/geo"
)

// brands is how many brands TestActivation has; make simulate takes a million.
var brands = flag.Int("brands", 500, "brands of an activation")

func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }

// models is how many different facts the brands have.
const models = 64

// randomFacts are facts for every input of the built-in module.
func randomFacts(random *rand.Rand) fieldmark.Facts {
	f := fieldmark.Facts{Version: fieldmark.FactsVersion, URL: "https://model.example/", Pages: 10,
		AsOf: fieldmark.At(time.Now().Add(-time.Hour))}
	most := map[string]int64{"share": 1000, "level": 4000}
	for _, in := range geo.Card().Manifest().Inputs {
		value := random.Int64N(cmp.Or(most[in.Unit], 1_000_000) + 1)
		if in.Unit == "bool" {
			value = 1000 * (value % 2)
		}
		if in.Name == "home.reachable" {
			value = 1000
		}
		f.Facts = append(f.Facts, fieldmark.Fact{ID: in.Name, State: fieldmark.Measured, Unit: in.Unit, Value: value})
	}
	slices.SortFunc(f.Facts, func(a, b fieldmark.Fact) int { return strings.Compare(a.ID, b.ID) })
	return f
}

// activation is an origin whose standings a test computes.
type activation struct {
	t       *testing.T
	store   *store.Store
	service *origin.Service
	scorer  wasm.Scorer
}

// compute computes standings until all are by the active module.
func (a *activation) compute() {
	a.t.Helper()
	log := slog.New(slog.DiscardHandler)
	s := standing.New(standing.Config{Store: a.store, Jobs: job.NewRunner(a.store, log), Log: log, Scorer: &a.scorer})
	ctx, stop := context.WithCancel(a.t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	plan, err := a.store.ModulePlan(ctx)
	must(a.t, err)
	for late := true; late; {
		late, err = a.store.StandingsLate(ctx, plan.Digest, time.Now())
		must(a.t, err)
		runtime.Gosched()
		time.Sleep(20 * time.Millisecond)
	}
	stop()
	must(a.t, <-done)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fill copies the models to n brands, as if the module before had scored them.
func fill(t *testing.T, cfg store.Config, n int) {
	t.Helper()
	driver, name := "sqlite", "file:"+strings.NewReplacer("%", "%25", "?", "%3F").Replace(cfg.Path)
	if cfg.URL != "" {
		driver, name = "pgx", cfg.URL
	}
	db, err := sql.Open(driver, name)
	must(t, err)
	defer db.Close()
	numbers := fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) `, n)
	for _, text := range []string{
		`INSERT INTO brand (slug, name, url, niche, language, description, public, created_at, updated_at,
			facts_digest, facts_at) ` + numbers + `SELECT 'b-' || i, b.name, b.url, 'n-' || (i % 50), b.language,
			b.description, 1, b.created_at, b.updated_at, b.facts_digest, b.facts_at
			FROM n JOIN brand b ON b.slug = 'model-' || (i % ` + fmt.Sprint(models) + `)`,
		`INSERT INTO revision (brand, first_at, last_at, digest) SELECT b.slug, b.facts_at, b.facts_at, b.facts_digest
			FROM brand b WHERE b.slug LIKE 'b-%'`,
		`INSERT INTO standing (brand, module, facts, body, due_at, low, high) ` + numbers + `SELECT 'b-' || i, s.module,
			s.facts, s.body, s.due_at, s.low, s.high FROM n JOIN standing s ON s.brand = 'model-' || (i % ` +
			fmt.Sprint(models) + `)`, `ANALYZE`,
	} {
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatalf("%.60s: %v", text, err)
		}
	}
}

// usage returns the processor time that this process has used, and its largest memory in MiB.
func usage(t *testing.T) (time.Duration, int64) {
	t.Helper()
	var u syscall.Rusage
	must(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), u.Maxrss >> 10
}

// TestActivation: all brands are scored again after another module was activated. It prints
// what that costs.
func TestActivation(t *testing.T) {
	cfg := storetest.New(t)
	st := storetest.Open(t, cfg)
	a := &activation{t: t, store: st}
	var err error
	old := geo.Modules()[0]
	ref, err := wasm.Ref(old)
	must(t, err)
	a.service, err = origin.New(origin.Config{Store: st, Secret: bytes.Repeat([]byte("s"), 32),
		BuiltIn: []module.BuiltIn{{Ref: ref, Bytes: old}}})
	must(t, err)
	must(t, a.service.Prepare(t.Context()))
	defer func() { must(t, a.scorer.Close(context.WithoutCancel(t.Context()))) }()
	random := rand.New(rand.NewPCG(20, 26))
	for i := range models {
		slug := fieldmark.Slug(fmt.Sprint("model-", i))
		_, _, err := a.service.Brands.Put(t.Context(), fieldmark.Brand{Slug: slug, Name: "Model",
			URL: "https://model.example/", Niche: "models", Language: "en", Public: true})
		must(t, err)
		_, err = a.service.Brands.PutFacts(t.Context(), slug, randomFacts(random))
		must(t, err)
	}
	a.compute()
	fill(t, cfg, *brands)

	body := geo.Module()
	ref, err = wasm.Ref(body)
	must(t, err)
	must(t, a.service.Modules.ActivateBytes(t.Context(), ref, body))
	runtime.GC()
	before, memory := usage(t)
	start := time.Now()
	a.compute()
	after, most := usage(t)
	t.Logf("%d brands: %.1f s of processor time, %.1f s, %.0f us a brand; at most %d MiB, %d before", *brands,
		(after - before).Seconds(), time.Since(start).Seconds(),
		float64((after-before).Microseconds())/float64(*brands), most, memory)
	for _, i := range []int{1, models, *brands} {
		s, err := st.Standing(t.Context(), fieldmark.Slug(fmt.Sprint("b-", i)))
		must(t, err)
		want, err := st.Standing(t.Context(), fieldmark.Slug(fmt.Sprint("model-", i%models)))
		must(t, err)
		if s.Module != ref.Digest || s.Score == nil || *s.Score != *want.Score {
			t.Errorf("b-%d stands at %+v by %s, want %+v", i, s.Standing, s.Module, want.Standing)
		}
	}
}

package store_test

import (
	"context"
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin/store"
)

// queries returns all combinations of the filters of a mission list.
func queries(account string) (all []store.MissionQuery) {
	const from, until = "msn_00000500000000000000000000", "msn_00005000000000000000000000"
	for _, status := range [][]fieldmark.MissionStatus{nil, {"ON_HOLD"}, {"NEW", "ON_HOLD"}} {
		base := store.MissionQuery{Status: status, From: from, Until: until, Limit: 51}
		all = append(all, base) // of all accounts
		for _, priority := range []fieldmark.Priority{"", "CRITICAL"} {
			for _, source := range []string{"", "S3"} {
				one := base
				one.Account, one.Priority, one.Source = account, priority, source
				first := one
				first.From, first.Until = "", ""
				changes := one
				changes.Until, changes.Changes, changes.Since, changes.SinceID = "", true, 100, from
				all = append(all, one, first, changes)
				if source != "" {
					one.ExternalID = "x10"
					all = append(all, one)
				}
			}
		}
	}
	return all
}

// TestMissionPlans checks the query plan of each engine for every combination of
// filters: it uses an index, and never reads all missions or sorts more than one page
// of each range.
func TestMissionPlans(t *testing.T) {
	s, err := store.Open(t.Context(), storetest.New(t))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const missions = 6_000
	if err := s.Fill(t.Context(), "big", missions); err != nil {
		t.Fatal(err)
	}
	search := regexp.MustCompile(
		`^(SEARCH mission USING (COVERING )?INDEX|SCAN mission USING COVERING INDEX sqlite_autoindex_mission_1$)`)
	for _, q := range queries("big") {
		name := fmt.Sprintf("%+v", q)
		plan, read, err := s.Explain(t.Context(), q)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		whole := strings.Join(plan, "\n")
		for i, step := range plan {
			switch {
			case strings.Contains(step, "Seq Scan"), strings.HasPrefix(step, "Bitmap Heap"):
				t.Errorf("%s: %s\n%s", name, step, whole)
			case strings.HasPrefix(step, "SCAN mission"), strings.HasPrefix(step, "SEARCH mission"):
				if !search.MatchString(step) {
					t.Errorf("%s: %s\n%s", name, step, whole)
				}
			case strings.Contains(step, "TEMP B-TREE") && i > 0 && strings.HasPrefix(plan[i-1], "SEARCH mission"):
				t.Errorf("%s sorts missions:\n%s", name, whole)
			}
		}
		// PostgreSQL has statistics on how selective a filter is, and may sort few rows.
		// At most a page of each of the forty ranges, and the page itself.
		if most := (len(fieldmark.MissionStatuses())*len(fieldmark.Priorities()) + 1) * q.Limit; read > most {
			t.Errorf("%s reads %d rows, want %d at most:\n%s", name, read, most, whole)
		}
		rows, err := s.Missions(t.Context(), q)
		if err != nil || len(rows) > q.Limit {
			t.Errorf("%s: %d missions, %v", name, len(rows), err)
		}
	}
}

// TestDeliveryPlans: a list of deliveries of a type reads the events of the listed period, not all events.
func TestDeliveryPlans(t *testing.T) {
	cfg := storetest.New(t)
	s, err := store.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const events, deliveries = 20_000, 100
	fill := []string{fmt.Sprintf(`INSERT INTO event (number, id, type, at, subject, brand, tags, data, account, actor)
		WITH RECURSIVE n(i) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		SELECT i + 1000, 'evt_' || i, 'mission.created', i, '', '', '[]', '{}', 'a', '' FROM n`, events),
		fmt.Sprintf(`INSERT INTO delivery (id, endpoint, event, state, attempts, due_at, last_status, last_error,
			created_at, updated_at, topic)
			SELECT 'dlv_' || number, 'none', number, 'done', 1, at, 204, '', at, at, '' FROM event
			WHERE number > %d`, 1000+events-deliveries), `ANALYZE`}
	if storetest.Engine() == storetest.Postgres {
		fill = append([]string{`SET session_replication_role = replica`}, fill...) // the endpoint does not exist
	}
	storetest.Exec(t, cfg, fill...)
	for _, kind := range []string{"", "sla.*", "sla.breached"} {
		plan, read, err := s.ExplainDeliveries(t.Context(), store.DeliveryFilter{Type: kind, From: "dlv_", Limit: 51})
		if err != nil || read > 4*deliveries {
			t.Errorf("%q reads %d rows, want %d at most, %v:\n%s", kind, read, 4*deliveries, err,
				strings.Join(plan, "\n"))
		}
		for _, step := range plan {
			if strings.HasPrefix(step, "SCAN e") || strings.HasPrefix(strings.TrimSpace(step)+" ", "Seq Scan event ") {
				t.Errorf("%q: %s", kind, step)
			}
		}
	}
}

// TestWorldPlans: queries about test worlds read the rows of worlds, and lists of live rows skip those of worlds, by
// index. The newest deliveries are those of a world.
func TestWorldPlans(t *testing.T) {
	cfg := storetest.New(t)
	s := open(t, cfg)
	now := time.Now().UnixMicro()
	if err := s.Fill(t.Context(), "big", 20_000); err != nil {
		t.Fatal(err)
	}
	if err := s.FillSLA(t.Context(), now, 2000); err != nil {
		t.Fatal(err)
	}
	const worlds, each = 20, 100
	series := func(n int) string {
		return fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT CAST(1 AS BIGINT)
			UNION ALL SELECT i + 1 FROM n WHERE i < %d) `, n)
	}
	// Each world, and its rows: the prefix of ids makes them the newest.
	const world = `'w' || (i % 20) || '~test'`
	fill := []string{
		`INSERT INTO account (id, created_at, world) ` + series(worlds) + `
			SELECT ` + world + `, 1, ` + world + ` FROM n`,
		`INSERT INTO mission (id, account, source_key, external_id, fingerprint, request, status, held, created_at,
			updated_at, version, priority, world) ` + series(worlds*each) + `SELECT 'msn_w' || i, ` + world + `, 's',
			'x' || i, 'f', '{}', 'NEW', '', i, i, 1, 'LOW', ` + world + ` FROM n`,
		`INSERT INTO sla (mission, policy, timers, revision, rules, due_at, world)
			SELECT id, 'LOW', '[]', 0, 0, 1, world FROM mission WHERE world <> ''`,
		`INSERT INTO payment (id, mission, direction, amount, currency, terms, status, refunded, version, created_at,
			updated_at, check_at, world)
			SELECT 'pay' || substr(id, 4), id, 'charge', 1, 'EUR', '', 'PENDING', 0, 1, 1, 1, 1, world FROM mission`,
		`INSERT INTO pending_alert (mission, alert, due_at, world) SELECT id, '{}', 1, world FROM mission
			WHERE world <> ''`,
		`INSERT INTO endpoint (id, account, url, events, description, secret, created_at, wake_at, world)
			SELECT 'whk_' || id, id, '', '[]', '', '', 1, 1, world FROM account`,
		`INSERT INTO event (number, id, type, at, subject, brand, tags, data, account, actor) ` + series(20_000) +
			`SELECT i + 1000, 'evt_' || i, 'mission.created', i, '', '', '[]', '{}',
			CASE WHEN i > 19000 THEN ` + world + ` ELSE 'big' END, '' FROM n`,
		`INSERT INTO delivery (id, endpoint, event, state, attempts, due_at, last_status, last_error, created_at,
			updated_at, topic, world)
			SELECT CASE WHEN a.world = '' THEN 'dlv_a' ELSE 'dlv_b' END || (e.number + 100000), 'whk_' || a.id,
			e.number, 'done', 1, 1, 204, '', 1, 1, '', a.world FROM event e JOIN account a ON a.id = e.account
			WHERE e.number > 1000`,
		`ANALYZE`,
	}
	storetest.Exec(t, cfg, fill...)
	plans, read, err := s.ExplainWorlds(t.Context(), "w1~test", now)
	if err != nil {
		t.Fatal(err)
	}
	// PostgreSQL may read a small table whole, such as that of accounts.
	scan := regexp.MustCompile(`^(SCAN (s|p|q|m|e|d|v|mission|sla|payment|pending_alert|endpoint|delivery|event)$|` +
		`Seq Scan (mission|sla|payment|pending_alert|delivery|event) )`)
	for name, plan := range plans {
		whole := strings.Join(plan, "\n")
		for _, step := range plan {
			part := step == "SCAN s" && strings.Contains(whole, "CO-ROUTINE s") // of a list: a page of a subquery
			if scan.MatchString(step) && !part {
				t.Errorf("%s: %s\n%s", name, step, whole)
			}
		}
		// PostgreSQL may also read all rows of worlds, while there are few.
		if most := worlds*each + 200; read[name] > most {
			t.Errorf("%s: %d rows are read, want %d at most\n%s", name, read[name], most, whole)
		}
	}
}

// BenchmarkMissions lists 50 of one million missions with each kind of filter.
func BenchmarkMissions(b *testing.B) {
	for _, engine := range []struct {
		name string
		at   func() store.Config
	}{
		{"sqlite", func() store.Config { return store.Config{Path: b.TempDir() + "/record.db"} }},
		{"postgres", func() store.Config { return storetest.DurablePostgres(b) }},
	} {
		var s *store.Store
		full := func(b *testing.B) {
			if s != nil {
				return
			}
			var err error
			if s, err = store.Open(b.Context(), engine.at()); err == nil {
				err = s.Fill(b.Context(), "big", 1_000_000)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		for _, q := range []struct {
			name  string
			query store.MissionQuery
		}{
			{"newest", store.MissionQuery{}},
			{"status", store.MissionQuery{Status: []fieldmark.MissionStatus{"NEW"}}},
			{"statuses", store.MissionQuery{Status: []fieldmark.MissionStatus{"NEW", "ON_HOLD", "CANCELED"}}},
			{"priority", store.MissionQuery{Priority: "CRITICAL"}},
			{"source", store.MissionQuery{Source: "s3"}},
			{"all three", store.MissionQuery{Source: "s3", Priority: "CRITICAL",
				Status: []fieldmark.MissionStatus{"COMPLETED"}}},
			{"one", store.MissionQuery{Source: "s3", ExternalID: "x500000"}},
			{"changes", store.MissionQuery{Changes: true, Since: 500_000}},
			{"rare changes", store.MissionQuery{Changes: true, Status: []fieldmark.MissionStatus{"ON_HOLD"},
				Source: "s3", Priority: "CRITICAL"}},
		} {
			b.Run(engine.name+"/"+strings.ReplaceAll(q.name, " ", "-"), func(b *testing.B) {
				full(b)
				q.query.Account, q.query.Limit = "big", 51
				for b.Loop() {
					if _, err := s.Missions(b.Context(), q.query); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		if s != nil {
			s.Close()
		}
	}
}

// fillAll adds n brands with standings, whose rows are not in the order of slugs.
func fillAll(t testing.TB, cfg store.Config, n int) {
	t.Helper()
	numbers := fmt.Sprintf(`WITH RECURSIVE i(i) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT i + 1 FROM i
		WHERE i < %d), n AS (SELECT i * 2654435761 %% 4294967296 AS h FROM i) `, n)
	storetest.Exec(t, cfg,
		`INSERT INTO brand (slug, name, url, niche, language, description, public, created_at, updated_at) `+numbers+
			`SELECT 'brand-' || h, 'Brand ' || h, 'https://brand-' || h || '.example/', 'tools', 'en', '', 1, 1, 1
			FROM n`,
		`INSERT INTO standing (brand, module, facts, body) SELECT slug, 'm', 'f', '{"values":"`+
			strings.Repeat("AAAA", 20)+`","status":"scored","more":"`+strings.Repeat("more ", 200)+`"}' FROM brand`,
		`INSERT INTO score_change (slug, event) SELECT slug, 1 FROM brand`, `ANALYZE`)
}

// TestAllBrands reads all brands, which takes several pages, while one of the last page changes.
func TestAllBrands(t *testing.T) {
	const brands = 4500
	cfg := storetest.New(t)
	s := open(t, cfg)
	fillAll(t, cfg, brands)
	storetest.Exec(t, cfg, `INSERT INTO brand_alias (slug, brand, created_at) SELECT 'alias', MIN(slug), 1 FROM brand`,
		`INSERT INTO brand_alias (slug, brand, created_at) SELECT 'later', MAX(slug), 1 FROM brand`)
	var ranked, scored []string
	changed := false
	err := s.Snapshot(t.Context(), func(ctx context.Context) error {
		err := s.EachRanked(ctx, func(b *store.RankedBrand) error {
			if !changed {
				storetest.Exec(t, cfg, `UPDATE brand SET name = 'Changed'`)
			}
			changed = true
			if b.Name == "Changed" || (b.Target == "") != (len(b.Values) == 60) {
				t.Errorf("%+v: want it as it was, with values", b)
			}
			ranked = append(ranked, string(b.Slug))
			return nil
		})
		if err != nil {
			return err
		}
		return s.EachScore(ctx, func(item *fieldmark.ScoreItem) error {
			if item.Name == "Changed" {
				t.Errorf("%s has changed", item.Slug)
			}
			scored = append(scored, string(item.Slug))
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(ranked) != brands+2 || !slices.IsSorted(ranked) || len(slices.Compact(ranked)) != brands+2 {
		t.Errorf("%d brands and aliases for the ranking, want %d, each once and in order", len(ranked), brands+2)
	}
	if len(scored) != brands || !slices.IsSorted(scored) || len(slices.Compact(scored)) != brands {
		t.Errorf("%d scores, want %d, each once and in order", len(scored), brands)
	}
}

// allBrands is the number of brands of BenchmarkAllBrands.
var allBrands = flag.Int("brands", 20_000, "brands of the reads that are measured")

// BenchmarkAllBrands reads what a ranking file and a dump have of all brands, whose rows are not in the order of slugs.
// It reports what PostgreSQL wrote to disk for it.
func BenchmarkAllBrands(b *testing.B) {
	for name, cfg := range map[string]store.Config{"sqlite": {Path: b.TempDir() + "/record.db"},
		"postgres": storetest.DurablePostgres(b)} {
		s, err := store.Open(b.Context(), cfg)
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		fillAll(b, cfg, *allBrands)
		for read, all := range map[string]func(context.Context, func()) error{
			"ranked": func(ctx context.Context, add func()) error {
				return s.EachRanked(ctx, func(*store.RankedBrand) error { add(); return nil })
			},
			"scores": func(ctx context.Context, add func()) error {
				return s.EachScore(ctx, func(*fieldmark.ScoreItem) error { add(); return nil })
			},
		} {
			b.Run(name+"/"+read, func(b *testing.B) {
				for b.Loop() {
					n := 0
					err := s.Snapshot(b.Context(), func(ctx context.Context) error { return all(ctx, func() { n++ }) })
					if err != nil || n != *allBrands {
						b.Fatalf("%d brands, %v", n, err)
					}
				}
				if name == "postgres" {
					written, err := strconv.ParseFloat(lines(b, raw(b, cfg), `SELECT temp_bytes::text
						FROM pg_stat_database WHERE datname = current_database()`), 64)
					if err != nil {
						b.Fatal(err)
					}
					b.ReportMetric(written/(1<<20), "MiB-on-disk")
				}
			})
		}
	}
}

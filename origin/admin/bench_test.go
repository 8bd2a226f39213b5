package admin_test

import (
	"fmt"
	"html"
	"os"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/recordtest"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/mission"
	"github.com/fieldmark/fieldmark/origin/store"
)

// BenchmarkMissionPages measures the pages of a dispatcher in a database of 100,000 missions and 1,000,000
// deliveries: 20,000 missions are open, 2,200 have a visit of 60 people in this week, and one has 500 notes.
// The goal is 100 ms for each page. FIELDMARK_TEST_ENGINE=postgres measures PostgreSQL.
func BenchmarkMissionPages(b *testing.B) {
	cfg := benchDatabase(b)
	db, err := store.Open(b.Context(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	console := newBrowserOf(b, db, false)
	console.signIn()
	if _, _, err := console.service.Access.Accounts.Put(b.Context(), access.DefaultAccount,
		fieldmark.AccountRequest{Name: "Default", FilterLabels: []string{"site"}}); err != nil {
		b.Fatal(err)
	}
	const endpoints = 10
	console.endpoints(endpoints)
	recordtest.Fill(b, cfg, recordtest.Size{Missions: 100_000, OpenEvery: 5, Deliveries: 1_000_000 / endpoints})
	storetest.Exec(b, cfg, `UPDATE mission SET assignee = '{"id":"tech-' || CAST((scheduled_start / 3600000000) % 60
		AS TEXT) || '","name":"Technician"}' WHERE scheduled_start IS NOT NULL`,
		`UPDATE account SET labels_indexed = NULL`)
	noted := "/admin/missions/" + console.noted()
	const list = "/admin/missions?account=default"
	for _, path := range []string{
		"/admin/missions", "/admin/missions?status=NEW", list, list + "&status=OPEN", list + "&status=CANCELED",
		list + "&priority=CRITICAL", list + "&source=crm&priority=LOW&status=OPEN", list + "&assignee=tech-7",
		list + "&assignee=tech-7&status=OPEN", list + "&sort=due", list + "&status=OPEN&sort=due",
		list + "&status=ON_HOLD&sort=due", list + "&assignee=tech-7&sort=due", list + "&sort=planned",
		list + "&assignee=tech-7&sort=planned", list + "&sort=priority", list + "&status=OPEN&sort=priority",
		list + "&sort=updated", list + "&status=ON_HOLD&sort=updated", list + "&assignee=tech-59&sort=updated",
		list + "&q=mast+4711", list + "&q=INC1004711", list + "&q=tech-33", list + "&q=nothing-has-this",
		list + "&q=mast&sort=due", list + "&q=mast+99&sort=priority", list + "&q=tech-7&sort=planned",
		list + "&q=mast+4711&sort=updated", list + "&q=site:s7", list + "&q=site:s7&status=CANCELED",
		list + "&q=site:s7&sort=due", list + "&q=site:s7&sort=priority", console.deep(list, 40),
		console.deep(list+"&sort=updated", 40), console.deep(list+"&sort=due", 40),
		console.deep(list+"&status=OPEN&sort=priority", 40), noted, noted + "?notes=all",
		"/admin/board?account=default",
		"/admin/board?account=default&zone=Europe/Zurich&move=" + noted[len("/admin/missions/"):],
		"/admin/missions/new", list + "&source=none", list + "&status=NEW&assignee=nobody&sort=updated",
	} {
		b.Run(path, func(b *testing.B) { console.measure(b, path, 200) })
	}
	b.Run("export", func(b *testing.B) {
		for b.Loop() {
			rec := console.do("/admin/missions/export?account=default", nil)
			if rec.Code != 200 {
				b.Fatalf("%d %s", rec.Code, rec.Body)
			}
			b.ReportMetric(float64(rec.Body.Len())/1e6, "MB")
		}
	})
}

// benchDatabase returns an empty database of the engine that the environment names.
func benchDatabase(b *testing.B) store.Config {
	if os.Getenv(storetest.EngineVar) != storetest.Postgres {
		return storetest.New(b)
	}
	cfg := storetest.OwnPostgres(b)
	if _, err := store.Migrate(b.Context(), cfg); err != nil {
		b.Fatal(err)
	}
	return cfg
}

// measure gets a page in a loop and reports the processor time for one.
func (b *browser) measure(bench *testing.B, path string, status int) {
	before := processorTime(bench)
	for bench.Loop() {
		if rec := b.do(path, nil); rec.Code != status {
			bench.Fatalf("%d %s", rec.Code, rec.Body)
		}
	}
	bench.ReportMetric(float64((processorTime(bench)-before).Microseconds())/1000/float64(bench.N), "cpu-ms/op")
}

// processorTime returns the processor time of this process: on a busy machine it says more than the time that
// passes. It does not include the server of PostgreSQL.
func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// noted returns the id of a mission with as many notes as a mission can have.
func (b *browser) noted() string {
	b.t.Helper()
	m := b.mission(fieldmark.MissionRequest{ExternalID: "noted", Source: "crm", Title: "Replace the mast"})
	for i := range fieldmark.MaxNotes {
		_, err := b.service.Missions.Apply(b.t.Context(), mission.AddNote("", m.ID, fieldmark.NoteRequest{
			Text: fmt.Sprintf("Note %d: the mast was hit by a truck and leans towards the road.", i)}))
		if err != nil {
			b.t.Fatal(err)
		}
	}
	visit := time.Now().Truncate(time.Hour)
	_, err := b.service.Missions.Apply(b.t.Context(), mission.Plan("", m.ID, fieldmark.MissionPlan{
		Assignee:  &fieldmark.Assignee{ID: "tech-1"},
		Scheduled: &fieldmark.Span{Start: fieldmark.At(visit), End: fieldmark.At(visit.Add(time.Hour))}}, nil))
	if err != nil {
		b.t.Fatal(err)
	}
	return m.ID
}

// deep returns the address of a later page of a list.
func (b *browser) deep(path string, pages int) string {
	b.t.Helper()
	next := regexp.MustCompile(`href="(/admin/missions\?[^"]+)" rel="next">`)
	for range pages {
		found := next.FindStringSubmatch(b.page(path))
		if found == nil {
			return path
		}
		path = html.UnescapeString(found[1])
	}
	return path
}

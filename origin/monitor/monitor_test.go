package monitor_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/module"
	"github.com/fieldmark/fieldmark/origin/safehttp"
	"github.com/fieldmark/fieldmark/origin/store"
)

func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }

// installation is an origin whose background jobs do not run: each test decides what happens.
type installation struct {
	*origin.Service
	t      testing.TB
	cfg    store.Config
	store  *store.Store
	free   atomic.Uint64 // bytes of a disk of 100 GiB
	events atomic.Int64  // that were committed, of each type
	url    string        // of the receiver
}

var testModule = module.BuiltIn{Ref: fieldmark.ModuleRef{Name: "test", Version: "1",
	Digest: fieldmark.DigestOf(sha256.Sum256(moduleBytes))}, Bytes: moduleBytes}

var moduleBytes = []byte("\x00asm\x01\x00\x00\x00")

func install(t testing.TB) *installation {
	t.Helper()
	return installWith(t, []module.BuiltIn{testModule})
}

func installWith(t testing.TB, modules []module.BuiltIn) *installation {
	t.Helper()
	in := &installation{t: t, cfg: storetest.New(t)}
	in.store = storetest.Open(t, in.cfg)
	in.free.Store(50 << 30)
	client := safehttp.New(safehttp.Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	t.Cleanup(client.CloseIdle)
	cfg := origin.Config{Store: in.store, Secret: []byte(strings.Repeat("s", 32)), HTTP: client,
		BuiltIn: modules}
	cfg.Monitor.Disk = func() (uint64, uint64, error) { return in.free.Load(), 100 << 30, nil }
	cfg.Monitor.Count = func(fieldmark.EventType) int64 { return in.events.Load() }
	var err error
	if in.Service, err = origin.New(cfg); err == nil {
		err = in.Prepare(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// must fails the test on an error of a call that is no part of the test.
func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func (in *installation) issues() []fieldmark.Issue {
	in.t.Helper()
	return must[fieldmark.IssueList](in.t)(in.Monitor.Issues(in.t.Context())).Data
}

// write runs a transaction.
func (in *installation) write(fn func(context.Context, *store.Tx) error) {
	in.t.Helper()
	if err := in.store.Write(in.t.Context(), fn); err != nil {
		in.t.Fatal(err)
	}
}

// report sends the report of an edge, changed by edit.
func (in *installation) report(edit func(*fieldmark.NodeReport)) fieldmark.NodeReport {
	in.t.Helper()
	head := must[int64](in.t)(in.Events.Head(in.t.Context()))
	r := fieldmark.NodeReport{Node: fieldmark.NewID(fieldmark.PrefixNode, time.Unix(1, 0)), Name: "edge-1:8080",
		StartedAt: fieldmark.At(time.Now().Add(-time.Hour)), Module: testModule.Ref, Cursor: head}
	edit(&r)
	if err := in.Modules.ReportNode(in.t.Context(), r); err != nil {
		in.t.Fatal(err)
	}
	return r
}

func (in *installation) endpoint() fieldmark.NewEndpoint {
	in.t.Helper()
	return must[fieldmark.NewEndpoint](in.t)(in.Webhooks.CreateEndpoint(in.t.Context(), access.DefaultAccount,
		fieldmark.EndpointRequest{URL: in.url, Events: []string{"*"}}))
}

// cause causes an issue and returns what clears it.
type cause func(*installation) (clear func())

// health writes the health of an endpoint as the dispatcher does.
func (in *installation) health(id, health string, failing, open time.Time) {
	in.write(func(ctx context.Context, tx *store.Tx) error {
		return tx.PutEndpointHealth(ctx, id, health, failing, open)
	})
}

func (in *installation) patch(id string, state fieldmark.EndpointState) {
	in.t.Helper()
	must[fieldmark.Endpoint](in.t)(in.Webhooks.PatchEndpoint(in.t.Context(), "", id,
		fieldmark.EndpointPatch{State: &state}))
}

// cdn writes a CDN with a state and a status, of a minute ago, as its worker does.
func (in *installation) cdn(state fieldmark.CDNState, edit func(*store.CDNStatus, *fieldmark.Time)) (clear func()) {
	at := fieldmark.At(ago(time.Minute))
	row := store.CDN{Name: "front", State: state, CreatedAt: at, UpdatedAt: at}
	edit(&row.Status, &at)
	in.write(func(ctx context.Context, tx *store.Tx) error { return tx.PutCDN(ctx, &row) })
	return func() {
		row.State, row.Status = fieldmark.CDNActive, store.CDNStatus{}
		in.write(func(ctx context.Context, tx *store.Tx) error { return tx.PutCDN(ctx, &row) })
	}
}

// deliver enqueues a message to an endpoint.
func (in *installation) deliver(id string, due time.Time) string {
	delivery := fieldmark.NewID(fieldmark.PrefixDelivery, due)
	in.write(func(ctx context.Context, tx *store.Tx) error {
		e := store.Event{Event: fieldmark.Event{ID: fieldmark.NewID(fieldmark.PrefixEvent, due),
			Type: fieldmark.EventPing, Time: fieldmark.At(due), Data: []byte("{}")}, Subject: id}
		if err := tx.AppendEvent(ctx, &e); err != nil {
			return err
		}
		return tx.AddDelivery(ctx, delivery, &store.Subscriber{ID: id}, e.Number, "", due)
	})
	return delivery
}

func (in *installation) deleteEndpoint(id string) func() {
	return func() {
		in.t.Helper()
		if err := in.Webhooks.DeleteEndpoint(in.t.Context(), "", id); err != nil {
			in.t.Fatal(err)
		}
	}
}

// ago is a time that is stored exactly by both engines.
func ago(d time.Duration) time.Time { return time.Now().Add(-d).Truncate(time.Millisecond) }

const failing500 = `{"failingSince":"2000-01-01T00:00:00.000Z","failed":3,"lastError":"answered 500"`

func isReadOnly(i fieldmark.Issue) bool { return i.Code == fieldmark.IssueDatabaseReadOnly }

// causes are the rows of TestIssues: every code of an issue that is found in the database.
var causes = map[fieldmark.IssueCode]struct {
	want string // in the title
	run  cause
}{
	fieldmark.IssueEndpointFailing: {": answers 500", func(in *installation) func() {
		e := in.endpoint()
		in.health(e.ID, failing500+"}", ago(time.Hour), time.Time{})
		return func() { in.health(e.ID, "{}", time.Time{}, time.Time{}) }
	}},
	fieldmark.IssueCircuitOpen: {": certificate expired", func(in *installation) func() {
		e := in.endpoint()
		in.health(e.ID, strings.Replace(failing500, "answered 500", "the certificate has expired or is not valid yet",
			1)+
			`,"circuit":"open","probeAt":"2100-01-01T00:00:00.000Z"}`, ago(time.Hour), time.Now().Add(time.Hour))
		return func() { in.health(e.ID, "{}", time.Time{}, time.Time{}) }
	}},
	fieldmark.IssueEndpointDisabled: {"was disabled: answers 500", func(in *installation) func() {
		e := in.endpoint()
		in.health(e.ID, failing500+"}", ago(time.Hour), time.Time{})
		in.write(func(ctx context.Context, tx *store.Tx) error {
			row, err := tx.Endpoint(ctx, e.ID, time.Now())
			row.State = fieldmark.EndpointDisabled
			return errors.Join(err, tx.PutEndpoint(ctx, &row))
		})
		return func() { in.patch(e.ID, fieldmark.EndpointEnabled) }
	}},
	fieldmark.IssueMessagesHeld: {"2 messages are held for 1 endpoint", func(in *installation) func() {
		e := in.endpoint()
		in.patch(e.ID, fieldmark.EndpointPaused)
		in.deliver(e.ID, ago(time.Second))
		in.deliver(e.ID, ago(time.Second))
		return in.deleteEndpoint(e.ID)
	}},
	fieldmark.IssueDeliveriesDelayed: {"late by 2 minutes", func(in *installation) func() {
		e := in.endpoint()
		in.deliver(e.ID, ago(2*time.Minute))
		return in.deleteEndpoint(e.ID)
	}},
	fieldmark.IssueSLABreached: {"1 open mission has breached its SLA", func(in *installation) func() {
		return in.waiting(16 * time.Minute)
	}},
	fieldmark.IssueSLAAtRisk: {"1 open mission is at risk", func(in *installation) func() {
		return in.waiting(12 * time.Minute)
	}},
	fieldmark.IssueTimersDelayed: {"SLA timers are late by", func(in *installation) func() {
		m := in.openMission("1")
		time.Sleep(15 * time.Minute)
		return in.complete(m.ID)
	}},
	fieldmark.IssueAuditsStuck: {"the oldest has waited for 11 minutes", func(in *installation) func() {
		in.brand()
		in.write(func(ctx context.Context, tx *store.Tx) error {
			return tx.EnqueueAudit(ctx, "acme", ago(11*time.Minute))
		})
		return func() {
			in.write(func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.ClaimAudits(ctx, "worker", time.Now(), time.Now().Add(time.Minute), 1, nil)
				return err
			})
		}
	}},
	fieldmark.IssueKeyExpiring: {"API key robot of", func(in *installation) func() {
		k := must[fieldmark.NewKey](in.t)(in.Access.Keys.Create(in.t.Context(), "", fieldmark.KeyRequest{Name: "robot",
			Scopes: []fieldmark.Scope{fieldmark.ScopeMissionRead}, ExpiresInDays: 30}))
		time.Sleep(21 * 24 * time.Hour) // virtual
		in.write(func(ctx context.Context, tx *store.Tx) error { return tx.AddBackup(ctx, time.Now()) })
		return func() {
			must[fieldmark.Key](in.t)(in.Access.Keys.Revoke(in.t.Context(), k.ID, "not used"))
		}
	}},
	fieldmark.IssueCertificateFailing: {"www.example.com cannot be ordered: no DNS", func(in *installation) func() {
		return in.certificate(store.Certificate{Name: "www.example.com", Source: fieldmark.CertificateACME, Failures: 2,
			LastError: "no DNS"})
	}},
	fieldmark.IssueCertificateExpiring: {"www.example.com expires in 4 days", func(in *installation) func() {
		begin, end := ago(86*24*time.Hour), time.Now().Add(4*24*time.Hour+time.Hour)
		return in.certificate(store.Certificate{Name: "www.example.com", Source: fieldmark.CertificateImported,
			NotBefore: begin, NotAfter: end})
	}},
	fieldmark.IssueModuleMismatch: {"edge-1:8080 does not use the active module", func(in *installation) func() {
		time.Sleep(time.Minute) // after the activation
		n := in.report(func(r *fieldmark.NodeReport) { r.Module = fieldmark.ModuleRef{} })
		return func() { in.report(func(r *fieldmark.NodeReport) { r.Node = n.Node }) }
	}},
	fieldmark.IssueEdgeLagging: {"edge-1:8080 is behind by 1 event", func(in *installation) func() {
		in.brand()
		time.Sleep(time.Minute)
		n := in.report(func(r *fieldmark.NodeReport) { r.Cursor-- })
		return func() { in.report(func(r *fieldmark.NodeReport) { r.Node = n.Node }) }
	}},
	fieldmark.IssueEdgeUnseen: {"edge-1:8080 does not report", func(in *installation) func() {
		n := in.report(func(*fieldmark.NodeReport) {})
		time.Sleep(13 * time.Second)
		return func() {
			if err := in.Modules.RemoveNode(in.t.Context(), n.Node); err != nil {
				in.t.Fatal(err)
			}
		}
	}},
	fieldmark.IssueRedisUnavailable: {"Redis does not answer 1 of 1 edge", func(in *installation) func() {
		since := fieldmark.At(ago(time.Second))
		n := in.report(func(r *fieldmark.NodeReport) { r.RedisDownSince = &since })
		return func() { in.report(func(r *fieldmark.NodeReport) { r.Node = n.Node }) }
	}},
	fieldmark.IssueBackupOutdated: {"never been backed up", func(in *installation) func() {
		time.Sleep(9 * 24 * time.Hour)
		return func() {
			in.write(func(ctx context.Context, tx *store.Tx) error { return tx.AddBackup(ctx, time.Now()) })
		}
	}},
	fieldmark.IssueDatabaseReadOnly: {"The database refuses writes", func(in *installation) func() {
		write := func(want bool) {
			in.t.Helper()
			for range 3 { // a connection of before may have been closed
				err := in.store.Write(in.t.Context(), func(ctx context.Context, tx *store.Tx) error {
					return tx.AddBackup(ctx, time.Now())
				})
				if (err == nil) == want && slices.ContainsFunc(in.Monitor.Outage(), isReadOnly) != want {
					return
				}
			}
			in.t.Errorf("the database accepts writes: %t, want %t", !want, want)
		}
		allow := storetest.RefuseWrites(in.t, in.cfg)
		write(false)
		return func() {
			allow()
			time.Sleep(time.Minute) // a refused write counts for 30 s
			write(true)
		}
	}},
	fieldmark.IssueCDNFailing: {"cannot be purged: status 500", func(in *installation) func() {
		return in.cdn(fieldmark.CDNFailing, func(s *store.CDNStatus, at *fieldmark.Time) {
			s.LastError, s.FailingSince = "status 500", at
		})
	}},
	fieldmark.IssueCDNRefused: {"is not purged: refused", func(in *installation) func() {
		return in.cdn(fieldmark.CDNRefused, func(s *store.CDNStatus, at *fieldmark.Time) {
			s.LastError, s.FailingSince = "refused", at
		})
	}},
	fieldmark.IssueCDNUnverified: {"may serve outdated badges: the badge of acme is outdated there",
		func(in *installation) func() {
			at := fieldmark.At(ago(time.Minute))
			row := store.CDN{Name: "front", State: fieldmark.CDNActive, CreatedAt: at, UpdatedAt: at}
			row.Probe.State, row.Probe.Since = fieldmark.CDNFailed, at
			row.Probe.Error = "the badge of acme is outdated there"
			put := func(ctx context.Context, tx *store.Tx) error { return tx.PutCDN(ctx, &row) }
			in.write(put)
			return func() {
				row.Probe.State = fieldmark.CDNPending
				in.write(put)
			}
		}},
	fieldmark.IssueCDNEmptied: {"was purged of everything: another database", func(in *installation) func() {
		return in.cdn(fieldmark.CDNActive, func(s *store.CDNStatus, at *fieldmark.Time) {
			s.EmptiedFor, s.EmptiedAt = "another database", at
		})
	}},
	fieldmark.IssueDiskFilling: {"512 MiB left", func(in *installation) func() {
		in.free.Store(512 << 20)
		return func() { in.free.Store(50 << 30) }
	}},
}

// TestIssues: an installation without problems has no issue; each cause has exactly its issue
// with a text for every part, and no issue when it is gone.
func TestIssues(t *testing.T) {
	receiver := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(receiver.Close)
	for code, row := range causes {
		t.Run(string(code), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in := install(t)
				in.url = receiver.URL
				if list := in.issues(); len(list) > 0 {
					t.Fatalf("a new installation has %+v, want none", list)
				}
				clear := row.run(in)
				list := in.issues()
				i := slices.IndexFunc(list, func(i fieldmark.Issue) bool { return i.Code == code })
				if i < 0 || !strings.Contains(list[i].Title, row.want) {
					t.Fatalf("issues %+v, want %s with %q", list, code, row.want)
				}
				one := list[i]
				if one.Since.IsZero() || one.Since.Std().After(time.Now()) || one.Effect == "" || one.Action == "" {
					t.Errorf("%+v lacks a time, an effect or an action", one)
				}
				clear()
				if list := in.issues(); len(list) > 0 {
					t.Errorf("after the cause: %+v, want none", list)
				}
			})
		})
	}
}

// TestBreachesOfThePast: an open breach is listed however many later ones are closed, and is no
// longer listed when the work that was late is done.
func TestBreachesOfThePast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := install(t)
		open := in.openMission("open")
		time.Sleep(time.Minute)
		late := in.openMission("late")
		in.runTimers(16 * time.Minute)
		in.complete(late.ID)()
		storetest.Exec(t, in.cfg, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5001)
			INSERT INTO sla_event (mission, metric, cycle, kind, turn, event, at)
			SELECT mission, metric, cycle, kind, i, 'evt_' || i, at + i FROM sla_event CROSS JOIN n
			WHERE mission = '`+late.ID+`' AND kind = 'sla.breached'`)
		list := in.issues()
		if len(list) != 1 || list[0].Code != fieldmark.IssueSLABreached ||
			list[0].Since.Std().Sub(open.CreatedAt.Std()) != 15*time.Minute {
			t.Errorf("%+v, want the breach of the open mission, since it was due", list)
		}
		storetest.Exec(t, in.cfg, `DELETE FROM sla_event WHERE length(event) < 12`)
		must[fieldmark.Mission](t)(in.Missions.Transition(t.Context(), open.ID, fieldmark.MissionDispatched, nil))
		if list := in.issues(); len(list) > 0 {
			t.Errorf("after the response: %+v, want no issue", list)
		}
	})
}

// TestEveryIssueHasATest: every code has a cause in TestIssues or a separate test.
func TestEveryIssueHasATest(t *testing.T) {
	source, err := os.ReadFile("../../monitor.go")
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := map[fieldmark.IssueCode]string{
		fieldmark.IssueModuleMissing:       "TestModuleMissing",
		fieldmark.IssueDatabaseUnavailable: "TestIssuesOfProcesses of cmd/fieldmark",
	}
	codes := regexp.MustCompile(`IssueCode = "(\w+)"`).FindAllSubmatch(source, -1)
	for _, found := range codes {
		code := fieldmark.IssueCode(found[1])
		if _, caused := causes[code]; !caused && elsewhere[code] == "" {
			t.Errorf("no test causes %s", code)
		}
	}
	if len(codes) != len(causes)+len(elsewhere) {
		t.Errorf("%d codes, %d causes", len(codes), len(causes)+len(elsewhere))
	}
}

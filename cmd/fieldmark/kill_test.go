package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/origin/objects"
	"github.com/fieldmark/fieldmark/origin/store"
)

const writers = 8

// maxRequests limits the requests between two kills. The limit is a number and not a
// duration, so that slow and fast machines run the same workload.
const maxRequests int64 = 160

// chaos selects the long workload of make chaos.
var chaos = flag.Bool("chaos", false, "kill a Fieldmark 200 times in place of 10, and wreck a fleet in every way")

// kills returns how often the process is killed: in the suite, 20 times over both databases.
func kills() int {
	if *chaos {
		return 200
	}
	return 10
}

// TestKill repeatedly kills a Fieldmark during writes, at arbitrary moments. In the end
// every acknowledged mission and move must exist exactly once, and the receiver must
// have every event of them. Requests without a response are sent again under the same
// idempotency key and take effect once.
func TestKill(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		killing(t)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		killing(t, "--database-url", storetest.OwnPostgres(t).URL, "--secret", strings.Repeat("s", minSecret))
	})
}

// killing runs the workload against an origin and kills it. record selects the
// database.
func killing(t *testing.T, record ...string) {
	dir := t.TempDir()
	s := &workload{t: t, key: newKeyAt(t, dir, record, "mission:create", "mission:read", "mission:operate",
		"mission:update"),
		admin:   newKeyAt(t, dir, record, "admin:*"),
		created: map[string]string{}, completed: map[string]bool{}, moved: map[string]int{},
		events: map[string]string{}, arrived: map[string]map[string]bool{},
		clocks: map[string]map[string]bool{}}
	receiver := httptest.NewServer(http.HandlerFunc(s.receive))
	defer receiver.Close()
	serve := append([]string{"serve", "--public-api", "--rate-limit", "off", "--allow-networks", "127.0.0.0/8",
		"--log-level", "INFO"}, freePorts("var")...)
	serve = append(serve, record...)

	for round := range kills() {
		p := start(t, dir, serve...)
		base := p.logged("serve", "listen")
		if round == 0 {
			status, _, body := ask(t, "POST", base+"/api/admin/v1/webhooks",
				fmt.Sprintf(`{"url":%q,"events":["mission.*"]}`, receiver.URL+"/"), "Authorization", "Bearer "+s.admin)
			if status != http.StatusCreated {
				t.Fatalf("register the receiver: %d %s", status, body)
			}
		}
		if round == 0 {
			s.watchClocks(base, receiver.URL)
		}
		s.blow(base, rand.N(maxRequests), p.kill)
	}

	var orphan string
	if len(record) == 0 {
		orphan = s.orphan(dir, serve)
	}
	p := start(t, dir, serve...)
	base := p.logged("serve", "listen")
	if orphan != "" {
		waittest.Until(t, "the sweep deletes the file without a row", func() bool {
			_, err := os.Stat(orphan)
			return errors.Is(err, fs.ErrNotExist)
		})
	}
	s.settle(base)
	s.report()
	check := []string{"db", "check", "--data", "var"}
	if len(record) > 0 {
		check = append(check, record[:2]...)
	}
	runOnce(t, dir, check...)
	p.stop()
}

// orphan kills a Fieldmark between the file of an attachment and its row, which waits for another process to
// release the database. It returns the file, as if that was two days ago: the sweep keeps younger ones.
func (s *workload) orphan(dir string, serve []string) string {
	t := s.t
	var file string
	for n := 1; file == ""; n++ {
		file = s.killUpload(dir, serve, fmt.Sprint("orphan-", n))
	}
	runOnce(t, dir, "db", "check", "--data", "var") // it is not an error
	id := fieldmark.NewID(fieldmark.PrefixAttachment, time.Now().Add(-48*time.Hour))
	folder := filepath.Base(filepath.Dir(file))
	old := filepath.Join(filepath.Dir(filepath.Dir(file)), id[:len(folder)], id)
	must(t, os.MkdirAll(filepath.Dir(old), 0o700))
	must(t, os.Rename(file, old))
	return old
}

// killUpload kills a Fieldmark while it adds an attachment to a new mission, and returns the file of the
// attachment; empty: the request was refused before, because its wait for the database had ended.
func (s *workload) killUpload(dir string, serve []string, mission string) (file string) {
	t := s.t
	p := start(t, dir, serve...)
	base := p.logged("serve", "listen")
	var m fieldmark.Mission
	waittest.Until(t, "there is a mission for the attachment", func() (ok bool) {
		m, ok = s.send(base, attempt{"/api/public/v1/missions", missionJSON(mission), "create-" + mission},
			http.StatusCreated)
		return ok
	})
	release := storetest.RefuseWrites(t, store.Config{Path: filepath.Join(dir, "var", "fieldmark.db")})
	r, err := http.NewRequestWithContext(t.Context(), "POST", base+"/api/public/v1/missions/"+m.ID+"/attachments",
		strings.NewReader("\xff\xd8\xff\xe0 a photo"))
	must(t, err)
	r.Header.Set("Authorization", "Bearer "+s.key)
	r.Header.Set("Content-Type", "image/jpeg")
	var refused atomic.Bool
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		if resp, err := http.DefaultClient.Do(r); err == nil {
			refused.Store(true)
			if resp.StatusCode != http.StatusServiceUnavailable && resp.StatusCode != http.StatusGatewayTimeout {
				t.Errorf("the attachment was answered with %s", resp.Status)
			}
			_ = resp.Body.Close()
		}
	}()
	files := filepath.Join(dir, "var", "objects", "attachments", "*", "att_*")
	waittest.Until(t, "the file is durable", func() bool {
		found, err := filepath.Glob(files)
		must(t, err)
		if len(found) == 1 && !strings.HasSuffix(found[0], objects.PartialSuffix) {
			file = found[0]
		}
		return file != "" || refused.Load()
	})
	p.kill()
	<-sent
	release()
	if !refused.Load() {
		return file
	}
	left, err := filepath.Glob(files)
	must(t, err)
	for _, name := range left {
		must(t, os.Remove(name))
	}
	return ""
}

func newKey(t testing.TB, dir string, scopes ...string) string {
	t.Helper()
	return newKeyAt(t, dir, nil, scopes...)
}

// newKeyAt creates an API key in the database that the settings in record select.
func newKeyAt(t testing.TB, dir string, record []string, scopes ...string) string {
	t.Helper()
	args := append([]string{"key", "create", "--data", "var", "--name", "test"}, record...)
	for _, sc := range scopes {
		args = append(args, "--scope", sc)
	}
	for word := range strings.FieldsSeq(runOnce(t, dir, args...)) {
		if strings.HasPrefix(word, "fm_live_") {
			return word
		}
	}
	t.Fatal("key create printed no key")
	return ""
}

// workload records the responses to the writers and the events at the receiver.
type workload struct {
	t          testing.TB
	key, admin string
	next, sent atomic.Int64

	mu        sync.Mutex
	created   map[string]string          // externalId -> mission id, acknowledged
	completed map[string]bool            // mission id, acknowledged
	moved     map[string]int             // mission id -> number of acknowledged moves
	open      []attempt                  // sent without a response
	messages  int                        // number received
	events    map[string]string          // event id -> mission id, type and version
	arrived   map[string]map[string]bool // mission id -> "type version" of received events

	clocks map[string]map[string]bool // threshold of a timer -> ids of its events
}

// attempt is a request that may have taken effect.
type attempt struct{ path, body, key string }

// blow writes from several goroutines and calls kill after a number of requests.
func (s *workload) blow(base string, requests int64, kill func()) {
	stop := make(chan struct{})
	enough := s.sent.Load() + requests
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					s.write(base)
				}
			}
		})
	}
	waittest.Until(s.t, "the workload has sent its requests", func() bool { return s.sent.Load() >= enough })
	kill()
	close(stop)
	wg.Wait()
}

// write creates one mission under a key and moves or completes two of three. It records
// what was acknowledged and which requests had no response.
func (s *workload) write(base string) {
	s.again(base)
	n := s.next.Add(1)
	id := fmt.Sprintf("job-%d", n)
	request := missionJSON(id)
	if n%hurried == 0 {
		request = strings.Replace(request, "{", `{"priority":"HIGH",`, 1)
	}
	m, ok := s.send(base, attempt{"/api/public/v1/missions", request, "create-" + id}, http.StatusCreated)
	if !ok {
		return
	}
	s.note(func() { s.created[id] = m.ID })
	switch n % 3 {
	case 0:
		status, _, body, err := try("POST", base+"/api/admin/v1/missions/"+m.ID+"/complete", "", "Authorization",
			"Bearer "+s.admin)
		if err != nil || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout {
			return
		}
		if status != http.StatusOK {
			s.t.Errorf("complete %s: %d %s", m.ID, status, body)
			return
		}
		s.note(func() { s.completed[m.ID], s.moved[m.ID] = true, 3 })
	case 1:
		for i, to := range []string{"SCHEDULED", "DISPATCHED", "ON_HOLD", "DISPATCHED"} {
			move := attempt{"/api/public/v1/missions/" + m.ID + "/transitions", fmt.Sprintf(`{"status":%q}`, to),
				fmt.Sprintf("move-%s-%d", id, i)}
			if _, ok := s.send(base, move, http.StatusOK); !ok {
				return
			}
			s.note(func() { s.moved[m.ID]++ })
		}
	}
}

func (s *workload) note(what func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what()
}

// send sends a request under its idempotency key. Without a response, or while an earlier
// attempt is being answered, the request is stored to be sent again.
func (s *workload) send(base string, a attempt, want int) (m fieldmark.Mission, ok bool) {
	s.sent.Add(1)
	status, _, body, err := try("POST", base+a.path, a.body, "Authorization", "Bearer "+s.key,
		fieldmark.HeaderIdempotencyKey, a.key)
	if err != nil || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout ||
		status == http.StatusConflict && strings.Contains(body, string(fieldmark.CodeIdempotencyInFlight)) {
		s.note(func() { s.open = append(s.open, a) })
		return m, false
	}
	if status != want || json.Unmarshal([]byte(body), &m) != nil {
		s.t.Errorf("%s %s: %d %s", a.path, a.body, status, body)
		return m, false
	}
	return m, true
}

// again repeats a request without a response: the result is the same whether or not the
// first attempt took effect.
func (s *workload) again(base string) {
	var a attempt
	s.note(func() {
		if n := len(s.open); n > 0 {
			a, s.open = s.open[n-1], s.open[:n-1]
		}
	})
	if a.key == "" {
		return
	}
	create := strings.HasPrefix(a.key, "create-")
	want := http.StatusOK
	if create {
		want = http.StatusCreated
	}
	m, ok := s.send(base, a, want)
	if !ok {
		return
	}
	s.note(func() {
		if create {
			s.created[strings.TrimPrefix(a.key, "create-")] = m.ID
		} else {
			s.moved[m.ID]++
		}
	})
}

func missionJSON(id string) string {
	return fmt.Sprintf(`{"source":"workload","externalId":%q,"title":"Work %s"}`, id, id)
}

// receive is the webhook receiver.
func (s *workload) receive(_ http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	var e fieldmark.Envelope
	var m fieldmark.Mission
	if json.Unmarshal(raw, &e) != nil || json.Unmarshal(e.Data, &m) != nil {
		s.t.Errorf("not an envelope of a mission: %s", raw)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.URL.Path == clocksPath {
		s.noteClock(e)
		return
	}
	s.messages++
	told := fmt.Sprintf("%s %d", e.Type, m.Version)
	if before, ok := s.events[e.ID]; ok && before != m.ID+told {
		s.t.Errorf("event %s told %q and then %q", e.ID, before, m.ID+told)
	}
	if _, again := s.events[e.ID]; !again && s.arrived[m.ID][told] {
		s.t.Errorf("%s of mission %s was told by two events", told, m.ID)
	}
	s.events[e.ID] = m.ID + told
	if s.arrived[m.ID] == nil {
		s.arrived[m.ID] = map[string]bool{}
	}
	s.arrived[m.ID][told] = true
}

// clocksPath is the receiver's path for events of SLA timers.
const clocksPath = "/clocks"

// hurried is the ratio of all missions to those with a timer at risk within a second,
// so that deadlines pass during the workload and between its kills.
const hurried = 8

// watchClocks sets short deadlines for urgent missions, and subscribes to their events.
func (s *workload) watchClocks(base, receiver string) {
	s.t.Helper()
	for path, body := range map[string]string{
		"webhooks": fmt.Sprintf(`{"url":%q,"events":["sla.at_risk","sla.breached"]}`, receiver+clocksPath),
		"sla/policies/HIGH": `{"responseMinutes":1,"onsiteMinutes":9999,"resolutionMinutes":9999,"calendar":"24x7",` +
			`"atRiskPercent":[1,2]}`,
	} {
		method, want := "POST", http.StatusCreated
		if path != "webhooks" {
			method, want = "PUT", http.StatusOK
		}
		if status, _, answer := ask(s.t, method, base+"/api/admin/v1/"+path, body, "Authorization",
			"Bearer "+s.admin); status != want {
			s.t.Fatalf("%s: %d %s", path, status, answer)
		}
	}
}

// noteClock stores the event of a timer. Callers hold mu.
func (s *workload) noteClock(e fieldmark.Envelope) {
	var d fieldmark.SLAAtRiskEvent
	if err := json.Unmarshal(e.Data, &d); err != nil {
		s.t.Errorf("not an event of a clock: %s", e.Data)
		return
	}
	what := fmt.Sprint(d.ID, " ", d.Metric, " ", e.Type, " ", d.ThresholdPercent)
	if s.clocks[what] == nil {
		s.clocks[what] = map[string]bool{}
	}
	s.clocks[what][e.ID] = true
}

// settle waits for every delivery and checks every mission.
func (s *workload) settle(base string) {
	for left := true; left; {
		s.again(base)
		s.note(func() { left = len(s.open) > 0 })
	}
	s.drain()
	for external, id := range s.created {
		status, _, body := ask(s.t, "GET", base+"/api/public/v1/missions?source=workload&externalId="+external, "",
			"Authorization", "Bearer "+s.key)
		var page fieldmark.List[fieldmark.Mission]
		must(s.t, json.Unmarshal([]byte(body), &page))
		if status != http.StatusOK || len(page.Data) != 1 || page.Data[0].ID != id {
			s.t.Errorf("mission %s (%s) after the kills: %d %s", external, id, status, body)
			continue
		}
		if m := page.Data[0]; s.moved[id] > 0 && m.Version != 1+s.moved[id] {
			s.t.Errorf("mission %s was moved %d times and is at version %d", id, s.moved[id], m.Version)
		}
		if s.completed[id] && page.Data[0].Status != fieldmark.MissionCompleted {
			s.t.Errorf("mission %s was acknowledged as completed and is %s", id, page.Data[0].Status)
		}
	}
}

// drain waits until every event of every acknowledged mission has arrived. A long
// workload leaves tens of thousands of messages, so drain fails when none has arrived
// for a while, and not after a fixed time.
func (s *workload) drain() {
	s.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	seen, last := -1, time.Now()
	for {
		missing, messages := s.missing()
		if len(missing) == 0 {
			return
		}
		if messages != seen {
			seen, last = messages, time.Now()
		} else if time.Since(last) > waittest.Limit {
			s.t.Fatalf("nothing arrived for %v; %d missions of %d lack events, such as %s", waittest.Limit,
				len(missing), len(s.created), missing[0])
		}
		<-tick.C
	}
}

// missing lists the acknowledged missions with missing events, and returns the number
// of messages so far.
func (s *workload) missing() (ids []string, messages int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range s.created {
		if len(s.arrived[id]) < 1+s.moved[id] {
			ids = append(ids, fmt.Sprint(id, " with ", len(s.arrived[id]), " of ", 1+s.moved[id]))
		}
	}
	return ids, s.messages
}

// report logs the totals of the workload. It holds the lock because repeated deliveries
// may still arrive.
func (s *workload) report() {
	s.mu.Lock()
	defer s.mu.Unlock()
	moves := 0
	for _, n := range s.moved {
		moves += n
	}
	s.t.Logf("%d kills: %d missions, %d moves and %d completions acknowledged, %d events in %d messages",
		kills(), len(s.created), moves, len(s.completed), len(s.events), s.messages)
	for what, events := range s.clocks {
		if len(events) != 1 {
			s.t.Errorf("%s was told by %d events", what, len(events))
		}
	}
	s.t.Logf("%d deadlines were told", len(s.clocks))
	if len(s.clocks) == 0 {
		s.t.Error("no deadline passed")
	}
	if len(s.created) < kills() || len(s.completed) == 0 {
		s.t.Errorf("the workload was too weak to show anything")
	}
}

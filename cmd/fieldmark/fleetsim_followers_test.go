package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/eventlog"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/origin/client"
)

// The load on the origin while followers are measured: weekly audits of ten million brands, and the events of
// missions, which followers do not act on.
const (
	simChanges      = 17 // brands that change in a second
	simMissions     = 500
	simMissionBatch = 50 // missions of one request
)

// simLoad is what is written during a measurement.
type simLoad struct {
	name              string
	changes, missions bool
}

var simLoads = []simLoad{{name: "idle"}, {"17 changes/s", true, false}, {"500 missions/s", false, true}}

// follow measures followers of the log: none, some that read the stream, and some that poll the origin.
func (s *simulation) follow() {
	none := s.measure(&followers{s: s}, "no followers", nil)
	for _, source := range []string{"stream", "polling"} {
		url := ""
		if source == "stream" {
			url = s.redis[len(s.redis)-1].URL
		}
		before := heap()
		f := s.startFollowers(url)
		s.report(fmt.Sprintf("a follower by %s: memory", source), float64(heap()-before)/float64(*simFollowers)/1024,
			"KiB", 400)
		s.measure(f, fmt.Sprintf("%d followers by %s", *simFollowers, source), none)
		f.check()
		f.stop()
	}
}

// heap returns the memory of objects and of stacks of this process.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// measure reports what each load costs the origin, and how late followers see it. Base are the rates without
// followers.
func (s *simulation) measure(f *followers, who string, base []rates) (all []rates) {
	for i, load := range simLoads {
		redis, seen := s.redisTime(), f.seen.Load()
		f.resetLags()
		before := s.usage()
		s.write(load)
		u := s.usage().since(before)
		all = append(all, u)
		what := who + ", " + load.name + ": "
		s.report(what+"processor of the origin", u.processor, "cores", 0)
		if base == nil {
			s.report(what+"database reads", u.reads, "/s", 0)
			s.report(what+"database writes", u.writes, "/s", 0)
			continue
		}
		var cores, requests, late float64 // goals
		switch {
		case f.url != "":
			cores, late = 0.2, 1000
		case load.missions:
			cores = 0.05
		}
		if !load.changes && !load.missions {
			requests = 1.1
		}
		s.report(what+"of that by followers", u.processor-base[i].processor, "cores", cores)
		if load.missions && f.url != "" {
			s.report(what+"that is, times the processor without followers", u.processor/base[i].processor, "x", 1.02)
		}
		s.report(what+"requests to the origin, each", u.internal/float64(*simFollowers), "/s", requests)
		s.report(what+"database reads by followers", u.reads-base[i].reads, "/s", 10)
		if lags := f.lagsSorted(); len(lags) > 0 {
			s.report(what+"seen after, median", lags[len(lags)/2].Seconds()*1000, "ms", 0)
			s.report(what+"seen after, p99", lags[len(lags)*99/100].Seconds()*1000, "ms", late)
		}
		if n := f.seen.Load() - seen; n > 0 && f.url != "" {
			s.report(what+"processor of the replica, each delivery",
				(s.redisTime()-redis).Seconds()*1e6/float64(n), "us", 0)
		}
	}
	return all
}

// redisTime returns the processor time of the replica that followers read.
func (s *simulation) redisTime() (sum time.Duration) {
	for line := range strings.Lines(s.redis[len(s.redis)-1].Do("INFO", "cpu")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_sys" || name == "used_cpu_user" {
			seconds, err := strconv.ParseFloat(value, 64)
			must(s.t, err)
			sum += time.Duration(seconds * float64(time.Second))
		}
	}
	return sum
}

// write writes a load for the time of a measurement.
func (s *simulation) write(load simLoad) {
	end := time.After(*simWindow)
	stop := make(chan struct{})
	var writing sync.WaitGroup
	every := func(interval time.Duration, do func(i int)) {
		writing.Go(func() {
			tick := time.NewTicker(interval)
			defer tick.Stop()
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-tick.C:
					do(i)
				}
			}
		})
	}
	send := func(method, path, body string, want int) {
		status, _, answer, err := try(method, s.base+path, body, "Authorization", "Bearer "+s.key)
		if err != nil || status != want {
			s.t.Errorf("%s %s: %d %.200s %v", method, path, status, answer, err)
		}
	}
	id := time.Now().UnixNano()
	if load.changes {
		every(time.Second/simChanges, func(i int) {
			slug := fmt.Sprint("brand-", spreadOf(1+i%100))
			send("PUT", "/api/admin/v1/brands/"+slug, fmt.Sprintf(`{"name":"Changed %d","url":"https://%s.example/",`+
				`"niche":"tools","language":"en","public":true}`, id+int64(i), slug), http.StatusOK)
		})
	}
	if load.missions {
		every(time.Second*simMissionBatch/simMissions, func(i int) {
			all := make([]string, simMissionBatch)
			for j := range all {
				all[j] = missionJSON(fmt.Sprintf("%d-%d-%d", id, i, j))
			}
			send("POST", fieldmark.PathMissionBatch, `{"missions":[`+strings.Join(all, ",")+`]}`, http.StatusOK)
		})
	}
	<-end
	close(stop)
	writing.Wait()
}

// followers follow the log as edges do, and record what they see.
type followers struct {
	s      *simulation
	url    string // of the stream; empty: they poll
	client *client.Client
	log    string
	from   fieldmark.EventCursor
	all    []*simFollower
	seen   atomic.Int64
	stop   func()
}

type simFollower struct {
	at        atomic.Int64
	streaming atomic.Bool

	mu      sync.Mutex
	numbers []int64 // of all events, in the order seen
	lags    []time.Duration
	problem string
}

// startFollowers starts followers at the head of the log. They end with stop.
func (s *simulation) startFollowers(url string) *followers {
	t := s.t
	origin, err := client.New(client.Config{BaseURL: s.base, NodeToken: s.token,
		Transport: &http.Transport{MaxIdleConnsPerHost: *simFollowers, DisableCompression: true}})
	must(t, err)
	f := &followers{s: s, url: url, client: origin}
	page, err := origin.Events(t.Context(), fieldmark.EventCursor{Number: 1 << 53}, 0)
	must(t, err)
	f.log, f.from = page.Log, fieldmark.EventCursor{Number: page.Head}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	f.stop = func() { cancel(); running.Wait() }
	t.Cleanup(f.stop)
	for range *simFollowers {
		one := &simFollower{}
		f.all = append(f.all, one)
		source, err := eventlog.New(eventlog.Config{URL: url, Poll: origin.Events, Log: slog.New(slog.DiscardHandler),
			OnGap: func() {}, OnFallback: func(string) {}, OnSource: one.streaming.Store})
		must(t, err)
		running.Go(func() {
			defer source.Close()
			f.run(ctx, one, source)
		})
	}
	if url != "" {
		waittest.Until(t, "all followers read the stream", func() bool {
			return !slices.ContainsFunc(f.all, func(one *simFollower) bool { return !one.streaming.Load() })
		})
	}
	return f
}

// run follows the log until ctx ends.
func (f *followers) run(ctx context.Context, one *simFollower, source *eventlog.Source) {
	at := f.from
	for ctx.Err() == nil {
		page, err := source.Next(ctx, f.log, at, fieldmark.MaxWait*time.Second)
		if err != nil {
			time.Sleep(100 * time.Millisecond) // as long as edges wait, at least
			continue
		}
		now := time.Now()
		one.mu.Lock()
		if page.Log != f.log || page.Head < at.Number || page.Diverged(at) {
			one.problem = fmt.Sprintf("at %v it would start again because of %+v", at, page)
		}
		for i := range page.Events {
			one.numbers = append(one.numbers, page.Events[i].Number)
			one.lags = append(one.lags, now.Sub(page.Events[i].Time.Std()))
		}
		one.mu.Unlock()
		f.seen.Add(int64(len(page.Events)))
		at = page.Next(at)
		one.at.Store(at.Number)
	}
}

func (f *followers) resetLags() {
	for _, one := range f.all {
		one.mu.Lock()
		one.lags = nil
		one.mu.Unlock()
	}
}

// lagsSorted returns how late each follower saw each event, in ascending order.
func (f *followers) lagsSorted() (lags []time.Duration) {
	for _, one := range f.all {
		one.mu.Lock()
		lags = append(lags, one.lags...)
		one.mu.Unlock()
	}
	slices.Sort(lags)
	return lags
}

// check waits until all followers are at the head of the log, and checks that each has seen what the origin has for
// edges, once and in order.
func (f *followers) check() {
	t := f.s.t
	t.Helper()
	var want []int64
	for at := f.from; ; {
		page, err := f.client.Events(t.Context(), at, 0)
		must(t, err)
		for i := range page.Events {
			want = append(want, page.Events[i].Number)
		}
		if at = page.Next(at); at.Number < page.Head {
			continue
		}
		waittest.Until(t, "all followers are at the head of the log", func() bool {
			return !slices.ContainsFunc(f.all, func(one *simFollower) bool { return one.at.Load() < at.Number })
		})
		break
	}
	if len(want) == 0 {
		t.Error("the log has no events that edges act on")
	}
	for i, one := range f.all {
		one.mu.Lock()
		if one.problem != "" {
			t.Errorf("follower %d: %s", i, one.problem)
		}
		if !slices.Equal(one.numbers, want) {
			t.Errorf("follower %d has seen %d events, want the %d of the log, each once and in order", i,
				len(one.numbers), len(want))
		}
		one.mu.Unlock()
	}
}

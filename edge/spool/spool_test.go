package spool_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge/spool"
)

// environment that makes the test binary a process that accepts requests until it is killed
const (
	dirOfProcess   = "FIELDMARK_TEST_SPOOL"
	firstOfProcess = "FIELDMARK_TEST_SPOOL_FIRST"
)

var killsFlag = flag.Int("kills", 25, "how often TestKilled kills a process")

func TestMain(m *testing.M) {
	if dir := os.Getenv(dirOfProcess); dir != "" {
		acceptForever(dir)
	}
	os.Exit(m.Run())
}

// acceptForever accepts requests from several goroutines and prints the identifier of each after it was accepted.
// Another goroutine sends some of them and prints what it sent.
func acceptForever(dir string) {
	ctx := context.Background()
	s, err := spool.Open(ctx, spool.Config{Dir: dir, Tokens: []string{"token"}})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	var next atomic.Int64
	first, _ := strconv.ParseInt(os.Getenv(firstOfProcess), 10, 64)
	next.Store(first)
	go s.Run(ctx, func(_ context.Context, r fieldmark.SpooledRequest) (fieldmark.Intake, error) {
		if rand.IntN(50) == 0 {
			return fieldmark.Intake{}, errors.New("no origin")
		}
		fmt.Println("sent", r.ExternalID, r.ID)
		return fieldmark.Intake{State: fieldmark.IntakeMission}, nil
	})
	for range 8 {
		go func() {
			for {
				id := strconv.FormatInt(next.Add(1), 10)
				if _, err := s.Accept(newRequest("acme", "source "+id[len(id)-1:], id)); err != nil {
					fmt.Println("error", err)
				} else {
					fmt.Println("accepted", id)
				}
			}
		}()
	}
	select {}
}

func newRequest(account, source, externalID string) *spool.Request {
	body := []byte(`{"source":"` + source + `","externalId":"` + externalID + `","title":"secret title"}`)
	return &spool.Request{Key: spool.Key{ID: "key_1", Account: account}, Content: sha256.Sum256(body),
		SpooledRequest: fieldmark.SpooledRequest{Key: "key_1", Source: source, ExternalID: externalID, Body: body,
			Method: "POST", Target: fieldmark.PathMissions, ContentType: "application/json"}}
}

func open(t testing.TB, dir string, tokens ...string) *spool.Spool {
	t.Helper()
	if tokens == nil {
		tokens = []string{"token"}
	}
	s, err := spool.Open(t.Context(), spool.Config{Dir: dir, Tokens: tokens})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func accept(t testing.TB, s *spool.Spool, r *spool.Request) fieldmark.Intake {
	t.Helper()
	a, err := s.Accept(r)
	if err != nil || a.State != fieldmark.IntakeAccepted || a.ID == "" {
		t.Fatalf("accept %s: %+v, %v", r.ExternalID, a, err)
	}
	return a
}

// drain sends everything with send and returns when the spool is empty. It fails if nothing is sent for two minutes.
func drain(t testing.TB, s *spool.Spool, send spool.Sender) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Run(ctx, send) }()
	left, since := s.Stats().Requests, time.Now()
	for ; left > 0; time.Sleep(time.Millisecond) {
		switch n := s.Stats().Requests; {
		case n != left:
			left, since = n, time.Now()
		case time.Since(since) > 2*time.Minute:
			t.Fatalf("nothing is sent any more: %+v", s.Stats())
		}
	}
	stop()
	<-done
}

// TestAccept accepts requests, the same ones again, and others with the same identifiers.
func TestAccept(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	first := accept(t, s, newRequest("acme", "itsm", "1"))
	if first.Source != "itsm" || first.ExternalID != "1" || first.AcceptedAt.IsZero() {
		t.Errorf("receipt %+v", first)
	}
	upper := newRequest("acme", "itsm", "1")
	upper.Source = "ITSM"
	if again := accept(t, s, upper); again.ID != first.ID {
		t.Errorf("the source in another case: %s, want %s", again.ID, first.ID)
	}
	s.Close()
	s = open(t, dir)
	defer s.Close()
	again := accept(t, s, newRequest("acme", "itsm", "1"))
	if again.ID != first.ID || again.AcceptedAt != first.AcceptedAt {
		t.Errorf("after a restart: %+v, want %+v", again, first)
	}
	other := newRequest("acme", "itsm", "1")
	other.Content[0]++
	if _, err := s.Accept(other); !errors.Is(err, spool.ErrConflict) {
		t.Errorf("other content with the same identifiers: %v, want ErrConflict", err)
	}
	keyed := newRequest("acme", "itsm", "2")
	keyed.IdempotencyKey = "k"
	receipt := accept(t, s, keyed)
	if again := accept(t, s, keyed); again.ID != receipt.ID {
		t.Errorf("sent twice under a key: %s and %s", receipt.ID, again.ID)
	}
	reused := newRequest("acme", "itsm", "3")
	reused.IdempotencyKey = "k"
	if _, err := s.Accept(reused); !errors.Is(err, spool.ErrReused) {
		t.Errorf("another request under the key: %v, want ErrReused", err)
	}
	accept(t, s, newRequest("best", "itsm", "1")) // of another account
	found, ok, err := s.Find(t.Context(), "acme", receipt.ID)
	if err != nil || !ok || found.ExternalID != "2" {
		t.Errorf("find: %+v, %v, %v", found, ok, err)
	}
	for _, id := range []string{receipt.ID + "0", "other.1", "", "."} {
		if _, ok, err := s.Find(t.Context(), "acme", id); ok || err != nil {
			t.Errorf("find %q: %v, %v; want nothing", id, ok, err)
		}
	}
	if _, ok, _ := s.Find(t.Context(), "best", receipt.ID); ok {
		t.Error("another account finds the request")
	}
	if !s.Holds("acme", "Itsm") || s.Holds("acme", "other") || s.Holds("other", "itsm") {
		t.Error("Holds is wrong")
	}
}

// TestSealed checks that the file has no content in plain text, that a rotated token still reads it, and that
// a spool that cannot be read does not open.
func TestSealed(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, "old")
	accept(t, s, newRequest("acme", "itsm", "1"))
	s.Close()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil || bytes.Contains(content, []byte("secret title")) {
			t.Errorf("%s holds the request in plain text (%v)", name, err)
		}
	}
	if _, err := spool.Open(t.Context(), spool.Config{Dir: dir, Tokens: []string{"new"}}); err == nil ||
		!strings.Contains(err.Error(), "node token") {
		t.Errorf("with another token: %v, want an error about the node token", err)
	}
	s = open(t, dir, "new", "old")
	defer s.Close()
	var got []string
	drain(t, s, func(_ context.Context, r fieldmark.SpooledRequest) (fieldmark.Intake, error) {
		got = append(got, string(r.Body))
		return fieldmark.Intake{State: fieldmark.IntakeMission}, nil
	})
	if len(got) != 1 || !strings.Contains(got[0], "secret title") {
		t.Errorf("sent %q", got)
	}
}

// TestLock: no other process may open a spool, also after a query whose context ended.
func TestLock(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	defer s.Close()
	accepted := accept(t, s, newRequest("acme", "itsm", "1"))
	for range 300 {
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		_, _, _ = s.Find(ctx, "acme", accepted.ID) // it may end early
		_, err := spool.Open(t.Context(), spool.Config{Dir: dir, Tokens: []string{"token"}})
		if err == nil || !strings.Contains(err.Error(), "another process has it open") {
			t.Fatalf("opened a second time: %v, want an error about the other process", err)
		}
	}
}

// TestBounds fills a spool to each of its bounds, and the disk, with requests of several accounts.
func TestBounds(t *testing.T) {
	now := time.Now()
	for name, limit := range map[string]func(*spool.Spool) error{
		"requests": func(s *spool.Spool) error { s.SetLimits(8, 1<<30); return nil },
		"bytes":    func(s *spool.Spool) error { s.SetLimits(1000, 14_000); return nil },
		"disk":     func(s *spool.Spool) error { return s.SetPages(t.Context(), 10) },
		"age": func(s *spool.Spool) error {
			s.SetClock(func() time.Time { now = now.Add(9 * time.Hour); return now })
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir)
			if err := limit(s); err != nil {
				t.Fatal(err)
			}
			var kept []string
			var err error
			for i := 0; err == nil; i++ {
				if i == 200 {
					t.Fatal("200 requests are accepted")
				}
				r := newRequest("account "+strconv.Itoa(i%5), "itsm", strconv.Itoa(i))
				r.Agent = strings.Repeat("a", 500)
				if _, err = s.Accept(r); err == nil {
					kept = append(kept, r.ExternalID)
				}
			}
			if name != "disk" && !errors.Is(err, spool.ErrFull) {
				t.Errorf("refused with %v, want ErrFull", err)
			}
			if n := s.Stats().Requests; n != int64(len(kept)) || n == 0 {
				t.Errorf("%d requests in the spool, %d were accepted", n, len(kept))
			}
			other := newRequest("other", "itsm", "0")
			other.Agent = strings.Repeat("a", 500)
			if _, err := s.Accept(other); err == nil {
				t.Error("a request of another account is accepted")
			}
			s.Close()
			s = open(t, dir)
			defer s.Close()
			var mu sync.Mutex
			var sent []string
			drain(t, s, func(_ context.Context, r fieldmark.SpooledRequest) (fieldmark.Intake, error) {
				mu.Lock()
				defer mu.Unlock()
				sent = append(sent, r.ExternalID)
				return fieldmark.Intake{State: fieldmark.IntakeMission}, nil
			})
			slices.Sort(sent) // the accounts do not wait for each other
			slices.Sort(kept)
			if !slices.Equal(sent, kept) {
				t.Errorf("sent %q, want %q", sent, kept)
			}
			if v := s.Stats(); v.Bytes != 0 || v.Requests != 0 || v.Oldest != 0 {
				t.Errorf("empty: %+v", v)
			}
		})
	}
}

// TestShare: one account can use a quarter of a spool, also after a restart and after its requests were sent; another
// account has its own quarter. What is not stored, or cannot be read, does not count.
func TestShare(t *testing.T) {
	for name, limits := range map[string][2]int64{"requests": {16, 1 << 30}, "bytes": {1000, 4 * 5_000}} {
		t.Run(name, func(t *testing.T) {
			dir, id := t.TempDir(), 10 // all ids have two digits, so that all requests have the same size
			s := open(t, dir)
			s.SetLimits(limits[0], limits[1])
			// fill returns how many requests of an account are accepted.
			fill := func(account string) (n int) {
				t.Helper()
				for range 20 {
					id++
					if _, err := s.Accept(newRequest(account, "service", strconv.Itoa(id))); err != nil {
						if !errors.Is(err, spool.ErrFull) {
							t.Fatalf("%s is refused with %v, want ErrFull", account, err)
						}
						return n
					}
					n++
				}
				t.Fatalf("%d requests of %s are accepted", n, account)
				return n
			}
			first := newRequest("acme", "damaged", "10")
			accept(t, s, first)
			accept(t, s, first) // it is there
			conflict := newRequest("acme", "damaged", "10")
			conflict.Content[0]++
			if _, err := s.Accept(conflict); !errors.Is(err, spool.ErrConflict) {
				t.Fatalf("conflict: %v", err)
			}
			share := fill("acme") + 1
			if name == "requests" && share != 4 || share < 2 {
				t.Errorf("%d requests of an account are accepted, want a quarter", share)
			}
			if n := fill("best"); n != share {
				t.Errorf("%d requests of another account are accepted, want %d", n, share)
			}
			s.Close()
			s = open(t, dir)
			s.SetLimits(limits[0], limits[1])
			if a, b := fill("acme"), fill("third"); a != 0 || b != share {
				t.Errorf("after a restart: %d more of the same account and %d of a new one, want 0 and %d", a, b, share)
			}
			if err := s.Damage(t.Context(), "damaged"); err != nil {
				t.Fatal(err)
			}
			s.Close()
			s = open(t, dir)
			defer s.Close()
			s.SetLimits(limits[0], limits[1])
			if n := fill("acme"); n != 1 {
				t.Errorf("after one row was set aside: %d more are accepted, want 1", n)
			}
			drain(t, s, func(context.Context, fieldmark.SpooledRequest) (fieldmark.Intake, error) {
				return fieldmark.Intake{State: fieldmark.IntakeMission}, nil
			})
			if n := s.Accounts(); n != 0 {
				t.Errorf("%d accounts are counted in an empty spool", n)
			}
			if n := fill("acme"); n != share {
				t.Errorf("after all were sent: %d are accepted, want %d", n, share)
			}
		})
	}
}

// heap returns how many bytes are in use.
func heap() int64 {
	runtime.GC()
	runtime.GC() // what pools keep for one more collection
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestMemory: a spool of many of the largest notifications is opened and sent with the memory of a few of them.
func TestMemory(t *testing.T) {
	const requests = 36 // three windows
	dir := t.TempDir()
	s := open(t, dir)
	body := make([]byte, fieldmark.MaxAlertBody)
	for i := range requests {
		r := newRequest("acme", "s"+strconv.Itoa(i), "1")
		r.Body = body
		accept(t, s, r)
	}
	s.Close()
	var start, opened runtime.MemStats
	runtime.ReadMemStats(&start)
	s = open(t, dir)
	defer s.Close()
	runtime.ReadMemStats(&opened)
	if n := opened.TotalAlloc - start.TotalAlloc; n > 2*spool.WindowBytes {
		t.Errorf("to open it allocates %d bytes, want at most %d", n, 2*spool.WindowBytes)
	}
	var once sync.Once
	before, held := heap(), int64(0)
	drain(t, s, func(context.Context, fieldmark.SpooledRequest) (fieldmark.Intake, error) {
		once.Do(func() { held = heap() - before }) // the other senders wait for it
		return fieldmark.Intake{State: fieldmark.IntakeMission}, nil
	})
	if held > 2*spool.WindowBytes {
		t.Errorf("%d bytes are held while requests are sent, want at most %d", held, 2*spool.WindowBytes)
	}
	if n := s.Stats().Delivered; n != requests {
		t.Errorf("%d are sent, want %d", n, requests)
	}
}

// TestLargeRequest: a request that fills a window is sent. While an origin puts it off, those of others behind it are
// sent, and as these succeed it is given up.
func TestLargeRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, t.TempDir())
		defer s.Close()
		large := newRequest("acme", "large", "1")
		large.Body = make([]byte, 10_000)
		s.SetWindow(10_000)
		accept(t, s, large)
		s.SetClock(func() time.Time { return time.Now().Add(13 * time.Hour) }) // old enough to be given up
		var tries, given atomic.Int64
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			// Its error is that of ctx, which the test ends.
			_ = s.Run(ctx, func(_ context.Context, r fieldmark.SpooledRequest) (fieldmark.Intake, error) {
				switch {
				case r.Source != "large":
				case r.Failures == 0:
					tries.Add(1)
					return fieldmark.Intake{}, fieldmark.Errorf(fieldmark.CodeOverloaded, "later")
				default:
					given.Store(int64(r.Failures))
					return fieldmark.Intake{State: fieldmark.IntakeRefused}, nil
				}
				return fieldmark.Intake{State: fieldmark.IntakeMission}, nil
			})
		})
		for i := 0; given.Load() == 0 && i < 20; i++ {
			accept(t, s, newRequest("best", "itsm", strconv.Itoa(i)))
			for range 100 { // 10 s, more than the pause between two passes
				if time.Sleep(100 * time.Millisecond); !s.Holds("best", "itsm") {
					break
				}
			}
			if s.Holds("best", "itsm") {
				t.Fatalf("request %d behind the large one is not sent after %d tries", i, tries.Load())
			}
		}
		synctest.Wait()
		if given.Load() < 10 || s.Stats().Requests != 0 {
			t.Errorf("after %d tries: given up after %d, %+v; want it empty", tries.Load(), given.Load(), s.Stats())
		}
		stop()
		running.Wait()
	})
}

// TestOrder checks that requests of a source are sent in their order while some are not decided at first, that another
// source does not wait for them, and that the ages are right.
func TestOrder(t *testing.T) {
	s := open(t, t.TempDir())
	defer s.Close()
	const sources, each = 20, 60
	var wg sync.WaitGroup
	for n := range sources {
		wg.Go(func() {
			for i := range each {
				if _, err := s.Accept(newRequest("acme", "s"+strconv.Itoa(n), strconv.Itoa(i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	var mu sync.Mutex
	got, refusals := map[string][]string{}, 0
	drain(t, s, func(_ context.Context, r fieldmark.SpooledRequest) (fieldmark.Intake, error) {
		mu.Lock()
		defer mu.Unlock()
		if r.AgeMillis < 0 || r.AgeMillis > time.Hour.Milliseconds() || r.IdempotencyKey != "spl_"+r.ID {
			t.Errorf("age %d ms, key %q", r.AgeMillis, r.IdempotencyKey)
		}
		if r.Source == "s0" && refusals < 2 {
			refusals++
			return fieldmark.Intake{}, errors.New("503")
		}
		got[r.Source] = append(got[r.Source], r.ExternalID)
		return fieldmark.Intake{State: fieldmark.IntakeRefused}, nil
	})
	for n := range sources {
		ids := got["s"+strconv.Itoa(n)]
		for i, id := range ids {
			if id != strconv.Itoa(i) {
				t.Fatalf("s%d: %q is sent as number %d", n, id, i)
			}
		}
		if len(ids) != each {
			t.Errorf("s%d: %d sent, want %d", n, len(ids), each)
		}
	}
	if v := s.Stats(); v.Refused != sources*each || v.Failures != 2 || v.Delivered != sources*each {
		t.Errorf("%+v", v)
	}
}

// TestSenders: as many requests as there are senders are sent at once, and never more.
func TestSenders(t *testing.T) {
	s := open(t, t.TempDir())
	defer s.Close()
	for i := range 2 * spool.MaxSenders { // one of each source, because those of one source wait for each other
		accept(t, s, newRequest("acme", "s"+strconv.Itoa(i), "1"))
	}
	var mu sync.Mutex
	running, all := 0, make(chan struct{})
	drain(t, s, func(context.Context, fieldmark.SpooledRequest) (fieldmark.Intake, error) {
		mu.Lock()
		if running++; running == spool.MaxSenders {
			select {
			case <-all:
			default:
				close(all)
			}
		} else if running > spool.MaxSenders {
			t.Errorf("%d are sent at once, want at most %d", running, spool.MaxSenders)
		}
		mu.Unlock()
		<-all
		mu.Lock()
		defer mu.Unlock()
		running--
		return fieldmark.Intake{State: fieldmark.IntakeMission}, nil
	})
}

// TestFaultyRequests: a request that always fails is given up after half a day, and a row that cannot be read is set
// aside; neither keeps the requests of others, or those after it, from being sent and accepted.
func TestFaultyRequests(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	accept(t, s, newRequest("acme", "damaged", "1"))
	accept(t, s, newRequest("acme", "itsm", "2"))
	if err := s.Damage(t.Context(), "damaged"); err != nil {
		t.Fatal(err)
	}
	s.Close()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, dir)
		defer s.Close()
		var mu sync.Mutex
		tries, given, sent := 0, 0, []string{}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			_ = s.Run(ctx, func(_ context.Context, r fieldmark.SpooledRequest) (fieldmark.Intake, error) {
				mu.Lock()
				defer mu.Unlock()
				switch {
				case r.Source != "faulty":
					sent = append(sent, r.ExternalID)
				case r.Failures == 0:
					tries++
					return fieldmark.Intake{}, fieldmark.Errorf(fieldmark.CodeInternal, "something went wrong")
				default:
					given = r.Failures
					return fieldmark.Intake{State: fieldmark.IntakeRefused}, nil
				}
				return fieldmark.Intake{State: fieldmark.IntakeMission}, nil
			})
		})
		accept(t, s, newRequest("acme", "faulty", "3"))
		accept(t, s, newRequest("acme", "faulty", "4"))
		time.Sleep(11 * time.Hour)
		synctest.Wait()
		mu.Lock()
		if tries < 10 || given != 0 || !slices.Equal(sent, []string{"2"}) {
			t.Errorf("after 11 hours: %d tries, given up after %d, sent %q; want many tries and 2", tries, given, sent)
		}
		mu.Unlock()
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		mu.Lock()
		if given < 10 || s.Stats().Requests != 0 || s.Stats().Refused != 2 {
			t.Errorf("after 13 hours: given up after %d, %+v; want it empty and two refused", given, s.Stats())
		}
		mu.Unlock()
		time.Sleep(24 * time.Hour) // the row that cannot be read is older than all that a spool keeps
		accept(t, s, newRequest("acme", "itsm", "5"))
		synctest.Wait()
		mu.Lock()
		if !slices.Equal(sent, []string{"2", "5"}) {
			t.Errorf("sent %q, want 2 and 5", sent)
		}
		mu.Unlock()
		stop()
		running.Wait()
	})
}

// TestKilled kills a process at random points while it accepts and sends requests. What it said it had accepted is
// sent by it or by the next one, and nothing else has the number of a request.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	kills := *killsFlag
	if testing.Short() {
		kills = 5
	}
	accepted, ids := map[string]bool{}, map[string]string{}
	sent := map[string]bool{}
	record := func(externalID, id string) {
		if other, ok := ids[id]; ok && other != externalID {
			t.Errorf("request %s is %s and %s", id, other, externalID)
		}
		ids[id], sent[externalID] = externalID, true
	}
	for n := range kills {
		cmd := exec.Command(os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), dirOfProcess+"="+dir, firstOfProcess+"="+strconv.Itoa((n+1)*1_000_000))
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines, stopAt := 0, rand.IntN(400)
		in := bufio.NewScanner(out)
		for in.Scan() {
			f := strings.Fields(in.Text())
			switch {
			case len(f) == 2 && f[0] == "accepted":
				accepted[f[1]] = true
			case len(f) == 3 && f[0] == "sent":
				record(f[1], f[2])
			case len(f) > 0 && f[0] == "error":
				t.Errorf("process %d: %s", n, in.Text())
			}
			if lines++; lines == stopAt+1 {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = cmd.Wait() // it was killed
	}
	s := open(t, dir)
	defer s.Close()
	var mu sync.Mutex
	drain(t, s, func(_ context.Context, r fieldmark.SpooledRequest) (fieldmark.Intake, error) {
		mu.Lock()
		defer mu.Unlock()
		record(r.ExternalID, r.ID)
		return fieldmark.Intake{State: fieldmark.IntakeMission}, nil
	})
	lost := 0
	for id := range accepted {
		if !sent[id] {
			lost++
		}
	}
	if lost > 0 || len(accepted) < kills {
		t.Errorf("%d of %d accepted requests are lost after %d kills", lost, len(accepted), kills)
	}
	t.Logf("%d accepted, %d sent, %d kills", len(accepted), len(sent), kills)
}

// TestOriginAway has the origin away for an hour of a simulated clock, in which a request is accepted every 4 s and
// the edge is restarted every ten minutes. Then the origin carries out each of them once, those of a source in their
// order, with the time since it was accepted, though every seventh of its answers is lost.
func TestOriginAway(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		const away, interval, every, sources = time.Hour, 4 * time.Second, 10 * time.Minute, 5
		began := time.Now()
		at := map[string]time.Time{} // when a request was accepted
		var mu sync.Mutex
		byKey, got := map[string]bool{}, map[string][]string{}
		attempts, answers := 0, 0
		send := func(_ context.Context, r fieldmark.SpooledRequest) (fieldmark.Intake, error) {
			mu.Lock()
			defer mu.Unlock()
			if time.Since(began) < away {
				attempts++
				return fieldmark.Intake{}, errors.New("connection refused")
			}
			if want := time.Since(at[r.ExternalID]).Milliseconds(); r.AgeMillis != want {
				t.Errorf("%s: age %d ms, want %d", r.ExternalID, r.AgeMillis, want)
			}
			if !byKey[r.IdempotencyKey] { // an origin knows what it has carried out
				byKey[r.IdempotencyKey] = true
				got[r.Source] = append(got[r.Source], r.ExternalID)
			}
			if answers++; answers%7 == 0 {
				return fieldmark.Intake{}, errors.New("connection reset")
			}
			return fieldmark.Intake{State: fieldmark.IntakeMission}, nil
		}
		run := func() (s *spool.Spool, stop func()) {
			s = open(t, dir)
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() { _ = s.Run(ctx, send) })
			return s, func() { cancel(); running.Wait(); s.Close() }
		}
		s, stop := run()
		for i := range int(away / interval) {
			if i > 0 && time.Duration(i)*interval%every == 0 {
				stop()
				s, stop = run()
			}
			id := strconv.Itoa(i)
			mu.Lock()
			at[id] = time.Now()
			mu.Unlock()
			accept(t, s, newRequest("acme", "s"+strconv.Itoa(i%sources), id))
			time.Sleep(interval)
		}
		for s.Stats().Requests > 0 {
			time.Sleep(time.Second)
		}
		stop()
		total := 0
		for source, ids := range got {
			total += len(ids)
			if !slices.IsSortedFunc(ids, func(a, b string) int { return at[a].Compare(at[b]) }) {
				t.Errorf("%s: not in the order in which they were accepted", source)
			}
		}
		if total != len(at) || len(byKey) != len(at) || len(got) != sources {
			t.Errorf("%d accepted, %d carried out with %d keys of %d sources", len(at), total, len(byKey), len(got))
		}
		t.Logf("%d accepted; %d attempts in the hour; all sent %s after its end", len(at), attempts,
			time.Since(began)-away)
	})
}

// TestKeys checks which keys an edge trusts without an origin.
func TestKeys(t *testing.T) {
	var log bytes.Buffer
	s, err := spool.Open(t.Context(), spool.Config{Dir: t.TempDir(), Tokens: []string{"token"},
		Log: slog.New(slog.NewTextHandler(io.Writer(&log), nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	token, now := sha256.Sum256([]byte("fm_live_x")), time.Now()
	home, away := netip.MustParseAddr("198.51.100.7"), netip.MustParseAddr("192.0.2.1")
	later := strconv.FormatInt(now.Add(time.Minute).Unix(), 10)
	for _, c := range []struct {
		quota string
		from  netip.Addr
		after time.Duration
		want  bool
	}{
		{"key_1;r=60;a=acme;m=1", away, 0, true},
		{"key_1;a=acme;m=1", away, 14 * time.Minute, true},
		{"key_1;a=acme;m=1", away, 15 * time.Minute, false},
		{"key_1;a=acme", away, 0, false},    // may not create missions
		{"key_1;m=1", away, 0, false},       // an older origin
		{"key_1;r=60;w=30", away, 0, false}, // an older origin
		{";a=acme;m=1", away, 0, false},     // no id
		{"key_1;a=acme;m=1;x=" + later, away, 0, true},
		{"key_1;a=acme;m=1;x=" + later, away, 2 * time.Minute, false},
		{"key_1;a=acme;m=1;x=soon", away, 0, false},
		{"key_1;a=acme;m=1;n=198.51.100.0/24+2001:db8::/32", home, 0, true},
		{"key_1;a=acme;m=1;n=198.51.100.0/24+2001:db8::/32", netip.MustParseAddr("::ffff:198.51.100.7"), 0, true},
		{"key_1;a=acme;m=1;n=198.51.100.0/24", away, 0, false},
		{"key_1;a=acme;m=1;n=198.51.100.0/24", netip.Addr{}, 0, false},
		{"key_1;a=acme;m=1;n=everywhere", home, 0, false},
	} {
		s.Accepted(token, c.quota, now)
		if k, ok := s.Key(token, c.from, now.Add(c.after)); ok != c.want || ok && (k.ID != "key_1" ||
			k.Account != "acme") {
			t.Errorf("%q from %v after %v: %+v, %v; want %v", c.quota, c.from, c.after, k, ok, c.want)
		}
	}
	s.Accepted(token, "key_1;a=acme;m=1", now)
	s.Rejected(token)
	if _, ok := s.Key(token, away, now); ok {
		t.Error("a key that an origin rejected is trusted")
	}
}

// BenchmarkDrain measures how fast a spool can be sent: by an origin that answers at once, and by one that takes 2 ms.
func BenchmarkDrain(b *testing.B) {
	for _, takes := range []time.Duration{0, 2 * time.Millisecond} {
		b.Run(takes.String(), func(b *testing.B) {
			s := open(b, b.TempDir())
			defer s.Close()
			var wg sync.WaitGroup
			for n := range 64 {
				wg.Go(func() {
					for i := n; i < b.N; i += 64 {
						accept(b, s, newRequest("acme", "s"+strconv.Itoa(n), strconv.Itoa(i)))
					}
				})
			}
			wg.Wait()
			b.ResetTimer()
			drain(b, s, func(context.Context, fieldmark.SpooledRequest) (fieldmark.Intake, error) {
				time.Sleep(takes)
				return fieldmark.Intake{State: fieldmark.IntakeMission}, nil
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
		})
	}
}

// BenchmarkAccept measures durable accepts from 64 clients.
func BenchmarkAccept(b *testing.B) {
	s := open(b, b.TempDir())
	defer s.Close()
	var n atomic.Int64
	b.SetParallelism(32)
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, err := s.Accept(newRequest("acme", "itsm", strconv.FormatInt(n.Add(1), 10))); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "accepts/s")
}

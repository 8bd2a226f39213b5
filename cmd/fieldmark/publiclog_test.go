package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/internal/translog"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/keyring"
	"github.com/fieldmark/fieldmark/origin/store"
)

const logHost = "marks.example"

// logServer is a Fieldmark with a public log, which can be stopped, and whose database can be changed then.
type logServer struct {
	t      testing.TB
	dir    string
	record []string // settings that select the database
	cfg    store.Config
	key    string // of an administrator
	p      *process
	at     atomic.Pointer[string] // see base
	front  *httptest.Server       // see proxy
}

// base returns the address of the server; front reads it while the server is restarted.
func (s *logServer) base() string { return *s.at.Load() }

func newLogServer(t testing.TB) *logServer {
	dir := t.TempDir()
	s := &logServer{t: t, dir: dir, cfg: store.Config{Path: filepath.Join(dir, "var", "fieldmark.db")},
		record: []string{"--secret", strings.Repeat("s", minSecret)}}
	s.key = newKeyAt(t, dir, s.record, "admin:*") // makes the database
	return s
}

// newPostgresLogServer is newLogServer with PostgreSQL.
func newPostgresLogServer(t testing.TB) *logServer {
	cfg := storetest.OwnPostgres(t)
	s := &logServer{t: t, dir: t.TempDir(), cfg: cfg,
		record: []string{"--secret", strings.Repeat("s", minSecret), "--database-url", cfg.URL}}
	s.key = newKeyAt(t, s.dir, s.record, "admin:*") // makes the tables
	return s
}

// start starts it, and waits until its log has so many leaves.
func (s *logServer) start(leaves int64) {
	s.t.Helper()
	args := append([]string{"serve", "--public-log", logHost, "--rate-limit", "off", "--audit-every", "0",
		"--log-level", "INFO"}, freePorts("var")...)
	s.p = start(s.t, s.dir, append(args, s.record...)...)
	base := s.p.logged("serve", "listen")
	s.at.Store(&base)
	waittest.Until(s.t, "it is ready", func() bool {
		status, _, _, err := try("GET", s.base()+"/readyz", "")
		return err == nil && status == http.StatusOK
	})
	s.until(leaves)
}

// logs lists the public logs, the newest first; empty: the server does not respond.
func (s *logServer) logs() []fieldmark.PublicLog {
	s.t.Helper()
	status, _, body, err := try("GET", s.base()+fieldmark.PathLog, "")
	if err != nil || status != http.StatusOK {
		return nil
	}
	var list fieldmark.List[fieldmark.PublicLog]
	must(s.t, json.Unmarshal([]byte(body), &list))
	return list.Data
}

// until waits until the newest log has so many leaves.
func (s *logServer) until(leaves int64) {
	s.t.Helper()
	waittest.Until(s.t, fmt.Sprintf("the log has %d leaves", leaves), func() bool {
		all := s.logs()
		if len(all) > 0 && all[0].Size > leaves {
			s.t.Fatalf("the log has %d leaves, want %d", all[0].Size, leaves)
		}
		return len(all) > 0 && all[0].Size == leaves
	})
}

// change calls do with the service of an origin over the database.
func (s *logServer) change(do func(ctx context.Context, st *store.Store, service *origin.Service)) {
	s.t.Helper()
	st, err := store.Open(s.t.Context(), s.cfg)
	must(s.t, err)
	service, err := origin.New(origin.Config{Store: st, Secret: []byte(s.record[1])})
	must(s.t, err)
	do(s.t.Context(), st, service)
	must(s.t, st.Close())
}

// audit stores facts of a brand, while the server is stopped.
func (s *logServer) audit(slug string, words int64) {
	s.t.Helper()
	s.change(func(ctx context.Context, _ *store.Store, service *origin.Service) {
		putFacts(s.t, service, slug, words)
	})
}

func putFacts(t testing.TB, service *origin.Service, slug string, words int64) {
	t.Helper()
	site := "https://" + slug + ".example/"
	_, _, err := service.Brands.Put(t.Context(), fieldmark.Brand{Slug: fieldmark.Slug(slug), Name: "Site", URL: site,
		Niche: "tools", Language: "en", Public: true})
	must(t, err)
	_, err = service.Brands.PutFacts(t.Context(), fieldmark.Slug(slug), fieldmark.Facts{
		Version: fieldmark.FactsVersion, URL: site, Pages: 10, AsOf: fieldmark.At(time.Now()),
		Facts: []fieldmark.Fact{{ID: "text.words", State: fieldmark.Measured, Value: words * 1000, Unit: "words"}}})
	must(t, err)
}

// entries are those of the newest log, which has one bundle.
func (s *logServer) entries(do func(entries []byte) []byte) {
	s.t.Helper()
	keys, err := keyring.New([]byte(s.record[1]))
	must(s.t, err)
	mac := hmac.New(sha256.New, keys.PublicLog)
	fmt.Fprintf(mac, "key 1 of %s", logHost)
	signer, _, err := translog.NewSigner(logHost, mac.Sum(nil))
	must(s.t, err)
	s.change(func(ctx context.Context, st *store.Store, _ *origin.Service) {
		must(s.t, st.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
			all, _, err := tx.PublicLogs(ctx)
			must(s.t, err)
			log := &all[0]
			body, err := tx.PublicLogTile(ctx, log.Number, translog.EntryLevel, 0)
			must(s.t, err)
			body = do(body)
			log.Size = int64(len(body) / translog.EntrySize)
			root, err := tlog.TreeHash(log.Size, translog.Reader(func(int, int64) ([]byte, error) {
				return translog.EntryHashes(body), nil
			}))
			must(s.t, err)
			c := translog.Checkpoint{Origin: fmt.Sprintf("%s%s/%d", logHost, fieldmark.PathLog, log.Number),
				Tree: tlog.Tree{N: log.Size, Hash: root}}
			signed, err := note.Sign(&note.Note{Text: c.Text()}, signer)
			must(s.t, err)
			log.Checkpoint = string(signed)
			must(s.t, tx.PutPublicLogTile(ctx, log.Number, translog.EntryLevel, 0, body))
			return tx.PutPublicLog(ctx, log)
		}))
	})
}

// rewrite changes the first leaf as an operator could who has the application secret: with a new signature.
func (s *logServer) rewrite() {
	s.t.Helper()
	s.entries(flipEntry)
}

// verify runs fieldmark score verify.
func (s *logServer) verify(status int, want string, args ...string) {
	s.t.Helper()
	p := start(s.t, s.dir, append([]string{"score", "verify", "--url", s.base()}, args...)...)
	<-p.done
	_ = p.cmd.Wait() // its status is compared
	if got := p.cmd.ProcessState.ExitCode(); got != status || !strings.Contains(p.printed(), want) {
		s.t.Errorf("score verify %v: status %d, want %d and %q:\n%s", args, got, status, want, p.printed())
	}
}

// TestScoreVerifyLog: score verify checks the proof of a score, and that the log is the one that it saw before.
func TestScoreVerifyLog(t *testing.T) {
	t.Parallel()
	s := newLogServer(t)
	for i, slug := range []string{"acme", "bolt", "coil"} {
		s.audit(slug, int64(100*i+100))
	}
	s.start(3)
	s.verify(0, "log     leaf 1 of marks.example/api/v1/log/1 verified: since 20", "bolt", "--checkpoint", "seen")
	s.verify(0, "consistent with the checkpoint of 3 leaves", "coil", "--checkpoint", "seen")
	flipProofs(t, s)
	s.p.stop()

	s.audit("acme", 900)
	s.start(4)
	s.verify(0, "consistent with the checkpoint of 3 leaves", "acme", "--checkpoint", "seen")
	s.verify(0, "consistent with the checkpoint of 4 leaves", "bolt", "--checkpoint", "seen")
	s.p.stop()

	s.rewrite() // the facts of acme as they were
	s.start(4)
	s.verify(3, "was rewritten since the checkpoint of 4 leaves", "bolt", "--checkpoint", "seen")
	s.verify(0, "verified: since 20", "bolt") // it cannot be seen without a checkpoint
	s.p.stop()
	s.rewrite()
	s.start(4)
	s.verify(0, "consistent with the checkpoint of 4 leaves", "bolt", "--checkpoint", "seen")
}

// flipProofs checks that score verify names the proof if one bit of a member of it is another one.
func flipProofs(t *testing.T, s *logServer) {
	for _, member := range []string{"log", "index", "record", "salt", "hashes", "checkpoint"} {
		flipping := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			status, _, body := ask(t, r.Method, s.base()+r.URL.RequestURI(), "")
			if at := strings.Index(body, `"proof":`); at >= 0 {
				at += strings.Index(body[at:], `"`+member+`":`) + len(member) + 3
				flipped := []byte(body)
				flipped[at+strings.IndexAny(body[at:], "0123456789abcdefghijklmnopqrstuvwxyz")] ^= 1
				body = string(flipped)
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}))
		status, out, why := runInProcess(t, "score", "verify", "bolt", "--url", flipping.URL)
		flipping.Close()
		if status != 3 || !strings.Contains(why, "public log: the proof") {
			t.Errorf("a flipped bit of %s: status %d, %s%s", member, status, out, why)
		}
	}
}

// witness starts fieldmark witness.
func (s *logServer) witness(args ...string) *process {
	s.t.Helper()
	return start(s.t, s.dir, append([]string{"witness", s.proxy(), "--name", "tower.example", "--every", "1s",
		"--max-behind", "2s"}, args...)...)
}

// catches runs fieldmark witness until it finds a contradiction.
func (s *logServer) catches(want string) {
	s.t.Helper()
	p := s.witness()
	<-p.done
	_ = p.cmd.Wait() // its status is compared
	if got := p.cmd.ProcessState.ExitCode(); got != 3 || !strings.Contains(p.printed(), want) ||
		!strings.Contains(p.printed(), "THE PUBLIC LOG WAS REWRITTEN") {
		s.t.Errorf("witness: status %d, want 3 and %q:\n%s", got, want, p.printed())
	}
}

// proxy returns an address that stays the same when the server is restarted, as that of a deployment does.
func (s *logServer) proxy() string {
	if s.front == nil {
		s.front = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			status, _, body, err := try(r.Method, s.base()+r.URL.RequestURI(), "")
			if err != nil {
				status = http.StatusBadGateway
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}))
		s.t.Cleanup(s.front.Close)
	}
	return s.front.URL
}

// TestWitness: a witness follows a log and cosigns it. It finds a rewritten leaf, a fork, an entry that is not its
// leaf and lost leaves, after kill -9, too, and cosigns none of them.
func TestWitness(t *testing.T) {
	t.Parallel()
	s := newLogServer(t)
	for i, slug := range []string{"acme", "bolt", "coil"} {
		s.audit(slug, int64(100*i+100))
	}
	s.start(3)
	w := s.witness()
	w.waitFor("3 leaves, root ")
	key, _, _ := strings.Cut(strings.TrimPrefix(w.printed(), "witness "), "\n")
	checkpoint := filepath.Join("witness", "1.checkpoint")
	s.verify(0, "which tower.example cosigned at 20", "bolt", "--checkpoint", checkpoint, "--witness-key", key)
	s.p.stop()
	s.audit("acme", 900)
	s.start(4) // the witness waits for it
	w.waitFor("4 leaves, root ")
	w.kill()
	signed := readFile(t, s.dir, checkpoint)
	s.p.stop()

	for _, forged := range []struct {
		name   string
		change func(entries []byte) []byte
		want   string
	}{
		{"rewritten leaf", flipEntry, "of 4 leaves, the first 4 have the root"},
		{"fork", func(entries []byte) []byte { return append(flipEntry(entries), entries[:translog.EntrySize]...) },
			"of 5 leaves, the first 4 have the root"},
		{"lost leaf", func(entries []byte) []byte { return entries[:3*translog.EntrySize] },
			"it has 3 leaves, and had 4"},
	} {
		var before []byte
		s.entries(func(entries []byte) []byte { before = bytes.Clone(entries); return forged.change(entries) })
		s.start(int64(len(forged.change(bytes.Clone(before))) / translog.EntrySize))
		s.catches(forged.want)
		s.catches(forged.want) // again, when it is restarted
		s.p.stop()
		s.entries(func([]byte) []byte { return before })
	}
	s.start(4)
	s.change(func(ctx context.Context, st *store.Store, _ *origin.Service) { // with the checkpoint as it was
		must(t, st.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
			body, err := tx.PublicLogTile(ctx, 1, translog.EntryLevel, 0)
			must(t, err)
			return tx.PutPublicLogTile(ctx, 1, translog.EntryLevel, 0, flipEntry(body))
		}))
	})
	s.catches("the log contradicts a checkpoint that it signed")
	if got := readFile(t, s.dir, checkpoint); got != signed {
		t.Errorf("the witness cosigned what it must not:\n%s", got)
	}
	evidence, err := filepath.Glob(filepath.Join(s.dir, "witness", "contradiction-*.txt"))
	must(t, err)
	if len(evidence) == 0 || !strings.Contains(readFile(t, evidence[0]), signed) {
		t.Errorf("evidence %q", evidence)
	}
}

// flipEntry flips a bit of the first entry.
func flipEntry(entries []byte) []byte {
	entries[0] ^= 1
	return entries
}

// TestPublicLogKill kills a Fieldmark while it appends to the public log: each change is one leaf in the end, and
// a witness that follows the log through all starts finds it consistent.
func TestPublicLogKill(t *testing.T) {
	t.Parallel()
	rounds := 5
	if *chaos {
		rounds = 100
	}
	const brands = 4
	s := newPostgresLogServer(t)
	st, err := store.Open(t.Context(), s.cfg) // PostgreSQL has room for another process
	must(t, err)
	service, err := origin.New(origin.Config{Store: st, Secret: []byte(s.record[1])})
	must(t, err)
	s.start(0)
	changes := int64(0)
	for range rounds {
		signed := make(chan struct{})
		go func() { // at any moment of an append
			defer close(signed)
			time.Sleep(time.Duration(rand.IntN(400)) * time.Millisecond)
			s.p.kill()
		}()
		for range 40 {
			changes++
			putFacts(t, service, fmt.Sprint("brand-", changes%brands), changes)
		}
		<-signed
		s.start(changes)
		w := s.witness("--once")
		<-w.done
		if err := w.cmd.Wait(); err != nil {
			t.Fatalf("%v after %d changes:\n%s", err, changes, w.printed())
		}
	}
	s.p.stop()
	must(t, st.Close())
	runOnce(t, s.dir, append([]string{"db", "check", "--data", "var"}, s.record[2:]...)...)
}

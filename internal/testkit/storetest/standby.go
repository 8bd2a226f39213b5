package storetest

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/origin/store"
)

// Standby starts a hot standby that streams from the server and is stopped when the test ends.
func (s *Server) Standby() *Server {
	s.t.Helper()
	standby, err := startStandby(s.s)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(standby.stop)
	return &Server{URL: standby.address, t: s.t, s: standby}
}

// startStandby copies the cluster of a running server and runs the copy.
func startStandby(primary *server) (*server, error) {
	s, err := newServer()
	if err != nil {
		return nil, err
	}
	data := filepath.Join(s.dir, "data")
	bin := filepath.Dir(primary.args[0])
	// A fast checkpoint, because the primary would otherwise spread its writes over minutes.
	copied := exec.Command(filepath.Join(bin, "pg_basebackup"), "-D", data, "-h", primary.dir, "-U", "postgres",
		"--write-recovery-conf", "--checkpoint=fast", "--no-sync")
	copied.Dir, copied.SysProcAttr = s.dir, &syscall.SysProcAttr{Credential: s.user}
	if out, err := copied.CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("copy a database cluster: %w\n%s", err, out), os.RemoveAll(s.dir))
	}
	// The settings are those of the primary with its own folder in place: a standby refuses to start with fewer
	// connections than its primary.
	for _, arg := range primary.args {
		s.args = append(s.args, strings.ReplaceAll(arg, primary.dir, s.dir))
	}
	if err := s.run(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	return s, nil
}

// Or is the configuration of a store that follows whichever of two servers accepts writes.
func (s *Server) Or(other *Server) store.Config {
	u, err := url.Parse(s.URL)
	if err != nil {
		panic("BUG: the server's address is " + s.URL)
	}
	q := u.Query()
	q.Set("host", s.s.dir+","+other.s.dir)
	// The driver tries the hosts in order and takes the first that is no standby.
	q.Set("target_session_attrs", "read-write")
	u.RawQuery = q.Encode()
	return store.Config{URL: u.String()}
}

// Run runs statements, each over a new connection.
func (s *Server) Run(statements ...string) {
	s.t.Helper()
	for _, statement := range statements {
		if err := runCommand(s.URL, statement); err != nil {
			s.t.Fatalf("%s: %v", statement, err)
		}
	}
}

// Kill stops the server at once, as a crash would, for the rest of the test.
func (s *Server) Kill() { s.s.kill() }

// CatchUp waits until a standby shows everything that its primary has committed.
func (s *Server) CatchUp(primary *Server) {
	s.t.Helper()
	var at string
	// Positions of the write-ahead log are compared: a row of the test would change the database.
	query(s.t, primary.URL, `SELECT pg_current_wal_lsn()::text`, &at)
	s.await(`SELECT pg_last_wal_replay_lsn() >= '` + at + `'`)
}

// Disconnect ends the stream to a standby: promoted, it lacks what is committed from now on.
func (s *Server) Disconnect() {
	s.t.Helper()
	s.Run(`ALTER SYSTEM SET primary_conninfo = ''`, `SELECT pg_reload_conf()`)
	s.await(`SELECT NOT EXISTS (SELECT 1 FROM pg_stat_wal_receiver)`)
}

// PauseReplay makes a standby receive changes without showing them; what it shows stays as it is.
func (s *Server) PauseReplay() {
	s.t.Helper()
	s.Run(`SELECT pg_wal_replay_pause()`)
	s.await(`SELECT pg_get_wal_replay_pause_state() = 'paused'`)
}

// ResumeReplay ends PauseReplay.
func (s *Server) ResumeReplay() {
	s.t.Helper()
	s.Run(`SELECT pg_wal_replay_resume()`)
}

// Promote makes a standby a primary on a new timeline.
func (s *Server) Promote() {
	s.t.Helper()
	s.Run(`SELECT pg_promote()`)
	s.await(`SELECT NOT pg_is_in_recovery()`)
}

// await waits until a query returns true.
func (s *Server) await(condition string) {
	s.t.Helper()
	waittest.Until(s.t, condition, func() (met bool) {
		query(s.t, s.URL, condition, &met)
		return met
	})
}

// query reads one value.
func query(t testing.TB, server, text string, to any) {
	t.Helper()
	db, err := sql.Open("pgx", server)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRowContext(t.Context(), text).Scan(to); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

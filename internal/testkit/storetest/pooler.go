package storetest

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/fieldmark/fieldmark/origin/store"
)

// Pooled is the engine of EngineVar that runs all tests through pgbouncer. Main runs it only if asked.
const Pooled = "pooled"

// poolerVar is the address of the pooler; empty unless the engine is Pooled.
const poolerVar = "FIELDMARK_TEST_POOLER"

// poolerPort is in the name of the pooler's socket, as PostgreSQL has it.
const poolerPort = "6432"

// startPooler starts pgbouncer in transaction mode before a server. Its few sessions are shared by all
// connections, so that a setting that a session keeps would be seen by others.
func startPooler(of *server) (*server, error) {
	bin, err := exec.LookPath("pgbouncer")
	if err != nil {
		bin = "/usr/sbin/pgbouncer" // of Debian, which is not on the PATH of everyone
		if _, err := os.Stat(bin); err != nil {
			return nil, errors.Join(errNoServer, err)
		}
	}
	p, err := newServer()
	if err != nil {
		return nil, err
	}
	settings := filepath.Join(p.dir, "pgbouncer.ini")
	err = os.WriteFile(settings, fmt.Appendf(nil, `[databases]
* = host=%s user=postgres
[pgbouncer]
listen_addr =
listen_port = %s
unix_socket_dir = %s
auth_type = any
pool_mode = transaction
default_pool_size = 4
max_client_conn = 1000
`, of.dir, poolerPort, p.dir), 0o644)
	if err == nil {
		// exec sends each statement with its arguments at once and prepares none: a prepared statement stays in a
		// session, which the next transaction may not get.
		p.args = []string{bin, settings}
		p.address += "&port=" + poolerPort + "&default_query_exec_mode=exec"
		err = p.run()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(p.dir))
	}
	return p, nil
}

// pooled returns the URL of a database behind a pooler.
func pooled(pooler, database string) string {
	u, err := url.Parse(database)
	if err != nil {
		panic("BUG: the address of a database is " + database)
	}
	return within(pooler, u.Path[1:]) + "&pooler=transaction"
}

// StartPooler starts a server with an empty database and pgbouncer in transaction mode before it. It
// returns the configurations of both ways to the database.
func StartPooler(t testing.TB) (direct, through store.Config) {
	t.Helper()
	s := begin(t, false)
	if err := migrated(store.Config{URL: s.address}); err != nil {
		t.Fatal(err)
	}
	p, err := startPooler(s)
	if errors.Is(err, errNoServer) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.stop)
	return store.Config{URL: s.address}, store.Config{URL: pooled(p.address, s.address)}
}

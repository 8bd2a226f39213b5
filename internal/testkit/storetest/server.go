package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"

	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

// errNoServer names the missing programs.
var errNoServer = errors.New("no PostgreSQL server program: initdb and postgres are neither on the PATH nor in " +
	"/usr/lib/postgresql/*/bin; " +
	"on Debian: apt-get install postgresql")

// server is a temporary PostgreSQL server that listens on a socket in its own
// directory.
type server struct {
	address string
	dir     string
	args    []string // the program and its settings
	user    *syscall.Credential
	ended   chan struct{} // closed when the server has ended
	end     chan struct{} // closed to end it
}

// startServer creates a database cluster in a temporary directory and runs it.
// Unless it is durable, it loses data in a power failure, which tests do not
// need to survive.
func startServer(durable bool) (*server, error) {
	bin := find()
	if bin == "" {
		return nil, errNoServer
	}
	s, err := newServer()
	if err != nil {
		return nil, err
	}
	if err := s.start(bin, durable); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	return s, nil
}

// newServer returns a server without a cluster, in its own directory.
func newServer() (*server, error) {
	dir, err := os.MkdirTemp("", "fieldmark-pg") // short: a socket's path has at most 107 bytes
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir}
	s.address = (&url.URL{Scheme: "postgres", Path: "/postgres",
		RawQuery: url.Values{"host": {dir}, "user": {"postgres"}}.Encode()}).String()
	if s.user, err = s.chown(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

// find returns the directory of initdb and postgres, the newest version.
func find() string {
	folders, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the pattern is right
	// Names of one digit fewer would sort after: PostgreSQL has had two digits since version 10.
	slices.Reverse(folders)
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			folders = append(folders, filepath.Dir(path))
		}
	}
	for _, dir := range folders {
		_, initdb := os.Stat(filepath.Join(dir, "initdb"))
		_, postgres := os.Stat(filepath.Join(dir, "postgres"))
		if initdb == nil && postgres == nil {
			return dir
		}
	}
	return ""
}

// start creates the cluster and runs the server.
func (s *server) start(bin string, durable bool) error {
	data := filepath.Join(s.dir, "data")
	// Locale C sorts by bytes, as SQLite does. trust is safe, because only this user can open the
	// socket's directory.
	initdb := exec.Command(filepath.Join(bin, "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8",
		"--locale=C", "--no-sync")
	initdb.Dir, initdb.SysProcAttr = s.dir, &syscall.SysProcAttr{Credential: s.user}
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("create a database cluster: %w\n%s", err, out)
	}
	sync := "off"
	if durable {
		sync = "on"
	}
	s.args = []string{filepath.Join(bin, "postgres"), "-D", data, "-k", s.dir, "-c", "listen_addresses=",
		"-c", "fsync=" + sync, "-c", "full_page_writes=" + sync, "-c", "max_connections=200", "-c",
		// Tests of several packages have servers at the same time, so each takes little memory; autovacuum would make
		// the time of a test depend on the tests before it.
		"shared_buffers=64MB",
		"-c", "max_wal_size=4GB", "-c", "autovacuum=off", "-c", "log_min_messages=warning"}
	return s.run()
}

// run runs the server and waits until it answers.
// A killed server is started again by it, on the same data.
func (s *server) run() error {
	s.ended, s.end = make(chan struct{}), make(chan struct{})
	var said bytes.Buffer
	postgres := exec.Command(s.args[0], s.args[1:]...)
	postgres.Dir, postgres.Stdout, postgres.Stderr = s.dir, &said, &said
	// A separate process group keeps Ctrl-C in a terminal from reaching it before the test ends.
	postgres.SysProcAttr = &syscall.SysProcAttr{Credential: s.user, Setpgid: true, Pdeathsig: syscall.SIGQUIT}
	begun := make(chan error)
	go s.supervise(postgres, begun)
	if err := <-begun; err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	if err := s.waitReady(); err != nil {
		s.kill()
		return fmt.Errorf("%w\n%s", err, said.Bytes())
	}
	return nil
}

// chown gives the directory to another user if the current one is root, as whom
// the server refuses to run.
func (s *server) chown() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	who, err := user.Lookup("postgres")
	if err != nil {
		if who, err = user.Lookup("nobody"); err != nil {
			return nil, fmt.Errorf("PostgreSQL does not run as root, and there is no user postgres or nobody: %w", err)
		}
	}
	uid, err := strconv.ParseUint(who.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(who.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, os.Chown(s.dir, int(uid), int(gid))
}

// supervise runs the server until end is closed. It locks its thread, because
// Linux kills the child when the thread that started it ends: so the server does
// not outlive a killed test binary.
func (s *server) supervise(cmd *exec.Cmd, begun chan<- error) {
	runtime.LockOSThread()
	defer close(s.ended)
	err := cmd.Start()
	begun <- err
	if err != nil {
		return
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	select {
	case <-exited:
		return
	case <-s.end:
	}
	_ = cmd.Process.Signal(syscall.SIGQUIT) // immediate shutdown: the data is deleted anyway
	<-exited
}

// waitReady polls until the server answers.
func (s *server) waitReady() error {
	var err error
	// Polled, because a server says that it is ready only in its log, whose text depends on the version.
	waittest.Poll(func() bool {
		err = runCommand(s.address, `SELECT 1`)
		return err == nil || s.exited()
	})
	switch {
	case err == nil:
		return nil
	case s.exited():
		return fmt.Errorf("PostgreSQL ended: %w", err)
	}
	return fmt.Errorf("PostgreSQL does not answer: %w", err)
}

// exited reports whether the process has ended.
func (s *server) exited() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// kill stops the server at once, as a crash would; it may have ended.
func (s *server) kill() {
	if s.exited() {
		return
	}
	close(s.end)
	<-s.ended
}

// stop stops the server and removes its directory.
func (s *server) stop() {
	s.kill()
	_ = os.RemoveAll(s.dir) // a temporary folder
}

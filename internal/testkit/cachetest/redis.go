package cachetest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark/internal/testkit/porttest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

// startTimeout limits the start of a server, and the time until a cluster of
// servers agrees. Only a failure takes this long; a busy machine needs seconds.
const startTimeout = 2 * time.Minute

// program returns the path of redis-server. Without it, tests that need it are
// skipped, but they fail in CI.
func program(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err == nil {
		return path
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("this test needs redis-server 6 or newer on the PATH (Debian: apt-get install redis-server "+
			"redis-sentinel): %v", err)
	}
	t.Skipf("no redis-server: %v", err)
	return ""
}

// Redis is one server process.
type Redis struct {
	// Addr is host:port.
	Addr string
	// URL is redis://host:port.
	URL string

	t testing.TB
	// The program and its arguments, for another start.
	args []string
	dir  string
	cmd  *exec.Cmd
	log  *bytes.Buffer
}

// StartRedis starts a server on a free loopback port, without persistence. It ends
// with the test. args are settings: name, value, name, value.
func StartRedis(t testing.TB, args ...string) *Redis {
	t.Helper()
	port := porttest.Port(t)
	r := &Redis{t: t, dir: t.TempDir(), Addr: "127.0.0.1:" + port, URL: "redis://127.0.0.1:" + port}
	r.args = []string{program(t), "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir",
		r.dir}
	// A value may be several words, such as that of user.
	for i := 0; i < len(args); i += 2 {
		r.args = append(r.args, "--"+args[i])
		r.args = append(r.args, strings.Fields(args[i+1])...)
	}
	t.Cleanup(r.Kill)
	r.Start()
	return r
}

// Start starts a killed server again, empty and on the same port.
func (r *Redis) Start() {
	r.t.Helper()
	// It is read only after an error, for the message.
	r.log = new(bytes.Buffer)
	r.cmd = exec.Command(r.args[0], r.args[1:]...)
	r.cmd.Stdout, r.cmd.Stderr = r.log, r.log
	if err := r.cmd.Start(); err != nil {
		r.t.Fatalf("start %v: %v", r.args, err)
	}
	waittest.Until(r.t, r.Addr+" answers", func() bool {
		answer, err := r.try(time.Second, "PING")
		return err == nil && !strings.HasPrefix(answer, "-LOADING")
	})
}

// Kill ends the server at once.
func (r *Redis) Kill() {
	// Tests kill a server and the cleanup kills it again.
	if r.cmd == nil {
		return
	}
	_ = r.cmd.Process.Kill() // it may have ended already
	_ = r.cmd.Wait()         // a killed process has an exit error
	r.cmd = nil
}

// Freeze suspends the server: its port accepts connections, but no command is
// answered until Thaw.
func (r *Redis) Freeze() { r.signal(syscall.SIGSTOP) }

// Thaw resumes a server after Freeze.
func (r *Redis) Thaw() { r.signal(syscall.SIGCONT) }

func (r *Redis) signal(s os.Signal) {
	r.t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		r.t.Fatalf("send %v: %v", s, err)
	}
}

// Do sends one command and returns the start of the raw reply.
func (r *Redis) Do(words ...string) string {
	r.t.Helper()
	answer, err := r.try(startTimeout, words...)
	if err != nil {
		r.t.Fatalf("%v at %s: %v\n%s", words, r.Addr, err, r.log)
	}
	return answer
}

// try sends one command as an inline command of the protocol: words separated by spaces. A server that is frozen
// for longer than limit is an error.
func (r *Redis) try(limit time.Duration, words ...string) (string, error) {
	conn, err := net.DialTimeout("tcp", r.Addr, limit)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(limit)); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintf(conn, "%s\r\n", strings.Join(words, " ")); err != nil {
		return "", err
	}
	// One read: the tests ask for states that fit into one packet of loopback.
	answer := make([]byte, 16<<10)
	n, err := conn.Read(answer)
	return string(answer[:n]), err
}

// Sentinels is a primary, a replica, and three Sentinels that monitor them.
type Sentinels struct {
	// URL is the client setting.
	URL string
	// Primary and Replica are the servers in their initial roles.
	Primary, Replica *Redis

	sentinel *Redis
}

// KillPrimary kills the server that is the primary now: on a busy machine, the Sentinels may have replaced the
// initial one.
func (s *Sentinels) KillPrimary() {
	_, port, _ := strings.Cut(s.Replica.Addr, ":")
	if strings.Contains(s.sentinel.Do("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "fieldmark"), "\r\n"+port+"\r\n") {
		s.Replica.Kill()
		return
	}
	s.Primary.Kill()
}

// StartSentinels starts the two servers and three Sentinels.
// Two of the three must agree before a failover.
func StartSentinels(t testing.TB) *Sentinels {
	t.Helper()
	s := &Sentinels{Primary: StartRedis(t), Replica: StartRedis(t)}
	// Half a second without an answer is a failure: production waits longer, and tests should not.
	host, port, _ := strings.Cut(s.Primary.Addr, ":")
	s.Replica.Do("REPLICAOF", host, port)
	var addresses []string
	for range 3 {
		w := &Redis{t: t, dir: t.TempDir()}
		own := porttest.Port(t)
		w.Addr = "127.0.0.1:" + own
		// A Sentinel writes its state into this file, so each has one.
		file := filepath.Join(w.dir, "sentinel.conf")
		text := fmt.Sprintf("port %s\nbind 127.0.0.1\ndir %s\nsentinel monitor fieldmark %s %s 2\n"+
			"sentinel down-after-milliseconds fieldmark 500\nsentinel failover-timeout fieldmark 3000\n", own, w.dir,
			host, port)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		w.args = []string{program(t), file, "--sentinel"}
		t.Cleanup(w.Kill)
		w.Start()
		s.sentinel = w
		addresses = append(addresses, w.Addr)
		if len(addresses) == 3 {
			waittest.Until(t, "the Sentinels know each other and the replica", func() bool {
				state := w.Do("SENTINEL", "MASTER", "fieldmark")
				return strings.Contains(state, "num-other-sentinels\r\n$1\r\n2") && strings.Contains(state,
					"num-slaves\r\n$1\r\n1")
			})
		}
	}
	s.URL = "redis://" + addresses[0] + "?master_name=fieldmark&addr=" + addresses[1] + "&addr=" + addresses[2]
	return s
}

// slots is the number of hash slots of a Redis cluster.
const slots = 16384

// Cluster is three servers that share the hash slots.
type Cluster struct {
	// URL is the client setting.
	URL string
	// Nodes are the servers.
	Nodes []*Redis
}

// StartCluster starts the servers and waits until they agree.
// Without full coverage, two servers go on while the third is down.
func StartCluster(t testing.TB) *Cluster {
	t.Helper()
	c := &Cluster{}
	for range 3 {
		bus := porttest.Port(t)
		c.Nodes = append(c.Nodes, StartRedis(t, "cluster-enabled", "yes", "cluster-port", bus,
			"cluster-require-full-coverage", "no"))
		n := c.Nodes[len(c.Nodes)-1]
		if first := c.Nodes[0]; n != first {
			host, port, _ := strings.Cut(n.Addr, ":")
			first.Do("CLUSTER", "MEET", host, port, bus)
		}
	}
	// Each has a third of the slots.
	for i, n := range c.Nodes {
		n.Do("CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(i*slots/3), strconv.Itoa((i+1)*slots/3-1))
	}
	for _, n := range c.Nodes {
		waittest.Until(t, "the cluster agrees", func() bool {
			info := n.Do("CLUSTER", "INFO")
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_slots_ok:16384") &&
				strings.Contains(info, "cluster_known_nodes:3")
		})
	}
	c.URL = c.Nodes[0].URL + "?cluster=true&addr=" + c.Nodes[1].Addr + "&addr=" + c.Nodes[2].Addr
	return c
}

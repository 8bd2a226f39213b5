package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// netns is a network namespace for a process. It has one virtual link to its clients
// and one to the rest of the fleet. The test can disconnect the second, and packets are
// then lost as in a partition. Creating it requires root; for other users its name is
// empty and it has no effect.
type netns struct {
	t    *testing.T
	name string // of the network namespace; empty: none exists
}

// Addresses for network tests (RFC 2544): the link to the clients, and the one to the
// fleet.
const (
	clientSide, clientEnd = "198.18.113.1", "198.18.113.2"
	fleetSide, fleetEnd   = "198.18.114.1", "198.18.114.2"
)

func newNetns(t *testing.T) *netns {
	t.Helper()
	w := &netns{t: t}
	if os.Geteuid() != 0 {
		return w
	}
	if _, err := exec.LookPath("ip"); err != nil {
		return w
	}
	w.name = fmt.Sprintf("fm%d", os.Getpid())
	t.Cleanup(w.remove)
	for _, line := range []string{
		"ip netns add NS",
		"ip link add NSc type veth peer name NSC netns NS", "ip link add NSf type veth peer name NSF netns NS",
		"ip addr add " + clientSide + "/30 dev NSc", "ip addr add " + fleetSide + "/30 dev NSf",
		"ip link set NSc up", "ip link set NSf up",
		"ip -n NS addr add " + clientEnd + "/30 dev NSC", "ip -n NS addr add " + fleetEnd + "/30 dev NSF",
		"ip -n NS link set NSC up", "ip -n NS link set NSF up", "ip -n NS link set lo up",
	} {
		words := strings.Fields(strings.ReplaceAll(line, "NS", w.name))
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			w.remove()
			t.Logf("no network of its own for an edge: %s: %v %s", line, err, out)
			w.name = ""
			break
		}
	}
	return w
}

func (w *netns) remove() {
	if w.name != "" {
		_ = exec.Command("ip", "link", "del", w.name+"c").Run() // it may not exist yet
		_ = exec.Command("ip", "link", "del", w.name+"f").Run()
		_ = exec.Command("ip", "netns", "del", w.name).Run()
	}
}

// there reports whether the namespace exists.
func (w *netns) there() bool { return w.name != "" }

// wrap returns the command that starts a process in the namespace.
func (w *netns) wrap() []string {
	if !w.there() {
		return nil
	}
	return []string{"ip", "netns", "exec", w.name}
}

// listen returns the address on which the fleet listens for the process in the namespace.
func (w *netns) listen() string {
	if !w.there() {
		return "127.0.0.1"
	}
	return "0.0.0.0"
}

// bind is listen in the syntax of a Redis setting.
func (w *netns) bind() string {
	if !w.there() {
		return "127.0.0.1"
	}
	return "127.0.0.1 " + fleetSide
}

// outer returns the address of the fleet as seen from the namespace.
func (w *netns) outer() string {
	if !w.there() {
		return "127.0.0.1"
	}
	return fleetSide
}

// inner converts a loopback address to one in the namespace.
func (w *netns) inner(address string) string {
	_, port, _ := net.SplitHostPort(address)
	if !w.there() {
		return address
	}
	return net.JoinHostPort(clientEnd, port)
}

// pull disconnects the link to the fleet; plug connects it again.
func (w *netns) pull() { w.set("down") }

func (w *netns) plug() { w.set("up") }

func (w *netns) set(state string) {
	w.t.Helper()
	if out, err := exec.Command("ip", "link", "set", w.name+"f", state).CombinedOutput(); err != nil {
		w.t.Fatalf("set the cable %s: %v %s", state, err, out)
	}
}

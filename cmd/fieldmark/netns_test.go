package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
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

	clientSide, clientEnd string // addresses of the link to the clients
	fleetSide, fleetEnd   string // of the link to the fleet
}

// freeNetworks returns the addresses of two links from the range for network tests (RFC
// 2544). A run that was killed leaves its links behind, and a second network of the same
// addresses would be unreachable, so networks in use are skipped.
func freeNetworks(t *testing.T) (client, clientEnd, fleet, fleetEnd string) {
	t.Helper()
	used, err := net.InterfaceAddrs()
	must(t, err)
	for i := range 256 {
		third := byte(os.Getpid() + i)
		network := net.IPNet{IP: net.IPv4(198, 18, third, 0), Mask: net.CIDRMask(24, 32)}
		if !slices.ContainsFunc(used, func(a net.Addr) bool { return network.Contains(a.(*net.IPNet).IP) }) {
			at := func(last byte) string { return net.IPv4(198, 18, third, last).String() }
			return at(1), at(2), at(5), at(6)
		}
	}
	t.Fatal("every network for tests is in use")
	return
}

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
	w.clientSide, w.clientEnd, w.fleetSide, w.fleetEnd = freeNetworks(t)
	t.Cleanup(w.remove)
	for _, line := range []string{
		"ip netns add NS",
		"ip link add NSc type veth peer name NSC netns NS", "ip link add NSf type veth peer name NSF netns NS",
		"ip addr add " + w.clientSide + "/30 dev NSc", "ip addr add " + w.fleetSide + "/30 dev NSf",
		"ip link set NSc up", "ip link set NSf up",
		"ip -n NS addr add " + w.clientEnd + "/30 dev NSC", "ip -n NS addr add " + w.fleetEnd + "/30 dev NSF",
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
	return "127.0.0.1 " + w.fleetSide
}

// outer returns the address of the fleet as seen from the namespace.
func (w *netns) outer() string {
	if !w.there() {
		return "127.0.0.1"
	}
	return w.fleetSide
}

// inner converts a loopback address to one in the namespace.
func (w *netns) inner(address string) string {
	_, port, _ := net.SplitHostPort(address)
	if !w.there() {
		return address
	}
	return net.JoinHostPort(w.clientEnd, port)
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

package porttest

import (
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const (
	// firstPort is above the ports of services, and of the servers a developer has running.
	firstPort = 15_000
	// defaultEphemeral is where Linux begins to give ports to sockets that name none.
	defaultEphemeral = 32_768
	// attempts is far more than are needed: most of the ports are free.
	attempts = 200
)

// given has the ports of this process, so that two parallel tests never get the same one.
var given sync.Map

// ephemeral is the first port the kernel gives to sockets that name none.
// Such a port can become the local end of any connection between a test's look and the start of
// its server, so Address returns ports below it.
var ephemeral = sync.OnceValue(func() int {
	raw, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return defaultEphemeral
	}
	fields := strings.Fields(string(raw))
	if len(fields) == 0 {
		return defaultEphemeral
	}
	if n, err := strconv.Atoi(fields[0]); err == nil && n > firstPort+attempts {
		return n
	}
	return defaultEphemeral
})

// Address returns a loopback address, such as "127.0.0.1:20123", whose port is free for TCP and UDP.
// It stays free while a test's server is stopped and started again. Only another process that
// draws the same port at random could take it.
func Address(t testing.TB) string {
	t.Helper()
	for range attempts {
		port := firstPort + rand.IntN(ephemeral()-firstPort)
		if _, taken := given.LoadOrStore(port, true); taken {
			continue
		}
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		if free(address) {
			return address
		}
	}
	t.Fatalf("none of %d ports drawn from %d to %d is free", attempts, firstPort, ephemeral())
	return ""
}

// Port returns the port of an Address.
func Port(t testing.TB) string {
	t.Helper()
	_, port, _ := strings.Cut(Address(t), ":")
	return port
}

// free reports whether a process can listen at an address with both protocols: DNS and HTTP/3
// servers use them together.
func free(address string) bool {
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return false
	}
	defer ln.Close()
	pc, err := net.ListenPacket("udp", address)
	if err != nil {
		return false
	}
	return pc.Close() == nil
}

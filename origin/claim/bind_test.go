package claim_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/porttest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/claim"
)

// named runs BIND 9 on a loopback port with one zone and returns its address.
func named(t *testing.T, zone string, records ...string) string {
	t.Helper()
	program, err := exec.LookPath("named")
	if err != nil {
		program, err = exec.LookPath("/usr/sbin/named") // not on the PATH of every user
	}
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("named is not installed: apt-get install bind9")
		}
		t.Skip("named is not installed: apt-get install bind9")
	}
	// A long answer comes over TCP, so both protocols need the port.
	port := porttest.Port(t)
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("zone", "$TTL 1\n@ SOA ns a 1 1 1 1 1\n@ NS ns\nns A 127.0.0.1\n"+strings.Join(records, "\n")+"\n")
	write("named.conf", fmt.Sprintf(`options { directory %q; listen-on port %s { 127.0.0.1; }; listen-on-v6 { none; };
		recursion no; pid-file none; session-keyfile %q; dnssec-validation no; };
		controls { };
		zone %q { type primary; file "zone"; };`, dir, port, filepath.Join(dir, "key"), zone))
	var said bytes.Buffer
	cmd := exec.Command(program, "-g", "-n", "1", "-c", filepath.Join(dir, "named.conf"))
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	address := "127.0.0.1:" + port
	servers, err := claim.ParseResolvers([]string{address})
	if err != nil {
		t.Fatal(err)
	}
	if !waittest.Poll(func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = servers[0].LookupTXT(ctx, "ready."+zone+".")
		return err == nil
	}) {
		t.Fatalf("named does not answer: %v\n%s", err, said.String())
	}
	return address
}

// silent returns the address of a DNS server that never answers.
func silent(t *testing.T) string {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn.LocalAddr().String()
}

// TestBIND: DNS servers that are right, late, lying and divided.
func TestBIND(t *testing.T) {
	const zone, name = "acme.example", "_fieldmark-challenge"
	f := newFixture(t)
	f.brand(t, "acme", "https://www.acme.example/")
	c := f.openClaim(t, fieldmark.ClaimRequest{Brand: "acme"}, "192.0.2.1")
	ready := `ready TXT "yes"`
	line := c.Proofs[0].Value
	long := strings.Repeat("x", 250)
	var filler []string
	for n := range 12 { // the answer does not fit into a datagram, so TCP is used
		filler = append(filler, fmt.Sprintf(`%s TXT "%d%s"`, name, n, long))
	}
	right := named(t, zone, append(filler, ready, fmt.Sprintf(`%s TXT "%s"`, name, line))...)
	without := named(t, zone, ready)
	other := named(t, zone, ready, fmt.Sprintf(`%s TXT "%s"`, name, line[:len(line)-4]+"aaaa"))
	wildcard := named(t, zone, ready, `* TXT "v=spf1 -all"`, `*.www TXT "v=fm1; claim=clm_x; token=y"`)
	all := named(t, zone, ready, fmt.Sprintf(`* TXT "%s"`, line))
	for _, tt := range []struct {
		name    string
		servers []string
		found   bool
	}{
		{"right", []string{right}, true},
		{"none", []string{without}, false},
		{"another wildcard", []string{wildcard}, false},
		{"a wildcard of the owner", []string{all}, true},
		{"late", []string{silent(t)}, false},
		{"a majority", []string{right, without, right}, true},
		{"a minority", []string{right, without, without}, false},
		{"half", []string{right, without}, false},
		{"one is late", []string{right, right, silent(t)}, true},
		{"one lies", []string{right, right, other}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			servers, err := claim.ParseResolvers(tt.servers)
			if err != nil {
				t.Fatal(err)
			}
			g := open(t, f.at, f.out, func(cfg *origin.Config) { cfg.Prover = claim.NewProver(servers, f.out) })
			got := g.Claims.Look(t.Context(), c.Claim)
			if got[0].Method != fieldmark.ClaimDNS || got[0].Found != tt.found {
				t.Errorf("%+v, want found: %v", got[0], tt.found)
			}
		})
	}
}

package access_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/access"
)

// TestCallerOf: only a request with a node token may report the address of its client.
func TestCallerOf(t *testing.T) {
	token := strings.Repeat("n", 32)
	nodes := fieldmark.ParseNodeTokens(token)
	for _, tt := range []struct{ name, peer, node, reported, want string }{
		{"an edge", "192.0.2.1:9", token, "2001:db8::7", "2001:db8::7"},
		{"an edge, IPv4 in IPv6", "192.0.2.1:9", token, "::ffff:203.0.113.7", "203.0.113.7"},
		{"an edge that reports no address", "192.0.2.1:9", token, "nobody", "192.0.2.1"},
		{"an edge in the process", "pipe", token, "203.0.113.7", "203.0.113.7"},
		{"no edge", "[2001:db8::1]:9", "", "", "2001:db8::1"},
		{"a forged report", "192.0.2.1:9", "guess", "203.0.113.7", "192.0.2.1"},
		{"a report without a token", "192.0.2.1:9", "", "203.0.113.7", "192.0.2.1"},
		{"a pipe in the process", "pipe", "", "", ""},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = tt.peer
		r.Header.Set(fieldmark.HeaderClient, tt.reported)
		r.Header.Set(fieldmark.HeaderNode, tt.node)
		r.Header.Set("User-Agent", "browser/1")
		if got := access.CallerOf(r, nodes); got.Address() != tt.want || got.Agent != "browser/1" {
			t.Errorf("%s: the caller is %q, %q, want %q", tt.name, got.Address(), got.Agent, tt.want)
		}
	}
}

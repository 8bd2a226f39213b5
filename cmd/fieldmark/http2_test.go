package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/internal/testkit/browsertest"
)

// TestProtocols checks what --protocols and --h2c offer, with curl as the client.
func TestProtocols(t *testing.T) {
	t.Parallel()
	curl, err := exec.LookPath("curl")
	if err != nil {
		browsertest.Lacking(t, "HTTP/2 is spoken with curl, which is missing")
	}
	for _, tt := range []struct{ args, option, want string }{
		{"--tls-self-signed", "--http2", "2"},
		{"--tls-self-signed", "--http1.1", "1.1"},
		{"--tls-self-signed --protocols h1", "--http2", "1.1"},
		{"--h2c", "--http2-prior-knowledge", "2"},
		{"--h2c", "--http2", "1.1"}, // Upgrade: h2c, which is ignored
	} {
		p := start(t, t.TempDir(), append(append([]string{"serve"}, freePorts("var")...),
			strings.Fields(tt.args)...)...)
		base := p.logged("serve", "listen")
		for _, path := range []string{"/", "/api/v1/leaderboard", "/nowhere"} {
			out, err := exec.CommandContext(t.Context(), curl, "-sk", tt.option, "-o", "/dev/null", "-w",
				"%{http_version}",
				base+path).CombinedOutput()
			if err != nil || string(out) != tt.want {
				t.Errorf("%s: curl %s %s: HTTP/%s %v, want HTTP/%s", tt.args, tt.option, path, out, err, tt.want)
			}
		}
		p.stop()
	}
}

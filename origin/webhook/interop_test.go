package webhook_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// signed returns a message of the current time, signed under both schemes.
func signed(t *testing.T) (id, timestamp, signatures string, body []byte) {
	t.Helper()
	now := time.Now()
	id, body = "evt_1", []byte(`{"id":"evt_1","data":{"title":"Zürich \u003c"}}`)
	one, err := sign(vectorSecret, id, now, body)
	if err != nil {
		t.Fatal(err)
	}
	other, err := sign(vectorPrivate, id, now, body)
	if err != nil {
		t.Fatal(err)
	}
	return id, fmt.Sprint(now.Unix()), other + " " + one, body
}

// TestSnippets runs the code that the documentation tells integrators to copy, as
// far as this machine can: each snippet accepts a valid message under every
// supported key and rejects others.
func TestSnippets(t *testing.T) {
	id, timestamp, signatures, body := signed(t)
	stale, err := sign(vectorSecret, id, time.Now().Add(-6*time.Minute), body)
	if err != nil {
		t.Fatal(err)
	}
	folder, err := filepath.Abs("../../deploy/webhooks")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, program string
		args          []string
		publicKeys    bool
	}{
		{"go", "go", []string{"run", "verify.go"}, true},
		{"node", "node", []string{"verify.mjs"}, true},
		{"python", "python3", []string{"verify.py"}, false},
		{"php", "php", []string{"verify.php"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			program, err := exec.LookPath(tt.program)
			if err != nil {
				missing(t, err)
			}
			says := func(key, id, timestamp, signatures string, body []byte) string {
				cmd := exec.CommandContext(t.Context(), program, append(tt.args, key, id, timestamp, signatures)...)
				cmd.Dir, cmd.Stdin = folder, bytes.NewReader(body)
				out, _ := cmd.Output() // the exit status repeats the output
				return strings.TrimSpace(string(out))
			}
			for _, try := range []struct {
				what, key, id, timestamp, signatures string
				body                                 []byte
				want                                 string
			}{
				{"a good message", vectorSecret, id, timestamp, signatures, body, "good"},
				{"a good message under a public key", vectorPublic, id, timestamp, signatures, body, "good"},
				{"another body", vectorSecret, id, timestamp, signatures, append(bytes.Clone(body), ' '), "bad"},
				{"another id", vectorSecret, "evt_2", timestamp, signatures, body, "bad"},
				{"six minutes ago", vectorSecret, id, fmt.Sprint(time.Now().Add(-6 * time.Minute).Unix()), stale, body,
					"bad"},
			} {
				if try.key == vectorPublic && !tt.publicKeys {
					continue
				}
				if got := says(try.key, try.id, try.timestamp, try.signatures, try.body); got != try.want {
					t.Errorf("%s: %q, want %q", try.what, got, try.want)
				}
			}
		})
	}
}

// missing skips a test, but fails it in CI, where every tool must be installed.
func missing(t *testing.T, err error) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(err)
	}
	t.Skip(err)
}

// official is the reference library for Node, pinned.
const official = `{"private":true,"dependencies":{"standardwebhooks":"1.1.1"}}`

// officialVerifier verifies a message with the reference library.
const officialVerifier = `const {Webhook} = require('standardwebhooks');
const [secret, id, timestamp, signatures, body] = process.argv.slice(2);
try { new Webhook(secret).verify(body, {'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': ` +
	`signatures}); console.log('good') }
catch (e) { console.log(e.message) }
`

// TestOfficialNodeLibrary verifies a message that is signed with two keys with the
// reference library for Node.
func TestOfficialNodeLibrary(t *testing.T) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		missing(t, err)
	}
	folder := t.TempDir()
	for name, text := range map[string]string{"package.json": official, "verify.cjs": officialVerifier} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	install := exec.CommandContext(t.Context(), npm, "install", "--no-audit", "--no-fund", "--ignore-scripts",
		"--prefer-offline")
	install.Dir = folder
	if out, err := install.CombinedOutput(); err != nil {
		missing(t, fmt.Errorf("npm install: %w\n%s", err, out))
	}
	id, timestamp, signatures, body := signed(t)
	var all sync.WaitGroup
	for text, want := range map[string]string{string(body): "good", "{}": "No matching signature found"} {
		all.Go(func() {
			cmd := exec.CommandContext(t.Context(), "node", "verify.cjs", vectorSecret, id, timestamp, signatures, text)
			cmd.Dir = folder
			out, err := cmd.CombinedOutput()
			if got := strings.TrimSpace(string(out)); got != want || err != nil {
				t.Errorf("the official library on %s: %q, %v; want %q", text, got, err, want)
			}
		})
	}
	all.Wait()
}

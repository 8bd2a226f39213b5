package botauth_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark/origin/botauth"
)

// verifiers are the libraries that verify signatures, pinned. web-bot-auth knows only the
// string form.
const verifiers = `{"private":true,"dependencies":{"http-message-signatures":"1.0.6","web-bot-auth":"0.1.3"}}`

// message is a request, or a response with its request, as the libraries read it.
type message struct {
	Method   string            `json:"method"`
	URL      string            `json:"url"`
	Headers  map[string]string `json:"headers"`
	Response *response         `json:"response,omitempty"`
}

type response struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
}

func headersOf(h http.Header) map[string]string {
	m := map[string]string{}
	for name := range h {
		m[strings.ToLower(name)] = h.Get(name)
	}
	return m
}

// signed returns n signed requests.
func signed(t *testing.T, form botauth.Form, n int) []message {
	t.Helper()
	signer := newSigner(t, form)
	list := make([]message, n)
	for i := range list {
		address := fmt.Sprintf("https://%s%d.example%s/page-%d/%%C3%%A9?query=%d", []string{"site", "Shop", "a-b"}[i%3],
			i,
			[]string{"", ":443", ":8443"}[i%3], i, i)
		req, err := http.NewRequest([]string{http.MethodGet, http.MethodHead}[i%2], address, nil)
		if err != nil {
			t.Fatal(err)
		}
		signer.Sign(req)
		list[i] = message{Method: req.Method, URL: address, Headers: headersOf(req.Header)}
	}
	return list
}

// altered returns the messages with one change in each, by turns of all kinds.
func altered(list []message) []message {
	changes := []func(m *message){
		func(m *message) { m.Method = http.MethodPost },
		func(m *message) { m.URL = strings.Replace(m.URL, "example", "example.org", 1) },
		func(m *message) { m.URL = strings.Replace(m.URL, "/page-", "/other-", 1) },
		func(m *message) {
			m.Headers["signature-agent"] = strings.Replace(m.Headers["signature-agent"], "marks", "other", 1)
		},
		func(m *message) {
			m.Headers["signature-input"] = strings.Replace(m.Headers["signature-input"], `;alg="ed25519"`, "", 1)
		},
		func(m *message) {
			m.Headers["signature-input"] = strings.Replace(m.Headers["signature-input"], "nonce=\"", "nonce=\"A", 1)
		},
		func(m *message) {
			text := strings.Trim(strings.TrimPrefix(m.Headers["signature"], "fm="), ":")
			b, _ := base64.StdEncoding.DecodeString(text)
			b[0] ^= 1
			m.Headers["signature"] = "fm=:" + base64.StdEncoding.EncodeToString(b) + ":"
		},
	}
	changed := make([]message, len(list))
	for i, m := range list {
		m.Headers = maps.Clone(m.Headers)
		changes[i%len(changes)](&m)
		changed[i] = m
	}
	return changed
}

// TestForeignVerifiers: two libraries accept 1,000 of 1,000 signed requests and none of 1,000
// that were altered, and one accepts the key directory.
func TestForeignVerifiers(t *testing.T) {
	const requests = 1_000
	folder := installVerifiers(t)
	dictionary, plain := signed(t, botauth.FormDictionary, requests), signed(t, botauth.FormString, requests)
	body := []byte(`{"keys":[]}`)
	h := botauth.SignDirectory([]botauth.Key{vectorKey(t)}, "marks.example", body, time.Now())
	directory := func(host string) []message {
		return []message{{Method: http.MethodGet, URL: "https://" + host +
			"/.well-known/http-message-signatures-directory",
			Headers: map[string]string{}, Response: &response{http.StatusOK, headersOf(h)}}}
	}
	now := time.Now()
	var all sync.WaitGroup
	for _, tt := range []struct {
		name, library string
		messages      []message
		want          int
	}{
		{"dictionary", "http-message-signatures", dictionary, requests},
		{"dictionary, altered", "http-message-signatures", altered(dictionary), 0},
		{"string", "http-message-signatures", plain, requests},
		{"string, altered", "http-message-signatures", altered(plain), 0},
		{"string", "web-bot-auth", plain, requests},
		{"string, altered", "web-bot-auth", altered(plain), 0},
		{"directory", "directory", directory("marks.example"), 1},
		{"directory on another host", "directory", directory("copy.example"), 0},
	} {
		all.Go(func() {
			if got := accepted(t, folder, tt.library, tt.messages, now); got != fmt.Sprint(tt.want) {
				t.Errorf("%s by %s: accepted %s of %d, want %d", tt.name, tt.library, got, len(tt.messages), tt.want)
			}
		})
	}
	all.Wait()
}

// accepted returns how many messages that arrive at a time a library accepts.
func accepted(t *testing.T, folder, library string, list []message, at time.Time) string {
	text, err := json.Marshal(list)
	if err != nil {
		t.Error(err)
	}
	file := filepath.Join(t.TempDir(), "messages.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Error(err)
	}
	key := `{"kty":"OKP","crv":"Ed25519","x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs",` +
		`"kid":"poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"}`
	c := exec.CommandContext(t.Context(), "node", filepath.Join(folder, "verify.mjs"), file, key, library,
		fmt.Sprint(at.UnixMilli()))
	out, err := c.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v", library, err)
	}
	return strings.TrimSpace(string(out))
}

// installVerifiers returns the folder with the libraries and installs them on the first call.
func installVerifiers(t *testing.T) string {
	t.Helper()
	lacking := func(err error) {
		t.Helper()
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			lacking(err)
		}
	}
	script, err := os.ReadFile(filepath.Join("testdata", "verify.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		lacking(err)
	}
	folder := filepath.Join(cache, "fieldmark-npm", "botauth")
	have, _ := os.ReadFile(filepath.Join(folder, "package.json"))
	old, _ := os.ReadFile(filepath.Join(folder, "verify.mjs"))
	if string(have) == verifiers && string(old) == string(script) {
		return folder
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		t.Fatal(err)
	}
	// renamed when complete, so that an incomplete installation is never used
	fresh, err := os.MkdirTemp(filepath.Dir(folder), "botauth-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(fresh)
	for name, text := range map[string]string{"package.json": verifiers, "verify.mjs": string(script)} {
		if err := os.WriteFile(filepath.Join(fresh, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.CommandContext(t.Context(), "npm", "install", "--no-audit", "--no-fund", "--ignore-scripts",
		"--no-package-lock", "--loglevel=error")
	c.Dir = fresh
	if out, err := c.CombinedOutput(); err != nil {
		lacking(fmt.Errorf("npm install (a network to the package registry is needed once): %w: %.500s", err, out))
	}
	if err := errors.Join(os.RemoveAll(folder), os.Rename(fresh, folder)); err != nil {
		t.Fatal(err)
	}
	return folder
}

package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/fieldmark/fieldmark/internal/testkit/porttest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

const providerSecret = "client-secret-4b1d0f9a77"

// startProvider starts a third-party OpenID Connect provider from npm.
func startProvider(t *testing.T, address, redirect string) {
	t.Helper()
	folder := providerFolder(t)
	script := filepath.Join(folder, "provider.mjs")
	must(t, os.WriteFile(script, []byte(readFile(t, "testdata", "provider", "provider.mjs")), 0o600))
	cmd := exec.Command("node", script)
	p := startCommand(t, folder, cmd, "ADDRESS="+address, "REDIRECT="+redirect, "CLIENT_SECRET="+providerSecret)
	p.waitFor("ready")
}

// providerFolder installs the provider once for all test runs.
func providerFolder(t *testing.T) string {
	t.Helper()
	missing := func(why string, err error) {
		t.Helper()
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s: %v", why, err)
		}
		t.Skipf("%s: %v", why, err)
	}
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			missing("the provider needs Node 20 or later with npm", err)
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		missing("no folder to keep the provider in", err)
	}
	folder, wanted := filepath.Join(cache, "fieldmark-npm", "oidc"), readFile(t, "testdata", "provider", "package.json")
	if have, err := os.ReadFile(filepath.Join(folder, "package.json")); err == nil && string(have) == wanted {
		return folder
	}
	must(t, os.MkdirAll(filepath.Dir(folder), 0o755))
	// Install into a temporary folder and rename it, so that a partial installation is
	// never used.
	fresh, err := os.MkdirTemp(filepath.Dir(folder), "oidc-")
	must(t, err)
	defer os.RemoveAll(fresh)
	must(t, os.WriteFile(filepath.Join(fresh, "package.json"), []byte(wanted), 0o600))
	install := exec.CommandContext(t.Context(), "npm", "install", "--no-audit", "--no-fund", "--ignore-scripts",
		"--no-package-lock", "--loglevel=error")
	install.Dir = fresh
	if out, err := install.CombinedOutput(); err != nil {
		missing("npm could not install the provider (a network to the package registry is needed once): "+
			string(bytes.TrimSpace(out)), err)
	}
	must(t, os.RemoveAll(folder))
	must(t, os.Rename(fresh, folder))
	return folder
}

// userAgent is a browser that runs no scripts.
type userAgent struct {
	t      *testing.T
	base   string
	client *http.Client
}

func newUserAgent(t *testing.T, base string) *userAgent {
	jar, err := cookiejar.New(nil)
	must(t, err)
	return &userAgent{t: t, base: base, client: &http.Client{Jar: jar, Timeout: time.Minute}}
}

// seen is a page and its address after all redirects.
type seen struct {
	status int
	at     *url.URL
	body   string
}

func (v *userAgent) send(method, address string, form url.Values) seen {
	v.t.Helper()
	if strings.HasPrefix(address, "/") {
		address = v.base + address
	}
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	req, err := http.NewRequest(method, address, body)
	must(v.t, err)
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	resp, err := v.client.Do(req)
	must(v.t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	must(v.t, err)
	return seen{resp.StatusCode, resp.Request.URL, string(raw)}
}

func (v *userAgent) get(address string) seen { v.t.Helper(); return v.send("GET", address, nil) }
func (v *userAgent) post(address string, form url.Values) seen {
	v.t.Helper()
	return v.send("POST", address, form)
}

// enter follows a link to the provider and submits its form with who, pairs of names
// and values.
func (v *userAgent) enter(link string, who ...string) seen {
	v.t.Helper()
	page := v.get(link)
	if !strings.Contains(page.body, "<title>Provider") {
		v.t.Fatalf("%s leads to %s, %d, want the provider's page: %s", link, page.at, page.status, page.body)
	}
	form := url.Values{}
	for i := 0; i < len(who); i += 2 {
		form.Add(who[i], who[i+1])
	}
	page = v.post(page.at.String(), form)
	// the provider ends the session of the previous user
	if strings.Contains(page.body, "document.forms[0].submit()") {
		form = url.Values{}
		for _, m := range hiddenInput.FindAllStringSubmatch(page.body, -1) {
			form.Set(m[1], m[2])
		}
		page = v.post(formAction.FindStringSubmatch(page.body)[1], form)
	}
	return page
}

var (
	hiddenInput = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)"`)
	formAction  = regexp.MustCompile(`<form method="post" action="([^"]+)"`)
)

// wants fails the test unless the page has this status, path and text.
func (s seen) wants(t *testing.T, status int, path string, texts ...string) {
	t.Helper()
	if s.status != status || s.at.Path != path {
		t.Fatalf("at %s with %d, want %s with %d: %s", s.at, s.status, path, status, s.body)
	}
	for _, text := range texts {
		if !strings.Contains(s.body, text) {
			t.Errorf("%s does not say %q: %s", path, text, s.body)
		}
	}
}

// TestSignOn signs administrators in with a real OpenID Connect provider through the
// edge: with and without a role, with forged responses, and for reauthentication.
func TestSignOn(t *testing.T) {
	t.Parallel()
	dir, issuer, at := t.TempDir(), porttest.Address(t), porttest.Address(t)
	base := "http://" + at
	for _, name := range []string{"root", "taken@acme.example"} {
		create := exec.Command(program(t), "admin", "create", name, "--data", "var")
		create.Stdin = strings.NewReader(adminPassword)
		startCommand(t, dir, create).waitFor("may sign in")
	}
	p := start(t, dir, "serve", "--data", "var", "--listen", at, "--base-url", base, "--origin-listen", "127.0.0.1:0",
		"--debug-listen", "127.0.0.1:0", "--log-level", "DEBUG",
		"--oidc-issuer", "http://"+issuer, "--oidc-client-id", "fieldmark", "--oidc-client-secret", providerSecret,
		"--oidc-name", "Acme", "--oidc-networks", "127.0.0.0/8",
		"--oidc-scopes", "email,groups", "--oidc-admins", "operators", "--oidc-viewers", "staff,guests")
	p.logged("serve", "listen")

	const link = "/admin/sign-in/provider"
	root := newUserAgent(t, base)
	root.get("/admin/sign-in?next=/admin/api-keys").wants(t, 200, "/admin/sign-in", "Sign in with Acme",
		link+"?next=%2fadmin%2fapi-keys", "Password")
	// an unavailable provider does not affect passwords
	root.get(link).wants(t, 502, link, "Acme is not available; try again later", "Password")
	root.post("/admin/sign-in", url.Values{"user": {"root"}, "password": {adminPassword}}).wants(t, 200, "/admin")
	startProvider(t, issuer, base+"/admin/sign-in/return")
	waittest.Until(t, "the provider is found", func() bool { return root.get(link).at.Host == issuer })

	ann := newUserAgent(t, base)
	back := ann.enter(link+"?next=/admin/api-keys", "sub", "a-1", "group", "staff", "group", "operators", "email",
		"Ann@acme.example", "verified", "yes")
	back.wants(t, 200, "/admin/api-keys", "ann@acme.example", "Create a key")
	ann.post("/admin/api-keys", url.Values{"name": {"made by ann"}, "scope": {"mission:read"},
		"newest": {"none"}}).wants(t, 200, "/admin/api-keys", "fm_live_")
	ann.get("/admin/audit-log").wants(t, 200, "/admin/audit-log", "session.started", "a-1", "http://"+issuer)

	vic := newUserAgent(t, base)
	vic.enter(link+"?next=https://evil.example/", "sub", "v", "group", "guests").wants(t, 200, "/admin", "sso-",
		"read-only access")
	vic.post("/admin/accounts", url.Values{"id": {"x"}, "name": {"X"}}).wants(t, 403, "/admin/accounts")
	eve := newUserAgent(t, base)
	eve.enter(link, "sub", "e", "group", "strangers", "email", "eve@acme.example", "verified", "yes").wants(t, 403,
		"/admin/sign-in/return", "Access denied", "Acme confirmed who you are")
	eve.get("/admin").wants(t, 200, "/admin/sign-in")
	// her session at the provider is still open
	eve.get(link).wants(t, 403, "/admin/sign-in/return", link+"?next=%2fadmin&amp;again=yes")
	eve.enter(link+"?again=yes", "sub", "e", "deny", "yes").wants(t, 401, "/admin/sign-in/return",
		"Acme did not sign you in")

	// An address never selects another user's account, and an unverified one is not
	// shown.
	for _, who := range [][]string{{"email", "taken@acme.example", "verified", "yes"}, {"email", "root@acme.example"}} {
		page := newUserAgent(t, base).enter(link, append([]string{"sub", "m" + who[1], "group", "operators"},
			who...)...)
		if page.wants(t, 200, "/admin", "sso-"); strings.Contains(page.body, who[1]) {
			t.Errorf("somebody with the address %s is called by it", who[1])
		}
	}

	// A callback in another browser and a repeated callback are both rejected.
	cut := newUserAgent(t, base)
	cut.client.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if r.URL.Path == "/admin/sign-in/return" {
			return http.ErrUseLastResponse
		}
		return nil
	}
	form := cut.get(link)
	req, err := http.NewRequest("POST", form.at.String(), strings.NewReader("sub=a-1&group=operators"))
	must(t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := cut.client.Do(req)
	must(t, err)
	must(t, resp.Body.Close())
	stolen := resp.Header.Get("Location")
	newUserAgent(t, base).get(stolen).wants(t, 401, "/admin/sign-in/return", "Sign in again")
	forged := regexp.MustCompile(`state=[^&]+`).ReplaceAllString(stolen, "state=forged")
	cut.get(forged).wants(t, 401, "/admin/sign-in/return", "Sign in again")
	cut.get(stolen).wants(t, 401, "/admin/sign-in/return", "Sign in again") // used already

	// A user who lost the role loses open sessions at the next sign-in attempt. An
	// administrator can end the other sessions.
	again := newUserAgent(t, base)
	again.enter(link, "sub", "a-1", "group", "retired").wants(t, 403, "/admin/sign-in/return")
	ann.get("/admin/accounts").wants(t, 200, "/admin/sign-in")
	settings := root.get("/admin/settings")
	settings.wants(t, 200, "/admin/settings", "single sign-on", "password")
	action := regexp.MustCompile(
		`(?s)<th scope="row">sso-.*?action="(/admin/settings/sessions/[^"]+/end)"`).FindStringSubmatch(settings.body)
	if len(action) != 2 {
		t.Fatalf("no session of the provider's on the page: %s", settings.body)
	}
	root.post(action[1], url.Values{}).wants(t, 200, action[1], "End the session")
	root.post(action[1], url.Values{"confirm": {"yes"}}).wants(t, 200, "/admin/settings", "Session ended")
	root.get("/admin/audit-log").wants(t, 200, "/admin/audit-log", "session.refused")

	provesAnew(t, base, link)
	code, err := url.Parse(stolen)
	must(t, err)
	for _, hidden := range []string{providerSecret, code.Query().Get("code"), code.Query().Get("state")} {
		if hidden == "" || strings.Contains(p.printed(), hidden) {
			t.Errorf("the log holds a secret, %q", hidden)
		}
	}
	p.stop()
}

// provesAnew checks the reauthentication of users who signed in an hour ago, at the
// provider and with a two-factor code.
func provesAnew(t *testing.T, base, link string) {
	t.Helper()
	const keys, at = "/admin/api-keys", "/admin/prove/provider?next=/admin/api-keys"
	old := []string{"sub", "old", "group", "operators", "age", "3600"}
	bob := newUserAgent(t, base)
	bob.enter(link+"?next="+keys, old...).wants(t, 200, keys, "Confirm with Acme")
	bob.post(keys, url.Values{"name": {"x"}, "scope": {"mission:read"}}).wants(t, 403, keys, "Confirm your identity",
		"Confirm with Acme")
	bob.enter(at, "sub", "other", "group", "operators").wants(t, 401, "/admin/sign-in/return", "as another user")
	bob.get(keys).wants(t, 200, keys, "Confirm with Acme")
	bob.enter(at, "sub", "old", "group", "operators").wants(t, 200, keys, "Create a key")

	const factor = "/admin/settings/second-factor"
	offer := bob.post(factor, url.Values{"do": {"offer"}})
	secret := regexp.MustCompile(`name="secret" value="([A-Z2-7]+)"`).FindStringSubmatch(offer.body)
	if len(secret) != 2 {
		t.Fatalf("no second factor is offered: %s", offer.body)
	}
	now := time.Now()
	codeOf := func(at time.Time) string {
		code, err := totp.GenerateCode(secret[1], at)
		must(t, err)
		return code
	}
	bob.post(factor, url.Values{"do": {"on"}, "secret": {secret[1]}, "code": {codeOf(now)}}).wants(t, 200,
		"/admin/settings")
	again := newUserAgent(t, base)
	again.enter(link+"?next="+keys, old...).wants(t, 200, keys, "Confirm with Acme", "authenticator app")
	again.post("/admin/prove", url.Values{"next": {keys}, "code": {codeOf(now.Add(30 * time.Second))}}).wants(t, 200,
		keys, "Create a key")
	// The code alone does not sign in a user who has no password.
	name := regexp.MustCompile(`sso-[0-9a-f]+`).FindString(again.get("/admin").body)
	newUserAgent(t, base).post("/admin/sign-in", url.Values{"user": {name}, "password": {""},
		"code": {codeOf(now.Add(30 * time.Second))}}).wants(t, 401, "/admin/sign-in")
}

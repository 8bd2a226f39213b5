package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/porttest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

// TestNoSecretInLogs runs an origin and an edge at the DEBUG level with every kind of
// secret and personal data, and checks that none of it is in their logs.
func TestNoSecretInLogs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secrets := map[string]string{
		"application secret": "application-secret-" + strings.Repeat("a", minSecret),
		"node token":         "node-token-" + strings.Repeat("b", minSecret),
		"password of Redis":  "redis-password-81c7", "password of an administrator": "admin-password-5b1f",
		"wrong password":     "wrong-password-77aa",
		"path of a receiver": "receiver-path-93d1", "password of a receiver": "receiver-password-6612",
		"token of a receiver": "receiver-token-0c3e",
		"name of a contact":   "Hildegard Zwickelhuber", "phone of a contact": "+43 664 5550199",
		"mail of a contact":  "zwickelhuber@contact.example",
		"title of a mission": "Quiet title 4471", "key that does not exist": fieldmark.NewKeyToken("00000042",
			strings.Repeat("y", fieldmark.KeySecretChars)).String(),
	}
	create := exec.Command(program(t), "admin", "create", "ada", "--data", "var", "--secret",
		secrets["application secret"])
	create.Stdin = strings.NewReader(secrets["password of an administrator"] + "\n")
	p := startCommand(t, dir, create)
	p.waitFor("may sign in")
	record := []string{"--secret", secrets["application secret"]}
	secrets["key of an administrator"] = newKeyAt(t, dir, record, "admin:*")
	secrets["key of an integrator"] = newKeyAt(t, dir, record, "mission:create", "mission:read", "webhook:manage")
	admin, key := "Bearer "+secrets["key of an administrator"], "Bearer "+secrets["key of an integrator"]

	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "no", http.StatusInternalServerError) // the origin logs this failure
	}))
	defer receiver.Close()
	token := []string{"--node-token", secrets["node token"], "--log-level", "DEBUG", "--debug-listen", "127.0.0.1:0"}
	o := start(t, dir, slices.Concat([]string{"origin", "--data", "var", "--origin-listen", "127.0.0.1:0",
		"--public-api", "--allow-networks", "127.0.0.0/8"}, record, token)...)
	e := start(t, dir, slices.Concat([]string{"edge", "--origin", o.logged("origin", "listen"), "--listen",
		"127.0.0.1:0",
		"--redis-url", "redis://:" + secrets["password of Redis"] + "@" + porttest.Address(t)}, token)...)
	base, debug := e.logged("edge", "listen"), e.logged("edge", "debug")
	waittest.Until(t, "the edge is ready", func() bool {
		status, _, _, err := try("GET", debug+"/readyz", "")
		return err == nil && status == http.StatusOK
	})

	send := func(want int, method, path, body string, header ...string) string {
		t.Helper()
		status, _, answer := ask(t, method, base+path, body, header...)
		if status != want {
			t.Errorf("%s %s: %d %s, want %d", method, path, status, answer, want)
		}
		return answer
	}
	var hook fieldmark.NewEndpoint
	must(t, json.Unmarshal([]byte(send(201, "POST", "/api/public/v1/webhooks",
		fmt.Sprintf(`{"url":%q,"events":["mission.*"],"auth":{"kind":"basic","username":"u","password":%q}}`,
			receiver.URL+"/"+secrets["path of a receiver"]+"?key="+secrets["path of a receiver"],
			secrets["password of a receiver"]), "Authorization", key)), &hook))
	secrets["secret of a webhook"] = hook.Secret
	send(201, "POST", "/api/public/v1/webhooks",
		fmt.Sprintf(`{"url":"http://%s/%s","events":["mission.*"],"auth":{"kind":"bearer","token":%q}}`,
			porttest.Address(t), secrets["path of a receiver"], secrets["token of a receiver"]), "Authorization", key)
	var calendar fieldmark.NewCalendar
	must(t, json.Unmarshal([]byte(send(201, "POST", "/api/admin/v1/calendars",
		`{"name":"All","scope":"ALL","details":true}`, "Authorization", admin)), &calendar))
	secrets["address of a calendar"] = strings.TrimSuffix(strings.TrimPrefix(calendar.Path, fieldmark.PathCalendar),
		".ics")
	var link fieldmark.NewTechnicianLink
	must(t, json.Unmarshal([]byte(send(201, "POST", "/api/admin/v1/technician-links",
		`{"assignee":{"id":"ann"},"pin":"493817"}`, "Authorization", admin)), &link))
	secrets["address of a technician"], secrets["PIN of a technician"] = strings.Split(link.Path, "/")[2], "493817"
	mission := fmt.Sprintf(`{"source":"t","externalId":"1","title":%q,"contact":{"name":%q,"phone":%q,"email":%q}}`,
		secrets["title of a mission"], secrets["name of a contact"], secrets["phone of a contact"],
		secrets["mail of a contact"])
	send(201, "POST", "/api/public/v1/missions", mission, "Authorization", key)
	send(422, "POST", "/api/public/v1/missions", strings.Replace(mission, `"title"`, `"tittle"`, 1), "Authorization",
		key)
	send(401, "GET", "/api/public/v1/missions", "", "Authorization", "Bearer "+secrets["key that does not exist"])
	send(401, "GET", "/api/public/v1/missions?token="+secrets["key that does not exist"], "")
	send(200, "GET", calendar.Path, "")
	send(404, "GET", strings.Replace(calendar.Path, ".ics", "", 1), "")
	visitTechnician(t, base+link.Path, secrets)
	visitPortal(t, base, send(201, "POST", fieldmark.PathPortalLinks, `{}`, "Authorization", key), hook.ID, secrets)
	send(404, "GET", link.Path+"nowhere", "")
	send(400, "GET", "/"+link.Path, "")
	for _, odd := range []string{"nowhere/", "endpoints/../", "x", "%2e/"} {
		ask(t, "GET", base+fieldmark.PathPortal+odd+secrets["token of a portal link"], "")
	}
	o.waitFor(`"msg":"webhook"`) // after a delivery attempt
	signIn(t, base, secrets)
	if _, _, answer := ask(t, "GET", debug+"/metrics", ""); strings.Contains(answer,
		secrets["address of a calendar"]) ||
		strings.Contains(answer, secrets["address of a technician"]) ||
		strings.Contains(answer, secrets["token of a portal link"]) {
		t.Error("the metrics tell the address of a calendar, of a technician or of a portal link")
	}
	e.stop()
	o.stop()
	for name, p := range map[string]*process{"edge": e, "origin": o} {
		said := p.printed()
		if !strings.Contains(said, `"msg":`) {
			t.Errorf("the %s said nothing: %q", name, said)
		}
		for what, secret := range secrets {
			for _, form := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret)} {
				if i := strings.Index(said, form); i >= 0 {
					line := said[strings.LastIndexByte(said[:i], '\n')+1:]
					t.Errorf("the %s tells the %s (%s):\n%.500s", name, what, form, line)
					break
				}
			}
		}
	}
}

// visitTechnician enters a wrong PIN and the right one, and stores the session.
func visitTechnician(t *testing.T, page string, secrets map[string]string) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	must(t, err)
	phone := &http.Client{Jar: jar}
	for pin, want := range map[string]int{"000000": http.StatusUnauthorized,
		secrets["PIN of a technician"]: http.StatusOK} {
		resp, err := phone.PostForm(page+"pin", url.Values{"pin": {pin}})
		must(t, err)
		must(t, resp.Body.Close())
		if resp.StatusCode != want {
			t.Errorf("the PIN %s: %d, want %d", pin, resp.StatusCode, want)
		}
	}
	at, err := url.Parse(page)
	must(t, err)
	for _, c := range jar.Cookies(at) {
		secrets["session of a technician"] = c.Value
	}
	if secrets["session of a technician"] == "" {
		t.Error("the technician has no session")
	}
}

// visitPortal opens a portal link and every page and some forms of its session, twice. No response may be
// stored, and the token and the session are secrets.
func visitPortal(t *testing.T, base, created, endpoint string, secrets map[string]string) {
	t.Helper()
	var link fieldmark.PortalLink
	must(t, json.Unmarshal([]byte(created), &link))
	at, err := url.Parse(link.URL)
	must(t, err)
	secrets["token of a portal link"] = strings.TrimPrefix(at.Path, fieldmark.PathPortal)
	jar, err := cookiejar.New(nil)
	must(t, err)
	customer := &http.Client{Jar: jar}
	page := fieldmark.PathPortal + "endpoints/" + endpoint
	for _, step := range []struct {
		path string
		form url.Values // nil: GET
		want int
	}{{at.Path, nil, 200}, {at.Path, nil, 200}, {at.Path, url.Values{}, 200}, {at.Path, nil, 410},
		{fieldmark.PathPortal, nil, 200}, {fieldmark.PathPortal, nil, 200}, {page, nil, 200}, {page, nil, 200},
		{page, url.Values{"do": {"pause"}}, 200}, {page, url.Values{"do": {"enable"}}, 200},
		{fieldmark.PathPortal + "endpoints", url.Values{"url": {"ftp://x"}}, 422},
		{fieldmark.PathPortal + "nowhere", nil, 404}} {
		method, body := "GET", io.Reader(nil)
		if step.form != nil {
			method, body = "POST", strings.NewReader(step.form.Encode())
		}
		req, err := http.NewRequest(method, base+step.path, body)
		must(t, err)
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := customer.Do(req)
		must(t, err)
		_, err = io.Copy(io.Discard, resp.Body)
		must(t, err)
		must(t, resp.Body.Close())
		if resp.StatusCode != step.want || !strings.Contains(resp.Header.Get("Cache-Control"), "no-store") ||
			resp.Header.Get("Referrer-Policy") != "no-referrer" ||
			strings.Contains(resp.Header.Get("Cache-Status"), "hit") ||
			strings.Contains(resp.Header.Get("Cache-Status"), "stored") {
			t.Errorf("%s %s: %d, want %d, %v", method, fieldmark.LoggedPath(step.path), resp.StatusCode, step.want,
				resp.Header)
		}
	}
	at, err = url.Parse(base + fieldmark.PathPortal)
	must(t, err)
	for _, c := range jar.Cookies(at) {
		secrets["session of a portal link "+c.Name] = c.Value
	}
	if len(jar.Cookies(at)) == 0 {
		t.Error("the portal link began no session")
	}
}

// signIn signs in with the right and with a wrong password as a browser would, and
// stores the session.
func signIn(t *testing.T, base string, secrets map[string]string) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	must(t, err)
	browser := &http.Client{Jar: jar}
	var answer string
	for _, password := range []string{secrets["password of an administrator"], secrets["wrong password"]} {
		resp, err := browser.PostForm(base+"/admin/sign-in", url.Values{"user": {"ada"}, "password": {password}})
		must(t, err)
		body, err := io.ReadAll(resp.Body)
		must(t, err)
		must(t, resp.Body.Close())
		answer = fmt.Sprintf("%d %s", resp.StatusCode, body)
	}
	at, err := url.Parse(base + "/admin")
	must(t, err)
	for _, c := range jar.Cookies(at) {
		if len(c.Value) > 20 {
			secrets["session "+c.Name] = c.Value
		}
	}
	if len(jar.Cookies(at)) == 0 {
		t.Errorf("the administrator has no session: %s", answer)
	}
}

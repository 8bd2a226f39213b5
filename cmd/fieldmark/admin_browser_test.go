package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/browsertest"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/origin/webhook"
)

const adminPassword = "correct horse battery staple"

// console is an administrator's browser that uses the admin console of a running
// Fieldmark through its edge.
type console struct {
	t    *testing.T
	base string
	tab  *browsertest.Page
}

// send fills in the form that posts to an address and submits it with its button. A
// value selects one of several buttons.
func (d *console) send(action, button string, values map[string]string) {
	d.t.Helper()
	selector := "form[method=post][action='" + action + "']"
	pressed := "button"
	if button != "" {
		pressed += "[value='" + button + "']"
		selector += ":has(" + pressed + ")"
	}
	d.submit(selector, pressed, values)
}

// submit fills in the last form that matches and presses one of its buttons. It confirms the question that
// precedes an action that cannot be taken back.
func (d *console) submit(selector, button string, values map[string]string) {
	d.t.Helper()
	d.tab.Leave(d.t, "send "+selector, fmt.Sprintf(`(() => {
		const form = [...document.querySelectorAll(%q)].at(-1);
		for (const [name, value] of Object.entries(%s)) form.elements[name].value = value;
		form.requestSubmit(form.querySelector(%q));
	})()`, selector, mustJSON(d.t, values), button))
	if d.value(`document.querySelector("#question") !== null`) == "true" {
		d.tab.Leave(d.t, "confirm "+selector, `(() => {
			const form = document.querySelector("#question");
			form.requestSubmit(form.querySelector("button"));
		})()`)
	}
}

func mustJSON(t *testing.T, v map[string]string) string {
	t.Helper()
	if v == nil {
		return "{}"
	}
	b, err := json.Marshal(v)
	must(t, err)
	return string(b)
}

// text returns the text of an element.
func (d *console) text(selector string) string {
	d.t.Helper()
	var text string
	d.tab.Eval(d.t, fmt.Sprintf(`document.querySelector(%q)?.textContent ?? ""`, selector), &text)
	return strings.TrimSpace(text)
}

// says fails the test unless the page contains a text.
func (d *console) says(want string) {
	d.t.Helper()
	if got := d.text("body"); !strings.Contains(got, want) {
		d.t.Fatalf("the page does not say %q:\n%s", want, got)
	}
}

// follow opens the target of the first link that matches.
func (d *console) follow(selector string) {
	d.t.Helper()
	var to string
	d.tab.Eval(d.t, fmt.Sprintf(`document.querySelector(%q)?.href ?? ""`, selector), &to)
	if to == "" {
		d.t.Fatalf("no link %s on the page:\n%s", selector, d.text("main"))
	}
	d.tab.Go(d.t, to)
}

// TestAdministrator runs the daily work of an administrator in a browser and through
// the edge: it creates a key, posts a mission with it, checks the signed delivery, and
// rotates and revokes the key. Then it checks every page for findings.
func TestAdministrator(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	received := make(chan *http.Request, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "thank you")
		received <- r
	}))
	t.Cleanup(receiver.Close)
	create := exec.Command(program(t), "admin", "create", "ada", "--data", "var")
	create.Dir, create.Stdin = dir, strings.NewReader(adminPassword)
	if out, err := create.CombinedOutput(); err != nil {
		t.Fatalf("make an administrator: %v: %s", err, out)
	}
	p := start(t, dir, append([]string{"serve", "--public-api", "--allow-networks", "127.0.0.0/8",
		"--audit-delay", "1ms"},
		freePorts("var")...)...)
	base := p.logged("serve", "listen")
	t.Run("copy", func(t *testing.T) { copyKey(t, base) }) // its browser ends with it
	browser := browsertest.Start(t)
	d := &console{t: t, base: base, tab: browser.Open(t, base+"/admin/api-keys", browsertest.View{})}
	d.signIn()
	d.tab.Go(t, base+"/admin/accounts")
	d.send("/admin/accounts", "", map[string]string{"id": "acme", "name": "Acme <b>"})
	d.says("Acme <b>")

	d.tab.Go(t, base+"/admin/api-keys")
	d.send("/admin/api-keys", "", map[string]string{"name": "desk", "account": "acme"})
	key := d.text(".token code")
	d.says("Copy it now")
	d.tab.Go(t, base+"/admin/webhooks")
	d.send("/admin/webhooks", "", map[string]string{"url": receiver.URL + "/hook", "account": "acme",
		"events": "mission.completed"})
	secret := d.text(".token code")

	open := func(name, key string) (int, string) {
		status, _, body := ask(t, "POST", base+"/api/public/v1/missions", missionJSON(name), "Authorization",
			"Bearer "+key)
		return status, body
	}
	status, body := open("1", key)
	var m fieldmark.Mission
	if status != http.StatusCreated || json.Unmarshal([]byte(body), &m) != nil {
		t.Fatalf("post a mission with the key: %d %s", status, body)
	}
	d.tab.Go(t, base+"/admin/missions")
	d.send("/admin/missions/"+m.ID+"/complete", "", nil)
	d.says("Mission completed.")
	got := <-received
	d.tab.Go(t, base+"/admin/webhooks")
	d.follow("a[href*='/deliveries/']")
	d.tab.Until(t, "the delivery is done", `document.querySelector(".state.good")?.textContent === "done"`)
	d.says("thank you")
	shown := d.text("pre")
	signature := got.Header.Get(webhook.HeaderSignature)
	if signature == "" || !strings.Contains(shown, signature) || !strings.Contains(shown, m.ID) {
		t.Errorf("the page shows %s, want the request with the signature %q", shown, signature)
	}
	if strings.Contains(d.text("body"), secret) {
		t.Errorf("the page shows the secret of the endpoint")
	}
	delivery := currentAddress(d)

	d.tab.Go(t, base+"/admin/api-keys")
	d.send(actionOf(d, "/rotate"), "", map[string]string{"grace": "0"})
	next := d.text(".token code")
	if status, _ := open("2", key); status != http.StatusUnauthorized || next == key {
		t.Errorf("the old key: %d, want 401", status)
	}
	if status, body := open("2", next); status != http.StatusCreated {
		t.Errorf("the new key: %d %s, want 201", status, body)
	}
	d.send(actionOf(d, "/revoke"), "", map[string]string{"reason": "the day is over"})
	d.says("the day is over")
	if status, body := open("3", next); status != http.StatusUnauthorized ||
		!strings.Contains(body, "invalid_api_key") {
		t.Errorf("the revoked key: %d %s, want 401 invalid_api_key", status, body)
	}

	d.tab.Go(t, base+"/admin/brands")
	d.send("/admin/brands", "", map[string]string{"name": "Acme <script>alert(1)</script>", "slug": "acme",
		"url": newSite(t), "niche": "tools", "language": "en"})
	d.says("Acme <script>alert(1)</script>")
	d.tab.Go(t, base+"/admin/audit-log")
	d.says("api_key.revoked")
	d.send("/admin/audit-log/verify", "", nil)
	d.says("entries verified.")
	for _, hidden := range []string{key, next, secret, adminPassword} {
		if strings.Contains(p.printed(), hidden) {
			t.Errorf("the log holds a secret")
		}
	}
	for _, finding := range d.tab.Trouble() {
		t.Errorf("during the day: %s", finding)
	}

	for _, v := range []browsertest.View{{Width: 1440, Height: 900}, {Width: 390, Height: 844},
		{Width: 1440, Height: 900, NoScript: true}, {Width: 390, Height: 844, NoScript: true}} {
		d.operate(browser, v)
		d.dispatch(browser, v)
	}

	var module string
	d.tab.Go(t, base+"/admin/modules")
	d.tab.Eval(t, `document.querySelector("a[href*='/admin/modules/']").pathname`, &module)
	endpoint := delivery[:strings.Index(delivery, "/deliveries")]
	pages := []string{"/admin", "/admin/api-keys", "/admin/accounts", "/admin/missions", "/admin/missions/" + m.ID,
		"/admin/missions/new", "/admin/board?account=default", "/admin/webhooks", endpoint, delivery,
		d.failingEndpoint(), "/admin/calendars", "/admin/technicians", "/admin/brands", "/admin/brands/acme",
		"/admin/disputes", d.dispute("acme"), "/admin/claims", d.claim(), "/admin/requests", "/admin/access-requests",
		"/admin/offers", "/admin/modules", module,
		"/admin/nodes", "/admin/cdns", "/admin/certificates", "/admin/audit-log", "/admin/audit-log?action=api_key.*",
		"/admin/settings", "/admin/sign-in", "/admin/missions/msn_none", "/admin/none"}
	d.inspect(browser, append(visits(pages...), visit{endpoint, "question", pressing(endpoint, "delete", ""), ""},
		visit{"/admin/missions/new", "rejected", pressing("/admin/missions", "",
			`form.elements.title.value = " ";`), "Enter a title."},
		visit{"/admin/cdns", "rejected", pressing("/admin/cdns", "", `form.elements.urls.value = "x";`),
			"only http and https addresses"},
		visit{"/admin/brands", "import", pressing("/admin/brands/import", "", `
			const data = new DataTransfer();
			data.items.add(new File(["slug,name,url,niche,language\nA B,,nowhere,tools,en\n"], "brands.csv"));
			form.elements.file.files = data.files;`), ""},
		visit{"/admin/none", "reauth", `
			document.body.innerHTML = "<form method=post action=/admin/prove><input name=password value=wrong>";
			document.forms[0].submit()`, ""}))
	allow := storetest.RefuseWrites(t, store.Config{Path: filepath.Join(dir, "var", "fieldmark.db")})
	d.inspect(browser, []visit{{"/admin/missions/new", "outage",
		pressing("/admin/missions", "", `form.elements.title.value = "In vain";`), "The database refuses writes"}})
	allow()
}

// signIn signs in and waits for the page with keys.
func (d *console) signIn() {
	d.t.Helper()
	d.send("/admin/sign-in", "", map[string]string{"user": "ada", "password": adminPassword})
	d.says("Create a key")
}

// copyKey creates a key, copies it with the button and revokes it. Only a browser with windows can copy, and it takes
// twice the processor time for every page.
func copyKey(t *testing.T, base string) {
	t.Helper()
	d := &console{t: t, base: base,
		tab: browsertest.StartWindowed(t).Open(t, base+"/admin/api-keys", browsertest.View{})}
	d.signIn()
	d.send("/admin/api-keys", "", map[string]string{"name": "copied", "account": "default"})
	key := d.text(".token code")
	d.tab.Do(t, "press Copy", chromedp.Click(`[data-copy] + button`))
	d.tab.Until(t, "the key is copied", `document.querySelector("[data-copy] + button").textContent === "Copied"`)
	if copied := d.tab.Clipboard(t); copied != key {
		t.Errorf("the button copies %q, want the key", copied)
	}
	d.send(actionOf(d, "/revoke"), "", map[string]string{"reason": "copied"})
	for _, finding := range d.tab.Trouble() {
		t.Errorf("while copying: %s", finding)
	}
}

// visit is a page to inspect: that at a path, or that which follows an expression that leaves it. Says is a part of
// its text.
type visit struct{ path, name, leave, says string }

func visits(paths ...string) (list []visit) {
	for _, path := range paths {
		list = append(list, visit{path: path})
	}
	return list
}

// pressing returns an expression that prepares the form that posts to an address, and sends it with its button.
func pressing(action, button, prepare string) string {
	pressed := "button"
	if button != "" {
		pressed += "[value=" + button + "]"
	}
	selector := "form[method=post][action='" + action + "']:has(" + pressed + ")"
	return fmt.Sprintf(`(() => {
		const form = [...document.querySelectorAll(%q)].at(-1);
		form.noValidate = true;
		%s
		form.requestSubmit(form.querySelector(%q));
	})()`, selector, prepare, pressed)
}

// failingEndpoint creates an endpoint whose receiver rejects a message, and returns the path of its page.
func (d *console) failingEndpoint() string {
	d.t.Helper()
	rejected := make(chan struct{}, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(webhook.HeaderControl, "abort-message") // the message fails without retries
		http.Error(w, "<b>no</b>", http.StatusInternalServerError)
		rejected <- struct{}{}
	}))
	d.t.Cleanup(receiver.Close)
	d.tab.Go(d.t, d.base+"/admin/webhooks")
	d.send("/admin/webhooks", "", map[string]string{"url": receiver.URL + "/broken", "account": "default",
		"events": "mission.created"})
	page := d.value(`document.querySelector(".token a").pathname`)
	d.createMission("Look at the fuse")
	<-rejected
	waittest.Until(d.t, "the endpoint fails", func() bool {
		d.tab.Go(d.t, d.base+page)
		return strings.Contains(d.text("main"), "answers 500")
	})
	return page
}

// dispute opens a dispute of a brand, and returns the path of its page.
func (d *console) dispute(slug string) string {
	d.t.Helper()
	waittest.Until(d.t, "the brand has facts to dispute", func() bool {
		_, _, body := ask(d.t, "GET", d.base+"/brands/"+slug, "")
		return strings.Contains(body, "Audited")
	})
	var opened fieldmark.DisputeStatus
	status, _, body := ask(d.t, "POST", d.base+fieldmark.PathBrands+slug+"/disputes",
		`{"signal":"access.https","kind":"outdated","text":"We changed that on Monday.","email":"ann@acme.example"}`)
	if status != http.StatusCreated || json.Unmarshal([]byte(body), &opened) != nil {
		d.t.Fatalf("open a dispute: %d %s", status, body)
	}
	return "/admin/disputes/" + opened.ID
}

// claim opens a claim of a site, and returns the path of its page.
func (d *console) claim() string {
	d.t.Helper()
	var opened fieldmark.NewClaim
	status, _, body := ask(d.t, "POST", d.base+fieldmark.PathClaims, `{"url":"https://anvils.example/"}`)
	if status != http.StatusCreated || json.Unmarshal([]byte(body), &opened) != nil {
		d.t.Fatalf("open a claim: %d %s", status, body)
	}
	return "/admin/claims/" + opened.ID
}

// unlabeledParts lists cells that do not name their column, which a phone shows as cards, times without the exact
// one, and times as machines write them.
const unlabeledParts = `(() => {
	const found = [];
	for (const table of document.querySelectorAll("main .scroll:not(.chart *) > table")) {
		const heads = [...table.tHead.rows[0].cells];
		for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, i) => {
			const named = cell.dataset.label || cell.localName === "th";
			if (!named && heads[i].textContent.trim() && !heads[i].querySelector(".sr"))
				found.push("a cell of " + heads[i].textContent + " has no label");
		});
	}
	for (const time of document.querySelectorAll("time:not([title])")) found.push("no exact time: " + time.outerHTML);
	const texts = document.querySelector("main").cloneNode(true);
	texts.querySelectorAll("pre, datalist").forEach(e => e.remove());
	const raw = texts.textContent.match(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/);
	if (raw) found.push("a time as machines write it: " + raw[0]);
	return found;
})()`

// inspect loads each page once, and checks it at both widths and in both themes. A finding is of a width or of a
// theme, so two views show all; pictures are taken in all four.
func (d *console) inspect(browser *browsertest.Browser, pages []visit) {
	d.t.Helper()
	pictures := os.Getenv("FIELDMARK_PICTURES")
	views := []browsertest.View{{Width: 1440}, {Width: 390, Height: 844, Dark: true}}
	if pictures != "" {
		views = append(views, browsertest.View{Width: 1440, Dark: true}, browsertest.View{Width: 390, Height: 844})
	}
	tab := browser.Open(d.t, d.base+pages[0].path, views[0])
	for _, page := range pages {
		tab.Go(d.t, d.base+page.path)
		if page.leave != "" {
			tab.Leave(d.t, "leave "+page.path, page.leave)
		}
		if page.says != "" {
			(&console{t: d.t, tab: tab}).says(page.says)
		}
		var unlabeled []string
		tab.Eval(d.t, unlabeledParts, &unlabeled)
		for _, v := range views {
			tab.Look(d.t, v)
			for _, finding := range slices.Concat(tab.Overflow(d.t), tab.Axe(d.t), unlabeled) {
				d.t.Errorf("%s %s, %+v: %s", page.path, page.name, v, finding)
			}
			unlabeled = nil
			if pictures != "" {
				name := fmt.Sprintf("%s-%d-%v", strings.ReplaceAll(strings.Trim(page.path+page.name, "/"), "/", "_"),
					v.Width, v.Dark)
				must(d.t, os.WriteFile(filepath.Join(pictures, name+".png"), tab.Picture(d.t), 0o600))
			}
		}
		if pictures != "" {
			name := strings.ReplaceAll(strings.Trim(page.path+page.name, "/"), "/", "_") + ".pdf"
			must(d.t, os.WriteFile(filepath.Join(pictures, name), tab.Print(d.t), 0o600))
		}
	}
	for _, finding := range tab.Trouble() {
		// a browser complains of a rejected form and of an outage
		if !strings.Contains(finding, "a status of 4") && !strings.Contains(finding, "a status of 503") {
			d.t.Error(finding)
		}
	}
}

// actionOf returns the first form action with this suffix.
func actionOf(d *console, end string) string {
	d.t.Helper()
	var action string
	d.tab.Eval(d.t, fmt.Sprintf(`document.querySelector("form[action$='" + %q + "']")?.getAttribute("action") ?? ""`,
		end), &action)
	return action
}

func currentAddress(d *console) string {
	d.t.Helper()
	var address string
	d.tab.Eval(d.t, "location.href", &address)
	u, err := url.Parse(address)
	must(d.t, err)
	return u.Path
}

package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/browsertest"
)

// TestKeyOnRequest walks from the form of requests to a mission that the key creates: an applicant and an
// administrator in a browser each. Every page on the way is checked in both themes and at both widths.
func TestKeyOnRequest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	create := exec.Command(program(t), "admin", "create", "ada", "--data", "var")
	create.Dir, create.Stdin = dir, strings.NewReader(adminPassword)
	if out, err := create.CombinedOutput(); err != nil {
		t.Fatalf("make an administrator: %v: %s", err, out)
	}
	base := start(t, dir, append([]string{"serve", "--public-api"}, freePorts("var")...)...).logged("serve", "listen")
	browser := browsertest.Start(t)
	const form = "form[action='/developers/access']"
	public := &console{t: t, base: base, tab: browser.Open(t, base+fieldmark.PathAccessPage, browsertest.View{})}
	public.look("form")
	public.tab.Leave(t, "send an incomplete form", `document.querySelector("`+form+`").submit()`)
	public.says("The organization must not be empty.")
	public.look("rejected")
	public.submit(form, "button", map[string]string{"organization": "Acme Repairs", "name": "Ann Ames",
		"email": "ann@acme.example", "purpose": "Our billing creates a mission for each broken meter."})
	public.says("Your request waits for a decision")
	public.look("pending")

	d := &console{t: t, base: base, tab: browser.Open(t, base+"/admin/access-requests", browsertest.View{})}
	d.send("/admin/sign-in", "", map[string]string{"user": "ada", "password": adminPassword})
	d.follow("a[href*='/admin/access-requests/']")
	request := currentAddress(d)
	d.inspect(browser, visits("/admin/access-requests", request))
	d.send(request+"/approve", "", map[string]string{"new": "acme", "offer": "standard"})
	d.says("approved")
	d.inspect(browser, append(visits(request, "/admin/access-requests?state=approved", "/admin/offers"),
		visit{"/admin/offers", "rejected", pressing("/admin/offers", "", `form.elements.name.value = " ";`),
			"1 to 100 characters"}))

	public.tab.Leave(t, "look again", "location.reload()")
	public.says("Your request was approved")
	public.look("approved")
	public.submit("form.panel", "button", nil)
	public.says("Your API key")
	public.look("key")
	status, _, body := ask(t, "POST", base+fieldmark.PathMissions, missionJSON("1"), "Authorization",
		"Bearer "+public.text("[data-copy] code"))
	if status != http.StatusCreated {
		t.Errorf("a mission with the key: %d %s", status, body)
	}
	public.tab.Go(t, base+fieldmark.PathAccessPage+"/"+strings.Repeat("A", fieldmark.AccessSecretChars))
	public.says("There is no request at this address")
	public.look("none")
	d.inspect(browser, visits(request, "/admin/api-keys", "/admin/accounts"))
}

// look checks the page of the tab in both themes and at both widths.
func (d *console) look(name string) {
	d.t.Helper()
	pictures := os.Getenv("FIELDMARK_PICTURES")
	for _, v := range []browsertest.View{{Width: 390, Height: 844, Dark: true}, {Width: 390, Height: 844},
		{Width: 1440, Dark: true}, {Width: 1440}} {
		d.tab.Look(d.t, v)
		for _, finding := range slices.Concat(d.tab.Overflow(d.t), d.tab.Axe(d.t)) {
			d.t.Errorf("%s, %+v: %s", name, v, finding)
		}
		if pictures != "" {
			file := filepath.Join(pictures, fmt.Sprintf("access-%s-%d-%v.png", name, v.Width, v.Dark))
			must(d.t, os.WriteFile(file, d.tab.Picture(d.t), 0o600))
		}
	}
}

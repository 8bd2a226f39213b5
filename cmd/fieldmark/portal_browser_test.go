package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/browsertest"
)

// TestPortal walks through the pages of a portal link as an integrator's customer: it opens the link, creates
// an endpoint, tests and pauses it, reads a message and leaves. It does so with scripts and without. With
// scripts, every page is checked in both themes and at both widths.
func TestPortal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key := newKeyAt(t, dir, nil, "mission:create", "webhook:manage")
	base := start(t, dir, append([]string{"serve", "--public-api", "--allow-networks", "127.0.0.0/8"},
		freePorts("var")...)...).logged("serve", "listen")
	receiver, _ := newReceiver(t)
	browser := browsertest.Start(t)
	for i, v := range []browsertest.View{{Width: 1440}, {Width: 390, Height: 844, NoScript: true}} {
		customer := fmt.Sprint("customer-", i)
		labels := fmt.Sprintf(`{"customer":%q}`, customer)
		status, _, body := ask(t, "POST", base+fieldmark.PathPortalLinks, fmt.Sprintf(
			`{"customer":%q,"filter":{"labels":%s}}`, customer, labels), "Authorization", "Bearer "+key)
		if status != http.StatusCreated {
			t.Fatalf("create a portal link: %d %s", status, body)
		}
		var link fieldmark.PortalLink
		must(t, json.Unmarshal([]byte(body), &link))
		d := &console{t: t, base: base, tab: browser.Open(t, link.URL, v)}
		d.lookPortal("open", v)
		d.submit("form", "button", nil)
		d.says("No endpoints yet.")
		d.lookPortal("empty", v)
		d.send("/portal/endpoints", "", map[string]string{"url": receiver.URL + "/hook", "events": "nothing.*"})
		d.lookPortal("rejected", v)
		d.send("/portal/endpoints", "", map[string]string{"url": receiver.URL + "/hook", "events": "mission.*"})
		d.says("Signing secret")
		d.lookPortal("created", v)
		status, _, body = ask(t, "POST", base+fieldmark.PathMissions, fmt.Sprintf(
			`{"source":"crm","externalId":"%d","title":"Meter","labels":%s}`, i, labels),
			"Authorization", "Bearer "+key)
		if status != http.StatusCreated {
			t.Fatalf("create a mission: %d %s", status, body)
		}
		d.tab.Go(t, base+fieldmark.PathPortal)
		d.lookPortal("list", v)
		d.follow("th a[href^='/portal/endpoints/']")
		endpoint := currentAddress(d)
		d.send(endpoint, "ping", nil)
		d.says("The receiver accepted the message")
		d.send(endpoint, "pause", map[string]string{"reason": "migration"})
		d.says("Endpoint paused.")
		d.lookPortal("endpoint", v)
		d.send(endpoint, "enable", nil)
		d.says("Endpoint enabled.")
		d.tab.Go(t, base+endpoint+"?type=mission.created")
		d.follow("th a[href*='/deliveries/']")
		d.says("mission.created")
		d.lookPortal("message", v)
		d.submit("form.out", "button", nil)
		d.says("You have left")
		d.lookPortal("left", v)
		for _, finding := range d.tab.Trouble() {
			t.Errorf("the browser reports %s", finding)
		}
	}
}

// lookPortal checks the page of the tab: without scripts as it is, otherwise in both themes and at both widths.
func (d *console) lookPortal(name string, as browsertest.View) {
	d.t.Helper()
	views := []browsertest.View{{Width: 390, Height: 844, Dark: true}, {Width: 390, Height: 844},
		{Width: 1440, Dark: true}, {Width: 1440}}
	if as.NoScript {
		views = []browsertest.View{as}
	}
	for _, v := range views {
		d.tab.Look(d.t, v)
		findings := d.tab.Overflow(d.t)
		if !v.NoScript {
			findings = append(findings, d.tab.Axe(d.t)...)
		}
		for _, finding := range findings {
			d.t.Errorf("%s, %+v: %s", name, v, finding)
		}
		if pictures := os.Getenv("FIELDMARK_PICTURES"); pictures != "" {
			file := filepath.Join(pictures, fmt.Sprintf("portal-%s-%d-%v-%v.png", name, v.Width, v.Dark, v.NoScript))
			must(d.t, os.WriteFile(file, d.tab.Picture(d.t), 0o600))
		}
	}
}

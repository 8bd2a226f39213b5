package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/browsertest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/origin/webhook"
)

// ownerVisit is the visit of a brand's owner: what the browser shows of it, and which brand it
// is about.
type ownerVisit struct {
	view        browsertest.View
	base        string // of the edge
	slug        string
	proof       string // whose value is published
	data        string // folder of the demo
	site        string // URL of the brand's website
	endpoint    string // address of a receiver of webhooks
	received    chan received
	afterFixing string // expression that is true of the page after the fix
}

// received is a webhook request.
type received struct {
	header http.Header
	body   []byte
}

// newReceiver returns a server that accepts webhooks, and what it receives.
func newReceiver(t *testing.T) (*httptest.Server, chan received) {
	got := make(chan received, 20) // more than an owner's endpoint is sent during the test
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			got <- received{r.Header, body}
		}
	}))
	t.Cleanup(server.Close)
	return server, got
}

// tabTo presses the tab key until an element has the focus.
func (d *console) tabTo(selector string) {
	d.t.Helper()
	const most = 60 // more than any page has before its form
	for range most {
		var there bool
		d.tab.Eval(d.t, fmt.Sprintf("document.activeElement.matches(%q)", selector), &there)
		if there {
			return
		}
		d.tab.Do(d.t, "press the tab key", chromedp.KeyEvent("\t"))
	}
	d.t.Fatalf("the tab key does not reach %s", selector)
}

// enter types a text in place of the one in a field, with the keyboard alone.
func (d *console) enter(selector, text string) {
	d.t.Helper()
	d.tabTo(selector)
	d.tab.Do(d.t, "type", chromedp.KeyEvent("a", chromedp.KeyModifiers(chromedp.ModifierCtrl)),
		chromedp.KeyEvent("\b"+text))
}

// press presses a button, or sends the form of a field, with the enter key.
func (d *console) press(selector string) {
	d.t.Helper()
	d.tabTo(selector)
	d.tab.Do(d.t, "press the enter key", chromedp.KeyEvent("\r"))
}

// push is press that waits for what the next page shows.
func (d *console) push(selector, what, shown string) {
	d.t.Helper()
	d.press(selector)
	d.tab.Until(d.t, what, `document.readyState == "complete" && (`+shown+`)`)
}

// rejects checks that a form was rejected at a field, which has the focus and its text. A browser
// sets the focus of a new page when it first paints the page, which may be after the page has loaded.
func (d *console) rejects(selector, text, problem string) {
	d.t.Helper()
	var got struct{ Value, Fault string }
	d.tab.Until(d.t, selector+" has the focus", fmt.Sprintf(`document.activeElement.matches(%q)`, selector))
	d.tab.Eval(d.t, fmt.Sprintf(`(e => ({
		value: e.value,
		fault: e.getAttribute("aria-describedby").split(" ").map(id => document.getElementById(id)?.textContent)
			.join(" "),
	}))(document.querySelector(%q))`, selector+"[aria-invalid=true]"), &got)
	if got.Value != text || !strings.Contains(got.Fault, problem) {
		d.t.Errorf("%s has %q, the error is %q; want %q and %q", selector, got.Value, got.Fault, text, problem)
	}
}

// invalid is an expression for a field with an error.
func invalid(selector string) string {
	return fmt.Sprintf("document.querySelector(%q) !== null", selector+"[aria-invalid=true]")
}

// ownerVisits: a brand's owner checks a site, claims the brand, fixes the site and is notified,
// with scripts on a wide screen, and without them on a phone.
func ownerVisits(t *testing.T, b *browsertest.Browser, data, base, secureBase string) {
	for _, v := range []ownerVisit{
		{slug: "stille-pers", proof: "file", base: base, view: browsertest.View{Width: 1440, Height: 900},
			afterFixing: `document.querySelector(".gate") === null`},
		{slug: "casa-lumbre", proof: "dns", base: secureBase, view: browsertest.View{Width: 390, Height: 844,
			NoScript: true}, afterFixing: `document.querySelector(".fixes > li h3").textContent != "Sitemap"`},
	} {
		t.Run(v.slug, func(t *testing.T) {
			var score fieldmark.Score
			_, _, body := ask(t, "GET", base+"/api/v1/score/"+v.slug, "")
			must(t, json.Unmarshal([]byte(body), &score))
			server, got := newReceiver(t)
			v.data, v.site, v.endpoint, v.received = data, score.URL, server.URL+"/hook", got
			v.visit(t, b)
		})
	}
}

// visit checks the site of a brand, claims it, fixes it, has it audited, and waits for the
// message about the new score. It uses the keyboard alone, but for links.
func (v *ownerVisit) visit(t *testing.T, b *browsertest.Browser) {
	d := &console{t: t, base: v.base, tab: b.Open(t, v.base+"/", v.view)}
	v.checkSite(d)
	key := v.claimBrand(d)
	v.signIn(d, key)
	secret := v.addEndpoint(d)
	v.fixSite(d)
	v.receive(d, secret)
	for _, trouble := range d.tab.Trouble() {
		if !strings.Contains(trouble, "a status of 4") { // a browser complains of a rejected form
			t.Errorf("the browser reports %s", trouble)
		}
	}
	if v.view.NoScript {
		return
	}
	pages := []string{"/check", "/claim"}
	for _, page := range []string{"", "/disputes", "/notifications", "/profile", "/claim"} {
		pages = append(pages, "/owner/brands/"+v.slug+page)
	}
	d.inspect(b, visits(pages...))
	d.tab.Go(t, v.base+"/owner")
	d.push("form.out button", "the session has ended", `document.querySelector("#key") !== null`)
	d.inspect(b, visits("/owner/sign-in"))
}

// look reports what is wrong with the page as it is.
func (v *ownerVisit) look(d *console) {
	d.t.Helper()
	findings := d.tab.Overflow(d.t)
	if !v.view.NoScript {
		findings = append(findings, d.tab.Axe(d.t)...)
	}
	for _, finding := range findings {
		d.t.Errorf("%+v: %s", v.view, finding)
	}
}

// lookAtProgress waits until a page shows work in progress, which it may have ended by then, and reports what is
// wrong with it. Meanwhile the page does not update itself: axe cannot answer for a page that is loaded again.
func (v *ownerVisit) lookAtProgress(d *console, what, done string) {
	d.t.Helper()
	const stopTimers = `(() => { for (let i = setTimeout(() => {}); i; i--) clearTimeout(i); return true; })()`
	d.tab.Until(d.t, what, `document.readyState == "complete" && (document.querySelector("#progress") !== null || `+
		done+`) && `+stopTimers)
	v.look(d)
	d.tab.Go(d.t, d.value("location.href"))
	d.tab.Until(d.t, what+" and ends", `document.readyState == "complete" && `+done)
}

// checkSite goes from the field of the home page to the report of a check.
func (v *ownerVisit) checkSite(d *console) {
	d.t.Helper()
	d.enter("#url", "10.0.0.1")
	d.push("#url", "the address is rejected", invalid("#url"))
	d.rejects("#url", "10.0.0.1", "The address must have a host name, not an IP address.")
	d.tab.Go(d.t, v.base+"/check/"+fieldmark.NewRandomID(fieldmark.PrefixCheck))
	d.rejects("#url", "", "checks are kept for a day")
	v.look(d)
	d.enter("#url", v.site)
	d.press("#url")
	v.lookAtProgress(d, "the check runs", `document.querySelector(".ring") !== null`)
	v.look(d)
	d.follow("a[href^='/claim?']")
}

// claimBrand proves the brand and returns the owner's key.
func (v *ownerVisit) claimBrand(d *console) string {
	d.t.Helper()
	d.enter("#code", "no-such-code")
	d.push("#code", "the code is rejected", invalid("#code"))
	d.rejects("#code", "no-such-code", "The code is wrong or has expired")
	v.look(d)
	d.enter("#code", "")
	d.push("#code", "the proofs are shown", `document.querySelector("button[value=check]") !== null`)
	v.look(d)
	value := d.text(fmt.Sprintf("section[aria-labelledby=%s] pre", v.proof))
	host := hostName(d.t, v.site)
	name := filepath.Join(host, ".well-known", "fieldmark-verify.txt")
	if v.proof == "dns" {
		name = "_fieldmark-challenge." + host + ".txt"
	}
	v.publish(d.t, name, value)
	d.push("button[value=check]", "the key is shown", `document.querySelector("a.go[href='/owner']") !== null`)
	key := d.text("section[aria-labelledby=key] pre")
	d.follow("a.go[href='/owner']")
	return key
}

func hostName(t *testing.T, site string) string {
	t.Helper()
	u, err := url.Parse(site)
	must(t, err)
	return u.Hostname()
}

// publish writes a file of the demo's websites.
func (v *ownerVisit) publish(t *testing.T, name, text string) {
	t.Helper()
	name = filepath.Join(v.data, "sites", name)
	must(t, os.MkdirAll(filepath.Dir(name), 0o755))
	must(t, os.WriteFile(name, []byte(text+"\n"), 0o644))
}

func (v *ownerVisit) signIn(d *console, key string) {
	d.t.Helper()
	d.enter("#key", "fm_live_mistyped")
	d.push("#key", "the key is rejected", invalid("#key"))
	d.rejects("#key", "", "This key is unknown, mistyped or revoked.") // a secret is not shown again
	v.look(d)
	d.enter("#key", key)
	d.push("#key", "the first fix is shown", `document.querySelector("#audit") !== null`)
}

// addEndpoint creates an endpoint and returns its secret.
func (v *ownerVisit) addEndpoint(d *console) string {
	d.t.Helper()
	d.tab.Go(d.t, v.base+"/owner/brands/"+v.slug+"/notifications")
	d.enter("#url", v.endpoint)
	d.enter("#threshold", "much")
	d.push("#threshold", "the threshold is rejected", invalid("#threshold"))
	d.rejects("#threshold", "much", "must be a number of points")
	v.look(d)
	d.enter("#threshold", "0.5")
	d.push("#threshold", "the secret is shown", `document.querySelector(".token code") !== null`)
	return d.text(".token code")
}

// fixSite applies the first fix with the lines that the page has for it, and requests an audit.
func (v *ownerVisit) fixSite(d *console) {
	d.t.Helper()
	d.tab.Go(d.t, v.base+"/owner/brands/"+v.slug)
	var patches []struct{ URL, Text string }
	d.tab.Eval(d.t, `[...(document.querySelector(".gate") ?? document.querySelector(".fixes > li"))
		.querySelectorAll("figure")].map(f => ({url: f.querySelector("a").href, text: `+
		`f.querySelector("pre").textContent}))`,
		&patches)
	if len(patches) == 0 {
		d.t.Fatalf("the first fix has no lines to paste:\n%s", d.text("main"))
	}
	for _, p := range patches {
		u, err := url.Parse(p.URL)
		must(d.t, err)
		text := p.Text
		if u.Path == "/robots.txt" { // has lines already
			text = siteFile(d.t, u) + "\n" + text
		}
		v.publish(d.t, filepath.Join(u.Hostname(), filepath.FromSlash(u.Path)), text)
	}
	d.press("#audit")
	v.lookAtProgress(d, "the audit runs", fmt.Sprintf(`(document.querySelector(".verdict .up") !== null && %s)`,
		v.afterFixing))
}

// siteFile reads a file of a website of the demo. Not every system resolves the names below
// localhost.
func siteFile(t *testing.T, u *url.URL) string {
	t.Helper()
	req, err := http.NewRequest("GET", "http://127.0.0.1:"+u.Port()+u.Path, nil)
	must(t, err)
	req.Host = u.Host
	res, err := http.DefaultClient.Do(req)
	must(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	must(t, err)
	return string(body)
}

// receive waits for score.changed at the endpoint, and for its entry on the page.
func (v *ownerVisit) receive(d *console, secret string) {
	d.t.Helper()
	var got received
	waittest.Until(d.t, "the endpoint receives score.changed", func() bool {
		select {
		case got = <-v.received:
			return strings.Contains(string(got.body), `"score.changed"`)
		default:
			return false
		}
	})
	if err := webhook.Verify(secret, got.header, got.body, time.Now()); err != nil ||
		!strings.Contains(string(got.body), `"slug":"`+v.slug+`"`) {
		d.t.Errorf("the message %s: %v", got.body, err)
	}
	d.tab.Go(d.t, v.base+"/owner/brands/"+v.slug+"/notifications")
	d.follow("a[href*='/notifications/']")
	d.says("score.changed")
	v.look(d)
}

package main

import (
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/chromedp/chromedp"

	"github.com/fieldmark/fieldmark/internal/testkit/browsertest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/origin/webhook"
)

// operate does the work of an operator in a new tab, with the keyboard alone: the overview names a
// receiver that fails; its page says why; the address is corrected and tested, the failed messages
// are sent again, and nothing is wrong any more.
func (d *console) operate(browser *browsertest.Browser, v browsertest.View) {
	t := d.t
	t.Helper()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := http.StatusNoContent
		if r.URL.Path == "/old" {
			w.Header().Set(webhook.HeaderControl, "abort-message") // the message fails without retries
			status = http.StatusInternalServerError
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(receiver.Close)
	w := &console{t: t, base: d.base, tab: browser.Open(t, d.base+"/admin/webhooks", v)}
	w.submit("form[action='/admin/webhooks'][method=post]", "button", map[string]string{"url": receiver.URL + "/old",
		"account": "default", "events": "mission.created"})
	page := w.value(`document.querySelector(".token a").pathname`)
	w.tab.Go(t, d.base+"/admin/missions/new?account=default")
	w.submit("form[action='/admin/missions'][method=post]", "button", map[string]string{"title": "Look at the mast",
		"priority": "LOW"})
	overview := func() (html string) {
		w.tab.Eval(t, `fetch("/admin").then(r => r.text())`, &html)
		return html
	}
	fails := receiver.URL + "/old: answers 500"
	waittest.Until(t, "the overview names the receiver", func() bool { return strings.Contains(overview(), fails) })
	w.tab.Go(t, d.base+"/admin")

	shows := func(text string) string { return `document.body.textContent.includes("` + text + `")` }
	w.push("a.button[href='"+page+"']", "the page of the endpoint", `location.pathname == "`+page+`" && `+
		shows("answers 500 since"))
	w.unfold("#url")
	w.enter("#url", receiver.URL+"/new")
	w.push("button[value=change]", "the address is saved", shows("Endpoint updated."))
	w.push("button[value=ping]", "the receiver accepts a test message", shows("The receiver accepted the message"))
	w.unfold("#recover-since")
	w.tabTo("#recover-confirm")
	w.tab.Do(t, "press the space bar", chromedp.KeyEvent(" "))
	w.push("button[value=recover]", "the replay has started", shows("Replay started."))
	w.tab.Go(t, d.base+"/admin") // the page of the endpoint updates itself, which would end a request of it
	waittest.Until(t, "the message is delivered", func() bool {
		var states string
		w.tab.Eval(t, `fetch("`+page+`?type=mission.created").then(r => r.text()).then(html =>
			[...new DOMParser().parseFromString(html, "text/html").querySelectorAll(
				"section[aria-labelledby=messages] tbody .state")].map(e => e.textContent).join())`, &states)
		return states == "done"
	})
	waittest.Until(t, "the overview is clear", func() bool { return !strings.Contains(overview(), receiver.URL) })
	for _, finding := range w.tab.Trouble() {
		t.Errorf("the operator, %+v: %s", v, finding)
	}
}

// unfold opens the details that contain an element, with the keyboard.
func (d *console) unfold(selector string) {
	d.t.Helper()
	d.tabTo("details:has(" + selector + ") > summary")
	d.tab.Do(d.t, "press the enter key", chromedp.KeyEvent("\r"))
}

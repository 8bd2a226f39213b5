package edge_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/browsertest"
	"github.com/fieldmark/fieldmark/origin/visibility/study"
)

// maxWire is what a page and all it loads may weigh over the wire on a first
// visit, in bytes, heads included.
const maxWire = 60_000

// gallery is a fixture with a bit of everything to look at.
func gallery(t *testing.T) *fixture {
	h := newFixture(t)
	for i := range 25 {
		h.ranked(fieldmark.Slug(fmt.Sprintf("brand-%d", i)), []string{"tools", "food"}[i%2],
			[]string{"en", "de-AT", "ja"}[i%3],
			found{ago: 40 * day, words: int64(60 + 8*i)}, found{words: int64(300 - 9*i)})
	}
	h.ranked("acme", "tools", "en", found{ago: 100 * day, words: 100}, found{ago: 10 * day, words: 250},
		found{words: 300})
	h.sample("acme,perplexity,sonar,api,en,v1,sha256:ab,20,0,5,100,64,90,41,120,50,45,2026-11-01,2026-11-10,lab,")
	for i, name := range []string{"ropes-1", "ropes-2"} {
		h.study(name, func(d *study.Document) {
			end := time.Now().UTC().AddDate(0, 0, 28*(i-1))
			d.Model, d.From, d.To = name, end.AddDate(0, 0, -6).Format(time.DateOnly), end.Format(time.DateOnly)
			for j := range d.Days {
				d.Days[j] = end.AddDate(0, 0, j-6).Format(time.DateOnly)
			}
		}, []string{"chatgpt", "claude"}, "brand-1", "brand-2", "brand-3", "brand-4", "brand-5", "brand-6")
	}
	_, _, err := h.service.Brands.Put(t.Context(), fieldmark.Brand{Slug: "fern-gully", Name: "Fern Gully",
		URL: "https://fern.example/", Niche: "gardens", Language: "en", Public: true})
	must(t, err)
	h.until("all are ranked", func() bool {
		return h.listed("").Total == 26 && strings.Contains(h.get("/?q=fern").body, "/brands/fern-gully") &&
			strings.Contains(h.get("/brands/brand-1").body, "Studies over time")
	})
	return h
}

// TestSite reads the public pages as people do. One browser and one fixture serve
// all its parts.
func TestSite(t *testing.T) {
	t.Parallel()
	b, h := browsertest.Start(t), gallery(t)
	t.Run("pages", func(t *testing.T) { lookAtPages(t, b, h) })
	t.Run("finding", func(t *testing.T) { findBrands(t, b, h) })
	t.Run("builder", func(t *testing.T) { buildBadge(t, browsertest.StartWindowed(t), h) })
	t.Run("generator", func(t *testing.T) { writeLLMs(t, b, h) })
	t.Run("paper", func(t *testing.T) { readOnPaper(t, b, h) })
	t.Run("reference", func(t *testing.T) { tryOperations(t, b, h) })
}

// lookAtPages looks at every page on the narrowest phone in the dark, on a
// desktop by day and on paper.
func lookAtPages(t *testing.T, b *browsertest.Browser, h *fixture) {
	untilCompressed := func(path string) {
		h.until(path+" is compressed", func() bool {
			return h.get(path, "Accept-Encoding", browserCodings).header.Get("Content-Encoding") == "br"
		})
	}
	untilCompressed("/static/" + between(h.get("/").body, "/static/site.", ".css"))
	for path, wire := range map[string]int{
		"/": maxWire, "/?q=brand-1&niche=tools": maxWire, "/brands/acme": maxWire, "/brands/fern-gully": maxWire,
		"/brands/brand-1": maxWire, "/?basis=visibility&niche=ropes": maxWire,
		"/badges?slug=acme&style=card": maxWire, "/badges": maxWire, "/badges?q=brand": maxWire,
		"/verify/acme": maxWire,
		"/llms-txt":    maxWire, "/methodology": maxWire, "/developers": maxWire, "/about": maxWire,
		"/status": maxWire, "/brands/nobody": 0, "/brands/acme/contest": maxWire,
		"/niches": maxWire, "/niches/tools": maxWire, "/compare?brands=acme,brand-1,fern-gully": maxWire,
		"/compare?brands=nobody": 0, "/bot": maxWire, "/check": maxWire, "/claim": maxWire,
		// one page of each template
		"/developers/reference": maxWire, "/developers/reference/openMission": maxWire,
		"/developers/reference/events/mission.created": maxWire, "/developers/guides/retry-safely": maxWire,
		"/developers/playground": maxWire,
		"/developers/limits":     maxWire, "/developers/changelog": maxWire, "/problems": maxWire,
		"/problems/not_found": maxWire,
	} {
		if path == "/" || path == "/brands/acme" || path == "/methodology" || path == "/developers" {
			untilCompressed(path)
		}
		p := b.Open(t, h.base+path, browsertest.View{Width: 360, Height: 740, Dark: true})
		p.Until(t, "all is loaded",
			`document.readyState == "complete" && [...document.images].every(i => i.complete || i.loading == "lazy")`)
		if got := p.Bytes(); wire > 0 && got > wire {
			t.Errorf("%s: %d bytes over the wire, want at most %d", path, got, wire)
		} else {
			t.Logf("%s: %d bytes over the wire", path, got)
		}
		found := p.Findings(t)
		for _, v := range []browsertest.View{{}, {Width: 720, Print: true}} {
			p.Look(t, v)
			if found = append(found, p.Overflow(t)...); !v.Print {
				found = append(found, p.Axe(t)...)
			}
		}
		for _, finding := range found {
			// a browser complains of a page that is an error
			if wire > 0 || !strings.Contains(finding, "a status of 4") {
				t.Errorf("%s: %s", path, finding)
			}
		}
	}
}

// set types into a field as a reader does.
func set(id, value string) string {
	return fmt.Sprintf(`(e => { e.value = %q; e.dispatchEvent(new Event("input", {bubbles: true})); `+
		`})(document.getElementById(%q))`, value, id)
}

// findBrands: the leaderboard narrows down while one types, and shows the same
// without scripts.
func findBrands(t *testing.T, b *browsertest.Browser, h *fixture) {
	names := `[...document.querySelectorAll(".board .c-name a")].map(a => a.textContent).join()`
	p := b.Open(t, h.base+"/", browsertest.View{})
	var done any
	p.Eval(t, set("q", "ACM"), &done)
	p.Until(t, "Acme is found", names+` == "ACME"`)
	p.Until(t, "the address leads here again", `location.search == "?q=ACM"`)
	p.Eval(t, set("q", ""), &done)
	p.Eval(t, set("niche", "food"), &done)
	p.Until(t, "the food brands are shown",
		`document.querySelector(".narrowed span")?.textContent == "12 brands in food"`)
	p.Eval(t, set("q", "fern"), &done)
	p.Until(t, "a brand without a rank is found",
		`document.querySelector(".also a")?.getAttribute("href") == "/brands/fern-gully"`)
	p.Check(t)

	plain := b.Open(t, h.base+"/", browsertest.View{NoScript: true})
	plain.Do(t, "search without scripts", chromedp.SendKeys(chromedp.CSS("#q"), "acm\r"))
	plain.Until(t, "Acme is found", `document.readyState == "complete" && `+names+` == "ACME"`)
	var query string
	if plain.Eval(t, "location.search", &query); query != "?q=acm&niche=&language=&minConfidence=&basis=" &&
		query != "?q=acm&niche=&language=&minConfidence=" {
		t.Errorf("the form asks %q", query)
	}
	if other := h.get("/?niche=tools"); !strings.Contains(other.body,
		`<link rel="canonical" href="`+h.base+`/niches/tools">`) {
		t.Errorf("a list of one field of work has no address of its own: %.900s", other.body)
	}
	for path, want := range map[string]string{"/?q=" + strings.Repeat("x", 101): "400", "/?niche=none": "200",
		"/?q=%00%ff": "400"} {
		if a := h.get(path); fmt.Sprint(a.status) != want {
			t.Errorf("%s: %d, want %s", path, a.status, want)
		}
	}
}

// buildBadge: what is chosen is shown, and what is shown can be copied.
func buildBadge(t *testing.T, b *browsertest.Browser, h *fixture) {
	p := b.Open(t, h.base+"/badges", browsertest.View{})
	var done any
	p.Do(t, "look for a brand", chromedp.SendKeys(chromedp.CSS("#q"), "acme.ex"),
		chromedp.Click(chromedp.CSS("form[role=search] .go")))
	p.Until(t, "the badge is shown", `document.querySelector("#result img")?.naturalWidth == 138`)
	p.Eval(t, set("style", "card"), &done)
	p.Eval(t, set("lang", "de"), &done)
	p.Until(t, "the card is shown",
		`document.querySelector("#result img")?.getAttribute("src") == "/api/badge/acme?style=card&lang=de"`)
	p.Do(t, "copy", chromedp.Click(chromedp.CSS(`#result .copy[aria-label="Copy HTML"]`)))
	p.Until(t, "the button says so", `document.querySelector("#result .copy").textContent == "Copied"`)
	if got := p.Clipboard(t); !strings.HasPrefix(got, `<a href="`+h.base+`/verify/acme"><img src="`+h.base+
		`/api/badge/acme?style=card`) {
		t.Errorf("copied %q", got)
	}
	p.Do(t, "pick a style by its picture", chromedp.Click(chromedp.CSS(`.gallery figure:nth-of-type(4) a`)))
	p.Until(t, "the seal is shown", `document.querySelector("#style")?.value == "seal" &&
		document.querySelector("#result img")?.naturalWidth == 96`)

	brand := b.Open(t, h.base+"/brands/acme", browsertest.View{})
	brand.Do(t, "copy", chromedp.Click(chromedp.CSS(`.copy[aria-label="Copy Markdown"]`)))
	brand.Until(t, "the button says so", `[...document.querySelectorAll(".copy")].some(e => e.textContent == "Copied")`)
	if got := brand.Clipboard(t); !strings.HasPrefix(got, "[![GEO readiness of ") {
		t.Errorf("copied %q", got)
	}
	brand.Check(t)
}

// writeLLMs: the form writes a file and marks what is wrong with one.
func writeLLMs(t *testing.T, b *browsertest.Browser, h *fixture) {
	p := b.Open(t, h.base+"/llms-txt", browsertest.Phone)
	p.Do(t, "fill in the form", chromedp.SendKeys(chromedp.CSS("#name"), "Acme"),
		chromedp.SendKeys(chromedp.CSS("#niche"), "rockets"),
		chromedp.SendKeys(chromedp.CSS("#description"), "Acme builds small rockets for schools."),
		chromedp.SendKeys(chromedp.CSS("#url"), "acme.example"),
		chromedp.Click(chromedp.CSS("#write .go")))
	p.Until(t, "the refusal is beside its field, which has the focus and its text",
		`document.querySelector("#url-fault")?.textContent.includes("absolute") && document.activeElement?.id == `+
			`"url" && document.activeElement.value == "acme.example"`)
	p.Until(t, "a screen reader hears it",
		`document.querySelector("p.sr[role=status]").textContent.startsWith("Not accepted. ")`)
	p.Do(t, "correct it", chromedp.Clear(chromedp.CSS("#url")),
		chromedp.SendKeys(chromedp.CSS("#url"), "https://acme.example"), chromedp.Click(chromedp.CSS("#write .go")))
	p.Until(t, "the file is shown",
		`document.querySelector("#result pre")?.textContent.startsWith("# Acme\n\n> Acme builds small rockets") && `+
			`!document.querySelector("#write .fault")`)
	p.Do(t, "check a file", chromedp.SendKeys(chromedp.CSS("#content"), "Acme\n## Pages\nprose"),
		chromedp.Click(chromedp.CSS("#check .go")))
	p.Until(t, "its lines are marked",
		`document.querySelectorAll("#result .lines .i-error, #result .lines .i-warning").length > 0`)
	p.Check(t)
}

// readOnPaper: a brand's page is a short report on paper, evidence included.
func readOnPaper(t *testing.T, b *browsertest.Browser, h *fixture) {
	p := b.Open(t, h.base+"/brands/acme", browsertest.View{})
	var pages int
	p.Do(t, "print", chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		pdf, err := chromedp.Call(ctx, page.PrintToPDF, page.PrintToPDFParams{})
		if err == nil {
			pages = strings.Count(string(pdf.Data), "/Type /Page\n")
		}
		return err
	}))
	if pages < 1 || pages > 6 {
		t.Errorf("a brand's page takes %d sheets of paper, want 1 to 6", pages)
	}
}

// tryOperations: a page of the reference sends its request, shows the response, and keeps nothing. A
// request that can change data needs a confirmation each time.
func tryOperations(t *testing.T, b *browsertest.Browser, h *fixture) {
	p := b.Open(t, h.base+"/developers/reference/getScore", browsertest.View{})
	status := `document.querySelector("[data-status]").textContent`
	send := chromedp.Click(chromedp.CSS("form[data-try] .go"))
	p.Do(t, "read a score", send)
	p.Until(t, "the response is shown", status+`.startsWith("200") &&
		document.querySelector("[data-body]").textContent.includes('"slug": "acme"') &&
		document.querySelector("[data-headers]").textContent.includes("content-type: application/json")`)
	p.Do(t, "read another", chromedp.Clear(chromedp.CSS("[name=slug]")),
		chromedp.SendKeys(chromedp.CSS("[name=slug]"), "no/body"), send)
	p.Until(t, "the problem is shown", status+`.startsWith("404")`)

	p.Go(t, h.base+"/developers/reference/openMission")
	p.Do(t, "send without a confirmation", chromedp.SendKeys(chromedp.CSS("[data-in=key]"), "fm_live_wrong"), send)
	p.Until(t, "nothing is sent", `document.querySelector("[data-out]").hidden &&
		document.activeElement.matches("[data-sure]")`)
	p.Do(t, "confirm", chromedp.Click(chromedp.CSS("[data-sure]")), send)
	p.Until(t, "the key is refused", status+`.startsWith("401") && !document.querySelector("[data-sure]").checked`)
	p.Until(t, "nothing is stored", `localStorage.length + sessionStorage.length == 0 && document.cookie == ""`)

	plain := b.Open(t, h.base+"/developers/reference/openMission", browsertest.View{NoScript: true})
	plain.Until(t, "without scripts there is the command instead of the form",
		`document.querySelector("form[data-try]").hidden &&
		document.querySelector("pre").textContent.startsWith("curl ")`)
}

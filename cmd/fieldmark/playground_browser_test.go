package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/fieldmark/fieldmark/cmd/fieldmark/demo"
	"github.com/fieldmark/fieldmark/edge/site"
	"github.com/fieldmark/fieldmark/internal/testkit/browsertest"
	"github.com/fieldmark/fieldmark/internal/testkit/porttest"
	"github.com/fieldmark/fieldmark/internal/testkit/wasmtest"
	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/abi"
	"github.com/fieldmark/fieldmark/wasm/card"
)

// playgroundCard is a card in YAML, whose gate has a limit to fill in.
const playgroundCard = `name: words
version: 1.0.0
methodology: {id: words, version: "1.0", url: /words}
author: A
licence: MIT
inputs:
- {name: text.words, unit: words, direction: up}
components:
- id: all
  label: All
  weight: 100
  signals:
  - id: all.words
    label: Words
    points: 100
    advice: Write more.
    combine: mean
    parts: [{input: text.words, curve: {linear: [[0, 0], [1000, 1]]}}]
gates:
- {id: short, limit: %s, reason: Short., when: {input: text.words, op: lt, value: 500}}
`

// visitPlayground opens the playground, and keeps what it offers for download.
func visitPlayground(t *testing.T, b *browsertest.Browser, base string) *browsertest.Page {
	t.Helper()
	p := b.Open(t, base+site.PathPlayground, browsertest.View{Width: 390, Height: 840, Dark: true})
	var done any
	p.Eval(t, `(() => {
		const make = URL.createObjectURL;
		globalThis.offered = {};
		URL.createObjectURL = blob => { const url = make(blob); offered[url] = blob; return url; };
	})()`, &done)
	return p
}

// offered returns the content of a file that the page offers for download.
func offered(t *testing.T, p *browsertest.Page, name string) []byte {
	t.Helper()
	var content string
	p.Eval(t, fmt.Sprintf(`(async a => {
		const bytes = new Uint8Array(await offered[a.href].arrayBuffer());
		return btoa(String.fromCharCode(...bytes));
	})(document.querySelector('#playground a[download="%s"]'))`, name), &content)
	raw, err := base64.StdEncoding.DecodeString(content)
	must(t, err)
	return raw
}

// setValue sets a control of a page as a person does.
func setValue(id, value string) string {
	return fmt.Sprintf(`(e => { e.value = %q; e.dispatchEvent(new Event("input", {bubbles: true})); `+
		`})(document.getElementById(%q))`, value, id)
}

// TestPlaygroundInBrowser: an author pastes a card, corrects the mistake in the line that is named, sees the report
// and the score of a brand, and keeps the files. A module that fails names the line of its source.
func TestPlaygroundInBrowser(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	options := append([]string{"serve", "--demo", "--demo-listen", porttest.Address(t)}, freePorts("var")...)
	server := start(t, dir, options...)
	server.waitFor("All audits are done.")
	var access demo.Access
	must(t, json.Unmarshal([]byte(readFile(t, dir, "var", demo.AccessFile)), &access))
	p := visitPlayground(t, browsertest.Start(t), access.BaseURL)
	text := func(name string) string {
		return fmt.Sprintf(`document.querySelector("#playground [data-out=%s]").textContent`, name)
	}
	var done any
	run := func() { p.Do(t, "run", chromedp.Click(chromedp.CSS("#playground .go"))) }
	p.Eval(t, setValue("card", fmt.Sprintf(playgroundCard, "101")), &done)
	run()
	p.Until(t, "the mistake has its line",
		text("mistakes")+`.startsWith("Line 20 ") && `+text("mistakes")+`.includes("limit")`)
	p.Eval(t, `document.querySelector("#playground .line").click()`, &done)
	p.Until(t, "the line is selected", `(e => e.value.slice(e.selectionStart, e.selectionEnd))(`+
		`document.getElementById("card")).startsWith("- {id: short, limit: 101,")`)
	p.Eval(t, setValue("card", fmt.Sprintf(playgroundCard, "30")), &done)
	p.Eval(t, setValue("brand", "alpenglow"), &done)
	run()
	p.Until(t, "the card is compiled and checked", text("verdict")+` == "This module may be activated."`)
	p.Until(t, "it is scored", text("score")+`.endsWith(" of 100")`)
	p.Eval(t, setValue("fact-text.words", "400"), &done)
	p.Until(t, "the gate limits the score", text("score")+` == "30 of 100" && `+
		text("gates")+` == "Limited to 30 by short."`)
	checkOffered(t, p)
	lookAtPlayground(t, p)

	choose := func(module []byte) {
		t.Helper()
		p.Eval(t, fmt.Sprintf(`((e, code) => {
			const files = new DataTransfer();
			files.items.add(new File([Uint8Array.from(atob(code), c => c.charCodeAt(0))], "my.wasm"));
			e.files = files.files;
			e.dispatchEvent(new Event("change"));
		})(document.getElementById("module"), %q)`, base64.StdEncoding.EncodeToString(module)), &done)
	}
	p.Eval(t, setValue("brand", ""), &done)
	choose(wasmtest.Failing(t, true))
	p.Until(t, "a module is checked", text("verdict")+` == "This module may not be activated." && `+
		text("problems")+`.includes("divide by zero")`)
	p.Until(t, "it runs", `document.getElementById("fact-a") !== null`)
	p.Eval(t, `(e => { e.value = "measured"; e.dispatchEvent(new Event("input")); })(`+
		`document.querySelector('[aria-label="State of a"]'))`, &done)
	p.Eval(t, setValue("fact-a", "1"), &done)
	p.Until(t, "a trap names its line", text("score")+`.includes("in divide (failing.c:5:")`)
	p.Eval(t, setValue("fact-a", "2"), &done)
	p.Until(t, "a loop ends with its fuel", text("score")+`.includes("units of fuel, in spin, called by score")`)
	p.Eval(t, setValue("fact-a", "7"), &done)
	p.Until(t, "the page still works", text("score")+` == "no score" && `+text("fuel")+`.includes("units of fuel")`)
	choose([]byte("no module"))
	p.Until(t, "another file has a report too", text("problems")+`.includes("not a WebAssembly module")`)
	choose(wasmtest.Words(t, "1.0.0", "words", 1000))
	p.Until(t, "a good module runs after them", text("verdict")+` == "This module may be activated."`)
	server.stop()
}

// checkOffered compares what the page offers with what the commands make, and its fuel with that of an edge.
func checkOffered(t *testing.T, p *browsertest.Page) {
	t.Helper()
	parsed, err := card.Parse(offered(t, p, "card.json"))
	must(t, err)
	built, err := parsed.Compile()
	must(t, err)
	if got := offered(t, p, "words.wasm"); string(got) != string(built) {
		t.Errorf("the module has %d bytes, module build makes %d", len(got), len(built))
	}
	var vectors []abi.Vector
	must(t, json.Unmarshal(offered(t, p, "vectors.json"), &vectors))
	if len(vectors) != len(parsed.Vectors()) {
		t.Errorf("%d vectors, module build makes %d", len(vectors), len(parsed.Vectors()))
	}
	engine, err := wasm.New(wasm.Config{Instances: 1})
	must(t, err)
	defer func() { must(t, engine.Close(t.Context())) }()
	module, err := engine.Load(t.Context(), built)
	must(t, err)
	var result abi.Result
	fuel, err := module.Measure(t.Context(), []int64{400_000}, []byte{abi.StateMeasured}, &result)
	must(t, err)
	p.Until(t, "the fuel is that of an edge",
		fmt.Sprintf(`document.querySelector("[data-out=fuel]").textContent.startsWith("%d units of fuel")`, fuel))
}

// lookAtPlayground looks at the page as people see it.
func lookAtPlayground(t *testing.T, p *browsertest.Page) {
	t.Helper()
	phone := browsertest.View{Width: 390, Height: 840}
	for _, v := range []browsertest.View{{Width: 390, Height: 840, Dark: true}, phone, {Dark: true}, {}} {
		p.Look(t, v)
		for _, finding := range append(p.Overflow(t), p.Axe(t)...) {
			t.Error(finding)
		}
		if folder := os.Getenv("FIELDMARK_PICTURES"); folder != "" {
			must(t, os.WriteFile(filepath.Join(folder, fmt.Sprintf("playground-%d-%v.png", v.Width, v.Dark)),
				p.Picture(t), 0o644))
		}
	}
}

package edge_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge"
	"github.com/fieldmark/fieldmark/edge/site"
	"github.com/fieldmark/fieldmark/internal/testkit/browsertest"
	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
	"github.com/fieldmark/fieldmark/internal/testkit/wasmtest"
	"github.com/fieldmark/fieldmark/wasm/abi"
	"github.com/fieldmark/fieldmark/wasm/geo"
	"github.com/fieldmark/fieldmark/wasm/scoring"
)

// maxRunScript is what the script of the page may weigh in gzip, in bytes.
const maxRunScript = 8 << 10

// forEach returns an expression for the results of a function of the page for all slugs, in any order. It calls the
// function four times at once: the time of a call is bounded, also that in which a worker waits for a processor.
func forEach(slugs []string, function string) string {
	return fmt.Sprintf(`(async (slugs, results) => {
			await Promise.all([1, 2, 3, 4].map(async () => {
				while (slugs.length) results.push(await (%s)(slugs.pop()));
			}));
			return results;
		})(%q.split(" "), [])`, function, strings.Join(slugs, " "))
}

// factsFor are facts for inputs, most of them measured, the same for the same seed.
func factsFor(inputs []abi.Input, seed uint64) fieldmark.Facts {
	random := rand.New(rand.NewPCG(30, seed))
	f := fieldmark.Facts{Version: fieldmark.FactsVersion, URL: "https://a.example/", Pages: 1 + int(seed%12),
		AsOf: fieldmark.At(time.Now().Add(-day/2 - time.Duration(seed%40)*day)), Refused: seed%25 == 24}
	for _, in := range inputs {
		fact := fieldmark.Fact{ID: in.Name, State: fieldmark.Measured, Unit: in.Unit}
		switch {
		case random.IntN(10) == 0:
			fact.State = []fieldmark.FactState{fieldmark.Unknown, fieldmark.NotApplicable}[random.IntN(2)]
		case in.Unit == "bool":
			fact.Value = 1000 * int64(min(1, random.IntN(12)))
		case in.Unit == "share":
			fact.Value = random.Int64N(1001)
		default:
			fact.Value = random.Int64N([]int64{10_000, 600_000, 2_000_000}[random.IntN(3)])
		}
		f.Facts = append(f.Facts, fact)
	}
	slices.SortFunc(f.Facts, func(a, b fieldmark.Fact) int { return strings.Compare(a.ID, b.ID) })
	return f
}

// TestRecompute: for 100 brands and each language of modules, a browser computes the bytes of the
// edge from facts and module alone. A module of the class wasi-null says that it cannot.
func TestRecompute(t *testing.T) {
	t.Parallel()
	const brands = 100
	b := browsertest.Start(t)
	h := newFixture(t, func(c *edge.Config) { c.WASI = true })
	modules := map[string][]byte{"built-in": geo.Module()}
	inputs := slices.Clone(geo.Card().Manifest().Inputs)
	for _, language := range []string{"card", "c", "assemblyscript", "rust", "go"} {
		t.Run("build "+language, func(t *testing.T) {
			module, oracle := wasmtest.Example(t, language)
			modules[language] = module
			for _, in := range oracle.Manifest().Inputs {
				if !slices.ContainsFunc(inputs, func(known abi.Input) bool { return known.Name == in.Name }) {
					inputs = append(inputs, in)
				}
			}
		})
	}
	slugs := make([]string, brands)
	for i := range brands {
		slugs[i] = fmt.Sprintf("b%02d", i)
		h.brand(fieldmark.Slug(slugs[i]), "B", -1)
		_, err := h.service.Brands.PutFacts(t.Context(), fieldmark.Slug(slugs[i]), factsFor(inputs, uint64(i)))
		must(t, err)
	}
	h.score(slugs[brands-1])
	p := b.Open(t, h.base+"/brands/b00/recompute", browsertest.View{})
	p.Until(t, "the first is verified", `document.querySelector("[role=status]").textContent.startsWith("identical")`)
	for language, module := range modules {
		t.Run(language, func(t *testing.T) {
			ref := h.activate(module)
			for _, slug := range slugs {
				h.until(slug+" is scored by it", func() bool { return h.score(slug).Module == ref })
			}
			if language == "go" {
				p.Go(t, h.base+"/brands/b00/recompute")
				p.Until(t, "the page says that it cannot run the module",
					`document.querySelector("#recompute [role=status]").textContent.includes("wasi-null")`)
				return
			}
			var got []struct {
				Slug, Mine, Ours string
				Fault            string
			}
			p.Eval(t, forEach(slugs, `async slug => {
					try {
						const proof = await recompute(slug);
						proof.runner.end();
						return {slug, mine: JSON.stringify(proof.mine), ours: JSON.stringify(proof.ours)};
					} catch (error) { return {slug, fault: error.message}; }
				}`), &got)
			scored := 0
			for _, g := range got {
				if g.Mine != g.Ours || g.Fault != "" || g.Mine == "" {
					t.Errorf("%s: %s\nbrowser %s\nedge    %s", g.Slug, g.Fault, g.Mine, g.Ours)
				}
				if strings.HasPrefix(g.Mine, `{"score":`) && !strings.HasPrefix(g.Mine, `{"score":null`) {
					scored++
				}
			}
			if len(got) != brands || scored < brands/2 {
				t.Errorf("%d brands, %d with a score: too few to compare", len(got), scored)
			}
		})
	}
}

// TestRecomputeAtAgeLimits: facts whose age passes a limit at the time of their assessment have the
// same score in a browser, on either side of the limit.
func TestRecomputeAtAgeLimits(t *testing.T) {
	const each, step = 20, 40 * time.Millisecond
	b, h := browsertest.Start(t), newFixture(t)
	var slugs []string
	for _, limit := range scoring.AgeLimits() {
		for i := range each {
			slug := fieldmark.Slug(fmt.Sprintf("b%d-%d", limit/day, i))
			h.brand(slug, "B", -1)
			facts := factsWith(300)
			facts.AsOf = fieldmark.At(time.Now().Add(-limit + time.Duration(i-each/2)*step))
			_, err := h.service.Brands.PutFacts(t.Context(), slug, facts)
			must(t, err)
			var a answer
			h.until("it is scored", func() bool {
				a = h.get(fieldmark.PathScore + string(slug))
				return strings.Contains(a.body, `"factsDigest"`)
			})
			at, err := time.Parse(time.RFC3339, a.header.Get(fieldmark.HeaderAssessedAt))
			must(t, err)
			if at.After(time.Now()) || time.Since(at) > waittest.Limit {
				t.Errorf("%s was assessed at %s", slug, at)
			}
			slugs = append(slugs, string(slug))
		}
	}
	p := b.Open(t, h.base+"/brands/"+slugs[0]+"/recompute", browsertest.View{})
	p.Until(t, "the first is verified", `document.querySelector("[role=status]").textContent.startsWith("identical")`)
	var differ []string
	p.Eval(t, forEach(slugs, `async slug => {
			const proof = await recompute(slug);
			proof.runner.end();
			return proof.identical ? "" : slug + JSON.stringify(proof.mine) + JSON.stringify(proof.ours);
		}`)+`.then(all => all.filter(Boolean))`, &differ)
	for _, d := range differ {
		t.Error(d)
	}
}

// TestRecomputePage: the page names what is wrong with facts or module, survives modules that
// trap, loop or return nonsense, and keeps changed facts in its address.
func TestRecomputePage(t *testing.T) {
	t.Parallel()
	b, h := browsertest.Start(t), newFixture(t)
	h.brand("acme", "Acme", 300)
	h.score("acme")
	h.startLog()
	h.until("the log has the score", func() bool { return h.get("/api/v1/score/acme?proof=1").status == http.StatusOK })
	status := `document.querySelector("#recompute [role=status]").textContent`
	t.Run("look", func(t *testing.T) { lookAtRecompute(t, b, h) })
	t.Run("flipped proof", func(t *testing.T) { flipProof(t, b, h) })
	t.Run("flipped bits", func(t *testing.T) {
		var flip atomic.Value
		base := flippingProxy(t, h, &flip)
		for part, says := range map[string]string{"/facts/": "The digest of the facts is sha256:",
			"/modules/": "The digest of the module is sha256:"} {
			flip.Store(part)
			p := b.Open(t, base+"/brands/acme/recompute", browsertest.View{})
			p.Until(t, "the page names "+part, status+`.startsWith(`+fmt.Sprintf("%q", says)+`)`)
		}
		flip.Store("none")
		p := b.Open(t, base+"/brands/acme/recompute", browsertest.View{})
		p.Until(t, "unchanged bytes are accepted", status+`.startsWith("identical: 100 of 100")`)
	})
	score := `document.querySelector("[data-out=score]").textContent`
	for name, module := range map[string]struct {
		code []byte
		says string
	}{
		"trap":     {wasmtest.Bad(t, "1.0.1"), "unreachable"},
		"loop":     {wasmtest.Endless(t, "1.0.2"), "did not end within 1 s"},
		"nonsense": {wasmtest.Nonsense(t, "1.0.3"), "outside of its memory"},
	} {
		t.Run(name, func(t *testing.T) {
			ref := h.activate(module.code)
			h.until("it scores", func() bool { return h.score("acme").Module == ref })
			p := b.Open(t, h.base+"/brands/acme/recompute", browsertest.View{})
			p.Until(t, "the score is verified", status+`.startsWith("identical: 40 of 100")`)
			var done any
			p.Eval(t, set("fact-text.words", "500"), &done)
			p.Until(t, "the score follows", score+` == "50 of 100" && location.search == "?text.words=500"`)
			p.Eval(t, set("fact-text.words", "777"), &done)
			p.Until(t, "the page says what the module did", score+`.includes(`+fmt.Sprintf("%q", module.says)+`)`)
			p.Eval(t, set("fact-text.words", "778"), &done)
			p.Until(t, "the page still works", score+` == "77.8 of 100"`)
			p.Go(t, h.base+"/brands/acme/recompute?text.words=200")
			p.Until(t, "an address has its facts", score+` == "20 of 100"`)
			p.Do(t, "undo", chromedp.Click(chromedp.CSS("#what-if button")))
			p.Until(t, "the facts are the first ones", score+` == "40 of 100" && location.search == ""`)
			p.Check(t)
		})
	}
}

// lookAtRecompute looks at the page as people see it, on a phone and a desktop, and without scripts.
func lookAtRecompute(t *testing.T, b *browsertest.Browser, h *fixture) {
	address := h.base + "/brands/acme/recompute"
	p := b.Open(t, address, browsertest.View{Width: 390, Height: 840, Dark: true})
	p.Until(t, "the score is verified",
		`document.querySelector("#recompute [role=status]").textContent.startsWith("identical")`)
	p.Until(t, "facts can be changed", `document.querySelectorAll(".fact-row").length > 30`)
	found := p.Findings(t)
	for _, v := range []browsertest.View{{Width: 390, Height: 840}, {Dark: true}, {}} {
		p.Look(t, v)
		found = append(append(found, p.Overflow(t)...), p.Axe(t)...)
		if folder := os.Getenv("FIELDMARK_PICTURES"); folder != "" {
			must(t, os.WriteFile(filepath.Join(folder, fmt.Sprintf("recompute-%d-%v.png", v.Width, v.Dark)),
				p.Picture(t), 0o644))
		}
	}
	for _, finding := range found {
		t.Error(finding)
	}
	plain := b.Open(t, address, browsertest.View{NoScript: true})
	plain.Until(t, "the command is shown", `document.body.innerText.includes("fieldmark score verify acme --url `+
		h.base+`") && document.getElementById("recompute").hidden`)
	a := h.get(regexp.MustCompile(`/static/recompute\.[0-9a-f]+\.js`).FindString(h.get("/brands/acme/recompute").body))
	if got := a.header.Get("Content-Security-Policy"); got != "default-src 'none'; script-src 'wasm-unsafe-eval'" {
		t.Errorf("the worker has the policy %q", got)
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.DefaultCompression)
	must(t, err)
	_, err = io.WriteString(w, a.body)
	must(t, err)
	must(t, w.Close())
	if t.Logf("the script has %d bytes in gzip", packed.Len()); packed.Len() > maxRunScript {
		t.Errorf("the script has %d bytes in gzip, at most %d", packed.Len(), maxRunScript)
	}
	for path, want := range map[string]bool{"/brands/acme/recompute": true, "/brands/acme": false, "/": false,
		"/methodology": false, site.PathPlayground: true, site.PathDevelopers: false} {
		a := h.get(path)
		if got := strings.Contains(a.header.Get("Content-Security-Policy"), "wasm-unsafe-eval"); got != want {
			t.Errorf("%s may compile WebAssembly: %v, want %v", path, got, want)
		}
		if got := strings.Contains(a.body, "/static/recompute."); got != want {
			t.Errorf("%s loads the script: %v, want %v", path, got, want)
		}
	}
}

// flipProof flips one bit of each member of the proof of a score: the page says that the proof does not hold.
func flipProof(t *testing.T, b *browsertest.Browser, h *fixture) {
	h.brand("bolt", "Bolt", 20) // so that the proofs have hashes
	h.until("the log has two leaves", func() bool {
		return h.get("/api/v1/score/bolt?proof=1").status == http.StatusOK
	})
	var member atomic.Value
	base := rewritingProxy(t, h, func(path string, body []byte) {
		from := bytes.Index(body, []byte(`"proof":`))
		if name := member.Load().(string); from >= 0 && name != "" {
			from += bytes.Index(body[from:], []byte(`"`+name+`":`)) + len(name) + 3
			body[from+bytes.IndexAny(body[from:], "0123456789abcdefghijklmnopqrstuvwxyz")] ^= 1
		}
	})
	for _, name := range []string{"log", "index", "record", "salt", "hashes", "checkpoint", ""} {
		member.Store(name)
		says := "The proof of the public log does not hold: "
		if name == "" {
			says = "identical"
		}
		p := b.Open(t, base+"/brands/bolt/recompute", browsertest.View{})
		p.Until(t, fmt.Sprintf("the page says %q of member %q", says, name),
			`document.querySelector("#recompute [role=status]").textContent.startsWith(`+fmt.Sprintf("%q", says)+`)`)
		if name == "" {
			p.Until(t, "the leaf is named", `document.querySelector("[data-out=steps]").textContent.includes(
				"Leaf 1 of the public log verified")`)
		}
	}
}

// flippingProxy passes requests to the edge and flips one bit of the responses whose path
// contains what flip holds.
func flippingProxy(t *testing.T, h *fixture, flip *atomic.Value) string {
	return rewritingProxy(t, h, func(path string, body []byte) {
		if strings.Contains(path, flip.Load().(string)) {
			body[len(body)/2] ^= 1
		}
	})
}

// rewritingProxy passes requests to the edge, and the bodies of its responses to rewrite.
func rewritingProxy(t *testing.T, h *fixture, rewrite func(path string, body []byte)) string {
	target, err := url.Parse(h.base)
	must(t, err)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		// A flipped bit of a compressed body would be an error of the network.
		r.Out.Header.Set("Accept-Encoding", "identity")
	}}
	proxy.ModifyResponse = func(r *http.Response) error {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		rewrite(r.Request.URL.Path, body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		return nil
	}
	s := httptest.NewServer(proxy)
	t.Cleanup(s.Close)
	return s.URL
}

// TestPlayground: an author's module runs in the browser with its golden vectors and the facts of a brand, also
// where the origin does not check it. One that traps, loops or returns nonsense leaves the page usable, and so does a
// card that cannot be compiled.
func TestPlayground(t *testing.T) {
	t.Parallel()
	b, h := browsertest.Start(t), newFixture(t)
	h.brand("acme", "Acme", 300)
	h.score("acme")
	p := b.Open(t, h.base+site.PathPlayground, browsertest.View{Width: 390, Height: 840, Dark: true})
	var done any
	choose := func(module []byte) {
		p.Eval(t, fmt.Sprintf(`(async (e, code) => {
			const files = new DataTransfer();
			files.items.add(new File([Uint8Array.from(atob(code), c => c.charCodeAt(0))], "my.wasm"));
			e.files = files.files;
			e.dispatchEvent(new Event("change"));
		})(document.getElementById("module"), %q)`, base64.StdEncoding.EncodeToString(module)), &done)
	}
	score := `document.querySelector("[data-out=score]").textContent`
	choose(wasmtest.Bad(t, "1.0.1"))
	p.Until(t, "nothing is known", score+` == "no score"`)
	verdict := `document.querySelector("[data-out=verdict]").textContent`
	p.Until(t, "nothing checks it here", verdict+`.startsWith("Not checked: this server does not check")`)
	p.Eval(t, set("brand", "acme"), &done)
	p.Do(t, "run", chromedp.Click(chromedp.CSS("#playground .go")))
	p.Until(t, "the facts of the brand are scored", score+` == "40 of 100"`)
	p.Until(t, "its vectors are right", `document.querySelector("[data-out=vectors]").textContent.endsWith(" passed.")`)
	p.Until(t, "the call is a vector", `document.querySelector("[data-out=vector]").textContent == `+
		`'{"values":[400000],"states":"1","score":40000,"gates":0,"marks":[400]}'`)
	p.Eval(t, set("fact-text.words", "777"), &done)
	p.Until(t, "the trap is named", score+` == "unreachable"`)
	p.Eval(t, set("fact-text.words", "500"), &done)
	p.Until(t, "the page still works", score+` == "50 of 100"`)
	for name, module := range map[string]struct {
		code []byte
		says string
	}{
		"loop":     {wasmtest.Endless(t, "1.0.2"), "did not end within 1 s"},
		"nonsense": {wasmtest.Nonsense(t, "1.0.3"), "outside of its memory"},
	} {
		choose(module.code)
		p.Until(t, "the "+name+" runs", score+` == "40 of 100"`)
		p.Eval(t, set("fact-text.words", "777"), &done)
		p.Until(t, "the "+name+" is named", score+`.includes(`+fmt.Sprintf("%q", module.says)+`)`)
		p.Eval(t, set("fact-text.words", "500"), &done)
		p.Until(t, "the page works after the "+name, score+` == "50 of 100"`)
	}
	for _, v := range []browsertest.View{{Width: 390, Height: 840}, {Dark: true}, {}} {
		p.Look(t, v)
		for _, finding := range append(p.Overflow(t), p.Axe(t)...) {
			t.Error(finding)
		}
	}
	status := `document.querySelector("#playground [role=status]").textContent`
	choose([]byte("\x00asm\x01\x00\x00\x00"))
	p.Until(t, "a module without a manifest is named", status+`.includes("scorer.manifest")`)
	choose([]byte("no module"))
	p.Until(t, "another file is named", status+`.includes("WebAssembly")`)
	choose(geo.Module())
	p.Until(t, "a good module runs after them", score+` == "100 of 100"`)
	p.Eval(t, set("card", "name: one"), &done)
	p.Do(t, "run the card", chromedp.Click(chromedp.CSS("#playground .go")))
	p.Until(t, "a card is not compiled here", status+`.startsWith("this server does not check")`)
	choose(geo.Module())
	p.Until(t, "a module runs after the card", score+` == "100 of 100" && `+status+` == ""`)
	for _, finding := range p.Findings(t) {
		if !strings.Contains(finding, "/api/v1/playground/") { // the refusals, which a browser logs
			t.Error(finding)
		}
	}
}

package browsertest

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

// tools is the package.json of the third-party tools that check a page.
//
//go:embed tools/package.json
var tools string

// installTimeout limits npm, which may have to download 3 MB.
const installTimeout = 5 * time.Minute

// Check reports all findings as errors.
func (p *Page) Check(t testing.TB) {
	t.Helper()
	for _, finding := range p.Findings(t) {
		t.Errorf("%+v: %s", p.view, finding)
	}
}

// Findings lists every fault of the page in its current state: console errors, policy
// violations, horizontal overflow and, if scripts run on a screen, what axe-core finds.
func (p *Page) Findings(t testing.TB) []string {
	t.Helper()
	all := append(p.Trouble(), p.Overflow(t)...)
	if !p.view.NoScript && !p.view.Print {
		all = append(all, p.Axe(t)...)
	}
	return all
}

// Trouble lists errors and warnings of the console, uncaught exceptions, loads
// that failed and violations of the content security policy, since the tab was
// opened.
func (p *Page) Trouble() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.trouble)
}

// Bytes returns the number of bytes received since the tab was opened, headers
// included, before decompression.
func (p *Page) Bytes() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int(p.bytes)
}

const overflowing = `(() => {
	const wide = document.documentElement.clientWidth;
	if (document.documentElement.scrollWidth <= wide) return [];
	const all = [...document.body.querySelectorAll("*")].filter(e => {
		const box = e.getBoundingClientRect();
		return box.width && box.right > wide + .5 && !e.closest("svg svg, .sr");
	});
	return all.slice(0, 5).map(e => e.localName + (e.className.baseVal ?? e.className ? "." + (e.className.baseVal ` +
	`?? e.className) : "") +
		" ends at " + Math.round(e.getBoundingClientRect().right) + " of " + wide + ": " + ` +
	`e.textContent.trim().slice(0, 60));
})()`

// Overflow lists the elements that make the page scroll horizontally.
func (p *Page) Overflow(t testing.TB) []string {
	t.Helper()
	var wide bool
	p.Eval(t, "document.documentElement.scrollWidth > document.documentElement.clientWidth", &wide)
	if !wide {
		return nil
	}
	var who []string
	p.Eval(t, overflowing, &who)
	return append(who, "the page scrolls sideways")
}

// Axe lists what axe-core finds, of whatever impact.
func (p *Page) Axe(t testing.TB) []string {
	t.Helper()
	var loaded bool // for another view of the page
	if p.Eval(t, "Boolean(window.axe)", &loaded); !loaded {
		p.loadAxe(t)
	}
	var found []struct {
		ID, Impact, Help string
		Nodes            []struct {
			HTML           string
			FailureSummary string
		}
	}
	p.Eval(t, `axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations)`, &found)
	var all []string
	for _, f := range found {
		for _, n := range f.Nodes {
			all = append(all, fmt.Sprintf("axe, %s: %s (%s): %.200s: %.300s", f.Impact, f.Help, f.ID, n.HTML,
				n.FailureSummary))
		}
	}
	return all
}

// loadAxe evaluates axe-core through the debugger: a script element would be refused by the
// Content-Security-Policy of the page under test.
func (p *Page) loadAxe(t testing.TB) {
	t.Helper()
	script, err := os.ReadFile(filepath.Join(install(t), "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatalf("read axe-core: %v", err)
	}
	ctx, stop := context.WithTimeout(p.ctx, waittest.Limit)
	defer stop()
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[chromedp.Void](string(script)+";undefined")); err != nil {
		t.Fatalf("load axe-core: %v", err)
	}
}

// install returns the folder that contains axe-core. The first call downloads it.
func install(t testing.TB) string {
	t.Helper()
	var wanted struct{ Dependencies map[string]string }
	if err := json.Unmarshal([]byte(tools), &wanted); err != nil {
		t.Fatalf("tools/package.json: %v", err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		Lacking(t, "no folder to keep axe-core in: %v", err)
	}
	folder := filepath.Join(cache, "fieldmark-npm", "browser-"+wanted.Dependencies["axe-core"])
	if _, err := os.Stat(folder); err == nil {
		return folder
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		Lacking(t, "make a folder for axe-core: %v", err)
	}
	// Install into a temporary folder and rename it: tests of other packages may
	// install at the same time, and must never use a partial installation.
	fresh, err := os.MkdirTemp(filepath.Dir(folder), "browser-")
	if err != nil {
		Lacking(t, "make a folder for axe-core: %v", err)
	}
	defer os.RemoveAll(fresh)
	if err := os.WriteFile(filepath.Join(fresh, "package.json"), []byte(tools), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), installTimeout)
	defer stop()
	npm := exec.CommandContext(ctx, "npm", "install", "--no-audit", "--no-fund", "--ignore-scripts",
		"--no-package-lock", "--loglevel=error")
	npm.Dir = fresh
	if said, err := npm.CombinedOutput(); err != nil {
		Lacking(t, "npm could not install axe-core (a network to the package registry is needed once): %v: %.500s", err,
			said)
	}
	if err := os.Rename(fresh, folder); err != nil && !errors.Is(err, os.ErrExist) {
		t.Fatalf("put axe-core in place: %v", err)
	}
	return folder
}

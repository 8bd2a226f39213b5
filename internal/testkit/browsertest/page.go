package browsertest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/fieldmark/fieldmark/internal/testkit/waittest"
)

// View describes how a page is displayed. The zero value is a desktop of 1280 by 900
// CSS pixels, light, with scripts.
type View struct {
	Width, Height int // CSS pixels
	Dark          bool
	NoScript      bool
	Print         bool // as on paper
}

// Phone is the narrowest screen that pages support.
var Phone = View{Width: 360, Height: 740}

// Page is a tab with a page in it.
type Page struct {
	ctx  context.Context
	view View

	mu      sync.Mutex
	trouble []string
	bytes   float64
}

// Open opens an address in a new tab, which closes with the test, and waits until the
// page has loaded.
func (b *Browser) Open(t testing.TB, address string, v View) *Page {
	t.Helper()
	ctx, stop := chromedp.NewContext(b.ctx)
	t.Cleanup(stop)
	p := &Page{ctx: ctx}
	if err := chromedp.Listen(ctx, p.note); err != nil {
		t.Fatalf("open a tab: %v", err)
	}
	p.Look(t, v)
	p.Go(t, address)
	return p
}

// Look changes the view of the page without reloading it.
func (p *Page) Look(t testing.TB, v View) {
	t.Helper()
	v.Width, v.Height = cmp.Or(v.Width, 1280), cmp.Or(v.Height, 900)
	p.view = v
	p.Do(t, "look at the page",
		chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error { return v.apply(ctx, tab) }))
}

// apply sets up a tab for the view.
func (v View) apply(ctx context.Context, tab *chromedp.Target) error {
	scheme, media := "light", ""
	if v.Dark {
		scheme = "dark"
	}
	if v.Print {
		media = "print"
	}
	_, err := cdp.Call(ctx, tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: media, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	if err == nil {
		_, err = cdp.Call(ctx, tab, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
			Width: int64(v.Width), Height: int64(v.Height), DeviceScaleFactor: 1, Mobile: v.Width < 600,
		})
	}
	if err == nil {
		_, err = cdp.Call(ctx, tab, emulation.SetFocusEmulationEnabled,
			emulation.SetFocusEmulationEnabledParams{Enabled: true})
	}
	if err == nil {
		_, err = cdp.Call(ctx, tab, emulation.SetScriptExecutionDisabled,
			emulation.SetScriptExecutionDisabledParams{Value: v.NoScript})
	}
	if err == nil {
		_, err = cdp.Call(ctx, tab, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true})
	}
	return err
}

// note stores the errors, violations and transfer sizes that the browser reports.
func (p *Page) note(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *log.EventEntryAdded:
		// 422 rejects a form; the page shows the errors at its fields.
		if e.Entry.Source == log.EntrySourceNetwork && strings.Contains(e.Entry.Text, "a status of 422 ") {
			return
		}
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning ||
			e.Entry.Source == log.EntrySourceSecurity {
			p.trouble = append(p.trouble,
				strings.TrimSpace(fmt.Sprintf("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL)))
		}
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if x := e.ExceptionDetails.Exception; x != nil {
			text += " " + x.Description
		}
		p.trouble = append(p.trouble, "exception: "+text)
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "warning" || e.Type == "assert" {
			text := ""
			for _, a := range e.Args {
				text += " " + strings.Trim(string(a.Value), `"`) + a.Description
			}
			p.trouble = append(p.trouble, "console."+string(e.Type)+":"+text)
		}
	case *network.EventLoadingFinished:
		p.bytes += e.EncodedDataLength
	}
}

// Go navigates the tab to another address.
func (p *Page) Go(t testing.TB, address string) {
	t.Helper()
	p.Do(t, "open "+address, chromedp.Navigate(address))
}

// Leave evaluates an expression that navigates the tab, such as the submission of a
// form, and waits until the new page has loaded.
func (p *Page) Leave(t testing.TB, what, expression string) {
	t.Helper()
	ctx, stop := context.WithTimeout(p.ctx, waittest.Limit)
	defer stop()
	if _, err := chromedp.RunResponse(ctx, chromedp.Evaluate[chromedp.Void](expression+";undefined")); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// Do runs steps of chromedp and fails the test at the first error.
func (p *Page) Do(t testing.TB, what string, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx := p.ctx
	if chromedp.FromContext(ctx).Target != nil { // the first call must not end the tab by its deadline
		within, stop := context.WithTimeout(ctx, waittest.Limit)
		defer stop()
		ctx = within
	}
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// Eval evaluates an expression in the page, waits for the result if it is a promise, and
// stores it in answer.
func (p *Page) Eval(t testing.TB, expression string, answer any) {
	t.Helper()
	ctx, stop := context.WithTimeout(p.ctx, waittest.Limit)
	defer stop()
	raw, err := chromedp.Run(ctx,
		chromedp.Evaluate[string]("(async () => JSON.stringify(await ("+expression+")) ?? 'null')()",
			chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("ask the page %.200q: %v", expression, err)
	}
	if err := json.Unmarshal([]byte(raw), answer); err != nil {
		t.Fatalf("the page answers %.200q with %.500q: %v", expression, raw, err)
	}
}

// Until waits until an expression is true in the page.
func (p *Page) Until(t testing.TB, what, expression string) {
	t.Helper()
	ctx, stop := context.WithTimeout(p.ctx, waittest.Limit)
	defer stop()
	var is bool
	var err error
	waittest.Poll(func() bool {
		// During a navigation the old page may return an error; the next attempt uses
		// the new one.
		is, err = chromedp.Run(ctx, chromedp.Evaluate[bool]("Boolean("+expression+")"))
		return is || ctx.Err() != nil
	})
	if !is {
		t.Fatalf("waited in vain until %s (%s): %v", what, expression, err)
	}
}

// Clipboard returns the text that was copied last.
func (p *Page) Clipboard(t testing.TB) string {
	t.Helper()
	p.Do(t, "allow reading the clipboard", chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.CallBrowser(ctx, browser.SetPermission, browser.SetPermissionParams{
			Permission: &browser.PermissionDescriptor{Name: "clipboard-read"},
			Setting:    browser.PermissionSettingGranted,
		})
		return err
	}))
	var text string
	p.Eval(t, "navigator.clipboard.readText()", &text)
	return text
}

// Picture returns the whole page as PNG.
func (p *Page) Picture(t testing.TB) []byte {
	t.Helper()
	ctx, stop := context.WithTimeout(p.ctx, waittest.Limit)
	defer stop()
	beyond := true
	shot, err := chromedp.Call(ctx, page.CaptureScreenshot,
		page.CaptureScreenshotParams{CaptureBeyondViewport: &beyond})
	if err != nil {
		t.Fatalf("take a picture: %v", err)
	}
	return shot.Data
}

// Print returns the page as a PDF file.
func (p *Page) Print(t testing.TB) []byte {
	t.Helper()
	ctx, stop := context.WithTimeout(p.ctx, waittest.Limit)
	defer stop()
	size := true
	printed, err := chromedp.Call(ctx, page.PrintToPDF, page.PrintToPDFParams{PreferCSSPageSize: &size})
	if err != nil {
		t.Fatalf("print: %v", err)
	}
	return printed.Data
}

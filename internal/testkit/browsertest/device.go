package browsertest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// Device returns another profile of the browser: its pages share no cookies, storage or service
// workers with those of b.
func (b *Browser) Device(t testing.TB) *Browser {
	t.Helper()
	ctx, stop := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(stop)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start a profile: %v", err)
	}
	return &Browser{ctx}
}

// Close ends the tab at once, as if its process was killed: the page gets no event.
func (p *Page) Close(t testing.TB) {
	t.Helper()
	if err := chromedp.Cancel(p.ctx); err != nil {
		t.Fatalf("close the tab: %v", err)
	}
}

// SetOnline sets whether the page has a network, and sends it the event.
func (p *Page) SetOnline(t testing.TB, online bool) {
	t.Helper()
	p.Do(t, "set the state of the network", chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, network.OverrideNetworkState, network.OverrideNetworkStateParams{Offline: !online,
			DownloadThroughput: -1, UploadThroughput: -1})
		return err
	}))
}

// SetClock makes the clock of all later pages in the tab differ from the right one.
func (p *Page) SetClock(t testing.TB, by time.Duration) {
	t.Helper()
	p.Do(t, "set the clock", chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
			Source: fmt.Sprintf("Date.now = (now => () => now() + %d)(Date.now);", by.Milliseconds())})
		return err
	}))
}

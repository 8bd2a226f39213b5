package browsertest

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// Browser is a running headless Chromium. Its pages share one profile, so a session
// started in one page is valid in the others.
type Browser struct{ ctx context.Context }

// Programs of Chromium. The headless shell has the same engine without windows, which
// take a third of the processor time of a test: it is preferred where it is installed.
const headlessShell = "chromium-headless-shell"

var windowed = []string{"chromium", "chromium-browser", "google-chrome"}

// Start starts a Chromium that ends with the test. Without one the test is
// skipped, but fails in CI.
func Start(t testing.TB) *Browser {
	t.Helper()
	return StartWith(t)
}

// StartWindowed is Start with a browser that has windows and asks the user for permissions:
// a click may copy to the clipboard, which the headless shell refuses.
func StartWindowed(t testing.TB) *Browser {
	t.Helper()
	return start(t, windowed, chromedp.Flag("disable-quic", true))
}

// StartWith is Start with variables added to the browser's environment, each as
// NAME=value.
func StartWith(t testing.TB, env ...string) *Browser {
	t.Helper()
	return start(t, append([]string{headlessShell}, windowed...), chromedp.Env(env...),
		chromedp.Flag("disable-quic", true))
}

// StartQUIC starts a Chromium that reaches addresses, each a host and a port, over HTTP/3
// alone, with a certificate that no CA has signed. The name localhost and those below are
// 127.0.0.1: the browser would not fall back from ::1. If the test fails, its log has why connections ended.
func StartQUIC(t testing.TB, cert *x509.Certificate, addresses ...string) *Browser {
	t.Helper()
	key := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
	netLog := filepath.Join(t.TempDir(), "net-log.json")
	t.Cleanup(func() { // after the browser has ended
		if t.Failed() {
			logQUICEnds(t, netLog)
		}
	})
	return start(t, append([]string{headlessShell}, windowed...), chromedp.Flag("enable-quic", true),
		chromedp.Flag("log-net-log", netLog),
		chromedp.Flag("origin-to-force-quic-on", strings.Join(addresses, ",")),
		chromedp.Flag("host-resolver-rules", "MAP localhost 127.0.0.1,MAP *.localhost 127.0.0.1"),
		chromedp.Flag("ignore-certificate-errors-spki-list", base64.StdEncoding.EncodeToString(key[:])))
}

// unusedFeatures are the pages that show suggestions below the address bar. Each window
// loads them, although a headless one has no address bar: that takes two seconds of
// processor, longer than any page under test.
const unusedFeatures = "WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup"

// start starts a browser that ends with the test. It has its own profile: two browsers with one profile become
// one process, and cookies of one test would be sent by another.
func start(t testing.TB, programs []string, more ...chromedp.ExecAllocatorOption) *Browser {
	t.Helper()
	options := append([]chromedp.ExecAllocatorOption{chromedp.ExecPath(installed(t, programs)),
		chromedp.UserDataDir(t.TempDir()), chromedp.Flag("disable-features", unusedFeatures)}, more...)
	for _, flag := range []string{"headless", "no-sandbox", "no-first-run",
		"disable-gpu", "disable-gpu-rasterization", // Debian enables it: a software GPU paints more slowly
		"process-per-site", // a process for each tab takes longer to start than its page
		"disable-background-networking", "disable-component-update", "disable-sync", "hide-scrollbars",
		"ignore-certificate-errors"} { // of the development certificate
		options = append(options, chromedp.Flag(flag, true))
	}
	ctx, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start Chromium: %v", err)
	}
	return &Browser{ctx}
}

// installed returns the path of the first program that is installed.
func installed(t testing.TB, programs []string) string {
	t.Helper()
	for _, name := range programs {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	Lacking(t, "pages are looked at in a browser: Chromium is missing (Debian: apt-get install chromium "+
		"fonts-dejavu-core)")
	return ""
}

// Lacking skips a test on a developer's machine and fails it in CI.
func Lacking(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

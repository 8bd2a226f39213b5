package edge_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/origin/store"
)

// TestCheckForm: the form of /check leads to the page of a check, or shows beside the field
// what is wrong and keeps what was entered; it says when to come back.
func TestCheckForm(t *testing.T) {
	h := newFixture(t)
	post := func(entered string) answer {
		t.Helper()
		return h.do("POST", "/check", url.Values{"url": {entered}}.Encode(), "Content-Type",
			"application/x-www-form-urlencoded")
	}
	want := func(entered string, status int, text string) answer {
		t.Helper()
		a := post(entered)
		if a.status != status || !strings.Contains(a.body, text) || !strings.Contains(a.body, `aria-invalid="true"`) ||
			!strings.Contains(a.body, `value="`+entered+`"`) || a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v, want %d and %q beside the field: %s", entered, a.status, a.header, status, text,
				between(a.body, "<form", "</form>"))
		}
		if soon := a.header.Get("Retry-After"); (soon != "") != (status == http.StatusServiceUnavailable) {
			t.Errorf("%s: %d with Retry-After %q", entered, a.status, soon)
		}
		return a
	}
	want("http://127.0.0.1/", 422, "not an IP address")
	want("acme.example:8443", 422, "The address must use port 80 or 443.")
	want("http://printer.local/", 422, "Address not allowed.")
	want("http://acme.example/"+strings.Repeat("a", 200), 422, "The path must have at most 200 bytes.")

	a := post("")
	if a.status != 422 || !strings.Contains(a.body, "The address must not be empty.") {
		t.Errorf("an empty field: %d %s", a.status, between(a.body, "<form", "</form>"))
	}
	a = post("acme.example")
	page := a.header.Get("Location")
	if a.status != http.StatusSeeOther || !strings.HasPrefix(page, "/check/chk_") {
		t.Fatalf("a check: %d to %q", a.status, page)
	}
	if shown := h.get(page); shown.status != 200 || !strings.Contains(shown.body, "acme.example") ||
		shown.header.Get("X-Robots-Tag") != "noindex" {
		t.Errorf("the page of the check: %d %v", shown.status, shown.header)
	}
	if again := post("https://acme.example/#top"); again.header.Get("Location") != page {
		t.Errorf("the same site again: %d to %q, want %q", again.status, again.header.Get("Location"), page)
	}

	must(t, h.store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		now := fieldmark.At(time.Now())
		for i := range 1000 {
			site := fmt.Sprintf("https://site-%d.example/", i)
			if err := tx.AddSiteCheck(ctx, fieldmark.SiteCheck{ID: fieldmark.NewRandomID(fieldmark.PrefixCheck),
				State: fieldmark.SiteCheckQueued, URL: site, Host: site, CreatedAt: now,
				ExpiresAt: fieldmark.At(now.Std().Add(time.Hour))}); err != nil {
				return err
			}
		}
		return nil
	}))
	want("other.example", 503, "checks wait; send yours again later. Try again in a minute.")
	if a := post("acme.example"); a.header.Get("Location") != page {
		t.Errorf("a check that there is, while the queue is full: %d to %q", a.status, a.header.Get("Location"))
	}
	// without a button, as a program sends it
	for form, fault := range map[string]string{"": "site-fault", "site=no+address": "site-fault",
		"id=clm_x&secret=": "secret-fault", "id=clm_x": "secret-fault", "do=show&secret=x": "id-fault"} {
		a := h.do("POST", "/claim", form, "Content-Type", "application/x-www-form-urlencoded")
		if a.status < 400 || a.status > 422 || !strings.Contains(a.body, `id="`+fault+`"`) {
			t.Errorf("the claim form %q without a button: %d, want an error at %s: %s", form, a.status, fault,
				between(a.body, "<form", "</form>"))
		}
	}
	h.down.Store(true)
	defer h.down.Store(false)
	want("other.example", 503, "The server that does this cannot be reached right now. Try again in a minute.")
	claim := h.do("POST", "/claim", "do=open&site=acme.example", "Content-Type", "application/x-www-form-urlencoded")
	if claim.status != 503 || !strings.Contains(claim.body, "cannot be reached right now") ||
		!strings.Contains(claim.body, `value="acme.example"`) || claim.header.Get("Retry-After") == "" {
		t.Errorf("a claim without an origin: %d %s", claim.status, between(claim.body, "<form", "</form>"))
	}
}

package edge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image/png"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/edge"
	"github.com/fieldmark/fieldmark/origin/event"
	"github.com/fieldmark/fieldmark/origin/store"
)

// What leads from other sites to a brand: its card, its oEmbed response, and the page behind
// its badge.
func TestShare(t *testing.T) {
	t.Parallel()
	h := newBadgeFixture(t)
	h.claim("young", fieldmark.ClaimDNS, "young.example")
	t.Run("card", func(t *testing.T) { testCard(t, h) })
	t.Run("oembed", func(t *testing.T) { testOEmbed(t, h) })
	t.Run("claimed", func(t *testing.T) { testClaimed(t, h) })
	t.Run("owner", func(t *testing.T) { testOwner(t, h) })
	t.Run("disputes", func(t *testing.T) { testDisputes(t, h) })
	t.Run("unlisted", func(t *testing.T) { testUnlisted(t, h) })
	t.Run("verify", func(t *testing.T) { testVerify(t, h) })
}

func testCard(t *testing.T, h *fixture) {
	bodies := map[string]string{}
	for path, width := range map[string]int{
		"/api/card/acme.png": 1200, "/api/card/acme.png?theme=dark": 1200, "/api/card/acme.png?theme=light": 1200,
		"/api/card/acme.png?width=600": 600, "/api/card/young.png?width=300&theme=dark": 300,
	} {
		a := h.get(path)
		m, err := png.Decode(strings.NewReader(a.body))
		if a.status != 200 || err != nil || m.Bounds().Dx() != width || len(a.body) > 80_000 ||
			a.header.Get("Content-Type") != "image/png" ||
			a.header.Get("Cache-Control") != h.get("/api/badge/acme").header.Get("Cache-Control") ||
			a.header.Get("Cross-Origin-Resource-Policy") != "cross-origin" ||
			!strings.HasPrefix(a.header.Get("Surrogate-Key"), "brand-") {
			t.Errorf("%s: %d %v, %d bytes, %v", path, a.status, err, len(a.body), a.header)
		}
		if again := h.get(path, "If-None-Match", a.header.Get("Etag")); again.status != 304 {
			t.Errorf("%s: %d with its own Etag, want 304", path, again.status)
		}
		bodies[path] = a.body
	}
	if bodies["/api/card/acme.png"] != bodies["/api/card/acme.png?theme=light"] ||
		bodies["/api/card/acme.png"] == bodies["/api/card/acme.png?theme=dark"] {
		t.Error("light is not the default theme, or dark is no other")
	}
	for path, status := range map[string]int{
		"/api/card/nobody.png": 404, "/api/card/acme": 404, "/api/card/acme.svg": 404, "/api/card/.png": 404,
		"/api/card/acme.png?theme=mono": 400, "/api/card/acme.png?width=1201": 400,
	} {
		if a := h.get(path); a.status != status || a.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %d %s, want a problem with %d", path, a.status, a.header.Get("Content-Type"), status)
		}
	}
}

func testOEmbed(t *testing.T, h *fixture) {
	base := h.base
	ask := func(address, query string) answer {
		return h.get("/oembed?url=" + url.QueryEscape(address) + query)
	}
	for query, want := range map[string][2]int{
		"": {1200, 630}, "&format=json": {1200, 630}, "&maxwidth=1200&maxheight=630": {1200, 630},
		"&maxwidth=1199": {600, 315}, "&maxheight=315": {600, 315}, "&maxwidth=600&maxheight=314": {300, 158},
		"&maxwidth=5000": {1200, 630},
	} {
		a := ask(base+"/brands/acme", query)
		var doc map[string]any
		if err := json.Unmarshal([]byte(a.body), &doc); err != nil || a.status != 200 || doc["type"] != "photo" ||
			doc["version"] != "1.0" || doc["cache_age"] != 300.0 || doc["width"] != float64(want[0]) ||
			doc["height"] != float64(want[1]) || doc["thumbnail_width"] != 300.0 {
			t.Errorf("%s: %d %v %s", query, a.status, err, a.body)
			continue
		}
		for name, width := range map[string]int{"url": want[0], "thumbnail_url": 300} {
			picture := h.get(strings.TrimPrefix(doc[name].(string), base))
			m, err := png.DecodeConfig(bytes.NewReader([]byte(picture.body)))
			if err != nil || m.Width != width {
				t.Errorf("%s: %s is %d wide, %v, want %d", query, doc[name], m.Width, err, width)
			}
		}
	}
	for _, tt := range []struct {
		address, query string
		status         int
	}{
		{"https://other.example/brands/acme", "", 404}, {base + "/brands/nobody", "", 404}, {base + "/", "", 404},
		{base + "/brands/../acme", "", 404}, {"", "", 404}, {base + ".evil.example/brands/acme", "", 404},
		{base + "/brands/acme/", "", 404}, {base + "/brands/acme/feed.atom", "", 404},
		{base + "/brands/ACME", "", 404}, {base + "/brands/acme%00", "", 404}, {base + "/brands/%zz", "", 404},
		{strings.Replace(base, "://", "://acme@", 1) + "/brands/acme", "", 404}, {"javascript:alert(1)", "", 404},
		{strings.TrimPrefix(base, "http:") + "/brands/acme", "", 404}, {"/brands/acme", "", 404},
		{base + "/brands/" + strings.Repeat("a", 2_000), "", 404}, {"\x00\xff", "", 404},
		{base + "/brands/acme", "&maxwidth=299", 404}, {base + "/brands/acme", "&maxheight=157", 404},
		{base + "/brands/acme", "&maxwidth=x", 400}, {base + "/brands/acme", "&maxheight=0", 400},
		{base + "/brands/acme", "&format=xml", 501},
	} {
		if a := ask(tt.address, tt.query); a.status != tt.status ||
			a.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%q%s: %d %s, want a problem with %d", tt.address, tt.query, a.status, a.body, tt.status)
		}
	}
	if a := h.get("/brands/acme"); !strings.Contains(a.body, `href="`+base+"/oembed?url=") {
		t.Error("the page of the brand does not say where its oEmbed response is")
	}
}

// syncBuffer is a buffer that a log and a test share.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// claim makes a verified claim of a brand, by the proof of a domain.
func (h *fixture) claim(slug fieldmark.Slug, method fieldmark.ClaimMethod, domain string) {
	h.putClaim(slug, fieldmark.ClaimVerified, method, domain)
}

// ownerOf is the account that holds the claim of a brand.
func ownerOf(slug fieldmark.Slug) string { return "brand-" + string(slug) }

// endClaim expires the claim of a brand.
func (h *fixture) endClaim(slug fieldmark.Slug) { h.putClaim(slug, fieldmark.ClaimExpired, "", "") }

func (h *fixture) putClaim(slug fieldmark.Slug, state fieldmark.ClaimState, method fieldmark.ClaimMethod,
	domain string) {
	h.t.Helper()
	since := fieldmark.At(time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC))
	must(h.t, h.store.Write(h.t.Context(), func(ctx context.Context, tx *store.Tx) error {
		if err := tx.PutClaim(ctx, &store.Claim{ID: "clm_" + string(slug), Brand: slug, State: state,
			Account: ownerOf(slug), CreatedAt: since.Std(), DueAt: time.Now().Add(time.Hour),
			ClaimBody: store.ClaimBody{URL: "https://" + domain + "/",
				VerifiedAt: &since,
				Proven:     []store.ProvenMethod{{Method: method, Domain: domain, At: since}}}}); err != nil {
			return err
		}
		_, err := event.Emit(ctx, tx, "", store.Event{Subject: string(slug), Event: fieldmark.Event{
			Type: fieldmark.EventBrandChanged, Brand: slug, Tags: []fieldmark.Tag{fieldmark.TagBrand(slug)}}},
			fieldmark.Brand{Slug: slug})
		return err
	}))
}

// Nothing keeps where a reader came from: neither the access log, nor the log, nor the
// origin.
func TestVerifyKeepsNothing(t *testing.T) {
	t.Parallel()
	const secret = "secret-intranet.example"
	h := newBadgeFixture(t)
	access, lines := newAccessLog(t)
	var log syncBuffer
	var sent atomic.Pointer[http.Header]
	h.change = func(c *edge.Config) {
		c.AccessLog = access
		c.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	h.startEdge()
	h.intercept.Store(new(interceptor(func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.Contains(fmt.Sprint(r.Header, r.URL), secret) {
			sent.Store(&r.Header)
		}
		return false
	})))
	for _, path := range []string{"/verify/acme", "/verify/nobody", "/verify/young"} {
		h.get(path, "Referer", "https://"+secret+"/private")
	}
	h.until("the requests are in the access log", func() bool {
		_, all := lines()
		return len(all) >= 3
	})
	if text, _ := lines(); strings.Contains(text, secret) {
		t.Errorf("the access log has the referer: %s", text)
	}
	if text := log.String(); strings.Contains(text, secret) {
		t.Errorf("the log has the referer: %s", text)
	}
	if header := sent.Load(); header != nil {
		t.Errorf("the origin got the referer: %v", *header)
	}
}

// The page says where its reader came from, and no cache keeps it.
func testVerify(t *testing.T, h *fixture) {
	const own, other, untold = "its own site", "not one of its sites", "not known"
	for referer, want := range map[string]string{
		"https://acme.example/":              own,
		"https://ACME.example./shop?x=1":     own,
		"http://www.acme.example":            own,
		"https://acme.example.evil.test/":    other,
		"https://shop.acme.example/":         other,
		"https://xn--cme-2na.example/":       other,
		"https://192.0.2.7/":                 other,
		"":                                   untold,
		"about:blank":                        untold,
		"android-app://com.example":          untold,
		"https://" + strings.Repeat("a", 64): untold, // no label of DNS
		h.base + "/brands/acme":              untold,
	} {
		a := h.get("/verify/acme", "Referer", referer)
		for _, words := range []string{own, other, untold} {
			if strings.Contains(a.body, ">"+words+"<") != (words == want) {
				t.Errorf("from %q: %d, want only %q", referer, a.status, want)
			}
		}
		if a.header.Get("Cache-Control") != "no-store" || a.header.Get("Referrer-Policy") != "no-referrer" ||
			a.header.Get("Cache-Status") != "" {
			t.Errorf("from %q: %v", referer, a.header)
		}
	}
	if a := h.get("/verify/acme", "Referer", "https://äcme.example/<script>"); strings.Contains(a.body, "äcme") ||
		!strings.Contains(a.body, "xn--cme-pla.example") && !strings.Contains(a.body, untold) {
		t.Errorf("a host in another alphabet is not in ASCII: %s", a.body)
	}
	// What is within the domain that the owner proved is the brand's.
	for referer, want := range map[string]string{
		"https://blog.young.example/": own, "https://notyoung.example/": other,
	} {
		if a := h.get("/verify/young", "Referer", referer); !strings.Contains(a.body, ">"+want+"<") ||
			!strings.Contains(a.body, "21 Nov 2026") {
			t.Errorf("a claimed brand from %q: want %q and the day of the claim: %s", referer, want, a.body)
		}
	}
	for path, status := range map[string]int{"/verify/nobody": 404, "/verify/": 404, "/verify/A%20b": 404} {
		if a := h.get(path, "Referer", "https://acme.example/"); a.status != status ||
			a.header.Get("Cache-Control") != "no-store" || a.header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: %d %v, want %d", path, a.status, a.header, status)
		}
	}
	if a := h.get("/api/badge/acme/embed?format=html"); !strings.Contains(a.body, `<a href="`+h.base+`/verify/acme">`) {
		t.Errorf("the snippet does not lead to the page that verifies: %s", a.body)
	}
}

// A score document names the claim of its brand only if it is asked to, and follows its end.
func testOwner(t *testing.T, h *fixture) {
	const young, owner = "/api/v1/score/young", "/api/v1/score/young?owner=1"
	const claim = `,"claim":{"verified":true,"since":"2026-11-21T08:00:00.000Z","method":"dns",` +
		`"domain":"young.example"}}` + "\n"
	plain, claimed := h.get(young), h.get(owner)
	if want := strings.TrimSuffix(plain.body, "}\n") + claim; claimed.status != 200 || claimed.body != want {
		t.Errorf("%d %s, want the plain document and %s", claimed.status, claimed.body, claim)
	}
	if both := h.get(owner + "&advice=1"); both.status != 200 || !strings.Contains(both.body, `,"gains":`) ||
		!strings.HasSuffix(both.body, claim) {
		t.Errorf("with advice: %d %s", both.status, both.body)
	}
	if again := h.get(owner, "If-None-Match", claimed.header.Get("Etag")); again.status != http.StatusNotModified {
		t.Errorf("with its own Etag: %d", again.status)
	}
	if other := h.get(owner, "If-None-Match", plain.header.Get("Etag")); other.status != 200 {
		t.Errorf("with the Etag of the plain document: %d", other.status)
	}
	if free := h.get("/api/v1/score/acme?owner=1"); free.body != h.get("/api/v1/score/acme").body {
		t.Errorf("a brand that nobody claimed: %s", free.body)
	}
	for _, query := range []string{"?owner=0", "?owner=1&owner=1", "?owner=1&asOf=2026-01-01"} {
		h.wantProblem(h.get(young+query), 400, fieldmark.CodeInvalidParameter)
	}
	h.endClaim("young")
	h.until("the claim is gone", func() bool { return h.get(owner).body == h.get(young).body })
	if ended := h.get(owner, "If-None-Match", claimed.header.Get("Etag")); ended.status != 200 {
		t.Errorf("with the Etag of a claim that ended: %d", ended.status)
	}
	h.claim("young", fieldmark.ClaimDNS, "young.example")
	h.until("the claim is back", func() bool { return strings.HasSuffix(h.get(owner).body, claim) })
	if again := h.get(young); again.body != plain.body {
		t.Errorf("the plain document has changed: %s", again.body)
	}
}

// Disputes are in the score document if it is asked for them, and beside their signals on the
// page of the brand. The plain document, which anyone can compute again, never has them.
func testDisputes(t *testing.T, h *fixture) {
	const plain, with = "/api/v1/score/acme", "/api/v1/score/acme?disputes=1"
	h.claim("acme", fieldmark.ClaimDNS, "acme.example")
	before := h.get(plain)
	if none := h.get(with); none.status != 200 ||
		none.body != strings.TrimSuffix(before.body, "}\n")+`,"disputes":[]}`+"\n" {
		t.Errorf("without disputes: %d %s", none.status, none.body)
	}
	old := h.get(with).header.Get("Etag")
	signal := h.score("acme").Components[0].Signals[0].ID
	d, err := h.service.Brands.Disputes.OpenAsOwner(t.Context(), ownerOf("acme"), "acme", fieldmark.DisputeRequest{
		Signal: signal, Kind: fieldmark.DisputeWrong,
		Text: "<script>alert(1)</script> \u202egnp.exe [click](javascript:alert(1))\n" +
			strings.Repeat("long ", 60),
		Evidence: []fieldmark.DisputeEvidence{{URL: "https://acme.example/proof", Note: "<b>here</b>"}}})
	must(t, err)
	var doc fieldmark.Score
	h.until("the document has the dispute", func() bool {
		a := h.get(with, "If-None-Match", old)
		return a.status == 200 && json.Unmarshal([]byte(a.body), &doc) == nil && len(doc.Disputes) == 1
	})
	if got := doc.Disputes[0]; got.ID != d.ID || got.Signal != signal || got.State != fieldmark.DisputeOpen ||
		!got.Owner || len([]rune(got.Excerpt)) != fieldmark.MaxDisputeExcerpt ||
		strings.ContainsRune(got.Excerpt, '\u202e') ||
		len(got.Evidence) != 1 {
		t.Errorf("dispute %+v", got)
	}
	if got := h.get(plain); got.body != before.body {
		t.Errorf("the plain document changed:\n%s\n%s", got.body, before.body)
	}
	var page string // a purged page is served stale while it is made again
	h.until("the page has the dispute", func() bool {
		page = h.get("/brands/acme").body
		return strings.Contains(page, "Disputed by its owner")
	})
	for _, want := range []string{"Disputed by its owner", "&lt;script>alert(1)&lt;/script> gnp.exe",
		"https://acme.example/proof", "&lt;b>here", "Claimed by its owner</dt><dd>since "} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s: %s", want, page)
		}
	}
	for _, bad := range []string{"<script>alert", "\u202e", `href="https://acme.example/proof`, `href="javascript`,
		"Is this your brand?"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %s", bad)
		}
	}
	_, err = h.service.Brands.Disputes.Decide(t.Context(), d.ID, fieldmark.DisputeDecision{
		State: fieldmark.DisputeRejected, Answer: "Seen again."})
	must(t, err)
	h.until("the decision is public", func() bool {
		return strings.Contains(h.get(with).body, `"state":"rejected"`) &&
			strings.Contains(h.get("/brands/acme").body, "Seen again.")
	})
	for _, query := range []string{"?disputes=0", "?disputes=1&disputes=1", "?disputes=1&asOf=2026-01-01"} {
		h.wantProblem(h.get(plain+query), 400, fieldmark.CodeInvalidParameter)
	}
	h.endClaim("acme")
	h.until("the claim is gone", func() bool { return !strings.Contains(h.get(plain+"?owner=1").body, "claim") })
}

// A brand that its owner unlisted says so at its own addresses, also after a restart, and is
// in no list.
func testUnlisted(t *testing.T, h *fixture) {
	h.brand("left", "Leaving Ltd", 250)
	h.claim("left", fieldmark.ClaimDNS, "left.example")
	h.catchUp()
	scored := h.get("/api/v1/score/left").body
	list := func(listed bool) error {
		_, err := h.service.Brands.Owners.SetListing(t.Context(), ownerOf("left"), "left",
			fieldmark.ListingRequest{Listed: listed})
		return err
	}
	must(t, list(false))
	h.until("left is unlisted", func() bool { return h.score("left").Status == fieldmark.StatusUnlisted })
	check := func() {
		t.Helper()
		s := h.score("left")
		if s.Status != fieldmark.StatusUnlisted || s.UnlistedAt == nil || s.Score != nil || s.FactsDigest != "" ||
			len(s.Components) != 0 || s.Rank != nil {
			t.Fatalf("score %+v", s)
		}
		for path, want := range map[string]string{
			"/api/badge/left":      "not rated",
			"/api/badge/left.json": `"message":"not rated"`,
			"/brands/left":         "Unlisted by its owner since " + s.UnlistedAt.Std().Format("2 Jan 2006"),
			"/verify/left":         "Unlisted by its owner since ",
			"/compare?brands=left": "Unlisted by its owner since ",
		} {
			if a := h.get(path); a.status != 200 || !strings.Contains(a.body, want) {
				t.Errorf("%s: %d, want %s: %s", path, a.status, want, a.body)
			}
		}
		if page := h.get("/brands/left").body; !strings.Contains(page, `name="robots" content="noindex"`) ||
			strings.Contains(page, "Every signal") || strings.Contains(page, "/claim?brand=left") {
			t.Errorf("the page is indexed, or shows what was measured: %s", page)
		}
		for _, path := range []string{"/api/v1/leaderboard", "/?q=leaving", "/badges?q=leaving", "/sitemap.xml"} {
			h.until(path+" does not list it", func() bool { return !strings.Contains(h.get(path).body, "/left") })
		}
		for _, path := range []string{"/brands/left/feed.atom", "/api/v1/score/left/history"} {
			if a := h.get(path); a.status != 404 {
				t.Errorf("%s: %d, want 404", path, a.status)
			}
		}
	}
	check()
	h.startEdge() // reads all brands at once
	check()
	if err := list(true); !fieldmark.IsCode(err, fieldmark.CodeRelistTooSoon) {
		t.Errorf("listed again at once: %v", err)
	}
	must(t, h.store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		return tx.SetUnlisted(ctx, "left", new(fieldmark.At(time.Now().AddDate(0, 0, -8))))
	}))
	must(t, list(true))
	h.until("left is back", func() bool {
		var then, now fieldmark.Score
		must(t, json.Unmarshal([]byte(scored), &then))
		must(t, json.Unmarshal([]byte(h.get("/api/v1/score/left").body), &now))
		return now.Score != nil && *now.Score == *then.Score && now.FactsDigest == then.FactsDigest
	})
}

// A badge has a tick if its page asks for one and the owner proved control of the site. The
// plain badge does not change.
func testClaimed(t *testing.T, h *fixture) {
	const words, query = "claimed by its owner", "?claimed=1"
	for path, want := range map[string]bool{
		"/api/badge/young": false, "/api/badge/young?claimed=0": false, "/api/badge/young" + query: true,
		"/api/badge/young?style=flat&claimed=1": true, "/api/badge/acme" + query: false,
	} {
		if a := h.get(path); a.status != 200 || strings.Contains(a.body, words) != want {
			t.Errorf("%s: %d, want a tick: %t: %s", path, a.status, want, a.body)
		}
	}
	if a := h.get("/api/badge/young?claimed=2"); a.status != 400 {
		t.Errorf("claimed=2: %d, want 400", a.status)
	}
	if plain, claimed := h.get("/api/badge/young.png"), h.get("/api/badge/young.png"+
		query); plain.body == claimed.body {
		t.Error("the PNG has no tick")
	}
	if a := h.get("/badges?slug=young"); !strings.Contains(a.body, `name="claimed"`) {
		t.Error("the builder does not offer the tick of a claimed brand")
	}
	if a := h.get("/badges?slug=acme"); strings.Contains(a.body, `name="claimed"`) {
		t.Error("the builder offers a tick for a brand that nobody claimed")
	}
	// The tick goes as soon as the claim ends and the brand is purged.
	h.endClaim("young")
	h.until("the tick is gone", func() bool { return !strings.Contains(h.get("/api/badge/young"+query).body, words) })
	h.claim("young", fieldmark.ClaimDNS, "young.example")
	h.until("the tick is back", func() bool { return strings.Contains(h.get("/api/badge/young"+query).body, words) })
}

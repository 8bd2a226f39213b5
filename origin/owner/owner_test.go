package owner_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/audit"
	"github.com/fieldmark/fieldmark/origin/module"
	"github.com/fieldmark/fieldmark/origin/owner"
	"github.com/fieldmark/fieldmark/origin/safehttp"
	"github.com/fieldmark/fieldmark/origin/store"
	"github.com/fieldmark/fieldmark/wasm"
	"github.com/fieldmark/fieldmark/wasm/geo"
	"github.com/fieldmark/fieldmark/wasm/scoring"
)

func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }

// fixture is an origin that audits a website, whose owner has a key.
type fixture struct {
	t       *testing.T
	service *origin.Service
	store   *store.Store
	handler http.Handler
	server  *httptest.Server
	site    *website
	key     string // of the owner of acme
	log     *bytes.Buffer
	cookie  *http.Cookie
	notice  *http.Cookie
}

// website is a site with one page. Its robots.txt blocks crawlers until it is fixed.
type website struct {
	*httptest.Server
	fixed atomic.Bool
}

const prose = `Acme makes chisels, planes and marking gauges in a workshop near the harbour. Every blade is
	forged from one bar of carbon steel, hardened in oil and ground by hand, so an edge lasts about forty hours of
	work in oak before it needs a stone. We have sold 12,400 chisels since 1998, and 311 came back for a new handle.
	Repairs cost nothing but the postage. A plane takes nine days to build: two for the body, four for the iron and
	its cap, and three in which the wood rests and moves. Visitors are welcome on Thursdays between ten and four;
	bring a dull tool and leave with a sharp one. Our apprentices answer letters themselves, usually within a week.
	Dealers in Norway, Japan and Chile keep spare parts, and drawings of all models may be copied freely for teaching.
	According to the timber institute of Trondheim, joints cut with a keen edge hold a fifth more load than sawn ones.`

func newWebsite(t *testing.T) *website {
	s := &website{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			if s.fixed.Load() {
				fmt.Fprint(w, "User-agent: *\nAllow: /\n")
				return
			}
			fmt.Fprint(w, "User-agent: *\nAllow: /\n\nUser-agent: OAI-SearchBot\nDisallow: /\n\nUser-agent: "+
				"GPTBot\nDisallow: /\n")
		case "/":
			entity := ""
			if s.fixed.Load() {
				entity = fmt.Sprintf(`<link rel="canonical" href="http://%s/"><script type="application/ld+json">
					{"@context":"https://schema.org","@type":"Organization","name":"Acme","url":"http://%s/",
					"description":"Acme makes hand tools that last, and repairs every one of `+
					`them."}</script>`, r.Host, r.Host)
			}
			fmt.Fprintf(w, `<!doctype html><html lang="en"><head><title>Acme tools for careful makers</title>
				<meta name="description" content="Acme makes hand tools that last, and repairs every one of them.">`+
				`%s</head>
				<body><main><h1>Acme tools</h1><p>%s</p></main></body></html>`,
				entity, prose)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func newFixture(t *testing.T, edits ...func(*origin.Config)) *fixture {
	t.Helper()
	f := &fixture{t: t, site: newWebsite(t), log: &bytes.Buffer{}}
	client := safehttp.New(safehttp.Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	auditor, err := audit.New(audit.Config{HTTP: client, Delay: -1})
	must(t, err)
	f.store = storetest.Open(t, storetest.New(t))
	var builtIn []module.BuiltIn
	for _, b := range geo.Modules() {
		ref, err := wasm.Ref(b)
		must(t, err)
		builtIn = append(builtIn, module.BuiltIn{Ref: ref, Bytes: b})
	}
	scorer := &wasm.Scorer{}
	t.Cleanup(func() { _ = scorer.Close(context.Background()) })
	cfg := origin.Config{Store: f.store, Secret: []byte(strings.Repeat("s", 32)), HTTP: client,
		Auditor: auditor, AuditEvery: -1, BuiltIn: builtIn, Scorer: scorer, SignalFacts: wasm.SignalFacts}
	for _, edit := range edits {
		edit(&cfg)
	}
	f.service, err = origin.New(cfg)
	must(t, err)
	must(t, f.service.Prepare(t.Context()))
	f.handler, err = owner.New(owner.Config{Service: f.service, Advise: scoring.Advise,
		Log: slog.New(slog.NewTextHandler(&lockedBuffer{b: f.log}, nil))})
	must(t, err)
	f.server = httptest.NewServer(f.handler)
	t.Cleanup(f.server.Close)
	_, err = f.service.Brands.Create(t.Context(), fieldmark.Brand{Slug: "acme", Name: "Acme", URL: f.site.URL + "/",
		Niche: "tools", Language: "en", Public: true})
	must(t, err)
	f.key = f.claim("acme", "brand-acme")
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = f.service.Run(ctx) })
	t.Cleanup(func() { stop(); running.Wait() })
	return f
}

// lockedBuffer is a buffer that several goroutines write to.
type lockedBuffer struct {
	mu sync.Mutex
	b  *bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// claim makes an account hold the claim of a brand and returns a key of it.
func (f *fixture) claim(slug fieldmark.Slug, account string) string {
	f.t.Helper()
	now := time.Now()
	at := fieldmark.At(now)
	must(f.t, f.store.Write(f.t.Context(), func(ctx context.Context, tx *store.Tx) error {
		if err := tx.PutAccount(ctx, account, at); err != nil {
			return err
		}
		c := store.Claim{ID: fieldmark.NewID(fieldmark.PrefixClaim, now), Brand: slug, Account: account,
			State: fieldmark.ClaimVerified, CreatedAt: now, DueAt: now.Add(time.Hour)}
		c.VerifiedAt = &at
		c.Proven = []store.ProvenMethod{{Method: fieldmark.ClaimDNS, At: at}}
		return tx.PutClaim(ctx, &c)
	}))
	k, err := f.service.Access.Keys.Create(f.t.Context(), account, fieldmark.KeyRequest{Name: "owner",
		Scopes: []fieldmark.Scope{fieldmark.ScopeBrandManage, fieldmark.ScopeWebhookManage}})
	must(f.t, err)
	return k.Token
}

// audited waits until no audit of the brand is queued or running.
func (f *fixture) audited(slug fieldmark.Slug) {
	f.t.Helper()
	for {
		due := f.store.Watch(store.TopicEvents)
		run, err := f.store.AuditRun(f.t.Context(), slug, time.Now())
		must(f.t, err)
		if run == nil {
			return
		}
		select {
		case <-due:
		case <-time.After(50 * time.Millisecond): // the last commit of an audit may emit nothing
		}
	}
}

// do sends a request as a browser on the same site would; form nil means GET.
func (f *fixture) do(path string, form url.Values) *httptest.ResponseRecorder {
	f.t.Helper()
	r := httptest.NewRequest("GET", path, nil)
	if form != nil {
		r = httptest.NewRequest("POST", path, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	for _, c := range []*http.Cookie{f.cookie, f.notice} {
		if c != nil {
			r.AddCookie(c)
		}
	}
	rec := httptest.NewRecorder()
	f.handler.ServeHTTP(rec, r)
	for _, c := range rec.Result().Cookies() {
		jar := &f.cookie
		if c.Name == "fieldmark_notice" {
			jar = &f.notice
		}
		if *jar = c; c.MaxAge < 0 {
			*jar = nil
		}
	}
	return rec
}

func (f *fixture) signIn() {
	f.t.Helper()
	rec := f.do("/owner/sign-in", url.Values{"key": {" " + f.key + "\n"}})
	if rec.Code != 303 || rec.Header().Get("Location") != "/owner" || f.cookie == nil {
		f.t.Fatalf("sign in: %d to %q with cookie %v: %s", rec.Code, rec.Header().Get("Location"), f.cookie, rec.Body)
	}
}

// says fails unless a response has a status and contains every want.
func says(t testing.TB, what string, rec *httptest.ResponseRecorder, status int, want ...string) {
	t.Helper()
	if rec.Code != status {
		t.Fatalf("%s: %d, want %d: %s", what, rec.Code, status, rec.Body)
	}
	for _, w := range want {
		if !strings.Contains(rec.Body.String(), w) {
			t.Errorf("%s: %q is not on the page", what, w)
		}
	}
}

// TestFixFirst: an owner signs in, sees what blocks the site and the lines that help, applies
// them, and sees the new score.
func TestFixFirst(t *testing.T) {
	f := newFixture(t)
	f.signIn()
	if f.cookie.Name != "fieldmark_owner" || !f.cookie.HttpOnly || f.cookie.SameSite != http.SameSiteLaxMode ||
		f.cookie.MaxAge != 12*3600 {
		t.Errorf("cookie %+v", f.cookie)
	}
	const page = "/owner/brands/acme"
	says(t, "before the first audit", f.do(page, nil), 200, "No score", "Audit the site again")
	rec := f.do(page+"/audit", url.Values{})
	if rec.Code != 303 {
		t.Fatalf("request an audit: %d: %s", rec.Code, rec.Body)
	}
	f.audited("acme")
	before, _, err := f.service.Standings.Current(t.Context(), "acme")
	if err != nil || before.Score == nil {
		t.Fatalf("score %s %+v, %v", before.Status, before.Eligibility, err)
	}
	says(t, "after the audit", f.do(page, nil), 200, "User-agent: OAI-SearchBot", "Allow: /", "llms.txt",
		"application/ld&#43;json", before.Score.String())
	says(t, "another audit within the hour", f.do(page+"/audit", url.Values{}), 429, "1 in an hour")

	f.site.fixed.Store(true)
	must(t, f.service.Brands.Audits.Request(t.Context(), "acme"))
	f.audited("acme")
	after, _, err := f.service.Standings.Current(t.Context(), "acme")
	must(t, err)
	if *after.Score <= *before.Score {
		t.Errorf("score %s after the fix, %s before", after.Score, before.Score)
	}
	says(t, "after the fix", f.do(page, nil), 200, "Score "+after.Score.String(),
		"Since the previous audit", before.Score.String())
}

// TestSession: a session is of one account, ends with its key and starts with a key of owners
// alone; no response may be stored.
func TestSession(t *testing.T) {
	f := newFixture(t)
	_, err := f.service.Brands.Create(t.Context(), fieldmark.Brand{Slug: "other", Name: "Other",
		URL: "https://other.example/", Niche: "tools", Language: "en", Public: true})
	must(t, err)
	for _, path := range []string{"/owner", "/owner/brands/acme"} {
		rec := f.do(path, nil)
		if to := rec.Header().Get("Location"); rec.Code != 303 || !strings.HasPrefix(to, "/owner/sign-in") {
			t.Errorf("GET %s without a session: %d to %q", path, rec.Code, to)
		}
	}
	mission, err := f.service.Access.Keys.Create(t.Context(), "", fieldmark.KeyRequest{Name: "missions",
		Scopes: []fieldmark.Scope{fieldmark.ScopeMissionRead}})
	must(t, err)
	for _, c := range []struct {
		key, want string
		status    int
	}{
		{"fm_live_nonsense", "unknown, mistyped or revoked", 401},
		{mission.Token, "no access to brands", 403},
		{"", "unknown, mistyped or revoked", 401},
	} {
		rec := f.do("/owner/sign-in", url.Values{"key": {c.key}})
		says(t, "sign in with "+c.key, rec, c.status, c.want, `aria-invalid="true"`)
		if c.key != "" && strings.Contains(rec.Body.String(), c.key) {
			t.Errorf("the page repeats the key %s", c.key)
		}
	}
	f.signIn()
	says(t, "another brand", f.do("/owner/brands/other", nil), 404)
	says(t, "no brand", f.do("/owner/brands/nobody", nil), 404)
	rec := f.do("/owner/brands/acme", nil)
	for name, want := range map[string]string{"Cache-Control": "private, no-store", "X-Robots-Tag": "noindex"} {
		if got := rec.Header().Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	r := httptest.NewRequest("POST", "/owner/brands/acme/audit", nil)
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	r.AddCookie(f.cookie)
	cross := httptest.NewRecorder()
	f.handler.ServeHTTP(cross, r)
	says(t, "a form of another site", cross, 403)

	keys, err := f.service.Access.Keys.List(t.Context())
	must(t, err)
	for _, k := range keys {
		if k.Account == "brand-acme" {
			_, err := f.service.Access.Keys.Revoke(t.Context(), k.ID, "test")
			must(t, err)
		}
	}
	if rec := f.do("/owner/brands/acme", nil); rec.Code != 303 {
		t.Errorf("with a revoked key: %d, want 303 to the sign-in page", rec.Code)
	}
}

package sitecheck_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin/audit"
	"github.com/fieldmark/fieldmark/origin/job"
	"github.com/fieldmark/fieldmark/origin/safehttp"
	"github.com/fieldmark/fieldmark/origin/sitecheck"
	"github.com/fieldmark/fieldmark/origin/store"
)

func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }

// scorer is never called: the checks of these tests end before they are scored.
type scorer struct{}

func (scorer) Ages() []time.Duration { return nil }

func (scorer) Score(context.Context, fieldmark.Digest, func(context.Context) ([]byte, error), *fieldmark.BrandState,
	time.Time) (fieldmark.Score, error) {
	return fieldmark.Score{}, fmt.Errorf("no score was expected")
}

func newService(s *store.Store, edit func(*sitecheck.Config)) *sitecheck.Service {
	log := slog.New(slog.DiscardHandler)
	cfg := sitecheck.Config{Store: s, Jobs: job.NewRunner(s, log), Log: log, Scorer: scorer{},
		Advise: func(*fieldmark.Assessment) []fieldmark.Gain { return nil }}
	edit(&cfg)
	return sitecheck.New(cfg)
}

func plain(*sitecheck.Config) {}

// TestManyNetworksCheckOneHost lets a thousand networks ask three services for checks of one
// host, by many addresses, for a day: six are accepted, and each refusal says truly when
// to come back.
func TestManyNetworksCheckOneHost(t *testing.T) {
	cfg := storetest.New(t)
	synctest.Test(t, func(t *testing.T) {
		s, err := store.Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		services := []*sitecheck.Service{newService(s, plain), newService(s, plain), newService(s, plain)}
		start, accepted, free := time.Now(), 0, time.Time{}
		for i := range 1000 {
			client := netip.AddrFrom4([4]byte{100, byte(i >> 8), byte(i), 7})
			_, existing, err := services[i%3].Request(t.Context(), client, fieldmark.SiteCheckRequest{
				URL: fmt.Sprintf("https://acme.example/%d", i)})
			e := fieldmark.AsError(err)
			switch {
			case err == nil && !existing:
				accepted++
				if time.Now().Before(free) {
					t.Errorf("request %d was accepted before its Retry-After", i)
				}
			case fieldmark.IsCode(err, fieldmark.CodeHostBudget) && e.RetryAfter > 0:
				free = time.Now().Add(e.RetryAfter)
			default:
				t.Fatalf("request %d: existing %t, %v", i, existing, err)
			}
			time.Sleep(86 * time.Second)
		}
		if took := time.Since(start); accepted != 6 || took > 24*time.Hour {
			t.Errorf("%d checks of one host in %s, want 6", accepted, took)
		}
	})
}

// TestRequests checks which addresses are accepted, and under which form.
func TestRequests(t *testing.T) {
	s := storetest.Open(t, storetest.New(t))
	service := newService(s, func(c *sitecheck.Config) {
		c.Deny, c.Sites = []string{"denied.example"}, []string{"site.localhost:8088"}
	})
	for i, c := range []struct{ url, want, detail string }{
		{"HTTPS://Acme.Example.:443?q=1#top", "https://acme.example/", ""},
		{"http://bücher.example/ä", "http://xn--bcher-kva.example/%C3%A4", ""},
		{"http://site.localhost:8088", "http://site.localhost:8088/", ""},
		{"http://site.localhost:8089", "", "address not allowed"},
		{"http://printer.local/", "", "address not allowed"},
		{"http://127.0.0.1/", "", "IP address"}, {"http://2130706433/", "", "IP address"},
		{"http://[::1]/", "", "IP address"}, {"http://0x7f.1/", "", "IP address"},
		{"https://acme.example:8443/", "", "port 80 or 443"},
		{"https://me@acme.example/", "", "user name"},
		{"ftp://acme.example/", "", "http or https"}, {"acme.example", "", "http or https"},
		{"https://github.io/", "", "registered domain"}, {"https://intranet/", "", "registered domain"},
		{"https://acme.example/" + strings.Repeat("a", 200), "", "200 bytes"},
	} {
		check, _, err := service.Request(t.Context(), netip.AddrFrom4([4]byte{10, 1, byte(i), 1}),
			fieldmark.SiteCheckRequest{URL: c.url})
		if c.want != "" {
			if err != nil || check.URL != c.want {
				t.Errorf("%s: %s, %v; want %s", c.url, check.URL, err, c.want)
			}
			continue
		}
		e := fieldmark.AsError(err)
		if !fieldmark.IsCode(err, fieldmark.CodeValidationFailed) || !strings.Contains(e.Fields[0].Detail, c.detail) {
			t.Errorf("%s: %v, want %q", c.url, err, c.detail)
		}
	}
	client := netip.MustParseAddr("192.0.2.1")
	denied, _, err := service.Request(t.Context(), client,
		fieldmark.SiteCheckRequest{URL: "https://www.denied.example"})
	if err != nil || denied.State != fieldmark.SiteCheckRefused || denied.By != fieldmark.RefusedByOperator {
		t.Errorf("a denied host: %+v, %v", denied, err)
	}
	for range 5 { // costs nothing
		again, existing, err := service.Request(t.Context(), client,
			fieldmark.SiteCheckRequest{URL: "https://www.denied.example/"})
		if err != nil || !existing || again.ID != denied.ID {
			t.Errorf("the same check: %+v, existing %t, %v", again, existing, err)
		}
	}
	for i := range 4 {
		_, _, err = service.Request(t.Context(), client, fieldmark.SiteCheckRequest{
			URL: fmt.Sprintf("https://a%d.example/", i)})
	}
	if !fieldmark.IsCode(err, fieldmark.CodeRateLimited) || fieldmark.AsError(err).RetryAfter <= 0 {
		t.Errorf("the fourth further check of one network: %v", err)
	}
	off := newService(s, func(c *sitecheck.Config) { c.Off = true })
	if _, err := off.Get(t.Context(), denied.ID, 0); !fieldmark.IsCode(err, fieldmark.CodeModuleDisabled) {
		t.Errorf("checks are off: %v", err)
	}
	if _, err := service.Get(t.Context(), fieldmark.NewRandomID(fieldmark.PrefixCheck),
		0); !fieldmark.IsCode(err, fieldmark.CodeCheckExpired) {
		t.Errorf("an unknown check: %v", err)
	}
}

// TestOutcomes runs checks of sites that must not be read: one that redirects to a server
// on this machine, and one whose robots.txt forbids the crawler.
func TestOutcomes(t *testing.T) {
	var reached atomic.Int64
	private := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer private.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(private.URL, "http://"), ":")
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.Host, "closed.") && r.URL.Path == "/robots.txt":
			fmt.Fprint(w, "User-agent: FieldmarkBot\nDisallow: /\n")
		case r.URL.Path == "/robots.txt":
			http.NotFound(w, r)
		default:
			http.Redirect(w, r, "http://inside.localhost:"+port+"/", http.StatusFound)
		}
	}))
	defer site.Close()
	to := strings.TrimPrefix(site.URL, "http://")
	connect := map[string]string{"leads.example:80": to, "closed.example:80": to}
	auditor, err := audit.New(audit.Config{HTTP: safehttp.New(safehttp.Config{ConnectTo: connect, Targets: true}),
		Delay: -1, MaxRequests: sitecheck.MaxRequests, Timeout: sitecheck.AuditTimeout})
	if err != nil {
		t.Fatal(err)
	}
	s := storetest.Open(t, storetest.New(t))
	service := newService(s, func(c *sitecheck.Config) { c.Auditor = auditor })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- service.Run(ctx) }()
	defer func() { cancel(); <-done }()
	for url, want := range map[string]fieldmark.SiteCheck{
		"http://leads.example/": {State: fieldmark.SiteCheckFailed, Code: fieldmark.CodeValidationFailed,
			Reason: "address not allowed"},
		"http://closed.example/": {State: fieldmark.SiteCheckRefused, By: fieldmark.RefusedByRobots},
	} {
		got := outcome(t, service, netip.MustParseAddr("192.0.2.1"), url)
		if got.State != want.State || got.By != want.By || got.Code != want.Code ||
			!strings.Contains(got.Reason, want.Reason) || got.Requests == 0 {
			t.Errorf("%s: %+v; want %+v", url, got, want)
		}
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("%d requests reached a private address", n)
	}
}

// TestWishedPause: the pause that the verified owner of a brand wishes holds for its host, from
// every origin; without a claim, a setting has no effect.
func TestWishedPause(t *testing.T) {
	cfg := storetest.New(t)
	synctest.Test(t, func(t *testing.T) {
		s, err := store.Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		write := func(fn func(ctx context.Context, tx *store.Tx) error) {
			t.Helper()
			if err := s.Write(t.Context(), fn); err != nil {
				t.Fatal(err)
			}
		}
		write(func(ctx context.Context, tx *store.Tx) error {
			now := fieldmark.At(time.Now())
			return errors.Join(tx.PutBrand(ctx, fieldmark.Brand{Slug: "acme", Name: "Acme",
				URL: "https://acme.example/", Niche: "tools", Language: "en", CreatedAt: now, UpdatedAt: now}),
				tx.PutWishes(ctx, "acme", "acme.example", fieldmark.Wishes{Checks: true, Pause: 7}))
		})
		one := &sitecheck.Pauses{Store: s, Log: slog.New(slog.DiscardHandler)}
		another := &sitecheck.Pauses{Store: s, Log: slog.New(slog.DiscardHandler)}
		wait := func(host string) time.Duration {
			t.Helper()
			release, err := one.Acquire(t.Context(), host)
			if err != nil {
				t.Fatal(err)
			}
			release(time.Second)
			from := time.Now()
			if release, err = another.Acquire(t.Context(), host); err != nil {
				t.Fatal(err)
			}
			release(0)
			return time.Since(from).Round(time.Second)
		}
		if got := wait("acme.example"); got != time.Second {
			t.Errorf("without a claim, the pause is %v, want 1s", got)
		}
		write(func(ctx context.Context, tx *store.Tx) error {
			return tx.PutClaim(ctx, &store.Claim{ID: "clm_1", Brand: "acme", Account: "owner",
				State: fieldmark.ClaimVerified, CreatedAt: time.Now(), DueAt: time.Now().Add(time.Hour)})
		})
		if got := wait("Acme.example:443"); got != 7*time.Second {
			t.Errorf("the pause is %v, want the 7s that the owner wishes", got)
		}
		if got := wait("other.example"); got != time.Second {
			t.Errorf("the pause of another host is %v, want 1s", got)
		}
	})
}

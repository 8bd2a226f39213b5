package claim_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fieldmark/fieldmark"
	"github.com/fieldmark/fieldmark/internal/testkit/storetest"
	"github.com/fieldmark/fieldmark/origin"
	"github.com/fieldmark/fieldmark/origin/access"
	"github.com/fieldmark/fieldmark/origin/claim"
	"github.com/fieldmark/fieldmark/origin/store"
)

// outside is the world as checks see it: DNS records and documents.
type outside struct {
	mu    sync.Mutex
	texts map[string][]string // TXT records by name, without a dot at the end
	pages map[string]string   // bodies by URL; those that begin with > redirect
	shown map[string][]string // proofs by name or URL
	down  map[string]bool     // hosts whose servers do not answer
}

func newOutside() *outside {
	return &outside{texts: map[string][]string{}, pages: map[string]string{}, down: map[string]bool{},
		shown: map[string][]string{}}
}

func (o *outside) LookupTXT(_ context.Context, name string) ([]string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	name = strings.TrimSuffix(name, ".")
	for host := range o.down {
		if strings.HasSuffix(name, "."+host) {
			return nil, &net.DNSError{Err: "server misbehaving", Name: name, IsTemporary: true}
		}
	}
	if list := slices.Concat(o.texts[name], o.shown[name]); len(list) > 0 {
		return append(list, "v=spf1 -all"), nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
}

func (o *outside) Do(req *http.Request) (*http.Response, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.down[req.URL.Hostname()] {
		return nil, errors.New("connection refused")
	}
	resp := &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/html"}}, Request: req}
	body, ok := o.pages[req.URL.String()]
	if values := o.shown[req.URL.String()]; len(values) > 0 {
		body, ok = body+strings.Join(values, "\n")+"\n", true
	}
	if to, moved := strings.CutPrefix(body, ">"); moved {
		resp.StatusCode, body = 302, ""
		resp.Header.Set("Location", to)
	} else if !ok {
		resp.StatusCode = 404
	}
	resp.Body = io.NopCloser(strings.NewReader(body))
	return resp, nil
}

// show publishes or removes a proof.
func (o *outside) show(c fieldmark.Claim, m fieldmark.ClaimMethod, on bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range c.Proofs {
		if p.Method != m {
			continue
		}
		values := o.shown[p.Names[0]]
		if values = slices.DeleteFunc(values, func(v string) bool { return v == p.Value }); on {
			values = append(values, p.Value)
		}
		o.shown[p.Names[0]] = values
	}
}

type fixture struct {
	*origin.Service
	store *store.Store
	out   *outside
	at    string
}

// open opens the origin on the database of a file, as several processes would.
func open(t testing.TB, path string, out *outside, edits ...func(*origin.Config)) *fixture {
	t.Helper()
	st, err := store.Open(context.Background(), store.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	cfg := origin.Config{Store: st, Secret: []byte(strings.Repeat("s", 32)),
		Prover: claim.NewProver([]claim.Lookup{out}, out)}
	for _, edit := range edits {
		edit(&cfg)
	}
	f := &fixture{store: st, out: out, at: path}
	if f.Service, err = origin.New(cfg); err != nil {
		t.Fatal(err)
	}
	if err := f.Prepare(context.Background()); err != nil {
		t.Fatal(err)
	}
	return f
}

func newFixture(t testing.TB, edits ...func(*origin.Config)) *fixture {
	t.Helper()
	return open(t, storetest.New(t).Path, newOutside(), edits...)
}

// brand registers a public brand.
func (f *fixture) brand(t testing.TB, slug fieldmark.Slug, url string) {
	t.Helper()
	_, err := f.Brands.Create(t.Context(), fieldmark.Brand{Slug: slug, Name: string(slug), URL: url, Niche: "shops",
		Language: "en", Public: true})
	if err != nil {
		t.Fatal(err)
	}
}

// network returns a client network that has opened no claim.
func (f *fixture) caller(network string) access.Caller { return access.ParseCaller(network, "") }

func (f *fixture) openClaim(t testing.TB, r fieldmark.ClaimRequest, address string) fieldmark.NewClaim {
	t.Helper()
	c, err := f.Claims.Open(t.Context(), f.caller(address), r)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func bySecret(c fieldmark.NewClaim) claim.Caller { return claim.Caller{Secret: c.Secret} }

func (f *fixture) verify(t testing.TB, c fieldmark.NewClaim) fieldmark.Claim {
	t.Helper()
	got, err := f.Claims.Verify(t.Context(), c.ID, bySecret(c))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// verified opens a claim of a brand, proves it, and gives it its account.
func (f *fixture) verified(t testing.TB, slug fieldmark.Slug, m fieldmark.ClaimMethod,
	address string) (fieldmark.NewClaim, fieldmark.ClaimAccess) {
	t.Helper()
	c := f.openClaim(t, fieldmark.ClaimRequest{Brand: slug}, address)
	f.out.show(c.Claim, m, true)
	if got := f.verify(t, c); got.State != fieldmark.ClaimVerified {
		t.Fatalf("state after a proof by %s: %s", m, got.State)
	}
	a, err := f.Claims.Access(t.Context(), c.ID, bySecret(c))
	if err != nil {
		t.Fatal(err)
	}
	return c, a
}

func (f *fixture) get(t testing.TB, id string) fieldmark.Claim {
	t.Helper()
	c, err := f.Claims.Get(t.Context(), id, claim.Caller{Admin: true})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (f *fixture) wantState(t testing.TB, id string, want fieldmark.ClaimState) {
	t.Helper()
	if c := f.get(t, id); c.State != want {
		t.Errorf("claim is %s (%s), want %s", c.State, c.Reason, want)
	}
}

// works reports whether a key is accepted.
func (f *fixture) works(t testing.TB, a fieldmark.ClaimAccess) bool {
	t.Helper()
	_, err := f.Access.Keys.Authenticate(t.Context(), a.Key.Token, access.Caller{})
	return err == nil
}

func (f *fixture) manages(t testing.TB, a fieldmark.ClaimAccess, slug fieldmark.Slug) bool {
	t.Helper()
	ok, err := f.store.Manages(t.Context(), a.Account, slug)
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

// pass lets time pass in steps, and does in each what a worker would. It runs in a bubble of
// testing/synctest.
func (f *fixture) pass(t testing.TB, d time.Duration) {
	t.Helper()
	const tick = 6 * time.Hour
	for end := time.Now().Add(d); time.Now().Before(end); {
		time.Sleep(min(tick, time.Until(end)))
		f.work(t)
	}
}

// work checks the claims that are due, and reports whether there were any.
func (f *fixture) work(t testing.TB) bool {
	t.Helper()
	var ids []string
	err := f.store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) (err error) {
		ids, _, err = tx.ClaimDueClaims(ctx, "worker", time.Now(), time.Now().Add(time.Minute), 1_000_000, 10)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if err := f.Claims.Check(t.Context(), id); err != nil {
			t.Fatalf("check %s: %v", id, err)
		}
	}
	return len(ids) > 0
}

func wantCode(t testing.TB, what string, err error, code fieldmark.Code) {
	t.Helper()
	if !fieldmark.IsCode(err, code) {
		t.Errorf("%s = %v, want %s", what, err, code)
	}
}
